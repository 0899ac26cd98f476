"""Sandwich covariance of estimates whose comparisons are dependent within clusters.

With the inverse Hessian B and the gradients g of the comparisons, the covariance is
``B (sum_c g_c g_c^T) B``, where ``g_c`` sums the gradients of cluster c [1]_. For several ways of
clustering, such as annotators and prompts, the middle is that of each way, less that of their
intersections, and so on [2]_. Clusters of unequal size determine a variance less well than as many
equal ones; their effective number [3]_ gives degrees of freedom.

References
----------
.. [1] Liang & Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73
   (1986).
.. [2] Cameron, Gelbach & Miller, "Robust inference with multiway clustering", Journal of Business
   & Economic Statistics 29 (2011), equations 2.9 and 2.13.
.. [3] Carter, Schnepel & Steigerwald, "Asymptotic behavior of a t-test robust to cluster
   heterogeneity", Review of Economics and Statistics 99 (2017).
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

    ``scores`` is CSR of shape (n_comparisons, n_parameters): the gradient of each comparison.
    ``clusters`` is (n_comparisons, n_ways), with at least one way of clustering.

    The sum is multiplied by G / (G - 1) for G clusters. It is positive semidefinite: negative
    eigenvalues, which several ways can give, are set to 0.
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


def count_effective_clusters(
    clusters: Int64Array, row: Int64Array, item: Int64Array, weight: Float64Array
) -> tuple[float, int]:
    """Number of equal clusters that would determine variances as well, in the worst way; that way.

    If comparisons of a cluster move together, the variance of an item's strength is estimated by a
    sum of squares proportional to ``n_c^2``, for the item's ``n_c`` comparisons in cluster c. It is
    known as well as from ``(sum n_c^2)^2 / sum n_c^4`` equal clusters. The result is the mean over
    items.

    ``clusters`` is (n_comparisons, n_ways). ``row``, ``item`` and ``weight`` describe each
    occurrence of an item in a comparison. It is an error if one way has a single cluster.
    """
    fewest, worst = np.inf, 0
    for way, column in enumerate(clusters.T):
        cluster = np.unique(column, return_inverse=True)[1]
        n_clusters = int(cluster.max()) + 1
        if n_clusters < 2:
            raise ValueError(
                "clusters must have at least two distinct ids, got one. Pass more annotators or "
                "prompts, or no clusters."
            )
        sizes: Any = sparse.coo_array((weight, (cluster[row], item))).tocsc()
        squares = sizes.power(2).sum(axis=0)
        found = float(np.mean(squares**2 / sizes.power(4).sum(axis=0)))
        if found < fewest:
            fewest, worst = found, way
    return fewest, worst


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
