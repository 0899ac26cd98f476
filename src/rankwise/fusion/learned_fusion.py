"""LearnedFusion: weights of systems, learnt from judged queries; export to search engines.

Also its learning curve: effectiveness by the number of judged queries, compared with a rule.

Composition of NonNegativeRanker: columns of X x squared loss over all pairs x active sets.

References
----------
.. [1] Elasticsearch reference, "RRF retriever" and "Linear retriever": ``retrievers`` with
   ``weight``.
.. [2] OpenSearch documentation, "Score ranker processor" and "Normalization processor":
   ``combination`` with ``weights``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import HasMethods, Interval, StrOptions
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.equation import Equation
from rankwise.fusion.features import check_features, feature_matrix, fusion_table
from rankwise.fusion.judged_fusion import JudgedFusion
from rankwise.fusion.rules import RANK_CONSTANT, fuse
from rankwise.fusion.run_pool import RunPool, convert_to_pool
from rankwise.groups import QueryGroups
from rankwise.losses.score_loss import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.metrics import evaluate, parse
from rankwise.metrics.measure import MeasureLike
from rankwise.rankers.basis_expansion import (
    LINEAR_STRUCTURE,
    MEAN_GRID,
    SELECTION_CONSTRAINTS,
    BasisExpansionRanker,
    ColumnFeatures,
    build_closed_form,
)
from rankwise.rankers.rankrls import LSRRank
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class, restore_on_error
from rankwise.runtime.messages import check_choice, check_whole
from rankwise.runtime.result import Result
from rankwise.solvers.least_squares.path_selection import NonNegativePath
from rankwise.structure.state_rules import Fitted, Names, Rule, require
from rankwise.tuning import DEFAULT_FOLDS, Penalty
from rankwise.typing import Float64Array, Seed

# Penalty of the default ranker if there are too few queries to choose one.
LAM_OF_FEW = 1e-6


class LearnedFusion(JudgedFusion):
    """Fusion of result lists by a ranker that learns from judged queries.

    Every document that a system returned becomes a row with features of its score or rank in each
    system (:func:`rankwise.fusion.fusion_table`). Any ranker can be fitted to the rows of the
    judged queries. The default ranker learns one weight per system for reciprocal rank fusion.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Any ranker. None: :class:`rankwise.LSRRank` with a linear kernel, or
        :class:`rankwise.fusion.NonNegativeRanker` if ``nonnegative``. Both minimise the squared
        error over the pairs of a query and weight all documents equally. The penalty with the best
        AP on five folds of queries is chosen (1e-6 for fewer than five queries).
    features : sequence of str, default=("reciprocal_rank",)
        Features of each system, see :func:`rankwise.fusion.fusion_table`.
    nonnegative : bool, default=False
        Constrain the weights to be >= 0, as search engines require. Cannot be combined with
        ``estimator``.
    unjudged : {"zero", "ignore"}, default="zero"
        Treatment of unjudged documents in ``fit``: not relevant ("zero") or left out ("ignore").
        Fused lists contain all documents.
    rank_constant : float in [0, 1e12], default=60
        Constant of "reciprocal_rank".

    Attributes
    ----------
    estimator_ : estimator
        The fitted ranker.
    systems_ : ndarray of shape (n_systems,) of str
        The systems, in the order of the features.

    Notes
    -----
    O(n) time and memory for n documents of the pool, plus one fit of the ranker.

    References
    ----------
    .. [1] Cormack, Clarke & Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual
       rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import LearnedFusion
    >>> bm25 = {"q1": {"d1": 9.5, "d2": 7.0}, "q2": {"d3": 4.0, "d1": 3.5}}
    >>> encoder = {"q1": {"d2": 0.8, "d3": 0.3}, "q2": {"d1": 0.9, "d2": 0.4}}
    >>> qrels = Qrels(np.array(["q1", "q2"]), np.array(["d2", "d1"]), np.array([1, 1]))
    >>> fusion = LearnedFusion(nonnegative=True).fit({"bm25": bm25, "encoder": encoder}, qrels)
    >>> fusion.weights_["encoder"] > fusion.weights_["bm25"]
    True
    """

    _tag = "learned"
    _structure: ClassVar[dict[str, Rule]] = {
        "systems_": Names("n_systems"),
        "estimator_": Fitted(),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "features": ["array-like", str],
        "nonnegative": ["boolean"],
        "unjudged": [StrOptions({"zero", "ignore"})],
        "rank_constant": [
            Interval(Real, RANK_CONSTANT.least, RANK_CONSTANT.largest, closed="both")
        ],
    }

    @names_its_class
    def __init__(
        self,
        estimator: Any = None,
        *,
        features: Sequence[str] = ("reciprocal_rank",),
        nonnegative: bool = False,
        unjudged: Literal["zero", "ignore"] = "zero",
        rank_constant: float = 60.0,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.nonnegative = nonnegative
        self.unjudged = unjudged
        self.rank_constant = rank_constant

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each system; the absolute values sum to 1.

        Available for linear rankers on one feature. All weights are zero if the systems carry no
        information about relevance.

        Raises
        ------
        AttributeError
            If the ranker is not linear, or there are several features.
        """
        check_is_fitted(self)
        coef = getattr(self.estimator_, "coef_", None)
        if len(self._features) > 1 or coef is None or np.shape(coef) != self.systems_.shape:
            raise AttributeError(
                f"weights_ needs a linear ranker on one feature, got "
                f"{type(self.estimator_).__name__} on {', '.join(self._features)}."
            )
        total = float(np.abs(coef).sum())
        values = coef / total if total > 0 else coef
        return dict(zip(self.systems_.tolist(), values.tolist(), strict=True))

    @property
    def _features(self) -> tuple[str, ...]:
        return check_features(self.features)

    def _select_judged(
        self, runs: Any, qrels: Qrels, systems: Sequence[str] | None
    ) -> tuple[RunPool, RankingData]:
        self._validate_params()
        if self.nonnegative and self.estimator is not None:
            raise ValueError(
                "nonnegative=True bounds the default ranker, got an estimator. Leave out one of "
                "the two, or pass estimator=NonNegativeRanker()."
            )
        pool = convert_to_pool(runs, systems)
        options = {
            "features": self._features,
            "rank_constant": self.rank_constant,
            "unjudged": self.unjudged,
        }
        return pool, fusion_table(pool, qrels, **options)

    def _learn(self, systems: Sequence[str], rows: RankingData, qrels: Qrels) -> Self:
        ranker: Any = self.estimator
        if ranker is not None:
            ranker = clone(ranker)
        else:
            options: dict[str, Any] = {"query_weight": "document", "measure": "AP"}
            lam: Any = "cv" if rows.n_queries >= DEFAULT_FOLDS else LAM_OF_FEW
            if self.nonnegative:
                ranker = NonNegativeRanker(lam, **options)
            else:
                ranker = LSRRank("linear", lam=lam, **options)
        with restore_on_error(self):
            self.estimator_: Any = ranker.fit(rows.X, rows.y, qid=rows.qid)
            self.systems_: NDArray[np.str_] = np.array(systems)
        return self

    def _scores(self, pool: RunPool) -> Float64Array:
        X = feature_matrix(pool, self._features, self.rank_constant)
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)


