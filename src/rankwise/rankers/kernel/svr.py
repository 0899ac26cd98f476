"""Support vector regression on the grades, used as a ranker.

Minimises ``(1/2) |f|_K^2 + C sum_i w_i max(0, |y_i - f_i - b| - epsilon)`` with an unpenalised
intercept b.

Composition: kernel x absolute residuals with intercept x LIBSVM; linear kernel: x proximal Newton
steps on the columns.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise._threads import single_threaded_blas
from rankwise.base import Ranker
from rankwise.features.kernel import Kernel
from rankwise.features.kernels import KERNELS, resolve_kernel
from rankwise.groups import QueryGroups
from rankwise.losses.pointwise_absolute import PointwiseAbsolute
from rankwise.rankers.kernel.kernel_model import DEFAULT_MAX_BYTES, SLICE_ROWS
from rankwise.solvers.merged_rows import MergedRows, merge_rows
from rankwise.solvers.proximal_newton import ProximalNewton
from rankwise.solvers.row_products import column_products
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix
from rankwise.validation import FitData, check_fit, check_rows

# LIBSVM's own kernels, which it evaluates as it needs them, and what they are called there.
_BUILT_IN = {"linear": "linear", "rbf": "rbf", "polynomial": "poly", "sigmoid": "sigmoid"}
CACHE_MEGABYTES = 500


class SVRRanker(Ranker):
    """Support vector regression as a ranker (epsilon-SVR).

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "sigmoid",
        "precomputed", or ``K(X, Z)`` that returns an array (n_x, n_z) and is called once with the
        two matrices, see :func:`rankwise.features.kernels.resolve_kernel`.
    gamma : float > 0 or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial, sigmoid: 1 / n_features).
    C : float > 0, default=1.0
        Multiplies the SUM of the losses against half the squared norm of the scores.
    epsilon : float >= 0, default=0.1
        Residuals up to it cost nothing, in units of y.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial and sigmoid, "delta" of perceptron and stump, or
        keyword arguments of a callable.
    max_bytes : int, default=2**33
        Most memory for the kernel matrix (8 n_samples^2), which all kernels need but linear,
        polynomial, rbf and sigmoid.
    tol : float > 0, default=1e-4
        Where the solver stops: LIBSVM's largest violation of the optimality conditions, in units
        of y; for the linear kernel on at least as many rows as columns the duality gap as a share
        of the objective, times 0.01.
    max_iter : int or None, default=None
        Steps of the solver. None: no limit for LIBSVM, 1,000 on the columns.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients a of ``f(x) = sum_i a_i K(x, x_i) + b`` ("precomputed": of every training row).
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), float64
        The distinct training rows whose coefficient is not zero.
    coef_ : ndarray of shape (n_features_in_,)
        In place of the two above for the linear kernel.
    intercept_ : float
    kernel_, gamma_ : Kernel, float or None
    n_iter_ : int
        Steps of the solver.
    score_name_ : str

    Warns
    -----
    ConvergenceWarning
        When the steps run out.

    Notes
    -----
    The queries of the training rows are not used. With LIBSVM between O(N^2 d) and O(N^3 d); the
    linear kernel costs O(N d^2) a step, tens of steps. Equal rows are merged, their weights
    added: a weight multiplies C, which is a repetition.

    Differs from scikit-learn's: ``gamma=None`` is the median heuristic; the order of the rows
    changes nothing; rows of zero weight are dropped (which scikit-learn 1.9 with a precomputed or
    callable kernel takes for other rows); the linear kernel is solved to a duality gap.

    References
    ----------
    .. [1] Smola & Schölkopf, "A tutorial on support vector regression", Statistics and Computing
       14 (2004).
    .. [2] Chang & Lin, "LIBSVM: a library for support vector machines", ACM Transactions on
       Intelligent Systems and Technology 2 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import SVRRanker
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = SVRRanker(C=10.0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "kernel_params": [dict, None],
        "max_bytes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | None = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        *,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        tol: float = 1e-4,
        max_iter: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.epsilon = epsilon
        self.kernel_params = kernel_params
        self.max_bytes = max_bytes
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SVRRanker:
        """Fit the regression.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel between the rows, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
        qid : array-like of shape (n_samples,), optional
            Query of each row: names the measure of ``score``, changes nothing else.
        sample_weight : array-like of shape (n_samples,), optional
            Repetitions of each row, >= 0.
        """
        self._validate_params()
        data = check_fit(self, X, y, qid, sample_weight)
        self._set_score_name(data.y)
        for name in ("coef_", "X_fit_", "dual_coef_"):
            vars(self).pop(name, None)
        self.kernel_ = self._resolve(data)
        self.gamma_ = self.kernel_.gamma
        merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), data.sample_weight)
        if self.kernel_.name == "linear" and len(merged.rows) >= data.X.shape[1]:
            self._fit_columns(data, merged)
        else:
            self._fit_rows(data, merged)
        return self

    def _resolve(self, data: FitData) -> Kernel:
        if self.kernel != "precomputed":
            return resolve_kernel(self.kernel, data.X, self.gamma, self.kernel_params)
        n = data.X.shape[0] if data.kept is None else len(data.kept)
        if data.X.shape[1] != n:
            raise ValueError(
                'kernel="precomputed" needs X of shape (n_samples, n_samples) in fit, got '
                f"{(n, data.X.shape[1])}. Pass the kernel between all training rows."
            )
        return Kernel("precomputed")

    def _fit_columns(self, data: FitData, merged: MergedRows) -> None:
        """The linear kernel on the columns of X."""
        y = data.y[merged.rows]
        loss = PointwiseAbsolute(self.C * merged.weight, float(self.epsilon))
        solver = ProximalNewton(1e-2 * self.tol, self.max_iter or 1000)
        with single_threaded_blas():
            columns = column_products(data.X, merged.indptr, merged.rows)
            (result,) = solver.path(loss, y, columns, np.array([0.5]))
        self.coef_ = np.asarray(columns.X.T @ result.x)
        scores = np.asarray(data.X @ self.coef_)[merged.rows]
        self.intercept_ = loss.intercept(y - scores)
        self.n_iter_ = result.n_iter
        if not result.converged:
            warnings.warn(
                f"SVRRanker stopped after {result.n_iter} steps with a duality gap of "
                f"{result.stop_value:.2g} of the objective, above tol={self.tol:g} times 0.01. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_rows(self, data: FitData, merged: MergedRows) -> None:
        """LIBSVM on the merged rows."""
        X, y = data.X[merged.rows].astype(np.float64), data.y[merged.rows]
        built_in = _BUILT_IN.get(self.kernel_.name)
        if self.kernel_.name == "precomputed":
            columns = merged.rows if data.kept is None else np.flatnonzero(data.kept)[merged.rows]
            given: Any = X[:, columns]
        else:
            given = self._dense(X) if built_in else self._matrix(X)
        gamma: Any = self.gamma_ or 1.0
        machine = SVR(
            kernel=built_in or "precomputed",
            gamma=gamma,
            degree=self.kernel_.degree,
            coef0=self.kernel_.coef0,
            C=self.C,
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter or -1,
            cache_size=CACHE_MEGABYTES,
        )
        machine.fit(given, y, sample_weight=merged.weight)
        dual_coef = machine.dual_coef_
        dual_coef = dual_coef.toarray() if sparse.issparse(dual_coef) else dual_coef
        self.intercept_ = float(machine.intercept_[0])
        self.n_iter_ = max(1, int(machine.n_iter_))
        support = np.asarray(machine.support_)
        self._set_expansion(data, merged, X, support, np.asarray(dual_coef).ravel())

    def _set_expansion(
        self,
        data: FitData,
        merged: MergedRows,
        X: Matrix,
        support: Any,
        dual_coef: Float64Array,
    ) -> None:
        if self.kernel_.name == "linear":
            self.coef_ = np.asarray(X[support].T @ dual_coef)
        elif self.kernel_.name == "precomputed":
            full = np.zeros(len(merged.rows))
            full[support] = dual_coef
            kept = np.ones(len(data.y), dtype=bool) if data.kept is None else data.kept
            self.dual_coef_ = np.zeros(len(kept))
            self.dual_coef_[kept] = full[merged.position] * merged.share
        else:
            self.X_fit_, self.dual_coef_ = X[support], dual_coef

    def _dense(self, X: Matrix) -> Matrix:
        """Sparse rows as an array where it fits: LIBSVM rounds its sparse products otherwise."""
        if sparse.issparse(X) and 8 * X.shape[0] * X.shape[1] <= self.max_bytes:
            return X.toarray()
        return X

    def _matrix(self, X: Matrix) -> Float64Array:
        needed = 8 * X.shape[0] ** 2
        if needed > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.max_bytes} is less than the {needed} bytes of the kernel matrix "
                f"of {X.shape[0]} distinct rows. Raise max_bytes, or use one of the kernels that "
                f"need none: {', '.join(_BUILT_IN)}."
            )
        return np.asarray(self.kernel_(X, X), dtype=np.float64)

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row; a higher score ranks higher within its query.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        X = check_rows(self, X)
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_
        X = X.astype(np.float64, copy=False)
        if self.kernel_.name == "precomputed":
            return np.asarray(X @ self.dual_coef_) + self.intercept_
        size = SLICE_ROWS if self.kernel_.function is None else max(1, X.shape[0])
        parts = [
            np.asarray(self.kernel_(X[lo : lo + size], self.X_fit_)) @ self.dual_coef_
            for lo in range(0, X.shape[0], size)
        ]
        return np.concatenate(parts) + self.intercept_
