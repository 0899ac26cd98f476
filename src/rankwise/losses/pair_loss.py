"""Smooth losses of score differences: those that users define, and the logistic one.

``sum_q c_q sum_{i,j: y_i > y_j} w_i w_j T[y_i, y_j] h(f_i - f_j)`` for any convex function h of a
user over listed pairs, or for ``h(d) = log(1 + exp(-d))``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from rankwise.groups import GroupedRows
from rankwise.kernels.pair_losses import logistic_curvature, logistic_point, raise_scores
from rankwise.losses.score_loss import (
    PairWeight,
    QueryWeight,
    label_codes,
    pair_weights,
    query_scale,
    table_of_few,
)
from rankwise.typing import Float64Array, Int64Array

# Differences at which a user's loss is tried before it is minimised: densely in the middle, where
# it must be finite, and far out, where a fit may go. Each has a close neighbour, so that the value
# shows its slope between the two.
MIDDLE, FAR = 2.0, 50.0
_SPREAD = np.geomspace(1e-3, FAR, 15)
_APART = np.concatenate([-_SPREAD, np.linspace(-MIDDLE, MIDDLE, 9), _SPREAD])
TRIED = np.unique([_APART, _APART + 1e-3 * np.maximum(1.0, np.abs(_APART))])
# Outside the middle, larger values count as overflow and are not judged.
LARGEST = 1e100
# Tolerances, wide enough for losses that compute in float32: of slopes, and of values as a share.
SLOPE_TOLERANCE, VALUE_TOLERANCE = 1e-4, 1e-6


class PairLoss(Protocol):
    """A convex function of the score differences of pairs, better row minus worse row."""

    def value(self, difference: Float64Array) -> Float64Array:
        """Loss of every difference."""
        ...

    def derivative(self, difference: Float64Array) -> Float64Array:
        """First derivative at every difference."""
        ...

    def second_derivative(self, difference: Float64Array) -> Float64Array:
        """Second derivative at every difference, >= 0; or a bound above it."""
        ...


def check_pair_loss(loss: PairLoss) -> None:
    """Raise ValueError unless the loss of a user is a convex function of arrays with its slopes.

    The size of the second derivative is not judged: a wrong one costs steps, not the minimum.
    """
    if isinstance(loss, type):
        name = loss.__name__
        raise ValueError(
            f"loss must be an object, got the class {name}. Pass an instance: {name}()."
        )
    for name in ("value", "derivative"):
        if not callable(getattr(loss, name, None)):
            raise ValueError(
                f"loss must have the methods value and derivative, and second_derivative for "
                f'solver="newton"; {loss!r} lacks {name}.'
            )
    value = _try_method(loss, "value", TRIED, MIDDLE)
    judged = (np.abs(TRIED) <= MIDDLE) | (np.abs(value) < LARGEST)
    points, value = TRIED[judged], value[judged]
    slope = _try_method(loss, "derivative", points)
    # Rounding errors are as large as those of the middle even where the loss is almost flat.
    scale = np.abs(slope[np.abs(points) <= MIDDLE]).max()
    slack = SLOPE_TOLERANCE * (np.abs(slope[:-1]) + np.abs(slope[1:]) + scale)
    falls = (np.diff(slope) < -slack).any()
    # A solver of the user may need no second derivative.
    bends = hasattr(loss, "second_derivative")
    if falls or (bends and (_try_method(loss, "second_derivative", points) < 0).any()):
        raise ValueError(
            f"loss must be convex, got {loss!r} whose derivative falls or whose second derivative "
            f"is negative between score differences of {-FAR:g} and {FAR:g}."
        )
    # Between two points a convex function rises by no less than its slope at the first and by no
    # more than that at the second, also across a kink.
    rise = np.diff(value) / np.diff(points)
    slack += VALUE_TOLERANCE * (np.abs(value[:-1]) + np.abs(value[1:])) / np.diff(points)
    wrong = (rise < slope[:-1] - slack) | (rise > slope[1:] + slack)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"loss.derivative is not the derivative of loss.value: between score differences of "
            f"{points[at]:.6g} and {points[at + 1]:.6g} the value of {loss!r} has the slope "
            f"{rise[at]:.6g}, but its derivatives there are {slope[at]:.6g} and "
            f"{slope[at + 1]:.6g}."
        )
    if (value < 0).any():  # the relative gap of the solvers is one of sums of losses >= 0
        raise ValueError(
            f"loss must be >= 0, got {loss!r} whose value falls to {value.min():.6g} between score "
            f"differences of {-FAR:g} and {FAR:g}. Add a constant to it."
        )
    if (slope >= 0).all():
        raise ValueError(
            f"loss must fall where a pair comes into order, got {loss!r} whose derivative is "
            "nowhere negative. A score difference is that of the better row minus the worse row."
        )


def _try_method(
    loss: PairLoss, name: str, points: Float64Array, finite_to: float = np.inf
) -> Float64Array:
    """Values of a method of the user, checked to be numbers, and finite up to a difference."""
    numbers = np.empty(0)
    for tried in (points[:1], points):  # a result of fixed length fits only one of two lengths
        given = tried.copy()
        with np.errstate(all="ignore"):
            answer = getattr(loss, name)(given)
        if not np.array_equal(given, tried):
            raise ValueError(
                f"loss.{name} of {loss!r} changes the array that it receives, which the other "
                "methods receive too. Return a new array."
            )
        try:
            numbers = np.asarray(answer)
        except ValueError:  # a list of lists of different lengths
            numbers = np.asarray(None)
        if numbers.dtype.kind not in "biuf":
            what = f"numbers of type {numbers.dtype}" if numbers.ndim else repr(answer)
        elif numbers.shape != tried.shape:
            what = f"an array of shape {numbers.shape} for one of shape {tried.shape}"
        else:
            refused = np.isnan(numbers) | (np.isinf(numbers) & (np.abs(tried) <= finite_to))
            if not refused.any():
                continue
            what = f"{numbers[refused][0]} for the score difference {tried[refused][0]:.6g}"
        raise ValueError(
            f"loss.{name} must return one finite number per score difference, but that of "
            f"{loss!r} returned {what}."
        )
    return numbers.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The loss of a user over the pairs of whole queries, rows in group order."""

    indptr: Int64Array  # (n_queries + 1,), into the rows
    upper: Int64Array  # Rows of each pair, (n_pairs,); the pairs of a query are consecutive.
    lower: Int64Array
    weight: Float64Array  # (n_pairs,)
    pair_ptr: Int64Array  # (n_queries + 1,): pairs of each query
    loss: PairLoss

    @classmethod
    def of(
        cls,
        rows: GroupedRows,
        *,
        loss: PairLoss,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
    ) -> ListedPairs:
        """The loss over the pairs of rows; weights as in :meth:`PairwiseHinge.of`."""
        y, pairs = rows.y, [np.zeros((2, 0), dtype=np.int64)]
        for lo, hi in pairwise(rows.indptr.tolist()):
            pairs.append(lo + np.argwhere(y[lo:hi, None] > y[lo:hi]).T)
        upper, lower = np.concatenate(pairs, axis=1)
        pair_ptr = np.cumsum([part.shape[1] for part in pairs])
        scale = query_scale(rows.indptr, rows.weight, query_weight)
        weight = np.repeat(scale, np.diff(pair_ptr)) * rows.weight[upper] * rows.weight[lower]
        weight *= pair_weights(pair_weight, y[upper], y[lower])
        return cls(rows.indptr, upper, lower, weight, pair_ptr, loss)

    def part(self, first: int, last: int) -> PairState:
        """State of the queries ``first:last``."""
        start = int(self.indptr[first])
        pairs = slice(int(self.pair_ptr[first]), int(self.pair_ptr[last]))
        return PairState(
            replace(
                self,
                upper=self.upper[pairs] - start,
                lower=self.lower[pairs] - start,
                weight=self.weight[pairs],
            )
        )


