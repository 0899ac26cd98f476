"""Ridge regression on the grades, used as a ranker.

Composition: columns of X x pointwise squared loss x eigendecomposition of the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from rankwise.checks.column_ranges import column_means
from rankwise.checks.dominant_columns import SQUARES, ColumnLimit
from rankwise.checks.rows import FitData
from rankwise.rankers.closed_form import ALPHA_CONSTRAINT, SELECTION_CONSTRAINTS, LinearModel
from rankwise.solvers.least_squares.design import Design, LinearDesign, ShiftedColumns
from rankwise.solvers.least_squares.gram import CHUNK_ROWS, Problem
from rankwise.solvers.least_squares.path_selection import PathFit, weighted_means
from rankwise.streams.row_stream import RowStream
from rankwise.tuning.penalty import Penalties, Scale
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix


class PointwiseLinearRanker(LinearModel):
    """Pointwise least squares on the columns of X; subclasses have ``fit_intercept``."""

    fit_intercept: bool

    def _problem(self, data: FitData) -> Problem:
        return Problem(
            data.X,
            data.y,
            data.groups,
            data.sample_weight,
            "pointwise",
            intercept=self.fit_intercept,
        )

    def _design(self, data: FitData) -> LinearDesign:
        n_samples, n_features = data.X.shape
        scale = self._column_scales(data.X)
        shift = np.zeros(n_features)
        # Columns far from zero would cancel in the centred Gram matrix; the first rows tell where
        # they are, and all that a stream has. The N x N system of wide rows is centred itself,
        # and sparse rows stay sparse in it.
        if self.fit_intercept and n_samples >= n_features:
            head = data.X[:CHUNK_ROWS]
            if scale is None:
                shift = column_means(head)
            else:  # sums of the largest values may overflow
                shift = column_means(head @ sparse.diags_array(1.0 / scale)) * scale
        return LinearDesign(ShiftedColumns(shift, False, scale))

    def _column_scales(self, X: Matrix) -> Float64Array | None:
        """Powers of two that columns are divided by where the solution does not feel them."""
        return None

    def _path_coef(self, design: Design, fit: PathFit) -> Float64Array:
        assert isinstance(design, LinearDesign)
        return design.columns.on_rows(super()._path_coef(design, fit))

    def _set_fitted(
        self, design: Design, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        super()._set_fitted(design, problem, fit, penalties, chosen)
        if not self.fit_intercept:
            return
        if fit.grams is None:
            centre, mean_target, _ = weighted_means(problem)
            self.intercept_ = mean_target - float(centre @ self.coef_)
        else:
            gram = fit.grams[0]
            centre = gram.sums / gram.weight
            assert isinstance(design, LinearDesign)
            if design.columns.scale is not None:
                centre = centre * design.columns.scale
            self.intercept_ += float(gram.target_sum / gram.weight - centre @ self.coef_)


class RidgeRanker(PointwiseLinearRanker):
    """Ridge regression on the grades; the whole path from one eigendecomposition.

    Minimises ``sum_i w_i (y_i - b - x_i'c)^2 + alpha |c|^2``: a sum over rows, with an unpenalised
    intercept b.

    Parameters
    ----------
    alpha : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        alpha >= 0 multiplies the squared norm of the coefficients against the SUM of squared
        errors. A grid is searched on ``X_val`` where it is given and else by ``cv`` folds of
        queries; "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out, measured
        by the share of misordered pairs) and "val" search 2^30, ..., 2^-20.
    fit_intercept : bool, default=True
        An unpenalised intercept; no effect on the ranking but for its effect on the coefficients.
    measure : str, default="nDCG@10"
        What the search maximises (or minimises), see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
    intercept_ : float
    alpha_ : float
    path_ : dict with "alpha" of shape (n_alpha,) and "coef" of shape (n_alpha, n_features_in_)
    cv_results_ : dict with "alpha", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Notes
    -----
    O(N d^2 + d^3) for N rows and d columns; each further alpha O(d^2). For wide data without
    intercept the N x N system is solved. Float32 input is accumulated in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    >>> RidgeRanker(alpha=2.0).fit(X, y).coef_
    array([0.5])
    """

    _penalty: ClassVar[str] = "alpha"
    _scale: ClassVar[Scale] = "alpha"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": ALPHA_CONSTRAINT,
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

    def _column_limit(self) -> ColumnLimit:
        return SQUARES

    def fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the path and choose from it.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            A stream carries labels, queries and weights: see :func:`rankwise.stream`.
        y : array-like of shape (n_samples,); None for a stream
        qid : array-like of shape (n_samples,), optional
            Queries of the rows; used by the search only.
        sample_weight : array-like of shape (n_samples,), optional
            Repetitions of each row, >= 0.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val"; not used with a number, "cv",
            "loqo" and "lpo".
        """
        self._fit(X, y, qid, sample_weight, (X_val, y_val, qid_val))
        return self
