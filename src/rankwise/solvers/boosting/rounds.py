"""The loop of boosting: base learners and steps, early stopping, warm starts, staged measures.

An algorithm holds the state of its loss on the training rows. In each round it computes row
weights. A search finds the base learner that agrees most with them, and the algorithm adds this
learner with its step. Trees have a loop of their own (:mod:`.tree_boosting`): dropout changes those
that were found before.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import FitData, QueryGroups
from rankwise.metrics.default import refuse_constant
from rankwise.metrics.measure import Measure
from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array, Int64Array, Matrix

# Share of the loss that is rounding: gains that differ by it are equal, and a base learner that
# disagrees with no more makes no mistake.
SLACK = 2.0**-40
# A gain of this share of the loss lowers it by half the square of this share, some units of its
# last digit: smaller ones could let it rise.
LEAST_GAIN = 2.0**-24


class Ensemble(ABC):
    """Base learners in the order they were found; the score is the sum of their changes.

    Subclasses are frozen dataclasses, and ``_by_round`` names the fields that hold one entry per
    round.
    """

    _by_round: ClassVar[tuple[str, ...]]

    steps: Float64Array

    def __len__(self) -> int:
        return len(self.steps)

    @abstractmethod
    def prepare(self, X: Matrix) -> Any:
        """Rows in the form that ``changes`` takes."""

    @abstractmethod
    def changes(self, prepared: Any) -> Iterator[Float64Array]:
        """Change of the scores of the rows in every round."""

    def staged_scores(self, X: Matrix) -> Iterator[Float64Array]:
        """Scores of the rows after every round."""
        scores = np.zeros(X.shape[0])
        for change in self.changes(self.prepare(X)):
            # A new array, because the caller may keep the one yielded before.
            scores = scores + change
            yield scores

    def part(self, start: int, stop: int) -> Self:
        """The base learners of some rounds."""
        fields = {name: getattr(self, name)[start:stop] for name in self._by_round}
        copied: Any = self
        return replace(copied, **fields)

    def join(self, others: Sequence[Self]) -> Self:
        """The ensemble followed by the base learners of others."""
        every: Any = (self, *others)
        columns = {name: [getattr(part, name) for part in every] for name in self._by_round}
        return replace(every[0], **{name: np.concatenate(columns[name]) for name in columns})


E = TypeVar("E", bound=Ensemble)


class SignEnsemble(Ensemble):
    """Base learners with values -1 and 1, multiplied by steps > 0."""

    @abstractmethod
    def single(self, base: Any, step: float) -> Self:
        """An ensemble of the single base learner that a search found."""

    @abstractmethod
    def sides(self, prepared: Any) -> Iterator[NDArray[np.bool_]]:
        """Rows that go up, in every round."""

    @abstractmethod
    def score(self, X: Matrix) -> Float64Array:
        """Sum over all rounds of ``step`` for rows that go up, ``-step`` for the others."""

    @abstractmethod
    def importances(self, n_features: int) -> Float64Array:
        """Share of each feature in the sum of all steps; 0 without base learners."""


S = TypeVar("S", bound=SignEnsemble)


class BaseSearch(Protocol):
    """Finds the base learner that agrees most with signed integer weights.

    The base learner has ``side``, the rows that go up, (n_rows,), and ``gain``, the weight that
    agrees minus the weight that does not.
    """

    def best(self, u: Int64Array, total: int, slack: int) -> Any: ...


# Signed weights of the training rows, (n_rows,), positive where a row should go up; their sum; and
# the gain of a base learner that agrees with everything.
RowWeights = tuple[Int64Array, int, float]


class Algorithm(Protocol):
    """A loss of the scores so far, on training rows."""

    def weigh(self) -> RowWeights | None:
        """Weights of the rows; None if no base learner can lower the loss."""
        ...

    def take(self, side: NDArray[np.bool_], edge: float) -> float | None:
        """Add a base learner with its best step > 0; None if that does not lower the loss.

        ``edge`` is the gain of the base learner as a share of the whole.
        """
        ...

    def add(self, side: NDArray[np.bool_], step: float) -> None:
        """Add ``step`` to the scores of the rows of ``side`` and take it from the others."""
        ...


class State(NamedTuple):
    """State after a round: the training loss or measure, and the thresholds, if any."""

    value: float
    thresholds: Float64Array | None = None


@dataclass(frozen=True, eq=False)
class Boosted(Generic[E]):
    """Rounds kept."""

    ensemble: E
    states: list[State]  # before the first round and after each round
    # (n_rounds,): the measure after every round, including discarded ones; None without validation
    # rows
    validation_scores: Float64Array | None

    @property
    def values(self) -> Float64Array:
        """Loss or measure before the first round and after each."""
        return np.array([state.value for state in self.states])


def run_round(algorithm: Algorithm, search: BaseSearch) -> tuple[Any, float] | None:
    """Add a base learner; returns it and its step > 0, or None if none lowers the loss."""
    weights = algorithm.weigh()
    if weights is None:
        return None
    u, total, whole = weights
    base = search.best(u, total, int(SLACK * whole))
    if base is None or base.gain < LEAST_GAIN * whole:
        return None
    step = algorithm.take(base.side, base.gain / whole)
    return None if step is None else (base, step)


def run_rounds(
    algorithm: Algorithm, search: BaseSearch, earlier: S, X: Matrix, rows: Int64Array
) -> Iterator[S]:
    """Yield the base learners of an earlier fit, then new ones as long as they lower the loss.

    ``rows`` are the rows of ``X`` in the order of the algorithm.
    """
    for number, side in enumerate(earlier.sides(earlier.prepare(X)) if len(earlier) else ()):
        algorithm.add(side[rows], float(earlier.steps[number]))
        # The earlier steps are taken over, not computed again: other rows must not change them.
        yield earlier.part(number, number + 1)
    while (found := run_round(algorithm, search)) is not None:
        yield earlier.single(*found)


def boost(
    earlier: E,
    rounds: Iterator[E],
    state: Callable[[], State],
    n_rounds: int,
    validation: FitData | None,
    measure: Measure,
    early_stopping_rounds: int | None,
) -> Boosted[E]:
    """Run rounds, and keep those up to the best on the validation rows.

    Rounds are ensembles of one base learner each; they end at ``n_rounds``, or when no base learner
    is left. The rounds of an ``earlier`` fit come first in ``rounds``; training never stops within
    them. ``state`` returns the state of the algorithm after the rounds so far. The labels of
    ``validation`` are in the form that the measure takes. Training stops after
    ``early_stopping_rounds`` rounds without improvement on the validation rows; None keeps all
    rounds.
    """
    staged, prepared = None, None
    if validation is not None:
        staged = StagedMeasure(measure, validation.y, validation.groups)
        prepared = earlier.prepare(validation.X)
    states, found = [state()], []
    for learner in islice(rounds, n_rounds):
        found.append(learner)
        states.append(state())
        if staged is None:
            continue
        # Scores are updated by the newest base learner alone: O(rows) a round.
        staged.add(next(learner.changes(prepared)), states[-1].thresholds)
        # The rounds of an earlier fit were kept by that fit; they are measured but never cut.
        if early_stopping_rounds is None or len(found) <= len(earlier):
            continue
        if staged.stages_since_best >= early_stopping_rounds:
            break
    # Without early stopping, validation rows only observe. States begin before the first round.
    kept = len(found) if staged is None or early_stopping_rounds is None else staged.best
    scores = None if staged is None else np.array(staged.values)
    return Boosted(earlier.part(0, 0).join(found[:kept]), states[: kept + 1], scores)


def check_warm_start(
    n_features_earlier: int, n_features: int, n_earlier: int, n_rounds: int
) -> None:
    """Raise if an earlier fit has other features or more rounds; warn if it has as many rounds."""
    if n_features_earlier != n_features:
        raise ValueError(
            f"warm_start continues a fit on {n_features_earlier} features, but X has {n_features}. "
            "Set warm_start=False to start again."
        )
    if n_earlier > n_rounds:
        raise ValueError(
            f"n_estimators must be at least the {n_earlier} rounds that are there with "
            f"warm_start, got {n_rounds}."
        )
    if n_earlier == n_rounds:
        warnings.warn(
            f"warm_start adds no round to the {n_earlier} of the earlier fit, because "
            f"n_estimators={n_rounds}: no base learner is trained on these rows. Raise "
            "n_estimators to learn from them, or set warm_start=False to start again.",
            UserWarning,
            stacklevel=callers_level(),
        )


class UnmeasuredError(ValueError):
    """Validation rows that have no query on which the measure is defined."""


def rank_stages(values: Float64Array, *, greater_is_better: bool) -> Float64Array:
    """Values of a measure after every stage, as numbers of which the largest is best.

    A stage without a value, such as one of equal scores, is worse than any other.
    """
    values = values if greater_is_better else -values
    return np.where(np.isnan(values), -np.inf, values)


_recorded: ContextVar[list[StagedMeasure] | None] = ContextVar("recorded", default=None)


@contextmanager
def record_queries() -> Iterator[list[StagedMeasure]]:
    """Followers of validation rows that fits create in this context, with their ``by_query``."""
    made: list[StagedMeasure] = []
    token = _recorded.set(made)
    try:
        yield made
    finally:
        _recorded.reset(token)


class StagedMeasure:
    """Follows the scores of validation rows.

    Labels ``y`` are in the form that the measure takes. ``values`` are those of the measure so far;
    NaN if it is undefined for every query, such as a rank correlation of equal scores. ``by_query``
    has the values of all queries, (n_queries,) a stage, within :func:`record_queries`.
    """

    def __init__(self, measure: Measure, y: Float64Array, groups: QueryGroups) -> None:
        self._measure, self._y, self._groups = measure, y, groups
        self._scores = np.zeros(len(y))
        self.values: list[float] = []
        self.by_query: list[Float64Array] = []
        made = _recorded.get()
        self._is_recorded = made is not None
        if made is not None:
            made.append(self)
        refuse_constant(measure, y, "The number of stages", len(groups.sizes))
        # Distinct scores: a measure undefined for these is undefined for the labels, not for ties.
        places = np.arange(len(y), dtype=np.float64)
        if np.isnan(measure.mean(y, places, groups)):
            raise UnmeasuredError(
                f"measure {str(measure)!r} must score at least one query of X_val, got none. "
                "Pass validation queries that have relevant rows, or another measure."
            )

    def add(self, change: Float64Array, thresholds: Float64Array | None = None) -> None:
        """Measure the rows after a stage has changed their scores.

        With ``thresholds``, a measure that reads labels gets class numbers.
        """
        self._scores += change
        values = self._scores
        if thresholds is not None and self._measure.reads_labels:
            # A score on a threshold belongs to the upper class, as in predict.
            values = np.searchsorted(thresholds, values, side="right").astype(np.float64)
        self.record(values)

    def record(self, scores: Float64Array) -> None:
        """Measure the rows under the scores of a stage."""
        values = self._measure.per_query(self._y, scores, self._groups)
        self.values.append(self._measure.aggregate(values))
        if self._is_recorded:
            self.by_query.append(values)

    @property
    def best(self) -> int:
        """1-based number of the first best stage; 0 before the first."""
        # argmax takes the first of equal stages, the smaller model.
        return 1 + int(np.argmax(self._ascending())) if self.values else 0

    @property
    def stages_since_best(self) -> int:
        """Stages after the best."""
        return len(self.values) - self.best

    def _ascending(self) -> Float64Array:
        is_good = self._measure.greater_is_better
        return rank_stages(np.array(self.values), greater_is_better=is_good)
