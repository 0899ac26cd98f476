"""Boosting of the pairs of a query: binary weak rankers with exact steps (RankBoost [1]_).

The loss is ``sum exp(H_j - H_i)`` over the weighted pairs with ``y_i > y_j``. Every round weighs
the rows by the derivative of the loss and takes the weak ranker h in {0, 1} with the largest
weighted sum. It adds ``log(W+ / W-) / 2`` times h to the scores: W+ is the weight of the pairs that
h orders correctly, W- of those that it misorders. This step minimises the loss along h, so the loss
falls in every round.

References
----------
.. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
   preferences", Journal of Machine Learning Research 4 (2003).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.margin_boosting import unit_scale
from rankwise.kernels.pair_boosting import (
    advance_pairs,
    split_layers,
    weigh_pairs,
    write_opponents,
)
from rankwise.losses.layered_pairs import LayeredPairs
from rankwise.runtime.threads import thread_map
from rankwise.solvers.boosting.margin_boosting import LARGEST
from rankwise.solvers.boosting.rounds import SLACK, RowWeights
from rankwise.typing import Float64Array


class PairBoosting:
    """The state of boosting on training rows in layers; ``loss`` is the weighted sum over pairs."""

    def __init__(self, pairs: LayeredPairs) -> None:
        self._pairs, self._parts = pairs, pairs.parts()
        # Weights near 1 leave the exponentials their range; by a power of two no digit changes.
        unit = 2.0 ** math.frexp(float(pairs.weight.max(initial=0.0)))[1]
        weight, query = pairs.weight / unit, np.diff(pairs.row_ptr)
        self._unit = unit * unit
        self._P, self._Q = weight, weight * np.repeat(pairs.scale, query)
        n_layers = len(pairs.grades)
        self._below, self._above = np.zeros(n_layers), np.zeros(n_layers)
        self._u = np.zeros(len(weight), dtype=np.int64)
        self._total, self._loss, self._reach = 0, 0.0, 0.0
        nowhere = np.zeros(len(weight), dtype=bool)
        sums = self._split(nowhere)
        self._loss = self._loss_after(sums, 0.0)
        self._advance(nowhere, 0.0, sums)

    @property
    def loss(self) -> float:
        """Loss of the scores so far."""
        return self._unit * self._loss

    def row_weights(self) -> Float64Array:
        """Negative derivative of the loss by each row's score, accurate to 2^-60 of the loss."""
        return self._u / unit_scale(self._loss) * self._unit

    def weigh(self) -> RowWeights | None:
        """Signed weights of all rows; None if scores are near the floating-point limits."""
        loss = self._loss
        if not loss > 0.0 or self._leaves_range():
            return None
        whole = 2.0 * loss * unit_scale(loss)  # a pair weighs on two rows
        return RowWeights(self._u, self._total, whole)

    def take(self, side: NDArray[np.bool_], edge: float) -> float | None:
        """Add a base learner with its best step; None if that does not lower the loss."""
        before, sums = self._loss, self._split(side)
        right = self._sum_pairs(sums[1], sums[2])
        wrong = max(self._sum_pairs(sums[0], sums[3]), SLACK * before)  # finite without mistakes
        if not right > wrong:
            return None
        # A quarter: rows of one side move up by the step and the others down, so a pair changes by
        # twice the step.
        step = 0.25 * math.log(right / wrong)
        if not self._loss_after(sums, step) < before:  # rounding
            return None
        self._add(side, step, sums)
        return step

    def add(self, side: NDArray[np.bool_], step: float) -> None:
        """Add ``step`` to the scores of the rows of ``side`` and take it from the others."""
        self._add(side, step, self._split(side))

    def _add(self, side: NDArray[np.bool_], step: float, sums: Float64Array) -> None:
        self._loss = self._loss_after(sums, step)
        self._reach += step
        self._advance(side, step, sums)

    def _split(self, side: NDArray[np.bool_]) -> Float64Array:
        """Sums of P and Q over the rows of each layer with ``side`` and without."""
        pairs, sums = self._pairs, np.zeros((4, len(self._pairs.grades)))

        def split(part: tuple[int, int]) -> None:
            split_layers(self._P, self._Q, side, pairs.layer_ptr, pairs.query_ptr, *part, sums)

        thread_map(split, self._parts)
        return sums

    def _sum_pairs(self, lower: Float64Array, upper: Float64Array) -> float:
        pairs = self._pairs

        def weigh(part: tuple[int, int]) -> float:
            return weigh_pairs(lower, upper, pairs.grades, pairs.table, pairs.query_ptr, *part)

        return math.fsum(thread_map(weigh, self._parts))

    def _loss_after(self, sums: Float64Array, step: float) -> float:
        return self._sum_pairs(*_move_sums(sums, step))

    def _advance(self, side: NDArray[np.bool_], step: float, sums: Float64Array) -> None:
        """Update the scores and recompute the row weights."""
        pairs, scale = self._pairs, unit_scale(self._loss)
        lower, upper = _move_sums(sums, step)

        def advance(part: tuple[int, int]) -> int:
            write_opponents(
                lower, upper, pairs.grades, pairs.table, pairs.query_ptr, *part,
                self._below, self._above,
            )  # fmt: skip
            layers = pairs.query_ptr[part[0]], pairs.query_ptr[part[1]]
            return advance_pairs(
                self._P, self._Q, side, step, pairs.layer_ptr, self._below, self._above, scale,
                *layers, self._u,
            )  # fmt: skip

        self._total = int(sum(thread_map(advance, self._parts)))

    def _leaves_range(self) -> bool:
        """Whether the exponential of a score is about to leave the floating-point range."""
        # exp(600) = 1e260: below that reach, the scan of all rows is not needed.
        return self._reach > 600.0 and max(self._P.max(), self._Q.max()) > LARGEST


def _move_sums(sums: Float64Array, step: float) -> tuple[Float64Array, Float64Array]:
    """Sums of P and Q over whole layers after a step."""
    grow, shrink = math.exp(step), math.exp(-step)
    return sums[0] * grow + sums[1] * shrink, sums[2] * shrink + sums[3] * grow
