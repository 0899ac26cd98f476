"""
Fitting time against rows
=========================

How long does a fit take on ten times the rows? On logarithmic axes a line of slope one is linear in
the rows. The times are those of the machine that built this page.
"""

import time

import numpy as np

from rankwise import LambdaMART, PairwiseELM, RankBoost, RidgeRanker
from rankwise.report.axes import draw_lines, panels, style

sizes = [1_000, 3_000, 10_000, 30_000]
rankers = {
    "RidgeRanker": RidgeRanker(),
    "PairwiseELM, 200 nodes": PairwiseELM(n_nodes=200, C=1e-3, random_state=0),
    "RankBoost, 30 stumps": RankBoost(n_estimators=30),
    "LambdaMART, 20 trees": LambdaMART(n_estimators=20, random_state=0),
}

# %%
# Times
# -----
# A first fit compiles or loads the kernels and does not count; of three others the fastest does.
rng = np.random.default_rng(0)
X = rng.normal(size=(max(sizes), 20))
y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [0.5, 1.5])
qid = np.arange(len(X)) // 20
seconds = {name: [] for name in rankers}
for name, ranker in rankers.items():
    ranker.fit(X[:500], y[:500], qid=qid[:500])
    for n in sizes:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            ranker.fit(X[:n], y[:n], qid=qid[:n])
            times.append(time.perf_counter() - start)
        seconds[name].append(min(times))

# %%
# As a picture
# ------------
figure, (axes,) = panels(1, height=3.2, most=1)
axes.set_xscale("log")
axes.set_yscale("log")
draw_lines(axes, sizes, seconds)
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.set_xlabel("rows")
axes.set_ylabel("seconds")
style(axes)
axes.legend(frameon=False, fontsize=8)
