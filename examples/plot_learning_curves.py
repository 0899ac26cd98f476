"""
Would more judgements help?
===========================

:func:`rankwise.selection.learning_curve` compares rankers on growing sets of training queries, with
the same test queries at every size.
"""

from rankwise.datasets import load_dataset
from rankwise.report import plot_learning_curve
from rankwise.selection import learning_curve

fold = load_dataset("lambdarank", fold=1)
curve = learning_curve(
    ["ridge", "linear_regression", "rank_boost"],
    fold,
    [5, 10, 20, 40],
    measures=["nDCG@10"],
    isolate=False,
)
print(curve)

# %%
# The penalty of ridge pays most where queries are few. A curve that is flat at its end asks for
# better features or another ranker; one that still rises asks for more judged queries.
figure = plot_learning_curve(curve)
