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

    Parameters
    ----------
    scores : float64 (n,)
    order : int64 (n,)
    indptr : int64 (n_queries + 1,)
    grow : float64 (n,), written

    Returns
    -------
    bool
        Whether all differences within queries are at most 600. If not, do not use ``grow``.
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

    Parameters
    ----------
    grow : float64 (n,)
        See :func:`raise_scores`. All arrays are sorted by grade within queries.
    grades : int64 (n,)
    ends : int64 (n,)
        First position in the query with a higher grade.
    weight : float64 (n,)
    scale : float64 (n_queries,)
    indptr : int64 (n_queries + 1,)
    table : float64 (K, K)
        Weight of a pair of grades, upper grade first; shape (1, 1): one weight for all pairs.
    gradient : float64 (n,), written

    Returns
    -------
    float, float
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

    Parameters
    ----------
    values : float64 (n,)
    grow, grades, ends, weight, scale, indptr, table
        See :func:`logistic_point`.
    out : float64 (n,), written
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

    Parameters
    ----------
    X : float32 or float64 (n, d)
    upper, lower : int64 (n_steps,)
        Rows of each pair.
    first_step : int
        Step number t of the first pair in this call, from 1.
    decay : float
    w : float64 (d,), changed
    mean : float64 (d,), changed
        Incremented by the sum of the iterates.
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