_LAM = Penalty("lam", "lam", MEAN_GRID, ("cv", "loqo", "val"), unpenalised=True)


class NonNegativeRanker(BasisExpansionRanker):
    """Linear ranking by least squares over pairs, with weights >= 0.

    Minimises
    ``(1/S) sum_q c_q sum_{i,j in q} ((y_i - y_j) - (x_i - x_j)'w)^2 + lam |w|^2`` over w >= 0, as
    :class:`rankwise.LSRRank` with a linear kernel does without the bound. c_q is 1, 1 / m_q or
    1 / m_q^2 for m_q rows (``query_weight``), and ``S = sum_q c_q m_q^2``.

    Parameters
    ----------
    lam : float, list of floats, "cv", "loqo" or "val", default=1.0
        Penalty added to the MEAN over ordered pairs, lam >= 0: factor of the squared norm of the
        weights. A list is searched on ``X_val`` if given and else by ``cv`` folds of queries; "cv",
        "loqo" (exact leave-one-query-out) and "val" search 10^2, 10^1.5, ..., 10^-8.
    query_weight : {"pair", "document", "query"}, default="pair"
        Unit of equal total weight: every pair, every document, or every query.
    measure : str, Measure or callable, default="nDCG@10"
        Tuning metric, see :func:`rankwise.metrics.parse`.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of folds of queries.

    Attributes
    ----------
    expansion_ : object
        Basis and weights of the scores, with a method ``scores(X)``.
    coef_ : ndarray of shape (n_features_in_,)
        All >= 0.
    intercept_ : float
        0.
    lam_ : float
    path_ : dict with "lam" of shape (n_lam,) and "coef" of shape (n_lam, n_features_in_)
    cv_results_ : dict with "lam", "fold_test_scores" and "mean_test_score" (after a search)
    score_name_ : str

    Notes
    -----
    O(N d^2) for N rows and d columns, and O(d^3) for each penalty and held-out fold; memory is
    O(d^2) for each fold. All features must point the same way: a larger value, a better document.

    References
    ----------
    .. [1] Lawson & Hanson, "Solving least squares problems", 1974, chapter 23.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.fusion import NonNegativeRanker
    >>> X, y = np.array([[0.0, 0.3], [1.0, 0.1], [2.0, 0.0]]), [0, 1, 2]
    >>> NonNegativeRanker(lam=0.0).fit(X, y, qid=0).coef_.round(6)
    array([1., 0.])
    """

    _structure: ClassVar[dict[str, Rule]] = LINEAR_STRUCTURE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "lam": _LAM.constraint,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        **SELECTION_CONSTRAINTS,
    }

    def __init__(
        self,
        lam: float | Sequence[float] | Literal["cv", "loqo", "val"] = 1.0,
        *,
        query_weight: QueryWeight = "pair",
        measure: MeasureLike = "nDCG@10",
        cv: Any = 5,
    ) -> None:
        self.lam = lam
        self.query_weight = query_weight
        self.measure = measure
        self.cv = cv

    def _equation(self) -> Equation:
        return build_closed_form(
            ColumnFeatures(False),
            SquaredLoss("all", self.query_weight),
            _LAM,
            make_path=NonNegativePath,
            needs_rows="active sets are chosen on all of them",
        )

    def _check_structure(self) -> None:
        require((self.coef_ >= 0).all(), "coef_", "be >= 0", self.coef_)


