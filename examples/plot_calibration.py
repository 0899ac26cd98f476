"""
Are probabilities of grades what they say?
==========================================

:func:`rankwise.report.plot_calibration` compares the predicted probability of a label above a grade
with the share of rows for which that holds, on rows that the models have not seen.
"""

import numpy as np

from rankwise import ProportionalOdds, RankingForest, RankingTree
from rankwise.report import plot_calibration

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4))
y = np.digitize(
    X @ [1.0, 0.5, -0.5, 0.0] + 0.7 * rng.logistic(size=3000), [-1.0, 0.3, 1.5]
)
train, test = slice(0, 600), slice(600, None)

# %%
# A tree that is grown to its end is sure of everything and often wrong. A forest averages such
# trees, and the model that the labels were drawn from lies on the diagonal.
models = {
    "proportional odds": ProportionalOdds(),
    "forest": RankingForest(50, random_state=0),
    "tree, grown to its end": RankingTree(),
}
for model in models.values():
    model.fit(X[train], y[train])
figure = plot_calibration(models, X[test], y[test])
