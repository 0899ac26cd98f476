"""What pruning saves: kernel duals over pairs beside the solvers of RankSVM and PrunedRankSVM.

    python -m benchmarks.bench_pruned_pairs [--quick]

One query of 1,000 rows in five grades, 400,000 pairs, RBF kernel, squared hinge. For shares of the
pairs, drawn at random, the seconds and the peak memory of three programs on the same problem, each
to a duality gap of 0.1 %:

- no list, or list: RankSVM on all pairs by order statistics, PrunedRankSVM on a list of pairs;
- dual, kernel of rows: a variable per pair, coordinate descent; an update reads two rows of the
  kernel matrix of the rows, O(N), beside O(N^2 + pairs) memory;
- dual, kernel of pairs: the same on the kernel matrix of the pairs, O(pairs) an update and
  O(pairs^2) memory, as an SVM program that is handed pairs keeps it.

C is chosen for each share on validation rows. Seconds are processor time of one thread, memory is
the peak of the allocated arrays without the kernel matrix of the rows, which all programs hold.
Accuracy is the share of test pairs in order, the mean of ``N_DRAWS`` draws of the pairs.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from sklearn.datasets import make_friedman1

from benchmarks._timing import Timing, report
from rankwise import PrunedRankSVM, RankSVM
from rankwise.metrics import evaluate
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.pair_subsets import PairSelector

SHARES = (1.0, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003)
TOL = 1e-3
N_DRAWS = 5
MOST_PAIRS = 5_000  # whose kernel matrix is built: 200 MB, twice that at the peak
MOST_SWEEPS = 2000
MEASURE = "Misranking"


@dataclass(frozen=True)
class Run:
    """One fit.

    Attributes
    ----------
    objective, seconds, megabytes : float
    n_sweeps : int
        0 for Newton steps.
    """

    objective: float
    seconds: float
    megabytes: float
    n_sweeps: int = 0


@njit(cache=True)
def sweep_rows(K, upper, lower, order, alpha, scores, diagonal, ridge):
    """Minimise the dual over every pair in turn; ``scores`` of the rows are kept up to date."""
    for p in order:
        i, j = upper[p], lower[p]
        slope = scores[i] - scores[j] - 1.0 + ridge * alpha[p]
        step = max(-alpha[p], -slope / (diagonal[p] + ridge))
        if step != 0.0:
            alpha[p] += step
            for row in range(len(scores)):
                scores[row] += step * (K[i, row] - K[j, row])


@njit(cache=True)
def sweep_pairs(Q, order, alpha, margins, ridge):
    """The same on the kernel matrix of the pairs; ``margins`` are ``Q alpha``."""
    for p in order:
        slope = margins[p] - 1.0 + ridge * alpha[p]
        step = max(-alpha[p], -slope / (Q[p, p] + ridge))
        if step != 0.0:
            alpha[p] += step
            for other in range(len(margins)):
                margins[other] += step * Q[p, other]


def solve(
    sweep: Callable[[Any, Any], None], margins_of: Callable[[], Any], n_pairs: int, C: float
) -> tuple[float, int]:
    """Sweeps over the pairs in random order until the duality gap is small."""
    random, alpha = np.random.default_rng(0), np.zeros(n_pairs)
    for n_sweeps in range(1, MOST_SWEEPS + 1):
        sweep(random.permutation(n_pairs), alpha)
        margins = margins_of()
        norm = float(alpha @ margins)
        objective = 0.5 * norm + C * float((np.maximum(0.0, 1.0 - margins) ** 2).sum())
        dual = float(alpha.sum()) - 0.5 * norm - float(alpha @ alpha) / (4.0 * C)
        if objective - dual <= TOL * objective:
            return objective, n_sweeps
    raise RuntimeError(f"the gap of {n_pairs} pairs is above {TOL} after {MOST_SWEEPS} sweeps.")


def dual_of_rows(K: Any, upper: Any, lower: Any, C: float) -> tuple[float, int]:
    """Objective and sweeps of the dual that reads the kernel of the rows."""
    scores = np.zeros(len(K))
    diagonal = K[upper, upper] + K[lower, lower] - 2.0 * K[upper, lower]
    ridge = 0.5 / C
    return solve(
        lambda order, alpha: sweep_rows(K, upper, lower, order, alpha, scores, diagonal, ridge),
        lambda: scores[upper] - scores[lower],
        len(upper),
        C,
    )


def dual_of_pairs(K: Any, upper: Any, lower: Any, C: float) -> tuple[float, int]:
    """Objective and sweeps of the dual that holds the kernel of the pairs."""
    difference = K[upper] - K[lower]
    Q = difference[:, upper]
    Q -= difference[:, lower]
    margins = np.zeros(len(upper))
    return solve(
        lambda order, alpha: sweep_pairs(Q, order, alpha, margins, 0.5 / C),
        lambda: margins,
        len(upper),
        C,
    )


def measured(work: Callable[[], tuple[float, int]]) -> Run:
    """Seconds of one call and peak memory of another."""
    start = time.process_time()
    objective, n_sweeps = work()
    seconds = time.process_time() - start
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Run(objective, seconds, peak / 2**20, n_sweeps)


def fitted(ranker: Any, K: Any, y: Any, qid: Any) -> tuple[float, int]:
    """Objective of a ranker on the kernel matrix."""
    return ranker.fit(K, y, qid=qid).objective_, 0


def rows(n_rows: int, seed: int, cuts: Any = None) -> tuple[Any, Any, Any]:
    """Columns, five grades of equal frequency on the first rows, and the cuts."""
    X, target = make_friedman1(n_rows, n_features=10, noise=2.0, random_state=seed)
    cuts = np.quantile(target, [0.2, 0.4, 0.6, 0.8]) if cuts is None else cuts
    return X, np.digitize(target, cuts).astype(np.float64), cuts


def gaussian(X: Any, Z: Any, gamma: float) -> Any:
    """Kernel values of the rows of X and Z."""
    squares = (X**2).sum(axis=1)[:, None] - 2.0 * X @ Z.T + (Z**2).sum(axis=1)
    return np.exp(-gamma * np.maximum(squares, 0.0))


def main() -> None:
    """Print the table, then the targets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 rows")
    n_rows = 200 if parser.parse_args().quick else 1000
    os.environ["RANKWISE_NUM_THREADS"] = "1"
    X, y, cuts = rows(n_rows, 0)
    X_val, y_val, _ = rows(1000, 1, cuts)
    X_test, y_test, _ = rows(2000, 2, cuts)
    gamma = 0.2
    K, K_val, K_test = (gaussian(part, X, gamma) for part in (X, X_val, X_test))
    one, one_val = np.zeros(len(y), dtype=int), np.zeros(len(y_val), dtype=int)
    held_out = {"X_val": K_val, "y_val": y_val, "qid_val": one_val}

    def tuned(share: float, draw: int) -> tuple[float, float]:
        """Chosen C, and the share of test pairs in order."""
        options: dict[str, Any] = {"C": "val", "kernel": "precomputed", "measure": MEASURE}
        if share == 1.0:
            ranker: Any = RankSVM(tol=TOL, **options)
        else:
            ranker = PrunedRankSVM(share=share, tol=TOL, random_state=draw, **options)
        scores = ranker.fit(K, y, qid=one, **held_out).predict(K_test)
        return ranker.C_, 1.0 - evaluate(y_test, scores, None, [MEASURE]).means[MEASURE]

    n_all = int((y[:, None] > y).sum())
    print(f"{n_rows} rows, {n_all:,} pairs, kernel matrix {K.nbytes / 2**20:.1f} MB")
    print(f"{'':40}{'no list, or list':>16}{'dual, kernel of rows':>24}{'of pairs':>18}")
    print(
        f"{'share':>6} {'pairs':>9}  {'in order':13} {'C':>6}"
        f"{'s':>8} {'MB':>7} {'s':>8} {'MB':>7} {'sweeps':>6} {'s':>8} {'MB':>8}"
    )
    found: dict[tuple[float, str], Run] = {}
    indptr = np.array([0, n_rows])
    # Compiled before anything is timed.
    two = np.array([0, 1]), np.array([2, 3])
    dual_of_rows(np.eye(4), *two, 1.0)
    dual_of_pairs(np.eye(4), *two, 1.0)
    with single_threaded_blas():
        for share in SHARES:
            draws = [tuned(share, draw) for draw in range(1 if share == 1.0 else N_DRAWS)]
            C, accuracy = draws[0][0], np.array([correct for _, correct in draws])
            fixed: dict[str, Any] = {"C": C, "kernel": "precomputed", "tol": TOL}
            ranker = (
                RankSVM(**fixed)
                if share == 1.0
                else PrunedRankSVM(share=share, random_state=0, **fixed)
            )
            selector = PairSelector("random", 1, share, 0)
            upper, lower, _, _ = selector.select(K, indptr, y.astype(np.int64), None)
            programs = {"scores": lambda ranker=ranker: fitted(ranker, K, y, one)}
            programs["rows"] = lambda u=upper, v=lower, C=C: dual_of_rows(K, u, v, C)
            if len(upper) <= MOST_PAIRS:
                programs["pairs"] = lambda u=upper, v=lower, C=C: dual_of_pairs(K, u, v, C)
            for name, work in programs.items():
                found[share, name] = measured(work)
            error = accuracy.std(ddof=1) / np.sqrt(len(accuracy)) if len(accuracy) > 1 else 0.0
            in_order = f"{accuracy.mean():.4f}" + (f"±{error:.4f}" if error else "")
            by_scores, by_rows = found[share, "scores"], found[share, "rows"]
            by_pairs = found.get((share, "pairs"))
            last = (
                f"{by_pairs.seconds:8.2f} {by_pairs.megabytes:8.1f}"
                if by_pairs
                else f"   not built, {8 * len(upper) ** 2 / 2**30:,.0f} GB"
            )
            print(
                f"{share:6g} {len(upper):9,}  {in_order:13} {C:6.2g}"
                f"{by_scores.seconds:8.2f} {by_scores.megabytes:7.1f} "
                f"{by_rows.seconds:8.2f} {by_rows.megabytes:7.1f} {by_rows.n_sweeps:6d} {last}",
                flush=True,
            )
    gap = abs(found[1.0, "scores"].objective / found[1.0, "rows"].objective - 1.0)
    mark = "met " if gap <= 2 * TOL else "MISS"
    print(f"{mark}  objectives of all pairs agree within {gap:.1e}")

    def timing(share: float, program: str, title: str) -> Timing:
        return Timing(title, [found[share, program].seconds])

    ours = timing(1.0, "scores", "RankSVM")
    few = timing(0.01, "rows", "ours")
    report("dual over 1 % of the pairs", few, timing(1.0, "rows", "over all"), faster=4)
    report("RankSVM on all pairs", ours, timing(1.0, "rows", "the dual over them"), faster=1)
    pairs = timing(0.01, "pairs", "kernel of 1 % of the pairs")
    report("RankSVM on all pairs", ours, pairs, faster=4)


if __name__ == "__main__":
    main()
