"""One round of boosting pairs of a query, from sums over layers of equal grade instead of pairs.

A row of weight w and score H has ``P = w exp(H)`` and ``Q = c w exp(-H)``, where c is the weight of
its query. The pair of an upper row i and a lower row j has the weight ``T Q_i P_j``, where T is the
weight of their grades. Rows are sorted by query, and into layers of ascending grade within a query:
layer k holds rows ``layer_ptr[k]:layer_ptr[k + 1]``, and query q holds layers
``query_ptr[q]:query_ptr[q + 1]``. All kernels take a range of queries. A query takes O(rows +
layers), or O(rows + layers^2) with a table of pair weights.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.runtime.jit import njit


@njit
def split_layers(P, Q, side, layer_ptr, query_ptr, first, last, sums):
    """Write the sums of P and Q in each layer, over rows with ``side`` and without.

    The rows of ``sums`` are P with, P without, Q with, and Q without ``side``.
    """
    for layer in range(query_ptr[first], query_ptr[last]):
        p_up, p_down, q_up, q_down = 0.0, 0.0, 0.0, 0.0
        for i in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
            # As a factor: sides are as good as random, and a branch on them mispredicts.
            up = 1.0 if side[i] else 0.0
            p_up += up * P[i]
            p_down += (1.0 - up) * P[i]
            q_up += up * Q[i]
            q_down += (1.0 - up) * Q[i]
        sums[0, layer], sums[1, layer], sums[2, layer], sums[3, layer] = p_up, p_down, q_up, q_down


@njit
def weigh_pairs(lower, upper, grades, table, query_ptr, first, last):
    """Sum of ``T upper_k lower_l`` over the layers l < k of each query.

    ``table[a, b]`` is the weight of grades a > b; if it is empty, all are 1. ``grades`` holds the
    grade of each layer.
    """
    total = 0.0
    for q in range(first, last):
        start, stop = query_ptr[q], query_ptr[q + 1]
        # Without a table a running sum is enough; with one, every pair of layers has its weight.
        below = 0.0
        for k in range(start, stop):
            if len(table) > 0:
                below = 0.0
                for j in range(start, k):
                    below += table[grades[k], grades[j]] * lower[j]
            total += upper[k] * below
            if len(table) == 0:
                below += lower[k]
    return total


@njit
def write_opponents(lower, upper, grades, table, query_ptr, first, last, below, above):
    """Write, for each layer, the weighted sums of ``lower`` below it and of ``upper`` above it."""
    for q in range(first, last):
        start, stop = query_ptr[q], query_ptr[q + 1]
        total = 0.0
        for k in range(start, stop):
            if len(table) > 0:
                total = 0.0
                for j in range(start, k):
                    total += table[grades[k], grades[j]] * lower[j]
            below[k] = total
            if len(table) == 0:
                total += lower[k]
        total = 0.0
        for k in range(stop - 1, start - 1, -1):
            if len(table) > 0:
                total = 0.0
                for j in range(k + 1, stop):
                    total += table[grades[j], grades[k]] * upper[j]
            above[k] = total
            if len(table) == 0:
                total += upper[k]


@njit
def advance_pairs(P, Q, side, step, layer_ptr, below, above, scale, start, stop, u):
    """Add ``step`` to the scores of rows with ``side``, subtract it from the others; write weights.

    Only rows of the layers ``start:stop`` change. The signed weight of a row, ``Q below - P above``
    with the sums of its layer after the step, is written to ``u`` in units of ``1 / scale``.
    Returns the sum of these integers.
    """
    grow, shrink = math.exp(step), math.exp(-step)
    total = np.int64(0)
    for layer in range(start, stop):
        a, b = below[layer] * scale, above[layer] * scale
        for i in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
            # exp(H +- step) by products: no exponential per row in any round.
            p = P[i] * (grow if side[i] else shrink)
            q = Q[i] * (shrink if side[i] else grow)
            P[i], Q[i] = p, q
            # Whole numbers: sums over them have the same bits in any order of the rows.
            weight = np.int64(np.rint(q * a - p * b))
            u[i] = weight
            total += weight
    return total
