"""
Compare rankers fairly
======================

Every ranker sees the same folds of queries, is tuned on validation queries only, and is measured
query by query. The table has intervals, and tests of the difference to the best ranker that are
corrected for the number of rankers.
"""

import matplotlib.pyplot as plt

from rankwise import compare
from rankwise.datasets import load_dataset
from rankwise.report.axes import light, style

# %%
# The comparison
# --------------
# Names are those of ``rankwise list``; estimators may stand beside them.
fold = load_dataset("lambdarank", fold=1)
leaderboard = compare(
    ["linear_regression", "ridge", "pointwise_elm", "pairwise_elm"],
    fold,
    measures=["nDCG@10", "AP"],
)
print(leaderboard)

# %%
# As a picture
# ------------
rows = leaderboard.rows()[::-1]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for position, row in enumerate(rows):
    axes.plot(
        [row["low"], row["high"]],
        [position, position],
        color=light("muted"),
        linewidth=3,
    )
    axes.plot(row["mean"], position, "o", color=light("accent"))
axes.set_yticks(range(len(rows)), [row["ranker"] for row in rows])
style(axes)
axes.set(
    xlabel="nDCG@10 with 95% interval", title="Test queries of the bundled data"
)

# %%
# Query by query
# --------------
# How much a ranker gains and loses against the best one, sorted.
values = leaderboard.per_query("nDCG@10")
best, other = (row["ranker"] for row in leaderboard.rows()[:2])
difference = values[other] - values[best]
difference = sorted(difference[difference == difference])
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.bar(
    range(len(difference)),
    difference,
    color=[light("worse" if d < 0 else "better") for d in difference],
)
style(axes)
axes.set(
    xlabel="query",
    ylabel="difference in nDCG@10",
    title=f"{other} against {best}",
)
plt.show()
