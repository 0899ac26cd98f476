"""Nyström least squares at scale: what it costs beyond the bare matrix products.

    python -m benchmarks.bench_kernels [--quick]

240,000 x 136 float32 rows in queries of 120, 2,000 landmarks: Nyström features of a Gaussian
kernel and their pairwise Gram matrix. The bare products are those of the textbook form, chunk by
chunk on one thread per core with single-threaded BLAS: rows by landmarks, the exponential,
kernel values by the full K_zz^(-1/2), and the SYRK of the features. No distances, no centring, no
sums in float64.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from benchmarks.bench_closed_form import peak_extra_memory
from rankwise import QueryGroups
from rankwise.features.kernels import resolve_kernel
from rankwise.features.nystroem import draw_landmarks, nystroem_map
from rankwise.runtime.threads import available_threads, thread_imap
from rankwise.solvers.least_squares.design import NodeDesign
from rankwise.solvers.least_squares.eigen_path import path_coef
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Problem, fold_grams

N_LANDMARKS = 2000
SLICE_ROWS = 512


def bare_products(X: np.ndarray, landmarks: np.ndarray, root: np.ndarray) -> None:
    """Rows by landmarks, exponential, whitening and SYRK over all rows."""
    n_threads, m = available_threads(), len(landmarks)

    def work(first: int) -> None:
        values = np.empty((SLICE_ROWS, m), X.dtype)
        features = np.empty((CHUNK_ROWS, m), X.dtype)
        product = np.empty((m, m), X.dtype)
        for start in range(first * CHUNK_ROWS, len(X), n_threads * CHUNK_ROWS):
            rows = X[start : start + CHUNK_ROWS]
            for lo in range(0, len(rows), SLICE_ROWS):
                part = rows[lo : lo + SLICE_ROWS]
                block = values[: len(part)]
                np.matmul(part, landmarks.T, out=block)
                np.minimum(block, 0, out=block)  # the exponential must not overflow
                np.exp(block, out=block)
                np.matmul(block, root, out=features[lo : lo + len(part)])
            done = features[: len(rows)]
            np.matmul(done.T, done, out=product)

    list(thread_imap(work, range(n_threads), n_threads))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    args = parser.parse_args()
    X, y, qid = synthetic_ranking(200 if args.quick else 2000)
    problem = Problem(X, y, QueryGroups.from_qid(qid, len(y)), None, "all")
    kernel = resolve_kernel("rbf", X)
    landmarks = X[draw_landmarks(X, N_LANDMARKS, "uniform", kernel, 0)]
    phi = nystroem_map(kernel, landmarks, X.dtype)
    root = np.random.default_rng(0).standard_normal((N_LANDMARKS,) * 2, dtype=np.float32)
    print(
        f"{len(y)} x {X.shape[1]} float32 rows, {N_LANDMARKS} landmarks, rank "
        f"{phi.n_features_out}, {available_threads()} threads"
    )

    def fit() -> None:
        """Landmarks, map, Gram and one solution, as a ranker would."""
        rows = draw_landmarks(X, N_LANDMARKS, "uniform", kernel, 0)
        drawn = nystroem_map(kernel, X[rows], X.dtype)
        gram = fold_grams(problem, NodeDesign([drawn]).maps[0])[0]
        path_coef(gram.matrix, gram.rhs, np.ones(1))

    fold_grams(Problem(X[:120], y[:120], QueryGroups.single(120), None, "all"), phi)  # compile
    times = interleave(
        {
            "bare": lambda: bare_products(X, phi.landmarks, root),
            "Gram": lambda: fold_grams(problem, phi),
            "fit": fit,
        },
        repeats=3,
        warmup=0,
    )
    report("Nyström map + Gram against bare products", times["Gram"], times["bare"], within=3.0)
    report("landmarks + map + Gram + solution", times["fit"], times["bare"], within=3.0)
    extra = peak_extra_memory(fit)
    print(f"{'met ' if extra <= 1000 else 'MISS'}  extra memory {extra:.0f} MB (target < 1000 MB)")

    times = interleave(
        {
            method: lambda method=method: draw_landmarks(X, N_LANDMARKS, method, kernel, 0)
            for method in ("uniform", "kmeans++", "leverage")
        },
        repeats=1,
        warmup=0,
    )
    for method, timing in times.items():
        print(f"      {method} landmarks of {len(X)} rows: {timing.median:.2f} s")

    few, laplacian = X[:: len(X) // 24_000], resolve_kernel("laplacian", X)
    times = interleave(
        {
            "product": lambda: np.matmul(few, phi.landmarks.T),
            "rbf": lambda: kernel(few, phi.landmarks),
            "laplacian": lambda: laplacian(few, phi.landmarks),
        }
    )
    report("rbf values against the bare product", times["rbf"], times["product"], within=4.0)
    report("laplacian values against it", times["laplacian"], times["product"], within=4.0)


if __name__ == "__main__":
    main()
