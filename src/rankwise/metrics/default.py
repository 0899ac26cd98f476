"""Default score of estimators: nDCG@10 for grades, else 1 - pairwise misranking.

This module is separate from the kernels, so importing the estimators compiles and loads nothing.
"""

from __future__ import annotations

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array

# Without a preset: gain 2**y - 1, discount 1 / log2(1 + rank), queries without relevant rows
# skipped, tied rows earn the mean over all their orders.
GRADED = "nDCG@10"
MISRANKING = "Misranking"
# Sums of 2**y overflow float64 for larger grades, so such integers are treated as real targets.
LARGEST_GRADE = 1000


def default_score(
    y: Float64Array,
    scores: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
) -> float:
    """Weighted mean over queries of the default measure for ``y``: finite, larger is better.

    Parameters
    ----------
    y, scores : ndarray of shape (n_samples,), float64
        Targets and scores in input order.
    groups : QueryGroups
    weight : ndarray of shape (n_samples,), optional
        Weights of the rows. Rows of weight zero are left out; the weight of a query is the mean
        weight of its rows.

    Notes
    -----
    If no query can be scored by nDCG, the score is 1 - pairwise misranking. If no query has a
    pair with different labels either, the score is 1.
    """
    if weight is not None:
        kept = weight > 0
        if not kept.all():
            y, scores, weight, groups = y[kept], scores[kept], weight[kept], groups.take(kept)
    query_weight = _query_weight(groups, weight)
    if is_graded(y):
        from rankwise.metrics.spec import parse

        score = _weighted_mean(parse(GRADED).per_query(y, scores, groups), query_weight)
        if score is not None:
            return score
    score = _one_minus_misranking(y, scores, groups, query_weight)
    return 1.0 if score is None else score


class RunningScore:
    """:func:`default_score` accumulated over chunks of whole queries."""

    def __init__(self) -> None:
        self._graded = True
        self._sums = {GRADED: 0.0, MISRANKING: 0.0}
        self._weights = {GRADED: 0.0, MISRANKING: 0.0}

    def add(
        self,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
        weight: Float64Array | None = None,
    ) -> None:
        """Add whole queries, with positive weights."""
        from rankwise.metrics.spec import parse

        query_weight = _query_weight(groups, weight)
        self._graded = self._graded and is_graded(y)
        for name in (GRADED, MISRANKING) if self._graded else (MISRANKING,):
            values = parse(name).per_query(y, scores, groups)
            counted = ~np.isnan(values)
            self._sums[name] += float(values[counted] @ query_weight[counted])
            self._weights[name] += float(query_weight[counted].sum())

    def value(self) -> float:
        """Score of the rows added so far."""
        if self._graded and self._weights[GRADED] > 0:
            return self._sums[GRADED] / self._weights[GRADED]
        if self._weights[MISRANKING] > 0:
            return 1.0 - self._sums[MISRANKING] / self._weights[MISRANKING]
        return 1.0


def default_score_name(y: Float64Array) -> str:
    """Name of the measure that :func:`default_score` uses for these targets."""
    return GRADED if is_graded(y) else f"1 - {MISRANKING}"


def is_graded(y: Float64Array) -> bool:
    """Whether the targets are relevance grades: integers from 0 to 1000."""
    return bool(
        y.size and (y >= 0).all() and (y <= LARGEST_GRADE).all() and (y == np.floor(y)).all()
    )


def _one_minus_misranking(
    y: Float64Array, scores: Float64Array, groups: QueryGroups, query_weight: Float64Array
) -> float | None:
    from rankwise.metrics.spec import parse

    return _weighted_mean(1.0 - parse(MISRANKING).per_query(y, scores, groups), query_weight)


def _query_weight(groups: QueryGroups, weight: Float64Array | None) -> Float64Array:
    if weight is None:
        return np.ones(groups.n_queries)
    total = np.bincount(groups.codes(), weights=weight, minlength=groups.n_queries)
    return total / np.maximum(groups.sizes, 1)


def _weighted_mean(values: Float64Array, query_weight: Float64Array) -> float | None:
    """Mean of the values that are not NaN; None if there are none."""
    counted = ~np.isnan(values)
    if not counted.any():
        return None
    return float(np.average(values[counted], weights=query_weight[counted]))
