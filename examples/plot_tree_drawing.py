"""
A ranking tree, drawn
=====================

Questions at the nodes, bars with the shares of the grades, and the predicted grade at the leaves.
"""

from rankwise import RankingTree
from rankwise.datasets import make_ordinal_square
from rankwise.report import plot_tree

X, y = make_ordinal_square(800, random_state=0)
tree = RankingTree(max_depth=3).fit(X, y)
figure = plot_tree(tree, feature_names=["left to right", "bottom to top"])
