"""Newton steps for strengths that are known up to a common constant.

Minimises ``L(theta) + alpha / 2 |s|^2``, where the strengths s are the first entries of theta and
L does not change if a constant is added to all of them. The result has mean strength 0. A step
costs O(P^3) for P parameters, besides the derivatives.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.typing import Float64Array

# Largest advantage (log-odds) in a comparison: beyond, the estimates only grow, until probabilities
# are rounded to 1 (at 37). A loss in 10^13 comparisons is in no data.
MOST_LOG_ODDS = 30.0
_FIRST_STEPS = 10
_MOST_HALVINGS = 50
_SUFFICIENT_DECREASE = 1e-4
_ROUNDING = 1e-12
_SMALLEST_PIVOT = 1e-12


class StrengthLikelihood(Protocol):
    """Negative log-likelihood that is convex, and constant if all strengths grow alike."""

    @property
    def n_items(self) -> int: ...
    @property
    def n_parameters(self) -> int: ...
    def start(self) -> Float64Array: ...
    def value(self, theta: Float64Array) -> float: ...
    def derivatives(self, theta: Float64Array) -> tuple[Float64Array, Float64Array]: ...
    def largest_advantage(self, theta: Float64Array) -> float: ...
    def dispersion(self, theta: Float64Array) -> float: ...


class StrengthSolution(NamedTuple):
    """Result of :func:`minimize_strengths`."""

    theta: Float64Array
    inverse: Float64Array  # of the Hessian among parameters whose strengths have mean 0
    value: float  # negative log-likelihood, without the penalty
    n_iter: int
    last_step: Float64Array  # (n_parameters,); large where estimates grow without bound
    status: str  # "converged", "unbounded" or "max_iter"


def minimize_strengths(
    likelihood: StrengthLikelihood, *, alpha: float, tol: float, max_iter: int
) -> StrengthSolution:
    """Minimise a negative log-likelihood plus ``alpha / 2`` times the squared norm of strengths.

    Steps end when no parameter changes by more than ``tol``.
    """
    theta = likelihood.start()
    step, status = np.zeros_like(theta), "max_iter"
    n_iter = 0
    value = _penalise(likelihood, theta, alpha)
    for n_iter in range(1, max_iter + 1):
        gradient, hessian, factor = _newton_system(likelihood, theta, alpha)
        if factor is None:
            step, status = _flattest_direction(hessian), "unbounded"
            break
        step = -_solve(factor, gradient)
        found = _search(likelihood, theta, step, float(gradient @ step), value, alpha)
        if found is None:  # no decrease beyond rounding is left
            status = "converged" if np.abs(step).max() <= np.sqrt(tol) else "unbounded"
            break
        theta, value, share = found
        # First steps may go too far; those towards infinity add about 1 each.
        if n_iter >= _FIRST_STEPS and likelihood.largest_advantage(theta) > MOST_LOG_ODDS:
            status = "unbounded"
            break
        if share * np.abs(step).max() <= tol:
            status = "converged"
            break
    _, _, factor = _newton_system(likelihood, theta, alpha)
    inverse = np.full((len(theta),) * 2, np.nan) if factor is None else _invert(factor, likelihood)
    return StrengthSolution(theta, inverse, likelihood.value(theta), n_iter, step, status)


def _penalise(likelihood: StrengthLikelihood, theta: Float64Array, alpha: float) -> float:
    strengths = theta[: likelihood.n_items]
    return likelihood.value(theta) + 0.5 * alpha * float(strengths @ strengths)


def _newton_system(
    likelihood: StrengthLikelihood, theta: Float64Array, alpha: float
) -> tuple[Float64Array, Float64Array, tuple[Float64Array, Float64Array] | None]:
    """Gradient, Hessian, and its scale and Cholesky factor; None if it is not definite."""
    m = likelihood.n_items
    gradient, hessian = likelihood.derivatives(theta)
    gradient[:m] += alpha * theta[:m]
    hessian[np.arange(m), np.arange(m)] += alpha
    # Any curvature along the constant makes the Hessian definite. Gradient and solution are
    # orthogonal to the constant, so the amount has no effect; that of the others is well scaled.
    hessian[:m, :m] += np.trace(hessian[:m, :m]) / m**2
    diagonal = hessian.diagonal()
    if not (diagonal > 0).all():
        return gradient, hessian, None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = cho_factor(scale[:, None] * hessian * scale, lower=True, check_finite=False)[0]
    except np.linalg.LinAlgError:
        return gradient, hessian, None
    # A pivot of rounding errors: some direction has no curvature.
    if factor.diagonal().min() ** 2 < _SMALLEST_PIVOT:
        return gradient, hessian, None
    return gradient, hessian, (scale, factor)


def _flattest_direction(hessian: Float64Array) -> Float64Array:
    """Direction without curvature, for messages."""
    return np.linalg.eigh(hessian)[1][:, 0] if np.isfinite(hessian).all() else hessian[0]


def _solve(factor: tuple[Float64Array, Float64Array], right: Float64Array) -> Float64Array:
    scale, cholesky = factor
    return scale * cho_solve((cholesky, True), scale * right, check_finite=False)


def _invert(
    factor: tuple[Float64Array, Float64Array], likelihood: StrengthLikelihood
) -> Float64Array:
    """Inverse of the Hessian without the part along the constant."""
    scale, cholesky = factor
    m = likelihood.n_items
    inverse = scale[:, None] * cho_solve((cholesky, True), np.diag(scale), check_finite=False)
    inverse[:m] -= inverse[:m].mean(axis=0)
    inverse[:, :m] -= inverse[:, :m].mean(axis=1, keepdims=True)
    return 0.5 * (inverse + inverse.T)


def _search(
    likelihood: StrengthLikelihood,
    theta: Float64Array,
    step: Float64Array,
    slope: float,
    value: float,
    alpha: float,
) -> tuple[Float64Array, float, float] | None:
    """First share of the step (1, 1/2, ...) that lowers the objective enough."""
    share, slack = 1.0, _ROUNDING * (1.0 + abs(value))
    for _ in range(_MOST_HALVINGS):
        there = theta + share * step
        new = _penalise(likelihood, there, alpha)
        if new <= value + _SUFFICIENT_DECREASE * share * slope + slack:
            return there, new, share
        share *= 0.5
    return None
