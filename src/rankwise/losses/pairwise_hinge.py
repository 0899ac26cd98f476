"""Hinge losses over the pairs of a query: all of them, by order statistics, or a list.

``sum_q c_q sum_{i,j: y_i > y_j} w_i w_j T[y_i, y_j] h(delta_ij - (f_i - f_j))`` with the squared
hinge ``h(s) = max(0, s)^2``, or the hinge ``max(0, s)``, bent by a parabola up to ``bend``:
``s^2 / (2 bend)``, then ``s - bend / 2``. The margin ``delta`` is 1 or ``y_i - y_j``; the latter is
a margin of 0 for the keys ``f - y``. :mod:`rankwise.kernels.pair_losses` does the sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.groups import GroupedRows
from rankwise.kernels.pair_losses import (
    apply_listed_curvature,
    evaluate_listed_pairs,
    hinge_curvature,
    hinge_curvature_many,
    hinge_point,
    hinge_point_many,
    hinge_sum,
    hinge_sum_many,
    sum_listed_pairs,
)
from rankwise.losses.score_loss import (
    PairWeight,
    QueryWeight,
    label_codes,
    query_scale,
    table_of_few,
)
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class PairwiseHinge:
    """The loss of some whole queries, rows in group order."""

    indptr: Int64Array  # (n_queries + 1,)
    # (n_samples,): rank of every row's label, from 0, among all labels or (without a table) within
    # its query
    grades: Int64Array
    weight: Float64Array  # (n_samples,)
    scale: Float64Array  # (n_queries,): weight ``c_q`` of each query
    # (n_grades, n_grades): weight of a pair of grades, the upper grade first. None: all 1; used if
    # there are many labels.
    table: Float64Array | None
    # (n_samples,): subtracted from the scores to obtain keys: 0, or the label if the label
    # difference is the margin
    offset: Float64Array
    margin: float = 1.0
    bend: float = np.inf
    curvature: float = 1.0

    @classmethod
    def of(
        cls,
        rows: GroupedRows,
        *,
        pair_weight: PairWeight = None,
        by_difference: bool = False,
        query_weight: QueryWeight = "pair",
    ) -> PairwiseHinge:
        """The squared hinge over the pairs of rows.

        With ``by_difference``, the margin of a pair is its label difference, instead of 1. For
        ``pair_weight``, see :func:`rankwise.losses.score_loss.pair_weights`.
        """
        table = table_of_few(pair_weight, np.unique(rows.y))
        return cls(
            rows.indptr,
            label_codes(rows.y, rows.indptr, table),
            rows.weight,
            query_scale(rows.indptr, rows.weight, query_weight),
            table,
            rows.y if by_difference else np.zeros(len(rows.y)),
            0.0 if by_difference else 1.0,
        )

    @property
    def reach(self) -> float:
        """Margin of a pair; the largest margin if margins are label differences."""
        widest = float(np.ptp(self.offset)) if len(self.offset) else 0.0
        return self.margin or widest or 1.0

    def part(self, first: int, last: int) -> HingeState:
        """A state for the queries from ``first`` to before ``last``."""
        rows = slice(int(self.indptr[first]), int(self.indptr[last]))
        state = HingeState if self.table is not None else ManyLabelsState
        return state(
            replace(
                self,
                indptr=self.indptr[first : last + 1] - rows.start,
                grades=self.grades[rows],
                weight=self.weight[rows],
                scale=self.scale[first:last],
                offset=self.offset[rows],
            )
        )


class HingeState:
    """Loss of a part of the queries at the scores last visited; stores the order of the rows."""

    def __init__(self, loss: PairwiseHinge) -> None:
        n = len(loss.grades)
        self._loss = loss
        self._pairs = (loss.grades, loss.weight, loss.scale, loss.indptr)
        self._shape = np.array([loss.margin, loss.bend, loss.curvature])
        self._order = np.arange(n, dtype=np.int64)
        self._placed = np.zeros((3, n))
        self._ranges = np.zeros((5, n), dtype=np.int32)
        self._row_scale = np.repeat(loss.scale, np.diff(loss.indptr))

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores; the gradient is written to ``out``. O(m log m + m K) a query."""
        loss = self._loss
        return hinge_point(
            scores - loss.offset, *self._pairs, loss.table,
            self._shape, self._order, self._placed, self._ranges, out,
        )  # fmt: skip

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``. O(m K) a query."""
        loss = self._loss
        hinge_curvature(
            step, loss.scale, loss.indptr, loss.table, loss.curvature,
            self._order, self._placed, self._ranges, out,
        )  # fmt: skip

    def hinge(self, scores: Float64Array) -> float:
        """Value of the hinge itself, without a bend."""
        loss = self._loss
        return hinge_sum(scores - loss.offset, *self._pairs, loss.table, loss.margin)

    def total_curvature(self) -> float:
        """Trace of the second derivative at the point last visited."""
        weighted = 2.0 * self._loss.curvature * self._placed[1] * self._placed[2]
        return float(weighted @ self._row_scale)


class ManyLabelsState(HingeState):
    """The same for many labels and equal pair weights; O(m log m) per query."""

    def __init__(self, loss: PairwiseHinge) -> None:
        super().__init__(loss)
        self._query = np.repeat(np.arange(len(loss.scale)), np.diff(loss.indptr))

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores; the gradient is written to ``out``."""
        keys = scores - self._loss.offset
        self._order = np.lexsort((keys, self._query))
        return hinge_point_many(keys, *self._pairs, self._shape, self._order, self._placed, out)

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``."""
        loss = self._loss
        hinge_curvature_many(
            step, loss.grades, loss.scale, loss.indptr, self._shape, self._order, self._placed, out
        )

    def hinge(self, scores: Float64Array) -> float:
        """Value of the hinge itself, without a bend."""
        loss, keys = self._loss, scores - self._loss.offset
        order = np.lexsort((keys, self._query))
        return hinge_sum_many(keys, *self._pairs, loss.margin, order)


@dataclass(frozen=True, eq=False)
class ListedHinge:
    """Hinge loss over the listed pairs of whole queries, with rows in group order."""

    indptr: Int64Array  # (n_queries + 1,), into the rows
    upper: Int64Array  # Rows of each pair, (n_pairs,); the pairs of a query are consecutive.
    lower: Int64Array
    weight: Float64Array  # (n_pairs,)
    pair_ptr: Int64Array  # (n_queries + 1,): pairs of each query
    # (n_samples,): subtracted from the scores to obtain keys: 0, or the label if the label
    # difference is the margin
    offset: Float64Array
    margin: float = 1.0
    bend: float = np.inf
    curvature: float = 1.0

    @property
    def reach(self) -> float:
        """Margin of a pair; the largest margin if margins are label differences."""
        widest = float(np.ptp(self.offset)) if len(self.offset) else 0.0
        return self.margin or widest or 1.0

    def part(self, first: int, last: int) -> ListedState:
        """State of the queries ``first:last``."""
        start = int(self.indptr[first])
        rows = slice(start, int(self.indptr[last]))
        pairs = slice(int(self.pair_ptr[first]), int(self.pair_ptr[last]))
        return ListedState(
            replace(
                self,
                indptr=self.indptr[first : last + 1] - start,
                upper=self.upper[pairs] - start,
                lower=self.lower[pairs] - start,
                weight=self.weight[pairs],
                pair_ptr=self.pair_ptr[first : last + 1] - pairs.start,
                offset=self.offset[rows],
            )
        )


class ListedState:
    """Loss of a part of the queries at the scores last visited."""

    def __init__(self, loss: ListedHinge) -> None:
        self._loss = loss
        self._pairs = (loss.upper, loss.lower, loss.weight)
        self._shape = (loss.margin, loss.bend, loss.curvature)
        self._keys = -loss.offset
        self._trace = 0.0

    def value_grad(self, scores: Float64Array, out: Float64Array) -> float:
        """Value at the scores; the gradient is written to ``out``."""
        self._keys = scores - self._loss.offset
        out[:] = 0.0
        value, self._trace = evaluate_listed_pairs(self._keys, *self._pairs, *self._shape, out)
        return value

    def curvature(self, step: Float64Array, out: Float64Array) -> None:
        """Second derivative at the point last visited, times ``step``."""
        out[:] = 0.0
        apply_listed_curvature(step, self._keys, *self._pairs, *self._shape, out)

    def total_curvature(self) -> float:
        """Trace of the second derivative at the point last visited."""
        return self._trace

    def hinge(self, scores: Float64Array) -> float:
        """Value of the plain hinge, without a bend."""
        return sum_listed_pairs(scores - self._loss.offset, *self._pairs, self._loss.margin)
