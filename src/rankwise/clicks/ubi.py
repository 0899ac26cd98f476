"""Read User Behavior Insights: searches and events of OpenSearch and Elasticsearch [1]_.

References
----------
.. [1] User Behavior Insights 1.3, indexes ``ubi_queries`` and ``ubi_events``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.frames import collect_frame
from rankwise.clicks.log import ClickLog
from rankwise.clicks.readers import read_moment
from rankwise.datasets.readers.delimited import name_file_in_errors
from rankwise.datasets.readers.tables import is_parquet, read_parquet
from rankwise.datasets.readers.textfiles import PathLike, read_text

# Actions of lines that tell a bulk request what to do with the next line.
BULK_ACTIONS = ("index", "create", "update", "delete")
# Fields of what a search found: of UBI 1.3, and of the first versions.
HITS = ("query_response_hit_ids", "query_response_object_ids")


def read_ubi(
    queries: PathLike | Any,
    events: PathLike | Any | None = None,
    *,
    clicks: str | Sequence[str] = ("click",),
    by: str = "user_query",
) -> ClickLog:
    """Read searches and events of User Behavior Insights.

    Parameters
    ----------
    queries, events : path, frame or list of dict
        Documents of ``ubi_queries`` and ``ubi_events``: JSON lines, plain, as a bulk request, as
        hits with ``_source``, or each after a name and a tab; JSON of an array or of the response
        to a search; Parquet; or a frame. None for ``events``: ``queries`` holds both.
    clicks : str or sequence of str
        Values of ``action_name`` that count as a click, such as "click" and "add_to_cart".
    by : {"user_query", "query_id"}
        What a query is. "user_query": searches of one text are lists of one query.

    Returns
    -------
    ClickLog
        Sessions are searches (``query_id``), users are clients (``client_id``). Impressions are
        events called "impression"; a search without any shows its ``query_response_hit_ids``, or
        the older ``query_response_object_ids``, if it has them, at places 1, 2, … Times are dates,
        or numbers of milliseconds since 1970, as in these indexes. If some are missing, the log has
        no times; searches without a client are users of their own. Objects and lists may be JSON
        text.

    Raises
    ------
    ValueError
        If a file is damaged (the message names the line), or shows no document.

    Notes
    -----
    Everything that does not become a row of the log is counted in ``log.problems``.

    Examples
    --------
    >>> from rankwise.clicks import read_ubi
    >>> search = {"query_id": "s1", "user_query": "tea", "query_response_hit_ids": ["a", "b"]}
    >>> event = {"action_name": "click", "query_id": "s1",
    ...          "event_attributes": {"object": {"object_id": "b"}}}
    >>> log = read_ubi([search], [event])
    >>> log.document.names[log.document.codes[log.click]].tolist()
    ['b']
    """
    if by not in ("user_query", "query_id"):
        raise ValueError(f"by must be 'user_query' or 'query_id', got {by!r}.")
    records = list(_records(queries))
    if events is not None:
        records += _records(events)
    is_file = isinstance(queries, str | os.PathLike)
    with name_file_in_errors(Path(queries)) if is_file else nullcontext():
        builder = _Searches((clicks,) if isinstance(clicks, str) else tuple(clicks), by)
        for record in records:
            if _is_missing(record.get("action_name")):
                builder.add_search(record)
        for record in records:
            if not _is_missing(record.get("action_name")):
                builder.add_event(record)
        return builder.log()


class _Searches:
    """Impressions and clicks of every search, collected from records in any order."""

    def __init__(self, clicks: tuple[str, ...], by: str) -> None:
        self._clicks, self._by = clicks, by
        self._texts: dict[str, str] = {}
        self._users: dict[str, str] = {}
        self._hits: dict[str, list[tuple[int, str]]] = {}  # place from 0, document
        self._times: dict[str, float | None] = {}
        self._rows: list[tuple[str, str, Any, Any]] = []  # search, document, place, time
        self._clicked: list[tuple[str, str]] = []
        self._several: set[str] = set()
        self._counts: dict[str, int] = {}

    def add_search(self, record: Mapping[str, Any]) -> None:
        """Add a document of ``ubi_queries``."""
        search = _text(record.get("query_id"))
        if search is None:
            self._count("unread_lines")
            return
        self._note_text(search, record)
        if search in self._times:
            self._count("repeated_searches")
            return
        self._times[search] = _read_time(search, record)
        # A hit without an id keeps its place, so that those below it keep theirs.
        hits = [_text(hit) for hit in _read_hits(search, record)]
        self._hits[search] = [(place, hit) for place, hit in enumerate(hits) if hit is not None]
        self._count("unnamed_hits", len(hits) - len(self._hits[search]))

    def add_event(self, record: Mapping[str, Any]) -> None:
        """Add a document of ``ubi_events``."""
        action = record["action_name"]
        if action != "impression" and action not in self._clicks:
            self._count("other_events")
            return
        search = _text(record.get("query_id"))
        document = _text(_get(record, "event_attributes", "object", "object_id"))
        if search is None or document is None:
            self._count("unnamed_events")
            return
        self._note_text(search, record)
        if action != "impression":
            self._clicked.append((search, document))
            return
        place = _get(record, "event_attributes", "position", "ordinal")
        if _is_missing(place):
            self._count("without_place")
            return
        try:
            place = float(place)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"search {search!r}: position.ordinal must be a number, got {place!r:.60}."
            ) from None
        self._rows.append((search, document, place, _read_time(search, record)))

    def log(self) -> ClickLog:
        """The log of all that was added."""
        shown = {row[0] for row in self._rows}
        first = 0 if any(row[2] == 0 for row in self._rows) else 1
        for search, hits in self._hits.items():
            if search not in shown and hits:
                time = self._times[search]
                self._rows += [(search, hit, first + k, time) for k, hit in hits]
        if not self._rows and not self._hits:
            raise ValueError(
                "nothing here is a search with a query_id or an impression. Export the documents "
                "of ubi_queries and ubi_events, one JSON object a line."
            )
        if not self._rows:
            raise ValueError(
                f"the {len(self._hits)} searches show no documents: there are neither impression "
                f"events nor {' or '.join(HITS)}. Store one of them."
            )
        if self._by == "user_query":
            n = len(self._rows)
            self._rows = [row for row in self._rows if row[0] in self._texts]
            self._count("without_text", n - len(self._rows))
            if not self._rows:
                raise ValueError("no search has a user_query. Pass by='query_id'.")
        search, document, place, time = map(list, zip(*self._rows, strict=True))
        pairs = set(zip(search, document, strict=True))
        known = set(search)
        for click in dict.fromkeys(self._clicked):
            if click not in pairs:
                lost = "clicks_without_impression" if click[0] in known else "clicks_without_query"
                self._count(lost)
        clicked = set(self._clicked)
        self._count("repeated_clicks", len(self._clicked) - len(clicked))
        self._count("searches_without_impressions", len(set(self._hits) - known))
        self._count("several_texts", len(self._several))
        query = search if self._by == "query_id" else [self._texts[s] for s in search]
        untimed = sum(moment is None for moment in time)
        # Clients and searches without a client are told apart by the first entry of their key.
        users = {
            s: ("client", self._users[s]) if s in self._users else ("search", s) for s in known
        }
        if 0 < untimed < len(time):
            self._count("without_time", untimed)
        anonymous = len(known - {*self._users})
        if 0 < anonymous < len(known):
            self._count("without_user", anonymous)
        return ClickLog.from_columns(
            query,
            document,
            np.array(place, dtype=np.float64),
            np.array([pair in clicked for pair in zip(search, document, strict=True)]),
            session=search,
            user=_name_users([users[s] for s in search]) if anonymous < len(known) else None,
            time=None if untimed else np.array(time, dtype=np.float64),
            problems={name: count for name, count in self._counts.items() if count},
        )

    def _note_text(self, search: str, record: Mapping[str, Any]) -> None:
        text, user = _text(record.get("user_query")), _text(record.get("client_id"))
        if text is not None and self._texts.setdefault(search, text) != text:
            self._several.add(search)
        if user is not None:
            self._users.setdefault(search, user)

    def _count(self, problem: str, times: int = 1) -> None:
        self._counts[problem] = self._counts.get(problem, 0) + times


def _records(source: Any) -> Iterator[Mapping[str, Any]]:
    """Documents of a file, a frame or a list."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if is_parquet(path):
            yield from read_parquet(path).to_pylist()
        else:
            with name_file_in_errors(path):
                yield from _json_lines(path)
        return
    frame = None if isinstance(source, list) else collect_frame(source)
    if frame is not None:
        # Hits that were made a frame may have columns such as _source.query_id.
        source = [
            {name.removeprefix("_source."): value for name, value in row.items()}
            for row in frame.iter_rows(named=True)
        ]
    if not isinstance(source, list) or not all(isinstance(item, Mapping) for item in source):
        raise TypeError(
            f"UBI records must be a path, a frame or a list of dict, got {type(source).__name__}."
        )
    for number, record in enumerate(source):
        yield from _unwrap(record, f"record {number}")


