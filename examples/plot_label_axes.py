"""
Axes of the label space
=======================

:class:`rankwise.labels.PLST` regresses on the principal axes of the labels instead of the labels.
Labels that occur together share an axis, so that few axes keep most of what there is to predict.
"""

import numpy as np

from rankwise.labels import PLST
from rankwise.report.axes import light, panels, series, style

# %%
# Twelve labels of three topics
# -----------------------------
LABELS = [
    "goal", "match", "team", "league",
    "vote", "party", "law", "minister",
    "film", "music", "stage", "novel",
]  # fmt: skip
rng = np.random.default_rng(0)
topic = rng.normal(size=(1500, 3)) @ np.diag([1.0, 0.9, 0.8])
X = topic @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(1500, 8))
Y = (
    np.repeat(topic, 4, axis=1) + 0.6 * rng.normal(size=(1500, 12)) > 0.7
).astype(int)
model = PLST(n_components=6).fit(X[:1000], Y[:1000])

# %%
# The axes
# --------
# The first three separate the topics; the others are noise within them.
figure, grid = panels(3, height=2.6, share_y=True)
for number, axes in enumerate(grid):
    axis = model.components_[number]
    axes.barh(range(12), axis, color=[series(k // 4) for k in range(12)])
    axes.axvline(0, color=light("ink"), linewidth=0.8)
    share = model.singular_values_[number] ** 2 / np.sum(
        model.singular_values_**2
    )
    axes.set_title(
        f"axis {number + 1}, {100 * share:.0f} %", fontsize=10, loc="left"
    )
    axes.set_yticks(range(12), LABELS)
    axes.invert_yaxis() if number == 0 else None
    style(axes)
    axes.grid(False)

# %%
# How many axes are enough?
# -------------------------
loss = [
    -PLST(n_components=m).fit(X[:1000], Y[:1000]).score(X[1000:], Y[1000:])
    for m in range(1, 13)
]
figure, (axes,) = panels(1, height=2.4, most=1)
axes.plot(range(1, 13), loss, "o-", color=series(0))
axes.set_xticks(range(1, 13))
axes.set_xlabel("axes")
axes.set_ylabel("Hamming loss")
style(axes)
