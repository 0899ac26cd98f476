"""
Thresholds over the scores of every grade
=========================================

Ordinal estimators cut one score into grades. :func:`rankwise.report.plot_thresholds` shows the
scores of the rows of each grade and where the thresholds cut them.
"""

import numpy as np

from rankwise import ProportionalOdds, RankingForest
from rankwise.datasets import make_ordinal_square
from rankwise.report import plot_thresholds

# %%
# A linear score
# --------------
# Blue lies between a grade's own thresholds. Grades that are close to each other overlap.
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 4))
y = np.digitize(
    X @ [1.0, 0.5, -0.5, 0.0] + 0.4 * rng.logistic(size=1500), [-1.0, 0.3, 1.5]
)
linear = ProportionalOdds().fit(X[:500], y[:500])
figure = plot_thresholds(linear, X[500:], y[500:])

# %%
# A forest
# --------
# Its score is the mean grade of the leaves, so that the thresholds lie half-way between grades.
X, y = make_ordinal_square(1500, random_state=0)
forest = RankingForest(50, random_state=0).fit(X[:500], y[:500])
figure = plot_thresholds(forest, X[500:], y[500:])
