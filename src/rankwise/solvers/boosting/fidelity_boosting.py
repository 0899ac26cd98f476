"""Boosting of the pairs of a query under the fidelity loss (FRank [1]_).

The loss of a pair with ``y_i > y_j`` is ``1 - sqrt(P)``, where P is the logistic function of the
score difference. The loss is bounded, so a badly misordered pair counts no more than a slightly
misordered one. Every round takes the stump along which the loss falls fastest.

References
----------
.. [1] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.fidelity import fidelity_point, fidelity_split, write_integers
from rankwise.kernels.margin_boosting import unit_scale
from rankwise.losses.layered_pairs import LayeredPairs
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.solvers.boosting.rounds import SLACK, RowWeights
from rankwise.typing import Float64Array

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
        self._parts = query_chunks(_pairs_before(pairs), PAIRS_AT_ONCE)
        self._u = np.zeros(len(pairs.weight), dtype=np.int64)
        self._visit(self._scores)

    def weigh(self) -> RowWeights | None:
        """Signed weights of all rows: the negative slopes of the loss."""
        if not self._slopes > 0.0:
            return None
        whole = 2.0 * self._slopes * unit_scale(self._slopes)  # a pair weighs on two rows
        return RowWeights(self._u, self._total, whole)

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

        def visit(part: tuple[int, int]) -> tuple[float, float]:
            return fidelity_point(*self._arguments(), part, slope)

        found = thread_map(visit, self._parts)
        self.loss = math.fsum(value for value, _ in found)
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


def _pairs_before(pairs: LayeredPairs) -> NDArray[np.int64]:
    """Number of pairs in the queries before each one, then the total."""
    return np.concatenate([[0], np.cumsum(pairs.n_pairs)]).astype(np.int64)