# Documents that Elasticsearch returns by default; largest constant that OpenSearch takes.
_DEFAULT_SIZE, _LARGEST_K = 10, 10_000


def hybrid_query(
    fusion: LearnedFusion,
    engine: Literal["elasticsearch", "opensearch"] = "elasticsearch",
    *,
    retrievers: Mapping[str, Any] | None = None,
    window: int = 100,
) -> dict[str, Any]:
    """Convert a fitted fusion to an Elasticsearch hybrid query or an OpenSearch pipeline.

    The engine truncates each list to its window and computes the scores of
    :meth:`LearnedFusion.fuse`: weighted reciprocal rank fusion for the feature "reciprocal_rank",
    weighted min-max scores for "min_max". Send ``json.dumps`` of the result to the engine.

    Parameters
    ----------
    fusion : LearnedFusion
        Fusion that was fitted with ``nonnegative=True`` on one of these two features.
    engine : {"elasticsearch", "opensearch"}, default="elasticsearch"
        "elasticsearch": the body of a search, with an ``rrf`` retriever with weights (9.2 and
        later) or a ``linear`` retriever (8.18 and later). "opensearch": a search pipeline with a
        ``score-ranker-processor`` with weights (3.1 and later) or a ``normalization-processor``;
        its weights are for the clauses of a ``hybrid`` query in the order of ``weights_``.
    retrievers : mapping from system name to retriever, optional
        Elasticsearch retrievers of the systems. None: a placeholder ``match_all`` query for each.
    window : int >= 1, default=100
        Length of each list in Elasticsearch (``rank_window_size``). Below 10, the query also sets
        ``size`` to ``window``, as Elasticsearch requires.

    Returns
    -------
    dict
        JSON values. For Elasticsearch, systems of weight 0 are left out. One of them is kept if an
        ``rrf`` retriever, which needs two systems, would otherwise have only one.

    Raises
    ------
    ValueError
        If a weight is negative or all are 0, the feature has no counterpart, ``rank_constant`` is
        not a whole number >= 1 (for OpenSearch also <= 10,000), ``window`` is below 1, there is
        only one system, or ``retrievers`` lacks a system.

    Notes
    -----
    Engines rank equal scores one after the other, while rankwise gives them the mean of their
    ranks. The min-max scores of engines differ from rankwise's in two cases. OpenSearch gives the
    last document of a list 0.001 instead of 0. In a list of equal scores, every document has 0 in
    rankwise, its original score in Elasticsearch, and 1 in OpenSearch.

    Examples
    --------
    >>> import json, numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import LearnedFusion, hybrid_query
    >>> runs = {"bm25": {"q": {"a": 2.0, "b": 1.0}}, "encoder": {"q": {"b": 0.9, "c": 0.4}}}
    >>> qrels = Qrels(np.array(["q", "q"]), np.array(["a", "b"]), np.array([1, 1]))
    >>> fusion = LearnedFusion(nonnegative=True).fit(runs, qrels)
    >>> pipeline = hybrid_query(fusion, "opensearch")
    >>> list(pipeline["phase_results_processors"][0])
    ['score-ranker-processor']
    """
    check_choice("engine", engine, ("elasticsearch", "opensearch"))
    check_whole("window", window, 1)
    weights = fusion.weights_
    for system, weight in weights.items():
        if weight < 0:
            raise ValueError(
                f"weights must be >= 0 for a search engine, got {weight:.4g} for {system!r}. Fit "
                "with nonnegative=True."
            )
    if len(weights) < 2:
        raise ValueError(f"weights must be of two or more systems, got {len(weights)}.")
    if not any(weights.values()):
        raise ValueError("weights are all 0: no system carries information about relevance.")
    (feature,) = fusion._features
    if feature not in ("reciprocal_rank", "min_max"):
        raise ValueError(
            f"features must be 'reciprocal_rank' or 'min_max' for a search engine, got {feature!r}."
        )
    by_rank = feature == "reciprocal_rank"
    if by_rank and (fusion.rank_constant < 1 or fusion.rank_constant != int(fusion.rank_constant)):
        raise ValueError(
            f"rank_constant must be a whole number >= 1 for a search engine, got "
            f"{fusion.rank_constant}."
        )
    if engine == "elasticsearch":
        return _elasticsearch(weights, by_rank, int(fusion.rank_constant), retrievers, window)
    if by_rank and fusion.rank_constant > _LARGEST_K:
        raise ValueError(
            f"rank_constant must be <= {_LARGEST_K} for OpenSearch, got {fusion.rank_constant:g}."
        )
    return _opensearch(weights, by_rank, int(fusion.rank_constant))


