"""Ranking support vector machines: RankSVM on all pairs, PrunedRankSVM on selected ones.

Composition: columns or kernel x hinge over pairs of distinct grades x truncated Newton steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from rankwise.checks.parameter_constraints import DEFAULT_MAX_BYTES, FRACTION, StrOptions, minimum
from rankwise.equation import Equation
from rankwise.features.kernels import Gamma
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.losses.score_loss import PairWeight, QueryWeight
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.kernel_features import APPROXIMATION_CONSTRAINTS, KernelFeatures
from rankwise.rankers.pair_ranker import PAIR_CONSTRAINTS, SOLVER_STRUCTURE, build_pair_equation
from rankwise.runtime.constraints import check_random_state
from rankwise.solvers.newton.pair_subsets import SELECTORS, PairSelector, PrunedHinge
from rankwise.solvers.newton.score_newton import HingeNewton, ScoreNewton
from rankwise.solvers.newton.score_path import ScoreFit
from rankwise.structure.state_rules import Number, Rule
from rankwise.typing import Seed

SOLVERS: dict[str, Any] = {"squared_hinge": ScoreNewton, "hinge": HingeNewton}


class RankSVM(BasisExpansionRanker):
    """Support vector machine over the pairs of each query, linear or with a kernel (RankSVM).

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{i,j: y_i > y_j} w_ij h(d_ij - (f_i - f_j))``, a sum
    over pairs, with ``h(s) = max(0, s)^2`` or ``max(0, s)`` (``loss``), the margin ``d_ij`` of 1 or
    ``y_i - y_j`` and the norm ``|f|`` of the coefficients or of the kernel's space.

    Parameters
    ----------
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM over pairs; half the squared norm of the scores has factor 1. A grid is
        searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv" and "val"
        search 10^-5, 10^-4.5, ..., 10^2.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss h of the score differences. "hinge" is solved through a sequence of progressively
        sharper smooth hinges, which takes several times longer.
    kernel : str or callable, default='linear'
        "linear", "polynomial", "rbf", "laplacian", "perceptron", "stump", "precomputed", or a
        function ``K(X, Z)`` that returns an array of shape (n_x, n_z), see
        :func:`rankwise.features.kernels.resolve_kernel`. The kernel must be positive semidefinite,
        at least for coefficients that sum to 0 in each query.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance
        (laplacian: 1 / median L1 distance; polynomial: 1 / n_features). A list is searched together
        with C; so are powers of two around the median width for "cv" and "val", as for C. "scale"
        and "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair with labels a > b. None: 1. "difference": a - b. "gain": 2^a - 2^b.
        "power": a^(a - b). "product": a (a - b). A function receives the arrays of upper and lower
        labels and returns weights >= 0.
    margin : {"unit", "difference"}, default="unit"
        Score difference at which the loss of a pair becomes zero: 1, or the difference of the
        labels.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    kernel_params : dict, optional
        Further kernel parameters: "degree" and "coef0" of the polynomial kernel, "delta" of the
        perceptron and stump kernels, or keyword arguments of a callable.
    approximation : {"nystroem"} or None, default=None
        None: the exact kernel. "nystroem": columns computed from ``n_landmarks`` landmarks.
    n_landmarks : int, default=1000
        Number of landmarks.
    max_bytes : int, default=2**33
        Memory limit for the matrices of an exact kernel model, in bytes.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Relative duality gap at which the solver stops.
    max_iter : int, default=1000
        Largest number of Newton steps for each C.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the columns (linear kernel).
    dual_coef_, X_fit_ : ndarray of shape (n_samples,), ndarray or CSR
        Coefficients and rows of the score ``f(x) = sum_i a_i K(x, x_i)`` (exact kernels).
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        Replace them if ``approximation="nystroem"``.
    intercept_ : float
        Always 0.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative bound on the distance of ``objective_`` from the minimum. If X has such large
        values that rounding hides the bound, an estimate by Newton's method replaces it.
    n_iter_ : int
        Number of Newton steps for ``C_``.
    C_ : float
        The given or chosen C.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width. Only if the kernel is not linear.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If the gap after ``max_iter`` steps is larger than ``tol``.

    Notes
    -----
    The solver makes five to twenty steps for each C. A step takes a handful of products; for N rows
    and K distinct labels, each product costs O(N d + N log N + N K), independent of the number of
    pairs [1]_. With an exact kernel, d is the rank of the kernel matrix, whose factor costs O(N^3)
    time and O(N^2) memory; otherwise memory is O(N), in addition to the rows. Columns of very
    different scale need a few times as many products. Dense columns with large means, such as a
    Unix time, are centred within queries in a copy of X, which does not change the objective.

    References
    ----------
    .. [1] Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26 (2014).
    .. [2] Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
    .. [3] Herbrich, Graepel & Obermayer, "Large margin rank boundaries for ordinal regression",
       Advances in Large Margin Classifiers, 2000.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = RankSVM(C=0.01).fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.70 on new queries
    """

    C_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    query_weight: QueryWeight
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        **PAIR_CONSTRAINTS,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "margin": [StrOptions({"unit", "difference"})],
    }

    def __init__(
        self,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        kernel: Any = "linear",
        gamma: Gamma = None,
        pair_weight: PairWeight = None,
        margin: Literal["unit", "difference"] = "unit",
        query_weight: QueryWeight = "pair",
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.pair_weight: PairWeight = pair_weight
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

    def _equation(self) -> Equation:
        loss = partial(
            PairwiseHinge.of,
            pair_weight=self.pair_weight,
            by_difference=self.margin == "difference",
            query_weight=self.query_weight,
        )
        features = KernelFeatures.of(self, conditioned=True)
        solver = SOLVERS[self.loss](self.tol, self.max_iter)
        return build_pair_equation(features, loss, solver, "hinges")


class PrunedRankSVM(BasisExpansionRanker):
    """RankSVM on a selection of the pairs of each query (Pruned RankSVM).

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{(i,j) kept} w_ij h(d_ij - (f_i - f_j))``: a sum over
    the kept pairs, otherwise as in :class:`RankSVM`.

    Parameters
    ----------
    selector : {"random", "adjacent", "nearest", "pilot"}, default="random"
        Rule that selects pairs. "random": a ``share`` of all pairs. "adjacent": pairs with adjacent
        grades among the grades of the query. "nearest": pairs of every row with the ``n_opponents``
        nearest rows of another grade in its query, in the space of the features or of the kernel.
        "pilot": pairs that a least-squares fit on all pairs orders wrongly or within the margin.
    n_opponents : int, default=10
        Number of nearest rows for "nearest". Ties are resolved by the content of the rows.
    share : float in (0, 1], default=0.2
        Share of the pairs for "random"; the number is rounded up in each query.
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM over the kept pairs; half the squared norm of the scores has factor 1. A
        grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv"
        and "val" search 10^-5, 10^-4.5, ..., 10^2. Fewer pairs need a larger C.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss h of the score differences, as in :class:`RankSVM`.
    kernel : str or callable, default='linear'
        As in :class:`RankSVM`.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        As in :class:`RankSVM`. "scale" and "auto" are defined as in scikit-learn. Kernels without
        gamma ignore it and warn.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankSVM`.
    margin : {"unit", "difference"}, default="unit"
        As in :class:`RankSVM`.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    kernel_params : dict, optional
        Further kernel parameters, as in :class:`RankSVM`.
    approximation : {"nystroem"} or None, default=None
        As in :class:`RankSVM`.
    n_landmarks : int, default=1000
        Number of landmarks.
    max_bytes : int, default=2**33
        Memory limit for the matrices of an exact kernel model, in bytes.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Relative duality gap at which the solver stops.
    max_iter : int, default=1000
        Largest number of Newton steps for each C.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the pairs of "random" and the landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    pairs_kept_ : int
        Number of selected pairs of the training rows; equal rows count once.
    pairs_share_ : float
        Share of the selected pairs among all pairs of distinct grades.
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the columns (linear kernel).
    dual_coef_, X_fit_ : ndarray of shape (n_samples,), ndarray or CSR
        Coefficients and rows of the score ``f(x) = sum_i a_i K(x, x_i)`` (exact kernels).
    nystroem_, output_weights_ : NystroemMap, ndarray of shape (n_landmarks,)
        Replace them if ``approximation="nystroem"``.
    intercept_ : float
        Always 0.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative bound on the distance of ``objective_`` from the minimum. If X has such large
        values that rounding hides the bound, an estimate by Newton's method replaces it.
    n_iter_ : int
        Number of Newton steps for ``C_``.
    C_ : float
        The given or chosen C.
    kernel_, gamma_ : Kernel, float or None
        The kernel used and its width. Only if the kernel is not linear.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Warns
    -----
    ConvergenceWarning
        If the gap after ``max_iter`` steps is larger than ``tol``.

    Notes
    -----
    Selecting the pairs of a query of m rows takes O(m^2) once ("nearest": O(m^2 d)); a step then
    takes O(N d + kept pairs). Memory is O(N + kept pairs), and that of :class:`RankSVM` with a
    kernel. :class:`RankSVM` on all pairs needs no list of pairs, so pruning saves almost no time
    here, with or without a kernel. Pruning helps solvers whose dual has a variable for each pair:
    ``python -m benchmarks.bench_pruned_pairs`` measures such solvers.

    The default rule and share follow ``rankwise reproduce pruned-ranksvm``: OHSUMED, MQ2008,
    MovieLens and five ordinal sets, linear and RBF kernels. The rule "nearest" is worse than the
    same number of random pairs on most sets, and better only on MovieLens with the RBF kernel. The
    two other rules are never better. With at least 13 % of the pairs, random pairs are nowhere
    worse than all pairs by more than chance; with fewer pairs they are worse in some tables.

    References
    ----------
    .. [1] Lin, "Ranking algorithms", project report, 2010, names the method and its outcome; the
       rules are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PrunedRankSVM
    >>> X = np.array([[0.0], [1.0], [2.0], [0.2], [0.9]])
    >>> ranker = PrunedRankSVM("adjacent", C=10.0).fit(X, [0, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> ranker.pairs_kept_, ranker.pairs_share_
    (3, 0.75)
    """

    C_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    query_weight: QueryWeight
    _structure: ClassVar[dict[str, Rule]] = {
        **SOLVER_STRUCTURE,
        "pairs_kept_": Number("i", low=0),
        "pairs_share_": Number(low=0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankSVM._parameter_constraints,
        "selector": [StrOptions(set(SELECTORS))],
        "n_opponents": [minimum(1)],
        "share": [FRACTION],
    }

    def __init__(
        self,
        selector: Literal["random", "adjacent", "nearest", "pilot"] = "random",
        n_opponents: int = 10,
        *,
        share: float = 0.2,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        kernel: Any = "linear",
        gamma: Gamma = None,
        pair_weight: PairWeight = None,
        margin: Literal["unit", "difference"] = "unit",
        query_weight: QueryWeight = "pair",
        kernel_params: dict[str, Any] | None = None,
        approximation: Literal["nystroem"] | None = None,
        n_landmarks: int = 1000,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.selector = selector
        self.n_opponents = n_opponents
        self.share = share
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.pair_weight: PairWeight = pair_weight
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

    def _equation(self) -> Equation:
        seed = int(check_random_state(self.random_state).randint(2**31))
        loss = partial(
            PrunedHinge.of,
            selector=PairSelector(self.selector, int(self.n_opponents), float(self.share), seed),
            tol=self.tol,
            pair_weight=self.pair_weight,
            by_difference=self.margin == "difference",
            query_weight=self.query_weight,
        )
        features = KernelFeatures.of(self, conditioned=True)
        solver = SOLVERS[self.loss](self.tol, self.max_iter)
        equation = build_pair_equation(features, loss, solver, "hinges")

        def count_kept_pairs(solutions: ScoreFit[PrunedHinge]) -> dict[str, Any]:
            kept = len(solutions.loss.upper)
            return {"pairs_kept_": kept, "pairs_share_": kept / max(1, solutions.loss.n_all)}

        return replace(equation, describe=count_kept_pairs)
