"""Measures of predicted ranks: distance from the label, frequency of errors, weighted kappa.

Scores are read as predicted labels, which ordinal rankers return. With query ids, the loss is
averaged within each query first. Without query ids, all rows form one query, so all rows have the
same weight.

Weighted kappa is the agreement of predicted ranks with the labels beyond chance,
``1 - Σ_i d(y_i, f_i) / ((1/m) Σ_ij d(y_i, f_j))`` with the distance d = [y ≠ f], ``|y - f|`` or
``(y - f)²`` (Cohen 1968, Psychological Bulletin 70:213-220). The denominators are computed from
sorted rows and moments instead of the table of all pairs of classes: O(m log m) for any number of
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.measure import Empty, QueryMeasure, check_choice, check_number
from rankwise.metrics.measures.agreement import (
    centre_by_query,
    largest_by_query,
    mean_by_query,
    subtract_first_by_query,
    sum_by_query,
)
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True)
class RankLoss(QueryMeasure):
    """Base class of the losses of predicted labels; smaller is better."""

    greater_is_better: ClassVar[bool] = False
    reads_labels: ClassVar[bool] = True
    empty: Empty = "skip"  # value of a query without rows

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        return self.fill_empty(self._loss(scored), scored.sizes > 0)

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        """Loss of every query; any number for a query without rows."""
        raise NotImplementedError(f"{type(self).__name__} must define _loss.")


@dataclass(frozen=True)
class MAE(RankLoss):
    """Mean absolute rank loss, the mean of ``|y - f|``; smaller is better.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> y, ranks, qid = [3, 1, 2, 2], [1, 1, 2, 3], ["a", "b", "b", "b"]
    >>> round(evaluate(y, ranks, qid, "MAE")["MAE"], 4)  # (2 + 1/3) / 2
    1.1667
    >>> evaluate(y, ranks, measures="MAE")["MAE"]  # pooled over all rows
    0.75
    """

    name: ClassVar[str] = "MAE"
    averages_rows: ClassVar[bool] = True

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        return mean_by_query(np.abs(scored.y - scored.scores), scored.indptr)


@dataclass(frozen=True)
class ZeroOne(RankLoss):
    """Zero-one loss: share of rows whose predicted rank differs from the label; smaller is better.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 1, 2, 2], [1, 1, 2, 3], measures="ZeroOne")["ZeroOne"]
    0.5
    """

    name: ClassVar[str] = "ZeroOne"
    averages_rows: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        missed = (scored.y != scored.scores).astype(np.float64)
        return mean_by_query(missed, scored.indptr)


@dataclass(frozen=True)
class MacroMAE(RankLoss):
    """Macro-averaged MAE: mean of ``|y - f|`` per class, averaged over classes.

    Every class has the same weight, even with few rows (Baccianella, Esuli & Sebastiani 2009,
    ISDA, p. 283); smaller is better. The classes are those among the labels of a query, or of all
    rows without query ids. O(m log m).

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([1, 1, 1, 2], [1, 1, 1, 1], None, ["MAE", "MacroMAE"]).means
    {'MAE': 0.25, 'MacroMAE': 0.5}
    """

    name: ClassVar[str] = "MacroMAE"

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        query = np.repeat(np.arange(scored.n_queries), scored.sizes)
        order = np.lexsort((scored.y, query))
        y = scored.y[order]
        new = np.ones(len(y), dtype=bool)
        np.not_equal(y[1:], y[:-1], out=new[1:])
        new[scored.indptr[:-1][scored.sizes > 0]] = True
        starts = np.flatnonzero(new)
        by_class = mean_by_query(np.abs(y - scored.scores[order]), np.append(starts, len(y)))
        return mean_by_query(by_class, np.searchsorted(starts, scored.indptr))


@dataclass(frozen=True)
class Within(QueryMeasure):
    """Share of rows whose predicted rank is off by at most ``ranks``; larger is better.

    ``ranks`` is >= 0; 0 gives the accuracy, which is 1 minus the zero-one loss.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 1, 2, 2], [1, 1, 2, 3], measures="Within(ranks=1)")["Within(ranks=1)"]
    0.75
    """

    name: ClassVar[str] = "Within"
    averages_rows: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reads_labels: ClassVar[bool] = True
    ranks: float = 1
    empty: Empty = "skip"  # value of a query without rows

    def __post_init__(self) -> None:
        check_number(self.name, "ranks", self.ranks, 0, np.inf)
        super().__post_init__()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        near = (np.abs(scored.y - scored.scores) <= self.ranks).astype(np.float64)
        return self.fill_empty(mean_by_query(near, scored.indptr), scored.sizes > 0)


WEIGHTS = ("linear", "quadratic", "none")


@dataclass(frozen=True)
class Kappa(QueryMeasure):
    """Weighted kappa: 1 for full agreement, 0 for agreement by chance, below 0 for less.

    ``weights`` names the distance of two ranks: "linear" is ``|y - f|``, "quadratic" its square,
    and "none" is 1 for any two that differ.

    Equal to ``sklearn.metrics.cohen_kappa_score`` with ``labels`` set to the range of the ranks:
    distances are differences of the labels as numbers, even if a rank between them is absent.
    scikit-learn's default skips absent ranks. If all labels are equal, scikit-learn returns 0 or
    NaN, depending on the predictions; here the labels alone decide which queries count.
    Quadratic kappa is Lin's concordance coefficient (1989) and also accepts real-valued scores.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> result = evaluate([1, 2, 3, 3], [1, 3, 3, 2], None, ["Kappa", "Kappa(weights=quadratic)"])
    >>> [round(value, 4) for value in result.values()]
    [0.4286, 0.6364]
    """

    name: ClassVar[str] = "Kappa"
    reads_labels: ClassVar[bool] = True
    weights: str = "linear"
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def __post_init__(self) -> None:
        check_choice(self.name, "weights", self.weights, WEIGHTS)
        super().__post_init__()

    @property
    def nanoseconds_per_row(self) -> float:
        """Mostly sorting; see :attr:`Measure.nanoseconds_per_row`."""
        return 10.0 if self.weights == "quadratic" else 150.0

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        indptr = scored.indptr
        # Labels and scores divided by a power of two, which cancels, so that no square overflows.
        both = np.maximum(np.abs(scored.y), np.abs(scored.scores))
        exponent = np.frexp(largest_by_query(both, indptr))[1]
        scale = np.repeat(np.exp2(-np.maximum(exponent, 0).astype(np.float64)), scored.sizes)
        y, f = scored.y * scale, scored.scores * scale
        varies = largest_by_query(y, indptr) > -largest_by_query(-y, indptr)
        if self.weights == "quadratic":
            observed, expected = _squares(y, f, indptr)
        elif self.weights == "linear":
            observed = mean_by_query(np.abs(y - f), indptr)
            expected = _absolute_of_chance(y, f, indptr)
        else:
            observed = mean_by_query((y != f).astype(np.float64), indptr)
            expected = _difference_of_chance(y, f, indptr)
        return self.fill_empty(1.0 - observed / np.where(varies, expected, 1.0), varies)


def _squares(y: Float64Array, f: Float64Array, indptr: Int64Array) -> tuple[Float64Array, ...]:
    """Means of ``(y_i - f_i)²`` and ``(y_i - f_j)²``, from variances and the squared offset."""
    residual = y - f
    spread = np.square(centre_by_query(y, indptr)) + np.square(centre_by_query(f, indptr))
    offset = mean_by_query(residual, indptr)
    return mean_by_query(residual**2, indptr), mean_by_query(spread, indptr) + offset**2


def _absolute_of_chance(y: Float64Array, f: Float64Array, indptr: Int64Array) -> Float64Array:
    """``(1/m²) Σ_ij |y_i - f_j|``: each gap between neighbours times the pairs across it."""
    values, is_label, both = _merge_values(y, f, indptr)
    labels = _running_count(is_label, both)
    scores = _running_count(~is_label, both)
    m = np.repeat(np.diff(indptr), 2 * np.diff(indptr)).astype(np.float64)
    gaps = np.diff(subtract_first_by_query(values, both), append=0.0)
    # All rows lie below the last value of a query, so its gap has weight 0.
    across = labels * (m - scores) + scores * (m - labels)
    return sum_by_query(gaps * across / m**2, both)


def _difference_of_chance(y: Float64Array, f: Float64Array, indptr: Int64Array) -> Float64Array:
    """Share of the pairs (i, j) with ``y_i ≠ f_j``, from the counts of every value."""
    values, is_label, both = _merge_values(y, f, indptr)
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    new[both[:-1][np.diff(both) > 0]] = True
    starts = np.flatnonzero(new)
    labels = np.add.reduceat(is_label.astype(np.float64), starts)
    same = labels * (np.diff(starts, append=len(values)) - labels)
    sizes = np.maximum(np.diff(indptr), 1).astype(np.float64)
    return 1.0 - sum_by_query(same, np.searchsorted(starts, both)) / sizes**2


def _merge_values(
    y: Float64Array, f: Float64Array, indptr: Int64Array
) -> tuple[Float64Array, np.ndarray, Int64Array]:
    """Labels and scores of each query merged in ascending order, a mask of labels, and indptr."""
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    values = np.concatenate([y, f])
    order = np.lexsort((values, np.concatenate([query, query])))
    return values[order], order < len(y), 2 * indptr


def _running_count(kept: np.ndarray, indptr: Int64Array) -> Float64Array:
    """Number of kept rows of the query up to each row, in the shape of ``kept``."""
    total = np.concatenate([[0], np.cumsum(kept)])
    return (total[1:] - np.repeat(total[indptr[:-1]], np.diff(indptr))).astype(np.float64)
