"""First and diagonal second derivatives of losses of scores, one query at a time.

A row of weight w counts as w identical rows.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

SMALLEST_POWER = 1e-290


# The floor of the powers keeps every divisor above 0.
@njit(fastmath=REASSOCIATE, unchecked_division=True)
def _against(power, weight, slopes, curvatures, n_below, own_power, own_weight):
    """Add the pairs of one row with rows of lower labels; return its slope and curvature."""
    slope = curvature = 0.0
    for t in range(n_below):
        # exp(f_t - f) / (1 + exp(f_t - f)) with both exponentials relative to the query's best.
        inverse = 1.0 / (own_power + power[t])
        wrong = own_weight * weight[t] * power[t] * inverse
        second = wrong * own_power * inverse
        slope -= wrong
        curvature += second
        slopes[t] += wrong
        curvatures[t] += second
    return slope, curvature


@njit
def logistic_pairs(scores, labels, weights, order, indptr, gradients, hessians):
    """Derivatives of ``sum w_i w_j log(1 + exp(f_j - f_i))`` over the pairs ``y_i > y_j``.

    ``scores``, ``labels`` and ``weights`` are (n_rows,), float64. ``order`` (n_rows,), int32, holds
    row numbers within their query by ascending label, and ``indptr`` is (n_queries + 1,). Writes
    ``gradients`` and ``hessians`` (n_rows,). O(m^2) for m rows of a query, with one exponential per
    row.
    """
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    power, weight = np.empty(longest), np.empty(longest)
    slopes, curvatures = np.empty(longest), np.empty(longest)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        n = end - start
        if n == 0:
            continue
        rows = order[start:end]
        highest = scores[start:end].max()
        for t in range(n):
            row = start + rows[t]
            # One exponential a row instead of one a pair. The floor keeps the sum of two of them
            # above 0.
            power[t] = max(np.exp(scores[row] - highest), SMALLEST_POWER)
            weight[t] = weights[row]
        slopes[:n] = 0.0
        curvatures[:n] = 0.0
        n_below = 0
        for t in range(n):
            # The first row with this label: all before it are below it, and equal labels are no
            # pair.
            if labels[start + rows[t]] > labels[start + rows[n_below]]:
                n_below = t
            if labels[start + rows[t]] == labels[start + rows[0]]:
                continue
            slope, curvature = _against(
                power, weight, slopes, curvatures, n_below, power[t], weight[t]
            )
            slopes[t] += slope
            curvatures[t] += curvature
        for t in range(n):
            gradients[start + rows[t]] = slopes[t]
            hessians[start + rows[t]] = curvatures[t]


@njit
def differentiate_squared_pairs(scores, labels, weights, indptr, gradients, hessians):
    """Derivatives of half of ``sum w_i w_j ((y_i - y_j) - (f_i - f_j))^2`` over all pairs.

    Each pair is counted once. O(m) for m rows of a query; arrays as in :func:`logistic_pairs`.
    """
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        total = moment = 0.0
        for i in range(start, end):
            total += weights[i]
            moment += weights[i] * (scores[i] - labels[i])
        for i in range(start, end):
            gradients[i] = weights[i] * (total * (scores[i] - labels[i]) - moment)
            # Without the pairs among the row's own copies, whose difference is constant.
            hessians[i] = weights[i] * (total - weights[i])


@njit
def cross_entropy(scores, targets, weights, indptr, gradients, hessians):
    """Derivatives of ``-sum t_i log p_i``, where p_i is the softmax of a query's scores.

    The targets t sum to 1 in each query, or are all 0 if the query is not part of the loss.
    A row of weight w has w equal shares of t and of p. O(m) for m rows of a query.
    """
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        if end == start:
            continue
        highest, total, aim = scores[start:end].max(), 0.0, 0.0
        for i in range(start, end):
            # Relative to the highest score, so that no exponential overflows.
            gradients[i] = weights[i] * np.exp(scores[i] - highest)
            total += gradients[i]
            aim += targets[i]
        for i in range(start, end):
            share = gradients[i] / total if aim > 0 else 0.0
            gradients[i] = share - targets[i]
            hessians[i] = share * (1.0 - share)
