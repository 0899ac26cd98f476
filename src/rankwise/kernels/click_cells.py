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
def run_em_step(indptr, slot, n, clicks, prior, attraction, examination, new_attraction, totals):
    """Write the parameters after one step of EM; return the objective before it.

    The objective is the log-likelihood of all cells, plus ``prior[0] log v + (prior[1] - prior[0])
    log(1 - v)`` for every parameter v: ``prior[0]`` clicks in ``prior[1]`` impressions each.

    Parameters
    ----------
    indptr : ndarray of shape (n_pairs + 1,), int64
        Cells of each pair.
    slot : ndarray of shape (n_cells,), int64
    n, clicks : ndarray of shape (n_cells,), float64
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
        a = attraction[p]
        value += _log_prior(a, prior)
        attracted, shown = prior[0], prior[1]
        for i in range(indptr[p], indptr[p + 1]):
            s = slot[i]
            g = examination[s]
            c = clicks[i]
            click = a * g
            value += (n[i] - c) * math.log1p(-click)
            if c > 0.0:  # the logarithm of a tiny product may be infinite, times 0 NaN
                value += c * math.log(click)
            # Without a click, a document was attractive but not examined, or the other way round.
            rest = (n[i] - c) / (1.0 - click)
            attracted += c + rest * a * (1.0 - g)
            shown += n[i]
            totals[0, s] += c + rest * g * (1.0 - a)
            totals[1, s] += n[i]
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
