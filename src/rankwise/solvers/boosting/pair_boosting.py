"""Boosting of the pairs of a query in layers of equal grade: RankBoost and FRank.

RankBoost [1]_ has the loss ``sum exp(H_j - H_i)`` over the weighted pairs with ``y_i > y_j``. Every
round weighs the rows by the derivative of the loss and takes the weak ranker h in {0, 1} with the
largest weighted sum. It adds ``log(W+ / W-) / 2`` times h to the scores: W+ is the weight of the
pairs that h orders correctly, W- of those that it misorders. This step minimises the loss along h,
so the loss falls in every round. Two rows of different layers of equal grade form a preference, so
sums over pairs become sums over layers: ``sum_i sum_{j: y_j < y_i} Q_i P_j`` is the sum over the
layers of ``Q`` of the layer times ``P`` of all layers below, in O(rows + layers).

FRank [2]_ has the fidelity loss ``1 - sqrt(P)`` of a pair with ``y_i > y_j``, where P is the
logistic function of the score difference. The loss is bounded, so a badly misordered pair counts no
more than a slightly misordered one. Every round takes the stump along which the loss falls fastest.

References
----------
.. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
   preferences", Journal of Machine Learning Research 4 (2003).
.. [2] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import FitData
from rankwise.kernels.boosting_rounds import (
    advance_pairs,
    fidelity_point,
    fidelity_split,
    split_layers,
    unit_scale,
    weigh_pairs,
    write_integers,
    write_opponents,
)
from rankwise.losses.score_loss import PairWeight, QueryWeight, pair_table, query_scale
from rankwise.row_order import canonical_order
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.solvers.boosting.margin_boosting import LARGEST
from rankwise.solvers.boosting.rounds import SLACK, RowWeights
from rankwise.typing import Float64Array, Int64Array

ROWS_AT_ONCE = 131_072


@dataclass(frozen=True, eq=False)
class LayeredPairs:
    """Rows sorted by query and ascending grade, with equal rows adjacent, whatever the input order.

    Layer k holds rows ``layer_ptr[k]:layer_ptr[k + 1]``, and query q layers
    ``query_ptr[q]:query_ptr[q + 1]``.
    """

    rows: Int64Array  # (n_rows,): input row number of each sorted row
    layer_ptr: Int64Array
    query_ptr: Int64Array
    grades: Int64Array  # (n_layers,): rank of each layer's label among all distinct labels
    # (n_grades, n_grades): weight of a pair of grades, the upper grade first; (0, 0) if all weights
    # are 1
    table: Float64Array
    weight: Float64Array  # (n_rows,)
    scale: Float64Array  # (n_queries,): weight of the pairs of each query

    @property
    def row_ptr(self) -> Int64Array:
        """First row of each query, and the number of rows, shape (n_queries + 1,)."""
        return self.layer_ptr[self.query_ptr]

    @property
    def n_pairs(self) -> Int64Array:
        """Number of pairs of rows in different layers of each query, shape (n_queries,)."""
        layers = np.diff(self.layer_ptr)
        squares = np.concatenate([[0], np.cumsum(layers**2)])[self.query_ptr]
        return (np.diff(self.row_ptr) ** 2 - np.diff(squares)) // 2

    def normalised(self) -> LayeredPairs:
        """The same pairs, with weights that sum to 1 in each query."""
        mass = np.add.reduceat(np.append(self.weight, 0.0), self.layer_ptr[:-1])
        arguments = (mass, mass, self.grades, self.table, self.query_ptr)
        sums = np.array([weigh_pairs(*arguments, q, q + 1) for q in range(len(self.scale))])
        return replace(self, scale=np.where(sums > 0, 1.0 / np.where(sums > 0, sums, 1.0), 0.0))

    def parts(self) -> list[tuple[int, int]]:
        """Ranges of queries, one per thread."""
        return query_chunks(self.row_ptr, ROWS_AT_ONCE)


def layer_pairs(data: FitData, pair_weight: PairWeight, query_weight: QueryWeight) -> LayeredPairs:
    """Sort the checked rows into layers; O(N d + N log N).

    With ``pair_weight``, at most 4096 distinct labels are allowed.
    """
    order, sizes = canonical_order(data.X, data.y, data.groups)
    query = np.repeat(np.arange(len(sizes)), sizes)
    labels, codes = np.unique(data.y, return_inverse=True)
    by_grade = np.lexsort((codes[order], query))  # queries are already in order
    rows, query = order[by_grade], query[by_grade]
    codes = codes[rows]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (np.diff(query) != 0) | (np.diff(codes) != 0)
    starts = np.flatnonzero(is_new)
    table = np.zeros((0, 0))
    if pair_weight is not None:
        table = pair_table(pair_weight, labels)
    weight = np.ones(len(rows)) if data.sample_weight is None else data.sample_weight[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n_layers = np.bincount(query[starts], minlength=len(sizes))
    return LayeredPairs(
        rows,
        np.append(starts, len(rows)).astype(np.int64),
        np.concatenate([[0], np.cumsum(n_layers)]).astype(np.int64),
        codes[starts].astype(np.int64),
        table,
        weight,
        query_scale(indptr, weight, query_weight),
    )


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
        # The scan of all rows is needed only where exp(reach) may exceed exp(600) = 1e260.
        leaves_range = self._reach > 600.0 and max(self._P.max(), self._Q.max()) > LARGEST
        if not loss > 0.0 or leaves_range:
            return None
        whole = 2.0 * loss * unit_scale(loss)  # a pair weighs on two rows
        return self._u, self._total, whole

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


def _move_sums(sums: Float64Array, step: float) -> tuple[Float64Array, Float64Array]:
    """Sums of P and Q over whole layers after a step."""
    grow, shrink = math.exp(step), math.exp(-step)
    return sums[0] * grow + sums[1] * shrink, sums[2] * shrink + sums[3] * grow


PAIRS_AT_ONCE = 262_144
WIDEST = 600.0  # scores of a query, for their exponentials
# Smaller steps change the loss by too little to be worth a pass over all pairs.
HALVINGS = 30


class FidelityBoosting:
    """The state of boosting on training rows in layers; ``loss`` is the weighted sum over pairs.

    The step of a stump is ``log(A / B) / 2``, halved until the loss falls. A is the sum of the
    slopes of the pairs that it moves apart, B of those that it moves together. This step minimises
    a loss with exponential tails and the same slopes. A round costs O(pairs).
    """

    def __init__(self, pairs: LayeredPairs) -> None:
        self._pairs, self._scores = pairs, np.zeros(len(pairs.weight))
        before = np.concatenate([[0], np.cumsum(pairs.n_pairs)]).astype(np.int64)
        self._parts = query_chunks(before, PAIRS_AT_ONCE)  # of about as many pairs each
        self._u = np.zeros(len(pairs.weight), dtype=np.int64)
        self._visit(self._scores)

    def weigh(self) -> RowWeights | None:
        """Signed weights of all rows: the negative slopes of the loss."""
        if not self._slopes > 0.0:
            return None
        whole = 2.0 * self._slopes * unit_scale(self._slopes)  # a pair weighs on two rows
        return self._u, self._total, whole

    def take(self, side: NDArray[np.bool_], edge: float) -> float | None:
        """Add a base learner, halving its step until the loss falls; None if it never falls."""
        right, wrong = self._split(side)
        wrong = max(wrong, SLACK * self._slopes)  # finite where nothing moves together
        if not right > wrong:
            return None
        before, scores = self.loss, self._scores
        # A quarter: a pair changes by twice the step, once for each of its rows.
        step = 0.25 * math.log(right / wrong)
        for _ in range(HALVINGS):
            if self._visit(scores + np.where(side, step, -step)) and self.loss < before:
                return step
            step *= 0.5
        self._visit(scores)
        return None

    def add(self, side: NDArray[np.bool_], step: float) -> None:
        """Add ``step`` to the scores of the rows of ``side`` and take it from the others."""
        self._visit(self._scores + np.where(side, step, -step))

    def _visit(self, scores: Float64Array) -> bool:
        """Move to these scores; False if the scores of a query are too far apart."""
        pairs = self._pairs
        starts, sizes = pairs.row_ptr[:-1], np.diff(pairs.row_ptr)
        # Relative to the highest score of the query, exponentials lie in (0, 1] and cannot
        # overflow.
        highest = np.maximum.reduceat(scores, starts) if len(starts) else scores
        below = scores - np.repeat(highest, sizes)
        if below.min(initial=0.0) < -WIDEST:
            return False
        self._scores, self._E = scores, np.exp(below)
        slope = np.zeros(len(scores))

        arguments = self._arguments()
        found = thread_map(lambda part: fidelity_point(*arguments, part, slope), self._parts)
        self.loss: float = math.fsum(value for value, _ in found)
        self._slopes = math.fsum(total for _, total in found)
        self._total = int(write_integers(slope, unit_scale(self._slopes), self._u))
        return True

    def _split(self, side: NDArray[np.bool_]) -> tuple[float, float]:
        def split(part: tuple[int, int]) -> tuple[float, float]:
            return fidelity_split(*self._arguments(), part, side)

        found = thread_map(split, self._parts)
        # fsum rounds once: the order in which the parts are added does not matter.
        return math.fsum(right for right, _ in found), math.fsum(wrong for _, wrong in found)

    def _arguments(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        pairs = self._pairs
        return (
            self._E, pairs.weight, pairs.grades, pairs.table, pairs.layer_ptr, pairs.query_ptr,
            pairs.scale,
        )  # fmt: skip
