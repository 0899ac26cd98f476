"""Systems measured by few human and many machine judgements, and errors of the machine judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from rankwise.checks.exact_values import id_texts
from rankwise.datasets.readers.judged_run import grades_of, judge
from rankwise.datasets.readers.results import as_run, read_judgements
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.metrics.evaluation import (
    DEFAULT_MEASURE,
    estimate_mean,
    show_estimates,
    values_by_both_judges,
)
from rankwise.metrics.measure import MeasureLike
from rankwise.metrics.spec import list_specs
from rankwise.metrics.statistics.intervals import dirichlet_bounds
from rankwise.metrics.statistics.prediction_powered import PoweredMean
from rankwise.metrics.statistics.stratified import FEW, spread_freedom
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_share, check_whole, join_lines
from rankwise.runtime.result import Result, ResultList, columns_of
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class MachineJudged(Result):
    """Means of systems, and differences between them, from human and machine judgements.

    Attributes
    ----------
    means : dict of str to dict of str to PoweredMean
        By measure and system.
    differences : dict of str to dict of (str, str) to PoweredMean
        By measure and pair: the first system minus the second. ``bias`` and ``bias_p`` tell whether
        the machine favours the first.
    n_left_out : int
        Queries that only humans judged, which do not count.
    """

    means: dict[str, dict[str, PoweredMean]]
    differences: dict[str, dict[tuple[str, str], PoweredMean]]
    n_left_out: int

    def _contents(self) -> dict[str, Any]:
        differences = {
            measure: [
                {"first": first, "second": second, **difference.to_dict()}
                for (first, second), difference in by_pair.items()
            ]
            for measure, by_pair in self.differences.items()
        }
        return super()._contents() | {"differences": differences}

    def _columns(self) -> dict[str, Any]:
        rows = [
            (measure, " - ".join(key) if isinstance(key, tuple) else key, estimate)
            for measure in self.means
            for by_key in (self.means[measure], self.differences[measure])
            for key, estimate in by_key.items()
        ]
        measures, systems, estimates = zip(*rows, strict=True)
        return {"measure": measures, "system": systems, **columns_of(estimates, PoweredMean)}

    def __str__(self) -> str:
        lines = []
        for measure, by_system in self.means.items():
            first = next(iter(by_system.values()))
            lines.append(
                f"{measure}: {first.n_human} queries with human and machine judgements, "
                f"{first.n_machine} with those of the machine only"
            )
            pairs = {" - ".join(pair): mean for pair, mean in self.differences[measure].items()}
            lines += show_estimates({**by_system, **pairs})
        if self.n_left_out:
            lines.append(f"{self.n_left_out} queries that the machine did not judge do not count.")
        return join_lines(lines)


@names_its_class
def evaluate_with_judge(
    human: Qrels | Any,
    machine: Qrels | Any,
    systems: Mapping[str, Run | Any],
    measures: MeasureLike | Sequence[MeasureLike] = DEFAULT_MEASURE,
    *,
    preset: str | None = None,
    confidence_level: float = 0.95,
) -> MachineJudged:
    """Evaluate systems by few human and many machine judgements.

    ``evaluate(human, run, measures, judge=machine)`` does so for one run.

    The intervals hold whatever the errors of the machine are, if the queries with human
    judgements are a random sample of all.

    Parameters
    ----------
    human : Qrels, path, frame, mapping, RankingData or list of these
        Human judgements of some queries; see :func:`rankwise.text.read_judgements`.
    machine : Qrels, path, frame, mapping, RankingData or list of these
        Judgements of a machine on the same and on further queries.
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    measures : str, Measure, callable or sequence of them
        Measures for which every query counts, such as P@3. The default, nDCG(empty=0)@10, counts
        queries without relevant documents as 0: otherwise, a query could have a value by the
        machine and none by people.
    preset : str, optional
        Convention for parameters that the measures leave open, e.g. "trec_eval".
    confidence_level : float in (0, 1)
        Level of the intervals, for each mean and difference alone.

    Returns
    -------
    MachineJudged

    Raises
    ------
    ValueError, TypeError
        If fewer than three queries have judgements of both, or a query does not count for a
        measure.

    Notes
    -----
    A query without documents in a run counts as not answered. Documents that one of the judges
    did not judge count as not relevant in the values of this judge. See
    :func:`rankwise.metrics.significance.prediction_powered_mean` for the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = {f"q{q}": {f"d{d}": int(rng.random() < 0.4) for d in range(8)} for q in range(200)}
    >>> machine = {q: {d: g if rng.random() < 0.8 else 1 for d, g in grades.items()}
    ...            for q, grades in truth.items()}
    >>> human = {q: truth[q] for q in list(truth)[:40]}
    >>> run = {q: {d: rng.random() for d in grades} for q, grades in truth.items()}
    >>> found = evaluate_with_judge(human, machine, {"a": run}, "P@3").means["P@3"]["a"]
    >>> round(found.machine_mean, 2), round(found.bias, 2), round(found.mean, 2)
    (0.5, 0.1, 0.35)
    """
    if not isinstance(systems, Mapping) or not systems:
        raise TypeError(
            f"systems must map names to runs, got {type(systems).__name__}. Pass for example "
            "{'new': run, 'old': other_run}, after the judgements."
        )
    runs = {str(name): as_run(run) for name, run in systems.items()}
    values, _, n_left_out = values_by_both_judges(
        runs, human, machine, list_specs(measures), preset
    )
    means, differences = {}, {}
    for spec, found in values.items():
        means[spec] = {name: estimate_mean(spec, v, confidence_level) for name, v in found.items()}
        differences[spec] = {
            (a, b): estimate_mean(
                spec, [x - y for x, y in zip(found[a], found[b], strict=True)], confidence_level
            )
            for a, b in combinations(found, 2)
        }
    return MachineJudged(means, differences, n_left_out)


@dataclass(frozen=True)
class RankBias(Result):
    """Documents of one rank, judged by people and by a machine.

    Attributes
    ----------
    rank : int
    n_documents : int
        Documents that both judged, over systems and queries.
    human, machine : float
        Shares of relevant documents.
    bias, low, high : float
        Machine minus human share, with its interval over queries: Student's t, or wider if few
        verdicts differ (see ``mean_intervals``); NaN ends for one query.
    """

    _drawn = "bias"

    rank: int
    n_documents: int
    human: float
    machine: float
    bias: float
    low: float
    high: float


@names_its_class
def bias_by_rank(
    human: Qrels | Any,
    machine: Qrels | Any,
    systems: Mapping[str, Run | Any],
    *,
    k: int = 10,
    rel: float = 1,
    confidence_level: float = 0.95,
) -> ResultList[RankBias]:
    """Compare the judgements of a machine with those of people, rank by rank.

    A machine that knows or likes what a system ranks first is too lenient at the first ranks.

    Parameters
    ----------
    human, machine : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    k : int >= 1
        Number of ranks.
    rel : float
        Documents of at least this grade are relevant.
    confidence_level : float in (0, 1)
        Level of the intervals, for each rank alone.

    Returns
    -------
    list of RankBias, with the methods of a result
        One for each rank at which both judged a document.

    Raises
    ------
    ValueError
        If ``k`` or ``confidence_level`` is wrong, or the judges have no document in common.

    Examples
    --------
    >>> systems = {"a": {q: {"d1": 2.0, "d2": 1.0} for q in "pqr"}}
    >>> human = {"p": {"d1": 1, "d2": 0}, "q": {"d1": 0, "d2": 1}, "r": {"d1": 0, "d2": 0}}
    >>> machine = {q: {"d1": 1, "d2": 0} for q in "pqr"}
    >>> [(found.rank, round(found.bias, 2)) for found in bias_by_rank(human, machine, systems)]
    [(1, 0.67), (2, -0.33)]
    """
    check_whole("k", k, 1)
    check_share("confidence_level", confidence_level)
    by_human, by_machine = read_judgements(human), drop_negative(read_judgements(machine))
    parts = [_rank_pairs(as_run(run), by_human, by_machine, rel) for run in systems.values()]
    qid, rank, people, model = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(qid):
        raise ValueError(
            "human and machine judged no document of the systems in common. Check that all use the "
            "same query and document ids."
        )
    query = np.unique(qid, return_inverse=True)[1]
    found = [
        RankBias(
            r, int(at.sum()), *compare_verdicts(query[at], people[at], model[at], confidence_level)
        )
        for r in range(1, int(k) + 1)
        if (at := rank == r).any()
    ]
    return ResultList(RankBias, found)


def _rank_pairs(
    run: Run, human: Qrels, machine: Qrels, rel: float
) -> tuple[np.ndarray[Any, Any], Int64Array, Float64Array, Float64Array]:
    """Query, rank and both verdicts of the retrieved documents that both judged."""
    rows = judge(human, run)
    found = rows.retrieved
    qid = rows.qid[found]
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1])[: len(qid)])
    sizes = np.diff(np.append(starts, len(qid)))
    rank = np.arange(len(qid)) - np.repeat(starts, sizes) + 1
    grades, known = grades_of(machine, qid, rows.doc_ids[found])
    both = rows.judged[found] & known
    verdicts = [(part >= rel).astype(np.float64)[both] for part in (rows.y[found], grades)]
    return qid[both], rank[both], verdicts[0], verdicts[1]


def drop_negative(qrels: Qrels) -> Qrels:
    """Judgements without those of a negative grade, which means: not judged."""
    known = qrels.relevance >= 0
    return Qrels(qrels.qid[known], qrels.doc_ids[known], qrels.relevance[known])


def compare_verdicts(
    query: Int64Array, people: Float64Array, model: Float64Array, confidence_level: float
) -> tuple[float, float, float, float, float]:
    """Shares of two judges, their difference (bias) and its ends; queries are clusters."""
    error = model - people
    bias, n = float(error.mean()), np.bincount(query)
    low = high = math.nan
    if np.count_nonzero(n) > 1:
        n, sums = n[n > 0], np.bincount(query, error)[n > 0]
        n_queries = len(n)
        spread = math.sqrt(float(((sums - n * bias) ** 2).sum()) * n_queries / (n_queries - 1))
        half = float(stdtrit(n_queries - 1, 0.5 + confidence_level / 2)) * spread / len(query)
        low = high = half
        # Few errors, or none, have too little spread for Student's t.
        terms = sums - n * bias
        if half == 0 or 1 - abs(bias) < 2 * half or spread_freedom(terms) < FEW * n_queries:
            weights, means = n[:, None] * n_queries / len(query), (sums / n)[:, None]
            upper = [
                float(dirichlet_bounds(side * means, weights, 1.0, (1.0 - confidence_level) / 2)[0])
                for side in (-1.0, 1.0)
            ]
            low, high = max(half, upper[0] + bias), max(half, upper[1] - bias)
        low, high = max(bias - low, -1.0), min(bias + high, 1.0)
    return float(people.mean()), float(model.mean()), bias, low, high


# Verdicts are 0 or 1, and lengths enter by their logarithm.
_ROUNDING = 1e-9
# With fewer queries, 95 % intervals of the slope miss in up to a quarter of the cases.
FEWEST_QUERIES = 30


@dataclass(frozen=True)
class LengthGroup(Result):
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
class LengthBias(Result):
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

    _drawn = "bias"

    groups: list[LengthGroup]
    slope: float
    low: float
    high: float
    p: float
    n_left_out: int

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.groups, LengthGroup)

    def __str__(self) -> str:
        lines = [super().__str__()]
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


@names_its_class
def bias_by_length(
    human: Qrels | Any,
    machine: Qrels | Any,
    lengths: Mapping[Any, float],
    *,
    n_groups: int = 5,
    rel: float = 1,
    confidence_level: float = 0.95,
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
    confidence_level : float in (0, 1)
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
    check_whole("n_groups", n_groups, 1)
    check_share("confidence_level", confidence_level)
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
    # About equally many documents each; equal lengths are in one group.
    edges = np.quantile(length, np.arange(1, n_groups) / n_groups)
    group = np.searchsorted(edges, length, side="left")
    groups = [
        LengthGroup(
            float(length[at].min()),
            float(length[at].max()),
            int(at.sum()),
            *compare_verdicts(query[at], people[at], model[at], confidence_level),
        )
        for at in (group == g for g in np.unique(group))
    ]
    slope = _slope(query, people, model, np.log2(length), confidence_level)
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


def _slope(
    query: Int64Array,
    people: Float64Array,
    model: Float64Array,
    log_length: Float64Array,
    confidence_level: float,
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
    half = float(stdtrit(n_queries - 1, 0.5 + confidence_level / 2)) * error
    p = 2.0 * float(stdtr(n_queries - 1, -abs(slope) / error))
    return slope, slope - half, slope + half, p
