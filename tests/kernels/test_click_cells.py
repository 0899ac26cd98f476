"""Kernels of click models against loops over rows and sums over hidden states."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.click_models import (
    collect_patterns,
    mark_last_clicks,
    maximize_attractions,
    order_by_pair,
    run_em_step,
    sum_cells,
)


def random_rows(seed=0, n=60, n_pairs=7, n_slots=5):
    rng = np.random.default_rng(seed)
    pair, slot = rng.integers(n_pairs, size=n), rng.integers(n_slots, size=n)
    weight = rng.integers(0, 3, size=n).astype(float)
    return pair, slot, rng.random(n) < 0.4, weight


def naive_cells(pair, slot, click, weight):
    cells = {}
    for p, s, c, w in zip(pair, slot, click, weight, strict=True):
        cell = cells.setdefault((int(p), int(s)), [0.0, 0.0])
        cell[0] += w
        cell[1] += w * c
    return {key: value for key, value in sorted(cells.items()) if value[0] > 0}


def counted(pair, slot, click, weight, n_pairs=7, n_slots=5):
    indptr, order = np.zeros(n_pairs + 1, np.int64), np.empty(len(pair), np.int64)
    order_by_pair(pair, indptr, order)
    cuts = np.empty(n_pairs + 1, np.int64)
    out = np.empty(len(pair), np.int64), np.empty(len(pair)), np.empty(len(pair))
    sum_cells(indptr, order, slot, click, weight, n_slots, cuts, *out)
    return cuts, *(column[: cuts[-1]] for column in out)


@pytest.mark.parametrize("weighted", [True, False])
def test_cells_are_sums_of_rows(weighted):
    pair, slot, click, weight = random_rows()
    given = weight if weighted else np.empty(0)
    cuts, slots, n, clicks = counted(pair, slot, click, given)
    naive = naive_cells(pair, slot, click, weight if weighted else np.ones(len(pair)))
    found = np.repeat(np.arange(7), np.diff(cuts))
    assert list(zip(found.tolist(), slots.tolist(), strict=True)) == [*naive]
    np.testing.assert_allclose(np.c_[n, clicks], [*naive.values()])


@pytest.mark.parametrize("weighted", [True, False])
def test_patterns_are_the_distinct_sets_of_cells(weighted):
    pair, slot, click, weight = random_rows(3, n=9000, n_pairs=6000, n_slots=2)
    weight = weight if weighted else np.empty(0)
    cuts, *cells = counted(pair, slot, click, weight, 6000, 2)
    indptr, order = np.zeros(6001, np.int64), np.empty(len(pair), np.int64)
    order_by_pair(pair, indptr, order)
    code = np.empty(6000, np.int32)
    starts, *found = collect_patterns(indptr, order, slot, click, weight, 2, code)
    numbers = {}
    for p in range(6000):
        own = tuple(tuple(column[cuts[p] : cuts[p + 1]]) for column in cells)
        assert code[p] == numbers.setdefault(own, len(numbers))
    assert len(starts) == len(numbers) + 1
    for own, number in numbers.items():
        part = slice(starts[number], starts[number + 1])
        assert own == tuple(tuple(column[part]) for column in found)


def test_a_step_of_em_by_its_formulas():
    pair, slot, click, weight = random_rows(1)
    cuts, slots, n, clicks = counted(pair, slot, click, weight)
    rng = np.random.default_rng(2)
    a, g, times = rng.uniform(0.1, 0.9, 7), rng.uniform(0.1, 0.9, 5), rng.integers(1, 4, 7) * 1.0
    prior = np.array([[0.5, 2.0], [0.3, 1.5]])
    new, totals = np.empty(7), np.empty((2, 5))
    value = run_em_step(cuts, slots, n, clicks, times, prior, a, g, new, totals)
    objective, naive_g = 0.0, np.tile(prior[1][:, None], 5)
    objective += times @ (0.5 * np.log(a) + 1.5 * np.log1p(-a))
    objective += np.sum(0.3 * np.log(g) + 1.2 * np.log1p(-g))
    for p in range(7):
        num, den = prior[0]
        for i in range(cuts[p], cuts[p + 1]):
            s, c, rest = slots[i], clicks[i], n[i] - clicks[i]
            t = a[p] * g[s]
            objective += times[p] * (c * np.log(t) + rest * np.log1p(-t))
            num += c + rest * a[p] * (1 - g[s]) / (1 - t)
            den += n[i]
            naive_g[0, s] += times[p] * (c + rest * g[s] * (1 - a[p]) / (1 - t))
            naive_g[1, s] += times[p] * n[i]
        np.testing.assert_allclose(new[p], num / den)
    np.testing.assert_allclose(totals, naive_g)
    np.testing.assert_allclose(value, objective)


def test_without_prior_nothing_is_added():
    new, totals = np.empty(1), np.empty((2, 1))
    value = run_em_step(
        np.array([0, 1]), np.array([0]), np.array([4.0]), np.array([0.0]), np.ones(1),
        np.zeros((2, 2)), np.array([0.5]), np.array([0.5]), new, totals,
    )  # fmt: skip
    np.testing.assert_allclose(value, 4 * np.log(0.75))
    np.testing.assert_allclose(new, 1 / 3)


def test_attractions_maximise_the_likelihood():
    pair, slot, click, weight = random_rows(4)
    cuts, slots, n, clicks = counted(pair, slot, click, weight)
    g, prior = np.linspace(0.9, 0.3, 5), np.array([0.5, 2.0])
    found, grid = np.empty(7), np.linspace(1e-4, 1 - 1e-4, 9999)
    maximize_attractions(cuts, slots, n, clicks, prior, g, found)
    for p in range(7):
        value = 0.5 * np.log(grid) + 1.5 * np.log1p(-grid)
        for i in range(cuts[p], cuts[p + 1]):
            chance = grid * g[slots[i]]
            value += clicks[i] * np.log(chance) + (n[i] - clicks[i]) * np.log1p(-chance)
        assert abs(grid[np.argmax(value)] - found[p]) <= 1e-4


LISTS = [[(0, 0), (1, 1), (2, 0)], [(2, 1)], [], [(1, 0), (0, 0)], [(0, 1), (2, 1), (1, 0), (3, 0)]]


def packed():
    indptr = np.cumsum([0] + [len(rows) for rows in LISTS])
    rows = np.array([row for rows in LISTS for row in rows])
    return indptr, rows[:, 0].copy(), rows[:, 1].astype(bool)


def test_last_clicks():
    indptr, _, click = packed()
    place = np.concatenate([np.arange(1, len(rows) + 1) for rows in LISTS]).astype(np.int64)
    last = np.empty(len(click), np.int64)
    mark_last_clicks(indptr, place, click, last)
    assert last.tolist() == [0, 0, 2, 0, 0, 0, 0, 1, 2, 2]
