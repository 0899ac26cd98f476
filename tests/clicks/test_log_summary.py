"""Summaries of logs: cells, intervals of click rates, and which places are linked."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.clicks import ClickLog
from rankwise.clicks.log import count_cells, name_places
from rankwise.metrics.statistics.intervals import wilson_interval


def grid(pairs_at):
    """A log with one impression and one click for each pair at each of its places."""
    rows = [(pair, place) for pair, places in pairs_at.items() for place in places]
    pair, place = zip(*rows, strict=True)
    return ClickLog.from_columns(["q"] * len(pair), pair, place, [1] * len(pair))


def test_places_are_linked_by_pairs():
    apart = grid({"a": [1, 2], "b": [2, 3], "c": [4, 5], "d": [6]}).summary()
    assert [part.tolist() for part in apart.components] == [[1, 2, 3], [4, 5], [6]]
    assert not apart.identifies_examination
    assert "1–3 | 4–5 | 6" in apart.verdict()
    assert apart.moved_pairs == 3
    linked = grid({"a": [1, 2], "b": [2, 3], "c": [3, 4]}).summary()
    assert linked.identifies_examination
    assert grid({"a": [1], "b": [1]}).summary().verdict().startswith("All impressions are at one")


def test_a_log_without_clicks_identifies_nothing():
    summary = ClickLog.from_columns(["q"] * 2, ["a", "a"], [1, 2], [0, 0]).summary()
    assert summary.components == []
    assert not summary.identifies_examination
    assert "these groups: none" in str(summary)


def test_pairs_without_clicks_link_nothing():
    log = ClickLog.from_columns(["q"] * 3, ["a", "a", "b"], [1, 2, 1], [0, 0, 1])
    assert not log.summary().identifies_examination
    assert log.summary().components[0].tolist() == [1]


def test_cells_are_sums_of_rows():
    rng = np.random.default_rng(0)
    n = 300
    columns = {
        "query": rng.integers(3, size=n), "document": rng.integers(4, size=n),
        "place": rng.integers(1, 5, size=n), "click": rng.integers(2, size=n),
        "weight": rng.random(n),
    }  # fmt: skip
    log = ClickLog.from_columns(**columns)
    naive = {}
    for code, place, click, w in zip(log.pairs.code, log.place, log.click, log.weight, strict=True):
        cell = naive.setdefault((int(code), int(place) - 1), [0.0, 0.0])
        cell[0] += w
        cell[1] += w * click
    cells = count_cells(log)
    assert list(zip(cells.pair.tolist(), cells.slot.tolist(), strict=True)) == sorted(naive)
    np.testing.assert_allclose(
        np.c_[cells.n, cells.clicks], [naive[key] for key in sorted(naive)], rtol=1e-12
    )


def test_intervals_of_rates_widen_with_few_users():
    low, high = wilson_interval(np.array([0.3]), np.array([10.0]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], [0.10779, 0.60323], atol=1e-5)  # Wilson 1927
    n = 400
    click = np.repeat([0, 1], n // 2)
    columns = [["q"] * n, ["d"] * n, [1] * n, click]
    many = ClickLog.from_columns(*columns).summary()
    few = ClickLog.from_columns(*columns, session=np.arange(n), user=np.arange(n) // 20).summary()
    assert few.high[0] - few.low[0] > 3 * (many.high[0] - many.low[0])


@pytest.mark.parametrize("share", [0.02, 0.5, 0.8])
def test_intervals_of_rates_hold_with_one_heavy_user(share):
    rng = np.random.default_rng(0)
    covered, n = 0, 400
    for _ in range(200):
        user = np.where(rng.random(n) < share, 0, rng.integers(1, 60, size=n))
        click = rng.random(n) < rng.beta(2, 5, size=60)[user]
        summary = ClickLog.from_columns(["q"] * n, ["a"] * n, [1] * n, click, user=user).summary()
        covered += summary.low[0] <= 2 / 7 <= summary.high[0]
    assert covered >= 180  # 190 expected, 3 standard deviations


def test_rows_of_users_of_their_own_are_independent():
    click = [1, 0, 0, 1, 0, 0, 0]
    log = ClickLog.from_columns(["q"] * 7, list("abcdefg"), [1] * 7, click, user=range(7))
    summary = log.summary()
    low, high = wilson_interval(np.array([2 / 7]), np.array([7.0]), 0.95)
    assert (summary.low, summary.high) == (low, high)


def test_a_log_of_weight_0_is_summed_up():
    log = ClickLog.from_columns(["q"] * 2, ["a"] * 2, [1] * 2, [0, 1], weight=[0, 0], user=[1, 2])
    summary = log.summary()
    assert (summary.low.tolist(), summary.high.tolist()) == ([0.0], [1.0])


def test_places_are_named_as_ranges():
    assert name_places([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"