class PairState:
    """Loss of a part of the queries at the scores last visited."""

    def __init__(self, pairs: ListedPairs) -> None:
        self._pairs = pairs
        self._differences = np.zeros(len(pairs.upper))

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores; the gradient is written to ``out``. O(pairs)."""
        pairs, loss = self._pairs, self._pairs.loss
        self._differences = scores[pairs.upper] - scores[pairs.lower]
        with np.errstate(all="ignore"):  # a line search steps back from infinity
            values = loss.value(self._differences)
            value = float(pairs.weight @ values)
            slopes = loss.derivative(self._differences)
            self._add(pairs.weight * slopes, out)
        # NaN also comes of infinite values, so the numbers of the user are looked at in doubt only.
        if np.isnan(value):
            self._check_numbers("value", values)
        if np.isnan(out).any():  # slopes at infinite values are never used
            self._check_numbers("derivative", np.where(np.isfinite(values), slopes, 0.0))
        return value if np.isfinite(value) else np.inf

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``. O(pairs)."""
        pairs = self._pairs
        self._add(self._bends() * (step[pairs.upper] - step[pairs.lower]), out)

    def total_curvature(self) -> float:
        """Trace of the second derivative at the point last visited."""
        return 2.0 * float(self._bends().sum())

    def _bends(self) -> Float64Array:
        bends = self._pairs.loss.second_derivative(self._differences)
        self._check_numbers("second_derivative", bends)
        return self._pairs.weight * bends

    def _check_numbers(self, name: str, numbers: Float64Array) -> None:
        """Raise ValueError if a method of the user returned NaN for a finite difference."""
        refused = np.isnan(numbers) & np.isfinite(self._differences)
        if refused.any():
            raise ValueError(
                f"loss.{name} of {self._pairs.loss!r} returned nan for the score difference "
                f"{self._differences[refused][0]:.6g}."
            )

    def _add(self, terms: Float64Array, out: Float64Array) -> None:
        """Write the sums over the pairs of every row, with a minus sign for worse rows."""
        out[:] = np.bincount(self._pairs.upper, terms, len(out))
        out -= np.bincount(self._pairs.lower, terms, len(out))


