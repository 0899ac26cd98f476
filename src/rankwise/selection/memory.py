"""Is a gain memory? Test queries whose relevant documents were relevant in training.

Collections often share documents between training and test queries. A ranker can then learn which
documents are relevant instead of what makes a document relevant, and its gain stays away on new
documents. Splits by query do not show this: the audit compares the gain on *seen* queries with the
gain on the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.linting import SMALL_MEMORY, count_seen
from rankwise.datasets.readers.results import read_judgements
from rankwise.datasets.readers.trec import id_array
from rankwise.datasets.table_columns import is_frame
from rankwise.metrics.statistics.intervals import mean_intervals
from rankwise.metrics.statistics.paired import holm
from rankwise.metrics.statistics.stratified import t_quantile
from rankwise.runtime.messages import ArgumentError, setting
from rankwise.runtime.result import Result, columns_of
from rankwise.selection.standing import format_or_dash, p_value
from rankwise.typing import Float64Array, Int64Array

Verdict = Literal["memory", "holds", "open", "no gain"]
_NAN = math.nan
# Group by query, and the ids of its relevant documents: two arrays of text, one entry per pair.
_Pairs = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class MemoryGain(Result):
    """Gain of a system over the baseline on seen and on unseen queries.

    Attributes
    ----------
    system, measure : str
    gain, gain_low, gain_high : float
        Mean gain over the baseline on all queries of the audit, with its interval; positive is
        better, also of measures whose smaller values are better. NaN with fewer than two queries.
    n_seen, n_unseen : int
        Number of queries of each group on which both systems have a value.
    seen, seen_low, seen_high : float
        The gain on queries with a relevant document that was relevant in training.
    unseen, unseen_low, unseen_high : float
        The gain on the other queries.
    difference, difference_low, difference_high : float
        ``seen`` minus ``unseen``, with its interval.
    p_value, p_corrected : float
        Of the test of the difference, and corrected by Holm over all systems and measures.
    verdict : {"memory", "holds", "open", "no gain"}
        "memory": the gain is mainly on seen queries: it is significantly larger there, and the
        interval of unseen queries ends below it. "holds": unseen queries alone show a gain. "open":
        there is a gain, but unseen queries can neither show nor rule it out. "no gain": all queries
        together show none.
    """

    system: str
    measure: str
    gain: float
    gain_low: float
    gain_high: float
    n_seen: int
    n_unseen: int
    seen: float
    seen_low: float
    seen_high: float
    unseen: float
    unseen_low: float
    unseen_high: float
    difference: float
    difference_low: float
    difference_high: float
    p_value: float
    p_corrected: float = _NAN
    verdict: Verdict = "no gain"


@dataclass(frozen=True, eq=False)
class MemoryAudit(Result):
    """Result of :func:`memory_audit`; ``print`` shows the gains on seen and on unseen queries.

    Attributes
    ----------
    rows : list of MemoryGain
        One entry per system except the baseline, and per measure; empty without a baseline.
    qids : list
        Test queries, in the order of the leaderboard.
    n_relevant : ndarray of shape (n_queries,), int64
        Number of relevant documents of each query.
    n_relevant_seen : ndarray of shape (n_queries,), int64
        How many of these were relevant in training.
    baseline : str or None
    confidence_level : float
    notes : list of str
        Queries and documents that are left out, and ids that do not match.
    """

    _derived = ("n_queries", "n_seen", "share_of_queries", "share_of_pairs")

    rows: list[MemoryGain]
    qids: list[Any]
    n_relevant: Int64Array
    n_relevant_seen: Int64Array
    baseline: str | None = None
    confidence_level: float = 0.95
    notes: list[str] = field(default_factory=list)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Mask of the queries with a relevant document that was relevant in training."""
        return self.n_relevant_seen > 0

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """Mask of the queries with relevant documents, none of which was relevant in training."""
        return (self.n_relevant > 0) & ~self.seen

    @property
    def n_queries(self) -> int:
        """Number of queries with a relevant document."""
        return int((self.n_relevant > 0).sum())

    @property
    def n_seen(self) -> int:
        """Number of seen queries."""
        return int(self.seen.sum())

    @property
    def share_of_queries(self) -> float:
        """Share of the queries with a relevant document that are seen."""
        return self.n_seen / self.n_queries

    @property
    def share_of_pairs(self) -> float:
        """Share of the pairs of a query and a relevant document whose document was seen."""
        return int(self.n_relevant_seen.sum()) / int(self.n_relevant.sum())

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> MemoryAudit:
        """Inverse of :meth:`to_dict`."""
        known: dict[str, Any] = {f.name: state[f.name] for f in fields(cls)}
        rows: list[dict[str, Any]] = [
            {name: _NAN if value is None else value for name, value in row.items()}
            for row in state["rows"]
        ]
        known["rows"] = [MemoryGain(**row) for row in rows]
        for name in ("n_relevant", "n_relevant_seen"):
            known[name] = np.array(known[name], dtype=np.int64)
        return cls(**known)

    def describe(self, measure: str) -> list[str]:
        """Sentences for a leaderboard: shares, gains by a measure, and warnings.

        Parameters
        ----------
        measure : str
            Name of a measure of the leaderboard.
        """
        said = [f"{self._heading()}.", *(f"Memory: {note}." for note in self.notes)]
        if self.share_of_queries < SMALL_MEMORY:
            return said
        rows = [row for row in self.rows if row.measure == measure]
        for row in rows:
            said.append(
                f"{row.system} - {self.baseline}, {measure}: seen queries "
                f"{_ends(row.seen, row.seen_low, row.seen_high, row.n_seen)}, unseen "
                f"{_ends(row.unseen, row.unseen_low, row.unseen_high, row.n_unseen)}; "
                f"p of their difference: {p_value(_none(row.p_corrected))}."
            )
        return said + _warn(rows)

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.rows, MemoryGain)

    def _heading(self) -> str:
        return (
            f"Memory: {self.n_seen:,} of {self.n_queries:,} queries ({self.share_of_queries:.1%}), "
            f"and {self.share_of_pairs:.1%} of the relevant pairs, have a relevant document that "
            "was relevant in training"
        )

    def _layout(self) -> tuple[list[list[str]], list[list[str]], Sequence[int], list[str]]:
        if not self.rows:
            return [], [], (), []
        header = ["system", "measure", "gain", "seen", "unseen", "difference", "p", "verdict"]
        lines = [
            [
                row.system,
                row.measure,
                format_or_dash(_none(row.gain), "+.4f"),
                _ends(row.seen, row.seen_low, row.seen_high),
                _ends(row.unseen, row.unseen_low, row.unseen_high),
                _ends(row.difference, row.difference_low, row.difference_high),
                p_value(_none(row.p_corrected)),
                row.verdict,
            ]
            for row in self.rows
        ]
        corrected = ", Holm-corrected" if len(lines) > 1 else ""
        below = [
            f"Gains over {self.baseline} on seen and unseen queries, with "
            f"{100 * self.confidence_level:g} % intervals. p: of the difference, by t tests of two "
            f"groups{corrected}.",
            *_warn(self.rows),
        ]
        return [header], lines, (0, 1, 7), below


