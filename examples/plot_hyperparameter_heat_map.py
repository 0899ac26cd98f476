"""
Two hyper-parameters on a map
=============================

:class:`rankwise.PairwiseELM` has a number of random nodes and a penalty; a small ``C`` is a strong
penalty. How much does each matter?
"""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from rankwise import PairwiseELM
from rankwise.datasets import load_dataset
from rankwise.report.axes import light, panels, style

train = load_dataset("lambdarank", fold=1).train

# %%
# The grid
# --------
# Cross-validation over queries. One factorisation per fold serves all penalties, so that a row of
# the map costs little more than a single fit.
nodes, exponents = [10, 30, 100, 300], range(-9, 2)
scores = []
for n in nodes:
    ranker = PairwiseELM(
        n, C=[10.0**k for k in exponents], measure="nDCG@10", random_state=0
    )
    ranker.fit(train.X, train.y, qid=train.qid)
    scores.append(ranker.cv_results_["mean_test_score"])
scores = np.array(scores)

# %%
# The map
# -------
figure, (axes,) = panels(1, height=2.4, most=1)
blues = LinearSegmentedColormap.from_list(
    "blues", [light("paper"), light("accent")]
)
axes.imshow(scores, cmap=blues, aspect="auto", origin="lower")
for (row, column), score in np.ndenumerate(scores):
    shade = light(
        "paper" if score > scores.min() + 0.6 * np.ptp(scores) else "ink"
    )
    axes.text(
        column,
        row,
        f"{score:.3f}",
        ha="center",
        va="center",
        fontsize=7,
        color=shade,
    )
axes.set_xticks(range(len(exponents)), [f"$10^{{{k}}}$" for k in exponents])
axes.set_yticks(range(len(nodes)), nodes)
axes.set_xlabel("C")
axes.set_ylabel("random nodes")
style(axes)
axes.grid(False)
