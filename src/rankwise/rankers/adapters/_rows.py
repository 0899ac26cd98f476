"""Training rows in an order that depends on their content alone.

Boosting libraries break ties of equal scores by row order, sample rows by position and sum in
input order, so a shuffled file gives another model; before the first tree all scores are equal,
and a file sorted by grade even leaks the answer into the first ranking. Rows are therefore put in
the order of a hash of their values, queries in the order of a hash of their rows: any order of
the same rows trains the same model, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array, Matrix

_ROWS_PER_CHUNK = 4096


def canonical_order(
    X: Matrix, y: Float64Array, groups: QueryGroups
) -> tuple[Int64Array, Int64Array]:
    """Row numbers in canonical order, and the rows per query in that order.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        NaN allowed; float32 and float64 of the same values, dense and CSR, give one order.
    y : ndarray of shape (n_samples,), float64
    groups : QueryGroups

    Returns
    -------
    order : ndarray of shape (n_samples,), int64
        ``X[order]`` holds whole queries one after the other.
    sizes : ndarray of shape (n_queries,), int64

    Notes
    -----
    Only rows that agree in all values, or collide in 64 bits, keep their input order.
    O(n_samples n_features).
    """
    row_key = _row_keys(X) + _bits(y) * _multipliers(X.shape[1])[-1]
    filled = groups.sizes > 0
    query_key = np.zeros(groups.n_queries, dtype=np.uint64)
    query_key[filled] = np.add.reduceat(
        groups.sort(_scrambled(row_key)), groups.indptr[:-1][filled]
    )
    codes = groups.codes()
    order = np.lexsort((row_key, codes, query_key[codes]))
    sizes = groups.sizes[np.argsort(query_key, kind="stable")]
    return order, sizes[sizes > 0]


def deal_large_queries(
    y: Float64Array, sizes: Int64Array, limit: int
) -> tuple[Int64Array, Int64Array]:
    """Split queries of more than ``limit`` rows into equal parts with the same mix of labels.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels, queries one after the other.
    sizes : ndarray of shape (n_queries,), int64
    limit : int
        Most rows a part may have.

    Returns
    -------
    order : ndarray of shape (n_samples,), int64
    sizes : ndarray of int64
        Rows per part; none exceeds ``limit``.
    """
    parts: list[Int64Array] = []
    start = 0
    for size in sizes:
        rows = np.arange(start, start + size)
        start += size
        n_parts = -(-size // limit)
        if n_parts > 1:
            rows = rows[np.argsort(y[rows], kind="stable")]
        parts += [rows[part::n_parts] for part in range(n_parts)]
    return np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.int64)


def _row_keys(X: Matrix) -> np.ndarray[Any, Any]:
    """Exact integer hash of every row, uint64: zeros add nothing, so CSR needs no zeros."""
    multipliers = _multipliers(X.shape[1])[:-1]
    keys = np.empty(X.shape[0], dtype=np.uint64)
    for first in range(0, X.shape[0], _ROWS_PER_CHUNK):
        rows = slice(first, first + _ROWS_PER_CHUNK)
        block = X[rows]
        if sparse.issparse(block):
            terms = _bits(block.data) * multipliers[block.indices]
            ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            keys[rows] = ends[block.indptr[1:]] - ends[block.indptr[:-1]]
        else:
            keys[rows] = (_bits(block) * multipliers).sum(axis=1)
    return keys


def _multipliers(n_features: int) -> np.ndarray[Any, Any]:
    """Fixed odd numbers: one per column and a last one for the label."""
    draws = np.random.default_rng(20130613).integers(0, 2**63, n_features + 1, dtype=np.uint64)
    return np.roll(draws, -1) | np.uint64(1)


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Scrambled bits of the values as float64; all NaN are one, and -0.0 is 0.0."""
    values = values.astype(np.float64) + 0.0
    values[np.isnan(values)] = np.nan
    return _scrambled(values.view(np.uint64))


def _scrambled(z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """uint64 to uint64, one to one, 0 to 0 (the finaliser of splitmix64)."""
    z = z ^ (z >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
