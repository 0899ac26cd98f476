"""Losses that are support functions of polytopes, for solvers of the dual problem."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rankwise.typing import Float64Array, Int64Array


class DualPoint(NamedTuple):
    """Nearest point of the dual polytope, with its partition of the nodes into blocks."""

    nu: Float64Array  # (n_nodes,)
    # Nodes whose value changes with z, block by block; ``nu - z`` is constant within a block.
    active: Int64Array
    block_ptr: Int64Array  # (n_blocks + 1,), into ``active``


class SupportLoss(Protocol):
    """``g(r) = max sum dual_weight nu nodes(r)`` over a polytope of nu.

    Adding a constant to the residuals of a query does not change the loss. Every row has one node,
    or two nodes whose positions differ by n_samples.
    """

    @property
    def indptr(self) -> Int64Array: ...

    @property
    def weight(self) -> Float64Array: ...

    @property
    def dual_weight(self) -> Float64Array: ...

    def value(self, r: Float64Array) -> float: ...

    def nodes(self, r: Float64Array) -> Float64Array:
        """Values of the nodes, shape (n_nodes,)."""
        ...

    def rows(self, per_node: Float64Array) -> Float64Array:
        """Sums over the nodes of each row, shape (n_samples,)."""
        ...

    def project(self, z: Float64Array) -> DualPoint:
        """The point of the polytope with the least ``sum dual_weight (nu - z)^2``."""
        ...
