"""OrdinalSVM beside scikit-learn's SVC on the expanded kernel, and 20,000 rows.

    python -m benchmarks.bench_ordinal_svm
    python -m benchmarks.bench_ordinal_svm precomputed   (the estimator on kernel values alone)

4,000 rows, ten features, five ranks, perceptron kernel, tolerance 1e-3 on both sides. The peer gets
the precomputed kernel over all 16,000 pairs (row, threshold), 2 GB, by which it is the same problem
(``K + [k = k']`` with an intercept). SVC works on one thread; so do the steps of OrdinalSVM, whose
kernel values come from all threads.
"""

from __future__ import annotations

import resource
import sys
import time
from functools import partial

import numpy as np
from sklearn.svm import SVC

from benchmarks._timing import interleave, report
from rankwise import OrdinalSVM
from rankwise.features.kernels import Kernel
from rankwise.solvers.svm.ordinal_smo import KernelRows, OrdinalSMO, kernel_rows

N, RANKS = 4000, 5
PERCEPTRON = Kernel("perceptron")


def graded(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ten features, and five ranks of equal size by a curved utility with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    utility = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + X[:, 3] + rng.standard_normal(n)
    y = np.digitize(utility, np.quantile(utility, np.arange(1, RANKS) / RANKS))
    return X, y.astype(np.int64)


def expand(K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kernel and signs of the binary problem over all pairs (row, threshold)."""
    n_thresholds = RANKS - 1
    Q = np.kron(K, np.ones((n_thresholds, n_thresholds)))
    Q += np.kron(np.ones_like(K), np.eye(n_thresholds))
    return Q, np.where(np.arange(n_thresholds) < y[:, None], 1, -1).ravel()


def many_rows(max_bytes: int) -> None:
    """Time and memory of 20,000 rows within so much memory for kernel values."""
    X, y = graded(20_000)
    start = time.perf_counter()
    rows = kernel_rows(PERCEPTRON, X, max_bytes)
    built = time.perf_counter()
    result = OrdinalSMO(1e-3).solve(rows, y, np.ones((len(y), RANKS - 1)))
    seconds = time.perf_counter() - built
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak *= 1 if sys.platform == "darwin" else 1024
    print(
        f"      20,000 rows x {RANKS} ranks, C = 1: {rows.values.dtype} kernel values, "
        f"{rows.values.nbytes / 1e9:.1f} GB, in {built - start:.1f} s, {result.n_iter} steps in "
        f"{seconds:.1f} s, duality gap {result.x.gap:.1e}; most memory so far {peak / 1e9:.1f} GB",
        flush=True,
    )


def steps(rows: KernelRows, y: np.ndarray, C: float) -> float:
    """Dual objective of OrdinalSVM's solver."""
    return OrdinalSMO(1e-3).solve(rows, y, np.full((N, RANKS - 1), C)).x.dual_objective


def machine(Q: np.ndarray, s: np.ndarray, C: float) -> SVC:
    """The peer, with room for all of its kernel values."""
    return SVC(kernel="precomputed", C=C, tol=1e-3, cache_size=1000).fit(Q, s)


def dual_objective(peer: SVC, K: np.ndarray) -> float:
    """Dual objective of the peer, in float64."""
    signed = np.zeros(N * (RANKS - 1))
    signed[peer.support_] = peer.dual_coef_[0]
    coef, theta = signed.reshape(N, -1).sum(axis=1), signed.reshape(N, -1).sum(axis=0)
    return float(0.5 * (coef @ K @ coef + theta @ theta) - np.abs(signed).sum())


def precomputed(K: np.ndarray, y: np.ndarray) -> None:
    """The estimator on kernel values that are there, in processor seconds."""
    Q, s = expand(K, y)
    ours = OrdinalSVM("precomputed").fit(K, y).dual_objective_
    peers = dual_objective(machine(Q, s, 1.0), K)
    assert abs(ours - peers) < 1e-6 * abs(peers), (ours, peers)
    times = interleave(
        {
            "OrdinalSVM": lambda: OrdinalSVM("precomputed").fit(K, y),
            "SVC": partial(machine, Q, s, 1.0),
        },
        repeats=3,
        warmup=0,
        clock=time.process_time,
    )
    what = f'{N} rows x {RANKS} ranks, C = 1, OrdinalSVM("precomputed")'
    report(what, times["OrdinalSVM"], times["SVC"], faster=1.5)


def main() -> None:
    if sys.argv[1:] == ["precomputed"]:
        X, y = graded(N)
        precomputed(PERCEPTRON(X, X), y)
        return
    for max_bytes in (2**31, 2**33):
        many_rows(max_bytes)
    X, y = graded(N)
    K = PERCEPTRON(X, X)
    rows = kernel_rows(PERCEPTRON, X, 2**33)
    Q, s = expand(K, y)
    met = rows.values.nbytes * (RANKS - 1) ** 2 <= Q.nbytes
    sizes = f"{rows.values.nbytes / 1e6:.0f} MB against {Q.nbytes / 1e6:.0f} MB"
    print(f"{'met ' if met else 'MISS'}  kernel values of {N} rows: {sizes} (target <= 1/16)")
    for C, target in ((1.0, 1.5), (100.0, 1.0)):
        ours, peers = steps(rows, y, C), dual_objective(machine(Q, s, C), K)
        assert abs(ours - peers) < 1e-6 * abs(peers), (ours, peers)
        times = interleave(
            {"OrdinalSVM": partial(steps, rows, y, C), "SVC": partial(machine, Q, s, C)},
            repeats=3,
            warmup=0,
        )
        what = f"{N} rows x {RANKS} ranks, C = {C:g}, kernel values there"
        report(what, times["OrdinalSVM"], times["SVC"], faster=target)
    del Q, rows
    precomputed(K, y)
    times = interleave(
        {
            "OrdinalSVM": lambda: OrdinalSVM().fit(X, y),
            "SVC": lambda: machine(*expand(PERCEPTRON(X, X), y), 1.0),
        },
        repeats=3,
        warmup=0,
    )
    what = f"{N} rows x {RANKS} ranks, C = 1, kernel values counted"
    report(what, times["OrdinalSVM"], times["SVC"], faster=3)


if __name__ == "__main__":
    main()
