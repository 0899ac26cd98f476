"""Perceptrons fitted to signed weights: line searches, passes over random rows, and sides.

A perceptron sends row z up if ``coef . z + intercept > 0``. For signed integer weights u, its gain
is the sum of u over the rows sent up, minus the sum over the others.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import REASSOCIATE, njit


@njit
def search_line(s, d, u, slack, order, crossing):
    """Find the best multiple of ``d`` to add to ``s``; rows above 0 go up.

    Returns the multiple, or 0 if no gain exceeds that of ``s`` by more than ``slack``. Gains that
    differ by at most ``slack`` count as equal. The sides change where ``s + step d`` crosses 0. The
    steps tried are half-way between crossings, before the first and beyond the last. ``order`` and
    ``crossing`` are scratch arrays with one number per row.
    """
    n_crossing = 0
    gain, now = np.int64(0), np.int64(0)  # at a step of minus infinity, and of 0
    for i in range(len(s)):
        now += u[i] if s[i] > 0.0 else -u[i]
        if d[i] == 0.0:
            gain += u[i] if s[i] > 0.0 else -u[i]
        else:
            gain += u[i] if d[i] < 0.0 else -u[i]
            order[n_crossing] = i
            crossing[i] = -s[i] / d[i]
            n_crossing += 1
    if n_crossing == 0:
        return 0.0
    rows = order[:n_crossing]
    sort_rows(crossing, rows, np.empty(n_crossing, np.int64))
    best, step = now, 0.0
    if gain > best + slack:
        best, step = gain, crossing[rows[0]] - 1.0
    for k in range(n_crossing):
        i = rows[k]
        # The row changes sides: its weight turns from one sign to the other.
        gain += 2 * u[i] if d[i] > 0.0 else -2 * u[i]
        here = crossing[i]
        there = crossing[rows[k + 1]] if k + 1 < n_crossing else here + 2.0
        # Between equal crossings there is no step; rows that cross together change together.
        if there > here and gain > best + slack:
            best, step = gain, 0.5 * (here + there)
    return step


@njit
def run_pass(Z, u, rows, coef):
    """Visit rows, and correct the perceptron if it sends a row to the wrong side.

    The last entry of ``coef`` is the intercept.
    """
    n_features = Z.shape[1]
    for i in rows:
        s = coef[n_features]
        for j in range(n_features):
            s += coef[j] * Z[i, j]
        if (s > 0.0) != (u[i] > 0):
            sign = 1.0 if u[i] > 0 else -1.0
            for j in range(n_features):
                coef[j] += sign * Z[i, j]
            coef[n_features] += sign


@njit(fastmath=REASSOCIATE)
def write_sides(Z, coefs, sides):
    """Write whether perceptron t sends row i up to ``sides[t, i]``.

    The last column of ``coefs`` holds the intercepts. Training and prediction both use this
    kernel, because the side of a row near the boundary depends on the order of additions.
    """
    n_features = Z.shape[1]
    for i in range(Z.shape[0]):
        for t in range(coefs.shape[0]):
            s = 0.0
            for j in range(n_features):
                s += coefs[t, j] * Z[i, j]
            sides[t, i] = s > -coefs[t, n_features]


@njit
def sum_weighted(Zt, u, sums):
    """Write the sum of every column times u; ``Zt`` is transposed."""
    for j in range(Zt.shape[0]):
        total = 0.0
        for i in range(Zt.shape[1]):
            total += Zt[j, i] * u[i]
        sums[j] = total