def _json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    text = read_text(path)
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    try:
        # One value on several lines: an array, or a response that was written for people.
        values = json.loads(text) if lines[0].strip() in (b"[", b"{") else None
    except (ValueError, RecursionError):
        values = None
    if values is None:
        values = (value for line in enumerate(lines, 1) for value in _read_line(*line))
    else:
        values = [("value 1", values)]
    for where, value in values:
        for record in value if isinstance(value, list) else [value]:
            if not isinstance(record, dict):
                raise ValueError(f"{where}: must be a JSON object, got {record!r:.60}.")
            if len(record) > 1 or next(iter(record), "") not in BULK_ACTIONS:
                yield from _unwrap(record, where)


def _read_line(number: int, line: bytes) -> Iterator[tuple[str, Any]]:
    """The JSON value of a line, which may stand after a name and a tab."""
    name, _, rest = line.partition(b"{")
    if name.endswith(b"\t") and not name.lstrip().startswith((b"[", b'"')):
        line = b"{" + rest
    if line.strip():
        try:
            yield f"line {number}", json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number}: not JSON ({error}).") from None


def _unwrap(record: Mapping[str, Any], where: str) -> Iterator[Mapping[str, Any]]:
    """Documents of a hit, of the response to a search, or the record itself."""
    if not isinstance(record, Mapping):
        raise ValueError(f"{where}: a hit must be an object, got {record!r:.60}.")
    found = _get(record, "hits", "hits")
    if isinstance(found, list):
        for hit in found:
            yield from _unwrap(hit, where)
        return
    inner = record.get("_source", record)
    if isinstance(inner, str) and inner.lstrip().startswith("{"):
        try:
            inner = json.loads(inner)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{where}: _source is not JSON ({error}).") from None
    if not isinstance(inner, Mapping):
        raise ValueError(f"{where}: _source must be an object, got {inner!r:.60}.")
    yield inner