def _warn(rows: Sequence[MemoryGain]) -> list[str]:
    """Sentences on gains that are memory, or may be."""
    said = []
    for row in rows:
        if row.verdict == "memory":
            said.append(
                f"warning: {row.system} gains in {row.measure} mainly on seen queries: expect a "
                "smaller gain on new documents, or none."
            )
        elif row.verdict == "open":
            said.append(
                f"warning: {row.system} may not gain in {row.measure} on new documents: too few "
                f"unseen queries ({row.n_unseen}) to show it."
            )
    return said


def memory_audit(
    board: Any, train: Any, test: Any = None, *, doc_id: str | None = None, rel: float = 1
) -> MemoryAudit:
    """Compare the gain over the baseline on seen and on unseen test queries.

    A test query is *seen* if at least one of its relevant documents was relevant in training. A
    gain that is on seen queries only is memory: the ranker has learnt which documents are relevant,
    and will not gain on new ones.

    Parameters
    ----------
    board : Leaderboard or None
        Result of :func:`rankwise.selection.evaluate_systems` or :func:`rankwise.compare` with a
        baseline. Without a baseline, or with None, only shares are counted.
    train : judgements, frame, RankingData, Fold, FoldedData or sequence of Fold
        Judgements that the systems were trained on, in any form that
        :func:`rankwise.text.read_judgements` takes, or judged rows with document ids. Of folds,
        such as those that were given to ``compare``, each training part belongs to its fold.
    test : judgements, frame or RankingData, optional
        Judgements of the test queries. None: ``train`` has folds, or it is the table that
        ``compare`` split; then the queries that a fold does not test are its training part.
    doc_id : str, optional
        Column of a frame with the ids to follow, such as documents, items or users; None: the usual
        names of document ids.
    rel : float
        Lowest relevant grade, as in the measure AP.

    Returns
    -------
    MemoryAudit
        Also in ``Leaderboard.memory`` if ``evaluate_systems`` got ``train``.

    Raises
    ------
    ValueError
        If ids are missing, no test query has a relevant document, or the folds are not those of the
        leaderboard.

    See Also
    --------
    DocumentKFold : Folds without seen queries.
    rankwise.datasets.lint : Finds equal queries and rows in two parts.

    Notes
    -----
    Gains are means over queries; folds are pooled. Their intervals are those of
    :func:`rankwise.metrics.significance.mean_intervals`, which are wide for few queries. The
    difference of the two groups has the wider interval and the larger p-value of Welch's and
    Student's t tests, since each alone errs too often with few queries. ``python -m
    benchmarks.study_memory errors`` measures both.

    A seen query differs from an unseen one in more than memory: its documents may be easier to
    find. The baseline then finds them, too, and the gain subtracts this. Documents that training
    judged, but not as relevant, are unseen. O(n log n) for n judgements.

    Examples
    --------
    >>> train = {"t1": {"d1": 1}, "t2": {"d2": 1}}
    >>> test = {"q1": {"d1": 1}, "q2": {"d2": 1, "d4": 0}, "q3": {"d3": 1}, "q4": {"d5": 1}}
    >>> audit = memory_audit(None, train, test)
    >>> audit.n_seen, audit.share_of_queries
    (2, 0.5)
    >>> audit.unseen.tolist()
    [False, False, True, True]
    """
    if doc_id is not None and not (is_frame(train) or is_frame(test)):
        raise ArgumentError("doc_id", "names a column of a frame, but there is none. Drop it.")
    counts: list[Any] = []
    qids: list[Any] = []
    known: set[str] = set()
    shared: set[str] = set()
    for names, learnt, judged in _list_parts(board, train, test, doc_id, rel):
        texts = id_array(names, "qid").tolist()
        code = {text: i for i, text in enumerate(texts)}
        query = np.array([code.get(text, -1) for text in judged[0].tolist()], dtype=np.int64)
        counts.append(count_seen(learnt[1], judged[1][query >= 0], query[query >= 0], len(texts)))
        qids += names
        known |= {*judged[1].tolist()} & {*learnt[1].tolist()}
        shared |= {*texts} & {*learnt[0].tolist()}
    n_relevant, n_relevant_seen = np.concatenate(counts, axis=1)
    without = int((n_relevant == 0).sum())
    if without == len(qids):
        raise ArgumentError(
            "test",
            f"must have a relevant document (grade >= {rel:g}) of a query of the leaderboard, got "
            "none. Check the ids of queries, or pass rel=….",
        )
    notes = []
    if without:
        notes.append(
            f"{without} of {len(qids)} queries have no relevant document, and are left out"
        )
    if not known:
        notes.append(
            "no relevant document of the test is relevant in training; check that their ids are "
            "written alike"
        )
    if shared:
        notes.append(
            f"{len(shared)} test queries have the id of a training query; if they are the same, "
            "all results on them are memory"
        )
    audit = MemoryAudit([], qids, n_relevant, n_relevant_seen, notes=notes)
    if board is None:
        return audit
    baseline, level = board.settings.baseline, board.settings.confidence_level
    if baseline is None:
        notes.append(f"gains are unknown without a baseline: {setting('baseline')}")
        return audit
    rows = _measure_gains(board, audit)
    return replace(audit, rows=rows, baseline=baseline, confidence_level=level)


