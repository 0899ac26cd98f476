"""Logistic loss over the pairs of a query.

``sum_q c_q sum_{i,j: y_i > y_j} w_i w_j T[y_i, y_j] log(1 + exp(-(f_i - f_j)))``.

Composition: pairs of distinct grades x logistic loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.kernels.pair_logistic import logistic_curvature, logistic_point, raise_scores
from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.pair_weights import PairWeight, label_codes, query_scale, table_of_few
from rankwise.rows.grouped_rows import GroupedRows
from rankwise.typing import Float64Array, Int64Array


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
