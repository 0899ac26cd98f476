"""Exact Gaussian RankRLS with its path beside the bare ``eigh`` of the same size.

``python -m benchmarks.bench_kernel_rankers [n_rows [repeats]]``: the first rows of OHSUMED's fold 1
(whole queries; synthetic rows of the same shape where the data are absent), chosen from 26 alphas
on the fold's validation part, or by 5-fold cross-validation over queries. The whole training part
has 9,219 rows and takes many minutes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import RankRLS
from rankwise.datasets import load_dataset


def parts(n_rows: int) -> tuple[Any, Any]:
    """(X, y, qid) of about ``n_rows`` training rows and of the validation rows."""
    try:
        fold = load_dataset("ohsumed", fold=1)
        train, vali = (
            (np.asarray(part.X, dtype=np.float64), part.y, np.asarray(part.qid))
            for part in (fold.train, fold.vali)
        )
    except FileNotFoundError:
        train, vali = synthetic_ranking(100, 92, 45, seed=0), synthetic_ranking(20, 92, 45, seed=1)
    X, y, qid = train
    stop = int(np.flatnonzero(qid == qid[min(n_rows, len(qid)) - 1])[-1]) + 1
    return (X[:stop], y[:stop], qid[:stop]), vali


def main(n_rows: int = 2000, repeats: int = 3) -> None:
    """Time eigh, one alpha, the path with validation data, the path with 5 folds."""
    (X, y, qid), (X_val, y_val, qid_val) = parts(n_rows)
    B = np.random.default_rng(0).standard_normal((len(y), len(y)))
    symmetric = B @ B.T
    del B
    validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    print(f"Gaussian RankRLS on {len(y)} rows of {X.shape[1]} features")
    timings = interleave(
        {
            "eigh": lambda: np.linalg.eigh(symmetric),
            "one": lambda: RankRLS("rbf", alpha=1.0).fit(X, y, qid=qid),
            "val": lambda: RankRLS("rbf", alpha="val").fit(X, y, qid=qid, **validation),
            "cv": lambda: RankRLS("rbf", alpha="cv").fit(X, y, qid=qid),
        },
        repeats=repeats,
        warmup=int(n_rows <= 3000),
    )
    eigh = timings["eigh"]
    report("one alpha (Cholesky)", timings["one"], eigh, within=1.0)
    report("26 alphas, chosen on validation data", timings["val"], eigh, within=3.0)
    report("26 alphas, chosen by 5 folds of queries", timings["cv"], eigh, within=3.0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
