"""A perceptron that agrees with signed weights, by random coordinates or by the pocket algorithm.

To find the perceptron of least weighted error is NP-hard. Both ways start from the difference of
the weighted means of the two sides, with the best intercept. Random coordinate descent [1]_ then
draws a coordinate (or the intercept) again and again and takes the best value along it, exactly: a
sort of the rows. The pocket algorithm [2]_ visits rows drawn by their weight, adds or subtracts
those on the wrong side, and keeps the best perceptron that it passes.

References
----------
.. [1] Li & Lin, "Optimizing 0/1 loss for perceptrons by random coordinate descent", International
   Joint Conference on Neural Networks (2007).
.. [2] Gallant, "Perceptron-based learning algorithms", IEEE Transactions on Neural Networks 1
   (1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.perceptron_search import (
    run_pass,
    search_line,
    sum_weighted,
    write_sides,
)
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Perceptron:
    """A linear threshold on standardised features."""

    coef: Float64Array  # (n_features + 1,): of length 1 in its features; the intercept last
    gain: int  # weight that agrees minus weight that does not, in units of the weights, > 0
    side: NDArray[np.bool_]  # (n_rows,): rows that go up


class PerceptronSearch:
    """Standardised training rows, in the order of the weights.

    Z is (n_rows, n_features), C-contiguous. ``pocket`` chooses the pocket algorithm instead of
    random coordinate descent. ``n_iter`` counts line searches or pocket passes; a pass draws as
    many rows as there are. The draws of a round depend only on the seed and the round number; drawn
    coordinates do not depend on the rows.

    A search costs O(n_rows (n_features + n_iter log n_rows)) with coordinate descent and O(n_rows
    n_features n_iter) with the pocket algorithm.
    """

    def __init__(
        self, Z: Float64Array, *, pocket: bool, n_iter: int, seed: int, first_round: int
    ) -> None:
        # Both orders: rows for sides and passes, columns for line searches.
        self._Z, self._Zt = Z, np.ascontiguousarray(Z.T)
        self._pocket, self._n_iter = pocket, n_iter
        self._seed, self._round = seed, first_round
        self._order = np.empty(len(Z), dtype=np.int64)
        self._crossing = np.empty(len(Z))

    def best(self, u: Int64Array, total: int, slack: int) -> Perceptron | None:
        """A perceptron with a large gain; None if the gain does not exceed ``slack``.

        ``u``, (n_rows,), is positive where a row should go up, and ``total`` is its sum. Gains that
        differ by at most ``slack`` count as equal.
        """
        # One generator a round: a warm start draws what a single fit would have drawn.
        rng = np.random.default_rng([self._seed, self._round])
        self._round += 1
        start = self._start(u, slack)
        improve = self._visit if self._pocket else self._descend
        found = improve(u, start, rng, slack)
        length = float(np.sqrt((found[:-1] ** 2).sum()))
        # Normalised before the sides are computed: side and gain belong to the stored numbers.
        coef = found / length if length > 0.0 else found
        side = self._side(coef)
        # Up minus down: the rows that go down have the rest of the total.
        gain = 2 * int(u[side].sum()) - total
        return Perceptron(coef, gain, side) if gain > slack else None

    def _start(self, u: Int64Array, slack: int) -> Float64Array:
        """Difference of the weighted means of the rows to go up and down; the best intercept."""
        coef = np.zeros(self._Z.shape[1] + 1)
        sum_weighted(self._Zt, u, coef[:-1])
        length = float(np.sqrt((coef[:-1] ** 2).sum()))
        if length > 0.0:
            coef /= length
        projected = self._project(coef)
        coef[-1] = self._line(projected, np.ones(len(u)), u, slack)
        return coef

    def _descend(
        self, u: Int64Array, coef: Float64Array, rng: np.random.Generator, slack: int
    ) -> Float64Array:
        projected, ones = self._project(coef), np.ones(len(u))
        n_features = len(self._Zt)
        for j in rng.integers(0, n_features + 1, self._n_iter).tolist():
            direction = ones if j == n_features else self._Zt[j]
            step = self._line(projected, direction, u, slack)
            if step:
                coef[j] += step
                projected += step * direction
        return coef

    def _visit(
        self, u: Int64Array, coef: Float64Array, rng: np.random.Generator, slack: int
    ) -> Float64Array:
        kept = coef.copy()
        most = self._gain(u, kept)
        ends = np.cumsum(np.abs(u)).astype(np.float64)
        for _ in range(self._n_iter if ends[-1] > 0.0 else 0):
            # Uniform numbers, not integers up to a sum: these hang on its last digit.
            drawn = np.searchsorted(ends, ends[-1] * rng.random(len(u)), side="right")
            run_pass(self._Z, u, drawn, coef)
            gain = self._gain(u, coef)
            # Sums over the rows that go up; compared among themselves, they need no total.
            if gain > most + slack:
                most, kept = gain, coef.copy()
        return kept

    def _line(
        self, projected: Float64Array, direction: Float64Array, u: Int64Array, slack: int
    ) -> float:
        return search_line(projected, direction, u, slack, self._order, self._crossing)

    def _project(self, coef: Float64Array) -> Float64Array:
        # Column by column instead of a product, whose order of sums depends on the processor.
        projected = np.full(len(self._Z), coef[-1])
        for column, weight in zip(self._Zt, coef[:-1].tolist(), strict=True):
            projected += weight * column
        return projected

    def _side(self, coef: Float64Array) -> NDArray[np.bool_]:
        sides = np.empty((1, len(self._Z)), dtype=bool)
        write_sides(self._Z, coef[None, :], sides)
        return sides[0]

    def _gain(self, u: Int64Array, coef: Float64Array) -> int:
        return int(u[self._side(coef)].sum())
