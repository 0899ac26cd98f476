"""ClickLog: what it checks, counts and identifies; its readers lose nothing in silence."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise import RankingData
from rankwise.clicks import ClickLog, read_clicks, read_ubi, simulate_clicks
from rankwise.clicks.log import encode_ids
from rankwise.clicks.simulation import EXAMINATION, attractiveness_of
from rankwise.clicks.summary import PROBLEMS, count_cells, name_places, wilson_interval

ESCI = Path(os.environ.get("RANKWISE_DATA", "")) / "esci-ubi" / "ubi_queries_events.ndjson.gz"


def long_frame():
    return pd.DataFrame(
        {
            "qid": ["tea", "tea", "cup", "cup", "cup"],
            "doc_id": ["a", "b", "c", "a", "d"],
            "position": [1, 2, 1, 2, 3],
            "clicked": [0, 1, 1, 0, 0],
            "session_id": [7, 7, 8, 8, 8],
        }
    )


def rows_of(log):
    query, document = log.query.names[log.query.codes], log.document.names[log.document.codes]
    return list(zip(query, document, log.place.tolist(), log.click.tolist(), strict=True))


WANTED = [
    ("tea", "a", 1, False),
    ("tea", "b", 2, True),
    ("cup", "c", 1, True),
    ("cup", "a", 2, False),
    ("cup", "d", 3, False),
]


def test_a_table_is_read_alike_in_every_form(tmp_path):
    frame = long_frame()
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "log.parquet")
    forms = [frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy()]
    forms += [tmp_path / name for name in ("log.csv.gz", "log.tsv", "log.parquet")]
    for form in forms:
        log = read_clicks(form)
        assert rows_of(log) == WANTED
        assert log.n_lists == 2
    flags = frame.assign(clicked=frame.clicked.astype(bool))
    flags.to_csv(tmp_path / "flags.csv", index=False)
    assert rows_of(read_clicks(tmp_path / "flags.csv")) == WANTED
    wide = pd.DataFrame(
        {"q": ["tea", "cup"], "d1": ["a", "c"], "d2": ["b", "a"], "d3": ["", "d"],
         "c1": [0, 1], "c2": [1, 0], "c3": [0, 0]}
    )  # fmt: skip
    wide.to_csv(tmp_path / "wide.csv", index=False)
    for form in (wide, tmp_path / "wide.csv"):
        log = read_clicks(form, doc=["d1", "d2", "d3"], click=["c1", "c2", "c3"])
        assert rows_of(log) == WANTED
        assert log.n_lists == 2


def test_rows_come_sorted_and_know_their_source():
    frame = long_frame().iloc[[4, 1, 3, 0, 2]]
    log = read_clicks(frame)
    assert log.place.tolist() == [1, 2, 3, 1, 2]  # session 8 comes first
    np.testing.assert_array_equal(frame.position.to_numpy()[log.source], log.place)
    np.testing.assert_array_equal(log.lists.indptr, [0, 3, 5])


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,doc_id,place,click\nq,a,1,x\n", "click must be 0 or 1, got 'x'"),
        ("qid,doc_id,place,click\nq,a,one,1\n", "line 2"),
        ("qid,doc_id,click\nq,a,1\n", "there must be a column of the place"),
        ("qid,doc_id,place,click,time\nq,a,1,1,noon\n", "time must be a number or an ISO date"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_clicks(tmp_path / "log.csv")


def test_times_are_seconds(tmp_path):
    moments = ["1970-01-01T00:00:10Z", "1970-01-01T01:00:20+0100", "1970-01-01 00:00:30"]
    table = pd.DataFrame({"q": ["a"] * 3, "doc": [1, 2, 3], "place": [1, 2, 3], "click": 0})
    for time in (moments, [10, 20, 30], pd.to_datetime([10, 20, 30], unit="s")):
        log = read_clicks(table.assign(time=time))
        np.testing.assert_array_equal(log.time, [10.0, 20.0, 30.0])


def test_counts_of_impressions_are_no_impressions(tmp_path):
    frame = long_frame().assign(impressions=[1, 5, 1, 1, 1])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form, where in ((frame, "at row 1"), (tmp_path / "log.csv", "log.csv, line 3")):
        with pytest.raises(ValueError, match="impressions is 5") as error:
            read_clicks(form)
        assert where in str(error.value)
    assert len(read_clicks(frame, weight=False)) == 5
    assert read_clicks(frame, weight="impressions").weight.tolist() == [1, 5, 1, 1, 1]
    assert rows_of(read_clicks(frame.assign(impressions=1))) == WANTED


def test_query_ids_with_several_texts_are_counted(tmp_path):
    frame = long_frame().assign(query=["tea", "Tea", "cup", "cup", "cup"])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form in (frame, tmp_path / "log.csv"):
        log = read_clicks(form)
        assert rows_of(log) == WANTED
        assert log.problems["queries_with_several_texts"] == 1
    assert "queries_with_several_texts" not in read_clicks(frame, query="query").problems


def test_times_may_be_numbers_beside_dates(tmp_path):
    frame = long_frame().assign(time=[1, 2.5, "2020-01-01", 4, 5])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form in (frame, tmp_path / "log.csv"):
        assert read_clicks(form).time.tolist() == [1, 2.5, 1577836800, 4, 5]
    frame.loc[3, "time"] = "noon"
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(ValueError, match=r"log.csv, line 5: time must be a number .* 'noon'"):
        read_clicks(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"time must be a number .* 'noon' at row 3"):
        read_clicks(frame)


def test_yandex_lines(tmp_path):
    lines = [
        "s1\t0\tQ\tq1\t5\ta\tb\tc",
        "s1\t3\tC\tb",
        "s1\t5\tQ\tq1\t5\tb\ta\tc",
        "s1\t9\tC\tb",
        "s2\t0\tC\ta",
        "s2\tnonsense",
    ]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    log = read_clicks(tmp_path / "log.txt", format="yandex")
    assert log.n_lists == 2
    assert [row[1:] for row in rows_of(log) if row[3]] == [("b", 2, True), ("b", 1, True)]
    assert log.problems["clicks_without_impression"] == 1
    assert log.problems["unread_lines"] == 1
    assert set(log.user.names) == {"s1"}


SEARCHES = [
    {"query_id": "s1", "user_query": "tea", "client_id": "u"},
    {"query_id": "s2", "user_query": "tea", "client_id": "u",
     "query_response_hit_ids": ["a", "b"]},
    {"query_id": "s3", "user_query": "cup", "client_id": "v"},
]  # fmt: skip


def event(action, search, document, ordinal=None):
    attributes = {"object": {"object_id": document}}
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal}
    return {"action_name": action, "query_id": search, "event_attributes": attributes}


EVENTS = [
    event("impression", "s1", "b", 1),
    event("impression", "s1", "a", 2),
    event("click", "s1", "a"),
    event("click", "s1", "a"),
    event("click", "s1", "z"),
    event("click", "s9", "a"),
    event("click", "s2", "b"),
    event("impression", "s1", "c"),
    event("scroll", "s1", "a"),
    event("click", None, "a"),
    event("impression", "s8", "a", 1),
]


def bulk(records):
    return "".join('{"index": {}}\n' + json.dumps(record) + "\n" for record in records)


def test_searches_and_events(tmp_path):
    (tmp_path / "both.ndjson").write_text(bulk(SEARCHES + EVENTS))
    (tmp_path / "queries.ndjson").write_text("\n".join(map(json.dumps, SEARCHES)))
    pd.DataFrame(EVENTS).to_parquet(tmp_path / "events.parquet")
    flat = pd.DataFrame(
        [
            {
                "action_name": e["action_name"],
                "query_id": e["query_id"],
                "event_attributes.object.object_id": e["event_attributes"]["object"]["object_id"],
                "event_attributes.position.ordinal": e["event_attributes"]
                .get("position", {})
                .get("ordinal"),
            }
            for e in EVENTS
        ]
    )
    for sources in (
        (SEARCHES, EVENTS),
        (tmp_path / "both.ndjson",),
        (tmp_path / "queries.ndjson", tmp_path / "events.parquet"),
        (SEARCHES, flat),
        (pl.DataFrame(SEARCHES), flat),
    ):
        log = read_ubi(*sources)
        assert rows_of(log) == [
            ("tea", "b", 1, False), ("tea", "a", 2, True), ("tea", "a", 1, False),
            ("tea", "b", 2, True),
        ]  # fmt: skip
        assert log.n_lists == 2
        assert log.problems == {
            "other_events": 1, "unnamed_events": 1, "without_place": 1, "without_text": 1,
            "repeated_clicks": 1, "clicks_without_impression": 1, "clicks_without_query": 1,
            "searches_without_impressions": 1,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("hits", "documents", "problems"),
    [
        ('["a", "b"]', ["a", "b"], {}),
        (["a", None, "b"], ["a", "b"], {"unnamed_hits": 1, "lists_with_gaps": 1}),
        ('["a", null, "b"]', ["a", "b"], {"unnamed_hits": 1, "lists_with_gaps": 1}),
    ],
)
def test_hits_may_be_json_text_and_have_gaps(tmp_path, hits, documents, problems):
    searches = [{"query_id": "s", "user_query": "tea", "query_response_hit_ids": hits}]
    clicked = [event("click", "s", documents[0])]
    pd.DataFrame(searches).to_parquet(tmp_path / "searches.parquet")
    forms = (searches, pd.DataFrame(searches), tmp_path / "searches.parquet")
    for log in (read_ubi(form, clicked) for form in forms):
        assert log.document.names[log.document.codes].tolist() == documents
        below = log.problems.pop("below_last_click")
        assert log.problems == problems
        assert below == len(documents) - 1
        assert log.place.tolist()[-1] == 2 + len(problems) // 2


def test_searches_without_hits_may_be_nan():
    searches = pd.DataFrame({"query_id": ["s", "r"], "user_query": ["tea", "cup"]})
    searches["query_response_hit_ids"] = pd.Series([["a"], np.nan], dtype=object)
    log = read_ubi(searches, [event("click", "s", "a")])
    assert len(log) == 1
    assert log.problems == {"searches_without_impressions": 1}


def test_one_search_without_client_or_time_is_counted():
    searches = [
        {"query_id": f"s{i}", "user_query": "tea", "client_id": "u", "timestamp": 1_700_000_000_000,
         "query_response_hit_ids": ["a"]}
        for i in range(3)
    ]  # fmt: skip
    log = read_ubi(searches, [event("click", "s1", "a")], clicks="click")
    assert log.time.tolist() == [1.7e9] * 3
    assert int(log.click.sum()) == 1
    del searches[0]["client_id"], searches[2]["timestamp"]
    searches[1]["timestamp"] = "2023-11-14T22:13:20"
    searches[2]["client_id"] = "client of search s0"
    log = read_ubi(searches, [event("click", "s1", "a")])
    assert log.problems == {"without_user": 1, "without_time": 1}
    assert log.time is None
    assert len(set(log.user.codes.tolist())) == 3
    assert read_ubi(searches[:2], []).time.tolist() == [1.7e9] * 2


def test_searches_and_events_may_be_one_frame():
    records = pd.DataFrame([*SEARCHES[1:2], event("click", "s2", "b")])
    assert rows_of(read_ubi(records)) == [("tea", "a", 1, False), ("tea", "b", 2, True)]


@pytest.mark.parametrize(
    ("search", "action", "message"),
    [
        ({"query_response_hit_ids": "10,11"}, {}, "'s': query_response_hit_ids must be a list"),
        ({"timestamp": "noon"}, {}, "'s': timestamp must be a date or a number of milliseconds"),
        ({"user_query": None}, {}, "no search has a user_query. Pass by='query_id'"),
        ({"query_response_hit_ids": None}, {}, "the 1 searches show no documents"),
        ({}, event("impression", "s", "a", "x"), "'s': position.ordinal must be a number"),
    ],
)
def test_wrong_searches_are_named(search, action, message):
    record = {"query_id": "s", "user_query": "tea", "query_response_hit_ids": ["a"]} | search
    with pytest.raises(ValueError, match=message):
        read_ubi([record, *([action] if action else [])])


def test_damaged_json_is_named_by_line(tmp_path):
    (tmp_path / "a.ndjson").write_text('{"query_id": "s"}\n{"query_id": \n')
    with pytest.raises(ValueError, match=r"a.ndjson: line 2: not JSON"):
        read_ubi(tmp_path / "a.ndjson")
    (tmp_path / "a.ndjson").write_text('{"query_id": "s"}\n{"_id": "x", "_source": null}\n')
    with pytest.raises(ValueError, match=r"a.ndjson: line 2: _source must be an object"):
        read_ubi(tmp_path / "a.ndjson")


def test_no_event_of_the_published_sample_is_lost():
    if not ESCI.is_file():
        pytest.skip("needs the folder of data")
    with gzip.open(ESCI) as lines:
        records = [json.loads(line) for line in lines]
    events = [r for r in records if "action_name" in r]
    log = read_ubi(ESCI)
    found = dict.fromkeys(PROBLEMS, 0) | log.problems
    shown = [e for e in events if e["action_name"] == "impression"]
    clicks = [e for e in events if e["action_name"] == "click"]
    with_events = {e["query_id"] for e in shown}
    hits = {}
    for r in records:
        if "query_id" in r and "action_name" not in r:
            hits.setdefault(r["query_id"], r.get("query_response_hit_ids") or [])
    from_hits = sum(len(h) for search, h in hits.items() if search not in with_events)
    lost = found["without_place"] + found["without_text"] + found["repeated_rows"]
    assert len(events) == 3448
    assert found["unnamed_events"] == 0
    assert len(log) + lost == len(shown) + from_hits
    assert found["other_events"] == len(events) - len(shown) - len(clicks)
    lost = found["clicks_without_impression"] + found["clicks_without_query"]
    assert int(log.click.sum()) + lost + found["repeated_clicks"] == len(clicks)


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


def test_rows_may_have_no_arm():
    frame = long_frame().assign(team=["a", None, "b", None, ""])
    for table in (frame, pl.from_pandas(frame)):
        log = read_clicks(table)
        assert log.summary().arms == {"a": 1, "": 3, "b": 1}
        assert len(log.take_arm("b")) == 1


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
    low, high = wilson_interval(np.array([3.0]), np.array([10.0]), np.array([10.0]), 0.95)
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
    summary, n = log.summary(), np.array([7.0])
    low, high = wilson_interval(np.array([2.0]), n, n, 0.95)
    assert (summary.low, summary.high) == (low, high)


def test_a_log_of_weight_0_is_summed_up():
    log = ClickLog.from_columns(["q"] * 2, ["a"] * 2, [1] * 2, [0, 1], weight=[0, 0], user=[1, 2])
    summary = log.summary()
    assert (summary.low.tolist(), summary.high.tolist()) == ([0.0], [1.0])


def test_places_are_named_as_ranges():
    assert name_places([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"


def test_simulated_users_click_as_they_should():
    rng = np.random.default_rng(0)
    data = RankingData(np.zeros((40, 1)), rng.integers(0, 3, 40).astype(float), np.arange(40) // 8)
    log = simulate_clicks(data, rng.random(40), n_sessions=40_000, temperature=2.0)
    a = attractiveness_of(data.y)[log.document.names[log.document.codes].astype(int)]
    for place in (1, 2, 5):
        rows = log.place == place
        expected = a[rows].mean() * EXAMINATION[place - 1]
        assert abs(log.click[rows].mean() - expected) < 4 * np.sqrt(expected / rows.sum())
    assert log.summary().identifies_examination
    top = simulate_clicks(data, rng.random(40), "trust", n_sessions=20_000)
    assert top.click[top.place == 1].mean() > log.click[log.place == 1].mean()
    dbn = simulate_clicks(
        data, rng.random(40), {"model": "dbn", "satisfaction": 0.0, "continuation": 0.5},
        n_sessions=40_000,
    )  # fmt: skip
    a = attractiveness_of(data.y)[dbn.document.names[dbn.document.codes].astype(int)]
    for place in (1, 3):
        rows = dbn.place == place
        expected = a[rows].mean() * 0.5 ** (place - 1)
        assert abs(dbn.click[rows].mean() - expected) < 4 * np.sqrt(expected / rows.sum())
    with pytest.raises(ValueError, match="user 'pbm' has no parameter 'patience'"):
        simulate_clicks(data, rng.random(40), {"model": "pbm", "patience": 1})


def test_wrong_cells_are_named_by_line_and_column(tmp_path):
    long_frame().astype(object).replace({"position": {3: "x"}}).to_csv(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"log.csv, line 6: column 'position' has 'x'"):
        read_clicks(tmp_path / "log.csv")


def test_suffixes_that_are_not_known_are_refused(tmp_path):
    long_frame().to_csv(tmp_path / "e.log", index=False)
    with pytest.raises(ValueError, match=r"e.log: '.log' does not tell how .* Pass sep=','"):
        read_clicks(tmp_path / "e.log")
    assert rows_of(read_clicks(tmp_path / "e.log", sep=",")) == WANTED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_users": 0}, "n_users must be >= 1, got 0"),
        ({"temperature": np.nan}, "temperature >= 0"),
        ({"ranker": [1.0, np.nan]}, "scores of the ranker must be finite, got nan at row 1"),
        ({"user": {"model": "pbm", "examination": []}}, "examination must be one number per place"),
        (
            {"user": {"model": "trust", "examination": [1.0, 2.0]}},
            r"examination must be in \[0, 1\], got 2.0 at place 2",
        ),
        (
            {"user": {"model": "dbn", "satisfaction": 7}},
            r"satisfaction must be in \[0, 1\], got 7",
        ),
    ],
)
def test_users_that_cannot_be_are_refused(change, message):
    data = RankingData(np.eye(2), np.array([0.0, 1]), np.array([1, 1]))
    with pytest.raises(ValueError, match=message):
        simulate_clicks(data, **({"ranker": [1.0, 0.0]} | change))


@pytest.mark.parametrize("values", [["b", "a", "b", "c", "a"], [7, 3, 7, 2**40, 3]])
def test_ids_in_chunks_have_the_codes_of_one_array(values):
    """Arrow gives chunks for arrays of more than two gigabytes of text."""
    whole = encode_ids(values, "query")
    for cuts in ([2], [0, 1, 4], [5]):
        ends = [0, *cuts, len(values)]
        parts = [values[a:b] for a, b in itertools.pairwise(ends)]
        chunked = encode_ids(pa.chunked_array(parts, type=pa.array(values).type), "query")
        np.testing.assert_array_equal(chunked.codes, whole.codes)
        assert chunked.values.to_pylist() == whole.values.to_pylist() == list(dict.fromkeys(values))
    with pytest.raises(ValueError, match="query must not be missing, got None at row 2"):
        encode_ids(pa.chunked_array([["a", "b"], [None, "c"]]), "query")
