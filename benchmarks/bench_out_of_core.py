"""Rows that never lie in memory: time for each row and peak memory, by the number of rows.

    python -m benchmarks.bench_out_of_core [--quick | --rows N [N ...]]

Rows of 136 float32 features are made as they are read, 120 a query, in chunks that cut queries;
PairwiseELM with 1,000 sigmoid nodes sums them. Memory is the peak of the process above its start
(chunks, sums and solution; nothing is kept of the rows). ``--rows 10000000`` takes 20 times as
long as the first line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks._timing import interleave, report, synthetic_ranking
from rankwise import PairwiseELM, RankingData
from rankwise.runtime.threads import available_threads
from rankwise.selection.cells.cell_runner import PeakMemory
from rankwise.streams import stream

CHUNK_ROWS, DOCS, N_FEATURES = 1 << 14, 120, 136


def chunks(n_rows: int) -> Callable[[], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """A source of ``n_rows`` rows, the same ones each time."""
    weights = np.random.default_rng(0).standard_normal(10).astype(np.float32)

    def make() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for lo in range(0, n_rows, CHUNK_ROWS):
            rng = np.random.default_rng(lo)
            n = min(CHUNK_ROWS, n_rows - lo)
            X = rng.random((n, N_FEATURES), dtype=np.float32)
            utility = X[:, :10] @ weights + 0.5 * rng.standard_normal(n)
            y = np.digitize(utility - weights.sum() / 2, [0.0, 0.4, 0.8, 1.2]).astype(np.float64)
            yield X, y, (lo + np.arange(n)) // DOCS

    return make


def measure(n_rows: int, ranker: PairwiseELM) -> tuple[float, float, float, float]:
    """Microseconds for each row: of the fit, of the processor in it, of making the rows alone; and
    peak memory in MB."""
    start = time.perf_counter()
    for _ in chunks(n_rows)():
        pass
    made = time.perf_counter() - start
    with PeakMemory() as memory:
        start, processor = time.perf_counter(), time.process_time()
        ranker.fit(stream(chunks(n_rows), n_samples=n_rows))
        fitted, used = time.perf_counter() - start, time.process_time() - processor
    assert memory.extra_bytes is not None
    us = 1e6 / n_rows
    return us * fitted, us * used, us * made, memory.extra_bytes / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 1_000_000, 2_000_000])
    args = parser.parse_args()
    sizes = [n // 10 for n in args.rows] if args.quick else args.rows
    ranker = PairwiseELM(1000, C=1.0, random_state=0)
    print(f"{N_FEATURES} float32 features, 1,000 sigmoid nodes, {available_threads()} threads")
    measure(50_000, ranker)  # loads what is loaded once
    times, processor, peaks = [], [], []
    for n_rows in sizes:
        row, used, made, peak = measure(n_rows, ranker)
        times.append(row)
        processor.append(used)
        peaks.append(peak)
        print(
            f"{n_rows:>11,} rows: {row:6.2f} us a row ({used:.2f} of the processor, {made:.2f} "
            f"to make it), {row * n_rows / 1e6:7.1f} s, peak memory {peak:.0f} MB "
            f"(the rows: {n_rows * N_FEATURES * 4 / 2**20:,.0f} MB)",
            flush=True,
        )
    if len(sizes) > 1:
        _flat("time for each row", times, 1.1, "us")
        _flat("processor time for each row", processor, 1.1, "us")
        _flat("peak memory", peaks, 1.1, "MB")

    X, y, qid = synthetic_ranking(200 if args.quick else 2000)
    data = RankingData(1 / (1 + np.exp(-X)), y, qid=qid)
    for C, within in ((1.0, 1.1), ("cv", 1.1)):
        ranker = PairwiseELM(1000, C=C, random_state=0)
        sides = interleave(
            {
                "stream": lambda ranker=ranker: ranker.fit(stream(data)),
                "in memory": lambda ranker=ranker: ranker.fit(data.X, data.y, qid=data.qid),
            },
            repeats=3,
        )
        what = f"a stream of {len(data):,} rows, C={C!r}"
        report(what, sides["stream"], sides["in memory"], within=within)


def _flat(what: str, values: list[float], within: float, unit: str) -> None:
    ratio = values[-1] / values[0]
    verdict = "met " if ratio <= within else "MISS"
    print(
        f"{verdict}  {what}, most rows beside fewest: {ratio:.2f} x (target <= {within:g} x)   "
        f"{values[-1]:.2f} {unit}, {values[0]:.2f} {unit}"
    )


if __name__ == "__main__":
    main()
