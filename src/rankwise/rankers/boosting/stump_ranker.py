"""What rankers share that boost stumps on the pairs of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.checks.rows import FitData, check_fit, check_rows, check_validation
from rankwise.groups import QueryGroups
from rankwise.losses.layered_pairs import LayeredPairs, layer_pairs
from rankwise.losses.pair_weights import PAIR_WEIGHTS, PairWeight
from rankwise.metrics import parse
from rankwise.solvers.boosting.pair_boosting import PairStage
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.solvers.boosting.stump_ensemble import StumpEnsemble
from rankwise.solvers.boosting.stump_search import StumpSearch
from rankwise.structure.rules import Number, Part, Plain, Rule, Sometimes
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


class Boosting(Protocol):
    """The state of boosting on training rows."""

    @property
    def loss(self) -> float: ...

    def run_round(self, search: StumpSearch) -> PairStage | None: ...

    def add(self, side: NDArray[np.bool_], step: float) -> None: ...


class StumpRanker(Ranker):
    """A sum of stumps; subclasses have the parameters below and define ``_boosting``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "n_estimators_": Number("i", low=0, size="n_rounds"),
        "ensemble_": Part((StumpEnsemble,)),
        "loss_curve_": Plain(),
        "validation_scores_": Sometimes(Plain()),
    }

    additive_scores = True  # each stump reads one feature

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
        "n_estimators": [AT_LEAST_ONE],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
        "measure": [str],
        "early_stopping_rounds": [AT_LEAST_ONE, None],
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
        pairs = self._pairs(data)
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

    def _pairs(self, data: FitData) -> LayeredPairs:
        return layer_pairs(data, self.pair_weight, self.query_weight)

    def _boosting(self, pairs: LayeredPairs) -> Boosting:
        raise TypeError(f"{type(self).__name__} must define _boosting.")

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
        boosting = self._boosting(pairs)
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
