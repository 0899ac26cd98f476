"""Rows of queries in layers of equal grade; two rows of different layers form a preference.

Sums over pairs become sums over layers: ``sum_i sum_{j: y_j < y_i} Q_i P_j`` is the sum over the
layers of ``Q`` of the layer times ``P`` of all layers below, in O(rows + layers).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.kernels.pair_boosting import weigh_pairs
from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.pair_weights import PairWeight, pair_table, query_scale
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import canonical_order
from rankwise.runtime.threads import query_chunks
from rankwise.typing import Float64Array, Int64Array

ROWS_AT_ONCE = 131_072


@dataclass(frozen=True, eq=False)
class LayeredPairs:
    """Rows sorted by query and ascending grade, with equal rows adjacent, whatever the input order.

    Layer k holds rows ``layer_ptr[k]:layer_ptr[k + 1]``, and query q layers
    ``query_ptr[q]:query_ptr[q + 1]``.
    """

    rows: Int64Array  # (n_rows,): input row number of each sorted row
    layer_ptr: Int64Array
    query_ptr: Int64Array
    grades: Int64Array  # (n_layers,): rank of each layer's label among all distinct labels
    # (n_grades, n_grades): weight of a pair of grades, the upper grade first; (0, 0) if all weights
    # are 1
    table: Float64Array
    weight: Float64Array  # (n_rows,)
    scale: Float64Array  # (n_queries,): weight of the pairs of each query

    @property
    def row_ptr(self) -> Int64Array:
        """First row of each query, and the number of rows, shape (n_queries + 1,)."""
        return self.layer_ptr[self.query_ptr]

    @property
    def n_pairs(self) -> Int64Array:
        """Number of pairs of rows in different layers of each query, shape (n_queries,)."""
        layers = np.diff(self.layer_ptr)
        squares = np.concatenate([[0], np.cumsum(layers**2)])[self.query_ptr]
        return (np.diff(self.row_ptr) ** 2 - np.diff(squares)) // 2

    def normalised(self) -> LayeredPairs:
        """The same pairs, with weights that sum to 1 in each query."""
        mass = np.add.reduceat(np.append(self.weight, 0.0), self.layer_ptr[:-1])
        arguments = (mass, mass, self.grades, self.table, self.query_ptr)
        sums = np.array([weigh_pairs(*arguments, q, q + 1) for q in range(len(self.scale))])
        return replace(self, scale=np.where(sums > 0, 1.0 / np.where(sums > 0, sums, 1.0), 0.0))

    def parts(self) -> list[tuple[int, int]]:
        """Ranges of queries, one per thread."""
        return query_chunks(self.row_ptr, ROWS_AT_ONCE)


def layer_pairs(data: FitData, pair_weight: PairWeight, query_weight: QueryWeight) -> LayeredPairs:
    """Sort the checked rows into layers; O(N d + N log N).

    With ``pair_weight``, at most 4096 distinct labels are allowed.
    """
    order, sizes = canonical_order(data.X, data.y, data.groups)
    query = np.repeat(np.arange(len(sizes)), sizes)
    labels, codes = np.unique(data.y, return_inverse=True)
    by_grade = np.lexsort((codes[order], query))  # queries are already in order
    rows, query = order[by_grade], query[by_grade]
    codes = codes[rows]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (np.diff(query) != 0) | (np.diff(codes) != 0)
    starts = np.flatnonzero(is_new)
    table = np.zeros((0, 0))
    if pair_weight is not None:
        table = pair_table(pair_weight, labels)
    weight = np.ones(len(rows)) if data.sample_weight is None else data.sample_weight[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n_layers = np.bincount(query[starts], minlength=len(sizes))
    return LayeredPairs(
        rows,
        np.append(starts, len(rows)).astype(np.int64),
        np.concatenate([[0], np.cumsum(n_layers)]).astype(np.int64),
        codes[starts].astype(np.int64),
        table,
        weight,
        query_scale(indptr, weight, query_weight),
    )
