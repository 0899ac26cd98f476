"""Least-squares ranking with penalised coefficients, for any kernel.

Composition: kernel columns x squared loss over all pairs x one factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.checks.rows import FitData
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.closed_form import LAM, ClosedForm
from rankwise.rankers.kernel.kernel_features import KERNEL_CONSTRAINTS
from rankwise.rankers.kernel.kernel_least_squares import FitKernel, kernel_least_squares
from rankwise.solvers.least_squares.expansion import ExpansionPath
from rankwise.solvers.least_squares.kernel_design import AnyDesign, KernelDesign
from rankwise.solvers.least_squares.path_selection import LeastSquaresPath, PathFit
from rankwise.tuning.penalty import Penalties
from rankwise.tuning.penalty_search import Path, Penalty

# No closed form leaves pairs out: every pair takes two columns with it.
PENALTY = replace(LAM, ways=("cv", "loqo", "val"))


class CLSRRank(FitKernel, BasisExpansionRanker):
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
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial, sigmoid: 1 / n_features). A list, or "grid" for powers of two around
        the median width, is searched together with the penalty.
        "scale", "auto": scikit-learn's. Kernels without a gamma ignore it, with a warning.
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

    _penalty: ClassVar[Penalty] = PENALTY
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KERNEL_CONSTRAINTS,
        "lam": PENALTY.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"landmarks"}), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
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

    def _closed_form(self) -> ClosedForm:
        loss = SquaredLoss("all", self.query_weight)
        smaller = ', or use approximation="landmarks"'
        form = kernel_least_squares(self, loss, penalise="coefficients", smaller=smaller)
        return replace(form, path=partial(coefficient_path, max_bytes=self.max_bytes))


def coefficient_path(
    rows: FitData, design: AnyDesign, loss: SquaredLoss, penalties: Penalties, *, max_bytes: int
) -> Path[PathFit]:
    """The path with penalised coefficients; of landmarks ``m`` stays the number of all rows."""
    if isinstance(design, KernelDesign):
        return ExpansionPath(rows, design, loss, penalties, "coefficients", max_bytes)
    weight = rows.sample_weight
    m = float(len(rows.y) if weight is None else weight.sum())
    scaled = Penalties(m * penalties.values, penalties.scale)
    return LeastSquaresPath(rows, design, loss, scaled)
