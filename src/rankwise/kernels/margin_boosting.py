"""One round of boosting ordinal margins: sums by class, thresholds, and the weight on every row.

Row n of class y has ``P = w exp(H)`` and ``Q = w exp(-H)``, w its weight and H its score so far.
Rows lie in order of their class: class y holds rows ``class_ptr[y]:class_ptr[y + 1]``. A base
learner with values -1 and 1 multiplies P and Q by constants, and the loss, the thresholds and the
next step need only sums of P and Q over classes: no exponential is taken row by row.

Sums are over integers: every term is rounded to a multiple of 2^-60 of a bound of the sum, so that
they are the same for any order of the rows and any division among threads.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.runtime.jit import njit

BITS = 60  # of a sum of integers
LARGEST_EXPONENT = 1000


@njit
def unit_scale(bound):
    """Power of two that brings ``bound`` to at most 2^60; 1 for a bound of 0."""
    if bound <= 0.0:
        return 1.0
    exponent = math.frexp(bound)[1]
    return math.ldexp(1.0, min(BITS - exponent, LARGEST_EXPONENT))


@njit
def advance_rows(P, Q, side, step, class_ptr, sums, start, stop, totals):
    """Add ``step`` to the score of rows ``start:stop`` with ``side`` set, take it from the others.

    ``sums[0]`` and ``sums[1]`` are the sums of P and Q by class before; the integers that stand
    for those after are added to ``totals`` of the same shape (scaled as ``read_sums`` knows).
    """
    grow, shrink = math.exp(step), math.exp(-step)
    most = max(grow, shrink)
    for y in range(len(class_ptr) - 1):
        low, high = max(start, class_ptr[y]), min(stop, class_ptr[y + 1])
        if low >= high:
            continue
        p_scale, q_scale = unit_scale(most * sums[0, y]), unit_scale(most * sums[1, y])
        p_total, q_total = np.int64(0), np.int64(0)
        for i in range(np.uint64(low), np.uint64(high)):
            p = P[i] * (grow if side[i] else shrink)
            q = Q[i] * (shrink if side[i] else grow)
            P[i], Q[i] = p, q
            p_total += np.int64(np.rint(p * p_scale))
            q_total += np.int64(np.rint(q * q_scale))
        totals[0, y] += p_total
        totals[1, y] += q_total


@njit
def read_sums(totals, step, sums):
    """Write the sums that the integers of ``advance_rows`` stand for over those before."""
    most = max(math.exp(step), math.exp(-step))
    for k in range(2):
        for y in range(sums.shape[1]):
            sums[k, y] = totals[k, y] / unit_scale(most * sums[k, y])


@njit
def solve_thresholds(sums, left_right, theta, up, down):
    """Write the optimal thresholds, ascending; returns the loss at them.

    ``exp(2 theta_k)`` is the sum of P over the rows below threshold k, all or only those of class
    k, divided by the sum of Q over the rows above, all or only those of class k + 1. The second
    form's thresholds are put in order by pooling neighbours, both sums. ``up[y]`` and ``down[y]``
    become the factors of Q and P in the weights of class y. Without weight on a side a threshold
    is infinite.
    """
    n_thresholds = sums.shape[1] - 1
    below, above = np.empty(n_thresholds), np.empty(n_thresholds)
    width = np.empty(n_thresholds, dtype=np.int64)
    n_pools = 0
    total_below, total_above = 0.0, 0.0
    suffix = np.zeros(n_thresholds + 1)
    for k in range(n_thresholds - 1, -1, -1):
        suffix[k] = suffix[k + 1] + sums[1, k + 1]
    for k in range(n_thresholds):
        if left_right:
            total_below, total_above = sums[0, k], sums[1, k + 1]
        else:
            total_below, total_above = total_below + sums[0, k], suffix[k]
        below[n_pools], above[n_pools], width[n_pools] = total_below, total_above, 1
        n_pools += 1
        while left_right and n_pools > 1 and _is_before(below, above, n_pools - 1):
            n_pools -= 1
            below[n_pools - 1] += below[n_pools]
            above[n_pools - 1] += above[n_pools]
            width[n_pools - 1] += width[n_pools]
    up[:], down[:] = 0.0, 0.0
    loss = 0.0
    k = 0
    for pool in range(n_pools):
        root_below, root_above = math.sqrt(below[pool]), math.sqrt(above[pool])
        loss += 2.0 * root_below * root_above
        for _ in range(width[pool]):
            if root_below == 0.0 or root_above == 0.0:
                theta[k] = np.inf if root_above == 0.0 else -np.inf
            else:
                theta[k] = math.log(root_below / root_above)
                up[k + 1] = root_below / root_above
                down[k] = root_above / root_below
            k += 1
    if not left_right:
        for k in range(1, n_thresholds + 1):
            up[k] += up[k - 1]
        for k in range(n_thresholds - 1, -1, -1):
            down[k] += down[k + 1]
    return loss


@njit
def _is_before(below, above, pool):
    """Whether the threshold of a pool is no larger than that of the pool before it.

    A pool without any weight belongs to its neighbours.
    """
    if above[pool - 1] == 0.0:
        return True
    if above[pool] == 0.0:
        return below[pool] == 0.0
    return below[pool - 1] / above[pool - 1] >= below[pool] / above[pool]


@njit
def write_weights(P, Q, class_ptr, up, down, loss, start, stop, u):
    """Write the signed weights ``u = up Q - down P`` of rows ``start:stop`` as integers.

    A unit is ``1 / unit_scale(loss)``: the weights of all rows together are at most 2^60. Returns
    their sum.
    """
    scale = unit_scale(loss)
    total = np.int64(0)
    for y in range(len(class_ptr) - 1):
        low, high = max(start, class_ptr[y]), min(stop, class_ptr[y + 1])
        a, b = up[y] * scale, down[y] * scale
        for i in range(np.uint64(max(low, 0)), np.uint64(max(high, low, 0))):
            weight = np.int64(np.rint(Q[i] * a - P[i] * b))
            u[i] = weight
            total += weight
    return total
