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

    ``indptr`` and ``order``, int32, are the rows of each pair. ``slot`` is (n_rows,), int32,
    ``click`` (n_rows,), bool, and ``weight`` (n_rows,), or (0,) if all weights are 1.

    Writes ``out_indptr`` (n_pairs + 1,), int64, and ``out_slot``, int64, ``out_n`` and
    ``out_clicks``, float64, whose length is at least the number of cells.
    """
    n, clicks = np.zeros(n_slots), np.zeros(n_slots)
    touched = np.empty(n_slots, np.int64)
    end = 0
    out_indptr[0] = 0
    for p in range(len(indptr) - 1):
        rows = order[indptr[p] : indptr[p + 1]]
        n_touched = _sum_rows(rows, slot, click, weight, n, clicks, touched)
        for k in range(n_touched):
            s = touched[k]
            out_slot[end], out_n[end], out_clicks[end] = s, n[s], clicks[s]
            n[s] = clicks[s] = 0.0
            end += 1
        out_indptr[p + 1] = end


@njit
def _sum_rows(rows, slot, click, weight, n, clicks, touched):
    """Add rows to the sums of their slots; write these slots, sorted, and return their number."""
    n_touched = 0
    for i in rows:
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
    return n_touched


@njit
def collect_patterns(indptr, order, slot, click, weight, n_slots, code):
    """Distinct sets of cells; the cells of all pairs never are in memory at a time.

    For the arguments, see :func:`sum_cells`. Writes the pattern of each pair to ``code``
    (n_pairs,), int32, numbered by first appearance. Returns starts (n_patterns + 1,), and slots,
    impressions and clicks, all (n_cells,).
    """
    n, clicks = np.zeros(n_slots), np.zeros(n_slots)
    touched = np.empty(n_slots, np.int64)
    bits, count = 12, 0
    table = np.full(1 << bits, -1, np.int32)
    hashes = np.empty(1 << (bits - 1), np.uint64)
    starts = np.zeros((1 << (bits - 1)) + 1, np.int64)
    out_slot, out_n, out_clicks = np.empty(n_slots, np.int64), np.empty(n_slots), np.empty(n_slots)
    for p in range(len(code)):
        size = _sum_rows(order[indptr[p] : indptr[p + 1]], slot, click, weight, n, clicks, touched)
        h = np.uint64(14695981039346656037)
        for s in touched[:size]:
            for part in (s, np.int64(n[s] * 1024.0), np.int64(clicks[s] * 1024.0)):
                h = (h ^ np.uint64(part)) * np.uint64(1099511628211)
                h ^= h >> np.uint64(29)
        at = np.int64(h >> np.uint64(64 - bits))
        while table[at] >= 0:
            start, end = starts[table[at]], starts[table[at] + 1]
            same = hashes[table[at]] == h and end - start == size
            for k in range(size if same else 0):
                i, s = start + k, touched[k]
                same &= out_slot[i] == s and out_n[i] == n[s] and out_clicks[i] == clicks[s]
            if same:
                break
            at = (at + 1) & (len(table) - 1)
        code[p] = count if table[at] < 0 else table[at]
        if table[at] < 0:
            end = starts[count] + size
            while end > len(out_slot):
                out_slot, out_n, out_clicks = _double(out_slot), _double(out_n), _double(out_clicks)
            for k in range(size):
                i, s = starts[count] + k, touched[k]
                out_slot[i], out_n[i], out_clicks[i] = s, n[s], clicks[s]
            table[at], hashes[count], starts[count + 1] = count, h, end
            count += 1
        if count == len(hashes):  # the table is half full
            bits += 1
            hashes, starts = _double(hashes), _double(starts)
            table = _place_hashes(hashes[:count], bits)
        for s in touched[:size]:
            n[s] = clicks[s] = 0.0
    end = starts[count]
    return (
        starts[: count + 1].copy(), out_slot[:end].copy(), out_n[:end].copy(),
        out_clicks[:end].copy(),
    )  # fmt: skip


@njit
def _place_hashes(hashes, bits):
    """Table of the numbers of distinct hashes, at their uppermost bits or below."""
    table = np.full(1 << bits, -1, np.int32)
    for c in range(len(hashes)):
        at = np.int64(hashes[c] >> np.uint64(64 - bits))
        while table[at] >= 0:
            at = (at + 1) & (len(table) - 1)
        table[at] = c
    return table


@njit
def _double(values):
    """Copy into an array of twice the length."""
    out = np.empty(2 * len(values), values.dtype)
    out[: len(values)] = values
    return out


@njit
def run_em_step(
    indptr, slot, n, clicks, times, prior, attraction, examination, new_attraction, totals
):
    """Write the parameters after one step of EM; return the objective before it.

    The objective is the log-likelihood of all cells, plus ``c log v + (n - c) log(1 - v)`` for
    every parameter v that is given c clicks in n impressions beforehand.

    ``indptr`` (n_pairs + 1,) are the cells of each pair; ``slot``, int64, ``n`` and ``clicks``,
    float64, are (n_cells,). ``times`` (n_pairs,) is the number of pairs that have these cells.
    ``prior`` (2, 2) holds the clicks and impressions given to every attraction, and to every
    examination. ``attraction`` (n_pairs,) and ``examination`` (n_slots,) lie in (0, 1).

    Writes ``new_attraction`` (n_pairs,) and ``totals`` (2, n_slots); new examinations are
    ``totals[0] / totals[1]``.
    """
    totals[0, :], totals[1, :] = prior[1, 0], prior[1, 1]
    value = 0.0
    for s in range(len(examination)):
        value += _log_prior(examination[s], prior[1])
    for p in range(len(attraction)):
        a, m = attraction[p], times[p]
        value += m * _log_prior(a, prior[0])
        attracted, shown = prior[0, 0], prior[0, 1]
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
def maximize_attractions(indptr, slot, n, clicks, prior, examination, attraction):
    """Write the attraction of each pair that is most likely if the examinations are known.

    The derivative falls from plus to minus infinity, so that bisection finds its root.
    """
    for p in range(len(attraction)):
        low, high = 0.0, 1.0
        for i in range(indptr[p], indptr[p + 1]):
            high = min(high, 1.0 / examination[slot[i]])
        for _ in range(50):
            a = (low + high) / 2.0
            slope = prior[0] / a - (prior[1] - prior[0]) / (1.0 - a)
            for i in range(indptr[p], indptr[p + 1]):
                g = examination[slot[i]]
                slope += clicks[i] / a - (n[i] - clicks[i]) * g / max(1.0 - a * g, 1e-300)
            low, high = (a, high) if slope > 0.0 else (low, a)
        attraction[p] = (low + high) / 2.0


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
