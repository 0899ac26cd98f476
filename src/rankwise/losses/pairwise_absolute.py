"""Absolute differences of residuals over the pairs of a query, epsilon-insensitive.

With residuals ``r = y - f``, row weights w, ``W_q`` the total row weight of query q and ``c_q`` the
query weight, the loss is

    g(r) = (1/S) sum_q c_q sum_ij w_i w_j max(0, |r_i - r_j| - epsilon),    S = sum_q c_q W_q^2,

the mean over ordered pairs, including i = j, whose loss is 0. For one query and epsilon = 0 this is
twice the mean gap below each row, ``(2/m^2) sum_i (2i - m - 1) r_(i)`` after sorting.

g is the support function of a polytope in dual values ``u_i = rho_q w_i nu_i``,
``rho_q = 2 c_q W_q / S``: each row has one node if epsilon = 0, and two nodes with the values
``r_i`` and ``r_i + epsilon`` if epsilon > 0, whose ``nu`` are added (see
:mod:`rankwise.kernels.pairwise_absolute`).

References
----------
.. [1] Cortes, Mohri & Rastogi, "Magnitude-preserving ranking algorithms", ICML 2007: SVRank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.kernels.pairwise_absolute import project_sorted, project_split, sum_exceedances
from rankwise.losses.dual_point import DualPoint
from rankwise.typing import Float64Array, Int64Array


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
        gradient *= self._repeat_by_query(self.pair_scale)
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

    def _repeat_by_query(self, per_query: Float64Array) -> Float64Array:
        return np.repeat(per_query, np.diff(self.indptr))


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

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.losses.pairwise_absolute import pairwise_absolute
    >>> loss = pairwise_absolute(np.array([0, 3]))
    >>> round(loss.value(np.array([0.0, 1.0, 3.0])), 6)  # 2 (1 + 2 + 3) / 9
    1.333333
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
