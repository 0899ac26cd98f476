"""
Trees, drawn
============

A ranking tree has questions at the nodes, bars with the shares of the grades, and the predicted
grade at the leaves.
"""

from rankwise import LambdaMART, RankingTree
from rankwise.datasets import load_dataset, make_ordinal_square
from rankwise.report import plot_tree

X, y = make_ordinal_square(800, random_state=0)
tree = RankingTree(max_depth=3).fit(X, y)
figure = plot_tree(tree, feature_names=["left to right", "bottom to top"])

# %%
# A tree of LambdaMART has scores at its leaves, and over each question the number of training rows
# and the gain. Missing values go where the condition says.

train = load_dataset("lambdarank", fold=1).train
ranker = LambdaMART(20, max_leaf_nodes=8).fit(train.X, train.y, qid=train.qid)
boosted = plot_tree(ranker, tree=0, max_depth=4)
