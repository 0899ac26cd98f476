"""Least-squares ranking with penalised coefficients, for any kernel.

Composition: kernel columns x squared loss over all pairs x one factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.rows import FitData
from rankwise.features.kernel_columns import KernelColumns
from rankwise.features.landmarks import draw_landmarks
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.rankers.closed_form import ALPHA_CONSTRAINT
from rankwise.rankers.kernel.kernel_model import DEFAULT_MAX_BYTES, KERNEL_CONSTRAINTS, KernelModel
from rankwise.solvers.least_squares.design import NodeDesign
from rankwise.solvers.least_squares.expansion import Penalise
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.tuning.penalty import Penalties, Scale
from rankwise.typing import Float64Array


class CLSRRank(KernelModel):
    """Coefficient-regularised least-squares ranking, for any kernel (CLSRRank).

    Minimises ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + lam m |a|^2``
    over ``f(x) = sum_i a_i K(x, x_i)``: a mean over ordered pairs, m the number of rows, and the
    squared norm of the coefficients a. c_q is 1, 1 / W_q or 1 / W_q^2 (``query_weight``), W_q the
    sum of the query's weights, and ``S = sum_q c_q W_q^2``. K need be neither symmetric nor
    positive semidefinite.

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", "sigmoid",
        or ``K(X, Z)`` that returns an array (n_x, n_z) and is called once with the two matrices,
        see :func:`rankwise.features.kernels.resolve_kernel`.
    gamma : float > 0, list of floats, "grid" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial, sigmoid: 1 / n_features). A list, or "grid" for powers of two around
        the median width, is searched together with the penalty.
    lam : float, list of floats, "cv", "loqo" or "val", default=1.0
        lam > 0 multiplies ``m |a|^2`` against the MEAN over ordered pairs of a query. A grid is
        searched on ``X_val`` where it is given and else by ``cv`` folds of queries; "cv" and "loqo"
        (exact leave-one-query-out) and "val" search 10^2, 10^1.5, ...,
        10^-8.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial (and sigmoid), "delta" of perceptron and stump, or
        keyword arguments of a callable.
    approximation : {"landmarks", None}, default=None
        "landmarks" expands over ``n_landmarks`` rows drawn from X instead of all: time linear in
        the rows. ``m`` is then the number of all rows, also in folds.
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
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    lam_ : float
    dual_coef_ : ndarray of shape (n_samples,) or (n_landmarks,)
        Coefficients a of ``f(x) = sum_i a_i K(x, x_i)``.
    X_fit_ : ndarray or CSR of shape (n_samples or n_landmarks, n_features_in_), float64
    intercept_ : float
        0.
    kernel_, gamma_ : Kernel, float or None
    path_ : dict with "lam" of shape (n_lam,) and "coef"
    cv_results_ : dict with "lam", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Notes
    -----
    O(N^3) time and 48 N^2 bytes for N rows, O(N n^2) and O(n^2) with n landmarks. "loqo" refits for
    every query, which takes its columns with it (landmarks stay). A row of weight w stands for w
    rows that share its coefficient.

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

    _penalty: ClassVar[str] = "lam"
    _scale: ClassVar[Scale] = "lam"
    _penalise: ClassVar[Penalise] = "coefficients"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "lam": [*ALPHA_CONSTRAINT[:2], StrOptions({"cv", "loqo", "val"})],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"landmarks"}), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | Sequence[float] | Literal["grid"] | None = None,
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

    def _problem(self, data: FitData) -> Problem:
        return Problem(data.X, data.y, data.groups, data.sample_weight, "all", self.query_weight)

    def _smaller(self) -> str:
        return ', or use approximation="landmarks"'

    def _kernel_design(self, data: FitData, gamma: float | None) -> Any:
        if self.approximation is None:
            return super()._kernel_design(data, gamma)
        kernel = self._resolve(data, gamma)
        if kernel.name == "precomputed":
            raise ValueError(
                'approximation="landmarks" needs a kernel of rows, got kernel="precomputed", whose '
                "values are all there. Drop it."
            )
        rows = draw_landmarks(
            data.X, self.n_landmarks, "uniform", kernel, check_random_state(self.random_state)
        )
        return NodeDesign([KernelColumns(kernel, data.X[rows], data.X.dtype)])

    def _fit_way(
        self,
        way: str,
        design: Any,
        problem: Problem,
        penalties: Penalties,
        data: FitData,
        vali: FitData | None,
    ) -> PathFit:
        if isinstance(design, NodeDesign):
            w = data.sample_weight
            m = float(len(data.y) if w is None else w.sum())
            penalties = Penalties(m * penalties.values, penalties.scale)
        return super()._fit_way(way, design, problem, penalties, data, vali)

    def _set_model(self, design: Any, coefs: Sequence[Float64Array]) -> None:
        if not isinstance(design, NodeDesign):
            super()._set_model(design, coefs)
            return
        columns: Any = design.maps[0]
        self.kernel_, self.gamma_ = columns.kernel, columns.kernel.gamma
        self.X_fit_ = columns.landmarks.astype(np.float64, copy=False)
        self.dual_coef_, self.intercept_ = coefs[0], 0.0

    def _path_coef(self, design: Any, fit: PathFit) -> Float64Array:
        return fit.coefs[0]
