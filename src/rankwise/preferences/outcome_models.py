"""Probabilities of the outcomes of a comparison, given the advantage of its first item.

The advantage ``eta`` is the difference of the strengths, plus the effects of order and covariates.

- Bradley-Terry [1]_: ``P(first) = 1 / (1 + exp(-eta))``. A tie counts as half a win of each.
- Davidson [2]_: first, tie and second have probabilities proportional to ``exp(eta / 2)``,
  ``exp(t)`` and ``exp(-eta / 2)``.
- Rao-Kupper [3]_: ``P(first) = F(eta - t)`` and ``P(second) = F(-eta - t)`` with t > 0 and the
  logistic function F; the rest is the probability of a tie.

The negative logarithms are convex in (eta, t).

References
----------
.. [1] Bradley & Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
.. [2] Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison
   experiments", JASA 65 (1970), equation 2.4.
.. [3] Rao & Kupper, "Ties in paired-comparison experiments: a generalization of the Bradley-Terry
   model", JASA 62 (1967).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankwise.typing import Float64Array

FIRST, TIE, SECOND = 0, 1, 2


class OutcomeTerms(NamedTuple):
    """Negative log-probabilities of first, tie and second, and their derivatives by eta and t.

    All arrays have shape (3, n).
    """

    value: Float64Array
    by_eta: Float64Array
    by_tie: Float64Array
    eta_eta: Float64Array
    eta_tie: Float64Array
    tie_tie: Float64Array


def compute_bradley_terry(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Bradley-Terry; ``tie`` has no effect."""
    wins, lower, curvature = _logistic_terms(eta)
    losses, upper, _ = _logistic_terms(-eta)
    value = np.stack([wins, 0.5 * (wins + losses), losses])
    by_eta = np.stack([-lower, 0.5 * (upper - lower), upper])
    zero = np.broadcast_to(0.0, value.shape)
    return OutcomeTerms(value, by_eta, zero, np.broadcast_to(curvature, value.shape), zero, zero)


def compute_davidson(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Davidson's model; ``tie`` is the logarithm of his nu."""
    half = 0.5 * eta
    powers = np.stack([half, np.full_like(half, tie), -half])
    largest = np.maximum(np.abs(half), tie)
    p = np.exp(powers - largest)
    total = p.sum(axis=0)
    p /= total
    value = (largest + np.log(total)) - powers
    lead, decided = p[FIRST] - p[SECOND], p[FIRST] + p[SECOND]
    by_eta = 0.5 * (lead - np.array([[1.0], [0.0], [-1.0]]))
    by_tie = p[TIE] - np.array([[0.0], [1.0], [0.0]])
    second = (0.25 * (decided - lead**2), -0.5 * lead * p[TIE], p[TIE] * decided)
    # A multinomial logit: second derivatives do not depend on the outcome.
    return OutcomeTerms(value, by_eta, by_tie, *(np.broadcast_to(h, p.shape) for h in second))


def compute_rao_kupper(eta: Float64Array, tie: float) -> OutcomeTerms:
    """Terms of Rao and Kupper's model; ``tie`` > 0 is the logarithm of their theta."""
    # F(t - eta) - F(-t - eta) = F(t - eta) F(t + eta) (1 - exp(-2 t)), without cancellation.
    win, win_lower, win_curve = _logistic_terms(eta - tie)
    loss, loss_lower, loss_curve = _logistic_terms(-eta - tie)
    below, below_lower, below_curve = _logistic_terms(tie - eta)
    above, above_lower, above_curve = _logistic_terms(tie + eta)
    growth = np.expm1(2.0 * tie)
    between = below_curve + above_curve
    by_tie = -below_lower - above_lower - 2.0 / growth
    return OutcomeTerms(
        np.stack([win, below + above - np.log(-np.expm1(-2.0 * tie)), loss]),
        np.stack([-win_lower, below_lower - above_lower, loss_lower]),
        np.stack([win_lower, by_tie, loss_lower]),
        np.stack([win_curve, between, loss_curve]),
        np.stack([-win_curve, above_curve - below_curve, loss_curve]),
        np.stack([win_curve, between + 4.0 * (growth + 1.0) / growth**2, loss_curve]),
    )


OUTCOME_MODELS: dict[str, Callable[[Float64Array, float], OutcomeTerms]] = {
    "half": compute_bradley_terry,
    "davidson": compute_davidson,
    "rao-kupper": compute_rao_kupper,
}
# Where Newton steps begin: ties are as likely as wins, or have probability 1/3 between equals.
TIE_STARTS = {"half": 0.0, "davidson": 0.0, "rao-kupper": float(np.log(2.0))}


def _logistic_terms(z: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """``-log F(z)``, ``F(-z)`` and ``F(z) F(-z)``."""
    small = np.exp(-np.abs(z))
    scale = 1.0 / (1.0 + small)
    lower = np.where(z > 0, small, 1.0) * scale
    return np.log1p(small) + np.maximum(-z, 0.0), lower, small * scale**2
