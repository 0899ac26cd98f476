"""
nDCG at every cut-off
=====================

A single cut-off hides where rankers differ. ``compare`` measures the first measure with a cut-off
at 1 to 10 as well, and :func:`rankwise.report.plot_curves` draws all of them.
"""

from rankwise import compare
from rankwise.datasets import load_dataset
from rankwise.report import plot_curves

fold = load_dataset("lambdarank", fold=1)
board = compare(
    ["ridge", "linear_regression", "rank_svm", "rank_boost"],
    fold,
    measures=["nDCG@10"],
    isolate=False,
)
print(board)

# %%
# Users of a search engine see the top; users of a reading list see everything. The lines say which
# ranker is better for whom.
figure = plot_curves(board)
