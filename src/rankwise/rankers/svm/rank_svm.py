"""RankSVM: hinges over the pairs of a query, in time that does not grow with the pairs.

Composition: columns or kernel x hinge over pairs of distinct grades x truncated Newton steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.pair_weights import PAIR_WEIGHTS, PairWeight
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.kernel.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KernelFeatures,
)
from rankwise.rankers.pair_fit import C_OF_PAIRS, SOLVER_STRUCTURE, fit_pairs, refuse_stream
from rankwise.solvers.newton.hinge_newton import HingeNewton
from rankwise.solvers.newton.score_newton import ScoreNewton
from rankwise.structure.rules import Rule
from rankwise.typing import ArrayLike, FrameLike

SOLVERS = {"squared_hinge": ScoreNewton, "hinge": HingeNewton}


class RankSVM(BasisExpansionRanker):
    """Support vector machine over the pairs of each query, linear or with a kernel (RankSVM).

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{i,j: y_i > y_j} w_ij h(d_ij - (f_i - f_j))``, a sum
    over pairs, with ``h(s) = max(0, s)^2`` or ``max(0, s)`` (``loss``), the margin ``d_ij`` of 1 or
    ``y_i - y_j`` and the norm ``|f|`` of the coefficients or of the kernel's space.

    Parameters
    ----------
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Multiplies the SUM over pairs against half the squared norm of the scores. A grid is
        searched on ``X_val`` where it is given and else by ``cv`` folds of queries; "cv" and "val"
        search 10^-5, 10^-4.5, ..., 10^2.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The hinge is reached through ever sharper bends and takes several times the time.
    kernel : str or callable, default='linear'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or ``K(X,
        Z)`` that returns an array (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. It must be positive semidefinite, if
        only on coefficients that sum to 0 in each query.
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance (laplacian: 1 / median L1
        distance; polynomial: 1 / n_features). A list, or "grid" for powers of two around the median
        width, is searched together with C.
        "scale", "auto": scikit-learn's. Kernels without a gamma ignore it, with a warning.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair with labels a > b. None: 1. "difference": a - b. "gain": 2^a - 2^b.
        "power": a^(a - b). "product": a (a - b). A function gets the arrays of upper and lower
        labels and returns weights >= 0.
    margin : {"unit", "difference"}, default="unit"
        Difference of the scores that costs nothing: 1, or that of the labels.
    query_weight : {"pair", "document", "query"}, default="pair"
        A query of m rows weighs 1, 1 / m or 1 / m^2.
    kernel_params : dict, optional
        "degree" and "coef0" of the polynomial, "delta" of perceptron and stump, or keyword
        arguments of a callable.
    approximation : {"nystroem"} or None, default=None
        None: exact. "nystroem": on the columns of ``n_landmarks`` landmarks.
    n_landmarks : int, default=1000
    max_bytes : int, default=2**33
        Most memory for the matrices of an exact kernel model.
    measure : str, default="nDCG@10"
        What the search optimises, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
    tol : float > 0, default=1e-4
        Largest duality gap as a share of the objective.
    max_iter : int, default=1000
        Newton steps for each C.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the columns (linear kernel).
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
    For N rows and K distinct labels a step costs O(N d + N log N + N K) for each of a handful of
    products, five to twenty steps for each C, whatever the number of pairs [1]_; with an exact
    kernel d is the rank of its matrix, whose factor costs O(N^3). Columns of very different scale
    take a few times as many products. Dense columns far from zero, such as a Unix time, are centred
    within queries in a copy of X, which leaves the objective unchanged.

    References
    ----------
    .. [1] Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26 (2014).
    .. [2] Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
    .. [3] Herbrich, Graepel & Obermayer, "Large margin rank boundaries for ordinal regression",
       Advances in Large Margin Classifiers, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = RankSVM(C=10.0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    C_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    query_weight: QueryWeight
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        "C": C_OF_PAIRS.constraint,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "margin": [StrOptions({"unit", "difference"})],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        kernel: Any = "linear",
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
        *,
        pair_weight: PairWeight = None,
        margin: Literal["unit", "difference"] = "unit",
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
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.pair_weight = pair_weight
        self.margin = margin
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
        refuse_stream(self, X, "hinges")
        features = KernelFeatures.of(self)
        loss = partial(
            PairwiseHinge.of,
            pair_weight=self.pair_weight,
            by_difference=self.margin == "difference",
            query_weight=self.query_weight,
        )
        solver = SOLVERS[self.loss](self.tol, self.max_iter)
        rows, validation = (X, y, qid, sample_weight), (X_val, y_val, qid_val)
        fit_pairs(self, features, loss, solver, *rows, validation)
        return self
