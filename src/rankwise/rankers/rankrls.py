"""Kernel least squares on pairs: RankRLS, MPRank, LSRRank and CLSRRank; on grades: LSSVRanker.

Composition: kernel x squared loss over pairs, or pointwise with an intercept x one factorisation
(dual, primal or landmarks) or conjugate gradients. CLSRRank penalises the coefficients of kernel
columns instead of the norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from rankwise.checks.parameter_constraints import DEFAULT_MAX_BYTES, POSITIVE, StrOptions, minimum
from rankwise.equation import Equation
from rankwise.features.kernels import GammaOfPath
from rankwise.groups import FitData
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import GRAPHS, SquaredLoss
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import ALPHA, C_OF_SUM, LAM, BasisExpansionRanker, PartialFit
from rankwise.rankers.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KERNEL_CONSTRAINTS,
    kernel_least_squares,
)
from rankwise.solvers.least_squares.design import AnyDesign, KernelDesign
from rankwise.solvers.least_squares.expansion import ConjugateGradientsPath, ExpansionPath
from rankwise.solvers.least_squares.path_selection import LeastSquaresPath, PathFit
from rankwise.tuning import Penalties, SolutionPath
from rankwise.typing import Seed


class RankRLS(PartialFit, BasisExpansionRanker):
    """Regularised least squares over the pairs of each query (RankRLS).

    Minimises ``sum_q c_q sum_{i<j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + alpha |f|_K^2``: a
    sum over pairs, where ``|f|_K`` is the norm in the space of the kernel. c_q is 1, 1 / W_q or 1 /
    W_q^2 (``query_weight``), where W_q is the sum of the query's weights.

    Parameters
    ----------
    kernel : str or callable, default='linear'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. Exact models call the function once, with
        both matrices. A linear kernel is solved on the columns of X if there are fewer columns than
        rows.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with the penalty; so are powers of two around the median width for "cv", "loqo",
        "lpo" and "val", as for the penalty. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    alpha : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty added to the SUM over pairs (each pair once), alpha > 0: factor of the squared norm
        of the scores. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds
        of queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out) and "val"
        search 2^30, 2^28, ..., 2^-20.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem", "pcg", None}, default=None
        "nystroem" approximates the kernel from ``n_landmarks`` rows drawn from X; time is then
        linear in the number of rows. "pcg" solves the exact system for a single penalty by
        conjugate gradients, without storing the kernel matrix.
    n_landmarks : int, default=1000
        Number of landmarks.
    graph : {"all", "distinct"}, default="all"
        Pairs in the loss: all pairs of a query, or only those with different grades.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    tol, max_iter : float, int, default=1e-8, 500
        "pcg" stops when the norm of the residual is below ``tol`` times that of the right-hand
        side, or after ``max_iter`` steps.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    alpha_ : float
        The given or chosen alpha.
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
    path_ : dict with "alpha" of shape (n_alpha,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "alpha", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.
    n_iter_ : int
        Number of steps of conjugate gradients; 1 for direct solvers.

    Notes
    -----
    A linear kernel takes O(N d^2 + d^3) time, which is linear in the number of rows N. For other
    kernels, exact models need O(N^3) time and 48 N^2 bytes; n landmarks need O(N n^2 + n^3) time
    and O(n^2) memory. "pcg" needs O(N^2 d) time for each step and O(N n) memory.

    References
    ----------
    .. [1] Pahikkala, Tsivtsivadze, Airola, Boberg & Salakoski, "Learning to rank with pairwise
       regularized least-squares", SIGIR 2007 Workshop on Learning to Rank.
    .. [2] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
       Machine Learning 75 (2009).

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = RankRLS(alpha="cv").fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.71 on new queries
    """

    n_iter_: int
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "alpha": ALPHA.constraint,
        "graph": [StrOptions(set(GRAPHS))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"nystroem", "pcg"}), None],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        gamma: GammaOfPath = None,
        *,
        alpha: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem", "pcg"] | None = None,
        n_landmarks: int = 1000,
        graph: Literal["all", "distinct"] = "all",
        query_weight: QueryWeight = "pair",
        tol: float = 1e-8,
        max_iter: int = 500,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.graph = graph
        self.query_weight = query_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.random_state = random_state

    def _equation(self) -> Equation:
        loss = SquaredLoss(self.graph, self.query_weight)
        equation = kernel_least_squares(self, loss, ALPHA, cheaper=("nystroem", "pcg"))
        equation = replace(equation, describe=lambda solutions: {"n_iter_": solutions.n_iter})
        if self.approximation != "pcg" or self.kernel == "linear":
            return equation
        features: Any = equation.features
        make_path = partial(
            ConjugateGradientsPath,
            landmarks=features.landmarks,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return replace(equation, make_path=make_path)


class MPRank(PartialFit, BasisExpansionRanker):
    """Magnitude-preserving ranking with squared loss (MPRank, p = 2).

    Minimises
    ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + lam |f|_K^2``: a mean
    over ordered pairs, where ``|f|_K`` is the norm in the space of the kernel. c_q is 1, 1 / W_q or
    1 / W_q^2 (``query_weight``), W_q is the sum of the query's weights, and
    ``S = sum_q c_q W_q^2``: m^2 for one query of m rows. The model equals that of LSRRank.

    Parameters
    ----------
    kernel : str or callable, default='linear'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. Exact models call the function once, with
        both matrices. A linear kernel is solved on the columns of X if there are fewer columns than
        rows.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with the penalty; so are powers of two around the median width for "cv", "loqo",
        "lpo" and "val", as for the penalty. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    lam : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty added to the MEAN over ordered pairs, lam >= 0: factor of the squared norm of the
        scores. [1] multiplies that mean by ``C = 1/lam`` instead. A grid is searched on ``X_val``
        if it is given, otherwise with ``cv`` folds of queries. "cv", "loqo" (exact
        leave-one-query-out), "lpo" (exact leave-pair-out) and "val" search 10^2, 10^1.5, ...,
        10^-8.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem", None}, default=None
        "nystroem" approximates the kernel from ``n_landmarks`` rows drawn from X; time is then
        linear in the number of rows.
    n_landmarks : int, default=1000
        Number of landmarks.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    lam_ : float
        The given or chosen lam.
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

    Notes
    -----
    The minimiser equals that of :class:`LSRRank`. N rows need O(N^3) time and 48
    N^2 bytes. Time is O(N d^2) for a linear kernel on d columns, and O(N n^2) with n landmarks.

    References
    ----------
    .. [1] Cortes, Mohri & Rastogi, "Magnitude-preserving ranking algorithms", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MPRank
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = MPRank(lam=0.1).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "lam": LAM.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        gamma: GammaOfPath = None,
        *,
        lam: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.query_weight = query_weight
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.random_state = random_state

    def _equation(self) -> Equation:
        return kernel_least_squares(self, SquaredLoss("all", self.query_weight), LAM)


class LSSVRanker(PartialFit, BasisExpansionRanker):
    """Least-squares support vector regression as a ranker (LS-SVM).

    Minimises ``sum_i w_i (y_i - b - f_i)^2 + |f|_K^2 / C``: a sum over rows, with an unpenalised
    intercept b and the norm ``|f|_K`` of the kernel's space. For one query of m rows, the scores
    equal those of LSRRank with ``lam = 2 / (C m)`` up to the constant b.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. Exact models call the function once, with
        both matrices. A linear kernel is solved on the columns of X if there are fewer columns than
        rows.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with the penalty; so are powers of two around the median width for "cv", "loqo",
        "lpo" and "val", as for the penalty. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    C : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Factor of the SUM of squared errors, C > 0; the squared norm of the scores has factor 1. A
        grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv",
        "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out) and "val" search 2^-30,
        2^-28, ..., 2^20.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem", None}, default=None
        "nystroem" approximates the kernel from ``n_landmarks`` rows drawn from X; time is then
        linear in the number of rows.
    n_landmarks : int, default=1000
        Number of landmarks.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    C_ : float
        The given or chosen C.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients a of the score ``f(x) = sum_i a_i K(x, x_i)`` (exact models).
    X_fit_ : ndarray or CSR of shape (n_samples, n_features_in_), float64
        Training rows of the expansion.
    coef_ : ndarray of shape (n_features_in_,)
        Replaces the two attributes above if the kernel is linear.
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        Replace them if ``approximation="nystroem"``.
    intercept_ : float
        The unpenalised intercept b.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    N rows need O(N^3) time and 48 N^2 bytes. Queries are used by the search only.

    References
    ----------
    .. [1] Suykens & Vandewalle, "Least squares support vector machine classifiers", Neural
       Processing Letters 9 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LSSVRanker
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = LSSVRanker(C=10.0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "C": C_OF_SUM.constraint,
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: GammaOfPath = None,
        *,
        C: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.random_state = random_state

    def _equation(self) -> Equation:
        return kernel_least_squares(self, SquaredLoss("pointwise", intercept=True), C_OF_SUM)


class LSRRank(MPRank):
    """Least-squares regularised ranking in the space of a kernel (LSRRank).

    Minimises
    ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + lam |f|_K^2``: a mean
    over ordered pairs, where ``|f|_K`` is the norm in the space of the kernel. c_q is 1, 1 / W_q or
    1 / W_q^2 (``query_weight``), W_q the sum of the query's weights, and ``S = sum_q c_q W_q^2``:
    m^2 for one query of m rows.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. Exact models call the function once, with
        both matrices. A linear kernel is solved on the columns of X if there are fewer columns than
        rows.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with the penalty; so are powers of two around the median width for "cv", "loqo",
        "lpo" and "val", as for the penalty. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    lam : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty added to the MEAN over ordered pairs, lam > 0: factor of the squared norm of the
        scores. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of
        queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out) and "val"
        search 10^2, 10^1.5, ..., 10^-8.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem", None}, default=None
        "nystroem" approximates the kernel from ``n_landmarks`` rows drawn from X; time is then
        linear in the number of rows.
    n_landmarks : int, default=1000
        Number of landmarks.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    lam_ : float
        The given or chosen lam.
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

    Notes
    -----
    With several queries, the mean is over the ordered pairs of all queries (weighted by
    ``query_weight``). N rows need O(N^3) time and 48 N^2 bytes; n landmarks need O(N n^2) time and
    O(n^2) memory.

    Differs from [2] in solving the symmetric form; ``((2/m) P K + lam I)^-1 (2/m) P y`` in [2] is
    the same vector a.

    References
    ----------
    .. [1] Agarwal & Niyogi, "Generalization bounds for ranking algorithms via algorithmic
       stability", Journal of Machine Learning Research 10 (2009).
    .. [2] Chen, Pan & Li, "Learning performance of coefficient-based regularized ranking",
       Neurocomputing (2014), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import LSRRank
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = LSRRank(lam=0.1).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: GammaOfPath = None,
        *,
        lam: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            kernel, gamma, lam=lam, kernel_params=kernel_params, approximation=approximation,
            n_landmarks=n_landmarks, query_weight=query_weight, max_bytes=max_bytes,
            measure=measure, cv=cv, random_state=random_state,
        )  # fmt: skip


