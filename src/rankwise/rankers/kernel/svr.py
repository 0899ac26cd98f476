"""Support vector regression on the grades, used as a ranker.

Composition: kernel x absolute residuals with intercept x LIBSVM; linear kernel: x proximal Newton
steps on the columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.checks.rows import FitData, check_fit, check_validation
from rankwise.features.kernels import gamma_candidates, resolve_kernel_of_fit, searched_gamma
from rankwise.rankers.basis_expansion import BasisExpansionRanker, publish
from rankwise.rankers.kernel.kernel_features import (
    KERNEL_CONSTRAINTS,
    KernelFeatures,
)
from rankwise.rankers.pair_fit import refuse_stream
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.support_vector_path import SupportVectorPath
from rankwise.structure.rules import Number, Rule
from rankwise.tuning.penalty_search import Penalty, PenaltySearch, is_searched
from rankwise.typing import ArrayLike, Float64Array, FrameLike

# 10^-3, 10^-2, ..., 10^2.
PENALTY = Penalty("C", "C", 10.0 ** np.arange(-3, 3))


class SVRRanker(BasisExpansionRanker):
    """Support vector regression as a ranker (epsilon-SVR).

    Minimises ``|f|_K^2 / 2 + C sum_i w_i max(0, |y_i - f_i - b| - epsilon)``: a sum over rows, with
    an unpenalised intercept b and the norm ``|f|_K`` of the kernel's space.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "sigmoid",
        "precomputed", or ``K(X, Z)`` that returns an array (n_x, n_z) and is called once with the
        two matrices, see :func:`rankwise.features.kernels.resolve_kernel`.
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial, sigmoid: 1 / n_features). A list, or "grid" for powers of two around
        the median width, is searched together with C and epsilon.
        "scale", "auto": scikit-learn's. Kernels without a gamma ignore it, with a warning.
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Multiplies the SUM of the losses against half the squared norm of the scores. A grid is
        searched on ``X_val`` where it is given and else by ``cv`` folds of queries; "cv" and "val"
        search 10^-3, 10^-2, ..., 10^2.
    epsilon : float >= 0 or list of floats, default=0.1
        Residuals up to it cost nothing, in units of y. A list is searched. Take less than half the
        distance between grades: beyond it a constant may fit best, and scores are rounding.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial and sigmoid, "delta" of perceptron and stump, or
        keyword arguments of a callable.
    max_bytes : int, default=2**33
        Most memory for the kernel matrix (8 n_samples^2), which all kernels need but linear,
        polynomial, rbf and sigmoid.
    measure : str, default="nDCG@10"
        What the search optimises, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
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
    C_, epsilon_ : float
    path_ : dict with "C" of shape (n_C,) and "coef"
        Weights of the columns ``(n_C, n_features_in_)`` or of the training rows (n_C, n_samples),
        for the chosen gamma and epsilon.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        And "gamma" and "epsilon" where these are searched.
    n_iter_ : int
        Steps of the solver.
    score_name_ : str

    Warns
    -----
    ConvergenceWarning
        When the steps run out.

    Notes
    -----
    The queries of the training rows only make the folds of a search. With LIBSVM between O(N^2 d)
    and O(N^3 d) for each C; the linear kernel costs O(N d^2) a step, tens of steps, each C from the
    one before. Equal rows are merged, their weights added: a weight multiplies C, which is a
    repetition.

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

    _structure: ClassVar[dict[str, Rule]] = {
        "epsilon_": Number(low=0),
    }

    C_: float
    _penalty: ClassVar[Penalty] = PENALTY
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "C": PENALTY.constraint,
        "epsilon": [Interval(Real, 0, None, closed="left"), "array-like"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        epsilon: float | Sequence[float] = 0.1,
        *,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.epsilon = epsilon
        self.kernel_params = kernel_params
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: FrameLike,
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
        X : array-like or CSR of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel between the rows, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Grades or real-valued targets, larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, any dtype and order; None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), optional
            Repetitions of each row, >= 0: a pair weighs the product of its rows' weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val"; not used with a number and "cv".
        """
        self._validate_params()
        refuse_stream(self, X, "absolute residuals")
        limit = KernelFeatures.of(self).column_limit
        rows = check_fit(self, X, y, qid, sample_weight, pairs=False, column_limit=limit)
        validation = check_validation(self, rows, X_val, y_val, qid_val)
        self._set_score_name(rows.y)
        search = PenaltySearch.of(
            self._penalty,
            self.C,
            measure=self.measure,
            cv=self.cv,
            validation=validation,
            beside=(searched_gamma(self.kernel, self.gamma), self.epsilon),
        )
        search.check_measure(rows)
        with single_threaded_blas():
            choice = search.choose(
                (searched, *path.fit(search))
                for searched, path in self._paths(rows, search.penalties.values)
            )
        publish(self, search, choice)
        result = choice.fit.results[choice.index]
        if not result.converged and np.isfinite(result.stop_value):  # LIBSVM warns itself
            warnings.warn(
                f"SVRRanker stopped after {result.n_iter} steps with a duality gap of "
                f"{result.stop_value:.2g} of the objective, above tol={self.tol:g} times 0.01. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _paths(
        self, rows: FitData, C: Float64Array
    ) -> Iterator[tuple[dict[str, Any], SupportVectorPath]]:
        """One path for each width and each epsilon."""
        epsilons = np.atleast_1d(np.asarray(self.epsilon, dtype=np.float64))
        if epsilons.ndim != 1 or not epsilons.size or not (epsilons >= 0).all():
            raise ValueError(
                f"epsilon must be a number >= 0 or a list of them, got {self.epsilon!r}."
            )
        limits = self.tol, self.max_iter, self.max_bytes
        widths = searched_gamma(self.kernel, self.gamma)
        for gamma in gamma_candidates(rows.X, self.kernel, self.gamma):
            kernel = resolve_kernel_of_fit(self.kernel, rows, gamma, self.kernel_params)
            for epsilon in epsilons.tolist():
                given = {"gamma": (widths, gamma), "epsilon": (self.epsilon, epsilon)}
                searched = {name: value for name, (of, value) in given.items() if is_searched(of)}
                yield searched, SupportVectorPath(rows, kernel, C, epsilon, *limits)
