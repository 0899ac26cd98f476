"""Expectation-maximisation of click models in which a click is attraction times examination.

A *cell* is a pair of query and document in a slot: a place, or a place with the place of the last
click. All impressions of a cell have one click probability, so the likelihood needs only their
number and their clicks.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.runtime.jit import njit


@njit
def order_by_pair(pair, indptr, order):
    """Write the rows of each pair, one pair after the other; ``indptr`` is all 0 on entry."""
    for i in range(len(pair)):
        indptr[pair[i] + 1] += 1
    for p in range(1, len(indptr)):
        indptr[p] += indptr[p - 1]
    free = indptr[:-1].copy()
    for i in range(len(pair)):
        order[free[pair[i]]] = i
        free[pair[i]] += 1


@njit
def sum_cells(indptr, order, slot, click, weight, n_slots, out_indptr, out_slot, out_n, out_clicks):
    """Sum the rows of each pair by slot; cells are sorted by slot, and none has weight 0.

    Parameters
    ----------
    indptr, order : ndarray of int64
        Rows of each pair.
    slot, click : ndarray of shape (n_rows,), int64 and bool
    weight : ndarray of shape (n_rows,) or (0,), float64
        Empty: all weights are 1.
    n_slots : int
    out_indptr : ndarray of shape (n_pairs + 1,), int64
        Output, like the arrays below, whose length is at least the number of cells.
    out_slot, out_n, out_clicks : ndarray of int64, float64 and float64
    """
    n, clicks = np.zeros(n_slots), np.zeros(n_slots)
    touched = np.empty(n_slots, np.int64)
    end = 0
    out_indptr[0] = 0
    for p in range(len(indptr) - 1):
        n_touched = 0
        for j in range(indptr[p], indptr[p + 1]):
            i = order[j]
            w = weight[i] if len(weight) else 1.0
            s = slot[i]
            if w > 0.0:
                if n[s] == 0.0:
                    # Slots are few and mostly ascend, so that insertion keeps them sorted.
                    k = n_touched
                    while k > 0 and touched[k - 1] > s:
                        touched[k] = touched[k - 1]
                        k -= 1
                    touched[k] = s
                    n_touched += 1
                n[s] += w
                if click[i]:
                    clicks[s] += w
        for k in range(n_touched):
            s = touched[k]
            out_slot[end], out_n[end], out_clicks[end] = s, n[s], clicks[s]
            n[s] = clicks[s] = 0.0
            end += 1
        out_indptr[p + 1] = end


@njit
def hash_cells(indptr, slot, n, clicks, out):
    """Write a number for the cells of each pair; equal cells have equal numbers."""
    for p in range(len(out)):
        h = np.uint64(14695981039346656037)
        for i in range(indptr[p], indptr[p + 1]):
            for part in (slot[i], np.int64(n[i] * 1024.0), np.int64(clicks[i] * 1024.0)):
                h = (h ^ np.uint64(part)) * np.uint64(1099511628211)
                h ^= h >> np.uint64(29)
        out[p] = h


@njit
def mark_different(indptr, slot, n, clicks, first, different):
    """Mark pairs whose cells differ from those of the pair ``first[p]``; return their number."""
    count = 0
    for p in range(len(first)):
        f = first[p]
        shift = indptr[f] - indptr[p]
        wrong = indptr[p + 1] - indptr[p] != indptr[f + 1] - indptr[f]
        if not wrong:
            for i in range(indptr[p], indptr[p + 1]):
                j = i + shift
                if slot[i] != slot[j] or n[i] != n[j] or clicks[i] != clicks[j]:
                    wrong = True
        different[p] = wrong
        count += wrong
    return count


@njit
def run_em_step(
    indptr, slot, n, clicks, times, prior, attraction, examination, new_attraction, totals
):
    """Write the parameters after one step of EM; return the objective before it.

    The objective is the log-likelihood of all cells, plus ``prior[0] log v + (prior[1] - prior[0])
    log(1 - v)`` for every parameter v: ``prior[0]`` clicks in ``prior[1]`` impressions each.

    Parameters
    ----------
    indptr : ndarray of shape (n_pairs + 1,), int64
        Cells of each pair.
    slot : ndarray of shape (n_cells,), int64
    n, clicks : ndarray of shape (n_cells,), float64
    times : ndarray of shape (n_pairs,), float64
        Number of pairs that have these cells.
    prior : ndarray of shape (2,), float64
    attraction : ndarray of shape (n_pairs,), float64, in (0, 1)
    examination : ndarray of shape (n_slots,), float64, in (0, 1)
    new_attraction : ndarray of shape (n_pairs,), float64
        Output.
    totals : ndarray of shape (2, n_slots), float64
        Output: new examinations are ``totals[0] / totals[1]``.
    """
    totals[0, :] = prior[0]
    totals[1, :] = prior[1]
    value = 0.0
    for s in range(len(examination)):
        value += _log_prior(examination[s], prior)
    for p in range(len(attraction)):
        a, m = attraction[p], times[p]
        value += m * _log_prior(a, prior)
        attracted, shown = prior[0], prior[1]
        for i in range(indptr[p], indptr[p + 1]):
            s = slot[i]
            g = examination[s]
            c = clicks[i]
            click = a * g
            value += m * (n[i] - c) * math.log1p(-click)
            if c > 0.0:  # the logarithm of a tiny product may be infinite, times 0 NaN
                value += m * c * math.log(click)
            # Without a click, a document was attractive but not examined, or the other way round.
            rest = (n[i] - c) / (1.0 - click)
            attracted += c + rest * a * (1.0 - g)
            shown += n[i]
            totals[0, s] += m * (c + rest * g * (1.0 - a))
            totals[1, s] += m * n[i]
        new_attraction[p] = attracted / shown
    return value


@njit
def _log_prior(v, prior):
    """Log-density of the prior at a parameter, up to a constant."""
    value = 0.0
    if prior[0] > 0.0:
        value += prior[0] * math.log(v)
    if prior[1] > prior[0]:
        value += (prior[1] - prior[0]) * math.log1p(-v)
    return value


@njit
def mark_last_clicks(indptr, place, click, last):
    """Write the place of the last click above every row of its list; 0 if there is none."""
    for q in range(len(indptr) - 1):
        seen = np.int64(0)
        for i in range(indptr[q], indptr[q + 1]):
            last[i] = seen
            if click[i]:
                seen = place[i]