def _elasticsearch(
    weights: Mapping[str, float],
    by_rank: bool,
    k: int,
    retrievers: Mapping[str, Any] | None,
    window: int,
) -> dict[str, Any]:
    if retrievers is None:
        retrievers = {name: {"standard": {"query": {"match_all": {}}}} for name in weights}
    n_kept = max(sum(weight > 0 for weight in weights.values()), 2 if by_rank else 1)
    heaviest = sorted(weights, key=lambda name: -weights[name])[:n_kept]
    kept = [name for name in weights if name in heaviest]
    lacking = [name for name in kept if name not in retrievers]
    if lacking:
        raise ValueError(f"retrievers must have an entry for {', '.join(map(repr, lacking))}.")
    parts = [{"retriever": retrievers[name], "weight": weights[name]} for name in kept]
    size = {"size": window} if window < _DEFAULT_SIZE else {}
    if by_rank:
        body = {"retrievers": parts, "rank_constant": k, "rank_window_size": window}
        return {"retriever": {"rrf": body}, **size}
    parts = [{**part, "normalizer": "minmax"} for part in parts]
    return {"retriever": {"linear": {"retrievers": parts, "rank_window_size": window}}, **size}


def _opensearch(weights: Mapping[str, float], by_rank: bool, k: int) -> dict[str, Any]:
    parameters = {"weights": list(weights.values())}
    if by_rank:
        combination = {"technique": "rrf", "rank_constant": k, "parameters": parameters}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
    else:
        processor = {
            "normalization-processor": {
                "normalization": {"technique": "min_max"},
                "combination": {"technique": "arithmetic_mean", "parameters": parameters},
            }
        }
    return {
        "description": f"Weights of {', '.join(weights)}",
        "phase_results_processors": [processor],
    }


