"""Steps of the dual of ordinal support vector machines over pairs (row, threshold).

Row n of class y_n has one dual variable per threshold k, ``alpha_nk`` in ``[0, upper_nk]`` with the
sign ``s_nk = 1`` for k < y_n, else -1. With ``f = K gamma``, ``gamma_n = sum_k alpha_nk s_nk`` and
``theta_k = sum_n alpha_nk s_nk`` the gradient is ``s_nk (f_n + theta_k) - 1``, so that a step costs
one kernel row per row it moves and O(n_rows) work, and no kernel over pairs is ever needed.

``v_nk = s_nk - theta_k - f_n`` is the slope of the dual objective for increasing ``alpha_nk s_nk``.
If the thresholds are sorted by descending theta, then on either side of the row's class, the
largest v of a variable that can rise is at the last such threshold, and the smallest v of one that
can fall is at the first. These four positions per row (two codes, ``rising`` and ``falling``)
change only when the row itself is moved.

``cache`` is (values, slots, used): kernel rows, the slot of each row or -1, and when each slot was
last read (``used[-1]`` counts reads). ``rows`` is (columns, diagonal, classes) and ``state`` is
(alpha, upper, f, theta, order, rising, falling), both for the active rows only; ``columns`` are
their positions in a kernel row. The steps modify the state and ``used`` in place.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

CONTRACT = frozenset({"contract"})
CONVERGED, STEPS_DONE, ROW_MISSING = 0, 1, 2
# Stands for infinity if no variable of a row can move.
FAR = 1e300
# Minimum curvature of a step; identical rows have curvature 0.
TINY = 1e-12


@njit
def _place_row(i, classes, state):
    """Encode the positions, among the ordered thresholds, at which row i can rise and fall."""
    alpha, upper, _, _, order, rising, falling = state
    n_thresholds = len(order)
    last_above, last_below = -1, -1
    first_above, first_below = n_thresholds, n_thresholds
    for position in range(n_thresholds):
        k = order[position]
        value, limit = alpha[i, k], upper[i, k]
        if k < classes[i]:
            if value < limit:
                last_above = position
            if value > 0 and first_above == n_thresholds:
                first_above = position
        else:
            if value > 0:
                last_below = position
            if value < limit and first_below == n_thresholds:
                first_below = position
    # Two positions in one number to the base n_thresholds + 1, so that a table by code answers what
    # a loop over thresholds would. 0 stands for no such threshold here, n_thresholds below.
    rising[i] = (last_above + 1) * (n_thresholds + 1) + last_below + 1
    falling[i] = first_above * (n_thresholds + 1) + first_below


@njit
def place_rows(classes, state):
    """Order the thresholds and encode the positions of every row."""
    theta, order = state[3], state[4]
    # Insertion sort: a step moves two thresholds, so most are in order.
    for position in range(1, len(order)):
        k, free = order[position], position
        while free > 0 and theta[order[free - 1]] < theta[k]:
            order[free] = order[free - 1]
            free -= 1
        order[free] = k
    for i in range(len(classes)):
        _place_row(i, classes, state)


@njit
def fill_tables(theta, order, tables):
    """Tabulate, by code, the largest ``s - theta`` that can rise and the smallest that can fall.

    ``tables`` is (up, up_at, down, down_at), each of length ``(n_thresholds + 1)^2``.
    """
    up, up_at, down, down_at = tables
    n_thresholds = len(theta)
    width = n_thresholds + 1
    for first in range(width):
        for second in range(width):
            code = first * width + second
            up[code], up_at[code] = -FAR, -1
            if first > 0:
                up_at[code] = order[first - 1]
                up[code] = 1.0 - theta[up_at[code]]
            if second > 0 and -1.0 - theta[order[second - 1]] > up[code]:
                up_at[code] = order[second - 1]
                up[code] = -1.0 - theta[up_at[code]]
            down[code], down_at[code] = FAR, -1
            if first < n_thresholds:
                down_at[code] = order[first]
                down[code] = 1.0 - theta[down_at[code]]
            if second < n_thresholds and -1.0 - theta[order[second]] < down[code]:
                down_at[code] = order[second]
                down[code] = -1.0 - theta[down_at[code]]


@njit
def new_tables(n_thresholds):
    """Tables for :func:`fill_tables`."""
    size = (n_thresholds + 1) ** 2
    return (
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.empty(size),
        np.empty(size, dtype=np.int64),
    )


@njit
def _is_ordered(theta, order):
    for position in range(1, len(order)):
        if theta[order[position - 1]] < theta[order[position]]:
            return False
    return True


@njit
def _touch(cache, row):
    """Slot of a row, marked as just read; -1 if the row is not cached."""
    _, slots, used = cache
    slot = slots[row]
    if slot >= 0:
        # A clock: the cache drops the slot that was read longest ago.
        used[-1] += 1
        used[slot] = used[-1]
    return slot


@njit
def _shift(value, by, limit):
    """Return ``value + by``, set exactly to a bound that it reaches."""
    # Bounds are hit exactly, because `_place_row` compares with them.
    if by >= limit - value:
        return limit
    return value + by if by > -value else 0.0


@njit(fastmath=CONTRACT)
def _largest(codes, up, f):
    best, at = -FAR, -1
    for r in range(len(f)):
        value = up[codes[r]] - f[r]
        if value > best:
            best, at = value, r
    return best, at


@njit(fastmath=CONTRACT)
def _add_rows_and_find_largest(step, plus, minus, columns, codes, up, f):
    best, at = -FAR, -1
    for r in range(len(columns)):
        f[r] += step * (plus[columns[r]] - minus[columns[r]])
        value = up[codes[r]] - f[r]
        if value > best:
            best, at = value, r
    return best, at


@njit(fastmath=CONTRACT)
def _partner(top, own, kernel_row, rows, codes, down, extra, f):
    """Find the best partner row for a step with a row, and the smallest v that can fall."""
    columns, diagonal, _ = rows
    best, at, low = 0.0, -1, FAR
    for r in range(len(columns)):
        code = codes[r]
        value = down[code] - f[r]
        low = min(value, low)
        # The gain of the best step with the row is violation^2 / curvature / 2, compared without
        # divisions.
        violation = top - value if value < top else 0.0
        curvature = own + diagonal[r] - 2.0 * kernel_row[columns[r]] + extra[code]
        curvature = curvature if curvature > TINY else TINY
        if violation * violation > best * curvature:
            best, at = violation * violation / curvature, r
    return at, low


@njit
def pair_steps(cache, rows, state, tol, max_steps):
    """Step on pairs of variables chosen by second-order selection, keeping ``sum alpha s``.

    Returns ``status, row, n_steps, top, low``: the last two are the largest v that can rise and the
    smallest v that can fall, at the last check. The status is ``CONVERGED`` if no variable that can
    rise is more than ``tol`` above one that can fall, ``STEPS_DONE``, or ``ROW_MISSING`` if the
    kernel row ``row`` must be put into the cache.
    """
    values, columns, diagonal, classes = cache[0], rows[0], rows[1], rows[2]
    alpha, upper, f, theta, order, rising, falling = state
    tables = new_tables(len(theta))
    up, up_at, down, down_at = tables
    fill_tables(theta, order, tables)
    extra = np.empty(len(down))
    top, low, n_steps = FAR, -FAR, 0
    top, i = _largest(rising, up, f)
    while True:
        if i < 0:
            return CONVERGED, -1, n_steps, top, low
        slot = _touch(cache, columns[i])
        # The caller computes the row and calls again; all steps so far are whole.
        if slot < 0:
            return ROW_MISSING, columns[i], n_steps, top, low
        k = up_at[rising[i]]
        for code in range(len(extra)):
            # Two different thresholds move by the step, each adding 1 to the curvature; on one
            # threshold the two moves cancel.
            extra[code] = 0.0 if down_at[code] == k else 2.0
        row_i = values[slot]
        j, low = _partner(top, diagonal[i], row_i, rows, falling, down, extra, f)
        if top - low <= tol:
            return CONVERGED, -1, n_steps, top, low
        if n_steps >= max_steps:
            return STEPS_DONE, -1, n_steps, top, low
        slot = _touch(cache, columns[j])
        if slot < 0:
            return ROW_MISSING, columns[j], n_steps, top, low
        m = down_at[falling[j]]
        curvature = diagonal[i] + diagonal[j] - 2.0 * row_i[columns[j]] + extra[falling[j]]
        step = (top - (down[falling[j]] - f[j])) / max(curvature, TINY)
        above_i, above_j = k < classes[i], m < classes[j]
        # alpha s rises by the step for i and falls for j, which keeps the sum; alpha itself falls
        # where s is -1.
        step = min(step, upper[i, k] - alpha[i, k] if above_i else alpha[i, k])
        step = min(step, alpha[j, m] if above_j else upper[j, m] - alpha[j, m])
        alpha[i, k] = _shift(alpha[i, k], step if above_i else -step, upper[i, k])
        alpha[j, m] = _shift(alpha[j, m], -step if above_j else step, upper[j, m])
        n_steps += 1
        # On one threshold, theta stays.
        if k != m:
            theta[k] += step
            theta[m] -= step
            if not _is_ordered(theta, order):
                place_rows(classes, state)
            fill_tables(theta, order, tables)
        _place_row(i, classes, state)
        _place_row(j, classes, state)
        # The row's own sum, and with it f, has not changed.
        if i == j:
            top, i = _largest(rising, up, f)
        else:
            row_j = values[slot]
            top, i = _add_rows_and_find_largest(step, row_i, row_j, columns, rising, up, f)


@njit
def _solve_row(i, curvature, classes, state):
    """Optimise all variables of one row with the others fixed; return the change of gamma.

    The change t solves ``t = sum_k clip(v_k - curvature t)``, whose right side decreases in t.
    """
    alpha, upper, f, theta = state[0], state[1], state[2], state[3]
    n_thresholds = len(theta)
    low, high, change = -FAR, FAR, 0.0
    while True:
        # Newton on a piecewise linear function, kept inside a bracket, because rounding at a knot
        # could make it cycle.
        total, slope = 0.0, 1.0
        for k in range(n_thresholds):
            above = k < classes[i]
            value = (1.0 if above else -1.0) - theta[k] - f[i] - curvature * change
            least = -alpha[i, k] if above else alpha[i, k] - upper[i, k]
            most = upper[i, k] - alpha[i, k] if above else alpha[i, k]
            if value <= least:
                total += least
            elif value >= most:
                total += most
            else:
                total += value
                slope += curvature
        if total > change:
            low = change
        elif total < change:
            high = change
        following = change + (total - change) / slope
        if not low < following < high:
            following = 0.5 * (low + high)
        # Solved, or the bracket holds no number between its ends.
        if total == change or not low < following < high:
            break
        change = following
    moved = 0.0
    for k in range(n_thresholds):
        above = k < classes[i]
        value = (1.0 if above else -1.0) - theta[k] - f[i] - curvature * change
        before = alpha[i, k]
        alpha[i, k] = _shift(before, value if above else -value, upper[i, k])
        by = alpha[i, k] - before if above else before - alpha[i, k]
        theta[k] += by
        moved += by
    return moved


@njit(fastmath=CONTRACT)
def _add_row(step, kernel_row, columns, f):
    for r in range(len(columns)):
        f[r] += step * kernel_row[columns[r]]


@njit(fastmath=CONTRACT)
def _worst(rising, falling, up, down, diagonal, f):
    """Find the row whose best variable gains most, and the largest violation."""
    best, at, violation = 0.0, -1, 0.0
    for r in range(len(f)):
        rise, fall = up[rising[r]] - f[r], f[r] - down[falling[r]]
        most = rise if rise > fall else fall
        violation = max(violation, most)
        most = most if most > 0.0 else 0.0
        # The threshold moves with the variable and adds 1 to the curvature of the row.
        if most * most > best * (diagonal[r] + 1.0):
            best, at = most * most / (diagonal[r] + 1.0), r
    return at, violation


@njit
def row_steps(cache, rows, state, tol, max_steps):
    """Step on all variables of one row at a time, without a constraint across rows.

    Returns the same values as :func:`pair_steps`; ``top`` and ``-low`` are the largest violation.
    """
    values, columns, diagonal, classes = cache[0], rows[0], rows[1], rows[2]
    _, _, f, theta, order, rising, falling = state
    tables = new_tables(len(theta))
    up, _, down, _ = tables
    n_steps = 0
    while True:
        fill_tables(theta, order, tables)
        i, violation = _worst(rising, falling, up, down, diagonal, f)
        if violation <= tol:
            return CONVERGED, -1, n_steps, violation, -violation
        if n_steps >= max_steps:
            return STEPS_DONE, -1, n_steps, violation, -violation
        slot = _touch(cache, columns[i])
        if slot < 0:
            return ROW_MISSING, columns[i], n_steps, violation, -violation
        moved = _solve_row(i, diagonal[i], classes, state)
        _add_row(moved, values[slot], columns, f)
        n_steps += 1
        if _is_ordered(theta, order):
            _place_row(i, classes, state)
        else:
            place_rows(classes, state)
