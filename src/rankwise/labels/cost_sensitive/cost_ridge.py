"""Ridge regression of class costs, with squared or one-sided squared loss."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.labels.cost_sensitive.binary_ridge import (
    centre_of,
    compute_weighted_moments,
    row_space,
    solve_positive,
)
from rankwise.runtime.threads import single_threaded_blas, thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix

_HALVINGS = 40


def fit_cost_ridge(
    X: Matrix, costs: Float64Array, alpha: float, weight: Float64Array | None
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_classes, n_features) and intercepts for the squared loss.

    Minimises ``sum_n w_n (r_k(x_n) - c_nk)^2 + alpha |beta_k|^2`` for all k with one factorisation.
    """
    weight = np.ones(len(costs)) if weight is None else weight
    centre = centre_of(X)
    with single_threaded_blas():
        rows, rotation = row_space(X if centre is None else X - centre)
        gram = compute_weighted_moments(rows, weight)
        total = weight @ costs
        right = np.asarray(rows.T @ (weight[:, None] * costs))
        mean = gram[-1, :-1] / gram[-1, -1]
        centred = gram[:-1, :-1] - gram[-1, -1] * np.outer(mean, mean)
        centred[np.diag_indices_from(centred)] += alpha
        beta = solve_positive(centred, right - np.outer(mean, total))
    return _back(beta.T, (total / gram[-1, -1] - mean @ beta), rotation, centre)


def fit_one_sided_ridge(
    X: Matrix,
    costs: Float64Array,
    alpha: float,
    weight: Float64Array | None,
    max_iter: int,
    n_threads: int,
) -> tuple[Float64Array, Float64Array, Int64Array]:
    """Coefficients, intercepts and numbers of steps for the one-sided loss.

    Minimises ``sum_n w_n max(0, z_nk (r_k(x_n) - c_nk))^2 + alpha |beta_k|^2``, z = 1 if class k
    has the least cost of the row and -1 otherwise. Solved by Newton's method with step halving. The
    objective is piecewise quadratic, so a full step that does not change the set of rows with a
    loss reaches the minimum.
    """
    weight = np.ones(len(costs)) if weight is None else weight
    side = np.where(costs == costs.min(axis=1, keepdims=True), 1.0, -1.0)
    centre = centre_of(X)
    with single_threaded_blas():
        rows, rotation = row_space(X if centre is None else X - centre)
        solved = thread_map(
            lambda k: _solve_one_sided(rows, costs[:, k], side[:, k], alpha, weight, max_iter),
            range(costs.shape[1]),
            n_threads,
        )
    steps = np.array([n for _, n, _ in solved], dtype=np.int64)
    if not all(done for _, _, done in solved):
        warnings.warn(
            f"The one-sided loss did not reach its minimum within max_iter={max_iter} steps for "
            f"{sum(not done for _, _, done in solved)} classes. Increase max_iter or alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
    theta = np.array([solution for solution, _, _ in solved])
    return *_back(theta[:, :-1], theta[:, -1], rotation, centre), steps


def _solve_one_sided(
    X: Matrix,
    cost: Float64Array,
    side: Float64Array,
    alpha: float,
    weight: Float64Array,
    max_iter: int,
) -> tuple[Float64Array, int, bool]:
    """``[beta, b]``, the number of steps and whether the minimum was reached."""
    penalty = np.full(X.shape[1] + 1, alpha)
    penalty[-1] = 0.0
    theta = np.zeros(X.shape[1] + 1)
    theta[-1] = np.average(cost, weights=weight)
    excess = side * (theta[-1] - cost)
    value = _value(excess, weight, penalty, theta)
    for step in range(1, max_iter + 1):
        charged = np.where(excess > 0, weight, 0.0)
        hessian = compute_weighted_moments(X, charged)
        right = np.append(X.T @ (charged * cost), charged @ cost)
        if hessian[-1, -1] == 0:  # no row has a loss, so only the penalty remains
            hessian[-1, -1], right[-1] = 1.0, theta[-1]
        hessian[np.diag_indices_from(hessian)] += penalty
        direction = solve_positive(hessian, right) - theta
        length = 1.0
        for _ in range(_HALVINGS):
            tried = theta + length * direction
            found = side * (X @ tried[:-1] + tried[-1] - cost)
            tried_value = _value(found, weight, penalty, tried)
            if tried_value <= value:
                break
            length /= 2
        else:  # no step improves the objective by more than rounding error
            return theta, step, True
        done = length == 1.0 and np.array_equal(found > 0, excess > 0)
        theta, excess, value = tried, found, tried_value
        if done:
            return theta, step, True
    return theta, max_iter, False


def _value(
    excess: Float64Array, weight: Float64Array, penalty: Float64Array, theta: Float64Array
) -> float:
    return float(weight @ np.maximum(excess, 0.0) ** 2 + penalty @ theta**2)


def _back(
    coef: Float64Array,
    intercept: Float64Array,
    rotation: Matrix | None,
    centre: Float64Array | None,
) -> tuple[Float64Array, Float64Array]:
    """Coefficients of the original features."""
    if rotation is not None:
        coef = np.asarray((rotation @ coef.T).T)
    return coef, intercept if centre is None else intercept - coef @ centre
