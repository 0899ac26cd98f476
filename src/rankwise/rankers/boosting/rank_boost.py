"""RankBoost: boosting of the pairs of a query with thresholds on features [1]_.

Minimises ``sum_q c_q sum_{i,j: y_i > y_j} w_ij exp(-(f_i - f_j))`` one stump at a time.

References
----------
.. [1] Freund, Iyer, Schapire & Singer, "An efficient boosting algorithm for combining
   preferences", Journal of Machine Learning Research 4 (2003).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import QUERY_WEIGHTS, QueryWeight
from rankwise.losses.layered_pairs import LayeredPairs, layer_pairs
from rankwise.losses.pair_weights import PAIR_WEIGHTS, PairWeight
from rankwise.metrics import parse
from rankwise.solvers.pair_boosting import PairBoosting, PairStage
from rankwise.solvers.staged_measure import StagedMeasure
from rankwise.solvers.stump_ensemble import StumpEnsemble
from rankwise.solvers.stump_search import StumpSearch
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix
from rankwise.validation import FitData, check_fit, check_rows, check_validation

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class RankBoost(Ranker):
    """Boosted thresholds on features for the pairs of each query (RankBoost).

    The score of a row is a weighted sum of rankers with values 0 and 1, up to a constant.

    Parameters
    ----------
    n_estimators : int >= 1, default=300
        Rounds. Fewer are kept where no ranker is left that lowers the loss.
    max_bins : int in [2, 255] or None, default=255
        Thresholds are between all values of a feature with at most so many, and between bins of
        about equal weight of others. None: between all values of every feature.
    pair_weight : {"difference", "gain", "power", "product"}, callable or None, default=None
        Weight of a pair with labels a > b. None: 1. "difference": a - b. "gain": 2^a - 2^b.
        "power": a^(a - b). "product": a (a - b). A function gets the arrays of upper and lower
        labels and returns weights >= 0.
    query_weight : {"pair", "document", "query"}, default="pair"
        A query of m rows weighs 1, 1 / m or 1 / m^2.
    measure : str, default="nDCG@10"
        Taken on X_val after every round, see :func:`rankwise.metrics.parse`.
    early_stopping_rounds : int >= 1, optional
        Used only where ``fit`` receives X_val: stop after this many rounds without improvement
        and keep the rounds up to the best.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the rounds that are there up to ``n_estimators``. On the same
        rows the result has the bits of one fit.

    Attributes
    ----------
    loss_curve_ : ndarray of shape (n_estimators_ + 1,), float64
        Loss summed over the (weighted) pairs, before the first round and after each.
    n_estimators_ : int
        Rounds kept.
    ensemble_ : StumpEnsemble
        ``features``, ``thresholds``, ``directions``, ``steps`` and ``missing`` of the rankers,
        round by round. A ranker puts its two sides ``2 steps`` apart.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the sum of the steps.
    validation_scores_ : ndarray of shape (n_rounds,)
        ``measure`` on X_val after every round, where X_val was given.
    score_name_ : str

    Notes
    -----
    With H the score so far, a pair weighs ``exp(H_j - H_i)``, and a row i the sum of that over the
    rows of lower grade in its query less the sum over those of higher grade. A round takes the
    ranker h in {0, 1} of largest sum of row weights (the third of the criteria of [1]_), and adds
    it ``log(W+ / W-) / 2`` times: W+ and W- are the weights of the pairs that it orders rightly and
    wrongly. The step is the exact minimiser, so the loss falls in every round; it bounds the
    number of pairs in the wrong order. Without mistakes the step is finite, at most 14.

    A missing value (NaN) says nothing about its row: the row goes to the side that its weights
    prefer (the default value of [1]_), and to the middle of both where the feature had no missing
    values in training.

    Row weights need no pairs but sums of ``exp(H)`` and ``exp(-H)`` by query and grade. A round
    reads every value of X once, as a byte: O(N d), and O(N + layers) for the rest, whatever the
    number of pairs; with ``pair_weight``, layers^2 of each query.

    Differs from [1]_: scores are less by half of the sum of all steps, and features of many values
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

    ensemble_: StumpEnsemble
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [AT_LEAST_ONE],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "measure": [str],
        "early_stopping_rounds": [AT_LEAST_ONE, None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        max_bins: int | None = 255,
        pair_weight: PairWeight = None,
        query_weight: QueryWeight = "pair",
        measure: str = "nDCG@10",
        early_stopping_rounds: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_bins = max_bins
        self.pair_weight = pair_weight
        self.query_weight: QueryWeight = query_weight
        self.measure = measure
        self.early_stopping_rounds = early_stopping_rounds
        self.warm_start = warm_start

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
    ) -> Any:
        """Train on judged rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            NaN means missing; an entry absent from a CSR matrix is 0.
        y : array-like of shape (n_samples,)
            Any finite numbers, larger is better.
        qid : array-like of shape (n_samples,), optional
            Query of every row, any dtype and order; None: all rows are one query.
        sample_weight : array-like of shape (n_samples,), optional
            A weight means repetition of the row.
        X_val, y_val, qid_val : optional
            Validation rows: ``measure`` is taken on them after every round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For wrong input, naming it; where ``warm_start`` meets other features, or
            ``n_estimators`` below the rounds that are there.
        """
        n_before = self.n_features_in_ if self.warm_start and hasattr(self, "ensemble_") else None
        data = check_fit(self, X, y, qid, sample_weight, allow_nan=True)
        valid = check_validation(self, data, X_val, y_val, qid_val, allow_nan=True)
        self._validate_params()
        measure = parse(self.measure)
        earlier = StumpEnsemble.empty() if n_before is None else self._check_earlier(n_before)
        self._set_score_name(data.y)
        pairs = layer_pairs(data, self.pair_weight, self.query_weight)
        monitor = None
        if valid is not None:
            monitor = _Monitor(StagedMeasure(measure, valid.y, valid.groups), valid.X)
        self._boost(data, pairs, earlier, monitor)
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
        X = check_rows(self, X, allow_nan=True)
        scores = np.zeros(X.shape[0])
        for change in self.ensemble_.changes(self.ensemble_.prepare(X)):
            scores = scores + change
            yield scores

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the sum of the steps, all 0 without rankers."""
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)

    def _check_earlier(self, n_features: int) -> StumpEnsemble:
        """The earlier ensemble, where the fit can go on from it."""
        if n_features != self.n_features_in_:
            raise ValueError(
                f"warm_start needs the {n_features} features of the earlier fit, got "
                f"{self.n_features_in_}. Set warm_start=False to begin anew."
            )
        if len(self.ensemble_) > self.n_estimators:
            raise ValueError(
                f"n_estimators must be at least the {len(self.ensemble_)} rounds that are there "
                f"with warm_start, got {self.n_estimators}."
            )
        return self.ensemble_

    def _boost(
        self, data: FitData, pairs: LayeredPairs, ensemble: StumpEnsemble, monitor: _Monitor | None
    ) -> None:
        """Run the rounds, first those of an earlier fit again, and set what is fitted."""
        search = StumpSearch(data.X, pairs.rows, self.max_bins, data.sample_weight)
        boosting = PairBoosting(pairs)
        losses = [boosting.loss]
        for number, side in enumerate(ensemble.sides(ensemble.prepare(data.X))):
            boosting.add(side[pairs.rows], float(ensemble.steps[number]))
            losses.append(boosting.loss)
            if monitor is not None:
                monitor.add(ensemble.part(number, number + 1))
        stages: list[PairStage] = []
        patience = np.inf if self.early_stopping_rounds is None else self.early_stopping_rounds
        while len(losses) <= self.n_estimators:
            stage = boosting.run_round(search)
            if stage is None:
                break
            stages.append(stage)
            losses.append(stage.loss)
            if monitor is not None:
                monitor.add(StumpEnsemble.empty().extended([stage.stump], [stage.step]))
                if monitor.staged.stages_since_best >= patience:
                    break
        ensemble = ensemble.extended([s.stump for s in stages], [s.step for s in stages])
        is_stopped = monitor is not None and self.early_stopping_rounds is not None
        kept = monitor.staged.best if monitor is not None and is_stopped else len(ensemble)
        self.ensemble_ = ensemble.part(0, kept)
        self.n_estimators_ = kept
        self.loss_curve_ = np.array(losses[: kept + 1])
        if monitor is not None:
            self.validation_scores_ = np.array(monitor.staged.values)


@dataclass(frozen=True)
class _Monitor:
    """Validation rows and the measure on them."""

    staged: StagedMeasure
    X: Matrix

    def add(self, stump: StumpEnsemble) -> None:
        """Measure after one more stump."""
        self.staged.add(next(stump.changes(stump.prepare(self.X))))
