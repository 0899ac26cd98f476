"""Notes on systems whose order further judgements could change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.datasets.readers.judged_run import JudgedRun
from rankwise.datasets.readers.trec import Qrels
from rankwise.metrics import Measure
from rankwise.selection.judging.difference_bounds import (
    DifferenceBounds,
    enclose_neighbours,
    is_completable,
)
from rankwise.selection.judging.judged_pool import pool_runs

# Documents of all runs together beyond which measures without a cut-off are not checked.
_MOST_DOCUMENTS = 2_000_000
_PAIRS_NAMED = 5


class OrderCheck:
    """Collects judged runs and says where unjudged documents could change their order.

    Parameters
    ----------
    measures : mapping of str to Measure
        Measures by the names that notes use; those without completions are not checked.
    qrels : Qrels
        Judgements of all runs.
    """

    def __init__(self, measures: Mapping[str, Measure], qrels: Qrels) -> None:
        self._measures = {name: m for name, m in measures.items() if is_completable(m)}
        self._qrels = qrels
        self._runs: dict[str, JudgedRun] = {}
        self._unchecked: list[str] = []

    def add(self, name: str, run: JudgedRun) -> None:
        """Keep the documents of a run that the measures read."""
        self._runs[name] = _first_ranks(run, self._depth())
        if sum(map(len, self._runs.values())) > _MOST_DOCUMENTS and self._depth() is None:
            self._unchecked = [n for n, m in self._measures.items() if _cutoff(m) is None]
            self._measures = {n: m for n, m in self._measures.items() if n not in self._unchecked}
            self._runs = {n: _first_ranks(run, self._depth()) for n, run in self._runs.items()}

    def notes(self) -> dict[str, list[str]]:
        """Notes by system."""
        found: dict[str, list[str]] = {name: [] for name in self._runs}
        if len(self._runs) < 2 or all(run.judged.all() for run in self._runs.values()):
            return found
        pool = pool_runs(self._runs, self._qrels) if self._measures else None
        for name, measure in self._measures.items():
            assert pool is not None
            bounds = [b for b in enclose_neighbours(pool, measure) if not b.is_settled]
            note = _describe(name, bounds)
            for system in dict.fromkeys(s for b in bounds for s in (b.first, b.second)):
                found[system].append(note)
        if self._unchecked:
            note = (
                f"{', '.join(self._unchecked)}: not checked whether unjudged documents could "
                "change the order, since the runs are long. Add a cut-off, as in AP@100."
            )
            found = {system: [*notes, note] for system, notes in found.items()}
        return found

    def _depth(self) -> int | None:
        """Number of ranks that the measures read; None: all."""
        cutoffs = [_cutoff(measure) for measure in self._measures.values()]
        known = [cutoff for cutoff in cutoffs if cutoff is not None]
        return None if len(known) < len(cutoffs) else max(known, default=1)


def _describe(name: str, bounds: list[DifferenceBounds]) -> str:
    pairs = [
        f"{b.first} and {b.second} ({b.difference:+.4f}, between {b.low:+.4f} and {b.high:+.4f})"
        for b in bounds[:_PAIRS_NAMED]
    ]
    more = f" and of {len(bounds) - _PAIRS_NAMED} more pairs" if len(bounds) > _PAIRS_NAMED else ""
    return (
        f"{name}: unjudged documents, which count as not relevant, could change the order of "
        f"{', of '.join(pairs)}{more}"
    )


def _cutoff(measure: Measure) -> int | None:
    return getattr(measure, "cutoff", None)


def _first_ranks(run: JudgedRun, depth: int | None) -> JudgedRun:
    """Retrieved documents of the first ranks, and those that tie with the last of them."""
    kept = run.retrieved.copy()
    if depth is not None and kept.any():
        rows = np.flatnonzero(kept)
        is_first = np.append(True, run.qid[rows][1:] != run.qid[rows][:-1])
        starts, query = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        last = np.minimum(starts + depth, np.append(starts[1:], len(rows))) - 1
        kept[rows] = run.scores[rows] >= run.scores[rows][last][query]
    return JudgedRun(
        run.y[kept], run.scores[kept], run.qid[kept], run.doc_ids[kept], run.judged[kept],
        run.retrieved[kept], None if run.pooled is None else run.pooled[kept],
    )  # fmt: skip
