"""
Weights of fused systems
========================

Reciprocal rank fusion trusts every system alike. :class:`rankwise.fusion.LearnedFusion` learns one
weight per system from judged queries.
"""

import numpy as np

from rankwise.datasets import Qrels
from rankwise.fusion import LearnedFusion, learning_curve
from rankwise.report import plot_learning_curve
from rankwise.report.axes import light, panels, style

# %%
# Four systems
# ------------
# Each sees the relevance of 60 documents through noise of its own. The copy repeats BM25 with
# little change, so that equal weights count the same opinion twice.
rng = np.random.default_rng(0)
queries, documents = [f"q{i}" for i in range(120)], [f"d{i}" for i in range(60)]
systems = {name: {} for name in ("bm25", "bm25 copy", "encoder", "random")}
judgements = []
for query in queries:
    relevance = rng.random(60) < 0.15
    judgements += [
        (query, documents[place], 1) for place in np.flatnonzero(relevance)
    ]
    bm25 = 1.0 * relevance + rng.normal(size=60)
    scores = {
        "bm25": bm25,
        "bm25 copy": bm25 + 0.2 * rng.normal(size=60),
        "encoder": 1.6 * relevance + rng.normal(size=60),
        "random": rng.normal(size=60),
    }
    for name, values in scores.items():
        systems[name][query] = dict(
            zip(documents, values.tolist(), strict=True)
        )
qrels = Qrels(*(np.array(column) for column in zip(*judgements, strict=True)))

# %%
# The weights
# -----------
fusion = LearnedFusion(nonnegative=True).fit(systems, qrels)
weights = fusion.weights_
total = sum(weights.values())
figure, (axes,) = panels(1, height=1.9, most=1)
axes.barh(list(weights)[::-1], [w / total for w in list(weights.values())[::-1]],
          color=light("accent"))  # fmt: skip
axes.axvline(
    1 / len(weights), color=light("muted"), linestyle="--", linewidth=1
)
axes.text(
    0.26, 0, "equal weights", fontsize=8, color=light("muted"), va="center"
)
axes.set_xlabel("share of the weights")
style(axes)
axes.grid(False)

# %%
# How many queries have to be judged?
# -----------------------------------
curve = learning_curve(
    LearnedFusion(nonnegative=True),
    systems,
    qrels,
    n_judged=[5, 10, 20, 40],
    n_draws=8,
)
print(curve)
figure = plot_learning_curve(curve)