@dataclass(frozen=True, eq=False)
class JudgementCurve(Result):
    """Effectiveness by the number of judged queries.

    Attributes
    ----------
    n_judged : ndarray of shape (n_sizes,), int64
    learned, baseline : ndarray of shape (n_sizes, n_draws)
        Mean of the measure on the queries that were not drawn.
    measure, rule : str
    """

    _drawn = "gain"

    n_judged: NDArray[np.int64]
    learned: Float64Array
    baseline: Float64Array
    measure: str
    rule: str

    @property
    def gain(self) -> Float64Array:
        """Mean difference between learnt fusion and the rule, shape (n_sizes,)."""
        return (self.learned - self.baseline).mean(axis=1)

    @names_its_class
    def interval(self, confidence_level: float = 0.95) -> Float64Array:
        """Interval of the gain for one set of judged queries, shape (n_sizes, 2).

        The interval contains the middle ``confidence_level`` of the draws, so it shows the gain to
        expect from one set of judged queries. It is not a confidence interval of the mean.
        """
        tail = (1.0 - confidence_level) / 2
        return np.quantile(self.learned - self.baseline, [tail, 1.0 - tail], axis=1).T

    def _columns(self) -> dict[str, Any]:
        low, high = self.interval().T
        means = {"learned": self.learned.mean(axis=1), "baseline": self.baseline.mean(axis=1)}
        return {"n_judged": self.n_judged, **means, "gain": self.gain, "low": low, "high": high}

    def _heading(self) -> str:
        return f"{self.measure}, baseline {self.rule}; gain with the middle 95 % of the draws"


