"""
Confusion in rank order
=======================

For ordered grades it matters how far off a prediction is. In rank order right predictions lie on
the rising diagonal, and the distance from it counts the ranks that a prediction is off.
"""

from rankwise import OrdinalSVM, ProportionalOdds, RankingForest
from rankwise.datasets import make_ordinal_square
from rankwise.metrics import confusion
from rankwise.report import plot_confusion

# %%
# The grades are a saddle over the unit square. A linear score cannot follow it; a kernel and trees
# can.
X, y = make_ordinal_square(1500, random_state=0)
train, test = slice(0, 500), slice(500, None)
models = {
    "proportional odds": ProportionalOdds(),
    "ordinal SVM, RBF kernel": OrdinalSVM("rbf", C=10.0, gamma=10.0),
    "ranking forest": RankingForest(50, random_state=0),
}
found = {}
for name, model in models.items():
    predicted = model.fit(X[train], y[train]).predict(X[test])
    found[name] = confusion(y[test], predicted)
    print(f"{name}: mean absolute rank loss {found[name].mae:.3f}")

# %%
figure = plot_confusion(found)
