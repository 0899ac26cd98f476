"""ELMRank's experiments on one core: the full protocol in minutes, a set of 50 draws in seconds.

    python -m benchmarks.bench_recommendation [--reviewers 20]

Needs RANKWISE_DATA. Times a sample of the test reviewers of every group, 50 draws each, and scales
it to the protocol's 9,000 reviewers (450,000 fits tuned over 175 grid points by ten folds). Each
fit is compared with the same fit by an eigendecomposition for every fold, on a reviewer of each
set. BLAS runs on one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rankwise.features.random_features import NodeMap
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.stabilised import C_GRID, LAM_GRID, complex_penalties
from rankwise_papers.elmrank_qsar.compounds import compounds
from rankwise_papers.elmrank_qsar.methods import elmrank
from rankwise_papers.elmrank_recommendation.elm_methods import elmrank_scores, node_draws
from rankwise_papers.elmrank_recommendation.experiment import LOAD, N_DRAWS
from rankwise_papers.elmrank_recommendation.families import FAMILIES, Scale
from rankwise_papers.elmrank_recommendation.reviewers import (
    GROUPS,
    N_REFERENCES,
    Reviewer,
    draw_reviewers,
    reference_table,
)

PROTOCOL = 9000  # 300 reviewers x 3 groups x 10 repetitions
MINUTES = {"movielens-1m": 15.0, "jester": 6.0}
QSAR_SECONDS = 1.0


def by_fold(reviewer: Reviewer, X: np.ndarray, nodes: NodeMap, fold: np.ndarray) -> np.ndarray:
    """Scores of one draw, with an eigendecomposition for each fold (methods §2, first form)."""
    n, y = reviewer.n_train, reviewer.y_train
    H = nodes.rows(X)
    real, imaginary = complex_penalties(LAM_GRID, C_GRID)

    def path(rows: np.ndarray) -> np.ndarray:
        A = H[rows] - H[rows].mean(axis=0)
        values, vectors = np.linalg.eigh(A @ A.T)
        eta = 0.5 * len(A) * (real + 1j * imaginary)
        moment = vectors.T @ (y[rows] - y[rows].mean())
        return A.T @ (vectors @ (moment[:, None] / (values[:, None] + eta)).real)

    errors = np.zeros(len(real))
    for k in range(fold.max() + 1):
        train, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        b = path(train)
        scores = (H[out] - H[train].mean(axis=0)) @ b + y[train].mean()
        errors += ((y[out, None] - scores) ** 2).sum(axis=0)
    return H[n:] @ path(np.arange(n))[:, errors.argmin()]


def line(what: str, took: float, target: float, unit: str) -> None:
    """One line in the form that the runner counts."""
    verdict = "met " if took <= target else "MISS"
    print(f"{verdict}  {what}: {took:.2f} {unit} (target <= {target:g} {unit})", flush=True)


def recommendation(name: str, n_reviewers: int) -> None:
    """The protocol's time, scaled from a sample of reviewers of the three groups."""
    table = reference_table(LOAD[name]())
    maps = node_draws(N_REFERENCES, N_DRAWS, seed=1)
    reviewers = [r for group in GROUPS for r in draw_reviewers(table, 0, group, n_reviewers)]
    features = [reviewer.filled(reviewer.medians) for reviewer in reviewers]
    elmrank_scores(reviewers[:2], features[:2], maps, [1])  # compiles
    start = time.perf_counter()
    elmrank_scores(reviewers, features, maps, [1])
    took = (time.perf_counter() - start) / len(reviewers)
    fit = took / N_DRAWS * 1e3
    line(f"{name}, ELMRank's full protocol ({fit:.2f} ms a fit)", took * PROTOCOL / 60,
         MINUTES[name], "min")  # fmt: skip
    reviewer, X = reviewers[0], features[0]
    folds = reviewer.folds([1], N_DRAWS)
    start = time.perf_counter()
    naive = [by_fold(reviewer, X, nodes, fold) for nodes, fold in zip(maps, folds, strict=True)]
    slow = time.perf_counter() - start
    start = time.perf_counter()
    (fast,) = elmrank_scores([reviewer], [X], maps, [1])
    ratio = slow / (time.perf_counter() - start)
    apart = np.abs(fast - naive).max() / np.abs(fast).max()
    print(f"      one eigendecomposition a fold: {ratio:.1f} x the time, scores apart {apart:.1e}")
    for family in ("mprank", "beyond"):
        group = draw_reviewers(table, 0, GROUPS[1], n_reviewers)
        start = time.perf_counter()
        FAMILIES[family][0](group, 0, Scale(*table.ratings.scale), N_DRAWS)
        minutes = (time.perf_counter() - start) / n_reviewers * PROTOCOL / 60
        print(f"      {name}, {family}: {minutes:.1f} min for the full protocol")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviewers", type=int, default=20, help="per group")
    args = parser.parse_args()
    with single_threaded_blas():
        for name in LOAD:
            recommendation(name, args.reviewers)
        for name in ("dhfr", "cox2"):
            data = compounds(name)
            times = []
            for seed in range(6):
                start = time.perf_counter()
                elmrank(data.X_train, data.y_train, data.X_test, N_DRAWS, 1000 * seed)
                times.append(time.perf_counter() - start)
            line(f"{name}, a set of 50 draws", float(np.median(times[1:])), QSAR_SECONDS, "s")


if __name__ == "__main__":
    main()
