"""Training rows in an order that depends on their content alone.

Boosting libraries break ties of equal scores by row order, sample rows by position and sum in
input order, so a shuffled file gives another model; before the first tree all scores are equal,
and a file sorted by grade even leaks the answer into the first ranking. Rows are therefore put in
the order of a hash of their values, queries in the order of a hash of their rows: any order of
the same rows trains the same model, bit for bit.
"""

from __future__ import annotations

import numpy as np

from rankwise._row_hash import row_hashes, scrambled
from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array, Matrix


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
    row_key = row_hashes(X, y)
    filled = groups.sizes > 0
    query_key = np.zeros(groups.n_queries, dtype=np.uint64)
    query_key[filled] = np.add.reduceat(groups.sort(scrambled(row_key)), groups.indptr[:-1][filled])
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
