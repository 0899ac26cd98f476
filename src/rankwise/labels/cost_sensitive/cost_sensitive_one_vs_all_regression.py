"""Cost-sensitive one-versus-all regression (OSR), and its ridge regressions of costs.

One regressor per class predicts the cost of the class, and the class of least predicted cost is
chosen. The one-sided loss [1]_ penalises a prediction only if it is above the cost of the row's
cheapest class, or below the cost of any other class.

Composition: costs x squared or one-sided squared loss x regressor per class x arg min.

References
----------
.. [1] Tu & Lin, "One-sided support vector regression for multiclass cost-sensitive
   classification", ICML 27 (2010).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.checks.cost_tables import CostTable
from rankwise.checks.parameter_constraints import N_JOBS, POSITIVE, HasMethods, StrOptions, minimum
from rankwise.labels.cost_sensitive.binary_questions import (
    FEW_ROWS,
    centre_rows,
    compute_weighted_moments,
    restore_features,
    solve_positive,
)
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.prediction import fit_clone
from rankwise.runtime.threads import single_threaded_blas, thread_map, threads_asked
from rankwise.structure.state_rules import (
    Fitted,
    Many,
    Rule,
    Sometimes,
    floats,
    integers,
    require_attributes,
)
from rankwise.typing import Float64Array, Int64Array, Matrix


class CostSensitiveOneVsAllRegression(CostSensitiveClassifier):
    """One-versus-all regression of costs with squared or one-sided loss (OSR).

    Minimises ``sum_n w_n (r_k(x_n) - c_nk)^2 + alpha |beta_k|^2`` for each class k without an
    ``estimator``: a sum over rows, ``r_k(x) = x'beta_k + b_k`` with an unpenalised intercept b_k.
    ``loss="one_sided"`` counts only errors to the wrong side.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Regressor that is cloned for every class and fitted to its costs, with ``sample_weight`` if
        it is given. None: ridge regression in closed form.
    loss : {"squared", "one_sided"}, default="squared"
        Loss of a predicted cost r. "squared": ``(r - c)^2``. "one_sided": ``max(0, r - c)^2`` for
        the classes of least cost of a row and ``max(0, c - r)^2`` for the others; only without an
        ``estimator``.
    alpha : float > 0, default=1.0
        Penalty added to the SUM of squared errors if ``estimator`` is None: factor of the squared
        norm. The intercept is not penalised.
    max_iter : int, default=100
        Largest number of Newton steps for the one-sided loss, for each class.
    n_jobs : int, optional
        Number of classes fitted in parallel threads. None or -1: all cores; -2: all but one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, in the order of the columns of the costs.
    estimators_ : list of n_classes regressors
        Only if ``estimator`` is given.
    coef_, intercept_ : ndarrays of shape (n_classes, n_features) and (n_classes,), float64
        Only if ``estimator`` is None.
    n_iter_ : ndarray of shape (n_classes,), int64
        Number of Newton steps for the one-sided loss; 1 otherwise.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If the one-sided loss reaches ``max_iter``.

    Notes
    -----
    ``decision_function`` returns the negative predicted costs. The squared loss needs one
    factorisation for all classes: O(N d (d + K)) time and O(d^2 + d K) memory. The one-sided loss
    is solved exactly by Newton steps over the rows with a loss. A step costs O(N d^2), and about
    ten steps are usual. The formulation follows [1]_ from memory; that paper uses kernels instead
    of ridge regression, and other penalties in its experiments.

    References
    ----------
    .. [1] Tu & Lin, "One-sided support vector regression for multiclass cost-sensitive
       classification", ICML 27 (2010).

    Examples
    --------
    >>> from rankwise.labels import CostSensitiveOneVsAllRegression
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]
    >>> model = CostSensitiveOneVsAllRegression(alpha=0.1).fit(X, y, costs=costs)
    >>> model.predict([[1.2], [3.0]]).tolist()
    ['ham', 'spam']
    """

    coef_: Float64Array
    intercept_: Float64Array
    n_iter_: Int64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": Sometimes(floats("n_classes", "n_features_in_")),
        "intercept_": Sometimes(floats("n_classes")),
        "estimators_": Sometimes(Many(Fitted("n_features_in_"), "n_classes")),
        "n_iter_": integers("n_classes", low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "loss": [StrOptions({"squared", "one_sided"})],
        "alpha": [POSITIVE],
        "max_iter": [minimum(1)],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: Literal["squared", "one_sided"] = "squared",
        alpha: float = 1.0,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.alpha = alpha
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _check_structure(self) -> None:
        names = ("coef_", "intercept_") if self.estimator is None else ("estimators_",)
        require_attributes(self, *names)

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        for name in ("coef_", "intercept_", "estimators_"):
            vars(self).pop(name, None)
        costs = table.by_row
        self.n_iter_ = np.ones(costs.shape[1], dtype=np.int64)
        n_threads = threads_asked(self.n_jobs) if X.shape[0] > FEW_ROWS else 1
        if self.estimator is not None:
            self._fit_estimators(X, costs, sample_weight)
        elif self.loss == "squared":
            self.coef_, self.intercept_ = fit_cost_ridge(X, costs, self.alpha, sample_weight)
        else:
            self.coef_, self.intercept_, self.n_iter_ = fit_one_sided_ridge(
                X, costs, self.alpha, sample_weight, self.max_iter, n_threads
            )

    def _fit_estimators(
        self, X: Matrix, costs: Float64Array, sample_weight: Float64Array | None
    ) -> None:
        if self.loss == "one_sided":
            raise ValueError(
                'loss="one_sided" needs estimator=None, because a regressor has its own loss. '
                'Use loss="squared", or remove the estimator.'
            )

        def regressor(column: Float64Array) -> Any:
            return fit_clone(self.estimator, X, column, sample_weight)

        with single_threaded_blas():
            self.estimators_: list[Any] = thread_map(
                regressor, list(costs.T), threads_asked(self.n_jobs)
            )

    def _class_scores(self, X: Matrix) -> Float64Array:
        if self.estimator is None:
            return -(X @ self.coef_.T + self.intercept_)
        return -np.column_stack([model.predict(X) for model in self.estimators_])


_HALVINGS = 40


def fit_cost_ridge(
    X: Matrix, costs: Float64Array, alpha: float, weight: Float64Array | None
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_classes, n_features) and intercepts for the squared loss.

    Minimises ``sum_n w_n (r_k(x_n) - c_nk)^2 + alpha |beta_k|^2`` for all k with one factorisation.
    """
    weight = np.ones(len(costs)) if weight is None else weight
    with single_threaded_blas():
        rows, rotation, centre = centre_rows(X)
        gram = compute_weighted_moments(rows, weight)
        total = weight @ costs
        right = np.asarray(rows.T @ (weight[:, None] * costs))
        mean = gram[-1, :-1] / gram[-1, -1]
        centred = gram[:-1, :-1] - gram[-1, -1] * np.outer(mean, mean)
        centred[np.diag_indices_from(centred)] += alpha
        beta = solve_positive(centred, right - np.outer(mean, total))
    intercept = total / gram[-1, -1] - mean @ beta
    return restore_features(beta.T, intercept, rotation, centre)


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
    with single_threaded_blas():
        rows, rotation, centre = centre_rows(X)
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
    return *restore_features(theta[:, :-1], theta[:, -1], rotation, centre), steps


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
