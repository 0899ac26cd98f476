"""Time ten hot kernels of one checkout against those of another, in turn.

    python -m benchmarks.hot_kernels BASE HEAD [--repeats 15] [--limit 1.5]

BASE and HEAD are folders of two checkouts, such as git worktrees. Each has a process with its own
cache of kernels; the parent asks them in turn, base, head, base, head, and prints the medians of
their CPU seconds. Exit code 1 if a median of head is more than ``--limit`` times that of base, in
a second round too: shared machines vary by a tenth or two, and a kernel that is no longer
vectorised takes two to eight times as long. A kernel that base does not have, or that takes other
arguments there, is not compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
SEED = 0
N_ROWS, N_QUERIES = 24_000, 200
TIMED_SECONDS = 0.02


def rank_rows() -> Callable[[], object]:
    from rankwise.kernels.topk import rank_rows

    scores, _, indptr = _queries()
    values, out, left = np.arange(float(N_ROWS)), np.empty(N_ROWS), np.empty(N_QUERIES, np.int64)
    return lambda: rank_rows(scores, values, indptr, 0, indptr, out, left)


def measure_gradients() -> Callable[[], object]:
    from rankwise.kernels.lambda_gradients import DISCOUNTED, measure_gradients

    scores, grades, indptr = _queries()
    discounts = 1.0 / np.log2(np.arange(2.0, 12.0))
    order = np.tile(np.arange(N_ROWS // N_QUERIES, dtype=np.uint32), N_QUERIES)
    out, ones = np.empty((2, N_ROWS)), np.ones(N_ROWS)
    return lambda: measure_gradients(
        scores, grades, ones, indptr, ones[:N_QUERIES], discounts, DISCOUNTED, True, order, *out
    )


def add_rows() -> Callable[[], object]:
    from rankwise.kernels.boosted_trees import add_rows

    draw = np.random.default_rng(SEED)
    words = draw.integers(0, 256, (N_ROWS, 64), dtype=np.uint8).view(np.int64)
    rows, packed = np.arange(N_ROWS, dtype=np.int32), draw.integers(0, 2**40, N_ROWS)
    out = np.zeros(words.shape[1] * 2048, np.int64)
    return lambda: add_rows(words, words[0, :0], rows, packed, out)


def write_codes() -> Callable[[], object]:
    from rankwise.kernels.binning import write_codes

    X = np.random.default_rng(SEED).normal(size=(N_ROWS, 16))
    cuts = np.quantile(X, np.linspace(0, 1, 257)[1:-1], axis=0).T.copy()
    out = np.empty((16, N_ROWS), np.uint8)
    return lambda: write_codes(X, cuts, np.full(16, 255), out)


def hinge_point() -> Callable[[], object]:
    from rankwise.kernels.pair_losses import hinge_point

    scores, grades, indptr = _queries()
    shape, table, ones = np.array([1.0, np.inf, 1.0]), np.tri(5, k=-1), np.ones(N_ROWS)
    order = np.arange(N_ROWS)
    placed, ranges, out = np.empty((3, N_ROWS)), np.empty((5, N_ROWS), np.int32), np.empty(N_ROWS)
    arguments = (scores, grades.astype(np.int64), ones, ones[:N_QUERIES], indptr, table, shape)
    return lambda: hinge_point(*arguments, order, placed, ranges, out)


def logistic_point() -> Callable[[], object]:
    from rankwise.kernels.pair_losses import logistic_point

    scores, grades, indptr = _queries()
    grades = np.sort(grades.reshape(N_QUERIES, -1), axis=1)
    ends = [
        lo + np.searchsorted(row, row, "right") for lo, row in zip(indptr, grades, strict=False)
    ]
    ones, out = np.ones(N_ROWS), np.empty(N_ROWS)
    arguments = (np.exp(scores), grades.ravel().astype(np.int64), np.concatenate(ends), ones)
    return lambda: logistic_point(*arguments, ones[:N_QUERIES], indptr, np.tri(5, k=-1), out)


def compare_pairs() -> Callable[[], object]:
    from rankwise.kernels.ranking_agreement import compare_pairs

    scores, grades, indptr = _queries()
    counts, sums = np.empty((N_QUERIES, 4), np.int64), np.empty((N_QUERIES, 2))
    return lambda: compare_pairs(grades, scores, indptr, counts, sums)


def search_postings() -> Callable[[], object]:
    from rankwise.kernels.text_search import search_postings

    draw = np.random.default_rng(SEED)
    n_documents, n_terms, k = 20_000, 100, 10
    each = [np.sort(draw.choice(n_documents, 1000, False)) for _ in range(n_terms)]
    starts = np.arange(n_terms + 1) * 1000
    terms, bounds = draw.integers(0, n_terms, 400), np.arange(101) * 4
    documents, weights = np.concatenate(each).astype(np.int32), draw.random(1000 * n_terms)
    return lambda: search_postings(
        starts, documents, weights, n_documents, terms, np.ones(400), bounds,
        np.zeros((100, 1)), np.ones(1), np.empty((100, k), np.int64), np.empty((100, k)),
    )  # fmt: skip


def add_trees() -> Callable[[], object]:
    from rankwise.kernels.ensemble_scores import add_trees

    draw = np.random.default_rng(SEED)
    n_trees, n_inner = 40, 31
    node = np.arange(n_trees * (2 * n_inner + 1))  # level by level over all trees
    is_inner = node < n_trees * n_inner
    cuts = np.where(is_inner, draw.normal(size=len(node)), np.inf).repeat(2).reshape(-1, 2)
    child = np.where(is_inner, n_trees + 2 * node, node)
    links = cuts.view(np.int64)
    links[:, 1] = (child << 32) + np.where(is_inner, 2 * draw.integers(0, 16, len(node)), 0)
    values, X = draw.normal(size=len(node)), draw.normal(size=(N_ROWS // 4, 16))
    out = np.zeros(len(X))
    return lambda: add_trees(X, n_trees, cuts, links, values, out)


def parse_letor() -> Callable[[], object]:
    from rankwise.datasets import read_letor

    table = np.random.default_rng(SEED).random((N_ROWS // 6, 40)).round(6)
    lines = (
        f"{row % 5} qid:{row // 20} " + " ".join(f"{j}:{x}" for j, x in enumerate(values, 1))
        for row, values in enumerate(table.tolist())
    )
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(lines) + "\n")
    return lambda: read_letor(file.name, cache=False)


KERNELS = {
    task.__name__: task
    for task in (
        rank_rows, measure_gradients, add_rows, write_codes, hinge_point, logistic_point,
        compare_pairs, search_postings, add_trees, parse_letor,
    )
}  # fmt: skip


def _queries() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores and grades from 0 to 4 of queries of equal length, and the queries' bounds."""
    draw = np.random.default_rng(SEED)
    grades = draw.choice(5, N_ROWS, p=[0.5, 0.25, 0.15, 0.07, 0.03]).astype(np.float64)
    indptr = np.linspace(0, N_ROWS, N_QUERIES + 1).astype(np.int64)
    return draw.normal(size=N_ROWS), grades, indptr


