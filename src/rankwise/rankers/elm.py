"""Extreme learning machines with a squared loss: PointwiseELM, PairwiseELM and ELMRank.

Composition: random nodes x pointwise squared loss or Laplacian loss x eigendecomposition of the
Gram matrix; for ELMRank, with complex penalties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rankwise.checks.column_sizes import ColumnLimit, node_limit
from rankwise.checks.parameter_constraints import DEFAULT_MAX_BYTES, Interval, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_validation
from rankwise.equation import Equation
from rankwise.features.kernels import GammaOfPath, warn_of_ignored_gamma
from rankwise.features.random_features import (
    ACTIVATIONS,
    WEIGHT_LAWS,
    Activation,
    NodeMap,
    WeightLaw,
    draw_nodes,
)
from rankwise.features.score_expansions import Expansion, NodeExpansion
from rankwise.groups import FitData, QueryGroups, RowStream
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import GRAPHS, Problem, SquaredLoss
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import (
    C_OF_SUM,
    BasisExpansionRanker,
    PartialFit,
    build_closed_form,
)
from rankwise.rankers.kernel_features import KERNEL_CONSTRAINTS, kernel_least_squares
from rankwise.rankers.streamed import (
    StreamedFeatures,
    check_folds,
    check_rereadable,
    read_head,
    stream_folds,
    stream_grams,
)
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign, ShiftedColumns
from rankwise.solvers.least_squares.stabilised import (
    C_GRID,
    LAM_GRID,
    StabilisedFit,
    complex_penalties,
    fit_row_folds,
    fit_stabilised,
    fit_streamed,
    sum_query_folds,
    sum_rows,
    sum_splits,
)
from rankwise.structure.state_rules import Instance, Plain, Rule, Sometimes, floats, forget
from rankwise.tuning import Penalty, content_folds, deal_queries, inverse, row_splits, search_way
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Seed

ELM_CONSTRAINTS: dict[str, Any] = {
    **KERNEL_CONSTRAINTS,
    "n_nodes": [Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "kernel": [*KERNEL_CONSTRAINTS["kernel"], None],
    "C": C_OF_SUM.constraint,
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True, eq=False)
class NodeFeatures(StreamedFeatures):
    """Hidden nodes before the rows are known; linear nodes are reduced to the space they span.

    The fields are parameters of the ranker. ``gamma`` and ``kernel_params`` belong to a kernel:
    ``gamma`` is ignored with a warning, and ``kernel_params`` must be empty.
    """

    n_nodes: int
    activation: str
    n_draws: int
    random_state: Any
    gamma: Any = None
    kernel_params: Mapping[str, Any] | None = None

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Column limit of the activation."""
        return node_limit(self.activation)

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], Design]]:
        """The single design of the nodes."""
        warn_of_ignored_gamma(None, self.gamma)
        if self.kernel_params:
            raise ValueError(
                f"kernel_params needs a kernel, got {self.kernel_params!r} with kernel=None. "
                "Set kernel, or remove kernel_params."
            )
        d = rows.X.shape[1]
        random_state = check_random_state(self.random_state)
        maps = [
            draw_nodes(d, self.n_nodes, self.activation, random_state) for _ in range(self.n_draws)
        ]
        if self.activation == "linear" and d + 1 < self.n_nodes:
            columns = ShiftedColumns(np.zeros(d), ones=True)
            yield {}, LinearDesign(columns, [collapsed_basis(nodes) for nodes in maps])
        else:
            yield {}, NodeDesign([nodes.astype(rows.X.dtype) for nodes in maps])


def build_elm(ranker: PointwiseELM | PairwiseELM, loss: SquaredLoss) -> Equation:
    """Equation of an extreme learning machine: nodes or kernel x this loss x the path."""
    if ranker.kernel is not None:
        return kernel_least_squares(ranker, loss, C_OF_SUM)
    nodes = NodeFeatures(
        ranker.n_nodes,
        ranker.activation,
        ranker.n_draws,
        ranker.random_state,
        ranker.gamma,
        ranker.kernel_params,
    )
    return build_closed_form(nodes, loss, C_OF_SUM)


