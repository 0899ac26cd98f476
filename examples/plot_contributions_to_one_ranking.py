"""
Why are the documents in this order?
====================================

:func:`rankwise.explain.explain_ranking` shares out the score of every document, less the mean score
of its query, among the features.
"""

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from rankwise import RankingForest
from rankwise.explain import explain_pair, explain_ranking
from rankwise.report import plot_contributions
from rankwise.report.axes import light, panels, style

rng = np.random.default_rng(0)
X = pd.DataFrame(
    rng.normal(size=(900, 5)),
    columns=["text match", "clicks", "age", "price", "stock"],
)
signal = (
    X["text match"] * (1 + 0.4 * X["stock"])
    + 0.8 * X["clicks"]
    - 0.6 * X["age"].clip(0)
)
y = np.digitize(signal + 0.5 * rng.normal(size=900), [0.0, 1.0, 2.0])
forest = RankingForest(40, max_depth=6, random_state=0).fit(X[:800], y[:800])

# %%
# One query
# ---------
# A row per document, best first; a column per feature. Green lifts a document, brown pulls it down.
documents = X[800:810]
explained = explain_ranking(forest, documents)
order = np.argsort(explained.ranks())
values = explained.values[order]
figure, (axes,) = panels(1, height=3.4, most=1)
for (rank, column), value in np.ndenumerate(values):
    colour, depth = (
        light("better" if value >= 0 else "worse"),
        abs(value) / np.abs(values).max(),
    )
    square = Rectangle(
        (column - 0.48, rank - 0.46), 0.96, 0.92, facecolor=colour, alpha=depth
    )
    axes.add_patch(square)
    shade = light("paper" if depth > 0.6 else "ink")
    axes.text(
        column,
        rank,
        f"{value:+.2f}",
        ha="center",
        va="center",
        fontsize=8,
        color=shade,
    )
axes.set_xlim(-0.5, 4.5)
axes.set_ylim(9.5, -0.5)
axes.set_xticks(range(5), explained.names)
axes.set_yticks(range(10), range(1, 11))
axes.set_ylabel("rank")
style(axes)
axes.grid(False)

# %%
# First against second
# --------------------
# The contributions to a pair add up to the difference of the two scores.
pair = explain_pair(
    forest, documents.iloc[[order[0]]], documents.iloc[[order[1]]]
)
print(pair)
figure = plot_contributions(pair)
