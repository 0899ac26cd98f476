"""Fits of click models: expectation-maximisation, forward-backward passes, codes of ids.

Expectation-maximisation is for models in which a click is attraction times examination. A *cell* is
a pair of query and document in a slot: a place, or a place with the place of the last click. All
impressions of a cell have one click probability, so the likelihood needs only their number and
their clicks.

Forward-backward passes are those of the dynamic Bayesian network of clicks [1]_: a user reads
downwards from the top. An examined document is clicked with its attraction; a click satisfies with
its satisfaction, and a satisfied user stops. Otherwise the user goes on with probability gamma.
Everything above the last click was examined; below it, only the chance that the user stopped is
unknown.

Codes of millions of ids take one pass and a quarter of the memory of a general hash table.

References
----------
.. [1] Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking", WWW
   2009.
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


@njit
def number_lists(indptr, pair, click, weight, alone, code):
    """Write the number of each list, the same for equal lists; return the first list of each.

    Lists with the same pairs and clicks are equal. Of a list that is ``alone``, no pair is in
    another list: it is equal to such lists with the same clicks and weight.

    ``indptr`` is (n_lists + 1,), ``pair`` (n_rows,), int32, ``click`` (n_rows,), bool, ``weight``
    (n_lists,), float64, and ``alone`` (n_lists,), bool. Writes ``code`` (n_lists,), int32; returns
    (n_distinct,), int64.
    """
    bits, count = 12, 0
    table = np.full(1 << bits, -1, np.int32)
    first = np.empty(1 << (bits - 1), np.int64)
    for q in range(len(code)):
        at = _find_list(table, first, bits, q, indptr, pair, click, weight, alone)
        code[q] = count if table[at] < 0 else table[at]
        if table[at] < 0:
            table[at], first[count] = count, q
            count += 1
        if count == len(first):  # the table is half full
            bits += 1
            grown = np.empty(2 * count, np.int64)
            grown[:count] = first
            first = grown
            table = np.full(1 << bits, -1, np.int32)
            for c in range(count):
                at = _find_list(table, first, bits, first[c], indptr, pair, click, weight, alone)
                table[at] = c
    return first[:count].copy()


@njit
def _find_list(table, first, bits, q, indptr, pair, click, weight, alone):
    """Slot of a list equal to list q in a table that is at most half full, or a free slot."""
    start, size = indptr[q], indptr[q + 1] - indptr[q]
    h = np.uint64(14695981039346656037)
    for k in range(size):
        i = start + k
        h = (h ^ np.uint64(click[i] if alone[q] else 2 * np.int64(pair[i]) + click[i])) * np.uint64(
            1099511628211
        )
        h ^= h >> np.uint64(29)
    h = (h ^ np.uint64(size)) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64(h >> np.uint64(64 - bits))
    while table[at] >= 0:
        f = first[table[at]]
        same = alone[f] == alone[q] and indptr[f + 1] - indptr[f] == size
        same &= not alone[q] or weight[f] == weight[q]
        for k in range(size if same else 0):
            i, j = start + k, indptr[f] + k
            same &= click[i] == click[j] and (alone[q] or pair[i] == pair[j])
        if same:
            break
        at = (at + 1) & (len(table) - 1)
    return at


@njit
def spread_classes(indptr, pair, code, first, class_of_first, out, times):
    """Write the class of every pair: that of the pair at the same row of the first equal list.

    ``out`` is -1 on entry. ``times`` gets the number of pairs of each class added.
    """
    for q in range(len(code)):
        shift = indptr[first[code[q]]] - indptr[q]
        for i in range(indptr[q], indptr[q + 1]):
            if out[pair[i]] < 0:
                out[pair[i]] = class_of_first[pair[i + shift]]
                times[out[pair[i]]] += 1.0


@njit
def count_examined(indptr, pair, click, weight, seen, clicked, satisfied):
    """Add the rows down to the last click of each list, all if there is none, by pair.

    ``weight`` is (n_rows,), or (0,) if all weights are 1. Adds examined rows to ``seen``, clicks to
    ``clicked`` and last clicks to ``satisfied``, all (n_pairs,), float64.
    """
    for q in range(len(indptr) - 1):
        last = indptr[q] - 1
        for i in range(indptr[q], indptr[q + 1]):
            if click[i]:
                last = i
        end = last + 1 if last >= indptr[q] else indptr[q + 1]
        for i in range(indptr[q], end):
            w = weight[i] if len(weight) else 1.0
            seen[pair[i]] += w
            if click[i]:
                clicked[pair[i]] += w
                satisfied[pair[i]] += w if i == last else 0.0


@njit
def run_chain_step(
    indptr, pair, click, weight, attraction, satisfaction, gamma, attracted, satisfied, scores
):
    """Add expected counts of all lists; return their log-likelihood and the counts of going on.

    - ``indptr`` (n_lists + 1,), int64.
    - ``pair`` and ``click`` (n_rows,), int64 and bool: rows of a list in order of their places.
    - ``weight`` (2, n_lists): weight in the counts of pairs; and in the likelihood and in the
      counts of going on, where a list also stands for equal ones of other pairs.
    - ``attraction`` and ``satisfaction`` (n_pairs,), in (0, 1).
    - ``gamma``: probability of going on, in (0, 1].
    - ``attracted`` (2, n_pairs), output: expected clicks and examinations.
    - ``satisfied`` (2, n_pairs), output: expected satisfied clicks, and clicks that a later row
      could tell from unsatisfied ones.
    - ``scores`` (n_pairs,), output: sum of the squared derivatives of the log-likelihood of each
      list by the attraction; (0,): not computed.

    Returns ``value, went_on, could_go_on``.
    """
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    silent = np.ones(longest + 1)
    value, went_on, could_go_on = 0.0, 0.0, 0.0
    for q in range(len(indptr) - 1):
        start, end, w, m = indptr[q], indptr[q + 1], weight[0, q], weight[1, q]
        last = start - 1
        for i in range(start, end):
            if click[i]:
                last = i
        # silent[k]: probability of no click from row k on, if row k is examined.
        silent[end - start] = 1.0
        for i in range(end - 1, last, -1):
            rest = 1.0 - gamma + gamma * silent[i + 1 - start] if i + 1 < end else 1.0
            silent[i - start] = (1.0 - attraction[pair[i]]) * rest
        for i in range(start, last):
            p = pair[i]
            a = attraction[p]
            on = gamma
            if click[i]:
                value += m * math.log(a)
                on *= 1.0 - satisfaction[p]
                satisfied[1, p] += w
            else:
                value += m * math.log1p(-a)
            value += m * math.log(on)
            _count(p, a, 1.0 if click[i] else 0.0, 1.0, w, attracted, scores)
            went_on += m
            could_go_on += m
        examined = 1.0  # probability that the row below the last click is examined
        if last >= start:
            p = pair[last]
            value += m * math.log(attraction[p])
            _count(p, attraction[p], 1.0, 1.0, w, attracted, scores)
            if last + 1 < end:
                s, below = satisfaction[p], silent[last + 1 - start]
                on = (1.0 - s) * gamma * below
                total = s + (1.0 - s) * (1.0 - gamma) + on
                value += m * math.log(total)
                satisfied[0, p] += w * s / total
                satisfied[1, p] += w
                examined = on / total
                went_on += m * examined
                could_go_on += m * (1.0 - s / total)
        elif end > start:
            value += m * math.log(silent[0])
        for i in range(last + 1, end):
            p = pair[i]
            _count(p, attraction[p], 0.0, examined, w, attracted, scores)
            if i + 1 < end:
                on = gamma * silent[i + 1 - start]
                on /= 1.0 - gamma + on
                could_go_on += m * examined
                examined *= on
                went_on += m * examined
    return value, went_on, could_go_on


@njit
def _count(p, a, clicked, examined, w, attracted, scores):
    """Add a row that was examined with some probability, and clicked or not."""
    attracted[0, p] += w * clicked
    attracted[1, p] += w * examined
    if len(scores):
        derivative = (clicked - a * examined) / (a * (1.0 - a))
        scores[p] += w * derivative * derivative


@njit
def predict_chains(indptr, pair, click, attraction, satisfaction, gamma, given, out):
    """Write the click probability of every row: unconditional, or given the clicks above it."""
    for q in range(len(indptr) - 1):
        examined = 1.0
        for i in range(indptr[q], indptr[q + 1]):
            p = pair[i]
            a, s = attraction[p], satisfaction[p]
            out[i] = examined * a
            if not given:
                examined *= gamma * (1.0 - a * s)
            elif click[i]:
                examined = gamma * (1.0 - s)
            else:
                examined *= gamma * (1.0 - a) / (1.0 - examined * a)


@njit
def predict_by_last_click(indptr, place, attraction, table, out):
    """Write the unconditional click probability of every row of the user browsing model.

    ``table[k - 1, j]`` is the examination of place k after a click at place j, 0 for none.
    """
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    chance = np.zeros(longest + 1)  # of each row of the list, from 1, being the last click so far
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        chance[0] = 1.0
        for i in range(start, end):
            total = 0.0
            for j in range(i - start + 1):
                last = 0 if j == 0 else place[start + j - 1]
                click = attraction[i] * table[place[i] - 1, last]
                total += chance[j] * click
                chance[j] *= 1.0 - click
            chance[i - start + 1] = total
            out[i] = total


@njit
def encode_keys(first, factor, second, code):
    """Write the codes of ``first[i] * factor + second[i]`` by first appearance; return the keys.

    ``first`` is (n,) and ``second`` (n,), or (0,) if all are 0, int32 or int64. Writes ``code``
    (n,), int32; returns the distinct keys (n_keys,), int64, by code.
    """
    bits = 12
    table = np.full(1 << bits, -1, np.int32)
    keys = np.empty(1 << (bits - 1), np.int64)
    count = 0
    last, last_code = np.int64(0), np.int32(-1)
    for i in range(len(code)):
        key = np.int64(first[i]) * factor
        if len(second):
            key += second[i]
        # Rows of one session, query or user follow each other in most logs.
        if last_code >= 0 and key == last:
            code[i] = last_code
            continue
        at = _find(table, keys, key, bits)
        if table[at] < 0:
            if count == len(keys):
                bits += 1
                grown = np.empty(1 << (bits - 1), np.int64)
                grown[:count] = keys
                keys = grown
                table = np.full(1 << bits, -1, np.int32)
                for c in range(count):
                    table[_find(table, keys, keys[c], bits)] = c
                at = _find(table, keys, key, bits)
            keys[count] = key
            table[at] = count
            count += 1
        last, last_code = key, table[at]
        code[i] = last_code
    return keys[:count]  # the memory behind it was never written


@njit
def _find(table, keys, key, bits):
    """Slot of a key in a table that is at most half full, or the free slot for it."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    at = np.int64(h >> np.uint64(64 - bits))
    mask = len(table) - 1
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at


@njit
def count_repeats(group, member, n_members):
    """Number of rows whose group has had a row of the same member; groups are contiguous."""
    last = np.full(n_members, -1, np.int32)
    count = 0
    for i in range(len(group)):
        if last[member[i]] == group[i]:
            count += 1
        last[member[i]] = group[i]
    return count
