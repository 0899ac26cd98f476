"""
Compare rankers fairly
======================

Every ranker sees the same folds of queries, is tuned on validation queries only, and is measured
query by query. The verdict above the table says who leads and which rankers may be the best, by
tests that are corrected for the number of rankers.
"""

from rankwise import compare
from rankwise.datasets import load_dataset
from rankwise.report import plot_costs, plot_differences, plot_leaderboard

# %%
# The comparison
# --------------
# ``rankwise list`` shows the names of all rankers. You can also pass estimators.
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
# Means at the left, differences to the best ranker at the right. Rankers in colour may be the best.
figure = plot_leaderboard(leaderboard)

# %%
# Quality and time
# ----------------
# The line joins the rankers that no faster one beats.
figure = plot_costs(leaderboard)

# %%
# Query by query
# --------------
# Gains and losses of every ranker against the best one, sorted.
figure = plot_differences(leaderboard)
