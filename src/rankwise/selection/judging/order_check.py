"""Notes on systems whose order further judgements could change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import JudgedRun
from rankwise.datasets.readers.trec import Qrels
from rankwise.metrics import Measure
from rankwise.selection.fold_result import DONE, FoldResult
from rankwise.selection.given_scores import GivenScores
from rankwise.selection.judging.difference_bounds import (
    DifferenceBounds,
    enclose_neighbours,
    is_completable,
)
from rankwise.selection.judging.judged_pool import JudgedPool, pool_rows, pool_runs
from rankwise.typing import Float64Array

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
        if self._measures:
            found |= _note_unsettled([pool_runs(self._runs, self._qrels)], self._measures)
        if self._unchecked:
            note = _say_unchecked(self._unchecked)
            found = {system: [*notes, note] for system, notes in found.items()}
        return found

    def _depth(self) -> int | None:
        """Number of ranks that the measures read; None: all."""
        cutoffs = [_cutoff(measure) for measure in self._measures.values()]
        known = [cutoff for cutoff in cutoffs if cutoff is not None]
        return None if len(known) < len(cutoffs) else max(known, default=1)


def add_order_notes(
    cells: Sequence[FoldResult],
    tests: Mapping[str, RankingData],
    measures: Mapping[str, Measure],
    given: Mapping[str, GivenScores],
) -> list[FoldResult]:
    """Add notes on systems whose order unjudged rows could change.

    Parameters
    ----------
    cells : sequence of FoldResult
        Every system on every fold; systems with an unfinished fold are not checked.
    tests : mapping of str to RankingData
        Test part of every fold.
    measures : mapping of str to Measure
        Measures by the names that notes use; those without completions are not checked.
    given : mapping of str to GivenScores
        Systems whose scores may miss rows, which cells do not hold.
    """
    unfinished = {cell.ranker for cell in cells if cell.status != DONE}
    scores: dict[str, dict[str, Float64Array]] = {fold: {} for fold in tests}
    for cell in cells:
        if cell.ranker in unfinished:
            continue
        known = cell.scores
        if known is None and cell.ranker in given:
            known = given[cell.ranker].of(tests[cell.fold]).scores
        if known is not None:
            scores[cell.fold][cell.ranker] = known
    checked = {name: m for name, m in measures.items() if is_completable(m)}
    n_documents = sum(len(tests[fold]) * len(found) for fold, found in scores.items())
    if n_documents > _MOST_DOCUMENTS:
        checked = {name: m for name, m in checked.items() if _cutoff(m) is not None}
    systems = set.intersection(*(set(found) for found in scores.values()))
    notes: dict[str, list[str]] = {name: [] for name in systems}
    if len(systems) > 1 and checked:
        highest = max(1.0, *(float(test.grades.max(initial=0.0)) for test in tests.values()))
        pools = [pool_rows(tests[fold], found, highest) for fold, found in scores.items()]
        notes |= _note_unsettled(pools, checked)
    unchecked = [name for name, m in measures.items() if is_completable(m) and name not in checked]
    if unchecked and len(systems) > 1:
        notes = {name: [*said, _say_unchecked(unchecked)] for name, said in notes.items()}
    return [replace(cell, notes=[*cell.notes, *notes.get(cell.ranker, [])]) for cell in cells]


def _note_unsettled(
    pools: Sequence[JudgedPool], measures: Mapping[str, Measure]
) -> dict[str, list[str]]:
    """Notes by system, for the mean over the pools of the folds."""
    found: dict[str, list[str]] = {name: [] for name in pools[0].rows}
    for name, measure in measures.items():
        bounds = [b for b in enclose_neighbours(pools, measure) if not b.is_settled]
        note = _describe(name, bounds)
        for system in dict.fromkeys(s for b in bounds for s in (b.first, b.second)):
            found[system].append(note)
    return found


def _say_unchecked(names: Sequence[str]) -> str:
    return (
        f"{', '.join(names)}: not checked whether unjudged documents could change the order, since "
        "the runs are long. Add a cut-off, as in AP@100."
    )


def _describe(name: str, bounds: list[DifferenceBounds]) -> str:
    pairs = [
        f"{b.first} and {b.second} ({_format_signed(b.difference)}, between "
        f"{_format_signed(b.low)} and {_format_signed(b.high)})"
        for b in bounds[:_PAIRS_NAMED]
    ]
    more = f" and of {len(bounds) - _PAIRS_NAMED} more pairs" if len(bounds) > _PAIRS_NAMED else ""
    return (
        f"{name}: unjudged documents, which count as not relevant, could change the order of "
        f"{', of '.join(pairs)}{more}"
    )


def _format_signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"  # no -0.0000


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
