"""The loop of every boosting algorithm: rounds, early stopping and warm starts.

An algorithm holds the state of its loss on the training rows. In each round it computes row
weights. A search finds the base learner that agrees most with them, and the algorithm adds this
learner with its step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.runtime.callers import callers_level
from rankwise.solvers.boosting.ensemble import Ensemble, SignEnsemble
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.typing import Float64Array, Int64Array, Matrix

# Share of the loss that is rounding: gains that differ by it are equal, and a base learner that
# disagrees with no more makes no mistake.
SLACK = 2.0**-40
# A gain of this share of the loss lowers it by half the square of this share, some units of its
# last digit: smaller ones could let it rise.
LEAST_GAIN = 2.0**-24

E = TypeVar("E", bound=Ensemble)
S = TypeVar("S", bound=SignEnsemble)


class Base(Protocol):
    """Outcome of a base learner: the weight that agrees, and the rows that go up."""

    @property
    def gain(self) -> int: ...

    @property
    def side(self) -> NDArray[np.bool_]: ...


B_co = TypeVar("B_co", bound=Base, covariant=True)
B = TypeVar("B", bound=Base)


class BaseSearch(Protocol[B_co]):
    """Finds the base learner that agrees most with signed integer weights."""

    def best(self, u: Int64Array, total: int, slack: int) -> B_co | None: ...


class RowWeights(NamedTuple):
    """Signed weights of the training rows."""

    u: Int64Array  # (n_rows,): positive where a row should go up
    total: int  # sum of u
    whole: float  # gain of a base learner that agrees with everything


class Algorithm(Protocol):
    """A loss of the scores so far, on training rows."""

    @property
    def loss(self) -> float: ...

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


@dataclass(frozen=True, eq=False)
class Stage(Generic[B]):
    """One round: the base learner, its step > 0, and the loss after it."""

    base: B
    step: float
    loss: float


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


def run_round(algorithm: Algorithm, search: BaseSearch[B]) -> Stage[B] | None:
    """Add a base learner; None if no remaining one lowers the loss."""
    weights = algorithm.weigh()
    if weights is None:
        return None
    base = search.best(weights.u, weights.total, int(SLACK * weights.whole))
    if base is None or base.gain < LEAST_GAIN * weights.whole:
        return None
    step = algorithm.take(base.side, base.gain / weights.whole)
    return None if step is None else Stage(base, step, algorithm.loss)


def run_rounds(
    algorithm: Algorithm, search: BaseSearch[Any], earlier: S, X: Matrix, rows: Int64Array
) -> Iterator[S]:
    """Yield the base learners of an earlier fit, then new ones.

    ``rows`` are the rows of ``X`` in the order of the algorithm.
    """
    for number, side in enumerate(earlier.sides(earlier.prepare(X)) if len(earlier) else ()):
        algorithm.add(side[rows], float(earlier.steps[number]))
        # The earlier steps are taken over, not computed again: other rows must not change them.
        yield earlier.part(number, number + 1)
    while (stage := run_round(algorithm, search)) is not None:
        yield earlier.single(stage.base, stage.step)


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