@dataclass(frozen=True, eq=False)
class PairwiseLogistic:
    """The loss of some whole queries, rows in group order; see :class:`PairwiseHinge`."""

    indptr: Int64Array
    grades: Int64Array
    weight: Float64Array
    scale: Float64Array
    table: Float64Array

    @classmethod
    def of(
        cls,
        rows: GroupedRows,
        *,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
    ) -> PairwiseLogistic:
        """The loss over the pairs of rows; weights as in :meth:`PairwiseHinge.of`."""
        table = table_of_few(pair_weight, np.unique(rows.y))
        codes = label_codes(rows.y, rows.indptr, table)
        scale = query_scale(rows.indptr, rows.weight, query_weight)
        # A single entry for all pairs if there are too many labels for a table.
        table = np.ones((1, 1)) if table is None else table
        return cls(rows.indptr, codes, rows.weight, scale, table)

    def part(self, first: int, last: int) -> LogisticState:
        """State of the queries ``first:last``."""
        rows = slice(int(self.indptr[first]), int(self.indptr[last]))
        return LogisticState(
            self.indptr[first : last + 1] - rows.start,
            self.grades[rows],
            self.weight[rows],
            self.scale[first:last],
            self.table,
        )


class LogisticState:
    """Loss of a part of the queries at the scores last visited."""

    def __init__(
        self,
        indptr: Int64Array,
        grades: Int64Array,
        weight: Float64Array,
        scale: Float64Array,
        table: Float64Array,
    ) -> None:
        query = np.repeat(np.arange(len(scale)), np.diff(indptr))
        self._order = np.lexsort((grades, query))
        sorted_grades = grades[self._order]
        step = (np.diff(sorted_grades) != 0) | (np.diff(query) != 0)
        bounds = np.append(np.flatnonzero(step) + 1, len(grades))
        ends = np.repeat(bounds, np.diff(bounds, prepend=0)) if len(grades) else bounds[:0]
        self._loss = (sorted_grades, ends, weight[self._order], scale, indptr, table)
        self._grow = np.ones(len(grades))
        self._trace = 0.0

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores; the gradient is written to ``out``. O(pairs).

        The value is infinite if scores of a query differ by more than 600; a line search rejects
        it.
        """
        if not raise_scores(scores, self._order, self._loss[4], self._grow):
            return np.inf
        gradient = np.empty(len(scores))
        value, self._trace = logistic_point(self._grow, *self._loss, gradient)
        out[self._order] = gradient
        return value

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``. O(pairs)."""
        curved = np.empty(len(step))
        logistic_curvature(step[self._order], self._grow, *self._loss, curved)
        out[self._order] = curved

    def total_curvature(self) -> float:
        """Trace of the second derivative at the point last visited."""
        return self._trace