def _get(record: Mapping[str, Any], *path: str) -> Any:
    """Value at a path of nested objects, of JSON text, or of a column with dots in its name."""
    if ".".join(path) in record:
        return record[".".join(path)]
    value: Any = record
    for name in path:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return None
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _read_hits(search: str, record: Mapping[str, Any]) -> list[Any]:
    """Documents of a search: a list, an array, or its JSON text."""
    for field in HITS:
        hits = value = record.get(field)
        if isinstance(value, str) and value.strip():
            try:
                value = json.loads(value)
            except ValueError:
                value = hits
        if _is_missing(value) or (isinstance(value, str) and not value.strip()):
            continue
        value = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(value, list | tuple):
            raise ValueError(
                f"search {search!r}: {field} must be a list, or its JSON text, got {hits!r:.60}."
            )
        if len(value):
            return list(value)
    return []


def _read_time(search: str, record: Mapping[str, Any]) -> float | None:
    """Seconds of a date or of milliseconds; None if there is no time."""
    value = record.get("timestamp")
    if _is_missing(value) or value == "":
        return None
    if isinstance(value, str) and value.isdigit() and len(value) > len("20261231"):
        value = int(value)
    try:
        seconds = read_moment(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"search {search!r}: timestamp must be a date or a number of milliseconds, got "
            f"{value!r:.60}."
        ) from None
    return seconds if isinstance(value, str | datetime) else seconds / 1000.0


def _name_users(keys: list[tuple[str, str]]) -> list[str]:
    """Names of users, different for clients and for searches without one."""
    clients = {name for kind, name in keys if kind == "client"}
    names = {}
    for kind, name in keys:
        names[kind, name] = name if kind == "client" else f"client of search {name}"
        while kind == "search" and names[kind, name] in clients:
            names[kind, name] += "'"
    return [names[key] for key in keys]


def _is_missing(value: Any) -> bool:
    """Whether a cell of a frame is empty: None, NaN, or what pandas has for them."""
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _text(value: Any) -> str | None:
    """An id or a text; None if it is missing."""
    return None if _is_missing(value) or value == "" else str(value)
