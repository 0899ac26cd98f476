"""Ranking by absolute differences: the pairwise form of support vector regression.

Composition: kernel x absolute differences over all pairs x proximal Newton steps on the dual.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.checks.rows import check_fit, check_validation
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.rankers.basis_expansion import BasisExpansionRanker, publish
from rankwise.rankers.kernel.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KernelFeatures,
)
from rankwise.rankers.pair_fit import SOLVER_STRUCTURE, refuse_stream
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.pairwise_absolute_path import PairwiseAbsolutePath
from rankwise.solvers.newton.proximal_newton import ProximalNewton
from rankwise.structure.rules import Rule
from rankwise.tuning.penalty_search import Penalty, PenaltySearch
from rankwise.typing import ArrayLike, FrameLike

# 10, 10^0.5, ..., 10^-6.
PENALTY = Penalty("lam", "lam", 10.0 ** np.arange(1, -6.5, -0.5))


class SVRank(BasisExpansionRanker):
    """Ranking by epsilon-insensitive absolute differences over pairs, with a kernel (SVRank).

    Minimises ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j max(0, |r_i - r_j| - epsilon) + lam |f|_K^2``
    with residuals ``r = y - f``: a mean over ordered pairs, ``|f|_K`` the norm of the kernel's
    space. c_q is 1, 1 / W_q or 1 / W_q^2 (``query_weight``), W_q the sum of the query's weights,
    and ``S = sum_q c_q W_q^2``.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or ``K(X,
        Z)`` that returns an array (n_x, n_z), called once with both by exact models, see
        :func:`rankwise.features.kernels.resolve_kernel`. A linear kernel is solved on the columns
        of X. The problem is convex, so the kernel must be positive semidefinite; perceptron and
        stump, which are so on coefficients that sum to 0 in each query, are enough.
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial: 1 / n_features). A list, or "grid" for powers of two around the median
        width, is searched together with the penalty.
        "scale", "auto": scikit-learn's. Kernels without a gamma ignore it, with a warning.
    lam : float, list of floats, "cv" or "val", default=1.0
        lam > 0 multiplies the squared norm of the scores against the MEAN over ordered pairs of a
        query. A grid is searched on ``X_val`` where it is given and else by ``cv`` folds of
        queries; "cv" and "val" search 10, 10^0.5, ..., 10^-6.
    epsilon : float >= 0, default=0.0
        Differences of residuals up to it cost nothing, in units of y. Where most rows share one
        grade, take about half the distance between grades: with 0 nearly equal scores are best, as
        a median is.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial, "delta" of perceptron and stump, or keyword
        arguments of a callable.
    approximation : {"nystroem", None}, default=None
        "nystroem" replaces the kernel by that of ``n_landmarks`` rows drawn from X: for more than
        a few thousand rows.
    n_landmarks : int, default=1000
    query_weight : {"pair", "document", "query"}, default="pair"
        What counts the same: every pair, every document, or every query.
    max_bytes : int, default=2**33
        Most memory an exact model may take, in bytes: 48 n_samples^2, or 64 n_samples^2 for "loqo"
        and "lpo".
    measure : str, default="nDCG@10"
        What the search optimises, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
    tol : float > 0, default=1e-6
        Duality gap, as a share of the objective, at which a solution is accepted.
    max_iter : int, default=1000
        Newton steps for each value of lam.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    lam_ : float
    objective_ : float
        The minimum: mean loss over ordered pairs plus ``lam_`` times the squared norm.
    dual_gap_ : float
        Duality gap as a share of it: the minimum is at most this much smaller.
    n_iter_ : int
        Newton steps for ``lam_`` (after those for larger values of a grid).
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients a of ``f(x) = sum_i a_i K(x, x_i)`` (exact models).
    X_fit_ : ndarray or CSR of shape (n_samples, n_features_in_), float64
    coef_ : ndarray of shape (n_features_in_,)
        In place of the two above for the linear kernel.
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        In place of them for ``approximation="nystroem"``.
    intercept_ : float
        0.
    kernel_, gamma_ : Kernel, float or None
    path_ : dict with "lam" of shape (n_lam,) and "coef"
    cv_results_ : dict with "lam", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` steps leave a larger gap than ``tol``; with the gap.

    Notes
    -----
    Several queries: the mean over the ordered pairs of all queries (weighted as ``query_weight``
    says). A step costs O(N^2 + a^3) for N rows, a of them tied in their residuals, and there are
    tens of steps, more for small lam; O(N d^2) with d columns. Values are exact by sorting.

    References
    ----------
    .. [1] Cortes, Mohri & Rastogi, "Magnitude-preserving ranking algorithms", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import SVRank
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = SVRank(lam=0.1).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    lam_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    _penalty: ClassVar[Penalty] = PENALTY
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "lam": PENALTY.constraint,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        lam: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        epsilon: float = 0.0,
        *,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.epsilon = epsilon
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.query_weight = query_weight
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

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
        refuse_stream(self, X, "absolute differences")
        features = KernelFeatures.of(self)
        limit = features.column_limit
        rows = check_fit(self, X, y, qid, sample_weight, column_limit=limit)
        validation = check_validation(self, rows, X_val, y_val, qid_val)
        self._set_score_name(rows.y)
        search = PenaltySearch.of(
            self._penalty,
            self.lam,
            measure=self.measure,
            cv=self.cv,
            validation=validation,
            beside=features.searched,
        )
        search.check_measure(rows)
        lams, solver = search.penalties.values, ProximalNewton(self.tol, self.max_iter)
        loss = float(self.epsilon), self.query_weight
        with single_threaded_blas():
            choice = search.choose(
                (parameters, *PairwiseAbsolutePath(rows, design, lams, *loss, solver).fit(search))
                for parameters, design in features.designs(rows)
            )
        publish(self, search, choice)
        result = choice.fit.results[choice.index]
        if not result.converged:
            warnings.warn(
                f"SVRank stopped after max_iter={self.max_iter} steps at lam={self.lam_:g} with a "
                f"duality gap of {result.stop_value:.2g} of the objective, above tol={self.tol:g}. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self
