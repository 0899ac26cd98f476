"""Sandwich covariance of estimates whose comparisons are dependent within clusters.

With the inverse Hessian B and the gradients g of the comparisons, the covariance is
``B (sum_c g_c g_c^T) B``, where ``g_c`` sums the gradients of cluster c [1]_. For several ways of
clustering, such as annotators and prompts, the middle is that of each way, less that of their
intersections, and so on [2]_.

References
----------
.. [1] Liang & Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73
   (1986).
.. [2] Cameron, Gelbach & Miller, "Robust inference with multiway clustering", Journal of Business
   & Economic Statistics 29 (2011), equations 2.9 and 2.13.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.typing import Float64Array, Int64Array

_DENSE_ROWS = 4096


def compute_cluster_middle(scores: Any, clusters: Int64Array) -> Float64Array:
    """Sum of the outer products of the gradients of clusters.

    Parameters
    ----------
    scores : csr_array of shape (n_comparisons, n_parameters)
        Gradient of each comparison.
    clusters : ndarray of shape (n_comparisons, n_ways), int64
        Cluster of each comparison, for each way of clustering; at least one way.

    Returns
    -------
    ndarray of shape (n_parameters, n_parameters)
        Multiplied by G / (G - 1) for G clusters. Positive semidefinite: negative eigenvalues, which
        several ways can give, are set to 0.
    """
    n_ways = clusters.shape[1]
    total = np.zeros((scores.shape[1],) * 2)
    for size in range(1, n_ways + 1):
        for ways in combinations(range(n_ways), size):
            sign = 1.0 if size % 2 else -1.0
            total += sign * _one_way(scores, merge_codes(clusters[:, list(ways)]))
    if n_ways == 1:
        return total
    values, vectors = np.linalg.eigh(total)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def count_clusters(clusters: Int64Array) -> int:
    """Number of clusters in the way with fewest.

    Raises
    ------
    ValueError
        If one way has a single cluster.
    """
    fewest = min(len(np.unique(column)) for column in clusters.T)
    if fewest < 2:
        raise ValueError(
            "clusters must have at least two distinct ids, got one. Pass more annotators or "
            "prompts, or no clusters."
        )
    return fewest


def merge_codes(columns: Int64Array) -> Int64Array:
    """One code from 0 for each distinct row."""
    code = columns[:, 0]
    for column in columns.T[1:]:
        code = code * (int(column.max(initial=0)) + 1) + column
        code = np.unique(code, return_inverse=True)[1]  # keeps the products small
    return np.unique(code, return_inverse=True)[1]


def _one_way(scores: Any, cluster: Int64Array) -> Float64Array:
    n_clusters = int(cluster.max()) + 1
    n = len(cluster)
    members: Any = sparse.csr_array((np.ones(n), (cluster, np.arange(n))), shape=(n_clusters, n))
    sums = (members @ scores).tocsr()
    per_row = np.diff(sums.indptr).astype(np.float64)
    # A dense product does a hundred times as many operations in the time of a sparse one.
    if float(per_row @ per_row) * 100.0 < n_clusters * sums.shape[1] ** 2:
        middle = (sums.T @ sums).toarray()
    else:
        middle = np.zeros((sums.shape[1],) * 2)
        for start in range(0, n_clusters, _DENSE_ROWS):
            part = sums[start : start + _DENSE_ROWS].toarray()
            middle += part.T @ part
    return middle * (n_clusters / (n_clusters - 1.0))
