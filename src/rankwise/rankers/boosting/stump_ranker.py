"""Base of the rankers that boost stumps on the pairs of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.parameter_constraints import Interval, StrOptions, minimum
from rankwise.checks.rows import check_fit, check_rows, check_validation
from rankwise.groups import QueryGroups
from rankwise.losses.layered_pairs import LayeredPairs, layer_pairs
from rankwise.losses.pair_weights import PAIR_WEIGHTS, PairWeight
from rankwise.metrics import parse
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.rounds import Algorithm, State, boost, check_warm_start, run_rounds
from rankwise.solvers.boosting.stump_ensemble import StumpEnsemble
from rankwise.solvers.boosting.stump_search import StumpSearch
from rankwise.structure.rules import Instance, Number, Plain, Rule, Sometimes, forget
from rankwise.typing import ArrayLike, Float64Array, FrameLike


class StumpRanker(Ranker):
    """Base of rankers that sum stumps; subclasses have the parameters below and ``_algorithm``."""

    _algorithm: ClassVar[Callable[[LayeredPairs], Algorithm]]

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "ensemble_": Instance((StumpEnsemble,)),
        "loss_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    additive_scores = True  # each stump depends on one feature

    ensemble_: StumpEnsemble
    n_features_in_: int

    n_estimators: int
    max_bins: int | None
    pair_weight: PairWeight
    query_weight: Any
    measure: str
    early_stopping_rounds: int | None
    warm_start: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [minimum(1)],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "measure": [str],
        "early_stopping_rounds": [minimum(1), None],
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
        self.loss_curve_ = done.values
        if done.validation_scores is not None:
            self.validation_scores_ = done.validation_scores
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
