"""Hinge loss over an explicit list of pairs.

Composition: chosen pairs x hinge; see :mod:`rankwise.losses.pairwise_hinge` for all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.kernels.pair_list import (
    apply_listed_curvature,
    evaluate_listed_pairs,
    sum_listed_pairs,
)
from rankwise.typing import Float64Array, Int64Array


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
