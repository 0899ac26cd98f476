"""User Behavior Insights: searches and events in every form; nothing is lost in silence."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.clicks import read_ubi
from rankwise.clicks.log import PROBLEMS

from .click_logs import rows_of

ESCI = Path(os.environ.get("RANKWISE_DATA", "")) / "esci-ubi" / "ubi_queries_events.ndjson.gz"


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
    with pytest.raises(ValueError, match=r"a.ndjson, line 2: not JSON"):
        read_ubi(tmp_path / "a.ndjson")
    (tmp_path / "a.ndjson").write_text('{"query_id": "s"}\n{"_id": "x", "_source": null}\n')
    with pytest.raises(ValueError, match=r"a.ndjson, line 2: _source must be an object"):
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


def test_every_dump_of_documents_is_read(tmp_path):
    """Hits with _source, names before objects, responses, arrays; older names of fields."""
    search = {"query_id": "s", "user_query": "tea", "query_response_object_ids": ["a", "b"]}
    records = [search, event("click", "s", "b")]
    hits = [{"_index": "ubi", "_id": str(i), "_source": record} for i, record in enumerate(records)]
    response = {"took": 3, "hits": {"total": {"value": 2}, "hits": hits}}
    files = {
        "hits.ndjson": "\n".join(map(json.dumps, hits)),
        "names.ndjson": "".join(f"ubi_log\t{json.dumps(record)}\n" for record in records),
        "ids.ndjson": "".join(f"ubi\t7\t{json.dumps(hit)}\r\n" for hit in hits),
        "texts.ndjson": "\n".join(
            json.dumps(hit | {"_source": json.dumps(hit["_source"])}) for hit in hits
        ),
        "response.json": json.dumps(response),
        "people.json": json.dumps(response, indent=2),
        "array.json": json.dumps(hits),
        "lines.json": "[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n",
        "mark.json": "\ufeff" + "\n".join(map(json.dumps, records)),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [tmp_path / name for name in files]
    sources += [hits, [response], pd.DataFrame(hits), pl.DataFrame(hits), pd.json_normalize(hits)]
    for source in sources:
        assert rows_of(read_ubi(source)) == [("tea", "a", 1, False), ("tea", "b", 2, True)], source
    newer = search | {"query_response_hit_ids": ["b", "a"]}
    assert rows_of(read_ubi([newer, records[1]]))[0] == ("tea", "b", 1, True)
    empty = search | {"query_response_hit_ids": []}
    assert rows_of(read_ubi([empty, records[1]]))[1] == ("tea", "b", 2, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"hits": {"hits": [{"_source": {"query_id": "s"}}]}}',
            "the 1 searches show no documents",
        ),
        ('{"hits": {"hits": []}}', "nothing here is a search with a query_id"),
        ('name\t{"query_id": \n', "line 1: not JSON"),
        ('name {"query_id": "s"}\n', "line 1: not JSON"),
        ('{"_source": "{"}\n', "line 1: _source is not JSON"),
        ("[\n1\n]\n", "value 1: must be a JSON object, got 1"),
        ('{"query_id": "s", "query_response_object_ids": 3}', "query_response_object_ids must be"),
    ],
)
def test_records_of_other_kinds_are_named(tmp_path, text, message):
    path = tmp_path / "answer.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_ubi(path)
