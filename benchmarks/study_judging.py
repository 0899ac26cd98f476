"""How many judgements decide which of two systems is better, by the order of judging.

    python -m benchmarks.study_judging [pairs]

Runs and judgements of TREC 2003 Robust and of round 4 of TREC-COVID. For random pairs of runs on 50
(TREC-COVID: 40) of their queries, the judgements of all documents that either run ranks among its
first 10 are hidden, then revealed in batches of 20 in three orders: at random; by the better of the
two ranks, as a pool is judged; and by ``next_judgements``. Two rules stop: the bounds of the
difference exclude 0 ("settled"), or the certainty of its sign is .95. Columns: the mean share of
the hidden judgements that were revealed until then, and how often the sign at certainty .95 is that
of all judgements. Documents that were never judged count as not relevant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwise.datasets import judge, read_qrels, read_run
from rankwise.metrics import Measure, parse
from rankwise.selection.judging.completions import Completions, JudgedPool, pool_runs
from rankwise.selection.judging.difference_bounds import (
    enclose_difference,
    judging_gains,
    largest_gains,
)

BATCH, CERTAINTY, SEED, N_PAIRS = 20, 0.95, 0, 40
SETS = {
    "robust03": ("trec-robust03-runs", "runs/*.gz", "robust03_qrels.txt.gz", 50),
    "TREC-COVID": ("trec-covid-runs", "runs/r4.*.gz", "qrels/qrels.covid-round4.txt.gz", 40),
}
SPECS = ("P@10", "nDCG@10")
ORDERS = ("random", "by rank", "next_judgements")


class Stops(NamedTuple):
    """Shares of judgements until both rules stop, and whether the sign of the second is right."""

    settled: float
    certain: float
    is_right: bool


def load_pool(name: str, cutoff: int = 10) -> JudgedPool:
    """Documents that any run ranks within the cut-off, and all other relevant ones."""
    folder, runs, qrels_file, _ = SETS[name]
    base = Path(os.environ["RANKWISE_DATA"]) / folder
    qrels = read_qrels(base / qrels_file)
    found = {path.name: judge(qrels, read_run(path)) for path in sorted(base.glob(runs))}
    pool = pool_runs(found, qrels)
    is_read = [(pool.ranks(run) > 0) & (pool.ranks(run) <= cutoff) for run in pool.rows]
    kept = np.any([*is_read, pool.grades > 0], axis=0)
    return take(pool, kept & np.isin(pool.query, pool.query[np.any(is_read, axis=0)]))


def take(pool: JudgedPool, kept: np.ndarray) -> JudgedPool:
    """Keep some documents, and the queries that have any."""
    number, query = np.cumsum(kept) - 1, np.unique(pool.query[kept])
    retained = {run: kept[rows] for run, rows in pool.rows.items()}
    return JudgedPool(
        qids=pool.qids[query],
        query=np.searchsorted(query, pool.query[kept]),
        doc_ids=pool.doc_ids[kept],
        grades=pool.grades[kept],
        judged=pool.judged[kept],
        rows={run: number[pool.rows[run][own]] for run, own in retained.items()},
        scores={run: pool.scores[run][own] for run, own in retained.items()},
    )


def reveal(hidden: JudgedPool, complete: JudgedPool, judged: np.ndarray) -> JudgedPool:
    """Copy the grades of judged documents."""
    grades = np.where(judged, complete.grades, 0.0)
    return replace(hidden, judged=judged, grades=grades)


def study_pair(
    complete: JudgedPool, measure: Measure, pair: tuple[str, str], rng: np.random.Generator
) -> dict[str, Stops] | None:
    """Stops of every order of judging; None if the systems are equally good."""
    truth = enclose_difference(complete, measure, *pair).difference
    if truth == 0:
        return None
    is_read = Completions(complete, measure, *pair).is_read
    judged = replace(complete, judged=np.ones(len(is_read), dtype=bool))  # unjudged: not relevant
    stops = {}
    for order in ORDERS:
        pool = reveal(judged, judged, ~is_read)
        settled = certain = None
        n, sign = 0, 0.0
        for chosen in batches(order, pool, judged, measure, pair, is_read, rng):
            bounds = enclose_difference(chosen, measure, *pair)
            n = int((chosen.judged & is_read).sum())
            if certain is None and n and bounds.certainty >= CERTAINTY:
                certain, sign = n, np.sign(bounds.expected)
            if bounds.is_settled:
                settled = n
                break
        assert settled is not None and certain is not None
        total = is_read.sum()
        stops[order] = Stops(settled / total, certain / total, bool(sign == np.sign(truth)))
    return stops


def batches(
    order: str,
    pool: JudgedPool,
    complete: JudgedPool,
    measure: Measure,
    pair: tuple[str, str],
    is_read: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[JudgedPool]:
    """The pool with more and more judgements."""
    documents = rng.permutation(np.flatnonzero(is_read))
    if order == "by rank":
        ranks = np.array([complete.ranks(system)[documents] for system in pair], dtype=float)
        ranks[ranks == 0] = np.inf
        documents = documents[np.argsort(ranks.min(axis=0), kind="stable")]
    yield pool
    for start in range(0, len(documents), BATCH):
        chosen = documents[start : start + BATCH]
        if order == "next_judgements":
            chosen = np.array(largest_gains(judging_gains(pool, measure, *pair), BATCH))
        judged = pool.judged.copy()
        judged[chosen] = True
        pool = reveal(pool, complete, judged)
        yield pool


def study(name: str, spec: str, n_pairs: int) -> dict[str, np.ndarray]:
    """Stops by order, of shape (n_pairs, 3)."""
    rng, pool, n_queries = np.random.default_rng(SEED), load_pool(name), SETS[name][3]
    found: dict[str, list[Stops]] = {order: [] for order in ORDERS}
    while len(found[ORDERS[0]]) < n_pairs:
        queries = rng.permutation(pool.n_queries)[:n_queries]
        first, second = rng.permutation([*pool.rows])[:2]
        part = take(pool, np.isin(pool.query, queries))
        stops = study_pair(part, parse(spec), (str(first), str(second)), rng)
        for order, stop in (stops or {}).items():
            found[order].append(stop)
    return {order: np.array(rows, dtype=float) for order, rows in found.items()}


def main(n_pairs: int) -> None:
    """Print the table."""
    print(f"{n_pairs} pairs of runs; share of judgements until the sign is settled, certain at .95")
    print(f"{'':<36}{'settled':>9}{'certain':>9}{'right':>9}")
    for name in SETS:
        for spec in SPECS:
            for order, stops in study(name, spec, n_pairs).items():
                means = "".join(f"{mean:9.3f}" for mean in stops.mean(axis=0))
                print(f"{name:<12}{spec:<8}{order:<16}{means}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else N_PAIRS)
