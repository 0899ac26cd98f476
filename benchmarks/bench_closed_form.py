"""Pairwise least squares on 1,000 sigmoid nodes: what it costs beyond the bare matrix products.

    python -m benchmarks.bench_closed_form [--quick]

The bare products are the hidden layer's GEMM and the SYRK of its output, chunk by chunk on one
thread per core with single-threaded BLAS (the faster of the forms tried), nothing else: no
activation, no centring, no accumulation in float64.
"""

from __future__ import annotations

import argparse
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import PairwiseELM, QueryGroups
from rankwise.features.random_features import draw_nodes
from rankwise.runtime.threads import available_threads, thread_imap
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Problem, fold_grams


def bare_products(X: np.ndarray, weights: np.ndarray) -> None:
    """Hidden-layer GEMM + SYRK over all rows."""
    n_threads = available_threads()
    n_nodes = weights.shape[1]

    def work(first: int) -> None:
        hidden = np.empty((CHUNK_ROWS, n_nodes), X.dtype)
        product = np.empty((n_nodes, n_nodes), X.dtype)
        for lo in range(first * CHUNK_ROWS, len(X), n_threads * CHUNK_ROWS):
            rows = X[lo : lo + CHUNK_ROWS]
            block = hidden[: len(rows)]
            np.matmul(rows, weights, out=block)
            np.matmul(block.T, block, out=product)

    list(thread_imap(work, range(n_threads), n_threads))


def peak_extra_memory(work) -> float:
    """Peak resident memory above the start while ``work`` runs, in MB (sampled)."""
    peak, done = [0.0], threading.Event()

    def resident() -> float:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    start = resident()

    def sample() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], resident())
            time.sleep(0.005)

    sampler = threading.Thread(target=sample)
    sampler.start()
    work()
    done.set()
    sampler.join()
    return peak[0] - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    args = parser.parse_args()
    n_queries = 200 if args.quick else 2000
    X, y, qid = synthetic_ranking(n_queries)
    X = 1 / (1 + np.exp(-X))  # features in [0, 1], as the nodes expect
    nodes = draw_nodes(X.shape[1], 1000, "sigmoid", np.random.RandomState(0)).astype(np.float32)
    groups = QueryGroups.from_qid(qid, len(y))
    problem = Problem(X, y, groups, None, "all")
    ranker = PairwiseELM(n_nodes=1000, C="cv", cv=5, random_state=0)
    print(
        f"{len(y)} x {X.shape[1]} float32 rows, 1,000 sigmoid nodes, {available_threads()} threads"
    )
    times = interleave(
        {
            "bare": lambda: bare_products(X, nodes.weights),
            "Gram": lambda: fold_grams(problem, nodes, None),
            "path": lambda: ranker.fit(X, y, qid=qid),
        }
    )
    report("Gram against bare GEMM + SYRK", times["Gram"], times["bare"], within=1.25)
    report("Gram + 26 C + 5-fold query CV against bare", times["path"], times["bare"], within=2.0)
    extra = peak_extra_memory(lambda: ranker.fit(X, y, qid=qid))
    print(f"{'met ' if extra <= 200 else 'MISS'}  extra memory {extra:.0f} MB (target <= 200 MB)")

    from sklearn.linear_model import Ridge

    H = nodes(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = interleave(
            {
                "path": lambda: ranker.fit(X, y, qid=qid),
                "one sklearn Ridge": lambda: Ridge().fit(H, y),
            },
            repeats=3,
        )
    report("Gram + 26 C + 5-fold query CV", times["path"], times["one sklearn Ridge"], within=1.8)

    small = ranker.set_params(n_nodes=200)
    few, many = X[: len(X) // 10], X
    few_y, few_qid = y[: len(few)], qid[: len(few)]
    times = interleave(
        {
            "a tenth of the rows": lambda: small.fit(few, few_y, qid=few_qid),
            "all rows": lambda: small.fit(many, y, qid=qid),
        },
        repeats=3,
    )
    report("10 x rows, 200 nodes", times["all rows"], times["a tenth of the rows"], within=11.0)


if __name__ == "__main__":
    main()
