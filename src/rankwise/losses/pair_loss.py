"""Losses of score differences that users define, over all pairs of distinct grades of a query.

``sum_q c_q sum_{i,j: y_i > y_j} w_i w_j T[y_i, y_j] h(f_i - f_j)`` for any convex function h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.pair_weights import PairWeight, pair_weights, query_scale
from rankwise.rows.grouped_rows import GroupedRows
from rankwise.typing import Float64Array, Int64Array

# Differences at which a user's loss is tried before it is minimised.
TRIED = np.linspace(-2.0, 2.0, 9)


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
    """Raise ValueError if the loss of a user is no convex function of arrays."""
    found = {}
    for name in ("value", "derivative", "second_derivative"):
        if not hasattr(loss, name):  # a solver of the user may need no second derivative
            continue
        found[name] = np.asarray(getattr(loss, name)(TRIED), dtype=np.float64)
        if found[name].shape != TRIED.shape or not np.isfinite(found[name]).all():
            raise ValueError(
                f"loss.{name} must return one finite number per score difference, got "
                f"{found[name]!r} for {TRIED!r}."
            )
    falls = (np.diff(found["derivative"]) < 0).any()
    if falls or (found.get("second_derivative", TRIED**2) < 0).any():
        raise ValueError(
            f"loss must be convex, got {loss!r} whose derivative falls or whose second derivative "
            "is negative between score differences of -2 and 2."
        )


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The loss of a user over the pairs of whole queries, rows in group order.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,), int64
    upper, lower : ndarray of shape (n_pairs,), int64
        Rows of each pair; the pairs of a query are consecutive.
    weight : ndarray of shape (n_pairs,)
    pair_ptr : ndarray of shape (n_queries + 1,), int64
        Pairs of each query.
    loss : PairLoss
    """

    indptr: Int64Array
    upper: Int64Array
    lower: Int64Array
    weight: Float64Array
    pair_ptr: Int64Array
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
            value = float(pairs.weight @ loss.value(self._differences))
            slopes = pairs.weight * loss.derivative(self._differences)
        self._add(slopes, out)
        return value if np.isfinite(value) else np.inf

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``. O(pairs)."""
        pairs = self._pairs
        self._add(self._bends() * (step[pairs.upper] - step[pairs.lower]), out)

    def total_curvature(self) -> float:
        """Trace of the second derivative at the point last visited."""
        return 2.0 * float(self._bends().sum())

    def _bends(self) -> Float64Array:
        return self._pairs.weight * self._pairs.loss.second_derivative(self._differences)

    def _add(self, terms: Float64Array, out: Float64Array) -> None:
        """Write the sums over the pairs of every row, with a minus sign for worse rows."""
        out[:] = np.bincount(self._pairs.upper, terms, len(out))
        out -= np.bincount(self._pairs.lower, terms, len(out))