def _list_parts(
    board: Any, train: Any, test: Any, doc_id: str | None, rel: float
) -> Iterator[tuple[Any, _Pairs, _Pairs]]:
    """Test queries of every fold, and relevant pairs of its training part and of its test part."""
    folds = [] if board is None else [info.qids for info in board.fold_infos]
    if isinstance(train, Fold):
        train = [train]
    if isinstance(train, FoldedData) or (
        isinstance(train, list) and any(isinstance(part, Fold) for part in train)
    ):
        if test is not None:
            raise ArgumentError("test", "must not be given with folds, which have test parts.")
        if len(train) != len(folds):
            raise ArgumentError(
                "train",
                f"must have the folds of the leaderboard, {len(folds)}, got {len(train)}. Pass the "
                "data that compare got.",
            )
        for names, fold in zip(folds, train, strict=True):
            learnt, judged = (
                _find_relevant(p, "train", None, rel) for p in (fold.train, fold.test)
            )
            yield names, learnt, judged
        return
    learnt = _find_relevant(train, "train", doc_id, rel)
    if test is not None:
        judged = _find_relevant(test, "test", doc_id, rel)
        for names in folds or [np.unique(judged[0]).tolist()]:
            yield names, learnt, judged
        return
    if len(folds) < 2:
        raise ArgumentError(
            "test", "must hold the judgements of the test queries, got none. Pass them."
        )
    for names in folds:
        others = ~np.isin(learnt[0], id_array(names, "qid"))
        yield names, (learnt[0][others], learnt[1][others]), learnt


