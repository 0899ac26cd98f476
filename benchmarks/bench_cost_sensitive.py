"""Fitting all pairs of classes at once, beside a classifier per pair, in processor time.

    python -m benchmarks.bench_cost_sensitive [--quick]

Digits: 1,797 rows, 64 columns, 45 pairs; scikit-learn's one-versus-one with its ridge classifier is
what CSOVO is with costs of 0 and 1. Letters: 20,000 drawn rows of 50 columns in 26 classes, 325
pairs, costs by class; the peer is CSOVO with a ridge classifier per pair on all rows. The
transformation of costs is timed beside NumPy's sort of the same rows. ``--quick``: a fifth of the
rows of the last two.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier

from benchmarks._timing import interleave, report
from rankwise.labels import CSOVO, WeightedAllPairs, all_pairs_costs, random_costs


def main(arguments: list[str]) -> None:
    n = 4_000 if "--quick" in arguments else 20_000
    X, y = load_digits(return_X_y=True)
    times = interleave(
        {
            "CSOVO": lambda: CSOVO(n_jobs=1).fit(X, y),
            "scikit-learn": lambda: OneVsOneClassifier(RidgeClassifier()).fit(X, y),
        },
        clock=time.process_time,
    )
    report("digits, 45 pairs", times["CSOVO"], times["scikit-learn"], faster=5)

    rng = np.random.default_rng(0)
    y = rng.integers(26, size=n)
    X = rng.normal(size=(n, 50)) + rng.normal(size=(26, 50))[y]
    costs = random_costs(y, scale=1.0, random_state=0)
    times = interleave(
        {
            "CSOVO": lambda: CSOVO(n_jobs=1).fit(X, y, costs=costs),
            "all-pairs": lambda: WeightedAllPairs(n_jobs=1).fit(X, y, costs=costs),
            "per pair": lambda: CSOVO(RidgeClassifier(), n_jobs=1).fit(X, y, costs=costs),
        },
        repeats=2,
        warmup=0,
        clock=time.process_time,
    )
    report(f"{n:,} x 50, 325 pairs", times["CSOVO"], times["per pair"], faster=20)
    report(f"{n:,} x 50, one machine", times["all-pairs"], times["per pair"], faster=5)

    costs_of_rows = rng.random((50 * n, 10))
    times = interleave(
        {
            "all_pairs_costs": lambda: all_pairs_costs(costs_of_rows),
            "sort": lambda: np.argsort(costs_of_rows, axis=1, kind="stable"),
        },
        clock=time.process_time,
    )
    report(f"transformation of {50 * n:,} x 10", times["all_pairs_costs"], times["sort"], within=3)


if __name__ == "__main__":
    main(sys.argv[1:])
