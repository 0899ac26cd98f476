"""Learners that optimise a measure itself: coordinate ascent and AdaRank.

Rows are sorted by their content, so that neither the input order nor the grades decide how equal
scores are ranked. The ideal ranking depends on the labels alone and is computed once.

Coordinate ascent searches along one weight of linear scores at a time. A ranking measure is a step
function of the weights, so a line search tries weights at geometrically growing distances and takes
the best. Changing one weight adds a multiple of one column to the scores.

AdaRank [1]_ boosts over queries, with single features as weak rankers. Each query has the weight
``P = exp(-E(q, f))``, where E is the measure of query q under the scores f so far. A round takes
the weak ranker h with the largest weighted mean measure and adds
``log(sum P (1 + E(q, h)) / sum P (1 - E(q, h))) / 2`` times h.

References
----------
.. [1] Xu & Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import FitData
from rankwise.metrics.measure import Measure
from rankwise.metrics.scored import ScoredGroups
from rankwise.row_order import canonical_order
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.solvers.boosting.rounds import Ensemble, State
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

LARGEST_GRADE = 30  # gain 2^30
LABEL_SPAN = 4.0  # other labels are spread over the usual range of grades
SMALL = 4000  # rows, up to which one thread is quicker
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class LabelScale:
    """Labels in the form that ranking measures take: grades unchanged, others scaled to 0 to 4.

    Both fields code the training labels. They are None if the labels are grades or the measure
    takes any numbers.
    """

    low: float | None = None
    half_span: float | None = None

    @classmethod
    def of(cls, y: Float64Array, measure: Measure) -> LabelScale:
        """The scale of training labels; whole numbers from 0 to 30 count as grades."""
        # Gains of grades are 2^y - 1; fractions, negative or huge labels would distort or overflow
        # them.
        is_grade = bool((y >= 0).all() and (y % 1 == 0).all() and y.max() <= LARGEST_GRADE)
        if is_grade or not measure.reads_grades:
            return cls()
        # Half of the span, because the whole span of huge labels may overflow.
        return cls(float(y.min()), float(0.5 * y.max() - 0.5 * y.min()))

    def __call__(self, y: Float64Array) -> Float64Array:
        """Grades of labels; labels beyond the training range are clipped to its ends."""
        if self.low is None or self.half_span is None:
            return y
        if not self.half_span > 0:
            return np.zeros(len(y))
        return LABEL_SPAN * np.clip((0.5 * y - 0.5 * self.low) / self.half_span, 0.0, 1.0)


class MeasuredRows:
    """Training rows, their columns, and the measure of any scores of these rows.

    ``spread``, (n_columns,), is the standard deviation of each column, 0 if it is constant.
    """

    labels: LabelScale

    def __init__(self, data: FitData, measure: Measure) -> None:
        order, sizes = canonical_order(data.X, data.y, data.groups)
        # Rows of equal scores keep this order, so it must not depend on labels or on the input.
        rows = data.X[order]
        self._columns: Matrix = rows.tocsc() if is_sparse(rows) else np.asfortranarray(rows)
        self._measure, self.labels = measure, LabelScale.of(data.y, measure)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        y = np.ascontiguousarray(self.labels(data.y[order]))
        self._scored = ScoredGroups(y, np.arange(len(y), dtype=np.float64), indptr)
        measure.prepare(self._scored)
        self._n_threads = 1 if len(y) <= SMALL else available_threads()
        self.counted: Float64Array = ~np.isnan(measure.from_groups(self._scored))
        self.n_columns: Any = rows.shape[1]
        self.spread: NDArray[Any] = np.array(
            [_spread(self.column(j)) for j in range(self.n_columns)]
        )

    def column(self, j: int) -> Float64Array:
        """Values of a column."""
        column = self._columns[:, [j]]
        dense = densify(column)
        return dense.ravel().astype(np.float64)

    def scores(self, coef: Float64Array) -> Float64Array:
        """Sum of the columns times their coefficients, added in column order."""
        total = np.zeros(len(self._scored.y))
        for j in np.flatnonzero(coef).tolist():
            # Column by column instead of a product, whose order of sums depends on the processor.
            total += coef[j] * self.column(j)
        return total

    def per_query(self, scores: Float64Array) -> Float64Array:
        """The measure of every query; NaN for queries that do not count."""
        return self._measure.from_groups(self._scored.with_scores(scores))

    def mean(self, scores: Float64Array) -> float:
        """Mean over the queries, larger is better; minus infinity if no query counts."""
        value = self._measure.aggregate(self.per_query(scores))
        value = value if self._measure.greater_is_better else -value
        return -np.inf if np.isnan(value) else float(value)

    def map(self, func: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """``[func(item) for item in items]``, on threads if there are many rows."""
        return thread_map(func, items, self._n_threads)


def _spread(column: Float64Array) -> float:
    low, high = column.min(initial=np.inf), column.max(initial=-np.inf)
    # Rounding may leave a constant column a deviation above 0.
    return float(column.std()) if high > low else 0.0


# Steps as shares of the largest weight: 0.01, 0.02, ..., 5.12, in both directions.
STEPS = 0.01 * 2.0 ** np.arange(10)
ROUNDING = 1e-12  # gains that are none


@dataclass(frozen=True, eq=False)
class Sweep:
    """Weights after a sweep over all columns, and the mean measure under them."""

    weights: Float64Array
    value: float


class CoordinateSearch:
    """Coordinate ascent on measured rows.

    It ends when a sweep gains no more than ``tol`` in mean measure, or after ``max_iter`` sweeps.
    The weights apply to columns divided by their spread; constant columns keep a weight of 0.
    """

    def __init__(self, rows: MeasuredRows, tol: float, max_iter: int) -> None:
        self._rows, self._tol, self._max_iter = rows, tol, max_iter
        self._varying = np.flatnonzero(rows.spread > 0)

    def coef(self, weights: Float64Array) -> Float64Array:
        """Coefficients of the columns themselves."""
        return weights / np.where(self._rows.spread > 0, self._rows.spread, 1.0)

    def preferences(self) -> Float64Array:
        """Initial weights: how much better each column ranks ascending than descending."""

        def preference(j: int) -> float:
            column = self._rows.column(j)
            ends = self._rows.mean(column), self._rows.mean(-column)
            # Both ends are infinite if no query counts.
            return ends[0] - ends[1] if np.isfinite(ends).all() else 0.0

        weights = np.zeros(self._rows.n_columns)
        weights[self._varying] = self._rows.map(preference, self._varying.tolist())
        return weights

    def run(self, weights: Float64Array, rng: np.random.RandomState) -> Iterator[Sweep]:
        """Yield the given weights, then those after each sweep; the mean measure never falls.

        Each sweep visits the columns in a new random order. The search ends after a sweep that
        gains no more than the tolerance.
        """
        weights = _normalise(weights)
        before = self._rows.mean(self._rows.scores(self.coef(weights)))
        yield Sweep(weights, before)
        for _ in range(self._max_iter):
            after = self._sweep(weights, before, rng.permutation(self._varying))
            # Decisions that depend on the last digits of the scores, such as ties, may differ.
            if not after.value >= before:
                return
            yield after
            if not after.value > before + self._tol:
                return
            weights, before = after.weights, after.value

    def _sweep(self, weights: Float64Array, value: float, order: Float64Array) -> Sweep:
        weights = weights.copy()
        scores = self._rows.scores(self.coef(weights))
        for j in order.tolist():
            column = self._rows.column(j) / self._rows.spread[j]
            trials = self._trials(weights, j)
            values = np.array(
                self._rows.map(
                    lambda step, scores=scores, column=column: self._rows.mean(
                        scores + step * column
                    ),
                    trials,
                )
            )
            best = int(values.argmax())  # the first of equal ones: the smallest step
            if values[best] > value + ROUNDING:
                value = float(values[best])
                scores = scores + trials[best] * column
                weights[j] += trials[best]
        weights = _normalise(weights)
        return Sweep(weights, self._rows.mean(self._rows.scores(self.coef(weights))))

    def _trials(self, weights: Float64Array, j: int) -> list[float]:
        """Candidate changes of a weight, smallest first; one of them sets the weight to 0."""
        size = float(np.abs(weights).max()) or 1.0
        either_way = np.stack([STEPS, -STEPS], axis=1).ravel() * size
        trials = np.append(either_way, -weights[j]) if weights[j] != 0 else either_way
        return trials[np.argsort(np.abs(trials), kind="stable")].tolist()


def _normalise(weights: Float64Array) -> Float64Array:
    """Weights scaled so that the largest magnitude is 1."""
    size = float(np.abs(weights).max(initial=0.0))
    return weights / size if size > 0 else weights


SLACK = 2.0**-40  # of a weight of 1: a ranker without losses has a finite step
TRIALS = 8  # at a time


@dataclass(frozen=True, eq=False)
class ColumnEnsemble(Ensemble):
    """Features and the steps added to their coefficients, both (n_rounds,)."""

    _by_round = ("features", "steps")

    features: Int64Array
    steps: Float64Array

    def prepare(self, X: Matrix) -> Matrix:
        """Convert rows to the format required by ``changes``."""
        return X.tocsc() if is_sparse(X) else X

    def changes(self, prepared: Matrix) -> Iterator[Float64Array]:
        """Yield multiples of single columns."""
        for feature, step in zip(self.features.tolist(), self.steps.tolist(), strict=True):
            yield np.asarray(prepared[:, [feature]] @ np.array([step]), dtype=np.float64)


class QueryBoosting:
    """The state of boosting on measured rows.

    E is the measure itself if greater is better, otherwise 1 minus the measure. ``performance``,
    (n_features, 2, n_counted), holds E of every query when ranked by each feature, in both
    directions. ``value`` is the mean of E under the scores so far, minus infinity before the first
    round. ``tol`` is its minimum gain per round.
    """

    value: float

    def __init__(self, rows: MeasuredRows, greater_is_better: bool, tol: float) -> None:
        self._rows, self._greater, self._tol = rows, greater_is_better, tol
        self._scores = rows.scores(np.zeros(rows.n_columns))
        n_counted = int(rows.counted.sum())
        self._weight = np.full(n_counted, 1.0 / max(n_counted, 1))
        self.value = -np.inf

        def both(j: int) -> Float64Array:
            column = rows.column(j)
            return np.stack([self._values(column), self._values(-column)])

        every = np.stack(rows.map(both, range(rows.n_columns)))
        self._check(every)
        self.performance = every

    @property
    def state(self) -> State:
        """Mean of E."""
        return State(self.value)

    def rounds(self, n_features: int | None) -> Iterator[ColumnEnsemble]:
        """Yield weak rankers until they use ``n_features`` distinct features."""
        taken: set[int] = set()
        while (found := self.run_round()) is not None:
            yield ColumnEnsemble(np.array([found[0]], dtype=np.int64), np.array([found[1]]))
            taken.add(found[0])
            if n_features is not None and len(taken) >= n_features:
                return

    def run_round(self) -> tuple[int, float] | None:
        """Add the first weak ranker, by weighted performance, that brings a gain.

        Returns the feature and coefficient, or None if no weak ranker brings a gain.
        """
        # No query has relevant rows, so no ranker can be better than another.
        if not len(self._weight):
            return None
        order = self.by_weighted_performance()
        for start in range(0, len(order), TRIALS):
            trials = order[start : start + TRIALS]
            # Some are tried in vain for the threads; the first that gains is taken, as one by one.
            found = self._rows.map(self._try, trials)
            for (feature, _), (coef, scores, values) in zip(trials, found, strict=True):
                value = float(values.mean())
                if value > self.value + self._tol:
                    self.value, self._scores = value, scores
                    weight = np.exp(-values)
                    self._weight = weight / weight.sum()
                    return feature, coef
        return None

    def by_weighted_performance(self) -> list[tuple[int, int]]:
        """Feature and sign (0: unchanged, 1: reversed) of non-constant weak rankers, best first."""
        weighted = self.performance @ self._weight
        # Stable: of equal rankers the first column, ascending before descending.
        order = np.argsort(-weighted, axis=None, kind="stable")
        features, signs = np.unravel_index(order, weighted.shape)
        varies = self._rows.spread[features] > 0
        return list(zip(features[varies].tolist(), signs[varies].tolist(), strict=True))

    def _try(self, weak: tuple[int, int]) -> tuple[float, Float64Array, Float64Array]:
        """Coefficient of a weak ranker, the scores including it, and their E."""
        feature, sign = weak
        performance = self.performance[feature, sign]
        gained = float(self._weight @ (1.0 + performance))
        lost = max(float(self._weight @ (1.0 - performance)), SLACK)
        step = 0.5 * math.log(gained / lost)
        coef = (-step if sign else step) / float(self._rows.spread[feature])
        scores = self._scores + coef * self._rows.column(feature)
        return coef, scores, self._values(scores)

    def _values(self, scores: Float64Array) -> Float64Array:
        """E of the queries that count; 0 if the measure is undefined for them."""
        values = self._rows.per_query(scores)[self._rows.counted]
        return np.nan_to_num(values if self._greater else 1.0 - values, nan=0.0)

    def _check(self, performance: Float64Array) -> None:
        low, high = float(performance.min(initial=0.0)), float(performance.max(initial=1.0))
        # Weights and steps assume measures in [0, 1]; 1e-12 allows for their rounding.
        if low < 0 or high > 1 + 1e-12:
            raise ValueError(
                f"measure must lie between 0 and 1 on every query, got {min(low, 0.0) or high:g}. "
                "Use 'nDCG@10', 'AP' or 'ERR', for example."
            )