def _find_relevant(source: Any, name: str, doc_id: str | None, rel: float) -> _Pairs:
    """Queries and ids of the relevant pairs of judgements or judged rows with ids."""
    if doc_id is not None and is_frame(source):
        source = RankingData.from_frame(source, doc_id=doc_id, features=[])
    if not isinstance(source, RankingData):
        judged = read_judgements(source)
        kept = judged.relevance >= rel
        return judged.qid[kept], judged.doc_ids[kept]
    if source.doc_ids is None:
        raise ArgumentError(
            name,
            "must have document ids, got rows without. Pass doc_ids to RankingData, or name their "
            f"column: {setting('doc_id')}.",
        )
    parts = [source]
    if source.missed is not None and source.missed.doc_ids is not None:
        parts.append(source.missed)
    qid, ids, grades = (
        np.concatenate([np.asarray(getattr(part, what)) for part in parts])
        for what in ("qid", "doc_ids", "grades")
    )
    kept = (grades >= rel) & (ids.astype(str) != "")
    return id_array(qid[kept], "qid"), id_array(ids[kept], "doc_ids")


def _measure_gains(board: Any, audit: MemoryAudit) -> list[MemoryGain]:
    """Gains of all systems and measures, with corrected tests and verdicts."""
    level, baseline = board.settings.confidence_level, board.settings.baseline
    rows: list[dict[str, Any]] = []
    for name, system in product(board.measures, board.rankers):
        if system == baseline:
            continue
        gains = board.values(system, name) - board.values(baseline, name)
        gains = gains if board.greater_is_better(name) else -gains
        low, high = board._bounds(name)
        row: dict[str, Any] = {"system": system, "measure": name}
        groups = [audit.n_relevant > 0, audit.seen, audit.unseen]
        values = [gains[group & ~np.isnan(gains)] for group in groups]
        for what, part in zip(("gain", "seen", "unseen"), values, strict=True):
            mean, ends = _NAN, (_NAN, _NAN)
            if len(part):
                mean = float(part.mean())
                (ends,) = mean_intervals(
                    part[:, None], bounds=(low - high, high - low), confidence_level=level
                ).tolist()
            row |= {what: mean, f"{what}_low": ends[0], f"{what}_high": ends[1]}
        test = compare_groups(values[1], values[2], level)
        row |= dict(
            zip(("difference", "difference_low", "difference_high", "p_value"), test, strict=True)
        )
        rows.append(row | {"n_seen": len(values[1]), "n_unseen": len(values[2])})
    corrected = holm([row["p_value"] for row in rows]).tolist() if rows else []
    return [
        MemoryGain(**row, p_corrected=p, verdict=_find_verdict(row, p, 1 - level))
        for row, p in zip(rows, corrected, strict=True)
    ]


def compare_groups(
    first: Float64Array, second: Float64Array, confidence_level: float
) -> tuple[float, float, float, float]:
    """Difference of two means, its interval and p: the wider, the larger of Welch's and Student's.

    Welch's test alone errs in 11 % of draws of four gains on SciFact, which may happen to be equal;
    Student's alone errs if the small group varies more. NaN with fewer than two values in a group.
    """
    sizes = np.array([len(first), len(second)])
    if sizes.min() == 0:
        return _NAN, _NAN, _NAN, _NAN
    difference = float(first.mean() - second.mean())
    if sizes.min() < 2:
        return difference, _NAN, _NAN, _NAN
    squares = np.array([first.var(ddof=1), second.var(ddof=1)])
    pooled = float(squares @ (sizes - 1)) / (sizes.sum() - 2)
    if pooled == 0:
        return difference, _NAN, _NAN, _NAN
    own = squares / sizes
    variance = np.array([own.sum(), pooled * (1 / sizes).sum()])
    freedom = np.array([own.sum() ** 2 / (own**2 / (sizes - 1)).sum(), sizes.sum() - 2])
    error = np.sqrt(variance)
    half = float((t_quantile(freedom, confidence_level) * error).max())
    p = float(2.0 * stdtr(freedom, -abs(difference) / error).max())
    return difference, difference - half, difference + half, p


def _find_verdict(row: Mapping[str, Any], p_corrected: float, level: float) -> Verdict:
    if not row["gain_low"] > 0:
        return "no gain"
    if row["unseen_low"] > 0:
        return "holds"
    is_larger = row["seen_low"] > 0 and p_corrected < level and row["difference"] > 0
    return "memory" if is_larger and row["unseen_high"] < row["seen"] else "open"


def _ends(mean: float, low: float, high: float, n: int | None = None) -> str:
    """A mean with what is known of its interval and number of queries."""
    facts = [] if math.isnan(low) else [f"{low:+.4f} to {high:+.4f}"]
    facts += [] if n is None else [f"n = {n}"]
    mean_text = format_or_dash(_none(mean), "+.4f")
    return f"{mean_text} ({', '.join(facts)})" if facts else mean_text


def _none(value: float) -> float | None:
    return None if math.isnan(value) else value
