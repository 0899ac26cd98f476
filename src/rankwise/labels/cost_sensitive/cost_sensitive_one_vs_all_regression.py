"""Cost-sensitive one-versus-all regression (OSR).

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

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone

from rankwise.checks.cost_tables import CostTable
from rankwise.checks.parameter_constraints import (
    POSITIVE,
    HasMethods,
    Interval,
    StrOptions,
    minimum,
)
from rankwise.labels.cost_sensitive.binary_questions import FEW_ROWS
from rankwise.labels.cost_sensitive.cost_ridge import fit_cost_ridge, fit_one_sided_ridge
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.runtime.routing import fit_with
from rankwise.runtime.threads import single_threaded_blas, thread_map, threads_asked
from rankwise.structure.rules import (
    Fitted,
    Many,
    Rule,
    Sometimes,
    floats,
    integers,
    require_attributes,
)
from rankwise.typing import Float64Array, Matrix


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
        L2 penalty if ``estimator`` is None: factor of the squared norm. The intercept is not
        penalised.
    max_iter : int, default=100
        Largest number of Newton steps for the one-sided loss, for each class.
    n_jobs : int, optional
        Number of classes fitted in parallel threads. None: one for each CPU; -2: one fewer, and so
        on.

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
    factorisation for all classes, O(N d (d + K)). The one-sided loss is solved exactly by Newton
    steps over the rows with a loss. A step costs O(N d^2), and about ten steps are usual. The
    formulation follows [1]_ from memory; that paper uses kernels instead of ridge regression, and
    other penalties in its experiments.

    References
    ----------
    .. [1] Tu & Lin, "One-sided support vector regression for multiclass cost-sensitive
       classification", ICML 27 (2010).

    Examples
    --------
    >>> from rankwise import CostSensitiveOneVsAllRegression
    >>> X, y = [[0.0], [1.0], [1.1], [2.0]], ["ham", "ham", "spam", "spam"]
    >>> costs = [[0, 50], [1, 0]]
    >>> model = CostSensitiveOneVsAllRegression(alpha=0.1).fit(X, y, costs=costs)
    >>> model.predict([[1.2], [3.0]]).tolist()
    ['ham', 'spam']
    """

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
        "n_jobs": [
            Interval(Integral, None, -1, closed="right"),
            minimum(1),
            None,
        ],
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
        offered = {} if sample_weight is None else {"sample_weight": sample_weight}

        def regressor(column: Float64Array) -> Any:
            model = clone(self.estimator)
            if fit_with(model, X, column, offered) != set(offered):
                raise TypeError(
                    f"estimator must accept sample_weight, but {type(model).__name__}.fit does "
                    "not. Remove sample_weight, or use a regressor that accepts it."
                )
            return model

        with single_threaded_blas():
            self.estimators_ = thread_map(regressor, list(costs.T), threads_asked(self.n_jobs))

    def _class_scores(self, X: Matrix) -> Float64Array:
        if self.estimator is None:
            return -(X @ self.coef_.T + self.intercept_)
        return -np.column_stack([model.predict(X) for model in self.estimators_])
