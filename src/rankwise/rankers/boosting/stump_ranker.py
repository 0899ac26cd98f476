"""Rankers that boost stumps on the pairs of a query: RankBoost and FRank.

RankBoost minimises ``sum_q c_q sum_{i,j: y_i > y_j} w_ij exp(-(f_i - f_j))`` one stump at a time,
FRank ``sum_q c_q sum_{i,j: y_i > y_j} w_ij (1 - sqrt(P_ij))`` with
``P_ij = 1 / (1 + exp(-(f_i - f_j)))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import Interval, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.score_loss import PAIR_WEIGHTS, QUERY_WEIGHTS, PairWeight, QueryWeight
from rankwise.metrics import parse
from rankwise.metrics.measure import MEASURE_KINDS, MeasureLike
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.solvers.boosting.chosen_rounds import (
    CHOICE,
    ChoosesRounds,
    chooses_rounds,
    fit_chosen,
)
from rankwise.solvers.boosting.pair_boosting import (
    FidelityBoosting,
    LayeredPairs,
    PairBoosting,
    layer_pairs,
)
from rankwise.solvers.boosting.rounds import State, boost, check_warm_start, run_rounds
from rankwise.solvers.boosting.stump_search import StumpEnsemble, StumpSearch
from rankwise.structure.state_rules import Instance, Number, Plain, Rule, Sometimes, forget
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class StumpRanker(ChoosesRounds, Ranker):
    """Base of rankers that sum stumps; subclasses have the parameters below and ``_algorithm``."""

    n_estimators_: int

    _algorithm: ClassVar[Callable[[LayeredPairs], PairBoosting | FidelityBoosting]]

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "ensemble_": Instance((StumpEnsemble,)),
        "loss_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    _additive_scores = True  # each stump depends on one feature

    ensemble_: StumpEnsemble
    n_features_in_: int

    n_estimators: int
    max_bins: int | None
    pair_weight: PairWeight
    query_weight: Any
    measure: MeasureLike
    early_stopping_rounds: int | None
    warm_start: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [minimum(1)],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "measure": MEASURE_KINDS,
        "early_stopping_rounds": [minimum(1), None],
        **CHOICE,
        "warm_start": ["boolean"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Train on rows with relevance labels.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Features. NaN means missing; an entry absent from a CSR matrix is 0.
        y : array-like of shape (n_samples,)
            Any finite numbers; larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of each row, of any dtype and in any order. None: all rows form one query.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.
        X_val, y_val, qid_val : optional
            Validation rows, on which ``measure`` is evaluated after every round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid (the message names it), if ``warm_start`` finds an earlier fit
            with other features, or if ``n_estimators`` is less than the number of existing rounds.
        """
        self._validate_params()
        # A copy, because the fit forgets the earlier one.
        earlier = copy(self) if self.warm_start and hasattr(self, "ensemble_") else None
        if chooses_rounds(self, X_val):
            by_row = {"qid": qid, "sample_weight": sample_weight}
            n_before = 0 if earlier is None else len(earlier.ensemble_)
            return fit_chosen(self, X, y, by_row, (X_val, y_val, qid_val), n_before=n_before)
        forget(self)
        data = check_fit(self, X, y, qid, sample_weight, allow_nan=True)
        validation = check_validation(self, data, X_val, y_val, qid_val, allow_nan=True)
        measure = parse(self.measure)
        stumps = StumpEnsemble.empty()
        if earlier is not None:
            stumps, n_features = earlier.ensemble_, (earlier.n_features_in_, self.n_features_in_)
            check_warm_start(*n_features, len(stumps), self.n_estimators)
        self._set_score_name(data.y)
        pairs = self._pairs(data)
        search = StumpSearch(data.X, pairs.rows, self.max_bins, data.sample_weight)
        algorithm = type(self)._algorithm(pairs)
        done = boost(
            stumps,
            run_rounds(algorithm, search, stumps, data.X, pairs.rows),
            lambda: State(algorithm.loss),
            self.n_estimators,
            validation,
            measure,
            self.early_stopping_rounds,
        )
        self.ensemble_, self.n_estimators_ = done.ensemble, len(done.ensemble)
        self.loss_curve_: Float64Array = done.values
        if done.validation_scores is not None:
            self.validation_scores_: Float64Array = done.validation_scores
        return self

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher."""
        check_is_fitted(self)
        return self.ensemble_.score(check_rows(self, X, allow_nan=True))

    def staged_predict(self, X: FrameLike) -> Iterator[Float64Array]:
        """Scores after every round, ``n_estimators_`` arrays of shape (n_samples,).

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        yield from self.ensemble_.staged_scores(check_rows(self, X, allow_nan=True))

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the sum of the steps; all 0 without stumps."""
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)

    def _pairs(self, data: FitData) -> LayeredPairs:
        return layer_pairs(data, self.pair_weight, self.query_weight)


class RankBoost(StumpRanker):
    """Boosted thresholds on features for the pairs of each query (RankBoost).

    The score of a row is a weighted sum of binary weak rankers, up to a constant.

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Largest number of rounds. Training ends earlier if no weak ranker lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Largest number of bins per feature. A feature with at most ``max_bins`` distinct values has
        thresholds between all of them; other features have thresholds between bins of about equal
        weight. None: thresholds between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair with labels a > b. None: 1. "difference": a - b. "gain": 2^a - 2^b.
        "power": a^(a - b). "product": a (a - b). A function receives the arrays of upper and lower
        labels and returns weights >= 0.
    query_weight : {"pair", "document", "query"}, default="pair"
        The weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many rounds without improvement and
        keep the rounds up to the best.
    refit : bool, default=False
        Whether the rounds kept by X_val are grown again on the rows of X and X_val.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of rounds, as in :class:`LambdaMART`.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing rounds up to ``n_estimators``. On the same rows
        the result is bit-identical to that of a single fit.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Sum of the loss over the (weighted) pairs, before the first round and after every round.
    n_estimators_ : int
        Number of rounds kept.
    ensemble_ : StumpEnsemble
        ``features``, ``thresholds``, ``directions``, ``steps`` and ``missing`` of the weak rankers,
        in the order of the rounds. A weak ranker moves its two sides ``2 steps`` apart.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only with X_val or ``cv``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Let H be the current score. A pair has the weight ``exp(H_j - H_i)``. A row i has the sum of
    these weights over the rows of lower grade in its query, minus the sum over those of higher
    grade. A round takes the weak ranker h in {0, 1} with the largest sum of row weights (the third
    criterion of [1]_), and adds ``log(W+ / W-) / 2`` times h. W+ and W- are the weights of the
    pairs that h orders correctly and wrongly. The step is the exact minimiser, so the loss
    decreases in every round; it bounds the number of misordered pairs. Without mistakes the step is
    finite, at most 14.

    Rows with a missing value (NaN) go to the side that lowers the loss more (the default value of
    [1]_). If the feature had no missing values in training, they go midway between both sides.

    Row weights are computed from sums of ``exp(H)`` and ``exp(-H)`` by query and grade, without
    listing pairs. A round reads every value of X once, as a byte of memory. It costs O(N d), and
    O(N + layers) for the rest, independent of the number of pairs (layers^2 of each query with
    ``pair_weight``).

    Differs from [1]_: scores are lower by half the sum of all steps, and features with many values
    are binned.

    Composition: exponential loss of pairs of distinct grades x stumps x boosting steps.

    References
    ----------
    .. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
       preferences", Journal of Machine Learning Research 4 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankBoost
    >>> X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, np.nan], [0.2, 4.0], [0.9, 1.0]])
    >>> booster = RankBoost(n_estimators=3).fit(X, [0, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> booster.rank(X, qid=[1, 1, 1, 2, 2])
    array([3, 2, 1, 2, 1])
    >>> booster.loss_curve_[:2].round(3).tolist()
    [4.0, 1.0]
    """

    _algorithm = PairBoosting
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StumpRanker._parameter_constraints,
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        max_bins: int | None = 255,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.pair_weight: PairWeight = pair_weight
        self.query_weight: QueryWeight = query_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.warm_start = warm_start


class FRank(StumpRanker):
    """Boosted thresholds on features under the fidelity loss of pairs (FRank).

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Largest number of rounds. Training ends earlier if no threshold lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Largest number of bins per feature. A feature with at most ``max_bins`` distinct values has
        thresholds between all of them; other features have thresholds between bins of about equal
        weight. None: thresholds between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        As in :class:`RankBoost`.
    query_weight : {"normalized", "pair", "document", "query"}, default="normalized"
        Weight of a query. "normalized": the weights of its pairs sum to 1. "pair", "document",
        "query": the weight of a query of m rows is 1, 1 / m or 1 / m^2, respectively.
    measure : str, Measure or callable, default="nDCG@10"
        Measure evaluated on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used with X_val, or in folds of ``cv``: stop after this many rounds without improvement and
        keep the rounds up to the best.
    refit : bool, default=False
        Whether the rounds kept by X_val are grown again on the rows of X and X_val.
    cv : int, splitter or iterable of (train rows, test rows), optional
        Folds of queries that choose the number of rounds, as in :class:`LambdaMART`.
    warm_start : bool, default=False
        Whether ``fit`` continues from the existing rounds up to ``n_estimators``. On the same rows
        the result is bit-identical to that of a single fit.
        The same ``n_estimators`` as before adds nothing, and ``fit`` warns.
    max_pairs : int >= 1, default=10**8
        Largest number of pairs of training rows. ``fit`` raises ValueError if there are more,
        because a round makes several passes over all pairs.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Loss before the first round and after every round. With "normalized", at most the number of
        queries.
    n_estimators_ : int
        Number of rounds kept.
    ensemble_ : StumpEnsemble
        As in :class:`RankBoost`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round. Only with X_val or ``cv``.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Let P* be the target probability that one row of a pair is better, and P the modelled one. Their
    fidelity is ``sqrt(P* P) + sqrt((1 - P*) (1 - P))``, so the loss of a pair with P* = 1 is
    ``1 - sqrt(P)``. It is at most 1: a badly misordered pair does not dominate, unlike under the
    losses of RankBoost and RankNet. A round takes the stump with the steepest descent of the loss,
    and the step ``log(A / B) / 2`` of [1]_. A is the sum of the slopes of the pairs that the stump
    moves apart, B that of the pairs that it moves together. The step would be exact if all slopes
    changed exponentially. It is halved until the loss decreases, so the loss decreases in every
    round. Missing values (NaN) are treated as in :class:`RankBoost`.

    A round costs O(N d) plus about three passes over all pairs, with a square root per pair. Pairs
    are not stored: memory is N d bytes and O(N).

    Differs from [1]_: a round takes the stump of steepest descent, not the stump with the least
    loss after its step. Pairs of equal grades are left out.

    Composition: fidelity loss of pairs of distinct grades x stumps x boosting steps.

    References
    ----------
    .. [1] Tsai, Liu, Qin, Chen & Ma, "FRank: a ranking method with fidelity loss", SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import FRank
    >>> X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, np.nan], [0.2, 4.0], [0.9, 1.0]])
    >>> ranker = FRank(n_estimators=3).fit(X, [0, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2])
    >>> ranker.rank(X, qid=[1, 1, 1, 2, 2])
    array([3, 2, 1, 2, 1])
    >>> ranker.loss_curve_[:1].round(3).tolist()  # of two queries, 1 - sqrt(1/2) each
    [0.586]
    """

    _algorithm = FidelityBoosting
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StumpRanker._parameter_constraints,
        "query_weight": [StrOptions({"normalized", *QUERY_WEIGHTS})],
        "max_pairs": [minimum(1)],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        max_bins: int | None = 255,
        pair_weight: PairWeight = None,
        query_weight: Literal["normalized", "pair", "document", "query"] = "normalized",
        measure: MeasureLike = "nDCG@10",
        early_stopping_rounds: int | None = None,
        refit: bool = False,
        cv: Any = None,
        warm_start: bool = False,
        max_pairs: int = 10**8,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.pair_weight: PairWeight = pair_weight
        self.query_weight = query_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.refit = refit
        self.cv = cv
        self.warm_start = warm_start
        self.max_pairs = max_pairs

    def _pairs(self, data: FitData) -> LayeredPairs:
        if self.query_weight == "normalized":
            pairs = layer_pairs(data, self.pair_weight, "pair").normalised()
        else:
            pairs = layer_pairs(data, self.pair_weight, self.query_weight)
        n_pairs = int(pairs.n_pairs.sum())
        if n_pairs > self.max_pairs:
            raise ValueError(
                f"max_pairs={self.max_pairs} is less than the {n_pairs} pairs of the training "
                "rows, all of which FRank visits in every round. Increase max_pairs, or use "
                "RankBoost."
            )
        return pairs
