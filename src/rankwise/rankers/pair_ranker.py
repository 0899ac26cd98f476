"""Losses over pairs: their equation, RankLR, and PairRanker for any loss.

Minimise ``|f|^2 / 2 + C L(f)`` for a loss L over pairs of distinct grades. Composition: columns,
their products, or a kernel x a loss over pairs x truncated Newton steps, stochastic gradient steps
on drawn pairs, or the solver of a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.parameter_constraints import (
    DEFAULT_MAX_BYTES,
    POSITIVE,
    HasMethods,
    Hidden,
    Options,
    StrOptions,
    minimum,
)
from rankwise.equation import Designs, Equation, FeatureMap, FunctionFeatures
from rankwise.features.kernels import Gamma
from rankwise.features.score_expansions import ProductsExpansion, ProductsMap
from rankwise.groups import FitData, GroupedRows
from rankwise.losses.pair_loss import ListedPairs, PairLoss, PairwiseLogistic, check_pair_loss
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.losses.score_loss import PAIR_WEIGHTS, QUERY_WEIGHTS, AnyLoss, PairWeight, QueryWeight
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.kernel_features import (
    APPROXIMATION_CONSTRAINTS,
    KERNEL_CONSTRAINTS,
    KernelFeatures,
)
from rankwise.runtime.constraints import check_random_state
from rankwise.solvers.least_squares.design import Coefs, MapDesign
from rankwise.solvers.newton.pair_subsets import PairDescent
from rankwise.solvers.newton.score_newton import HingeNewton, ScoreNewton
from rankwise.solvers.newton.score_path import ScorePath, ScoreSolver
from rankwise.structure.state_rules import Number, Rule
from rankwise.tuning import Penalty
from rankwise.typing import Seed, is_sparse

# 10^-5, 10^-4.5, ..., 10^2.
C_OF_PAIRS = Penalty("C", "C", 10.0 ** np.arange(-5, 2.5, 0.5))
PAIR_CONSTRAINTS: dict[str, list[Any]] = {
    "C": C_OF_PAIRS.constraint,
    "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
    "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    "tol": [POSITIVE],
    "max_iter": [minimum(1)],
}
# Fitted attributes that describe the solution of an iterative solver.
SOLVER_STRUCTURE: dict[str, Rule] = {
    "n_iter_": Number("i", low=0),
    "objective_": Number(finite=False),
    "dual_gap_": Number(finite=False),
}


def build_pair_equation(
    features: FeatureMap,
    loss: Callable[[GroupedRows], AnyLoss],
    solver: ScoreSolver[AnyLoss],
    losses: str,
) -> Equation:
    """Equation of a loss over pairs; ``losses`` names what a stream cannot sum."""
    needs_rows = f"{losses} cannot be summed chunk by chunk"
    make_path = partial(ScorePath, solver=solver)
    return Equation(features, loss, make_path, C_OF_PAIRS, needs_rows=needs_rows)


NAMED_LOSSES: dict[str, Callable[..., Any]] = {
    "squared_hinge": PairwiseHinge.of,
    "hinge": PairwiseHinge.of,
    "logistic": PairwiseLogistic.of,
}


class PairRanker(BasisExpansionRanker):
    """Ranking by a loss of the score differences of pairs, which may be your own.

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{i,j: y_i > y_j} w_ij h(f_i - f_j)``, a sum over pairs,
    where ``|f|`` is the norm of the coefficients or of the kernel's space. :class:`RankSVM` (h a
    hinge) and :class:`RankLR` (h logistic) are named settings with further options.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "logistic"} or object, default="squared_hinge"
        Convex loss h. An object has the methods ``value``, ``derivative`` and
        ``second_derivative``; each receives an array of score differences, better row minus worse
        row, and returns a new array of the same shape. They are tried on differences from -50 to 50
        before the fit; an error is raised if they contradict each other.
    features : str or callable, default="linear"
        "linear" (the columns of X) or another kernel, as in :class:`RankSVM`.
    solver : {"newton", "sgd"} or object, default="newton"
        "newton": Newton steps on all pairs up to ``tol``; the loss needs a second derivative.
        "sgd": ``n_steps`` stochastic gradient steps on drawn pairs ("logistic" and "linear" only).
        An object has ``tol`` and ``path(rows, Cs)``, see
        ``rankwise.solvers.newton.score_path.ScoreSolver``.
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM over pairs; half the squared norm of the scores has factor 1. A grid is
        searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv" and "val"
        search 10^-5, 10^-4.5, ..., 10^2.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in :class:`RankSVM`.
    kernel_params : dict, optional
        Further kernel parameters, as in :class:`RankSVM`.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair, as in :class:`RankSVM`.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    n_steps : int, default=1_000_000
        Number of pairs that "sgd" draws for each C.
    max_bytes : int, default=2**33
        Memory limit for the matrices of a kernel model, in bytes.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Relative duality gap at which "newton" stops.
    max_iter : int, default=1000
        Largest number of Newton steps for each C.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing pairs.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the columns ("linear").
    dual_coef_, X_fit_ : ndarray of shape (n_samples,), ndarray or CSR
        Coefficients and rows of the score ``f(x) = sum_i a_i K(x, x_i)`` (other kernels).
    intercept_ : float
        Always 0.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        Relative bound on the distance of ``objective_`` from the minimum.
    n_iter_ : int
        Number of steps of the solver.
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
    A loss of your own lists all pairs: a step takes O(N d + pairs) time and O(pairs) memory. The
    named losses list none, see :class:`RankSVM` and :class:`RankLR`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PairRanker
    >>> class Exponential:
    ...     def value(self, difference):
    ...         return np.exp(-difference)
    ...     def derivative(self, difference):
    ...         return -np.exp(-difference)
    ...     def second_derivative(self, difference):
    ...         return np.exp(-difference)
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = PairRanker(Exponential(), C=10.0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
    """

    C_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [
            StrOptions(set(NAMED_LOSSES)),
            HasMethods(["value", "derivative"]),
            # check_pair_loss names which of the two is missing.
            Hidden(HasMethods("value")),
            Hidden(HasMethods("derivative")),
        ],
        "features": KERNEL_CONSTRAINTS["kernel"],
        "solver": [StrOptions({"newton", "sgd"}), HasMethods(["path"])],
        **{name: rule for name, rule in KERNEL_CONSTRAINTS.items() if name != "kernel"},
        **PAIR_CONSTRAINTS,
        "n_steps": [minimum(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss: Literal["squared_hinge", "hinge", "logistic"] | PairLoss = "squared_hinge",
        features: Any = "linear",
        *,
        solver: Literal["newton", "sgd"] | ScoreSolver[Any] = "newton",
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        gamma: Gamma = None,
        kernel_params: dict[str, Any] | None = None,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
        n_steps: int = 1_000_000,
        max_bytes: int = DEFAULT_MAX_BYTES,
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.loss = loss
        self.features = features
        self.solver = solver
        self.C = C
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.pair_weight: PairWeight = pair_weight
        self.query_weight = query_weight
        self.n_steps = n_steps
        self.max_bytes = max_bytes
        self.measure = measure
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def kernel(self) -> Any:
        """The kernel of the features."""
        return self.features

    def _equation(self) -> Equation:
        weights = {"pair_weight": self.pair_weight, "query_weight": self.query_weight}
        if not isinstance(self.loss, str):
            check_pair_loss(self.loss)
        solver = self._score_solver()
        if isinstance(self.loss, str):
            loss = partial(NAMED_LOSSES[self.loss], **weights)
        else:
            loss = partial(ListedPairs.of, loss=self.loss, **weights)
        solver_name = self.solver if isinstance(self.solver, str) else ""
        features = logistic_features(self, 1, solver_name)
        return build_pair_equation(features, loss, solver, "losses of pairs")

    def _score_solver(self) -> ScoreSolver[Any]:
        """The solver; raises ValueError for a loss that lacks what it needs."""
        if self.loss == "hinge" and self.solver != "newton":
            raise ValueError(
                'loss="hinge" lacks a derivative at its corner and needs solver="newton", which '
                f"takes smooth hinges instead; got solver={self.solver!r}."
            )
        if self.solver == "sgd":
            if self.loss != "logistic" or self.features != "linear":
                raise ValueError(
                    'solver="sgd" draws steps of loss="logistic" on features="linear" only, got '
                    f'loss={self.loss!r} and features={self.features!r}. Use solver="newton".'
                )
            seed = int(check_random_state(self.random_state).randint(2**31))
            return PairDescent(self.n_steps, seed)
        if not isinstance(self.solver, str):
            return self.solver
        if not isinstance(self.loss, str) and not hasattr(self.loss, "second_derivative"):
            raise ValueError(
                'solver="newton" needs a loss with a method second_derivative, which '
                f"{self.loss!r} lacks. Define it (an upper bound is enough), or pass a solver that "
                "takes gradients alone."
            )
        newton = HingeNewton if self.loss == "hinge" else ScoreNewton
        return newton(self.tol, self.max_iter)


@dataclass(frozen=True, eq=False)
class ProductsDesign(MapDesign):
    """Design with the columns of a :class:`ProductsMap`."""

    def expansion(self, coefs: Coefs) -> ProductsExpansion:
        return ProductsExpansion(self.maps[0].n_features, coefs[0])


def logistic_features(ranker: PairRanker | RankLR, degree: int, solver: str) -> FunctionFeatures:
    """Kernel, or products of every two features, in a form suitable for stochastic steps."""
    features = KernelFeatures.of(ranker, conditioned=True)

    def designs(rows: FitData) -> Designs:
        kernel, max_bytes = features.kernel, features.max_bytes
        if kernel != "linear" and (degree == 2 or solver == "sgd"):
            what = "degree=2" if degree == 2 else 'solver="sgd"'
            raise ValueError(
                f'{what} needs kernel="linear", got kernel={kernel!r}. Change one of them.'
            )
        if solver == "sgd" and is_sparse(rows.X) and degree == 1:
            raise ValueError(
                'solver="sgd" needs dense rows, got a sparse X. Use solver="newton", or pass '
                "X.toarray()."
            )
        if degree == 1:
            yield from features.designs(rows)
            return
        products = ProductsMap(rows.X.shape[1])
        needed = 8 * rows.X.shape[0] * products.n_features_out
        if needed > max_bytes:
            raise ValueError(
                f"max_bytes={max_bytes} is less than the {needed} bytes that "
                f"{products.n_features_out} products of n_samples={rows.X.shape[0]} rows need. "
                "Increase max_bytes, select features, or fit fewer rows."
            )
        yield {}, ProductsDesign([products])

    return FunctionFeatures(designs, features.searched, features.column_limit)


class RankLR(BasisExpansionRanker):
    """Logistic regression on the pairs of each query (RankLR).

    Minimises ``|f|^2 / 2 + C sum_q c_q sum_{i,j: y_i > y_j} w_ij log(1 + exp(-(f_i - f_j)))``: a
    sum over pairs, where ``|f|`` is the norm of the coefficients or of the kernel's space.

    Parameters
    ----------
    C : float > 0, list of floats, "cv" or "val", default=1.0
        Factor of the SUM over pairs; half the squared norm of the scores has factor 1. A grid is
        searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv" and "val"
        search 10^-5, 10^-4.5, ..., 10^2.
    degree : {1, 2}, default=1
        1: the features. 2: the features and the products of every two of them (linear kernel only).
    solver : {"newton", "sgd"}, default="newton"
        "newton": Newton steps on all pairs, up to ``tol``. "sgd": ``n_steps`` stochastic gradient
        steps, each on a pair drawn in proportion to its weight; the iterates of the second half are
        averaged. Use "sgd" for huge queries (linear kernel and dense rows only).
    n_steps : int, default=1_000_000
        Number of pairs that "sgd" draws for each C.
    kernel : str or callable, default='linear'
        As in :class:`RankSVM`.
    gamma : float > 0, list of floats, "cv", "val", "scale", "auto" or None, default=None
        As in :class:`RankSVM`. "scale" and "auto" are defined as in scikit-learn. Kernels without
        gamma ignore it and warn.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankSVM`.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    kernel_params : dict, optional
        Further kernel parameters, as in :class:`RankSVM`.
    approximation : {"nystroem"} or None, default=None
        None: the exact kernel. "nystroem": columns computed from ``n_landmarks`` landmarks.
    n_landmarks : int, default=1000
        Number of landmarks.
    max_bytes : int, default=2**33
        Memory limit for the matrices of an exact kernel model or for the products of ``degree=2``,
        in bytes.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    tol : float > 0, default=1e-4
        Relative duality gap at which "newton" stops.
    max_iter : int, default=1000
        Largest number of Newton steps for each C.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing pairs and landmarks.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,), or (n_features_in_ (n_features_in_ + 3) / 2,)
        Weights of the columns (linear kernel); with ``degree=2``, those of the features come before
        those of the products.
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
        Number of Newton steps or of drawn pairs.
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
    "newton" makes five to twenty steps for each C; a step takes a handful of products that cost O(N
    d + pairs). A pair costs a division and no exponential, and is not stored: memory is O(N + d),
    or 8 N^2 bytes for each matrix of an exact kernel. "sgd" costs O(d) for each drawn pair.

    References
    ----------
    .. [1] Sculley, "Large scale learning to rank", NIPS 2009 Workshop on Advances in Ranking.

    Examples
    --------
    >>> from rankwise import RankLR
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = RankLR(C=0.01).fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.71 on new queries
    """

    n_features_in_: int
    C_: float
    objective_: float
    dual_gap_: float
    n_iter_: int
    query_weight: QueryWeight
    _structure: ClassVar[dict[str, Rule]] = SOLVER_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **APPROXIMATION_CONSTRAINTS,
        **PAIR_CONSTRAINTS,
        "degree": [Options(Integral, {1, 2})],
        "solver": [StrOptions({"newton", "sgd"})],
        "n_steps": [minimum(1)],
    }

    def __init__(
        self,
        C: float | Sequence[float] | Literal["cv", "val"] = 1.0,
        degree: int = 1,
        *,
        solver: Literal["newton", "sgd"] = "newton",
        n_steps: int = 1_000_000,
        kernel: Any = "linear",
        gamma: Gamma = None,
        pair_weight: PairWeight = None,
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
        self.degree = degree
        self.solver = solver
        self.n_steps = n_steps
        self.kernel = kernel
        self.gamma = gamma
        self.pair_weight: PairWeight = pair_weight
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
            PairwiseLogistic.of, pair_weight=self.pair_weight, query_weight=self.query_weight
        )
        solver: ScoreSolver[PairwiseLogistic] = ScoreNewton(self.tol, self.max_iter)
        if self.solver == "sgd":
            seed = int(check_random_state(self.random_state).randint(2**31))
            solver = PairDescent(self.n_steps, seed)
        features = logistic_features(self, self.degree, self.solver)
        return build_pair_equation(features, loss, solver, "logistic losses")
