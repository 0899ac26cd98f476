"""ClickLog: what it checks, merges, splits and counts."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.clicks import ClickLog
from rankwise.clicks.log import PROBLEMS

from .click_logs import rows_of


def test_oddities_are_counted_and_named():
    log = ClickLog.from_columns(
        query=["q", "q", "q", "q", "r", "r"],
        document=["a", "b", "b", "c", "a", "b"],
        place=[0, 1, 2, 5, 3, 3],
        click=[1, 0, 1, 0, 0, 0],
        session=[1, 1, 1, 1, 2, 2],
        time=[5.0, 4.0, 6.0, 7.0, 1.0, 2.0],
    )
    assert log.problems == {
        "places_from_0": 6,
        "time_backwards": 1,
        "repeated_rows": 1,
        "differing_repeats": 1,
        "shared_places": 1,
        "lists_with_gaps": 2,
        "below_last_click": 3,
    }
    assert rows_of(log)[1] == ("q", "b", 3, True)  # where it was clicked
    text = str(log.summary())
    assert set(log.problems) <= set(PROBLEMS)
    assert all(f"{n} {PROBLEMS[name]}" in text for name, n in log.problems.items())


def test_repeated_rows_merge_into_the_clicked_one():
    log = ClickLog.from_columns(
        ["q"] * 3, ["a", "b", "a"], [3, 2, 1], [0, 0, 1], session=[1] * 3, weight=[5, 2, 2]
    )
    assert rows_of(log) == [("q", "a", 1, True), ("q", "b", 2, False)]
    assert log.weight.tolist() == [2, 2]
    assert log.problems == {"repeated_rows": 1, "differing_repeats": 1, "below_last_click": 1}


def test_sessions_of_several_users_are_split():
    log = ClickLog.from_columns(
        ["q"] * 5, list("ababa"), [1, 2, 1, 2, 1], [1, 0, 0, 1, 0], session=[7, 7, 7, 7, 8],
        user=["u", "u", "v", "v", "v"],
    )  # fmt: skip
    assert log.n_lists == 3
    assert len(log) == 5
    assert log.problems == {"shared_sessions": 1}
    assert log.session.names.tolist() == ["7", "7 (2)", "8"]


def test_searches_repeated_in_a_session_are_split_by_time():
    pages = ClickLog.from_columns(
        ["q"] * 4 + ["r"] + ["q"] * 2, list("ababaab"), [1, 2, 1, 2, 1, 1, 2],
        [1, 0, 0, 1, 0, 0, 0], session=[1] * 5 + [2] * 2, time=[0, 0, 60, 60, 60, 0, 1],
    )  # fmt: skip
    assert rows_of(pages)[:4] == [
        ("q", "a", 1, True), ("q", "b", 2, False), ("q", "a", 1, False), ("q", "b", 2, True),
    ]  # fmt: skip
    assert pages.n_lists == 4
    assert pages.problems == {"split_lists": 1}
    # An impression and its click as two rows: one list.
    events = ClickLog.from_columns(
        ["q"] * 3, ["a", "b", "b"], [1, 2, 2], [0, 0, 1], session=[1] * 3, time=[0, 0, 5]
    )
    assert rows_of(events) == [("q", "a", 1, False), ("q", "b", 2, True)]
    assert events.problems == {"repeated_rows": 1, "differing_repeats": 1}


def test_time_runs_backwards_in_sessions_that_alternate():
    log = ClickLog.from_columns(
        ["q"] * 4, list("aabb"), [1, 1, 2, 2], [0, 1, 0, 1], session=[1, 2, 1, 2], time=[9, 1, 8, 2]
    )
    assert log.problems == {"time_backwards": 1}


def test_crowded_users_are_counted():
    n = 1001
    log = ClickLog.from_columns(
        np.arange(n), np.arange(n), np.ones(n), np.zeros(n), session=[0] * n
    )
    assert log.problems["crowded_users"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"place": [1, 1.5]}, "place must be a whole number from 0 to 10000, got 1.5 at row 1"),
        ({"place": [-1, 1]}, "place must be a whole number from 0 to 10000, got -1 at row 0"),
        (
            {"place": [0, 1], "first_place": 1},
            "place must be a whole number from 1 to 10000, got 0 at row 0",
        ),
        ({"click": [0, 2]}, "click must be 0 or 1, got 2 at row 1"),
        ({"click": ["a", "b"]}, "click must be one number per row"),
        ({"query": ["", "q"]}, "query must not be missing, got '' at row 0"),
        ({"document": ["a", None]}, "document must not be missing, got None at row 1"),
        ({"weight": [1, -1]}, "weight must be >= 0, got -1.0 at row 1"),
        ({"propensity": [0.0, 1]}, r"propensity must be in \(0, 1\], got 0.0 at row 0"),
        ({"list_propensity": [1, 2]}, r"list_propensity must be in \(0, 1\], got 2.0 at row 1"),
        ({"time": [np.nan, 1]}, "time must be finite, got nan at row 0"),
        ({"session": [1]}, "session must have one entry per row, 2 as query has, got 1"),
    ],
)
def test_wrong_columns_are_named_by_row(change, message):
    columns = {"query": ["q", "q"], "document": ["a", "b"], "place": [1, 2], "click": [0, 1]}
    with pytest.raises(ValueError, match=message):
        ClickLog.from_columns(**(columns | change))


def test_no_rows_are_an_error():
    with pytest.raises(ValueError, match="at least one impression"):
        ClickLog.from_columns([], [], [], [])


def test_logs_of_clicks_alone_are_named():
    log = ClickLog.from_columns(["q", "q"], ["a", "b"], [1, 2], [1, 1])
    assert log.problems == {"only_clicks": 2}
    assert "2 rows are all clicked: what was shown and not clicked is missing" in str(log.summary())


USERS = ["bot", "u1", "u2", "bot", "u1"]


@pytest.mark.parametrize("users", [USERS, [7, 1, 2, 7, 1]], ids=["text", "integers"])
@pytest.mark.parametrize(
    "choose",
    [
        lambda ids, one, many: ids != one,
        lambda ids, one, many: ~(ids == one),
        lambda ids, one, many: ~np.isin(ids, [str(one)]),
        lambda ids, one, many: np.asarray(ids) != str(one),
        lambda ids, one, many: ids != many,
    ],
    ids=["unequal", "equal", "isin", "array", "every row"],
)
def test_rows_are_chosen_by_their_ids(users, choose):
    # A dataclass compares as a whole: ids != "bot" was one True, and kept the first row alone.
    rows = [f"d{i}" for i in range(5)]
    log = ClickLog.from_columns(["q"] * 5, rows, [1] * 5, [0] * 5, session=range(5), user=users)
    assert log.user is not None
    bot = np.full(5, str(users[0]))
    kept = log.take(np.flatnonzero(choose(log.user, users[0], bot)))
    assert [row[1] for row in rows_of(kept)] == ["d1", "d2", "d4"]
