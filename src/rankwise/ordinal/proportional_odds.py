"""Cumulative link models: proportional odds, ordered probit, complementary log-log [1]_.

Minimises ``|w|^2 / 2 + C sum_n w_n (-log P(y_n | x_n))`` over w and ascending thresholds theta,
where ``P(y <= k | x) = F(theta_k - w.x)``; thresholds are not penalised.

Composition: linear columns x cumulative link loss x Newton steps, along C.

References
----------
.. [1] McCullagh, "Regression models for ordinal data", JRSS B 42 (1980)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.checks.rows import check_rows
from rankwise.equation import Equation, FunctionFeatures
from rankwise.losses.cumulative_link import LINKS
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.ordinal.ordinal_ranker import SearchedOrdinalRanker
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.newton.cumulative_newton import CumulativeNewton, CumulativePath
from rankwise.structure.state_rules import Number, Rule, Sometimes, floats
from rankwise.tuning import Penalty
from rankwise.typing import ArrayLike, Float64Array, FrameLike

# 10^-3, 10^-2, ..., 10^2.
PENALTY = Penalty("C", "C", 10.0 ** np.arange(-3, 3), unpenalised=True)


class ProportionalOdds(SearchedOrdinalRanker):
    """Cumulative link model: ordered logit, ordered probit or complementary log-log.

    Minimises ``|w|^2 / 2 + C sum_n w_n (-log P(y_n | x_n))`` over coefficients w and ascending
    thresholds theta, where ``P(y <= k | x) = F(theta_k - w.x)`` and ``w_n`` are the weights of the
    rows. Thresholds are not penalised.

    Parameters
    ----------
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM of the losses over rows; half the squared norm of the coefficients has
        factor 1. ``C=numpy.inf`` is maximum likelihood. A grid is searched on ``X_val`` if it is
        given, otherwise with ``cv`` folds of queries. "cv" and "val" search 10^-3, 10^-2, ...,
        10^2.
    link : {"logit", "probit", "cloglog"}, default="logit"
        Function F in ``P(y <= k | x) = F(theta_k - w.x)``: logistic (proportional odds), normal, or
        ``1 - exp(-exp(z))`` (proportional hazards of grouped times).
    measure : str, Measure or callable, default="MAE"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`. Measures of predicted
        labels receive class numbers; all others receive the scores.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-6
        Tolerance: Newton steps end when no score and no threshold changes by more than ``tol``. The
        remaining error is about ``tol^2``.
    max_iter : int, default=100
        Largest number of Newton steps for each C.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    coef_ : ndarray of shape (n_features_in_,), float64
        Coefficients w. A larger feature with a positive coefficient moves a row to higher classes.
    thresholds_ : ndarray of shape (n_classes - 1,), float64
        Thresholds theta, ascending. A declared class without rows has probability zero; thresholds
        beyond the lowest or highest class with rows are -1e300 or 1e300.
    intercept_ : float
        Median of F, included in ``rank_score``: 0, or log(log 2) for "cloglog".
    log_likelihood_ : float
        Sum of ``w_n log P(y_n | x_n)`` over the training rows.
    standard_errors_ : ndarray of shape (n_features_in_ + n_classes - 1,)
        Standard errors of coefficients, then of thresholds, from the observed information. Only if
        C is infinite. NaN for parameters that are not estimated, see the notes.
    C_ : float
        The given or chosen C.
    objective_ : float
        Final value of the objective; ``-log_likelihood_`` if C is infinite.
    n_iter_ : int
        Number of Newton steps for ``C_``, not counting those for smaller values of a grid.
    path_ : dict with "C" of shape (n_C,), "coef" (n_C, n_features_in_), "thresholds"
        Penalties, and coefficients and thresholds of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` is reached, or if the likelihood has no maximum: if C is infinite and a
        combination of columns separates classes, coefficients grow without bound.

    Notes
    -----
    ``predict`` returns the most probable class, consistent with ``predict_proba``. ``rank_score``
    is ``w.x + intercept_``, the median of the latent variable. The number of ``thresholds_`` that
    it reaches is the median class, which has the least expected absolute error and need not be the
    most probable class.

    The solver centres dense columns and divides all columns by their standard deviation, but it
    minimises the objective of the original columns: scale them before using a finite C. Without a
    penalty the fit does not depend on the scale. A column that is constant, or a combination of
    others, then has the coefficient 0 and no standard error.

    For N rows and D features and thresholds, a Newton step costs O(N D^2 + D^3) and needs a dense
    matrix of D^2 numbers. A handful of steps is enough. Memory is O(N D + D^2): dense rows are
    copied as float64. Equal rows are merged if X has at most 5 million numbers. A weight is
    equivalent to repeating the row, and the order of the rows does not matter.

    With two classes and ``link="logit"`` the model equals logistic regression, and mord's
    ``LogisticAT`` with ``alpha=1/C``. With more classes, ``LogisticAT`` minimises the sum of K - 1
    binary losses of every row instead of the likelihood. statsmodels' ``OrderedModel`` fits the
    same model as ``C=numpy.inf``. It reports the first threshold and the logarithms of the
    differences, and calls complementary log-log ``distr=scipy.stats.gumbel_l``.

    References
    ----------
    .. [1] McCullagh, "Regression models for ordinal data", JRSS B 42 (1980).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ProportionalOdds
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = ProportionalOdds(C=10.0).fit(X, [0, 0, 1, 1, 2, 2])
    >>> model.predict(X)
    array([0, 0, 1, 1, 2, 2])
    >>> model.predict_proba([[2.5]]).round(2)
    array([[0.03, 0.94, 0.03]])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "coef_": floats("n_features_in_"),
        "intercept_": Number(),
        "log_likelihood_": Number(finite=False),
        "standard_errors_": Sometimes(floats("n_parameters", numbers="any")),
    }

    coef_: Float64Array
    intercept_: float
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": PENALTY.constraint,
        "link": [StrOptions(set(LINKS))],
        "measure": MEASURE_KINDS,
        "cv": ["cv_object"],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        link: Literal["logit", "probit", "cloglog"] = "logit",
        *,
        measure: MeasureLike = "MAE",
        cv: Any = 5,
        tol: float = 1e-6,
        max_iter: int = 100,
        classes: ArrayLike | None = None,
    ) -> None:
        self.C = C
        self.link = link
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.classes = classes

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Median of the latent variable, shape (n_samples,), float64. Higher ranks higher."""
        check_is_fitted(self)
        return np.asarray(check_rows(self, X) @ self.coef_) + self.intercept_

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Most probable class of every row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        margins = self.decision_function(X)
        chosen = margins > 0 if margins.ndim == 1 else margins.argmax(axis=1)
        return self.classes_[chosen.astype(np.int64)]

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Score minus threshold for two classes, probabilities for more.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
        """
        check_is_fitted(self)
        return super().decision_function(X) if len(self.classes_) == 2 else self.predict_proba(X)

    def predict_proba(self, X: FrameLike) -> Float64Array:
        """Probability of every class.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
        """
        scores = self.rank_score(X) - self.intercept_
        return LINKS[self.link].probabilities(scores, self.thresholds_)

    def _equation(self) -> Equation:
        make_path = partial(CumulativePath, solver=CumulativeNewton(self.tol, self.max_iter))
        features = FunctionFeatures(lambda rows: [({}, None)])
        return Equation(features, LINKS[self.link], make_path, PENALTY)