def collapsed_basis(nodes: NodeMap) -> Float64Array:
    """Basis ``B`` of at most d + 1 columns with ``B B' = A A'`` for linear nodes ``[X 1] A``."""
    A = np.vstack([nodes.weights, nodes.biases]).astype(np.float64)
    values, vectors = np.linalg.eigh(A @ A.T)
    kept = values > 1e-14 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


class PointwiseELM(PartialFit, BasisExpansionRanker):
    """Random hidden nodes with least squares on the grades (pointwise RankELM).

    Minimises ``sum_i w_i (y_i - f_i)^2 + |b|^2 / C``, a sum over rows, for scores ``f = H b`` of
    output weights b. With a kernel, ``|f|_K^2`` replaces ``|b|^2``. The solution is
    ``b = (I/C + H'H)^-1 H'y``, computed from this system or its dual, whichever is smaller.

    Parameters
    ----------
    n_nodes : int, default=1000
        Number of hidden nodes, >= 1.
    activation : {"sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit"}
        Activation of the nodes, default "sigmoid". Linear nodes with ``n_nodes > n_features + 1``
        are solved in the (d + 1)-dimensional space that they span; predictions are the same.
    kernel : str, callable or None, default=None
        Kernel that replaces the nodes: "linear" (the columns of X), "rbf", "laplacian",
        "polynomial", "perceptron", "stump", "precomputed" or a function ``K(X, Z)``, see
        :func:`rankwise.features.kernels.resolve_kernel` (without intercept).
    C : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Factor of the SUM of squared errors, C > 0; the squared norm of the output weights has
        factor 1. A grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of
        queries. "cv", "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out, measured by
        the share of misordered pairs) and "val" search 2^-30, 2^-28, ..., 2^20.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`.
    n_draws : int, default=1
        Number of independent draws of the nodes, whose scores are averaged.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the nodes.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance.
        A list is searched together with C; so are powers of two around the median width for "cv",
        "loqo", "lpo" and "val", as for C. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    kernel_params : dict, optional
        Further kernel parameters "degree", "coef0" or "delta", or keyword arguments of a callable.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    C_ : float
        The given or chosen C.
    hidden_weights_ : ndarray of shape (n_draws, n_features_in_, n_nodes)
        Weights from the features to the hidden nodes of each draw.
    hidden_biases_ : ndarray of shape (n_draws, n_nodes)
        Biases of the hidden nodes of each draw.
    output_weights_ : ndarray of shape (n_draws, n_nodes)
        Output weights b of each draw.
    coef_, intercept_ : ndarray of shape (n_features_in_,), float
        Replace the three attributes above for a linear kernel and for linear nodes.
    dual_coef_, X_fit_, kernel_, gamma_
        Replace them for other kernels; the score is ``f(x) = sum_i dual_coef_[i] K(x, X_fit_[i])``.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Scale the features to about [0, 1]; otherwise sigmoid nodes saturate.

    For N rows and n nodes, time is O(N n^2 + n^3) and memory O(n^2), or O(N^2 n + N^3) and O(N^2)
    if N < n.

    References
    ----------
    .. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing
       Letters 39 (2014), equations 8-12.

    Examples
    --------
    >>> from rankwise import PointwiseELM
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = PointwiseELM(C="cv", random_state=0).fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.74 on new queries
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = ELM_CONSTRAINTS

    def __init__(
        self,
        n_nodes: int = 1000,
        activation: Activation = "sigmoid",
        *,
        kernel: Any = None,
        C: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        measure: MeasureLike = "nDCG@10",
        n_draws: int = 1,
        cv: Any = 5,
        random_state: Seed = None,
        gamma: GammaOfPath = None,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self.n_nodes = n_nodes
        self.activation = activation
        self.kernel = kernel
        self.C = C
        self.measure = measure
        self.n_draws = n_draws
        self.cv = cv
        self.random_state = random_state
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.max_bytes = max_bytes

    def _equation(self) -> Equation:
        return build_elm(self, SquaredLoss("pointwise"))


class PairwiseELM(PartialFit, BasisExpansionRanker):
    """Random hidden nodes with least squares over all pairs of a query (pairwise RankELM).

    Minimises ``sum_q c_q sum_{i<j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + |b|^2 / C``, a sum
    over pairs, for scores ``f = H b`` of output weights b. With a kernel, ``|f|_K^2`` replaces
    ``|b|^2``. c_q is 1, 1 / W_q or 1 / W_q^2 (``query_weight``), where W_q is the sum of the
    query's weights. The solution is ``b = (I/C + H'LH)^-1 H'Ly`` with the Laplacian L of the pairs.

    Parameters
    ----------
    n_nodes : int, default=1000
        Number of hidden nodes, >= 1.
    activation : {"sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit"}
        Activation of the nodes, default "sigmoid". Linear nodes with ``n_nodes > n_features + 1``
        are solved in the (d + 1)-dimensional space that they span; predictions are the same.
    kernel : str, callable or None, default=None
        Kernel that replaces the nodes: "linear" (the columns of X), "rbf", "laplacian",
        "polynomial", "perceptron", "stump", "precomputed" or a function ``K(X, Z)``, see
        :func:`rankwise.features.kernels.resolve_kernel` The model is then that of RankRLS.
    C : float, list of floats, "cv", "loqo", "lpo" or "val", default=1.0
        Factor of the SUM over pairs, C > 0; the squared norm of the output weights has factor 1. A
        grid is searched on ``X_val`` if it is given, otherwise with ``cv`` folds of queries. "cv",
        "loqo" (exact leave-one-query-out), "lpo" (exact leave-pair-out, measured by the share of
        misordered pairs) and "val" search 2^-30, 2^-28, ..., 2^20.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric of the search, see :func:`rankwise.metrics.parse`. The averaged scores of all
        draws are evaluated, and all draws share one C.
    graph : {"all", "distinct"}, default="all"
        Pairs in the loss: all pairs of a query, or only those with different grades.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    n_draws : int, default=1
        Number of independent draws of the nodes, whose scores are averaged.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the nodes.
    gamma : float > 0, list, "cv", "loqo", "lpo", "val", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance.
        A list is searched together with C; so are powers of two around the median width for "cv",
        "loqo", "lpo" and "val", as for C. "scale" and "auto" are defined as in scikit-learn.
        Kernels without gamma ignore it and warn.
    kernel_params : dict, optional
        Further kernel parameters "degree", "coef0" or "delta", or keyword arguments of a callable.
    max_bytes : int, default=2**33
        Memory limit of an exact model in bytes. It needs 48 n_samples^2, or 64 n_samples^2 for
        "loqo" and "lpo".

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    C_ : float
        The given or chosen C.
    hidden_weights_ : ndarray of shape (n_draws, n_features_in_, n_nodes)
        Weights from the features to the hidden nodes of each draw.
    hidden_biases_ : ndarray of shape (n_draws, n_nodes)
        Biases of the hidden nodes of each draw.
    output_weights_ : ndarray of shape (n_draws, n_nodes)
        Output weights b of each draw.
    coef_, intercept_ : ndarray of shape (n_features_in_,), float
        Replace the three attributes above for a linear kernel and for linear nodes.
    dual_coef_, X_fit_, kernel_, gamma_
        Replace them for other kernels; the score is ``f(x) = sum_i dual_coef_[i] K(x, X_fit_[i])``.
    path_ : dict with "C" of shape (n_C,) and "coef"
        Penalties and the coefficients of their models.
    cv_results_ : dict with "C", "fold_test_scores" and "mean_test_score" (after a search)
        Results of the search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Scale the features to about [0, 1]; otherwise sigmoid nodes saturate.

    For N rows and n nodes, time is O(N n^2 + n^3), which is linear in N; each further C costs
    O(n^2). Additional memory is O(n^2) for each fold. Kernels other than the linear one need O(N^3)
    time. With float32 input, nodes are computed in float32. Up to 5e10 multiplications, they are
    centred and multiplied in float64; beyond that in float32, with float64 sums over chunks
    (relative error 6e-8 in the Gram matrix).

    Differs from [1]: 1. The graph is never formed, so nodes cost O(N) instead of O(N^2). 2. Row
    weights are supported; a weight is equivalent to repeating the row.

    References
    ----------
    .. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing
       Letters 39 (2014), equations 13-20.

    Examples
    --------
    >>> from rankwise import PairwiseELM
    >>> from rankwise.datasets import load_dataset
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> train, test = fold.train, fold.test
    >>> ranker = PairwiseELM(C="cv", random_state=0).fit(train.X, train.y, qid=train.qid)
    >>> print(f"nDCG@10 {ranker.score(test.X, test.y, qid=test.qid):.2f} on new queries")
    nDCG@10 0.74 on new queries
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ELM_CONSTRAINTS,
        "graph": [StrOptions(set(GRAPHS))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        n_nodes: int = 1000,
        activation: Activation = "sigmoid",
        *,
        kernel: Any = None,
        C: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        measure: MeasureLike = "nDCG@10",
        graph: Literal["all", "distinct"] = "all",
        query_weight: QueryWeight = "pair",
        n_draws: int = 1,
        cv: Any = 5,
        random_state: Seed = None,
        gamma: GammaOfPath = None,
        kernel_params: dict[str, Any] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self.n_nodes = n_nodes
        self.activation = activation
        self.kernel = kernel
        self.C = C
        self.measure = measure
        self.graph = graph
        self.query_weight = query_weight
        self.n_draws = n_draws
        self.cv = cv
        self.random_state = random_state
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.max_bytes = max_bytes

    def _equation(self) -> Equation:
        return build_elm(self, SquaredLoss(self.graph, self.query_weight))


DEFAULT_FOLDS = 10
# Squares of penalties outside these limits overflow or underflow.
LIMITS: dict[str, Any] = {"smallest": 1e-100, "largest": 1e100, "unpenalised": True}
LAM = Penalty("lam", "lam", LAM_GRID[::-1], **LIMITS)
SECOND = Penalty("alpha", "alpha", 1 / C_GRID, **LIMITS)


class ELMRank(BasisExpansionRanker):
    """Least squares on score differences over random hidden nodes (ELMRank).

    Minimises ``(1/S) sum_q c_q sum_{i,j in q} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 + lam |b|^2``,
    a mean over ordered pairs, for scores ``f = H b`` of output weights b. c_q is 1, 1 / W_q or 1 /
    W_q^2 (``query_weight``), W_q is the sum of the query's weights, and ``S = sum_q c_q W_q^2``.
    The solution satisfies ``A b = B`` with ``A = (2/S) H'LH + lam I``, ``B = (2/S) H'Ly`` and the
    Laplacian L of the pairs. With ``alpha > 0``, b minimises ``|A b - B|^2 + alpha |b|^2``.

    Parameters
    ----------
    n_nodes : int, default=100
        Number of hidden nodes, >= 1.
    lam : float, list of floats, "cv" or "val", default=0.01
        Penalty added to the MEAN over ordered pairs, lam >= 0: factor of the squared norm of the
        output weights. With 0 and ``alpha=0`` the minimum-norm solution is used. "cv" and "val"
        search 1e-5, 1e-4, ..., 10.
    alpha : float, list of floats, "cv" or "val", default=0.0
        Penalty added to the SUM of the squared residuals of ``A b = B``, alpha >= 0: factor of the
        squared norm of the output weights. 0 solves the system directly, equation (7) of [1]. "cv"
        and "val" search 2^-1, 2^-2, ..., 2^-25, written 1/C in [1].
    activation : {"sigmoid", "gaussian", "linear", "tanh", "relu", "sine", "hardlimit"}
        Activation of the nodes, default "sigmoid".
    weight_law : {"uniform", "normal"}, default="uniform"
        Distribution of the hidden weights: U[-1, 1] or N(0, 1). Biases are drawn from U[0, 1]
        (gaussian nodes: U(0, 1]).
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal weight: every pair, every document, or every query counts the same.
    n_draws : int, default=1
        Number of independent draws of the nodes, whose scores are averaged. Each draw chooses its
        own (lam, alpha).
    cv : int, splitter or iterable of (train rows, test rows), default=10
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). Folds depend on ``random_state`` and on the content of the rows, not on their
        order. A scikit-learn splitter receives the queries as ``groups``.
    random_state : int, RandomState, Generator or None, default=None
        Seed for drawing the nodes.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    lam_, alpha_ : ndarray of shape (n_draws,)
        Given or chosen penalties of each draw.
    hidden_weights_ : ndarray of shape (n_draws, n_features_in_, n_nodes)
        Weights from the features to the hidden nodes of each draw.
    hidden_biases_ : ndarray of shape (n_draws, n_nodes)
        Biases of the hidden nodes of each draw.
    output_weights_ : ndarray of shape (n_draws, n_nodes)
        ``b`` of each draw.
    path_ : dict with "lam" (n_lam,), "alpha" (n_alpha,) and "coef"
        Grids, lam in ascending and alpha in descending order, and the solutions of all grid points,
        (n_draws, n_lam, n_alpha, n_nodes).
    cv_results_ : dict with "lam", "alpha" and "squared_error" (n_draws, n_lam, n_alpha)
        Sum of the squared errors of the held-out rows. Only after a search.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    If only one of ``lam`` and ``alpha`` is searched, the grid contains the other's single value. A
    list is searched on ``X_val`` if it is given, otherwise with ``cv`` folds. The criterion is the
    squared error over all held-out rows. For one query, the mean residual of the training rows (the
    intercept of the fold) is subtracted first; for several queries, residuals are centred within
    each query. Ties go to the first pair in the order of ``path_``.

    For N rows and n nodes, time is O(N n^2 + n^3), which is linear in N; memory is O(n^2) for each
    fold. With few rows, the whole grid and all folds are computed from one eigendecomposition for
    each draw. For 36 rows, 100 nodes, 10 folds and 175 grid points this takes about 0.3 ms, plus
    the time for the outputs of the nodes (``benchmarks/bench_elmrank.py``).

    Differs from [1]: 1. Sums over rows ``H^i`` are computed in closed form. 2. Several queries and
    row weights are supported; a weight is equivalent to repeating the row. 3. The identity matrix
    in (5) has the size of the number of nodes.

    References
    ----------
    .. [1] Chen, Peng, Zhou, Li & Pan, "Extreme learning machine for ranking: Generalization
       analysis and applications", Neural Networks 53 (2014), equations 4-8.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ELMRank
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = 10 * X[:, 0] ** 2
    >>> ranker = ELMRank(n_nodes=20, lam="cv", alpha="cv", n_draws=3, random_state=0)
    >>> ranker = ranker.fit(X, y, qid=0)
    >>> ranker.lam_.shape
    (3,)
    >>> ranker.rank(X[:3])
    array([3, 2, 1])
    """

    alpha_: Float64Array
    lam_: Float64Array

    _structure: ClassVar[dict[str, Rule]] = {
        "lam_": floats("n_draws", low=0, numbers="not NaN"),
        "alpha_": floats("n_draws", low=0, numbers="not NaN"),
        "expansion_": Instance((NodeExpansion,)),
        "path_": Plain(),
        "cv_results_": Sometimes(Plain()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_nodes": [minimum(1)],
        "lam": LAM.constraint,
        "alpha": SECOND.constraint,
        "activation": [StrOptions(set(ACTIVATIONS))],
        "weight_law": [StrOptions(set(WEIGHT_LAWS))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "n_draws": [minimum(1)],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_nodes: int = 100,
        lam: float | Sequence[float] | Literal["cv", "val"] = 0.01,
        *,
        alpha: float | Sequence[float] | Literal["cv", "val"] = 0.0,
        activation: Activation = "sigmoid",
        weight_law: WeightLaw = "uniform",
        query_weight: QueryWeight = "pair",
        n_draws: int = 1,
        cv: Any = 10,
        random_state: Seed = None,
    ) -> None:
        self.n_nodes = n_nodes
        self.lam = lam
        self.alpha = alpha
        self.activation = activation
        self.weight_law = weight_law
        self.query_weight = query_weight
        self.n_draws = n_draws
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: FrameLike | RowStream,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """For each draw, draw the nodes, solve the grid and keep the chosen solution.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), or RowStream
            Features, scaled to about [0, 1]; otherwise sigmoid nodes saturate. A stream contains
            labels, queries and weights: :func:`rankwise.streams.stream`. A search on a stream uses
            folds of queries only.
        y : array-like of shape (n_samples,); None for a stream
            Grades or real-valued targets; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Number of repetitions of each row, >= 0. A pair is weighted by the product of its rows'
            weights.
        X_val, y_val, qid_val : optional
            Validation data for the search over lists or "val". Not used with numbers or "cv".

        Raises
        ------
        ValueError
            If an argument is invalid; the message gives its name, the rule, the value and a remedy.
        """
        self._validate_params()
        forget(self)
        limit = node_limit(self.activation)
        if isinstance(X, RowStream):
            if self._grids(X_val is not None)[0] == "cv":  # reads the rows several times
                check_folds(self.cv)
                check_rereadable(X, "lam, alpha", (self.lam, self.alpha))
            data = read_head(self, X, y, qid, sample_weight, limit)
        else:
            data = check_fit(self, X, y, qid, sample_weight, pairs=False, column_limit=limit)
        vali = check_validation(self, data, X_val, y_val, qid_val)
        self._set_score_name(data.y)
        way, lam, alpha = self._grids(vali is not None)
        random_state = check_random_state(self.random_state)
        maps = [
            draw_nodes(
                data.X.shape[1], self.n_nodes, self.activation, random_state, self.weight_law
            ).astype(data.X.dtype)
            for _ in range(self.n_draws)
        ]
        seed = int(random_state.randint(2**31 - 1))
        with single_threaded_blas():
            coefs, errors = self._fit_way(
                way, data, vali, maps, complex_penalties(lam, inverse(alpha)), seed
            )
        if data.stream is not None:
            self._set_score_name(data.stream.typical_labels)
        chosen = np.zeros(self.n_draws, dtype=np.int64)
        shape = (self.n_draws, len(lam), len(alpha))
        if errors is not None:
            chosen = errors.argmin(axis=1)
            self.cv_results_: dict[str, Float64Array] = {
                "lam": lam,
                "alpha": alpha,
                "squared_error": errors.reshape(shape),
            }
        self.lam_, self.alpha_ = lam[chosen // len(alpha)], alpha[chosen % len(alpha)]
        best = [coef[place] for coef, place in zip(coefs, chosen, strict=True)]
        self.expansion_: Expansion = NodeDesign(maps).expansion(best)
        self.path_: dict[str, Float64Array] = {
            "lam": lam,
            "alpha": alpha,
            "coef": np.stack(coefs).reshape(*shape, -1),
        }
        return self

    def _fit_way(
        self,
        way: str,
        data: FitData,
        vali: FitData | None,
        maps: Sequence[NodeMap],
        penalty: Float64Array,
        seed: int,
    ) -> StabilisedFit:
        if data.stream is not None:
            every = data.stream.all_rows(self.n_nodes)
            if every is None:
                return self._fit_stream(way, data, vali, maps, penalty, seed)
            data = every
        problem = self._problem(data)
        if way != "cv":
            criterion = self._problem(vali) if way == "val" and vali is not None else None
            statistics = partial(sum_rows, problem, criterion)
        elif not (self.cv is None or isinstance(self.cv, Integral)):
            statistics = partial(sum_splits, problem, row_splits(self.cv, data))
        elif data.groups.n_queries >= (n_folds := int(self.cv or DEFAULT_FOLDS)):
            folds = deal_queries(data.groups, n_folds, seed)
            statistics = partial(sum_query_folds, problem, folds)
        else:
            folds = content_folds(data.X, data.y, n_folds, seed)
            return fit_row_folds(problem, maps, penalty, folds)
        return fit_stabilised(problem, maps, penalty, statistics)

    def _fit_stream(
        self,
        way: str,
        data: FitData,
        vali: FitData | None,
        maps: Sequence[NodeMap],
        penalty: Float64Array,
        seed: int,
    ) -> StabilisedFit:
        stream, n_folds, folds = data.stream, 1, None
        n_rows = stream.n_known
        if way == "cv":
            n_folds = int(self.cv or DEFAULT_FOLDS)
            folds, n_rows = stream_folds(stream, n_folds, seed)
        return fit_streamed(
            self._problem(data),
            maps,
            penalty,
            lambda problems, columns: stream_grams(
                stream.chunks(), problems, columns, n_folds, folds, n_rows
            ),
            self._problem(vali) if way == "val" and vali is not None else None,
        )

    def _problem(self, data: FitData) -> Problem:
        return Problem(data.X, data.y, data.groups, data.sample_weight, "all", self.query_weight)

    def _grids(self, has_validation: bool) -> tuple[str, Float64Array, Float64Array]:
        """How the penalties are chosen ("fixed", "cv" or "val"), and their grids."""
        values = {"lam": self.lam, "alpha": self.alpha}
        way = search_way(values, has_validation=has_validation)
        return way, LAM.grid(self.lam).values[::-1], SECOND.grid(self.alpha).values
