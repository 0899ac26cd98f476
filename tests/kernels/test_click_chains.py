"""Kernels of chains of clicks against sums over hidden states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rankwise.kernels.click_models import (
    count_examined,
    number_lists,
    predict_by_last_click,
    predict_chains,
    run_chain_step,
    spread_classes,
)
from tests.kernels.test_click_cells import LISTS, packed


def states(rows, a, s, gamma):
    """Probability of the clicks, and expected counts, over all numbers of rows that were read."""
    total, counts = 0.0, []
    for read in range(1, len(rows) + 1):
        for satisfied in (False, True):
            p = 1.0
            for k, (pair, click) in enumerate(rows):
                if k >= read:
                    p *= float(not click)
                    continue
                p *= a[pair] if click else 1 - a[pair]
                ends = k == read - 1
                if ends and satisfied:
                    p *= s[pair] if click else 0.0
                else:
                    p *= 1 - s[pair] if click else 1.0
                    if k + 1 < len(rows):
                        p *= 1 - gamma if ends else gamma
            total += p
            counts.append((p, read, satisfied))
    return total, counts


@pytest.mark.parametrize("gamma", [1.0, 0.6])
def test_chains_by_their_hidden_states(gamma):
    indptr, pair, click = packed()
    rng = np.random.default_rng(0)
    a, s = rng.uniform(0.2, 0.8, 4), rng.uniform(0.2, 0.8, 4)
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.5])
    attracted, satisfied, scores = np.zeros((2, 4)), np.zeros((2, 4)), np.zeros(4)
    value, went_on, could = run_chain_step(
        indptr, pair, click, np.stack([weight, weight]), a, s, gamma, attracted, satisfied, scores
    )
    naive_value, naive_on, naive_could = 0.0, 0.0, 0.0
    naive_a, naive_s, naive_scores = np.zeros((2, 4)), np.zeros((2, 4)), np.zeros(4)
    for rows, w in zip(LISTS, weight, strict=True):
        if not rows:
            continue
        total, counts = states(rows, a, s, gamma)
        naive_value += w * np.log(total)
        for k, (p, c) in enumerate(rows):
            seen = sum(q for q, read, _ in counts if read > k) / total
            happy = sum(q for q, read, sat in counts if sat and read == k + 1) / total
            on = sum(q for q, read, _ in counts if read > k + 1) / total
            naive_a[:, p] += w * c, w * seen
            naive_scores[p] += w * ((c - a[p] * seen) / (a[p] * (1 - a[p]))) ** 2
            if k + 1 < len(rows):
                # What follows a click at the last row could tell nothing of it.
                naive_s[:, p] += w * happy, w * c
                naive_on += w * on
                naive_could += w * (seen - happy)
    np.testing.assert_allclose(value, naive_value)
    np.testing.assert_allclose(attracted, naive_a)
    np.testing.assert_allclose(satisfied, naive_s)
    np.testing.assert_allclose(scores, naive_scores)
    np.testing.assert_allclose([went_on, could], [naive_on, naive_could])


def test_predictions_by_their_hidden_states():
    indptr, pair, click = packed()
    rng = np.random.default_rng(1)
    a, s, gamma = rng.uniform(0.2, 0.8, 4), rng.uniform(0.2, 0.8, 4), 0.7
    given, alone = np.empty(len(pair)), np.empty(len(pair))
    predict_chains(indptr, pair, click, a, s, gamma, True, given)
    predict_chains(indptr, pair, click, a, s, gamma, False, alone)
    row = 0
    for rows in LISTS:
        for k in range(len(rows)):
            above = [(p, bool(c)) for p, c in rows[:k]]
            here = states([*above, (rows[k][0], True)], a, s, gamma)[0]
            np.testing.assert_allclose(
                given[row], here / (states(above, a, s, gamma)[0] if above else 1.0)
            )
            total = 0.0
            for clicks in product([False, True], repeat=k):
                imagined = [(p, c) for (p, _), c in zip(rows, clicks, strict=False)]
                total += states([*imagined, (rows[k][0], True)], a, s, gamma)[0]
            np.testing.assert_allclose(alone[row], total)
            row += 1


def test_predictions_by_the_last_click():
    indptr, _, _ = packed()
    place = np.concatenate([np.arange(1, len(rows) + 1) for rows in LISTS]).astype(np.int64)
    rng = np.random.default_rng(2)
    attraction, table = rng.uniform(0.2, 0.8, len(place)), rng.uniform(0.2, 0.8, (4, 4))
    out = np.empty(len(place))
    predict_by_last_click(indptr, place, attraction, table, out)
    for q in range(len(indptr) - 1):
        rows = range(indptr[q], indptr[q + 1])
        for i in rows:
            total = 0.0
            for clicks in product([False, True], repeat=i - indptr[q] + 1):
                p, last = 1.0, 0
                for j, click in zip(rows, clicks, strict=False):
                    chance = attraction[j] * table[place[j] - 1, last]
                    p *= chance if click else 1 - chance
                    last = place[j] if click else last
                total += p * clicks[-1]
            np.testing.assert_allclose(out[i], total)


def test_equal_lists_have_equal_numbers():
    indptr = np.array([0, 2, 4, 6, 7, 7])
    pair, click = np.array([1, 2, 1, 2, 2, 1, 1]), np.array([0, 1, 0, 1, 1, 0, 0], bool)
    code, weight = np.empty(5, np.int32), np.ones(5)
    first = number_lists(indptr, pair, click, weight, np.zeros(5, bool), code)
    assert code.tolist() == [0, 0, 1, 2, 3]
    assert first.tolist() == [0, 2, 3, 4]


def test_lists_alone_are_equal_by_clicks_and_weight():
    indptr, pair = np.array([0, 2, 4, 6, 8]), np.arange(8)
    click = np.array([0, 1, 0, 1, 0, 1, 1, 0], bool)
    code, weight = np.empty(4, np.int32), np.array([1.0, 1.0, 2.0, 1.0])
    first = number_lists(indptr, pair, click, weight, np.ones(4, bool), code)
    assert code.tolist() == [0, 0, 1, 2]
    assert first.tolist() == [0, 2, 3]
    classes, out, times = np.arange(8, dtype=np.int32), np.full(8, -1, np.int32), np.zeros(8)
    spread_classes(indptr, pair, code, first, classes, out, times)
    assert out.tolist() == [0, 1, 0, 1, 4, 5, 6, 7]
    assert times.tolist() == [2, 2, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_down_to_the_last_click_are_examined(weighted):
    indptr, pair, click = packed()
    weight = np.arange(1.0, len(pair) + 1)
    found, naive = np.zeros((3, 4)), np.zeros((3, 4))
    count_examined(indptr, pair, click, weight if weighted else np.empty(0), *found)
    row = 0
    for rows in LISTS:
        clicks = [k for k, (_, c) in enumerate(rows) if c]
        for k, (p, c) in enumerate(rows):
            w = weight[row] if weighted else 1.0
            if not clicks or k <= clicks[-1]:
                naive[:, p] += w, w * c, w * (c and k == clicks[-1])
            row += 1
    np.testing.assert_array_equal(found, naive)
