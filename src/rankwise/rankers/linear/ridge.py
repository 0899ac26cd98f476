"""Linear least squares on the grades: RidgeRanker and LinearRegressionRanker.

Composition: columns of X x pointwise squared loss x eigendecomposition of the Gram matrix.

Minimises ``sum_i w_i (y_i - b - x_i'c)^2``. The minimum-norm solution is used if columns are
linearly dependent.

Composition: columns of X x pointwise squared loss x eigendecomposition, no penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from rankwise.equation import Equation, fit_equation
from rankwise.groups import RowStream
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import LINEAR_STRUCTURE, BasisExpansionRanker
from rankwise.rankers.closed_form import (
    ALPHA,
    SELECTION_CONSTRAINTS,
    ColumnFeatures,
    PartialFit,
    build_closed_form,
)
from rankwise.structure.state_rules import Rule
from rankwise.typing import ArrayLike, FrameLike


class RidgeRanker(PartialFit, BasisExpansionRanker):
    """Ridge regression on the grades; one eigendecomposition gives the whole path.

    Minimises ``sum_i w_i (y_i - b - x_i'c)^2 + alpha |c|^2``: a sum over rows, with an unpenalised
    intercept b.

    Parameters
    ----------
    alpha : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty, alpha >= 0: factor of the squared norm of the coefficients; the SUM of squared
        errors has factor 1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv``
        folds of queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out,
        measured by the share of misordered pairs) and "val" search 2^30, ..., 2^-20.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept. It affects the ranking only through the
        coefficients.
    measure : str, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients c.
    intercept_ : float
        Intercept b.
    alpha_ : float
        The given or chosen alpha.
    path_ : dict with "alpha" of shape (n_alpha,) and "coef" of shape (n_alpha, n_features_in_)
        Penalties and the coefficients of their models.
    cv_results_ : dict with "alpha", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    For N rows and d columns, time is O(N d^2 + d^3), and each further alpha costs O(d^2). For wide
    data without intercept, the N x N system is solved instead. Float32 input is accumulated in
    float64.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    >>> RidgeRanker(alpha=2.0).fit(X, y, qid=0).coef_
    array([0.5])
    """

    _structure: ClassVar[dict[str, Rule]] = LINEAR_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": ALPHA.constraint,
        "fit_intercept": ["boolean"],
        **SELECTION_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        *,
        fit_intercept: bool = True,
        measure: str = "nDCG@10",
        cv: Any = 5,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.measure = measure
        self.cv = cv

    def _equation(self) -> Equation:
        loss = SquaredLoss("pointwise", intercept=self.fit_intercept)
        return build_closed_form(ColumnFeatures(self.fit_intercept), loss, ALPHA)


class LinearRegressionRanker(PartialFit, BasisExpansionRanker):
    """Ordinary least squares on the grades.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        Minimum-norm solution: eigenvalues of the centred Gram matrix below a relative 1e-12 are
        dropped. Columns are first divided by powers of two near their largest values if these
        values differ by a factor of 2^18 or more, or lie outside 2^-256 to 2^256.
    intercept_ : float
        Intercept b.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    For N rows and d columns, time is O(N d^2 + d^3). With the measures of the LETOR scripts, the
    published Regression baseline of LETOR 3.0 on OHSUMED is reproduced to all digits.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LinearRegressionRanker
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    >>> LinearRegressionRanker().fit(X, y, qid=0).predict([[3.0]]).round(6)
    array([3.])
    """

    _structure: ClassVar[dict[str, Rule]] = LINEAR_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {"fit_intercept": ["boolean"]}
    alpha = 0.0
    measure = "nDCG@10"
    cv = 5

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(  # type: ignore[override]  # nothing is searched
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            Features. A stream contains labels, queries and weights, see :func:`rankwise.stream`.
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Checked, but without effect on a pointwise fit.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0.
        """
        fit_equation(self, X, y, qid, sample_weight)
        return self

    def _equation(self) -> Equation:
        loss = SquaredLoss("pointwise", intercept=self.fit_intercept)
        return build_closed_form(ColumnFeatures(self.fit_intercept, scaled=True), loss, ALPHA)
