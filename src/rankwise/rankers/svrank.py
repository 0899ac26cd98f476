"""Support vectors with an absolute loss: SVRank on pairs, SVRRanker on the grades.

Composition: kernel x absolute differences over all pairs x proximal Newton steps on the dual; or
kernel x absolute residuals with intercept x LIBSVM (linear kernel: proximal Newton steps on the
columns)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import (
    DEFAULT_MAX_BYTES,
    NOT_NEGATIVE,
    POSITIVE,
    StrOptions,
    minimum,
)
from rankwise.equation import Equation, FunctionFeatures
from rankwise.features.kernels import (
    Gamma,
    Kernel,
    find_searched_gamma,
    gamma_candidates,
    resolve_kernel_of_fit,
)
from rankwise.groups import FitData
from rankwise.losses.absolute_loss import PointwiseAbsolute, pairwise_absolute
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KERNEL_CONSTRAINTS,
    ROWS_PER_LANDMARK_OF_STEPS,
    KernelFeatures,
)
from rankwise.rankers.pair_ranker import SOLVER_STRUCTURE
from rankwise.solvers.newton.proximal_newton import ProximalNewton
from rankwise.solvers.newton.score_path import PairwiseAbsolutePath
from rankwise.solvers.newton.support_vector_path import SupportVectorPath
from rankwise.structure.state_rules import Number, Rule
from rankwise.tuning import Penalty, is_searched
from rankwise.typing import Seed

# 10, 10^0.5, ..., 10^-6.
LAM_OF_PAIRS = Penalty("lam", "lam", 10.0 ** np.arange(1, -6.5, -0.5))


class SVRank(BasisExpansionRanker):
    """Ranking by epsilon-insensitive absolute differences over pairs, with a kernel (SVRank).

    Minimises ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j max(0, |r_i - r_j| - epsilon) + lam |f|_K^2``
    with residuals ``r = y - f``: a mean over ordered pairs, where ``|f|_K`` is the norm in the
    space of the kernel. c_q is 1, 1 / W_q or 1 / W_q^2 (``query_weight``), W_q is the sum of the
    query's weights, and ``S = sum_q c_q W_q^2``.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. A linear kernel is solved on the columns
        of X. The kernel must be positive semidefinite for the problem to be convex. Perceptron and
        stump kernels are suitable, because they are semidefinite for coefficients that sum to 0 in
        each query.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial: 1 / n_features). A list is searched together
        with the penalty; so are powers of two around the median width for "cv" and "val", as for
        the penalty. "scale" and "auto" are defined as in scikit-learn. Kernels without gamma ignore
        it and warn.
    lam : float, list of floats, "cv" or "val", default=1.0
        Penalty added to the MEAN over ordered pairs, lam > 0: factor of the squared norm of the
        scores. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of
        queries. "cv" and "val" search 10, 10^0.5, ..., 10^-6.
    epsilon : float >= 0, default=0.0
        Differences of residuals up to ``epsilon`` (in units of y) have no loss. If most rows share
        one grade, use about half the distance between grades. With 0, nearly equal scores would
        then be optimal, just as a median ignores a minority.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial kernel, "delta" of the
        perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem", None}, default=None
        "nystroem" approximates the kernel from ``n_landmarks`` rows drawn from X. Use it for more
        than a few thousand rows.
    n_landmarks : int, default=1000
        Number of landmarks.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-6
        Relative duality gap at which a solution is accepted.
    max_iter : int, default=1000
        Largest number of Newton steps for each lam.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    lam_ : float
        The given or chosen lam.
    objective_ : float
        Final value of the objective: mean loss over ordered pairs plus ``lam_`` times the squared
        norm.
    dual_gap_ : float
        Relative duality gap: upper bound on the relative excess of ``objective_`` over the minimum.
    n_iter_ : int
        Number of Newton steps for ``lam_``, not counting those for larger values of a grid.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients a of the score ``f(x) = sum_i a_i K(x, x_i)`` (exact models).
    X_fit_ : ndarray or CSR of shape (n_samples, n_features_in_), float64
        Training rows of the expansion.
    coef_ : ndarray of shape (n_features_in_,)
        Replaces the two attributes above if the kernel is linear.
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        Replace them if ``approximation="nystroem"``.
    intercept_ : float
        Always 0.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width.
    path_ : dict with "lam" of shape (n_lam,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "lam", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If the gap after ``max_iter`` steps is larger than ``tol``; the message gives the gap.

    Notes
    -----
    With several queries, the mean is over the ordered pairs of all queries (weighted by
    ``query_weight``). A step costs O(N^2 + a^3) for N rows, of which a have tied residuals, and 48
    N^2 bytes; or O(N d^2) on d columns or landmarks, and O(N d) memory. Tens of steps are usual,
    more for a small lam. Losses are computed exactly by sorting.

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
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "lam": LAM_OF_PAIRS.constraint,
        "epsilon": [NOT_NEGATIVE],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Gamma = None,
        *,
        lam: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        epsilon: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Seed = None,
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

    def _equation(self) -> Equation:
        loss = partial(
            pairwise_absolute, epsilon=float(self.epsilon), query_weight=self.query_weight
        )
        return Equation(
            KernelFeatures.of(self, rows_per_landmark=ROWS_PER_LANDMARK_OF_STEPS),
            loss,
            partial(PairwiseAbsolutePath, solver=ProximalNewton(self.tol, self.max_iter)),
            LAM_OF_PAIRS,
            needs_rows="absolute differences cannot be summed chunk by chunk",
        )


# 10^-3, 10^-2, ..., 10^2.
C_OF_ROWS = Penalty("C", "C", 10.0 ** np.arange(-3, 3))


class SVRRanker(BasisExpansionRanker):
    """Support vector regression as a ranker (epsilon-SVR).

    Minimises ``|f|_K^2 / 2 + C sum_i w_i max(0, |y_i - f_i - b| - epsilon)``: a sum over rows, with
    an unpenalised intercept b and the norm ``|f|_K`` of the kernel's space.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "sigmoid", "precomputed",
        or a function ``K(X, Z)`` that returns an array of shape (n_x, n_z) and is called once with
        both matrices, see :func:`rankwise.features.kernels.resolve_kernel`.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with C and epsilon; so are powers of two around the median width for "cv" and
        "val", as for C. "scale" and "auto" are defined as in scikit-learn. Kernels without gamma
        ignore it and warn.
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM of the losses; half the squared norm of the scores has factor 1. A grid is
        searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv" and "val"
        search 10^-3, 10^-2, ..., 10^2.
    epsilon : float >= 0 or list of floats, default=0.1
        Residuals up to ``epsilon`` (in units of y) have no loss. A list is searched. Use less than
        half the distance between grades; otherwise a constant may fit best, and score differences
        are rounding errors.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial and sigmoid kernels,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    max_bytes : int, default=2**33
        Memory limit for the kernel matrix (8 n_samples^2 bytes), which all kernels except linear,
        polynomial, rbf and sigmoid need.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Tolerance of the solver. LIBSVM stops when the largest violation of the optimality
        conditions, in units of y, is below ``tol``. The linear kernel with at least as many rows as
        columns stops at a relative duality gap of ``0.01 * tol``.
    max_iter : int or None, default=None
        Largest number of solver steps. None: no limit for LIBSVM, 1,000 on the columns.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients a of the score ``f(x) = sum_i a_i K(x, x_i) + b``. For "precomputed":
        coefficients of all training rows.
    X_fit_ : ndarray or CSR of shape (n_support, n_features_in_), float64
        Distinct training rows with nonzero coefficients.
    coef_ : ndarray of shape (n_features_in_,)
        Replaces the two attributes above if the kernel is linear.
    intercept_ : float
        Intercept b.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width.
    C_, epsilon_ : float
        The given or chosen C and epsilon.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Solutions for the chosen gamma and epsilon. "coef" holds weights of the columns, of shape
        ``(n_C, n_features_in_)``, or of the training rows, of shape ``(n_C, n_samples)``.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search; also "gamma" and "epsilon" if they are searched.
    n_iter_ : int
        Number of steps of the solver.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` is reached.

    Notes
    -----
    The queries of the training rows are only used to form the folds of a search. LIBSVM needs
    between O(N^2 d) and O(N^3 d) for each C, and memory for its cache of kernel values. The linear
    kernel takes tens of steps of O(N d^2), and each C starts from the previous solution. Equal rows
    are merged and their weights added: a weight multiplies C, which is equivalent to repeating the
    row.

    Differs from scikit-learn's ``SVR`` as follows. ``gamma=None`` is the median heuristic. The
    order of the rows does not matter. Rows of zero weight are dropped (with a precomputed or
    callable kernel, scikit-learn 1.9 confuses the remaining rows in this case). The linear kernel
    is solved to a given duality gap.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "C": C_OF_ROWS.constraint,
        "epsilon": [NOT_NEGATIVE, "array-like"],
        "tol": [POSITIVE],
        "max_iter": [minimum(1), None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: Gamma = None,
        *,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        epsilon: float | Sequence[float] = 0.1,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
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

    def _equation(self) -> Equation:
        make_path = partial(
            SupportVectorPath, tol=self.tol, max_iter=self.max_iter, max_bytes=self.max_bytes
        )
        return Equation(
            FunctionFeatures(
                self._tubes,
                (find_searched_gamma(self.kernel, self.gamma), self.epsilon),
                KernelFeatures.of(self).column_limit,
            ),
            PointwiseAbsolute,
            make_path,
            C_OF_ROWS,
            pairs=False,
            needs_rows="absolute residuals cannot be summed chunk by chunk",
        )

    def _tubes(self, rows: FitData) -> Iterator[tuple[dict[str, Any], tuple[Kernel, float]]]:
        """Kernels of every width with every epsilon."""
        epsilons = np.atleast_1d(np.asarray(self.epsilon, dtype=np.float64))
        if epsilons.ndim != 1 or not epsilons.size or not (epsilons >= 0).all():
            raise ValueError(
                f"epsilon must be a number >= 0 or a list of them, got {self.epsilon!r}."
            )
        widths = find_searched_gamma(self.kernel, self.gamma)
        for gamma in gamma_candidates(rows.X, self.kernel, self.gamma):
            kernel = resolve_kernel_of_fit(self.kernel, rows, gamma, self.kernel_params)
            for epsilon in epsilons.tolist():
                given = {"gamma": (widths, gamma), "epsilon": (self.epsilon, epsilon)}
                searched = {
                    name: value
                    for name, (parameter, value) in given.items()
                    if is_searched(parameter)
                }
                yield searched, (kernel, epsilon)
