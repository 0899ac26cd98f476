"""Regression on the grades: RidgeRanker, LinearRegressionRanker and the piecewise ModelTree.

Composition of the linear ones: columns of X x pointwise squared loss x eigendecomposition of the
Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, Interval, minimum
from rankwise.checks.rows import check_fit, check_rows
from rankwise.equation import Equation, fit_equation
from rankwise.groups import QueryGroups, RowStream
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import (
    ALPHA,
    LINEAR_STRUCTURE,
    SELECTION_CONSTRAINTS,
    BasisExpansionRanker,
    ColumnFeatures,
    PartialFit,
    build_closed_form,
)
from rankwise.row_order import merge_rows
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.structure.state_rules import Instance, Number, Rule
from rankwise.trees.column_table import dense_within_memory
from rankwise.trees.linear_models import LEAF, ModelNodes, grow_models
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class RidgeRanker(PartialFit, BasisExpansionRanker):
    """Ridge regression on the grades; one eigendecomposition gives the whole path.

    Minimises ``sum_i w_i (y_i - b - x_i'c)^2 + alpha |c|^2``: a sum over rows, with an unpenalised
    intercept b.

    Parameters
    ----------
    alpha : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty added to the SUM of squared errors, alpha >= 0: factor of the squared norm of the
        coefficients. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of
        queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out, measured by
        the share of misordered pairs) and "val" search 2^30, ..., 2^-20.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept. It affects the ranking only through the
        coefficients.
    measure : str, Measure or callable, default="nDCG@10"
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
    For N rows and d columns, time is O(N d^2 + d^3), and each further alpha costs O(d^2); memory is
    O(d^2). For wide data without intercept, the N x N system is solved instead. Float32 input is
    accumulated in float64.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = RidgeRanker("cv").fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.74 on new queries
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
        measure: MeasureLike = "nDCG@10",
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
    For N rows and d columns, time is O(N d^2 + d^3) and memory O(d^2). With the measures of the
    LETOR scripts, the published Regression baseline of LETOR 3.0 on OHSUMED is reproduced to all
    digits.

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
    alpha: float = 0.0
    measure: MeasureLike = "nDCG@10"
    cv = 5

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(  # type: ignore[override]  # nothing is searched
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            Features. A stream contains labels, queries and weights:
            :func:`rankwise.streams.stream`.
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


class ModelTree(Ranker):
    """Regression tree with linear models in the leaves, pruned and smoothed (M5').

    The model is a ranker trained on grades. It is also a regressor for other uses, for instance as
    ``estimator`` of the multi-label estimators.

    Parameters
    ----------
    min_samples_leaf : float > 0, default=4
        Smallest number of rows, or smallest weight, of a leaf.
    max_depth : int >= 1 or None, default=None
        Largest depth of the tree before pruning.
    least_deviation : float in [0, 1), default=0.05
        A node is not split if the standard deviation of its labels is smaller than this share of
        the deviation of all labels.
    prune : bool, default=True
        Whether to replace a subtree by a linear model with no larger expected error.
    smoothing : float >= 0, default=15
        Weight of the parent model, as a number of rows, when it is averaged with the model of its
        child. 0: no smoothing.

    Attributes
    ----------
    nodes_ : ModelNodes
        Splits of the nodes and models of the leaves.
    n_leaves_ : int
        Number of leaves.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Growing a level costs O(N d log N). A node of n rows whose subtree uses p features costs O(n p^2
    + p^3). Memory is O(N d + d^2). Equal rows are merged, so the order of the rows does not change
    the tree, and a weight is exactly equivalent to repeating the row. CSR rows are made dense.
    Thresholds separate values in float32.

    Differs from [1]_ and [2]_: splits minimise the variance within the children, as scikit-learn's
    trees do, instead of the standard deviation. Errors are root mean squares, as in WEKA's M5P.
    Nominal columns and missing values are not supported.

    Composition: columns of X x pointwise squared loss x regression tree with least squares at
    its nodes.

    References
    ----------
    .. [1] Quinlan, "Learning with continuous classes", AI '92.
    .. [2] Wang & Witten, "Inducing model trees for continuous classes", ECML 1997 (poster papers).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ModelTree
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.where(X[:, 0] < 0, X[:, 0], 5 - 2 * X[:, 0])
    >>> tree = ModelTree(smoothing=0).fit(X, y, qid=0)
    >>> tree.n_leaves_, tree.predict([[-0.5], [0.25]]).round(6).tolist()
    (2, [-0.5, 4.5])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "nodes_": Instance((ModelNodes,)),
        "n_leaves_": Number("i", low=1),
    }

    _limits: ClassVar[dict[str, Any]] = {"min_samples_leaf": 1}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_samples_leaf": [POSITIVE],
        "max_depth": [minimum(1), None],
        "least_deviation": [Interval(Real, 0, 1, closed="left")],
        "prune": ["boolean"],
        "smoothing": [NOT_NEGATIVE],
    }

    nodes_: ModelNodes

    def __init__(
        self,
        min_samples_leaf: float = 4,
        *,
        max_depth: int | None = None,
        least_deviation: float = 0.05,
        prune: bool = True,
        smoothing: float = 15.0,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.least_deviation = least_deviation
        self.prune = prune
        self.smoothing = smoothing

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Any finite numbers.
        qid : array-like of shape (n_samples,), optional
            Checked, but without effect on a pointwise fit.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        data = check_fit(self, dense_within_memory(X), y, qid, sample_weight, pairs=False)
        self._set_score_name(data.y)
        merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), data.sample_weight)
        self.nodes_ = grow_models(
            data.X[merged.rows],
            data.y[merged.rows],
            merged.weight,
            min_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            least_deviation=self.least_deviation,
            prune=self.prune,
            smoothing=self.smoothing,
        )
        self.n_leaves_: int = int((self.nodes_.feature == LEAF).sum())
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Prediction of every row, shape (n_samples,), float64."""
        check_is_fitted(self)
        return self.nodes_.predict(check_rows(self, dense_within_memory(X), accept_sparse=False))
