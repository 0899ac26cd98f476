"""Weighted perceptrons: their sum, and stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.perceptron_search import write_sides
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.ensemble import SignEnsemble
from rankwise.solvers.boosting.perceptron_search import Perceptron
from rankwise.structure.rules import Rule, floats, require
from rankwise.typing import Float64Array, Matrix, densify

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
