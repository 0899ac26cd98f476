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
def hash_lists(indptr, pair, click, out):
    """Write a number for the pairs and clicks of each list; equal lists have equal numbers."""
    for q in range(len(out)):
        h = np.uint64(14695981039346656037)
        for i in range(indptr[q], indptr[q + 1]):
            h = (h ^ np.uint64(2 * pair[i] + click[i])) * np.uint64(1099511628211)
            h ^= h >> np.uint64(29)
        out[q] = h


@njit
def run_chain_step(
    indptr, pair, click, weight, attraction, satisfaction, gamma, attracted, satisfied, scores
):
    """Add expected counts of all lists; return their log-likelihood and the counts of going on.

    Parameters
    ----------
    indptr : ndarray of shape (n_lists + 1,), int64
    pair, click : ndarray of shape (n_rows,), int64 and bool
        Rows of a list in order of their places.
    weight : ndarray of shape (n_lists,), float64
    attraction, satisfaction : ndarray of shape (n_pairs,), float64, in (0, 1)
    gamma : float
        Probability of going on, in (0, 1].
    attracted, satisfied : ndarray of shape (2, n_pairs), float64
        Output: expected clicks and examinations; expected satisfied clicks, and clicks that a later
        row could tell from unsatisfied ones.
    scores : ndarray of shape (n_pairs,), float64
        Output: sum of the squared derivatives of the log-likelihood of each list by the attraction.

    Returns
    -------
    value, went_on, could_go_on : float
    """
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    silent = np.ones(longest + 1)
    value, went_on, could_go_on = 0.0, 0.0, 0.0
    for q in range(len(indptr) - 1):
        start, end, w = indptr[q], indptr[q + 1], weight[q]
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
                value += w * math.log(a)
                on *= 1.0 - satisfaction[p]
                satisfied[1, p] += w
            else:
                value += w * math.log1p(-a)
            value += w * math.log(on)
            _count(p, a, 1.0 if click[i] else 0.0, 1.0, w, attracted, scores)
            went_on += w
            could_go_on += w
        examined = 1.0  # probability that the row below the last click is examined
        if last >= start:
            p = pair[last]
            value += w * math.log(attraction[p])
            _count(p, attraction[p], 1.0, 1.0, w, attracted, scores)
            if last + 1 < end:
                s, below = satisfaction[p], silent[last + 1 - start]
                on = (1.0 - s) * gamma * below
                total = s + (1.0 - s) * (1.0 - gamma) + on
                value += w * math.log(total)
                satisfied[0, p] += w * s / total
                satisfied[1, p] += w
                examined = on / total
                went_on += w * examined
                could_go_on += w * (1.0 - s / total)
        elif end > start:
            value += w * math.log(silent[0])
        for i in range(last + 1, end):
            p = pair[i]
            _count(p, attraction[p], 0.0, examined, w, attracted, scores)
            if i + 1 < end:
                on = gamma * silent[i + 1 - start]
                on /= 1.0 - gamma + on
                could_go_on += w * examined
                examined *= on
                went_on += w * examined
    return value, went_on, could_go_on


@njit
def _count(p, a, clicked, examined, w, attracted, scores):
    """Add a row that was examined with some probability, and clicked or not."""
    attracted[0, p] += w * clicked
    attracted[1, p] += w * examined
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
