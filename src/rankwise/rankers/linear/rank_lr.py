"""RankLR: logistic regression on the differences of the pairs of a query.

Composition: columns, their products, or a kernel x logistic loss over pairs of distinct grades x
truncated Newton steps, or stochastic gradient steps on drawn pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions

from rankwise.checks.rows import FitData
from rankwise.features.products_map import ProductsMap
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.pair_weights import PAIR_WEIGHTS, PairWeight
from rankwise.rankers.kernel.kernel_model import DEFAULT_MAX_BYTES
from rankwise.rankers.kernel.kernel_ranker import APPROXIMATION_CONSTRAINTS
from rankwise.rankers.svm.pair_ranker import PairRanker
from rankwise.solvers.least_squares.design import NodeDesign
from rankwise.solvers.newton.pairwise_logistic_path import DrawnPairs, LogisticProblem
from rankwise.typing import Float64Array, Matrix, is_sparse


class ProductsDesign(NodeDesign):
    """The columns of a :class:`ProductsMap`."""


class RankLR(PairRanker):
    """Logistic regression on the pairs of each query (RankLR).

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{i,j: y_i > y_j} w_ij log(1 + exp(-(f_i - f_j)))``: a
    sum over pairs, ``|f|`` the norm of the coefficients or of the kernel's space.

    Parameters
    ----------
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Multiplies the SUM over pairs against half the squared norm of the scores. A grid is
        searched on ``X_val`` where it is given and else by ``cv`` folds of queries; "cv" and "val"
        search 10^-5, 10^-4.5, ..., 10^2.
    degree : {1, 2}, default=1
        2: on the features and the products of every two of them (linear kernel only).
    solver : {"newton", "sgd"}, default="newton"
        "newton": all pairs, to the tolerance. "sgd": ``n_steps`` pairs are drawn with the
        probability of their weight, one stochastic gradient step each, and the iterates of the
        second half are averaged: for huge queries (linear kernel, dense rows).
    n_steps : int, default=1_000_000
        Pairs drawn for each C by "sgd".
    kernel : str or callable, default='linear'
        As in :class:`RankSVM`.
    gamma : float > 0, list of floats, "grid" or None, default=None
        As in :class:`RankSVM`.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankSVM`.
    query_weight : {"pair", "document", "query"}, default="pair"
        A query of m rows weighs 1, 1 / m or 1 / m^2.
    kernel_params : dict, optional
    approximation : {"nystroem"} or None, default=None
        None: exact. "nystroem": on the columns of ``n_landmarks`` landmarks.
    n_landmarks : int, default=1000
    max_bytes : int, default=2**33
        Most memory for the matrices of an exact kernel model or the products of ``degree=2``.
    measure : str, default="nDCG@10"
        What the search optimises, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
    tol : float > 0, default=1e-4
        Of "newton": largest duality gap as a share of the objective.
    max_iter : int, default=1000
        Newton steps for each C.
    random_state : int, RandomState or None, default=None
        Draws the pairs and the landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,), or (n_features_in_ (n_features_in_ + 3) / 2,)
        Weights of the columns (linear kernel), products after the features for ``degree=2``.
    dual_coef_, X_fit_ : ndarray of shape (n_samples,), ndarray or CSR
        Coefficients and rows of ``f(x) = sum_i a_i K(x, x_i)`` (exact kernels).
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        In place of them for ``approximation="nystroem"``.
    intercept_ : float
        0.
    objective_ : float
        Value of what is minimised.
    dual_gap_ : float
        Bound on the distance of ``objective_`` from the minimum, as a share of it. If large values
        of X let rounding hide the bound, an estimate by Newton's method takes its place.
    n_iter_ : int
        Newton steps, or drawn pairs.
    C_ : float
    kernel_, gamma_ : Kernel, float or None
        Not for a linear kernel.
    path_ : dict with "C" of shape (n_C,) and "coef"
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` steps leave a larger gap than ``tol``.

    Notes
    -----
    "newton": O(N d + pairs) for each of a handful of products a step, five to twenty steps for
    each C; a pair costs a division and no exponential. "sgd": O(d) a drawn pair.

    References
    ----------
    .. [1] Sculley, "Large scale learning to rank", NIPS 2009 Workshop on Advances in Ranking.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankLR
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = RankLR(C=10.0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    n_features_in_: int
    _no_sums: ClassVar[str] = "logistic losses"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither"), "array-like", StrOptions({"cv", "val"})],
        "degree": [Options(Integral, {1, 2})],
        "solver": [StrOptions({"newton", "sgd"})],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        degree: int = 1,
        solver: Literal["newton", "sgd"] = "newton",
        *,
        n_steps: int = 1_000_000,
        kernel: Any = "linear",
        gamma: float | Sequence[float] | Literal["grid"] | None = None,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: str = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.degree = degree
        self.solver = solver
        self.n_steps = n_steps
        self.kernel = kernel
        self.gamma = gamma
        self.pair_weight = pair_weight
        self.query_weight = query_weight
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _score_problem(self) -> LogisticProblem:
        if self.solver == "newton":
            return LogisticProblem(self.pair_weight, self.query_weight, self.tol, self.max_iter)
        seed = int(check_random_state(self.random_state).randint(2**31))
        return DrawnPairs(
            self.pair_weight, self.query_weight, self.tol, self.max_iter, self.n_steps, seed
        )

    def _kernel_design(self, data: FitData, gamma: float | None) -> Any:
        if self.kernel != "linear" and (self.degree == 2 or self.solver == "sgd"):
            what = "degree=2" if self.degree == 2 else 'solver="sgd"'
            raise ValueError(
                f'{what} needs kernel="linear", got kernel={self.kernel!r}. Drop one of them.'
            )
        if self.solver == "sgd" and is_sparse(data.X) and self.degree == 1:
            raise ValueError(
                'solver="sgd" needs dense rows, got a sparse X: a step on a sparse pair would '
                'touch all columns all the same. Use solver="newton", or X.toarray().'
            )
        if self.degree == 1:
            return super()._kernel_design(data, gamma)
        products = ProductsMap(data.X.shape[1])
        needed = 8 * data.X.shape[0] * products.n_features_out
        if needed > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.max_bytes} is less than the {needed} bytes that "
                f"{products.n_features_out} products of n_samples={data.X.shape[0]} rows take. "
                "Raise max_bytes, select features, or fit fewer rows."
            )
        return ProductsDesign([products])

    def _n_coefficients(self) -> int:
        n = int(self.n_features_in_)
        return n if self.degree == 1 else ProductsMap(n).n_features_out

    def _set_model(self, design: Any, coefs: Sequence[Float64Array]) -> None:
        if not isinstance(design, ProductsDesign):
            super()._set_model(design, coefs)
            return
        self.coef_, self.intercept_ = coefs[0], 0.0

    def _scores(self, X: Matrix) -> Float64Array:
        if self.degree == 1:
            return super()._scores(X)
        return ProductsMap(self.n_features_in_).rows(X) @ self.coef_
