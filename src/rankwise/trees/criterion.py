"""Impurities of a node: how far its rows are from all having the same class.

With class weights ``N_k`` (k = 0 ... K-1), their sum N and ``C_k`` the weight of classes up to k:

- "rank" [1]_: the sum of rank distances over all pairs of rows,
  ``I = sum_{i<j} (j - i) N_i N_j = sum_{k<K-1} C_k (N - C_k)``;
- a matrix D of rank distances: ``I = sum_{i<j} D_ij N_i N_j``;
- "gini": ``N - sum_k N_k^2 / N``;
- "entropy", in bits: ``sum_k N_k log2(N / N_k)``;
- "absolute_error": ``sum_k min(C_k, N - C_k)``, the sum of rank distances between rows and their
  median.

The gain of a split is the impurity of the node minus that of its children, not divided by N. For
distances, the gain is ``sum_ij L_i D_ij R_j``, the total distance of all pairs that the split
separates. It is positive unless all these distances are 0 (Theorem 1 of [1]_).

References
----------
.. [1] Liu, Pan & Wang, "New rank learning algorithm" (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.kernels.tree_splits import ABSOLUTE, DISTANCES, ENTROPY, GINI, RANKS
from rankwise.typing import ArrayLike, Float64Array

CRITERIA = {"rank": RANKS, "gini": GINI, "entropy": ENTROPY, "absolute_error": ABSOLUTE}


@dataclass(frozen=True, eq=False)
class Criterion:
    """Impurity that a split reduces."""

    kind: int  # number of the impurity in ``rankwise.kernels.tree_splits``
    distances: Float64Array  # (n_classes, n_classes); ``|i - j|`` if none are given

    def impurity(self, counts: Float64Array) -> Float64Array:
        """Impurity (n_nodes,) of nodes from their class weights (n_nodes, n_classes).

        Exactly 0 for nodes with a single class.
        """
        n = counts.sum(axis=1)
        below = counts.cumsum(axis=1)[:, :-1]
        if self.kind == RANKS:
            return (below * (n[:, None] - below)).sum(axis=1)
        if self.kind == DISTANCES:
            # Half, because the product counts every pair of classes twice.
            return 0.5 * ((counts @ self.distances) * counts).sum(axis=1)
        # The root's missing sibling has no rows; it gets 0 instead of NaN.
        share = counts / np.where(n > 0, n, 1)[:, None]
        if self.kind == GINI:
            # Exactly 0 for one class, which N - sum N_k^2 / N need not be.
            return (counts * (1 - share)).sum(axis=1)
        if self.kind == ENTROPY:
            # log2(1) = 0 stands in for 0 log 0.
            return -(counts * np.log2(np.where(share > 0, share, 1))).sum(axis=1)
        return np.minimum(below, n[:, None] - below).sum(axis=1)


def make_criterion(criterion: str | ArrayLike, n_classes: int) -> Criterion:
    """Create a criterion from its name or from a matrix of rank distances.

    Names are "rank", "gini", "entropy" and "absolute_error". A matrix holds the distance between
    each two of the ``n_classes`` classes: symmetric, zero on the diagonal, and not decreasing away
    from it along rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.trees.criterion import make_criterion
    >>> counts = np.array([[2.0, 0.0, 1.0]])
    >>> make_criterion("rank", 3).impurity(counts)
    array([4.])
    >>> squared = np.subtract.outer(range(3), range(3)) ** 2
    >>> make_criterion(squared, 3).impurity(counts)
    array([8.])
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise ValueError(
                f"criterion must be one of {', '.join(map(repr, CRITERIA))} or a matrix of rank "
                f"distances, got {criterion!r}."
            )
        ranks = np.arange(n_classes, dtype=np.float64)
        return Criterion(CRITERIA[criterion], np.abs(np.subtract.outer(ranks, ranks)))
    distances = np.ascontiguousarray(criterion, dtype=np.float64)
    _check_distances(distances, n_classes)
    return Criterion(DISTANCES, distances)


def _check_distances(D: Float64Array, n_classes: int) -> None:
    """Raise if D is not a matrix of rank distances."""
    if D.shape != (n_classes, n_classes):
        raise ValueError(
            f"criterion as a matrix must have a row and a column for each of the {n_classes} "
            f"classes, got shape {D.shape}."
        )

    def rule(holds: Any, what: str) -> None:
        if not np.all(holds):
            raise ValueError(
                f"criterion as a matrix of rank distances must be {what}. "
                "Take np.abs(i - j) of the class numbers, or a power of it."
            )

    rule(np.isfinite(D), "finite")
    rule(np.diag(D) == 0, "zero on its diagonal")
    rule(D == D.T, "symmetric")
    i, j = np.indices((n_classes, max(0, n_classes - 1)))
    # Steps to the right of the diagonal must not fall, those to its left must not rise.
    rises = np.where(j >= i, 1, -1) * np.diff(D, axis=1)
    rule(rises >= 0, "non-decreasing away from its diagonal")
