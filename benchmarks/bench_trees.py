"""Growing one tree of depth 9 over five ranks, beside scikit-learn and LightGBM.

    python -m benchmarks.bench_trees [--quick]

Small: 50,000 rows of two features in the unit square (the data of "New rank learning algorithm").
Large: 240,000 rows of 136 features. LightGBM grows its regression tree of up to 512 leaves on as
many threads as this library uses; its own binning and ours are left out where it is the peer, ours
is counted where scikit-learn is. Linear: the large rows against a quarter of them, with as many
nodes. ``--quick`` takes a sixth of the large rows.
"""

from __future__ import annotations

import sys

import lightgbm
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise.features.binning import find_bins
from rankwise.runtime.threads import available_threads
from rankwise.trees.growth import Limits, grow, grow_from, prepare

DEPTH = 9
LIMITS = Limits(max_depth=DEPTH)
BOOSTER = {
    "objective": "regression",
    "num_leaves": 2**DEPTH,
    "max_depth": DEPTH,
    "min_data_in_leaf": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "feature_pre_filter": False,
    "learning_rate": 1.0,
    "force_col_wise": True,
    "verbose": -1,
    "num_threads": available_threads(),
}


def unit_square(n: int = 50_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the unit square and their ranks 0..4."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    utility = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 0.125 * rng.standard_normal(n)
    return X, np.digitize(utility, [-1, -0.1, 0.25, 1])


def main(arguments: list[str]) -> None:
    X, y = unit_square()

    def scikit_learn() -> None:
        DecisionTreeClassifier(max_depth=DEPTH).fit(X, y)

    times = interleave(
        {
            "exact": lambda: grow(X, y, 5, limits=LIMITS),
            "histogram": lambda: grow(X, y, 5, limits=LIMITS, method="histogram"),
            "exact, gini": lambda: grow(X, y, 5, None, "gini", LIMITS),
            "scikit-learn": scikit_learn,
        }
    )
    for name in ("exact", "exact, gini", "histogram"):
        report(f"50,000 x 2, {name}", times[name], times["scikit-learn"], faster=1)

    n_queries = 333 if "--quick" in arguments else 2000
    X, grades, _ = synthetic_ranking(n_queries)
    y = grades.astype(np.int64)
    size = f"{X.shape[0]:,} x {X.shape[1]}"
    times = interleave(
        {
            "histogram": lambda: grow(X, y, 5, limits=LIMITS, method="histogram"),
            "binning": lambda: find_bins(X).codes(X),
            "exact": lambda: grow(X, y, 5, limits=LIMITS),
        },
        repeats=3,
    )
    sklearn_time = interleave({"scikit-learn": scikit_learn}, repeats=1, warmup=0)["scikit-learn"]
    what = f"{size}, histogram with binning"
    report(what, times["histogram"], sklearn_time, faster=10)
    report(f"{size}, exact", times["exact"], sklearn_time, faster=1)
    print(f"      binning alone {times['binning'].median * 1e3:.0f} ms")

    binned = prepare(X, method="histogram")
    quarter = X.shape[0] // 4
    part = prepare(X[:quarter], method="histogram")
    data = lightgbm.Dataset(X, grades, params=BOOSTER, free_raw_data=False).construct()
    n_leaves: list[int] = []

    def booster() -> None:
        model = lightgbm.train(BOOSTER, data, 1)
        n_leaves.append(model.trees_to_dataframe()["split_feature"].isna().sum())

    times = interleave(
        {
            "histogram": lambda: grow_from(binned, y, 5, limits=LIMITS),
            "LightGBM": lambda: lightgbm.train(BOOSTER, data, 1),
            "a quarter": lambda: grow_from(part, y[:quarter], 5, limits=LIMITS),
        },
        repeats=7,
    )
    booster()
    ours = grow_from(binned, y, 5, limits=LIMITS)
    print(f"      leaves: {int(ours.is_leaf.sum())}, LightGBM {n_leaves[0]}")
    what = f"{size}, histogram without binning"
    report(what, times["histogram"], times["LightGBM"], within=1.3)
    what = f"{size}, histogram, rows against a quarter of them"
    report(what, times["histogram"], times["a quarter"], within=4.4)

    sizes = (50_000, 800_000)
    few, many = (unit_square(n) for n in sizes)
    prepared = {n: prepare(points) for n, (points, _) in zip(sizes, (few, many), strict=True)}
    times = interleave(
        {
            str(n): lambda n=n, ranks=ranks: grow_from(prepared[n], ranks, 5, limits=LIMITS)
            for n, (_, ranks) in zip(sizes, (few, many), strict=True)
        },
        repeats=5,
    )
    what = "800,000 x 2, exact without sorting, against a sixteenth of the rows"
    report(what, times["800000"], times["50000"], within=24)


if __name__ == "__main__":
    main(sys.argv[1:])
