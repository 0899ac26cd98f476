"""Additive position bias: clicks depend on a score plus a bias for the row's position [1]_.

The loss is evaluated at ``f_i + b_p``, where p is the position at which row i was shown, and the
trees learn only f. After every tree, each b takes a Newton step of the loss,

    ``b_p += learning_rate G / (H + 0.001)``,
    ``G = -sum_i g_i - n_p regularisation b_p``, ``H = sum_i h_i + n_p regularisation``,

over the n_p rows shown at p, as LightGBM does.

References
----------
.. [1] LightGBM's documentation, "Advanced Topics", on position bias in rankings.
"""

from __future__ import annotations

import numpy as np

from rankwise.losses.gradient_loss import GradientLoss
from rankwise.typing import Float64Array, Int64Array

# Keeps a position without second derivatives from dividing by 0; the value is LightGBM's.
RIDGE = 0.001


class PositionBias:
    """Wrap a loss so that it is evaluated at scores plus the bias of each row's position.

    ``position`` (n_samples,) is where each row was shown. ``before`` holds the initial biases of
    positions; all others start at 0. ``positions`` (n_positions,) are the distinct ones, ascending,
    and ``biases`` (n_positions,) theirs after the trees fitted so far.
    """

    draws: bool = True  # the biases differ from tree to tree

    def __init__(
        self,
        loss: GradientLoss,
        position: Int64Array,
        before: dict[int, float],
        learning_rate: float,
        regularisation: float,
    ) -> None:
        self._loss = loss
        self.positions, self._codes = np.unique(position, return_inverse=True)
        self._rate, self._penalty = learning_rate, regularisation
        self.biases = np.array([before.get(p, 0.0) for p in self.positions.tolist()])

    @property
    def indptr(self) -> Int64Array:
        """First row of every query, and the number of rows."""
        return self._loss.indptr

    def write(
        self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array, tree: int = 0
    ) -> None:
        """Write the derivatives at the biased scores, then update the biases."""
        self._loss.write(scores + self.biases[self._codes], gradients, hessians, tree)

        def sums(values: Float64Array) -> Float64Array:
            return np.bincount(self._codes, values, len(self.biases))

        # Weights count as rows, so that a weight equals repetition.
        penalty = self._penalty * sums(self._loss.rows.weights())
        step = -sums(gradients) - penalty * self.biases
        self.biases = self.biases + self._rate * step / (sums(hessians) + penalty + RIDGE)
