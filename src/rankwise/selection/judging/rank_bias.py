"""Errors of a machine judge by the rank of the documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import stdtrit

from rankwise.datasets.readers.judged_run import grades_of, judge
from rankwise.datasets.readers.judgements import read_judgements
from rankwise.datasets.readers.result_lists import as_run
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.metrics.statistics.intervals import dirichlet_bounds
from rankwise.metrics.statistics.stratified import FEW, spread_freedom
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True)
class RankBias:
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

    rank: int
    n_documents: int
    human: float
    machine: float
    bias: float
    low: float
    high: float


def bias_by_rank(
    systems: Mapping[str, Run | Any],
    human: Qrels | Any,
    machine: Qrels | Any,
    *,
    k: int = 10,
    rel: float = 1,
    confidence: float = 0.95,
) -> list[RankBias]:
    """Compare the judgements of a machine with those of people, rank by rank.

    A machine that knows or likes what a system ranks first is too lenient at the first ranks.

    Parameters
    ----------
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    human, machine : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    k : int >= 1
        Number of ranks.
    rel : float
        Documents of at least this grade are relevant.
    confidence : float in (0, 1)
        Level of the intervals, for each rank alone.

    Returns
    -------
    list of RankBias
        One for each rank at which both judged a document.

    Raises
    ------
    ValueError
        If ``k`` or ``confidence`` is wrong, or there is no document that both judged.

    Examples
    --------
    >>> systems = {"a": {q: {"d1": 2.0, "d2": 1.0} for q in "pqr"}}
    >>> human = {"p": {"d1": 1, "d2": 0}, "q": {"d1": 0, "d2": 1}, "r": {"d1": 0, "d2": 0}}
    >>> machine = {q: {"d1": 1, "d2": 0} for q in "pqr"}
    >>> [(found.rank, round(found.bias, 2)) for found in bias_by_rank(systems, human, machine)]
    [(1, 0.67), (2, -0.33)]
    """
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k must be an integer >= 1, got {k!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    by_human, by_machine = read_judgements(human), drop_negative(read_judgements(machine))
    parts = [_rank_pairs(as_run(run), by_human, by_machine, rel) for run in systems.values()]
    qid, rank, people, model = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(qid):
        raise ValueError(
            "human and machine judged no document of the systems in common. Check that all use the "
            "same query and document ids."
        )
    query = np.unique(qid, return_inverse=True)[1]
    return [
        RankBias(r, int(at.sum()), *compare_verdicts(query[at], people[at], model[at], confidence))
        for r in range(1, int(k) + 1)
        if (at := rank == r).any()
    ]


def _rank_pairs(
    run: Run, human: Qrels, machine: Qrels, rel: float
) -> tuple[np.ndarray[Any, Any], Int64Array, Float64Array, Float64Array]:
    """Query, rank and both verdicts of the retrieved documents that both judged."""
    rows = judge(run, human)
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
    query: Int64Array, people: Float64Array, model: Float64Array, confidence: float
) -> tuple[float, float, float, float, float]:
    """Shares of two judges, their difference and its interval; queries are clusters.

    Returns
    -------
    people, model, bias, low, high : float
    """
    error = model - people
    bias, n = float(error.mean()), np.bincount(query)
    low = high = math.nan
    if np.count_nonzero(n) > 1:
        n, sums = n[n > 0], np.bincount(query, error)[n > 0]
        n_queries = len(n)
        spread = math.sqrt(float(((sums - n * bias) ** 2).sum()) * n_queries / (n_queries - 1))
        half = float(stdtrit(n_queries - 1, 0.5 + confidence / 2)) * spread / len(query)
        low = high = half
        # Few errors, or none, have too little spread for Student's t.
        terms = sums - n * bias
        if half == 0 or 1 - abs(bias) < 2 * half or spread_freedom(terms) < FEW * n_queries:
            weights, means = n[:, None] * n_queries / len(query), (sums / n)[:, None]
            upper = [
                float(dirichlet_bounds(side * means, weights, 1.0, (1.0 - confidence) / 2)[0])
                for side in (-1.0, 1.0)
            ]
            low, high = max(half, upper[0] + bias), max(half, upper[1] - bias)
        low, high = max(bias - low, -1.0), min(bias + high, 1.0)
    return float(people.mean()), float(model.mean()), bias, low, high
