"""Errors of a machine judge by the length of the documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from rankwise.checks.ids import id_texts
from rankwise.datasets.readers.judged_run import grades_of
from rankwise.datasets.readers.judgements import read_judgements
from rankwise.datasets.readers.trec import Qrels
from rankwise.selection.judging.rank_bias import compare_verdicts, drop_negative
from rankwise.typing import Float64Array, Int64Array

# Verdicts are 0 or 1, and lengths enter by their logarithm.
_ROUNDING = 1e-9
# With fewer queries, 95 % intervals of the slope miss in up to a quarter of the cases.
FEWEST_QUERIES = 30


@dataclass(frozen=True)
class LengthGroup:
    """Documents of similar length, judged by people and by a machine.

    Attributes
    ----------
    shortest, longest : float
        Range of the lengths.
    n_documents : int
        Documents that both judged, over queries.
    human, machine : float
        Shares of relevant documents.
    bias, low, high : float
        Machine minus human share, with its interval as in :class:`RankBias`.
    """

    shortest: float
    longest: float
    n_documents: int
    human: float
    machine: float
    bias: float
    low: float
    high: float


@dataclass(frozen=True)
class LengthBias:
    """Errors of a machine judge by the length of the documents.

    Attributes
    ----------
    groups : list of LengthGroup
        Groups of about equally many documents, shortest first.
    slope, low, high, p : float
        Change of the machine's share of relevant documents with every doubling of the length, among
        documents on which people gave the same verdict, with its interval and p-value; NaN if all
        documents have one length. The last three are NaN with fewer than 30 queries, and if the fit
        is exact.
    n_left_out : int
        Number of documents that both judged, but that have no length.
    """

    groups: list[LengthGroup]
    slope: float
    low: float
    high: float
    p: float
    n_left_out: int

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{'length':>15}  documents  human  machine  {'bias':>7}  {'interval':>18}"]
        for g in self.groups:
            span = f"{g.shortest:g} to {g.longest:g}"
            lines.append(
                f"{span:>15}  {g.n_documents:>9}  {g.human:.3f}    {g.machine:.3f}  {g.bias:>+7.3f}"
                f"  {f'{g.low:+.3f} to {g.high:+.3f}':>18}"
            )
        if math.isnan(self.slope):
            lines.append("No slope: all lengths are equal.")
        elif math.isnan(self.p):
            lines.append(
                f"Twice the length changes the machine's share by {self.slope:+.4f}, at the same "
                f"human verdict; no interval with fewer than {FEWEST_QUERIES} queries, or without "
                "any error of the fit."
            )
        else:
            p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
            lines.append(
                f"Twice the length changes the machine's share by {self.slope:+.4f} "
                f"({self.low:+.4f} to {self.high:+.4f}, {p}), at the same human verdict."
            )
        if self.n_left_out:
            lines.append(f"{self.n_left_out} documents that both judged have no length.")
        return "\n".join(lines)


def bias_by_length(
    human: Qrels | Any,
    machine: Qrels | Any,
    lengths: Mapping[Any, float],
    *,
    n_groups: int = 5,
    rel: float = 1,
    confidence: float = 0.95,
) -> LengthBias:
    """Compare the judgements of a machine with those of people by the length of the documents.

    Language models may take long documents for relevant, and read only the start of others.

    Parameters
    ----------
    human, machine : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    lengths : mapping of document id to number > 0
        Lengths in any unit, such as words.
    n_groups : int >= 1
        Number of groups; there are fewer if many documents have the same length.
    rel : float
        Documents of at least this grade are relevant.
    confidence : float in (0, 1)
        Level of the intervals, for each group alone.

    Returns
    -------
    LengthBias

    Raises
    ------
    ValueError
        If an argument is wrong, or no document that both judged has a length.

    Notes
    -----
    A machine that is lenient to irrelevant documents has a bias wherever these are frequent. The
    slope compares documents with the same human verdict. It is the coefficient of log2(length) in a
    least-squares fit of the machine's verdict, with a constant and the human verdict. In its
    error, the documents of a query are one cluster; t has one degree of freedom fewer than queries.
    O(n log n) for n documents.

    Examples
    --------
    >>> documents = {f"d{length}": length for length in (100, 200, 400, 800)}
    >>> human = {q: {d: int(d == "d100") for d in documents} for q in "abcd"}
    >>> machine = {q: {d: int(length >= 400) for d, length in documents.items()} for q in "abcd"}
    >>> found = bias_by_length(human, machine, documents, n_groups=2)
    >>> [(g.shortest, g.longest, g.bias) for g in found.groups]
    [(100.0, 200.0, -0.5), (400.0, 800.0, 1.0)]
    """
    if isinstance(n_groups, bool) or not isinstance(n_groups, Integral) or n_groups < 1:
        raise ValueError(f"n_groups must be an integer >= 1, got {n_groups!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    by_human, by_machine = read_judgements(human), read_judgements(machine)
    grades, known = grades_of(drop_negative(by_machine), by_human.qid, by_human.doc_ids)
    both = (by_human.relevance >= 0) & known
    length = _lengths_of(by_human.doc_ids[both], lengths)
    kept = ~np.isnan(length)
    if not kept.any():
        raise ValueError(
            f"lengths must hold documents that both judged, got none of {int(both.sum())}. Check "
            "that all use the same document ids."
        )
    query = np.unique(by_human.qid[both][kept], return_inverse=True)[1]
    people = (by_human.relevance[both][kept] >= rel).astype(np.float64)
    model = (grades[both][kept] >= rel).astype(np.float64)
    length = length[kept]
    groups = [
        LengthGroup(
            float(length[at].min()),
            float(length[at].max()),
            int(at.sum()),
            *compare_verdicts(query[at], people[at], model[at], confidence),
        )
        for at in _split_by_length(length, int(n_groups))
    ]
    slope = _slope(query, people, model, np.log2(length), confidence)
    return LengthBias(groups, *slope, int((~kept).sum()))


def _lengths_of(doc_ids: np.ndarray[Any, Any], lengths: Mapping[Any, float]) -> Float64Array:
    """Length of every document; NaN if it is not known."""
    names = id_texts(lengths, "document ids of lengths", "document {}".format)
    try:
        values = np.array([float(length) for length in lengths.values()])
    except (TypeError, ValueError) as error:
        raise ValueError(f"lengths must be numbers: {error}.") from None
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"lengths must be finite numbers > 0, got {values[at]} for document {names[at]!r}. "
            "Leave out documents without a length."
        )
    known = dict(zip(names, values.tolist(), strict=True))
    return np.array([known.get(name, math.nan) for name in doc_ids.tolist()], dtype=np.float64)


def _split_by_length(length: Float64Array, n_groups: int) -> list[np.ndarray[Any, Any]]:
    """Masks of groups of about equally many documents; equal lengths are in one group."""
    edges = np.quantile(length, np.arange(1, n_groups) / n_groups)
    group = np.searchsorted(edges, length, side="left")
    return [group == g for g in np.unique(group)]


def _slope(
    query: Int64Array,
    people: Float64Array,
    model: Float64Array,
    log_length: Float64Array,
    confidence: float,
) -> tuple[float, float, float, float]:
    """Coefficient of the length, its interval and its p-value; errors are clustered by query."""
    columns = np.column_stack([np.ones(len(people)), people, log_length])
    if np.ptp(people) == 0:
        columns = columns[:, [0, 2]]
    n, k = columns.shape
    n_queries = int(query.max()) + 1
    if np.linalg.matrix_rank(columns) < k or n <= k:
        return math.nan, math.nan, math.nan, math.nan
    inverse = np.linalg.inv(columns.T @ columns)
    fit = inverse @ columns.T @ model
    scores = np.zeros((n_queries, k))
    np.add.at(scores, query, columns * (model - columns @ fit)[:, None])
    scale = n_queries / max(n_queries - 1, 1) * (n - 1) / (n - k)
    error = math.sqrt(float((inverse @ (scores.T @ scores) @ inverse)[-1, -1]) * scale)
    slope = float(fit[-1])
    if error < _ROUNDING or n_queries < FEWEST_QUERIES:  # an exact fit has no errors
        return slope, math.nan, math.nan, math.nan
    half = float(stdtrit(n_queries - 1, 0.5 + confidence / 2)) * error
    p = 2.0 * float(stdtr(n_queries - 1, -abs(slope) / error))
    return slope, slope - half, slope + half, p
