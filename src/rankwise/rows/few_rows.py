"""Distinct rows of queries by NumPy: what the kernels of ``kernels/row_order`` do, for few rows.

Compiling these kernels takes a second, more than the whole fit of a model on few rows. Both ways
return the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise.rows.row_hash import scramble
from rankwise.typing import Float64Array, Int64Array

# Rows up to which NumPy is done in milliseconds.
FEW_ROWS = 20_000
_TO_SHARE = 2.0**-64


def order_few(
    keys: NDArray[np.uint64],
    hash_line: int,
    indptr: Int64Array,
    rows: Int64Array,
    is_new: NDArray[np.bool_],
    sizes: Int64Array,
    query_keys: NDArray[np.uint64],
    sums: Float64Array,
) -> None:
    """Sort the rows of all queries, see :func:`rankwise.kernels.row_order.order_queries`.

    O(n log n) for n rows.
    """
    n_queries, lengths = len(sizes), np.diff(indptr)
    query = np.repeat(np.arange(n_queries), lengths)
    rows[:] = rows[np.lexsort((*keys[:, rows], query))]
    hashes = keys[hash_line, rows]
    is_new[:] = True
    is_new[1:] = hashes[1:] != hashes[:-1]
    is_new[indptr[:-1][lengths > 0]] = True
    sizes[:] = np.bincount(query[is_new], minlength=n_queries)
    # The hash of zeros with label 0 is 0, which would count as no row.
    z = scramble(np.maximum(hashes, np.uint64(1)))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(z * is_new, dtype=np.uint64)])
    query_keys[:] = ends[indptr[1:]] - ends[indptr[:-1]]
    weight = keys[0].view(np.float64)[rows] if hash_line > 0 else 1.0
    # Unlike other sums of NumPy, this one adds row by row.
    sums[:] = np.bincount(query, weight * (z.astype(np.float64) * _TO_SHARE), n_queries)


def join_few(
    rows: Int64Array,
    is_new: NDArray[np.bool_],
    indptr: Int64Array,
    starts: Int64Array,
    weights: Float64Array,
    out: Int64Array,
    totals: Float64Array,
    places: Int64Array,
) -> None:
    """Move distinct rows together, see :func:`rankwise.kernels.row_order.join_queries`."""
    count = np.concatenate([[0], np.cumsum(is_new)])
    place = count[1:] - 1 + np.repeat(starts - count[indptr[:-1]], np.diff(indptr))
    out[place[is_new]] = rows[is_new]
    if len(totals):
        totals[:] = np.bincount(place, weights[rows] if len(weights) else None, len(totals))
    if len(places):
        places[rows] = place