def learning_curve(
    fusion: LearnedFusion,
    runs: RunPool | Sequence[Any] | Mapping[str, Any],
    qrels: Qrels,
    *,
    systems: Sequence[str] | None = None,
    n_judged: Sequence[int] = (5, 10, 20, 40, 80),
    n_draws: int = 20,
    rule: str = "rrf",
    measure: MeasureLike = "AP",
    random_state: Seed = 0,
) -> JudgementCurve:
    """Measure learnt fusion as a function of the number of judged queries.

    Each draw fits the fusion on n random queries and measures it on the others.

    Parameters
    ----------
    fusion : LearnedFusion
        Cloned for each fit.
    runs : RunPool, sequence, or mapping from system name to result lists
        See :func:`rankwise.fusion.pool_runs`.
    qrels : Qrels
    systems : sequence of str, optional
        Names of the systems, see :func:`rankwise.fusion.pool_runs`.
    n_judged : sequence of int >= 1, default=(5, 10, 20, 40, 80)
        Numbers of judged queries. Each leaves at least one query to measure.
    n_draws : int >= 1, default=20
        Sets of queries drawn for each number.
    rule : str, default="rrf"
        Rule to compare with, see :func:`rankwise.fusion.fuse`.
    measure : str, Measure or callable, default="AP"
        Measured as trec_eval does.
    random_state : int, RandomState, Generator or None, default=0
        Draws the queries.

    Returns
    -------
    LearningCurve

    Raises
    ------
    ValueError
        If a number is not below the number of judged queries.

    Notes
    -----
    ``len(n_judged) * n_draws`` fits. The first draws of a larger number contain those of a smaller
    one.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import LearnedFusion, learning_curve
    >>> queries = [f"q{i}" for i in range(8)]
    >>> good = {q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in queries}
    >>> poor = {q: {"c": 3.0, "b": 2.0, "a": 1.0} for q in queries}
    >>> qrels = Qrels(np.array(queries), np.array(["a"] * 8), np.ones(8, dtype=int))
    >>> curve = learning_curve(
    ...     LearnedFusion(), {"good": good, "poor": poor}, qrels, n_judged=[2, 4], n_draws=3
    ... )
    >>> curve.learned.mean(axis=1).tolist()
    [1.0, 1.0]
    """
    pool, table = fusion._select_judged(runs, qrels, systems)
    groups, n_queries = table.groups, table.n_queries
    sizes = np.array(n_judged, dtype=np.int64)
    if len(sizes) == 0 or sizes.min() < 1 or sizes.max() >= n_queries:
        raise ValueError(
            f"n_judged must lie in [1, {n_queries - 1}], one less than the judged queries, got "
            f"{list(n_judged)}."
        )
    kept = np.flatnonzero(np.isin(pool.qid, groups.ids))
    X = feature_matrix(pool, fusion._features, fusion.rank_constant)[kept]
    measured, ids = _prepare_measure(pool.take(kept), qrels, measure)
    baseline = measured(fuse(pool, rule).scores[kept])
    rng = check_random_state(random_state)
    orders = [rng.permutation(n_queries) for _ in range(n_draws)]
    learned, compared = (np.empty((len(sizes), n_draws)) for _ in range(2))
    for draw, order in enumerate(orders):
        for place, size in enumerate(sizes):
            model: Any = clone(fusion)
            model._learn(pool.systems, table.queries(order[:size]), qrels)
            values = measured(model.estimator_.predict(X))
            rest = np.isin(ids, groups.ids[order[size:]])
            learned[place, draw] = np.nanmean(values[rest])
            compared[place, draw] = np.nanmean(baseline[rest])
    name = measure if isinstance(measure, str) else str(parse(measure))
    return JudgementCurve(sizes, learned, compared, name, rule)


def _prepare_measure(
    pool: RunPool, qrels: Qrels, measure: MeasureLike
) -> tuple[Callable[[Float64Array], Float64Array], NDArray[Any]]:
    """Function from scores of a pool's rows to values per query, and the ids of the queries.

    It follows trec_eval's conventions without sorting ids again.
    """
    # With equal scores, documents come by descending id: the reverse of the pool's order.
    judged = judge(qrels, Run(pool.qid, pool.doc_ids, np.zeros(len(pool))))
    groups = QueryGroups.from_qid(judged.qid, len(judged))
    number = {query: place for place, query in enumerate(pool.groups.ids.tolist())}
    source = np.full(len(judged), -1, dtype=np.int64)  # -1: no system returned the document
    for place, query in enumerate(groups.ids.tolist()):
        rows = np.arange(groups.indptr[place], groups.indptr[place + 1])
        source[rows[judged.retrieved[rows]]] = pool.groups.rows([number[query]])[::-1]
    found = parse(measure, "trec_eval")
    if getattr(found, "ties", None) == "docid":
        found = replace(found, **{"ties": "stable"})
    retrieved = source >= 0

    def values(scores: Float64Array) -> Float64Array:
        single = np.where(retrieved, scores[source], 0.0).astype(np.float32)
        words = {"retrieved": retrieved, "judged": judged.judged, "measures": [found]}
        result = evaluate(judged.y, single.astype(np.float64), groups, **words)
        return result.per_query[str(found)]

    return values, groups.ids
