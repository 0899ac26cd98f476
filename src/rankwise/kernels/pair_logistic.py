"""Logistic loss over all pairs of unequal grades of a query: ``log(1 + exp(-(f_i - f_j)))``.

The rows of a query are sorted by grade, so that the opponents of a row form a contiguous range.
``exp(f_j - f_i)`` is a product of one number per row, so a pair takes a division and no
exponential. Sums of logarithms are computed as logarithms of products.

Complexity: O(pairs).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

_LARGEST = 600.0  # score difference up to which products of exponentials are finite
_FULL = 1e30  # a product that can take one more factor up to exp(600)


@njit
def raise_scores(scores, order, indptr, grow):
    """Write exp(score - middle of the query's scores) for every row, in the given order.

    ``scores`` and ``grow`` are (n,), float64, ``order`` (n,), int64. Returns whether all
    differences within queries are at most 600. If not, do not use ``grow``.
    """
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi == lo:
            continue
        low = high = scores[order[lo]]
        for place in range(lo + 1, hi):
            low = min(low, scores[order[place]])
            high = max(high, scores[order[place]])
        # Written so that NaN gives False as well.
        if not high - low <= _LARGEST:
            return False
        middle = 0.5 * (low + high)
        for place in range(lo, hi):
            # About the middle, numbers and their reciprocals stay within exp(-300) and exp(300).
            grow[place] = np.exp(scores[order[place]] - middle)
    return True


@njit
def _logarithms(grow, shrink, weight, first, last):
    """Sum of ``weight log(1 + grow shrink)`` over the range."""
    total, product = 0.0, 1.0
    for place in range(first, last):
        factor = 1.0 + grow[place] * shrink
        if weight[place] == 1.0:
            # One logarithm for many pairs; the weight would have to be a power, hence only for 1.
            product *= factor
            if product > _FULL:
                total += np.log(product)
                product = 1.0
        else:
            total += weight[place] * np.log(factor)
    return total + np.log(product)


@njit(fastmath=REASSOCIATE)
def _slopes(grow, shrink, weight, pair, first, last, gradient):
    """Add the slopes of a row against a range of opponents to the opponents' gradient.

    Returns the sum of the slopes and the sum of the curvatures.
    """
    total, bends = 0.0, 0.0
    for place in range(first, last):
        ratio = grow[place] * shrink
        share = ratio / (1.0 + ratio)
        slope = pair * weight[place] * share
        total += slope
        bends += slope * (1.0 - share)
        gradient[place] += slope
    return total, bends


@njit(fastmath=REASSOCIATE)
def _bends(grow, shrink, weight, pair, first, last, own, values, out):
    """Curvatures of a row against a range, times the differences of ``values``.

    They are subtracted from the opponents' ``out``. Returns their sum.
    """
    total = 0.0
    for place in range(first, last):
        ratio = grow[place] * shrink
        lower = 1.0 / (1.0 + ratio)
        bend = pair * weight[place] * ratio * lower * lower * (own - values[place])
        total += bend
        out[place] -= bend
    return total


@njit
def logistic_point(grow, grades, ends, weight, scale, indptr, table, gradient):
    """Evaluate the loss of some queries, its gradient, and the trace of its second derivative.

    All arrays are sorted by grade within queries. ``grow`` (see :func:`raise_scores`), ``weight``
    and ``gradient``, which is written, are (n,), float64, ``grades`` and ``ends`` (n,), int64.
    ``ends`` is the first position in the query with a higher grade. ``scale`` is (n_queries,),
    ``indptr`` (n_queries + 1,). ``table`` (K, K) is the weight of a pair of grades, upper grade
    first; (1, 1): one weight for all pairs.
    """
    value, trace, top = 0.0, 0.0, len(table) - 1
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        gradient[lo:hi] = 0.0
        for place in range(lo, hi):
            shrink = 1.0 / grow[place]
            first = lo
            # From grade to grade: the weight of a pair is constant within each.
            while grades[first] < grades[place]:
                last = ends[first]
                pair = table[min(grades[place], top), min(grades[first], top)]
                pair *= scale[query] * weight[place]
                value += pair * _logarithms(grow, shrink, weight, first, last)
                slope, bend = _slopes(grow, shrink, weight, pair, first, last, gradient)
                gradient[place] -= slope
                trace += 2.0 * bend
                first = last
    return value, trace


@njit
def logistic_curvature(values, grow, grades, ends, weight, scale, indptr, table, out):
    """Second derivative of the loss times ``values``; all arrays are sorted by grade.

    ``values`` and ``out``, which is written, are (n,), float64; for the others, see
    :func:`logistic_point`.
    """
    top = len(table) - 1
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        out[lo:hi] = 0.0
        for place in range(lo, hi):
            shrink = 1.0 / grow[place]
            first = lo
            while grades[first] < grades[place]:
                last = ends[first]
                pair = table[min(grades[place], top), min(grades[first], top)]
                pair *= scale[query] * weight[place]
                out[place] += _bends(
                    grow, shrink, weight, pair, first, last, values[place], values, out
                )
                first = last


@njit
def descend_pairs(X, upper, lower, first_step, decay, w, mean):
    """One stochastic gradient step per pair on ``decay |w|^2 / 2 + log(1 + exp(-w'(x_i - x_j)))``.

    Step t has length ``1 / (decay t)``, at most 1 over the squared length of the pair's difference.
    ``first_step`` is the number t of the first pair in this call, from 1. X is (n, d), float32 or
    float64; ``upper`` and ``lower`` (n_steps,), int64, are the rows of each pair. Changes ``w``
    (d,), and adds the sum of the iterates to ``mean`` (d,).
    """
    d = X.shape[1]
    for number in range(len(upper)):
        i, j = upper[number], lower[number]
        score, square = 0.0, 0.0
        for k in range(d):
            gap = np.float64(X[i, k]) - np.float64(X[j, k])
            score += w[k] * gap
            square += gap * gap
        length = 1.0 / (decay * (first_step + number))
        # The loss of a pair bends by at most a quarter of `square`: such a step cannot overshoot.
        # Equal rows have square 0.
        length = min(length, 1.0 / max(square, 1e-300))
        push = length / (1.0 + np.exp(min(score, _LARGEST)))
        keep = max(0.0, 1.0 - length * decay)
        for k in range(d):
            w[k] = keep * w[k] + push * (np.float64(X[i, k]) - np.float64(X[j, k]))
            # The mean of the iterates varies less with the drawn pairs than the last one.
            mean[k] += w[k]
