"""Boosted trees on Dask workers beside the same fit in one process.

    python -m benchmarks.bench_distributed [QUERIES]

A query has 60 rows of 136 columns. Rows lie on the workers before the clock starts. Workers have
one thread each, as has the fit in one process. The seconds are those of the processors, summed over
the workers; those in parentheses are of the clock, and mean little if there are more workers than
idle cores. A fit of few rows compiles the kernels and loads the libraries before.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.base import persist
from dask.delayed import delayed
from distributed import Client, LocalCluster
from sklearn.base import clone

from benchmarks._timing import synthetic_ranking
from rankwise import LambdaMART, LightGBMRanker, XGBoostRanker
from rankwise.distributed import fit
from rankwise.distributed.processes import Star

N_TREES, DOCS = 20, 60
WORKERS = 1, 2
RANKERS = (
    LambdaMART(N_TREES, max_leaf_nodes=31, reg_lambda=0.0, n_jobs=1, random_state=0),
    LightGBMRanker(N_TREES, n_jobs=1, random_state=0),
    XGBoostRanker(N_TREES, n_jobs=1, random_state=0),
)


def count_bytes() -> None:
    """Let sums on this worker be counted."""
    real = Star.__exit__

    def closing(self: Star, *arguments: Any) -> None:
        Star.sent = self.n_bytes  # type: ignore[attr-defined]
        real(self, *arguments)

    Star.__exit__ = closing


def sent() -> int:
    """Bytes that this worker gave to the sums of its last fit."""
    return Star.sent  # type: ignore[attr-defined]


def unfitted(ranker: Any, **options: Any) -> Any:
    """A copy with other parameters."""
    copied: Any = clone(ranker)
    return copied.set_params(**options)


def timed(work: Callable[[], Any], processor: Callable[[], float]) -> tuple[Any, float, float]:
    """Result, seconds of the processors, and seconds of the clock."""
    begun, used = time.perf_counter(), processor()
    result = work()
    return result, processor() - used, time.perf_counter() - begun


def spread(n_workers: int, data: Any, few: Any, alone: dict[str, tuple[Any, float]]) -> None:
    """Print the fits on so many workers beside those in one process."""
    client: Any
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(count_bytes)
        parts = persist(*partitions(data, n_workers))
        small = partitions(few, n_workers)

        def processor() -> float:
            return sum(client.run(time.process_time).values())

        for ranker in RANKERS:
            name = type(ranker).__name__
            fit(unfitted(ranker, n_estimators=1), list(small), client=client)
            fitted, seconds, clock = timed(
                lambda ranker=ranker: fit(ranker, list(parts), client=client), processor
            )
            whole, base = alone[name]
            scores, expected = (model.predict(data[0][:5000]) for model in (fitted, whole))
            same = "the same model" if np.array_equal(scores, expected) else "another model"
            line = f"  {n_workers} worker{'s' if n_workers > 1 else ''}: {seconds:.1f} s"
            print(f"{line} ({clock:.1f}), {seconds / base:.2f} x one process, {same}", end="")
            if isinstance(ranker, LambdaMART) and n_workers > 1:
                moved = max(client.run(sent).values()) / fitted.n_estimators_ / 1e6
                print(f", {moved:.1f} MB a tree from each worker and back", end="")
            print(f"   [{name}]", flush=True)


def partitions(data: Any, n: int) -> list[Any]:
    """Delayed parts of whole queries."""
    X, y, qid = data
    cuts = [len(y) // DOCS * number // n * DOCS for number in range(n + 1)]
    return [
        delayed(tuple)([delayed(column[a:b]) for column in (X, y, qid)])
        for a, b in itertools.pairwise(cuts)
    ]


def main(n_queries: int) -> None:
    """Print seconds, their ratio to one process, and what moves."""
    data, few = synthetic_ranking(n_queries, DOCS), synthetic_ranking(20, DOCS)
    print(f"{len(data[1]):,} rows of 136 columns, {N_TREES} trees")
    alone = {}
    for ranker in RANKERS:
        unfitted(ranker, n_estimators=1).fit(few[0], few[1], qid=few[2])
        whole, seconds, clock = timed(
            lambda ranker=ranker: unfitted(ranker).fit(data[0], data[1], qid=data[2]),
            time.process_time,
        )
        alone[type(ranker).__name__] = whole, seconds
        print(f"  one process: {seconds:.1f} s ({clock:.1f})   [{type(ranker).__name__}]")
    for n_workers in WORKERS:
        spread(n_workers, data, few, alone)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
