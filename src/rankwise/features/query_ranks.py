"""Ranks of values within their query or among stored values; equal values share a rank.

Values that differ by at most 1e-13 of the largest count as equal, so that the order of summation
does not matter.
"""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, FloatArray, Int64Array

_EQUAL = 1e-13


def rank_centred(rows: FloatArray, indptr: Int64Array) -> Float64Array:
    """Centred ranks ``(below - above) / (2 m)`` within queries of m rows.

    ``rows`` (n_samples, n_features) are in group order. Ranks lie in (-1/2, 1/2), with mean 0 in
    every query; all are 0 if a feature is constant within a query. O(n log n) for each feature.
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    first, size = indptr[query], sizes[query]
    out = np.empty(rows.shape)
    for feature, column in enumerate(rows.T):
        order = np.lexsort((column, query))
        ordered = column[order]
        largest = np.maximum(np.abs(ordered[first]), np.abs(ordered[first + size - 1]))
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (np.diff(ordered) > _EQUAL * largest[1:]) | (np.diff(query) != 0)
        starts = np.flatnonzero(new)
        run = np.cumsum(new) - 1
        below = starts[run] - first
        above = first + size - np.append(starts[1:], len(rows))[run]
        out[order, feature] = (below - above) / (2 * size)
    return out


def ranks_among(ascending: FloatArray, rows: FloatArray) -> Float64Array:
    """Ranks of new rows among stored rows, which are ranked by :func:`rank_centred`.

    Ranks are interpolated linearly between stored values and approach -1/2 and 1/2 beyond the
    outermost ones. They are a continuous, increasing function of the value. ``ascending``
    (n_kept, n_features) holds the stored rows, with every column sorted.
    """
    ranks = rank_centred(ascending, np.array([0, len(ascending)]))
    out = np.empty(rows.shape)
    for feature, column in enumerate(rows.T):
        kept, rank = ascending[:, feature], ranks[:, feature]
        scale = kept[-1] - kept[0] or 1.0
        under = np.maximum(kept[0] - column, 0.0) / scale
        over = np.maximum(column - kept[-1], 0.0) / scale
        out[:, feature] = np.interp(column, kept, rank)
        out[:, feature] -= (0.5 + rank[0]) * under / (1.0 + under)
        out[:, feature] += (0.5 - rank[-1]) * over / (1.0 + over)
    return out
