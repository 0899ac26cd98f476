"""Pairwise least squares against RLScore's QueryRankRLS, the only other exact implementation.

    python -m benchmarks.bench_rlscore [--rows 240000] [--nodes 1000]

RLScore's PyPI release does not build; its public repository (github.com/aatapa/RLScore) does. Where
it cannot be imported this benchmark says so and ends. RLScore gets the hidden layer ready-made and
solves one value of the parameter; ours computes the hidden layer, 26 values and five folds.
At 240,000 rows of 1,000 nodes RLScore needs about 15 GB.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks._timing import Timing, report, synthetic_ranking
from rankwise import PairwiseELM
from rankwise.features.random_features import draw_nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=240_000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="12,000 rows, 300 nodes")
    args = parser.parse_args()
    rows, n_nodes = (12_000, 300) if args.quick else (args.rows, args.nodes)
    try:
        from rlscore.learner import QueryRankRLS
    except ImportError:
        print("skip  RLScore is not installed: build it from github.com/aatapa/RLScore")
        return

    X, y, qid = synthetic_ranking(rows // 120)
    X = 1 / (1 + np.exp(-X))
    nodes = draw_nodes(X.shape[1], n_nodes, "sigmoid", np.random.RandomState(0))

    few = slice(0, 1200)
    H = nodes(X[few].astype(np.float64))
    theirs = QueryRankRLS(H, y[few], qid[few], regparam=0.5).predict(H)
    ours = PairwiseELM(kernel="linear", C=2.0, query_weight="document")
    gap = np.abs(ours.fit(H, y[few], qid=qid[few]).predict(H) - theirs).max()
    print(f"{'met ' if gap <= 1e-8 else 'MISS'}  scores equal RLScore's within {gap:.1e}")

    ranker = PairwiseELM(n_nodes, C="cv", cv=5, random_state=0, query_weight="document")
    ranker.fit(X, y, qid=qid)  # compiles the measure's kernel
    ours_seconds = []
    for _ in range(3):
        start = time.perf_counter()
        ranker.fit(X, y, qid=qid)
        ours_seconds.append(time.perf_counter() - start)
    H = nodes(X.astype(np.float64))
    start = time.perf_counter()
    QueryRankRLS(H, y, qid, regparam=1.0)
    seconds = time.perf_counter() - start
    report(
        f"26 C x 5 folds on {len(y)} x {n_nodes}",
        Timing("path", ours_seconds),
        Timing("RLScore, one C", [seconds]),
        faster=20.0,
    )


if __name__ == "__main__":
    main()
