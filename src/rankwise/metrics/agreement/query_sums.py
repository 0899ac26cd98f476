"""Sums over the rows of each query in plain NumPy, so O(m) measures need no compilation."""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Int64Array


def sum_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Sum of the rows of each query, shape (n_queries,); 0 for a query without rows."""
    sizes = np.diff(indptr)
    sums = np.zeros(len(sizes))
    if len(values):
        sums[sizes > 0] = np.add.reduceat(values, indptr[:-1][sizes > 0])
    return sums


def mean_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Mean of the rows of each query; 0 for a query without rows."""
    return sum_by_query(values, indptr) / np.maximum(np.diff(indptr), 1)


def centre_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Rows minus the mean of their query, in two steps to keep precision despite an offset."""
    centred = subtract_first_by_query(values, indptr)
    return centred - np.repeat(mean_by_query(centred, indptr), np.diff(indptr))


def subtract_first_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Rows minus the first row of their query: exact for values of similar size."""
    sizes = np.diff(indptr)
    return values - np.repeat(values[indptr[:-1][sizes > 0]], sizes[sizes > 0])


def largest_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Largest row of each query, shape (n_queries,); 0 for a query without rows."""
    sizes = np.diff(indptr)
    largest = np.zeros(len(sizes))
    if len(values):
        largest[sizes > 0] = np.maximum.reduceat(values, indptr[:-1][sizes > 0])
    return largest
