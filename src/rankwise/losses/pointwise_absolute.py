"""Absolute residuals with a free intercept, epsilon-insensitive: support vector regression.

    g(r) = min_b sum_i w_i max(0, |r_i - b| - epsilon),    r = y - f

is the support function of the dual values ``u_i = w_i nu_i`` with ``sum w nu = 0`` and nu within
[-1, 1]; epsilon > 0 splits each into an upper one within [0, 1], whose value is ``r_i - epsilon``,
and a lower one within [-1, 0], whose value is ``r_i + epsilon``. The nearest point of that set is
``z - t`` cut to its bounds, with t found from the sorted breakpoints.

References
----------
.. [1] Smola & Schölkopf, "A tutorial on support vector regression", Statistics and Computing 14
   (2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.dual_point import DualPoint
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class PointwiseAbsolute:
    """The loss of residuals in any order."""

    weight: Float64Array  # (n_samples,), > 0
    epsilon: float  # residuals up to epsilon have no loss, in units of y

    @property
    def indptr(self) -> Int64Array:
        """All rows share the intercept."""
        return np.array([0, len(self.weight)])

    @property
    def dual_weight(self) -> Float64Array:
        """Weight of every node."""
        if self.epsilon == 0:
            return self.weight
        return np.concatenate([self.weight, self.weight])

    def intercept(self, r: Float64Array) -> float:
        """The b that attains g(r); O(n log n).

        If an interval of values attains it, returns the midpoint.
        """
        breaks = np.concatenate([r - self.epsilon, r + self.epsilon])
        order = np.argsort(breaks, kind="stable")
        below = np.cumsum(np.concatenate([self.weight, self.weight])[order])
        half = 0.5 * below[-1]
        slack = 1e-12 * half
        first = int(np.searchsorted(below, half - slack))
        last = int(np.searchsorted(below, half + slack))
        ends = breaks[order[[first, min(last, len(order) - 1)]]]
        return float(0.5 * (ends[0] + ends[1]))

    def value(self, r: Float64Array) -> float:
        """g(r)."""
        beyond = np.abs(r - self.intercept(r)) - self.epsilon
        return float(self.weight @ np.maximum(beyond, 0.0))

    def nodes(self, r: Float64Array) -> Float64Array:
        """Values of the nodes, shape (n_nodes,)."""
        return r if self.epsilon == 0 else np.concatenate([r - self.epsilon, r + self.epsilon])

    def rows(self, per_node: Float64Array) -> Float64Array:
        """Sums over the nodes of each row, shape (n_samples,)."""
        n = len(self.weight)
        return per_node if self.epsilon == 0 else per_node[:n] + per_node[n:]

    def project(self, z: Float64Array) -> DualPoint:
        """The point of the dual set with the least ``sum dual_weight (nu - z)^2``; O(n log n)."""
        n = len(self.weight)
        low, high = -np.ones(len(z)), np.ones(len(z))
        if self.epsilon > 0:
            low[:n], high[n:] = 0.0, 0.0
        w = self.dual_weight
        # sum w clip(z - t, low, high) decreases in t; each free node contributes the slope -w.
        breaks = np.concatenate([z - high, z - low])
        order = np.argsort(breaks, kind="stable")
        breaks = breaks[order]
        slopes = np.cumsum(np.concatenate([-w, w])[order])
        levels = np.empty(len(breaks))
        levels[0] = w @ high
        levels[1:] = levels[0] + np.cumsum(slopes[:-1] * np.diff(breaks))
        piece = max(int(np.searchsorted(-levels, 0.0, side="right")) - 1, 0)
        t = breaks[piece]
        if slopes[piece] < 0:
            t = min(t - levels[piece] / slopes[piece], breaks[min(piece + 1, len(breaks) - 1)])
        nu = np.clip(z - t, low, high)
        free = np.flatnonzero((nu > low) & (nu < high))
        if len(free):  # the sum is zero up to rounding
            nu[free] -= (w @ nu) / w[free].sum()
            nu = np.clip(nu, low, high)
        if len(free) < 2:  # a single one cannot move
            return DualPoint(nu, free[:0], np.zeros(1, dtype=np.int64))
        return DualPoint(nu, free, np.array([0, len(free)]))
