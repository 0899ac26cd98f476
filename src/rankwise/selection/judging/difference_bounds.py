"""Bounds of differences between systems over all missing judgements, and which to judge next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import JudgedRun, judge, refuses_both_ways
from rankwise.datasets.readers.results import as_run, read_judgements
from rankwise.datasets.readers.trec import Qrels
from rankwise.metrics import Measure, parse
from rankwise.metrics.measure import MeasureLike
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_whole
from rankwise.runtime.result import Result, ResultList
from rankwise.selection.cells.candidates import GivenScores
from rankwise.selection.cells.result_store import DONE, FoldResult
from rankwise.selection.judging.completions import (
    Completions,
    JudgedPool,
    expect_difference,
    pool_rows,
    pool_runs,
    share_widths,
)
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class DifferenceBounds(Result):
    """Difference between two systems, and its range over the judgements that are missing.

    Attributes
    ----------
    first, second : str
        Systems.
    measure : str
        Full spec of the measure.
    difference : float
        Mean of the first system less that of the second, with unjudged documents not relevant.
    low, high : float
        Lowest and highest difference over the completions of the judgements.
    n_open : int
        Number of unjudged documents that either system ranks within the cut-off.
    expected : float
        Expected difference if unjudged documents are relevant as often as the judged ones that the
        two systems rank, query by query.
    certainty : float
        Estimated chance that complete judgements give the difference the sign of ``expected``; 1 if
        the sign is settled.
    """

    _drawn = "difference"
    _derived = ("is_settled",)

    first: str
    second: str
    measure: str
    difference: float
    low: float
    high: float
    n_open: int
    expected: float
    certainty: float

    @property
    def is_settled(self) -> bool:
        """Whether no completion of the judgements changes the sign of the difference."""
        return self.low > 0 or self.high < 0 or self.low == self.high


@refuses_both_ways
def difference_bounds(
    qrels: Qrels | Any,
    systems: Mapping[str, Any],
    measure: MeasureLike = "nDCG@10",
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    preset: str | None = None,
    all_queries: bool = False,
) -> ResultList[DifferenceBounds]:
    """Bound the differences between systems over all judgements that are still missing.

    Every unjudged document that one of two systems ranks within the cut-off either is not relevant
    or has the highest grade of the judgements, at least ``rel``. All other unjudged documents are
    not relevant.

    Parameters
    ----------
    qrels : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    measure : str or Measure
        Measure of the top of a ranking that takes unjudged documents as not relevant. One measure,
        since the judgements that settle the order by one may leave that by another open.
    pairs : sequence of pairs of str, optional
        Pairs of systems; None: neighbours in the order by the mean, best first. If all of these are
        settled, so is the whole order.
    preset : str, optional
        Convention for parameters that the measure leaves open, e.g. "trec_eval".
    all_queries : bool
        Also count judged queries that are in no run.

    Returns
    -------
    list of DifferenceBounds, with the methods of a result
        One for each pair.

    Raises
    ------
    ValueError
        If a pair names an unknown system, or the measure has no completions: it does not read a
        ranking from its top, takes unjudged documents otherwise (Bpref, ``judged_only=True``), or
        depends on the number of judged documents (MeanNDCG, ``short='zero'``).

    Notes
    -----
    No completion leads outside the bounds. They are attained if no query has more than ten
    unjudged documents; with more of them for DCG, P, RBP, nDCG and R. For other measures (AP, RR,
    ERR), each system gets the completion that is best or worst for itself, so that the bounds may
    lie further out. Whole long lists (more than about 20 million rows times unjudged documents)
    have the bounds of the measure itself. Queries are independent, so their bounds add up.

    ``certainty`` supposes that documents are relevant independently, given the share of their
    query, and that a judgement moves the difference by a fixed amount. ``python -m
    benchmarks.study_judging`` shows how often the sign is right. The certainty is too low for long
    runs, whose deep documents are seldom relevant.

    Time is O(n) per completion for n documents of a pair.

    References
    ----------
    .. [1] Carterette, Allan and Sitaraman 2006, Minimal test collections for retrieval evaluation.

    Examples
    --------
    >>> systems = {"a": {"q": {"d1": 2.0, "d2": 1.0}}, "b": {"q": {"d3": 2.0, "d2": 1.0}}}
    >>> [bounds] = difference_bounds({"q": {"d1": 1}}, systems, "P@1")
    >>> bounds.difference, bounds.low, bounds.high, bounds.is_settled
    (1.0, 0.0, 1.0, False)
    """
    measure = parse(measure, preset)
    check_completable(measure)
    pool = read_pool(qrels, systems, all_queries=all_queries)
    if pairs is None:
        found = enclose_neighbours([pool], measure)
    else:
        found = [enclose_difference(pool, measure, *pair) for pair in check_pairs(pairs, pool)]
    return ResultList(DifferenceBounds, found)


def is_completable(measure: Measure) -> bool:
    """Whether a measure takes unjudged documents as not relevant, and reads nothing but ranks."""
    reads_more = measure.reads_judgements or measure.reads_sizes
    return measure.reads_from_top and not reads_more


def check_completable(measure: Measure) -> None:
    """Raise ValueError if a measure has no completions."""
    if not is_completable(measure):
        raise ValueError(
            f"measure must take unjudged documents as not relevant, got {measure}. Use a measure "
            "of the top of a ranking, such as nDCG@10 without judged_only=True and short='zero'."
        )


def read_pool(qrels: Qrels | Any, systems: Mapping[str, Any], *, all_queries: bool) -> JudgedPool:
    """Pool of two or more systems and judgements; queries without judgements do not count."""
    if not isinstance(systems, Mapping):
        raise TypeError(
            f"systems must map names to runs, got {type(systems).__name__}. Pass for example "
            "{'new': run, 'old': other_run}, after the judgements."
        )
    runs, qrels = {str(name): as_run(run) for name, run in systems.items()}, read_judgements(qrels)
    if len(runs) < 2:
        raise ValueError(f"systems must name at least two systems, got {len(runs)}.")
    if not all_queries:
        answered = np.isin(qrels.qid, np.unique(np.concatenate([r.qid for r in runs.values()])))
        qrels = Qrels(qrels.qid[answered], qrels.doc_ids[answered], qrels.relevance[answered])
    if not len(qrels):
        raise ValueError("the runs and the judgements have no query in common.")
    return pool_runs(
        {name: judge(qrels, run, all_queries=True) for name, run in runs.items()}, qrels
    )


def check_pairs(pairs: Sequence[tuple[str, str]], pool: JudgedPool) -> list[tuple[str, str]]:
    """Raise ValueError unless every pair names two systems."""
    for pair in pairs:
        if len(pair) != 2 or isinstance(pair, str) or not {*pair} <= {*pool.rows}:
            raise ValueError(
                f"pairs must name two systems each, got {pair!r}. Systems: {', '.join(pool.rows)}."
            )
    return [*pairs]


def enclose_neighbours(pools: Sequence[JudgedPool], measure: Measure) -> list[DifferenceBounds]:
    """Bounds of the differences between neighbours in the order by the mean, best first.

    Of several pools, such as the folds of a comparison, the mean of their means counts.
    """
    first, *others = pools[0].rows
    lead = {first: 0.0} | {
        name: float(np.mean([_mean(Completions(pool, measure, name, first)) for pool in pools]))
        for name in others
    }
    turn = 1.0 if measure.greater_is_better else -1.0
    order = sorted(lead, key=lambda name: -turn * lead[name])
    return [
        _average([enclose_difference(pool, measure, *pair) for pool in pools])
        for pair in pairwise(order)
    ]


def _average(bounds: Sequence[DifferenceBounds]) -> DifferenceBounds:
    """Bounds of the mean of independent differences; the certainty is that of one, or unknown."""
    if len(bounds) == 1:
        return bounds[0]
    means = {
        name: float(np.mean([getattr(b, name) for b in bounds]))
        for name in ("difference", "low", "high", "expected")
    }
    n_open = sum(b.n_open for b in bounds)
    return replace(bounds[0], **means, n_open=n_open, certainty=math.nan)


def enclose_difference(
    pool: JudgedPool, measure: Measure, first: str, second: str
) -> DifferenceBounds:
    """Bounds of the difference between two systems of a pool."""
    completions = Completions(pool, measure, first, second)
    n_open = int(completions.is_open.sum())
    difference = _mean(completions)
    ends = difference, difference, 0, difference, 1.0
    if n_open:
        by_query = completions.extremes()
        low, high = (float(end.sum()) / completions.n_counted for end in by_query)
        expected, certainty = expect_difference(completions, *by_query)
        is_settled = low > 0 or high < 0 or low == high
        ends = low, high, n_open, expected, 1.0 if is_settled else certainty
    return DifferenceBounds(first, second, str(measure), difference, *ends)


def _mean(completions: Completions) -> float:
    return float(np.nan_to_num(completions.differences()).sum()) / completions.n_counted


class NextJudgement(NamedTuple):
    """A document to judge.

    Attributes
    ----------
    qid, doc_id : str
    gain : float
        Amount by which the judgement narrows the bounds of the unsettled differences, summed over
        the pairs of systems.
    """

    qid: str
    doc_id: str
    gain: float


@names_its_class
@refuses_both_ways
def next_judgements(
    qrels: Qrels | Any,
    systems: Mapping[str, Any],
    measure: MeasureLike = "nDCG@10",
    *,
    k: int = 20,
    pairs: Sequence[tuple[str, str]] | None = None,
    preset: str | None = None,
    all_queries: bool = False,
) -> ResultList[NextJudgement]:
    """Documents whose judgements help most to settle the order of systems.

    Parameters
    ----------
    qrels : Qrels, path, frame, mapping, RankingData or list of these
        Judgements so far. Queries without any are left out: judge a document of each first.
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    measure : str or Measure
        See :func:`difference_bounds`.
    k : int >= 1
        Number of documents.
    pairs : sequence of pairs of str, optional
        Pairs of systems to settle; None: neighbours in the order by the mean.
    preset : str, optional
        Convention for parameters that the measure leaves open, e.g. "trec_eval".
    all_queries : bool
        Also count judged queries that are in no run.

    Returns
    -------
    list of NextJudgement, with the methods of a result
        At most ``k`` documents, largest gain first; none if all pairs are settled.

    Raises
    ------
    ValueError
        If ``k`` or a pair is wrong, or the measure has no completions.

    Notes
    -----
    The width of the bounds of a query's difference is shared among its unjudged documents in
    proportion to their advantage, the difference of the weights of their ranks in both systems.
    Documents that both systems rank alike get nothing as long as there are others. Judge a batch,
    add it to ``qrels`` and call again, until :func:`difference_bounds` says that the pairs are
    settled, or certain enough.
    ``python -m benchmarks.study_judging`` shows how many judgements that saves.

    References
    ----------
    .. [1] Carterette, Allan and Sitaraman 2006, Minimal test collections for retrieval evaluation.

    Examples
    --------
    >>> systems = {"a": {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}},
    ...            "b": {"q": {"d4": 3.0, "d2": 2.0, "d1": 1.0}}}
    >>> [(next.doc_id, round(next.gain, 2)) for next in
    ...  next_judgements({"q": {"d1": 1, "d3": 0}}, systems, "DCG@3")]
    [('d4', 1.0)]
    """
    check_whole("k", k, 1)
    measure = parse(measure, preset)
    check_completable(measure)
    pool = read_pool(qrels, systems, all_queries=all_queries)
    if pairs is None:
        pairs = [
            (b.first, b.second) for b in enclose_neighbours([pool], measure) if not b.is_settled
        ]
    else:
        named = check_pairs(pairs, pool)
        pairs = [p for p in named if not enclose_difference(pool, measure, *p).is_settled]
    gains = np.zeros(len(pool.query))
    for pair in pairs:
        gains += judging_gains(pool, measure, *pair)
    chosen = largest_gains(gains, int(k))
    found = (
        NextJudgement(str(pool.qids[pool.query[d]]), str(pool.doc_ids[d]), float(gains[d]))
        for d in chosen
    )
    return ResultList(NextJudgement, found)


def largest_gains(gains: Float64Array, k: int) -> list[int]:
    """Documents of the ``k`` largest gains above 0, in descending order."""
    order = np.argsort(-gains, kind="stable")[:k]
    return [int(document) for document in order if gains[document] > 0]


def judging_gains(pool: JudgedPool, measure: Measure, first: str, second: str) -> Float64Array:
    """Amounts (n_documents,) by which a judgement of each narrows the bounds of one pair."""
    completions = Completions(pool, measure, first, second)
    low, high = completions.extremes()
    gains = np.abs(share_widths(completions, low, high))
    # Documents that both rank alike still change the ideal; they matter once all others are judged.
    n_open = np.bincount(pool.query, completions.is_open, minlength=pool.n_queries)
    width = (high - low) / completions.n_counted
    alike = np.where(np.bincount(pool.query, gains, minlength=pool.n_queries) == 0, width, 0.0)
    return gains + completions.is_open * (alike / np.maximum(n_open, 1))[pool.query]


# Documents of all runs together beyond which measures without a cut-off are not checked.
_MOST_DOCUMENTS = 2_000_000
_PAIRS_NAMED = 5


class OrderCheck:
    """Collects judged runs and says where unjudged documents could change their order.

    ``measures`` have the names that notes use; those without completions are not checked.
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

    ``cells`` are of every system on every fold; systems with an unfinished fold are not checked.
    ``tests`` are the test parts by fold, and ``measures`` have the names that notes use; those
    without completions are not checked. ``given`` are systems whose scores may miss rows, which
    cells do not hold.
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
