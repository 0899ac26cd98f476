"""Ranking by absolute differences: the pairwise form of support vector regression.

Composition: kernel x absolute differences over all pairs x proximal Newton steps on the dual.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.checks.parameter_constraints import NOT_NEGATIVE, POSITIVE, StrOptions, minimum
from rankwise.equation import Equation
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.pairwise_absolute import pairwise_absolute
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.kernel.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KernelFeatures,
)
from rankwise.rankers.pair_equation import SOLVER_STRUCTURE
from rankwise.solvers.newton.pairwise_absolute_path import PairwiseAbsolutePath
from rankwise.solvers.newton.proximal_newton import ProximalNewton
from rankwise.structure.rules import Rule
from rankwise.tuning.penalty_search import Penalty

# 10, 10^0.5, ..., 10^-6.
PENALTY = Penalty("lam", "lam", 10.0 ** np.arange(1, -6.5, -0.5))


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
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial: 1 / n_features). A list, or "grid" for
        powers of two around the median width, is searched together with the penalty. "scale" and
        "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
    lam : float, list of floats, "cv" or "val", default=1.0
        Penalty, lam > 0: factor of the squared norm of the scores; the MEAN over ordered pairs of a
        query has factor 1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv``
        folds of queries. "cv" and "val" search 10, 10^0.5, ..., 10^-6.
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
    measure : str, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-6
        Relative duality gap at which a solution is accepted.
    max_iter : int, default=1000
        Largest number of Newton steps for each lam.
    random_state : int, RandomState or None, default=None
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
    ``query_weight``). A step costs O(N^2 + a^3) for N rows, of which a have tied residuals, or O(N
    d^2) on d columns. Tens of steps are usual, more for a small lam. Losses are computed exactly by
    sorting.

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
        "lam": PENALTY.constraint,
        "epsilon": [NOT_NEGATIVE],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "tol": [POSITIVE],
        "max_iter": [minimum(1)],
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

    def _equation(self) -> Equation:
        loss = partial(
            pairwise_absolute, epsilon=float(self.epsilon), query_weight=self.query_weight
        )
        return Equation(
            KernelFeatures.with_landmarks(self),
            loss,
            partial(PairwiseAbsolutePath, solver=ProximalNewton(self.tol, self.max_iter)),
            PENALTY,
            needs_rows="absolute differences cannot be summed chunk by chunk",
        )
