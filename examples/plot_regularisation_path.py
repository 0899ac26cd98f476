"""
Choose the penalty along a path
===============================

A closed-form ranker solves for every strength of its penalty at once: one eigendecomposition per
fold serves all 26 values of ``C``, so that cross-validation over queries costs little more than a
single fit.
"""

import matplotlib.pyplot as plt

from rankwise import PairwiseELM, evaluate
from rankwise.datasets import load_dataset
from rankwise.report.axes import light, style

fold = load_dataset("lambdarank", fold=1)
train, test = fold.train, fold.test

# %%
# The search
# ----------
# ``C="cv"`` measures nDCG@10 on five folds of queries for each value of ``C``.
ranker = PairwiseELM(n_nodes=300, C="cv", measure="nDCG@10", random_state=0)
ranker.fit(train.X, train.y, qid=train.qid)
results = ranker.cv_results_
print(
    f"C = {ranker.C_:g}, nDCG@10 = {results['mean_test_score'].max():.4f} over the folds"
)

# %%
# What it saw
# -----------
# Grey: single folds. The chosen value maximises their mean.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
folds = results["fold_test_scores"]
folds = folds if folds.shape[-1] == len(results["C"]) else folds.T
axes.semilogx(results["C"], folds.T, color=light("muted"), linewidth=0.7)
axes.semilogx(
    results["C"],
    results["mean_test_score"],
    color=light("accent"),
    linewidth=2,
    label="mean of folds",
)
axes.axvline(
    ranker.C_,
    color=light("worse"),
    linestyle="--",
    label=f"chosen: {ranker.C_:g}",
)
style(axes)
axes.set(xlabel="C", ylabel="nDCG@10", title="Cross-validation over queries")
axes.legend()

# %%
# On new queries
# --------------
result = evaluate(test.y, ranker.predict(test.X), test.qid, ["nDCG@10", "AP"])
print(f"test nDCG@10 = {result['nDCG@10']:.4f}, AP = {result['AP']:.4f}")
plt.show()
