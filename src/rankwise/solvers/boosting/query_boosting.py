"""Boosting over queries by their measure, with single features as weak rankers (AdaRank [1]_).

Each query has the weight ``P = exp(-E(q, f))``, where E is the measure of query q under the scores
f so far. A round takes the weak ranker h with the largest weighted mean measure and adds
``log(sum P (1 + E(q, h)) / sum P (1 - E(q, h))) / 2`` times h.

References
----------
.. [1] Xu & Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.solvers.boosting.ensemble import Ensemble
from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.solvers.boosting.rounds import State
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

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
