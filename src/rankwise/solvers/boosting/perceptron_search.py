"""Perceptrons that agree with signed weights, and their weighted sum.

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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosting_rounds import run_pass, search_line, sum_weighted, write_sides
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.rounds import SignEnsemble
from rankwise.structure.state_rules import Rule, floats, require
from rankwise.typing import Float64Array, Int64Array, Matrix, densify


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


ROWS_AT_ONCE = 1024
STAGES_AT_ONCE = 64
SMALL = 1_000_000  # products, up to which one thread is quicker


@dataclass(frozen=True, eq=False)
class PerceptronEnsemble(SignEnsemble):
    """Perceptrons in the order in which they were found.

    Features are standardised as ``(x - center) / scale``. A row goes up by the round's step (> 0)
    where the standardised features times ``coefs``, (n_rounds, n_features + 1), are above 0, and
    down otherwise. The last column of ``coefs`` is the intercept.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "center": floats("n_features_in_"),
        "scale": floats("n_features_in_"),
        "coefs": floats("n_rounds", "n_features_in_ + 1"),
        "steps": floats("n_rounds"),
    }
    _by_round = ("coefs", "steps")

    center: Float64Array
    scale: Float64Array
    coefs: Float64Array
    steps: Float64Array

    @classmethod
    def empty(cls, X: Matrix, weight: Float64Array) -> PerceptronEnsemble:
        """An ensemble without perceptrons that standardises by the weighted rows.

        Constant features are only centred.
        """
        dense = densify(X)
        share = (weight / weight.sum())[:, None]
        center = (share * dense).sum(axis=0)
        spread = np.sqrt((share * (dense - center) ** 2).sum(axis=0))
        # A column whose deviation is rounding of its mean would be blown up to noise.
        scale = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        return cls(center, scale, np.empty((0, len(center) + 1)), np.empty(0))

    def single(self, base: Perceptron, step: float) -> Self:
        """An ensemble of a single perceptron."""
        return replace(self, coefs=base.coef[None, :], steps=np.array([step]))

    def score(self, X: Matrix) -> Float64Array:
        """Sum over all perceptrons, ``step`` where a row goes up and ``-step`` where down.

        O(n_rounds n_features) a row.
        """
        out = np.zeros(X.shape[0])

        def add(start: int) -> None:
            rows = slice(start, start + ROWS_AT_ONCE)
            Z = self.prepare(X[rows])
            sides = np.empty((len(self), len(Z)), dtype=bool)
            write_sides(Z, self.coefs, sides)
            for side, step in zip(sides, self.steps.tolist(), strict=True):
                out[rows] += np.where(side, step, -step)

        n_threads = 1 if X.shape[0] * self.coefs.size < SMALL else available_threads()
        thread_map(add, range(0, X.shape[0], ROWS_AT_ONCE), n_threads)
        return out

    def prepare(self, X: Matrix) -> Float64Array:
        """Dense rows on the scale of the training rows, as ``sides`` takes them."""
        dense = densify(X)
        return np.ascontiguousarray((dense - self.center) / self.scale, dtype=np.float64)

    def sides(self, prepared: Float64Array) -> Iterator[NDArray[np.bool_]]:
        """Rows that go up, perceptron by perceptron."""
        # Blocks of rounds bound the memory of their sides.
        for start in range(0, len(self), STAGES_AT_ONCE):
            coefs = self.coefs[start : start + STAGES_AT_ONCE]
            sides = np.empty((len(coefs), len(prepared)), dtype=bool)
            write_sides(prepared, coefs, sides)
            yield from sides

    def changes(self, prepared: Float64Array) -> Iterator[Float64Array]:
        """Contribution of every perceptron to the scores of the rows."""
        for side, step in zip(self.sides(prepared), self.steps.tolist(), strict=True):
            yield np.where(side, step, -step)

    def importances(self, n_features: int) -> Float64Array:
        """Share of each feature in the steps, each divided by the sizes of its weights."""
        sizes = np.abs(self.coefs[:, :n_features])
        # 1e-300 keeps a perceptron of the intercept alone from dividing by 0.
        totals = self.steps @ (sizes / np.maximum(sizes.sum(1, keepdims=True), 1e-300))
        return totals / (totals.sum() or 1.0)

    def _check_structure(self) -> None:
        require((self.scale > 0).all(), "scale", "be > 0", self.scale)
