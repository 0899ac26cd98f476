"""
Critical difference over data sets
==================================

Which rankers differ over many data sets? Demšar (2006) ranks them on each data set, tests the
average ranks by Friedman's test, and joins those that Nemenyi's test does not tell apart.
:func:`rankwise.report.plot_critical_difference` takes one leaderboard per data set.
"""

import numpy as np

from rankwise import RankBoost, RankingForest, RidgeRanker, compare
from rankwise.datasets import Fold, RankingData
from rankwise.report import plot_critical_difference

# %%
# Twelve data sets
# ----------------
# Relevance depends on two features, and in half of the data sets on their product too.


def judged(rng, n_queries, interaction):
    """Graded documents of some queries."""
    X = rng.normal(size=(12 * n_queries, 6))
    signal = X[:, 0] + 0.6 * X[:, 1] + interaction * X[:, 0] * X[:, 1]
    y = np.digitize(signal + 0.8 * rng.normal(size=len(X)), [0.5, 1.5])
    return RankingData(
        X, y.astype(float), qid=np.repeat(np.arange(n_queries), 12)
    )


rankers = {
    "ridge": RidgeRanker(),
    "rank_boost": RankBoost(n_estimators=50),
    "forest": RankingForest(20, max_depth=6, random_state=0),
    "shallow forest": RankingForest(20, max_depth=2, random_state=0),
}
boards = {}
for number in range(12):
    rng = np.random.default_rng(number)
    interaction = 1.0 if number % 2 else 0.0
    fold = Fold(
        judged(rng, 40, interaction), None, judged(rng, 40, interaction)
    )
    boards[f"set {number}"] = compare(
        rankers, fold, measures=["nDCG@10"], isolate=False
    )

# %%
# The diagram
# -----------
# Names in grey differ from the best.
figure = plot_critical_difference(boards)