def answer() -> None:
    """In a process of one checkout: for every name read, write the CPU seconds of a call.

    Short kernels are called several times, because the clock and other programs disturb them.
    """
    calls: dict[str, tuple[Callable[[], object], int]] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in calls:
                call = KERNELS[name]()
                call()  # compiles
                calls[name] = call, max(1, int(TIMED_SECONDS / max(_cpu_seconds(call, 1), 1e-6)))
            print(_cpu_seconds(*calls[name]), flush=True)
        except Exception as error:  # whatever another version does with these arguments
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}", flush=True)


def _cpu_seconds(call: Callable[[], object], n_calls: int) -> float:
    start = time.process_time()
    for _ in range(n_calls):
        call()
    return (time.process_time() - start) / n_calls


class Checkout:
    """A process that runs the kernels of one checkout."""

    def __init__(self, folder: Path, cache: Path) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder.resolve() / "src"), str(ROOT)]),
            "NUMBA_CACHE_DIR": str(cache),
            "RANKWISE_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from benchmarks.hot_kernels import answer; answer()"],
            cwd=cache, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def seconds(self, name: str) -> float | str:
        """CPU seconds of one call, or what went wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline().strip()
        try:
            return float(line)
        except ValueError:
            return line or "the process ended"

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(base: Checkout, head: Checkout, name: str, repeats: int) -> tuple[float, float] | str:
    """Median seconds of both checkouts, or why there are none."""
    found: list[tuple[float, float]] = []
    for _ in range(repeats):
        pair = []
        for which, checkout in (("base", base), ("head", head)):
            seconds = checkout.seconds(name)
            if isinstance(seconds, str):
                return f"{which}: {seconds}"
            pair.append(seconds)
        found.append((pair[0], pair[1]))
    before, after = zip(*found, strict=True)
    return statistics.median(before), statistics.median(after)


def main() -> int:
    """Print a line per kernel; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("head", type=Path)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--limit", type=float, default=1.5)
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS), default=list(KERNELS))
    args = parser.parse_args()
    slower = broken = 0
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder, name) for name in ("base", "head")]
        for cache in caches:
            cache.mkdir()
        base, head = Checkout(args.base, caches[0]), Checkout(args.head, caches[1])
        for name in args.kernels:
            found = compare(base, head, name, args.repeats)
            if not isinstance(found, str) and found[1] > args.limit * found[0]:
                found = compare(base, head, name, 2 * args.repeats)
            if isinstance(found, str):
                broken += found.startswith("head")
                print(f"----  {name:18} not compared; {found}", flush=True)
                continue
            before, after = found
            is_slower = after > args.limit * before
            slower += is_slower
            print(
                f"{'SLOW' if is_slower else 'ok  '}  {name:18} {after / before:5.2f} x base   "
                f"base {before * 1e3:.2f} ms, head {after * 1e3:.2f} ms",
                flush=True,
            )
        base.close()
        head.close()
    print(f"{slower} of {len(args.kernels)} kernels above {args.limit:g} x, {broken} failed")
    return int(slower + broken > 0)


if __name__ == "__main__":
    sys.exit(main())
