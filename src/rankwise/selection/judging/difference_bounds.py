"""Bounds of the differences between systems over all judgements that are still missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.judgements import read_judgements
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels
from rankwise.metrics import Measure, parse
from rankwise.selection.judging.certainty import expect_difference
from rankwise.selection.judging.completions import Completions
from rankwise.selection.judging.judged_pool import JudgedPool, pool_runs


@dataclass(frozen=True)
class DifferenceBounds:
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


def difference_bounds(
    systems: Mapping[str, Any],
    qrels: Qrels | Any,
    measure: str | Measure = "nDCG@10",
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    preset: str | None = None,
    all_queries: bool = False,
) -> list[DifferenceBounds]:
    """Bound the differences between systems over all judgements that are still missing.

    Every unjudged document that one of two systems ranks within the cut-off either is not relevant
    or has the highest grade of the judgements, at least ``rel``. All other unjudged documents are
    not relevant.

    Parameters
    ----------
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    qrels : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    measure : str or Measure
        Measure of the top of a ranking that takes unjudged documents as not relevant.
    pairs : sequence of pairs of str, optional
        Pairs of systems; None: neighbours in the order by the mean, best first. If all of these are
        settled, so is the whole order.
    preset : str, optional
        Convention for parameters that the measure leaves open, e.g. "trec_eval".
    all_queries : bool
        Also count judged queries that are in no run.

    Returns
    -------
    list of DifferenceBounds
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
    >>> [bounds] = difference_bounds(systems, {"q": {"d1": 1}}, "P@1")
    >>> bounds.difference, bounds.low, bounds.high, bounds.is_settled
    (1.0, 0.0, 1.0, False)
    """
    measure = parse(measure, preset)
    check_completable(measure)
    pool = read_pool(systems, qrels, all_queries=all_queries)
    if pairs is None:
        return enclose_neighbours([pool], measure)
    return [enclose_difference(pool, measure, *pair) for pair in check_pairs(pairs, pool)]


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


def read_pool(systems: Mapping[str, Any], qrels: Qrels | Any, *, all_queries: bool) -> JudgedPool:
    """Pool of systems and judgements; queries without judgements do not count.

    Raises
    ------
    ValueError, TypeError
        If there are no two systems.
    """
    if not isinstance(systems, Mapping):
        raise TypeError(
            f"systems must map names to runs, got {type(systems).__name__}. Pass for example "
            "{'new': run, 'old': other_run}."
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
        {name: judge(run, qrels, all_queries=True) for name, run in runs.items()}, qrels
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
