"""Documents to judge next, so that few judgements settle the order of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from rankwise.datasets.readers.trec import Qrels
from rankwise.metrics import Measure, parse
from rankwise.selection.judging.certainty import share_widths
from rankwise.selection.judging.completions import Completions
from rankwise.selection.judging.difference_bounds import (
    check_completable,
    check_pairs,
    enclose_difference,
    enclose_neighbours,
    read_pool,
)
from rankwise.selection.judging.judged_pool import JudgedPool
from rankwise.typing import Float64Array


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


def next_judgements(
    systems: Mapping[str, Any],
    qrels: Qrels | Any,
    measure: str | Measure = "nDCG@10",
    *,
    n: int = 20,
    pairs: Sequence[tuple[str, str]] | None = None,
    preset: str | None = None,
    all_queries: bool = False,
) -> list[NextJudgement]:
    """Documents whose judgements help most to settle the order of systems.

    Parameters
    ----------
    systems : mapping of str to run
        Systems by name, in any form that :func:`rankwise.fusion.as_run` takes.
    qrels : Qrels, path, frame, mapping, RankingData or list of these
        Judgements so far. Queries without any are left out: judge a document of each first.
    measure : str or Measure
        See :func:`difference_bounds`.
    n : int >= 1
        Number of documents.
    pairs : sequence of pairs of str, optional
        Pairs of systems to settle; None: neighbours in the order by the mean.
    preset : str, optional
        Convention for parameters that the measure leaves open, e.g. "trec_eval".
    all_queries : bool
        Also count judged queries that are in no run.

    Returns
    -------
    list of NextJudgement
        At most ``n`` documents, largest gain first; none if all pairs are settled.

    Raises
    ------
    ValueError
        If ``n`` or a pair is wrong, or the measure has no completions.

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
    ...  next_judgements(systems, {"q": {"d1": 1, "d3": 0}}, "DCG@3")]
    [('d4', 1.0)]
    """
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be an integer >= 1, got {n!r}.")
    measure = parse(measure, preset)
    check_completable(measure)
    pool = read_pool(systems, qrels, all_queries=all_queries)
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
    chosen = largest_gains(gains, int(n))
    return [
        NextJudgement(str(pool.qids[pool.query[d]]), str(pool.doc_ids[d]), float(gains[d]))
        for d in chosen
    ]


def largest_gains(gains: Float64Array, n: int) -> list[int]:
    """Documents of the ``n`` largest gains above 0, in descending order."""
    order = np.argsort(-gains, kind="stable")[:n]
    return [int(document) for document in order if gains[document] > 0]


def judging_gains(pool: JudgedPool, measure: Measure, first: str, second: str) -> Float64Array:
    """Amount by which a judgement of every document narrows the bounds of one pair.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    completions = Completions(pool, measure, first, second)
    low, high = completions.extremes()
    gains = np.abs(share_widths(completions, low, high))
    # Documents that both rank alike still change the ideal; they matter once all others are judged.
    n_open = np.bincount(pool.query, completions.is_open, minlength=pool.n_queries)
    width = (high - low) / completions.n_counted
    alike = np.where(np.bincount(pool.query, gains, minlength=pool.n_queries) == 0, width, 0.0)
    return gains + completions.is_open * (alike / np.maximum(n_open, 1))[pool.query]
