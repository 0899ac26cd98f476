"""Scores of documents under 1,000 trees beside LightGBM's, by LambdaMART.predict.

    python -m benchmarks.bench_tree_scores

Rows are MSLR-like, of 136 float32 features; both models have trees of 31 leaves, then of 255.
Times are medians of runs in turn: processor time on one thread. Every call scores other documents,
since a processor learns the way of one that comes again. "Two threads" compares LambdaMART with
itself in wall time. Last, a fresh interpreter that has imported scikit-learn loads the model and
scores ten documents.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from benchmarks.bench_serving import FIRST_SCORE
from benchmarks.bench_start import line, printed
from rankwise import LambdaMART

N_TREES = 1000
FEW, MANY = (1, 10), (100, 1000, 10_000)
WITHIN = {31: 0.25, 255: 1.0}


def models(n_leaves: int) -> tuple[LambdaMART, lgb.Booster, np.ndarray]:
    """Both models, and the rows that they were fitted to."""
    X, y, qid = synthetic_ranking(n_queries=84)
    ours = LambdaMART(N_TREES, max_leaf_nodes=n_leaves, n_jobs=1).fit(X, y, qid=qid)
    params = {"objective": "lambdarank", "num_leaves": n_leaves, "num_threads": 1, "verbose": -1}
    sizes = np.bincount(qid)[1:]
    return ours, lgb.train(params, lgb.Dataset(X, y, group=sizes), N_TREES), X


def in_turn(score: Callable[[np.ndarray], Any], X: np.ndarray, n_rows: int) -> Callable[[], Any]:
    """A function that scores the next rows at every call, and begins anew after the last ones."""
    starts = range(0, len(X) - n_rows + 1, n_rows)
    blocks = cycle([X[start : start + n_rows].copy() for start in starts])
    return lambda: score(next(blocks))


def main() -> None:
    """Print the lines."""
    for n_leaves in WITHIN:
        ours, booster, X = models(n_leaves)
        theirs = partial(booster.predict, raw_score=True, num_threads=1)
        for n_rows in (*FEW, *MANY):
            sides = {
                "ours": in_turn(ours.predict, X, n_rows), "LightGBM": in_turn(theirs, X, n_rows)
            }  # fmt: skip
            repeats = max(7, min(500, 20_000 // n_rows))
            # A process scores some documents before it loads compiled code.
            warmup = 3 if n_rows in MANY else 200
            timed = interleave(sides, repeats, warmup=warmup, clock=time.process_time)
            what = f"{N_TREES} trees of {n_leaves} leaves, {n_rows} documents"
            if n_rows in MANY:
                report(what, timed["ours"], timed["LightGBM"], within=WITHIN[n_leaves])
            else:
                each = (f"{name} {side.median * 1e3:.2f} ms" for name, side in timed.items())
                print(f"      {what}: {', '.join(each)}")
    ours = models(31)[0]
    rows = X[:100].copy()
    more = LambdaMART().set_params(**ours.get_params() | {"n_jobs": 2})
    vars(more).update({name: value for name, value in vars(ours).items() if name.endswith("_")})
    sides = {"one thread": partial(ours.predict, rows), "two": partial(more.predict, rows)}
    timed = interleave(sides, repeats=200, warmup=5)
    report("100 documents, two threads", timed["two"], timed["one thread"], within=1.05)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", X[:10])
        ours.save(Path(folder) / "model")
        code = FIRST_SCORE.format(
            rows=str(Path(folder) / "rows.npy"), model=str(Path(folder) / "model"), library=""
        )
        line("load and first ten scores", [float(printed(code)) for _ in range(5)], 0.5)


if __name__ == "__main__":
    main()
