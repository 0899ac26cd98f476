"""ELMRank: 10 folds x 175 grid points and the refit, for one draw of 100 nodes, four ways.

    python -m benchmarks.bench_elmrank [--quick]

One core, one BLAS thread, milliseconds of CPU per draw. "naive" solves formula (8) for each of
the 1,751 systems (extrapolated from 60 of them); "eigh per fold" decomposes each training part and
solves its grid at once; "block" decomposes all rows once and takes every held-out residual from
the block formula with complex penalties. Node outputs and their Gram matrix are timed apart; "all
in" is ``tune_draws`` with as many test rows. The first three ways are compared on the same numbers
before they are timed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks._timing import interleave, synthetic_ranking
from benchmarks.bench_closed_form import peak_extra_memory
from rankwise import ELMRank
from rankwise.features.random_features import draw_nodes
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.stabilised import (
    C_GRID,
    LAM_GRID,
    complex_paths,
    complex_penalties,
    plan_folds,
)
from rankwise_papers.tuned_draws import tune_draws

N_FEATURES, N_NODES, N_FOLDS, N_DRAWS = 300, 100, 10, 10
PENALTY = complex_penalties(LAM_GRID, C_GRID)
# Rows: milliseconds per draw of the block formula, and of all: 450,000 fits in 6 and 15 minutes.
TARGETS = {36: (0.40, 0.80), 62: (1.00, 2.00)}
NAIVE_SYSTEMS = 60


def naive_errors(H, y, folds, points):
    """Squared held-out error of the given grid points, a dense solve for each fold and point."""
    errors, identity = np.zeros(len(points)), np.eye(H.shape[1])
    for test in folds:
        train = np.setdiff1d(np.arange(len(y)), test)
        mean = H[train].mean(axis=0)
        centred, m = H[train] - mean, len(train)
        gram, rhs = 2 / m * centred.T @ centred, 2 / m * centred.T @ y[train]
        for g, point in enumerate(points):
            A = gram + PENALTY[0, point] * identity
            beta = np.linalg.solve(A.T @ A + PENALTY[1, point] ** 2 * identity, A.T @ rhs)
            errors[g] += ((y[test] - y[train].mean() - (H[test] - mean) @ beta) ** 2).sum()
    return errors


def eigh_errors(H, y, folds):
    """The same for the whole grid: a decomposition of the training rows' products per fold."""
    errors = np.zeros(PENALTY.shape[1])
    for test in folds:
        train = np.setdiff1d(np.arange(len(y)), test)
        mean = H[train].mean(axis=0)
        centred, half = H[train] - mean, 0.5 * len(train)
        values, vectors = np.linalg.eigh(centred @ centred.T)
        shifted, imaginary = values + half * PENALTY[0][:, None], half * PENALTY[1][:, None]
        share = vectors.T @ y[train] * shifted / (shifted**2 + imaginary**2)
        scores = (H[test] - mean) @ centred.T @ vectors @ share.T
        errors += ((y[test, None] - y[train].mean() - scores) ** 2).sum(axis=0)
    return errors


def block_errors(hidden, y, folds):
    """The same by the block formula for several draws, and the solution of the best point."""
    plan = plan_folds(folds, np.ones(len(y)))
    errors = []
    for path in complex_paths(hidden, y):
        errors.append(path.held_out(plan, PENALTY))
        path.coef(PENALTY[:, errors[-1].argmin(), None])
    return errors


def table_row(m: int, repeats: int) -> dict[str, float]:
    """Milliseconds per draw of each way for m training rows."""
    rng = np.random.default_rng(m)
    X, y = rng.random((m, N_FEATURES)), rng.normal(size=m)
    X_test = rng.random((m, N_FEATURES))
    maps = [
        draw_nodes(N_FEATURES, N_NODES, "sigmoid", np.random.RandomState(seed))
        for seed in range(N_DRAWS)
    ]
    hidden = np.stack([nodes.rows(X) for nodes in maps])
    fold_of_row = rng.permutation(np.arange(m) % N_FOLDS)
    folds = [np.flatnonzero(fold_of_row == fold) for fold in range(N_FOLDS)]
    points = np.linspace(0, PENALTY.shape[1] - 1, NAIVE_SYSTEMS // N_FOLDS).astype(int)
    expected = eigh_errors(hidden[0], y, folds)
    np.testing.assert_allclose(block_errors(hidden, y, folds)[0], expected, rtol=1e-7)
    np.testing.assert_allclose(
        naive_errors(hidden[0], y, folds, points), expected[points], rtol=1e-6
    )
    times = interleave(
        {
            "naive": lambda: naive_errors(hidden[0], y, folds, points),
            "eigh per fold": lambda: eigh_errors(hidden[0], y, folds),
            "block": lambda: block_errors(hidden, y, folds),
            "nodes + Gram": lambda: [H @ H.T for H in (nodes.rows(X) for nodes in maps)],
            "all in": lambda: tune_draws(X, y, X_test, maps, fold_of_row),
        },
        repeats=repeats,
        clock=time.process_time,
    )
    n_systems = N_FOLDS * PENALTY.shape[1] + 1
    share = {
        "naive": n_systems / NAIVE_SYSTEMS,
        "eigh per fold": 1.0,
        "block": 1 / N_DRAWS,
        "nodes + Gram": 1 / N_DRAWS,
        "all in": 1 / N_DRAWS,
    }
    return {name: 1e3 * share[name] * timing.median for name, timing in times.items()}


def many_rows(n_queries: int) -> None:
    """Time and memory of a search on many rows."""
    X, y, qid = synthetic_ranking(n_queries)
    X = 1 / (1 + np.exp(-X))
    for name, groups in (("folds of queries", qid), ("folds of rows of one query", None)):
        ranker = ELMRank(N_NODES, lam="cv", alpha="cv", random_state=0)
        times = interleave({"fit": lambda r=ranker, g=groups: r.fit(X, y, qid=g)}, repeats=3)
        extra = peak_extra_memory(lambda r=ranker, g=groups: r.fit(X, y, qid=g))
        print(
            f"{len(y)} x {X.shape[1]} float32 rows, {name}: {times['fit'].median:.2f} s, "
            f"extra memory {extra:.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    args = parser.parse_args()
    names = ["naive", "eigh per fold", "block", "nodes + Gram", "all in"]
    print("ms per draw" + "".join(f"{name:>15}" for name in names))
    rows: dict[int, dict[str, float]] = {}
    with single_threaded_blas():
        for m in (36, 62) if args.quick else (36, 62, 100, 150, 237):
            rows[m] = table_row(m, 5 if args.quick else 15)
            print(f"{m:>4} rows  " + "".join(f"{rows[m][name]:>15.2f}" for name in names))
    for m, (block, all_in) in TARGETS.items():
        for name, target in (("block", block), ("all in", all_in)):
            met = "met " if rows[m][name] <= target else "MISS"
            print(f"{met}  {m} rows, {name}: {rows[m][name]:.2f} ms (target <= {target:.2f} ms)")
    many_rows(200 if args.quick else 2000)


if __name__ == "__main__":
    main()
