"""Absolute residuals of pairs and of rows, epsilon-insensitive, by their dual polytopes.

The loss of pairs [1]_ is, with residuals ``r = y - f``, row weights w, ``W_q`` the total row weight
of query q and ``c_q`` the query weight,

    g(r) = (1/S) sum_q c_q sum_ij w_i w_j max(0, |r_i - r_j| - epsilon),    S = sum_q c_q W_q^2,

the mean over ordered pairs, including i = j, whose loss is 0. For one query and epsilon = 0 this is
twice the mean gap below each row, ``(2/m^2) sum_i (2i - m - 1) r_(i)`` after sorting.

g is the support function of a polytope in dual values ``u_i = rho_q w_i nu_i``,
``rho_q = 2 c_q W_q / S``: each row has one node if epsilon = 0, and two nodes with the values
``r_i`` and ``r_i + epsilon`` if epsilon > 0, whose ``nu`` are added (see
:mod:`rankwise.kernels.pairwise_absolute`).

The loss of rows has a free intercept, as support vector regression [2]_ does:

    g(r) = min_b sum_i w_i max(0, |r_i - b| - epsilon),    r = y - f

is the support function of the dual values ``u_i = w_i nu_i`` with ``sum w nu = 0`` and nu within
[-1, 1]; epsilon > 0 splits each into an upper one within [0, 1], whose value is ``r_i - epsilon``,
and a lower one within [-1, 0], whose value is ``r_i + epsilon``. The nearest point of that set is
``z - t`` cut to its bounds, with t found from the sorted breakpoints.

References
----------
.. [1] Cortes, Mohri & Rastogi, "Magnitude-preserving ranking algorithms", ICML 2007: SVRank.
.. [2] Smola & Schölkopf, "A tutorial on support vector regression", Statistics and Computing 14
   (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from rankwise.kernels.pairwise_absolute import project_sorted, project_split, sum_exceedances
from rankwise.typing import Float64Array, Int64Array


class DualPoint(NamedTuple):
    """Nearest point of the dual polytope, with its partition of the nodes into blocks."""

    nu: Float64Array  # (n_nodes,)
    # Nodes whose value changes with z, block by block; ``nu - z`` is constant within a block.
    active: Int64Array
    block_ptr: Int64Array  # (n_blocks + 1,), into ``active``


@dataclass(frozen=True, eq=False)
class PairwiseAbsolute:
    """The loss of residuals in group order."""

    indptr: Int64Array  # (n_queries + 1,)
    weight: Float64Array  # (n_samples,): row weights > 0
    pair_scale: Float64Array  # (n_queries,): ``c_q / S``
    epsilon: float  # differences up to epsilon have no loss, in units of y
    dual_weight: Float64Array  # (n_nodes,): ``rho_q w_i`` of every node

    def value(self, r: Float64Array) -> float:
        """g(r); O(m log m) per query."""
        return self.value_grad(r)[0]

    def value_grad(self, r: Float64Array) -> tuple[float, Float64Array]:
        """g(r) and a subgradient with respect to r, shape (n_samples,).

        Pairs at the kink (equal residuals if epsilon = 0) contribute 0 to the subgradient.
        """
        sums = np.empty(len(self.pair_scale))
        gradient = np.empty(len(r))
        sum_exceedances(r, self.weight, self.indptr, self.epsilon, sums, gradient)
        gradient *= np.repeat(self.pair_scale, np.diff(self.indptr))
        return float(self.pair_scale @ sums), gradient

    def nodes(self, r: Float64Array) -> Float64Array:
        """Values of the nodes, shape (n_nodes,)."""
        return r if self.epsilon == 0 else np.concatenate([r, r + self.epsilon])

    def rows(self, per_node: Float64Array) -> Float64Array:
        """Sums over the nodes of each row, shape (n_samples,)."""
        n = len(self.weight)
        return per_node if self.epsilon == 0 else per_node[:n] + per_node[n:]

    def project(self, z: Float64Array) -> DualPoint:
        """The point of the dual polytope with the least ``sum dual_weight (nu - z)^2``.

        Exact; O(m log m) per query.
        """
        nu = np.empty(len(z))
        active = np.empty(len(z), dtype=np.int64)
        block_ptr = np.empty(len(z) + 1, dtype=np.int64)
        project = project_sorted if self.epsilon == 0 else project_split
        n_blocks = project(z, self.weight, self.indptr, nu, active, block_ptr)
        return DualPoint(nu, active[: block_ptr[n_blocks]], block_ptr[: n_blocks + 1])


def pairwise_absolute(
    indptr: Int64Array,
    weight: Float64Array | None = None,
    *,
    epsilon: float = 0.0,
    query_weight: str = "pair",
) -> PairwiseAbsolute:
    """The loss over queries of consecutive rows.

    ``weight`` (n_samples,) is > 0; None: all 1. ``c_q`` is 1, ``1 / W_q`` or ``1 / W_q^2`` for the
    ``query_weight`` "pair", "document" or "query".
    """
    sizes = np.diff(indptr)
    weight = np.ones(indptr[-1]) if weight is None else weight
    query = np.repeat(np.arange(len(sizes)), sizes)
    total = np.bincount(query, weights=weight, minlength=len(sizes))
    counted = np.where(total > 0, total, 1.0)
    c = counted ** -float({"pair": 0, "document": 1, "query": 2}[query_weight])
    pair_scale = c / (c @ total**2)
    dual_weight = (2.0 * pair_scale * total)[query] * weight
    if epsilon > 0:
        dual_weight = np.concatenate([dual_weight, dual_weight])
    return PairwiseAbsolute(indptr, weight, pair_scale, float(epsilon), dual_weight)


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


# ``g(r) = max sum dual_weight nu nodes(r)`` over a polytope of nu. Adding a constant to the
# residuals of a query does not change the loss. Every row has one node, or two nodes whose
# positions differ by n_samples.
SupportLoss: TypeAlias = PairwiseAbsolute | PointwiseAbsolute
