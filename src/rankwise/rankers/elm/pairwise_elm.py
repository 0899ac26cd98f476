"""Pairwise RankELM: random nodes, least squares over all pairs of a query.

Composition: random nodes x Laplacian loss x eigendecomposition of the Gram matrix.

References
----------
.. [1] Zong & Huang, "Learning to rank with extreme learning machine", Neural Processing Letters
   39 (2014), equations 13-20.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from rankwise.checks.max_bytes import DEFAULT_MAX_BYTES
from rankwise.checks.parameter_constraints import StrOptions
from rankwise.equation import Equation
from rankwise.features.random_nodes import Activation
from rankwise.losses.laplacian import GRAPHS, QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.basis_expansion import BasisExpansionRanker
from rankwise.rankers.elm.elm_features import ELM_CONSTRAINTS, build_elm
from rankwise.rankers.partial_fit import PartialFit


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
    measure : str, default="nDCG@10"
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
    random_state : int, RandomState or None, default=None
        Seed for drawing the nodes.
    gamma : float > 0, list of floats, "grid", "scale", "auto" or None, default=None
        Width of the kernel, as in rbf ``exp(-gamma |x - z|^2)``. None: 1 / median squared distance.
        A list, or "grid" for powers of two around the median width, is searched together with C.
        "scale" and "auto" are defined as in scikit-learn. Kernels without gamma ignore it and warn.
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
    >>> import numpy as np
    >>> from rankwise import PairwiseELM
    >>> X = np.array([[0.0], [1.0], [0.2], [0.9]])
    >>> ranker = PairwiseELM(n_nodes=20, random_state=0).fit(X, [0, 2, 0, 1], qid=[1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 2, 2])
    array([2, 1, 2, 1])
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
        kernel: Any = None,
        C: float | Sequence[float] | Literal["cv", "loqo", "lpo", "val"] = 1.0,
        measure: str = "nDCG@10",
        graph: Literal["all", "distinct"] = "all",
        query_weight: QueryWeight = "pair",
        n_draws: int = 1,
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
        gamma: float | Sequence[float] | Literal["grid", "scale", "auto"] | None = None,
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
