"""ORBoost: a round beside one pass over the bins, 1,000 stumps beside other boosting libraries'.

    python -m benchmarks.bench_orboost

The bare pass reads the byte of every value and adds a weight to its bin, feature by feature, on
the same threads; a round searches all features, advances the scores and solves the thresholds. The
peers boost trees of two leaves on the grades as numbers (squared loss): the same number of stumps
from as many bins, another loss. All sides use all cores. Last, the size at which Tsai et al.
(2010, Table 7) report 431 minutes for 1,000 rounds.
"""

from __future__ import annotations

import time

import lightgbm
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks._timing import interleave, report
from rankwise import ORBoost
from rankwise.features.binning import find_bins
from rankwise.runtime.jit import njit
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.margin_boosting import MarginBoosting, class_order
from rankwise.solvers.boosting.rounds import run_round
from rankwise.solvers.boosting.stump_search import StumpSearch

ROUNDS = 1000


@njit
def add_to_bins(codes, u, histogram):
    for j in range(codes.shape[0]):
        bins, sums = codes[j], histogram[j]
        for i in range(np.uint64(len(u))):
            sums[bins[i]] += u[i]


def ranks(n: int, d: int, *, zeros: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, a share of the values 0, and five ranks, half of the rows the lowest."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 20_000):
        block = rng.standard_normal((min(20_000, n - start), d), dtype=np.float32)
        X[start : start + 20_000] = np.where(rng.random(block.shape) < zeros, 0, block)
    utility = X[:, :10] @ rng.standard_normal(10) + 2 * rng.standard_normal(n)
    return X, np.searchsorted(np.quantile(utility, [0.5, 0.8, 0.92, 0.98]), utility)


def one_round(zeros: float) -> None:
    """A round against the bare pass."""
    n, d = 240_000, 136
    X, y = ranks(n, d, zeros=zeros)
    rows, class_ptr = class_order(y.astype(float), 5)
    search = StumpSearch(X, rows, 255, None)
    boosting = MarginBoosting(class_ptr, np.ones(n), "all")
    codes = find_bins(X).codes(X)
    u, histogram = np.random.default_rng(1).normal(size=n), np.zeros((d, 256))
    parts = np.array_split(np.arange(d), 4 * available_threads())

    def bare(part: np.ndarray) -> None:
        columns = slice(part[0], part[-1] + 1)
        add_to_bins(codes[columns], u, histogram[columns])

    times = interleave(
        {
            "round": lambda: run_round(boosting, search),
            "bare pass": lambda: thread_map(bare, parts),
        },
        repeats=25,
        warmup=2,
    )
    what = f"one round, {n:,} x {d}, {zeros:.0%} zeros"
    report(what, times["round"], times["bare pass"], within=3)


def thousand_rounds() -> None:
    """Fits with binning, against the peers."""
    X, y = ranks(50_000, 100)
    grades = y.astype(np.float64)
    threads = available_threads()

    def ours() -> None:
        assert ORBoost(n_estimators=ROUNDS).fit(X, y).n_estimators_ == ROUNDS

    def light() -> None:
        lightgbm.LGBMRegressor(
            n_estimators=ROUNDS, num_leaves=2, n_jobs=threads, verbosity=-1, force_col_wise=True
        ).fit(X, grades)

    def hist() -> None:
        HistGradientBoostingRegressor(max_iter=ROUNDS, max_leaf_nodes=2, early_stopping=False).fit(
            X, grades
        )

    times = interleave({"ORBoost": ours, "LightGBM": light, "HistGradientBoosting": hist}, 3)
    for peer in ("LightGBM", "HistGradientBoosting"):
        what = f"{ROUNDS:,} rounds, 50,000 x 100, beside {peer} with two leaves"
        report(what, times["ORBoost"], times[peer], faster=1)
    for name, booster in {
        "form='lr'": ORBoost(100, "lr"),
        "max_bins=None": ORBoost(n_estimators=100, max_bins=None),
        "estimator='perceptron'": ORBoost(n_estimators=3, estimator="perceptron", random_state=0),
    }.items():
        start = time.perf_counter()
        booster.fit(X, y)
        seconds = time.perf_counter() - start
        print(f"      {booster.n_estimators} rounds, {name}: {seconds:.2f} s")
    booster = ORBoost(n_estimators=ROUNDS).fit(X, y)
    start = time.perf_counter()
    booster.rank_score(X)
    print(f"      scores of 50,000 rows: {time.perf_counter() - start:.3f} s")


def challenge_size() -> None:
    """Rows and features of the challenge's first set."""
    n, d = 473_134, 519
    X, y = ranks(n, d)
    start = time.perf_counter()
    booster = ORBoost(n_estimators=ROUNDS, row_weight="rank").fit(X, y)
    seconds = time.perf_counter() - start
    assert booster.n_estimators_ == ROUNDS
    print(
        f"      {ROUNDS:,} rounds, {n:,} x {d}: {seconds / 60:.2f} minutes with binning "
        f"(431 minutes in the report of 2010: {431 * 60 / seconds:.0f} x)"
    )


def main() -> None:
    for zeros in (0.0, 0.8):
        one_round(zeros)
    thousand_rounds()
    challenge_size()


if __name__ == "__main__":
    main()
