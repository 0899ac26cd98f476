"""Targets: readers of click logs. No row of an accepted file is lost without being counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from rankwise.clicks import read_clicks, read_judgements, read_ubi
from rankwise.clicks.log import PROBLEMS
from tests.fuzz.harness import Target, mutated

NUMBERS = (b"0", b"1", b"2", b"-1", b"1.5", b"1e9", b"1e400", b"nan", b"true", b"9" * 30, b"", b"x")
TABLE = b"".join(
    [
        b"query,doc,place,click,session,time\n",
        *(f"q{i % 3},d{i % 5},{i % 4 + 1},{i % 2},{i // 4},{i}\n".encode() for i in range(16)),
    ]
)
_SEARCH = {"query_id": "s1", "user_query": "tea", "client_id": "u", "timestamp": "2024-12-10"}
_EVENT = {
    "action_name": "impression",
    "query_id": "s1",
    "timestamp": "2024-12-10T00:01:29.378Z",
    "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 1}},
}
UBI = "\n".join(
    json.dumps(line)
    for line in (
        {"index": {"_index": "ubi_queries"}},
        _SEARCH,
        {"query_id": "s2", "user_query": "cup", "query_response_hit_ids": ["a", "b"]},
        _EVENT,
        _EVENT | {"event_attributes": {"object": {"object_id": "d2"}, "position": {"ordinal": 2}}},
        _EVENT | {"action_name": "click"},
        {"action_name": "scroll", "query_id": "s2"},
    )
).encode()
YANDEX = b"s1\t0\tQ\tq1\t5\ta\tb\tc\ns1\t3\tC\tb\ns2\t5\tQ\tq2\t5\tb\ta\ns2\t9\tC\ta\n"
RATINGS = (
    b'{"name": "x", "judgmentRatings": [{"query": "tea", "ratings": '
    b'[{"docId": "a", "rating": "1.5"}, {"docId": "b", "rating": 0}]}]}'
)


def _check_log(log) -> bool:
    assert len(log) > 0
    assert (log.place >= 1).all()
    assert {*log.problems} <= {*PROBLEMS}
    assert str(log.summary())
    return True


def _check_table(path: Path) -> bool:
    log = read_clicks(path)
    # Blank lines are no rows; every other line is one, or was merged into one.
    text = path.read_bytes()
    if b'"' not in text and b"\r" not in text:
        lines = sum(bool(line) for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")) - 1
        assert len(log) + log.problems.get("repeated_rows", 0) == lines
    return _check_log(log)


def _check_ubi(path: Path) -> bool:
    return _check_log(read_ubi(path))


def _check_yandex(path: Path) -> bool:
    log = read_clicks(path, format="yandex")
    clicks = log.click.sum() + log.problems.get("clicks_without_impression", 0)
    assert clicks <= path.read_bytes().count(b"\tC\t")
    return _check_log(log)


def _check_ratings(path: Path) -> bool:
    judged = read_judgements(path)
    assert np.isfinite(judged.grade).all()
    return len(judged) > 0


def _mutate(valid: bytes, tokens: tuple[bytes, ...]):
    return lambda rng: mutated(rng, valid, (*NUMBERS, *tokens))


_TABLE = _mutate(TABLE, (b",", b"\n", b'"', b"query", b"click"))
_UBI = _mutate(UBI, (b"{", b"}", b"[]", b"null", b'"query_id"', b'""'))
_YANDEX = _mutate(YANDEX, (b"\t", b"\n", b"Q", b"C"))
_RATINGS = _mutate(RATINGS, (b"{", b"]", b"null", b'"rating"', b'""'))
TARGETS = (
    Target("click_table", _TABLE, _check_table, ".csv"),
    Target("ubi", _UBI, _check_ubi, ".ndjson"),
    Target("yandex", _YANDEX, _check_yandex),
    Target("ratings", _RATINGS, _check_ratings, ".json"),
)
