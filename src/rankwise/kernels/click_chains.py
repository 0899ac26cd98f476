"""Forward-backward passes of the dynamic Bayesian network of clicks [1]_.

A user reads downwards from the top. An examined document is clicked with its attraction; a click
satisfies with its satisfaction, and a satisfied user stops. Otherwise the user goes on with
probability gamma. Everything above the last click was examined; below it, only the chance that the
user stopped is unknown.

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
