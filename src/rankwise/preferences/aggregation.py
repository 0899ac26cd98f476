"""Merge equal comparisons, so that the cost of a Newton step depends on distinct ones only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.preferences.comparisons import Comparisons
from rankwise.preferences.outcome_models import SECOND
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class AggregatedPairs:
    """Distinct comparisons (rows), and where the original ones are among them."""

    first: Int64Array
    second: Int64Array
    # (n_rows, n_effects): a column of ones if there is an order effect, then the covariates
    Z: Float64Array
    counts: Float64Array  # (3, n_rows): weight of each outcome
    row: Int64Array  # distinct comparison of each original one
    outcome: Int64Array  # of each there: items are exchanged if the order does not matter

    @classmethod
    def of(cls, games: Comparisons, *, order_effect: bool) -> AggregatedPairs:
        """Merge comparisons with the same items, unless they have covariates."""
        n, m = len(games), len(games.items)
        if games.covariates.shape[1]:
            Z = games.covariates
            if order_effect:
                Z = np.column_stack([np.ones(n), Z])
            counts = np.zeros((3, n))
            counts[games.outcome, np.arange(n)] = games.weight
            return cls(games.first, games.second, Z, counts, np.arange(n), games.outcome)
        first, second, outcome = games.first, games.second, games.outcome
        if not order_effect:
            swapped = first > second
            first, second = np.minimum(first, second), np.maximum(games.first, second)
            outcome = np.where(swapped, SECOND - outcome, outcome)
        pair, row = _number_pairs(first * m + second, m)
        counts = np.bincount(outcome * len(pair) + row, games.weight, 3 * len(pair)).reshape(3, -1)
        Z = np.ones((len(pair), int(order_effect)))
        return cls(pair // m, pair % m, Z, counts, row, outcome)


def _number_pairs(code: Int64Array, m: int) -> tuple[Int64Array, Int64Array]:
    """Distinct codes below m^2, and the place of each code among them."""
    if m * m > 4 * len(code) + 1000:
        pair, row = np.unique(code, return_inverse=True)
        return pair, row
    # Counting is ten times as fast as sorting, where there is room for all pairs.
    there = np.bincount(code, minlength=m * m) > 0
    pair = np.flatnonzero(there)
    return pair, (np.cumsum(there) - 1)[code]