# Leave-pair-out has no closed form here, because each pair also removes two columns.
LAM_OF_COEFFICIENTS = replace(LAM, ways=("cv", "loqo", "val"))


class CLSRRank(BasisExpansionRanker):
    """Coefficient-regularised least-squares ranking, for any kernel (CLSRRank).

    Minimises ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + lam m |a|^2``
    over ``f(x) = sum_i a_i K(x, x_i)``: a mean over ordered pairs plus a penalty on the
    coefficients a; m is the number of rows. c_q is 1, 1 / W_q or 1 / W_q^2 (``query_weight``), W_q
    is the sum of the query's weights, and ``S = sum_q c_q W_q^2``. K need be neither symmetric nor
    positive semidefinite.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", "sigmoid",
        or a function ``K(X, Z)`` that returns an array of shape (n_x, n_z) and is called once with
        both matrices, see :func:`rankwise.features.kernels.resolve_kernel`.
    gamma : float > 0, list of floats, "cv", "loqo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list is searched
        together with the penalty; so are powers of two around the median width for "cv", "loqo" and
        "val", as for the penalty. "scale" and "auto" are defined as in scikit-learn. Kernels
        without gamma ignore it and warn.
    lam : float, list of floats, "cv", "loqo" or "val", default=1.0
        Penalty added to the MEAN over ordered pairs, lam > 0: factor of ``m |a|^2``. A grid is
        searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv", "loqo"
        (exact leave-one-query-out) and "val" search 10^2, 10^1.5, ..., 10^-8.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"landmarks", None}, default=None
        "landmarks" expands over ``n_landmarks`` rows drawn from X instead of all rows; time is then
        linear in the number of rows. ``m`` is then the number of landmarks, so that lam smooths as
        much as in the exact model.
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
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    lam_ : float
        The given or chosen lam.
    dual_coef_ : ndarray of shape (n_samples,) or (n_landmarks,)
        Coefficients a of the score ``f(x) = sum_i a_i K(x, x_i)``.
    X_fit_ : ndarray or CSR of shape (n_samples or n_landmarks, n_features_in_), float64
        Rows of the expansion.
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

    Notes
    -----
    N rows need O(N^3) time and 48 N^2 bytes; n landmarks need O(N n^2) time and O(n^2) memory.
    "loqo" refits for every query, because the columns of the query are removed too (landmarks are
    kept). A row of weight w stands for w rows that share a coefficient.

    References
    ----------
    .. [1] Chen, Pan & Li, "Learning performance of coefficient-based regularized ranking",
       Neurocomputing (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import CLSRRank
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = CLSRRank(lam=0.001).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "lam": LAM_OF_COEFFICIENTS.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"landmarks"}), None],
        "n_landmarks": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: GammaOfPath = None,
        *,
        lam: float | Sequence[float] | Literal["cv", "loqo", "val"] = 1.0,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["landmarks"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.query_weight = query_weight
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.random_state = random_state

    def _equation(self) -> Equation:
        loss = SquaredLoss("all", self.query_weight)
        equation = kernel_least_squares(
            self, loss, LAM_OF_COEFFICIENTS, penalise="coefficients", cheaper=("landmarks",)
        )
        return replace(equation, make_path=partial(coefficient_path, max_bytes=self.max_bytes))


def coefficient_path(
    rows: FitData, design: AnyDesign, loss: SquaredLoss, penalties: Penalties, *, max_bytes: int
) -> SolutionPath[PathFit]:
    """Path with penalised coefficients; with landmarks, ``m`` is their number."""
    if isinstance(design, KernelDesign):
        return ExpansionPath(rows, design, loss, penalties, "coefficients", max_bytes)
    # The penalty of a score is that of the least coefficients that give it, the inverse of the sum
    # of k(x, x_i) k(x_i, z) over the columns, times lam m. A sum over fewer columns is smaller in
    # proportion, so that the number of all rows would smooth N / n_columns times as much.
    scaled = Penalties(design.n_columns * penalties.values, penalties.scale)
    return LeastSquaresPath(rows, design, loss, scaled)
