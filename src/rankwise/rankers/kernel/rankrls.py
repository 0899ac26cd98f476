"""Regularised least squares over the pairs of each query, with a kernel.

Composition: kernel x squared loss over pairs x one factorisation (dual, primal, landmarks or
conjugate gradients).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.losses.laplacian import GRAPHS, QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.closed_form import ALPHA, ClosedForm, PartialFitOfColumns, fit_closed_form
from rankwise.rankers.kernel.kernel_features import APPROXIMATION_CONSTRAINTS
from rankwise.rankers.kernel.kernel_least_squares import kernel_least_squares
from rankwise.solvers.least_squares.pcg import (
    ConjugateGradientsPath,
    PreconditionedConjugateGradients,
)
from rankwise.streams.row_stream import RowStream
from rankwise.tuning.penalty_search import Penalty
from rankwise.typing import ArrayLike, FrameLike


class RankRLS(PartialFitOfColumns, BasisExpansionRanker):
    """Regularised least squares over the pairs of each query (RankRLS).

    Minimises ``sum_q c_q sum_{i<j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + alpha |f|_K^2``: a
    sum over pairs, ``|f|_K`` the norm of the kernel's space. c_q is 1, 1 / W_q or 1 / W_q^2
    (``query_weight``), W_q the sum of the query's weights.

    Parameters
    ----------
    kernel : str or callable, default='linear'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or ``K(X,
        Z)`` that returns an array (n_x, n_z), called once with both by exact models, see
        :func:`rankwise.features.kernels.resolve_kernel`. A linear kernel is solved on the columns
        of X, where there are fewer of them than rows.
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial, sigmoid: 1 / n_features). A list, or "grid" for powers of two around
        the median width, is searched together with the penalty.
        "scale", "auto": scikit-learn's. Kernels without a gamma ignore it, with a warning.
    alpha : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        alpha > 0 multiplies the squared norm of the scores against the SUM over pairs (each pair
        once). A grid is searched on ``X_val`` where it is given and else by ``cv`` folds of
        queries; "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out) and "val"
        search 2^30, 2^28, ..., 2^-20.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial (and sigmoid), "delta" of perceptron and stump, or
        keyword arguments of a callable.
    approximation : {"nystroem", "pcg", None}, default=None
        "nystroem" replaces the kernel by that of ``n_landmarks`` rows drawn from X: time linear in
        the rows. "pcg" solves the exact system for one penalty by conjugate gradients without ever
        holding the kernel.
    n_landmarks : int, default=1000
    graph : {"all", "distinct"}, default="all"
        All pairs of a query, or only those of different grades.
    query_weight : {"pair", "document", "query"}, default="pair"
        What counts the same: every pair, every document, or every query.
    tol, max_iter : float, int, default=1e-8, 500
        "pcg" stops when the residual is below ``tol`` times the right-hand side.
    max_bytes : int, default=2**33
        Most memory an exact model may take, in bytes: 48 n_samples^2, or 64 n_samples^2 for "loqo"
        and "lpo".
    measure : str, default="nDCG@10"
        What the search optimises, see :func:`rankwise.metrics.parse` ("lpo": the share of pairs
        misordered).
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    alpha_ : float
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
    path_ : dict with "alpha" of shape (n_alpha,) and "coef"
    cv_results_ : dict with "alpha", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str
    n_iter_ : int
        Steps of the conjugate gradients; 1 for the others, which are direct.

    Notes
    -----
    Linear kernel: O(N d^2 + d^3), linear in the rows. Other kernels: O(N^3) and 48 N^2 bytes
    exactly; O(N n^2 + n^3) and O(n^2) with n landmarks; "pcg": O(N^2 d) a step and O(N n) bytes.

    References
    ----------
    .. [1] Pahikkala, Tsivtsivadze, Airola, Boberg & Salakoski, "Learning to rank with pairwise
       regularized least-squares", SIGIR 2007 Workshop on Learning to Rank.
    .. [2] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
       Machine Learning 75 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = RankRLS(alpha=0.1).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    n_iter_: int
    _penalty: ClassVar[Penalty] = ALPHA
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "alpha": ALPHA.constraint,
        "graph": [StrOptions(set(GRAPHS))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "approximation": [StrOptions({"nystroem", "pcg"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        alpha: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        *,
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem", "pcg"] | None = None,
        n_landmarks: int = 1000,
        graph: Literal["all", "distinct"] = "all",
        query_weight: QueryWeight = "pair",
        tol: float = 1e-8,
        max_iter: int = 500,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
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

    def _closed_form(self) -> ClosedForm:
        loss = SquaredLoss(self.graph, self.query_weight)
        smaller = ', or use approximation="nystroem" or "pcg"'
        form = kernel_least_squares(self, loss, smaller=smaller)
        if self.approximation != "pcg" or self.kernel == "linear":
            return form
        solver = PreconditionedConjugateGradients(self.tol, self.max_iter)
        features: Any = form.features
        path = partial(ConjugateGradientsPath, landmarks=features.landmarks, solver=solver)
        return replace(form, path=path)

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
            For ``kernel="precomputed"`` the kernel between the rows, (n_samples, n_samples).
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets, larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, any dtype and order; None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), optional
            Repetitions of each row, >= 0: a pair weighs the product of its rows' weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over a list or "val"; not used with a number, "cv",
            "loqo" and "lpo".
        """
        rows, validation = (X, y, qid, sample_weight), (X_val, y_val, qid_val)
        self.n_iter_ = fit_closed_form(self, self._closed_form(), *rows, validation).n_iter
        return self
