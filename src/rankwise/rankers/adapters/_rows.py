"""Queries larger than a library takes, in parts of the same mix of labels."""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Int64Array


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
