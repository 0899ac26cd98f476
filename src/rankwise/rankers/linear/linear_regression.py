"""Least squares on the grades: LETOR's Regression baseline.

Minimises ``sum_i w_i (y_i - b - x_i'c)^2``. The minimum-norm solution is used if columns are
linearly dependent.

Composition: columns of X x pointwise squared loss x eigendecomposition, no penalty.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from rankwise.equation import Equation, fit_equation
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import LINEAR_STRUCTURE, BasisExpansionRanker
from rankwise.rankers.closed_form import ALPHA, ColumnFeatures, build_closed_form
from rankwise.rankers.partial_fit import PartialFit
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import Rule
from rankwise.typing import ArrayLike, FrameLike


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
