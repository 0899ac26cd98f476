"""Least-squares regularised ranking in the space of a kernel: LSRRank and CLSRRank.

Composition: kernel x squared loss over all pairs x one factorisation of the centred kernel.

Composition: kernel columns x squared loss over all pairs x one factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import DEFAULT_MAX_BYTES, StrOptions, minimum
from rankwise.equation import Equation
from rankwise.groups import FitData
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.closed_form import LAM, PartialFit
from rankwise.rankers.kernel.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KERNEL_CONSTRAINTS,
    kernel_least_squares,
)
from rankwise.solvers.least_squares.design import AnyDesign, KernelDesign
from rankwise.solvers.least_squares.expansion import ExpansionPath
from rankwise.solvers.least_squares.path_selection import LeastSquaresPath, PathFit
from rankwise.tuning.penalty_search import Penalties, SolutionPath


class LSRRank(PartialFit, BasisExpansionRanker):
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
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list, or "grid"
        for powers of two around the median width, is searched together with the penalty. "scale"
        and "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
    lam : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Penalty, lam > 0: factor of the squared norm of the scores; the MEAN over ordered pairs of a
        query has factor 1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv``
        folds of queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out) and
        "val" search 10^2, 10^1.5, ..., 10^-8.
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
    measure : str, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState or None, default=None
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "lam": LAM.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        lam: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        *,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
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


# Leave-pair-out has no closed form here, because each pair also removes two columns.
PENALTY = replace(LAM, ways=("cv", "loqo", "val"))


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
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial, sigmoid: 1 / n_features). A list, or "grid"
        for powers of two around the median width, is searched together with the penalty. "scale"
        and "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
    lam : float, list of floats, "cv", "loqo" or "val", default=1.0
        Penalty, lam > 0: factor of ``m |a|^2``; the MEAN over ordered pairs of a query has factor
        1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries.
        "cv", "loqo" (exact leave-one-query-out) and "val" search 10^2, 10^1.5, ..., 10^-8.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial (and sigmoid) kernel,
        "delta" of the perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"landmarks", None}, default=None
        "landmarks" expands over ``n_landmarks`` rows drawn from X instead of all rows; time is then
        linear in the number of rows. ``m`` remains the number of all rows, also in folds.
    n_landmarks : int, default=1000
        Number of landmarks.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".
    measure : str, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState or None, default=None
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
        "lam": PENALTY.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"landmarks"}), None],
        "n_landmarks": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        lam: float | Sequence[float] | Literal["cv", "loqo", "val"] = 1.0,
        *,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["landmarks"] | None = None,
        n_landmarks: int = 1000,
        query_weight: QueryWeight = "pair",
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
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
        smaller = ', or use approximation="landmarks"'
        equation = kernel_least_squares(
            self, loss, PENALTY, penalise="coefficients", smaller=smaller
        )
        return replace(equation, make_path=partial(coefficient_path, max_bytes=self.max_bytes))


def coefficient_path(
    rows: FitData, design: AnyDesign, loss: SquaredLoss, penalties: Penalties, *, max_bytes: int
) -> SolutionPath[PathFit]:
    """Path with penalised coefficients; with landmarks, ``m`` is the number of all rows."""
    if isinstance(design, KernelDesign):
        return ExpansionPath(rows, design, loss, penalties, "coefficients", max_bytes)
    weight = rows.sample_weight
    m = float(len(rows.y) if weight is None else weight.sum())
    scaled = Penalties(m * penalties.values, penalties.scale)
    return LeastSquaresPath(rows, design, loss, scaled)
