"""LearnedFusion: weights of systems, learnt from judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import HasMethods, Interval, StrOptions
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.trec import Qrels
from rankwise.fusion.constants import RANK_CONSTANT
from rankwise.fusion.features import check_features, feature_matrix, fusion_table
from rankwise.fusion.judged_fusion import JudgedFusion
from rankwise.fusion.non_negative_ranker import NonNegativeRanker
from rankwise.fusion.run_pool import RunPool, convert_to_pool
from rankwise.rankers.kernel.lsrrank import LSRRank
from rankwise.runtime.state import restore_on_error
from rankwise.structure.rules import Fitted, Names, Rule
from rankwise.tuning.folds import DEFAULT_FOLDS
from rankwise.typing import Float64Array

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
    k : float in [0, 1e12], default=60
        Constant of "reciprocal_rank".

    Attributes
    ----------
    estimator_ : estimator
        The fitted ranker.
    systems_ : ndarray of shape (n_systems,) of str
        The systems, in the order of the features.

    Notes
    -----
    O(n) for n documents of the pool, plus one fit of the ranker.

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
        "k": [Interval(Real, RANK_CONSTANT.least, RANK_CONSTANT.largest, closed="both")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: Sequence[str] = ("reciprocal_rank",),
        nonnegative: bool = False,
        unjudged: Literal["zero", "ignore"] = "zero",
        k: float = 60.0,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.nonnegative = nonnegative
        self.unjudged = unjudged
        self.k = k

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
        options = {"features": self._features, "k": self.k, "unjudged": self.unjudged}
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
            self.estimator_ = ranker.fit(rows.X, rows.y, qid=rows.qid)
            self.systems_ = np.array(systems)
        return self

    def _scores(self, pool: RunPool) -> Float64Array:
        X = feature_matrix(pool, self._features, self.k)
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)
