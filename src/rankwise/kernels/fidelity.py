"""Fidelity loss of the pairs of a query, by loops over pairs.

A pair of an upper row i and a lower row j whose scores differ by o has the loss
``1 - 1 / sqrt(1 + exp(-o))``, the fidelity loss for a target probability of 1. With
``E = exp(score)``, ``exp(-o)`` is ``E[j] / E[i]``, so a pair needs no exponential. Rows are stored
in layers, see :mod:`rankwise.kernels.pair_boosting`. The weight of a pair is ``table[a, b]`` (1 if
the table is empty) times the weights of its rows and of its query. O(pairs).
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.runtime.jit import njit


@njit
def fidelity_point(
    E, weight, grades, table, layer_ptr, query_ptr, scale, queries, slope
):  # fmt: skip
    """Loss of the queries ``queries[0]:queries[1]``, and the sum of its slopes over pairs.

    ``slope``, initially 0, becomes minus the derivative of the loss by the score of each row.
    """
    value, total = 0.0, 0.0
    for q in range(queries[0], queries[1]):
        start = query_ptr[q]
        for k in range(start + 1, query_ptr[q + 1]):
            for i in range(layer_ptr[k], layer_ptr[k + 1]):
                inverse, own_slope = 1.0 / E[i], 0.0
                for layer in range(start, k):
                    pair = scale[q] * weight[i]
                    if len(table) > 0:
                        pair *= table[grades[k], grades[layer]]
                    for j in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
                        # 1 - sqrt(r) as (1 - r) / (1 + sqrt(r)), with 1 - r = x r: no digit of a
                        # small loss cancels.
                        x = E[j] * inverse
                        r = 1.0 / (1.0 + x)
                        s = math.sqrt(r)
                        value += pair * weight[j] * (x * r / (1.0 + s))  # 1 - s
                        push = pair * weight[j] * 0.5 * (x * r) * s
                        own_slope += push
                        slope[j] -= push
                slope[i] += own_slope
                total += own_slope
    return value, total


@njit
def fidelity_split(E, weight, grades, table, layer_ptr, query_ptr, scale, queries, side):
    """Sum the slopes of pairs in which only the upper row has ``side``, and only the lower."""
    right, wrong = 0.0, 0.0
    for q in range(queries[0], queries[1]):
        start = query_ptr[q]
        for k in range(start + 1, query_ptr[q + 1]):
            for i in range(layer_ptr[k], layer_ptr[k + 1]):
                inverse, own_slope = 1.0 / E[i], 0.0
                for layer in range(start, k):
                    pair = scale[q] * weight[i]
                    if len(table) > 0:
                        pair *= table[grades[k], grades[layer]]
                    for j in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
                        if side[j] != side[i]:
                            x = E[j] * inverse
                            r = 1.0 / (1.0 + x)
                            own_slope += pair * weight[j] * 0.5 * (x * r) * math.sqrt(r)
                if side[i]:
                    right += own_slope
                else:
                    wrong += own_slope
    return right, wrong


@njit
def write_integers(slope, scale, u):
    """Write the slopes as integers in units of ``1 / scale``, and return their sum."""
    total = np.int64(0)
    for i in range(len(slope)):
        # Sums of whole numbers do not depend on the order of the rows or on threads.
        u[i] = np.int64(np.rint(slope[i] * scale))
        total += u[i]
    return total
