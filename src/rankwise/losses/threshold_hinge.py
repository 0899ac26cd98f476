"""Hinges of the margins between one score and all thresholds: the reduction of Li & Lin [1]_.

Row n of class y asks, for k = 0 .. K-2, whether its class is above k. With ``s_k = 1`` for k < y
and -1 otherwise and margins ``m_nk = s_k (f_n + theta_k)`` the loss is

    sum_nk w_nk max(0, 1 - m_nk)    or, squared,    sum_nk w_nk max(0, 1 - m_nk)^2.

Its dual values are within [0, w_nk], or >= 0.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwise.kernels.ordinal_descent import respond
from rankwise.typing import Float64Array, Int64Array


class BentHinge(NamedTuple):
    """Value of the hinge, bent around dual values ``centre``, at some scores.

    ``alpha`` are the dual values and ``curvature`` is minus their derivative with respect to the
    margin, both of shape (n_samples, K - 1). ``signed`` (n_samples,) and ``thresholds`` (K - 1,)
    are the sums of ``s alpha``. ``loss`` is the plain loss, ``bent`` the bent loss, ``dual`` the
    contribution of the dual values to the dual objective, and ``moved`` is
    ``bend |alpha - centre|^2 / w``.
    """

    alpha: Float64Array
    curvature: Float64Array
    signed: Float64Array
    thresholds: Float64Array
    loss: float
    dual: float
    bent: float
    moved: float


@dataclass(frozen=True, eq=False)
class ThresholdHinge:
    """The loss of some rows."""

    codes: Int64Array  # (n_samples,): class numbers
    weight: Float64Array  # (n_samples, n_classes - 1), >= 0
    squared: bool

    def scaled(self, C: float) -> ThresholdHinge:
        """The loss times C."""
        return ThresholdHinge(self.codes, C * self.weight, self.squared)

    def signed(self, alpha: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Sums of ``s alpha`` by row, (n_samples,), and by threshold, (n_classes - 1,)."""
        values = np.where(self._above, alpha, -alpha)
        return values.sum(axis=1), values.sum(axis=0)

    def dual_sum(self, alpha: Float64Array) -> float:
        """Contribution of dual values to the dual objective."""
        total = float(alpha.sum())
        if self.squared:
            weighed = self.weight > 0
            total -= 0.25 * float((alpha[weighed] ** 2 / self.weight[weighed]).sum())
        return total

    def value(self, scores: Float64Array, theta: Float64Array) -> float:
        """The loss at scores (n_samples,) and thresholds (n_classes - 1,)."""
        margins = scores[:, None] + theta
        beyond = np.maximum(1.0 - np.where(self._above, margins, -margins), 0.0)
        return float(np.vdot(self.weight, beyond**2 if self.squared else beyond))

    def bent(
        self, scores: Float64Array, theta: Float64Array, centre: Float64Array, bend: float
    ) -> BentHinge:
        """Hinge with ``bend |alpha - centre|^2 / (2 w)`` subtracted inside its dual maximum.

        The squared hinge needs no bend: pass 0.
        """
        shape = self.weight.shape
        outputs = (np.empty(shape), np.empty(shape), np.empty(len(scores)), np.empty(len(theta)))
        values = respond(
            scores, theta, self.codes, self.weight, centre, bend, self.squared, outputs
        )
        return BentHinge(*outputs, *values)

    @property
    def _above(self) -> Float64Array:
        return np.arange(self.weight.shape[1]) < self.codes[:, None]
