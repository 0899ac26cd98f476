"""Read click logs from tables, User Behavior Insights, and Yandex's lines.

References
----------
.. [1] User Behavior Insights 1.3, indexes ``ubi_queries`` and ``ubi_events`` of OpenSearch and
   Elasticsearch.
.. [2] Yandex Relevance Prediction Challenge: ``session time Q query region documents`` and
   ``session time C document``, separated by tabs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from rankwise.checks.exact_values import RowError
from rankwise.clicks.log import ClickLog, is_text
from rankwise.datasets.readers.delimited import DelimitedFile, name_file_in_errors
from rankwise.datasets.readers.tables import delimiter_of, is_stored, open_stored
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, PathLike, read_text
from rankwise.datasets.table_columns import ALL_DOCUMENT_NAMES, ALL_QUERY_NAMES
from rankwise.runtime.arrow import pa, pc
from rankwise.runtime.frames import collect_frame, decimals_of
from rankwise.runtime.messages import check_choice, setting
from rankwise.typing import Float64Array

ROLES = (
    "query", "doc", "place", "click", "session", "user", "weight", "time", "propensity",
    "list_propensity", "arm",
)  # fmt: skip
USUAL_NAMES: dict[str, Any] = {
    "query": ALL_QUERY_NAMES,
    "doc": ALL_DOCUMENT_NAMES,
    "place": ("place", "position", "rank"),
    "click": ("click", "clicked", "clicks"),
    "session": ("session", "session_id"),
    "user": ("user", "user_id", "client_id"),
    "weight": ("weight", "sample_weight"),
    "time": ("time", "timestamp"),
    "propensity": ("propensity", "propensity_score"),
    "list_propensity": ("list_propensity",),
    "arm": ("arm", "team"),
}
# Columns that say something of the others: texts of query ids, and counts that rows stand for.
TEXTS = ("query", "query_text", "user_query")
IMPRESSIONS = ("impressions", "n_impressions", "views")
NEEDED = ("query", "doc", "place", "click")
CREDIT = "credit_"
IDS = ("text", "query", "doc", "session", "user", "arm", "time")


def read_clicks(
    table: PathLike | Any,
    *,
    query: str | None = None,
    doc: str | Sequence[str] | None = None,
    place: str | None = None,
    click: str | Sequence[str] | None = None,
    session: str | Literal[False] | None = None,
    user: str | Literal[False] | None = None,
    weight: str | Literal[False] | None = None,
    time: str | Literal[False] | None = None,
    propensity: str | Literal[False] | None = None,
    list_propensity: str | Literal[False] | None = None,
    arm: str | Literal[False] | None = None,
    first_place: int | None = None,
    format: Literal["table", "yandex"] = "table",
    sep: str | None = None,
) -> ClickLog:
    """Read a click log from a table with one row per impression, or one row per list.

    Parameters
    ----------
    table : path or frame
        CSV, TSV or Parquet, by suffix, compressed or not; or a frame of pandas, Polars or Arrow.
    query, doc, place, click : str, optional
        Columns. None: the usual names, such as qid, doc_id, position and clicked, in any case.
        Lists of as many ``doc`` as ``click`` columns: one row is one list, its documents at places
        1, 2, … (``place`` is not read). An empty cell of a document ends a shorter list.
    session, user, weight, time, propensity, list_propensity, arm : str or False, optional
        Further columns, see :class:`ClickLog`. None: the usual names if there are such columns.
        Times are numbers or dates. Columns called ``credit_`` and the name of a system are
        ``credit``, as ``rankwise clicks interleave`` writes them.
    first_place : {0, 1}, optional
        Number of the topmost place; None: 0 if any place is 0.
    format : {"table", "yandex"}
        "yandex": text lines ``session time Q query region documents…`` and
        ``session time C document``, separated by tabs. Every search is a list; a click belongs to
        the last search of its session.
    sep : str of length 1, optional
        Column separator of text tables (default: by suffix).

    Returns
    -------
    ClickLog

    Raises
    ------
    ValueError
        If a column is missing or a cell is wrong; the message names the line or row.
    TypeError
        If ``table`` is neither a path nor a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise.clicks import read_clicks
    >>> frame = pd.DataFrame(
    ...     {"qid": ["tea"], "d1": ["x"], "d2": ["y"], "c1": [0], "c2": [1]}
    ... )
    >>> log = read_clicks(frame, doc=["d1", "d2"], click=["c1", "c2"])
    >>> log.place.tolist(), log.click.tolist()
    ([1, 2], [False, True])
    """
    check_choice("format", format, ("table", "yandex"))
    if format == "yandex":
        with name_file_in_errors(Path(table)):
            return _read_yandex(Path(table))
    columns = (query, doc, place, click, session, user, weight, time, propensity, list_propensity)
    given: dict[str, Any] = dict(zip(ROLES, (*columns, arm), strict=True))
    if isinstance(doc, str | None) != isinstance(click, str | None):
        raise ValueError(
            "doc and click must both be one column, or both lists of columns, got "
            f"{doc!r} and {click!r}."
        )
    source = _open(table, sep)
    with _name_source(source):
        if not isinstance(doc, str | None):
            return _read_wide(source, given)
        return _make_log(_load(source, given), first_place)


def _name_source(source: Any) -> AbstractContextManager[None]:
    """Make errors inside the block name the file, its lines and columns, if there is one."""
    if isinstance(source, DelimitedFile):
        with source.name_in_errors():
            names = source.header
        return source.name_in_errors(names)
    return name_file_in_errors(source) if isinstance(source, Path) else nullcontext()


def _open(table: Any, sep: str | None) -> Any:
    """A frame of narwhals, the path of a binary table, or a file of text."""
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        if is_stored(path):
            return path
        return DelimitedFile.of(path, delimiter_of(path, sep), MAX_DECOMPRESSED_BYTES)
    frame = collect_frame(table)
    if frame is None:
        raise TypeError(
            f"table must be a path or a frame, got {type(table).__name__}. Pass arrays to "
            "ClickLog.from_columns."
        )
    return frame


def _make_log(columns: dict[str, Any], first_place: int | None) -> ClickLog:
    _check_impressions(columns.get("impressions"))
    numbers = {
        name: _number(columns.get(name), name)
        for name in ("place", "weight", "propensity", "list_propensity")
    }
    credit = {
        name.removeprefix(CREDIT): _number(column, name)
        for name, column in columns.items()
        if name.startswith(CREDIT)
    }
    ids: dict[str, Any] = {name: columns.get(name) for name in ("session", "user", "arm")}
    return ClickLog.from_columns(
        columns["query"],
        columns["doc"],
        click=_click_values(columns["click"]),
        **numbers,
        **ids,
        time=read_seconds(columns.get("time")),
        credit=credit,
        first_place=first_place,
        problems=_count_texts(columns["query"], columns.get("text")),
    )


def _check_impressions(column: Any) -> None:
    """Refuse counts of impressions, whose rows are no impressions."""
    counts = _number(column, "impressions")
    if counts is not None and (counts != 1).any():
        row = int((counts != 1).argmax())
        raise RowError(
            f"a row of a click log is one impression, but impressions is {counts[row]:g}",
            row,
            ". Make two rows of it, of its clicks and of the impressions without click, with these "
            f"numbers as {setting('weight')}; or pass {setting('weight', False)} to count rows.",
        )


def _count_texts(query: Any, text: Any) -> dict[str, int]:
    """Number of query ids with several texts."""
    if text is None or isinstance(query, list) or isinstance(text, list):
        return {}
    found = pa.table({"query": query, "text": text}).group_by("query")
    n = pc.sum(pc.greater(found.aggregate([("text", "count_distinct")])[1], 1)).as_py() or 0
    return {"queries_with_several_texts": n} if n else {}


def _load(source: Any, given: dict[str, Any], extra: Sequence[str] = ()) -> dict[str, Any]:
    """Columns of a table by role, as Arrow arrays; ``extra`` columns by name."""
    if isinstance(source, Path):
        stored = open_stored(source)
        names = _choose_columns(stored.schema.names, given, extra)
        found: Any = stored.read(list(dict.fromkeys([*names.values(), *extra])))
    elif isinstance(source, DelimitedFile):
        names = _choose_columns(source.header, given, extra)
        types = {
            name: pa.string() if role in (*IDS, "click") else pa.float64()
            for role, name in names.items()
        }
        found = source.table(types | dict.fromkeys(extra, pa.string()))
    else:
        names = _choose_columns([str(name) for name in source.columns], given, extra)
        wanted = dict.fromkeys([*names.values(), *extra])
        found = {name: _arrow(source.get_column(name)) for name in wanted}
    columns = {role: found[name] for role, name in names.items()}
    return columns | {name: found[name] for name in extra}


def _arrow(column: nw.Series[Any]) -> Any:
    """A column as Arrow array; objects of several types as a list; times without a zone are UTC."""
    if isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone:
        # Arrow warns about zones of pandas.
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    try:
        return column.to_arrow()
    except (pa.ArrowException, TypeError):
        return column.to_list()


def _choose_columns(
    columns: Sequence[str], given: dict[str, Any], extra: Sequence[str]
) -> dict[str, str]:
    """Column of each role that has one; ``extra`` columns must be there."""
    chosen = {}
    for role, name in given.items():
        if name is False or not isinstance(name, str | None):
            continue
        if name is None:
            usual = USUAL_NAMES[role]
            found = [column for wanted in usual for column in columns if column.lower() == wanted]
            if not found and role in NEEDED:
                raise ValueError(
                    f"there must be a column of the {role}, named {' or '.join(usual)}, got "
                    f"{', '.join(columns)}. Pass {setting(role)}."
                )
            name = found[0] if found else None
        elif name not in columns:
            raise ValueError(
                f"{setting(role, name)} is not a column; there are {', '.join(columns)}."
            )
        if name is not None:
            chosen[role] = name
    missing = [name for name in extra if name not in columns]
    if missing:
        raise ValueError(f"column {missing[0]!r} is missing; there are {', '.join(columns)}.")
    if given["weight"] is None and "weight" not in chosen:
        chosen |= _first("impressions", IMPRESSIONS, columns)
    if chosen["query"].lower() not in TEXTS:
        chosen |= _first("text", TEXTS, columns)
    return chosen | {name: name for name in columns if name.startswith(CREDIT)}


def _first(role: str, usual: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The first column with one of the usual names of a role, if there is one."""
    found = [name for name in columns if name.lower() in usual]
    return {role: found[0]} if found else {}


def _number(column: Any, name: str) -> Any:
    """A column of numbers; missing values are NaN, which the log refuses by row."""
    if column is None:
        return None
    kind = getattr(column, "type", None)
    is_whole = kind is not None and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))
    if is_whole and not column.null_count:
        return np.asarray(column)  # as it is: half the memory of floating-point numbers
    if kind is not None and pa.types.is_decimal(kind):
        return decimals_of(column)
    try:
        values = pc.cast(column if not isinstance(column, list) else pa.array(column), pa.float64())
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from None
    return np.asarray(values)


_CLICKS = {"0": 0.0, "0.0": 0.0, "false": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0}


def _click_values(column: Any) -> Any:
    """0 and 1 of numbers, truth values or their text."""
    kind = getattr(column, "type", None)
    if kind is None or not is_text(kind):
        return _number(column, "click")
    coded = pc.dictionary_encode(column)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    texts = coded.dictionary.to_pylist()
    values = np.array([_CLICKS.get(text.strip().lower(), np.nan) for text in texts] + [np.nan])
    codes = pc.fill_null(coded.indices, len(texts)).to_numpy(zero_copy_only=False)
    clicks = values[codes]
    if np.isnan(clicks).any():
        row = int(np.isnan(clicks).argmax())
        raise RowError(
            f"click must be 0 or 1, got {column[row].as_py()!r}",
            row,
            ". Write 1 for a click and 0 for none.",
        )
    return clicks


def read_seconds(column: Any) -> Any:
    """Times as seconds, of numbers, dates or their ISO text; times without a zone are UTC."""
    if column is None:
        return None
    try:
        array = pa.array(column) if isinstance(column, list) else column
    except (pa.ArrowException, TypeError):  # dates beside numbers
        return _read_moments(column)
    if is_text(array.type):
        try:
            return _number(array, "time")
        except ValueError:
            return _read_moments(array.to_pylist())
    if pa.types.is_temporal(array.type):
        zone = getattr(array.type, "tz", None)
        micros = pc.cast(pc.cast(array, pa.timestamp("us", zone)), pa.int64())
        return np.asarray(micros) / 1e6
    return _number(array, "time")


def _read_moments(values: Sequence[Any]) -> Float64Array:
    """Seconds of numbers, dates or their ISO text; times without a zone are UTC."""
    seconds = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            seconds[row] = read_moment(value)
        except (TypeError, ValueError, OverflowError):
            raise RowError(
                f"time must be a number or an ISO date, got {value!r:.60}",
                row,
                f". Drop the column, or pass {setting('time', False)}.",
            ) from None
    return seconds


def read_moment(value: Any) -> float:
    """Seconds of a number, a date or its ISO text; ValueError or TypeError if it is none."""
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, int | float | np.number):
        return float(value)
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except ValueError:
        text: Any = value
        return float(text)  # a number among dates of a text column
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _read_wide(source: Any, given: dict[str, Any]) -> ClickLog:
    """A table with one row per list: columns of documents and of clicks."""
    docs, clicks = list(given["doc"]), list(given["click"])
    if len(docs) != len(clicks) or not docs:
        raise ValueError(
            f"there must be as many doc as click columns, got {len(docs)} and {len(clicks)}."
        )
    given = given | {"doc": False, "place": False, "click": False, "weight": given["weight"]}
    columns = _load(source, given, (*docs, *clicks))
    n, width = len(columns["query"]), len(docs)
    shown = np.empty((n, width), dtype=object)
    clicked = np.empty((n, width))
    n_lost = 0
    for j in range(width):
        shown[:, j] = columns[docs[j]].to_pylist()
        filled = np.array([value not in (None, "") for value in shown[:, j]])
        if j and (filled & (shown[:, j - 1] == "")).any():
            row = int((filled & (shown[:, j - 1] == "")).argmax())
            raise RowError(f"{docs[j]} follows an empty {docs[j - 1]}", row, ". Close the gap.")
        shown[~filled, j] = ""
        values = _chunk(columns[clicks[j]])
        beside_empty = values.filter(pa.array(~filled)).to_pylist()
        n_lost += sum(_CLICKS.get(str(value).strip().lower()) == 1 for value in beside_empty)
        nothing = pa.scalar("0" if is_text(values.type) else 0).cast(values.type)
        clicked[:, j] = _click_values(pc.if_else(pa.array(filled), values, nothing))
    row, place = np.nonzero(shown != "")
    if not len(row):
        raise ValueError(f"all cells of {', '.join(docs)} are empty: no list shows a document.")
    rest = {role: columns[role] for role in columns if role in ROLES and role != "query"}
    rest = {role: _chunk(column).take(pa.array(row)) for role, column in rest.items()}
    rest.setdefault("session", pa.array(row))
    rest |= {"query": _chunk(columns["query"]).take(pa.array(row))}
    rest |= {"doc": pa.array(shown[row, place].tolist()), "place": pa.array(place + 1)}
    log = _make_log(rest | {"click": pa.array(clicked[row, place])}, 1)
    lost = {
        "clicks_without_impression": n_lost,
        "searches_without_impressions": n - len(np.unique(row)),
    }
    log.problems.update({name: count for name, count in lost.items() if count})
    return log


def _chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else pa.array(column)


def _read_yandex(path: Path) -> ClickLog:
    """Lines of searches (Q) and of clicks (C)."""
    rows: list[tuple[str, str, str, int, float, str]] = []  # query, document, search, place, …
    row_of: dict[tuple[str, str], int] = {}  # session and document: the row last shown
    problems = dict.fromkeys(("clicks_without_impression", "repeated_clicks", "unread_lines"), 0)
    clicked: set[int] = set()
    for number, line in enumerate(read_text(path).decode("utf-8").split("\n"), 1):
        words = line.rstrip("\r").split("\t")
        if len(words) >= 6 and words[2] == "Q":
            try:
                moment = float(words[1])
            except ValueError:
                moment = np.nan
            if not np.isfinite(moment):
                raise ValueError(f"line {number}: time must be a number, got {words[1]!r}.")
            for place, document in enumerate(words[5:], 1):
                row_of[words[0], document] = len(rows)
                rows.append((words[3], document, str(number), place, moment, words[0]))
        elif len(words) == 4 and words[2] == "C":
            row = row_of.get((words[0], words[3]))
            problems["clicks_without_impression"] += row is None
            problems["repeated_clicks"] += row in clicked
            clicked |= set() if row is None else {row}
        elif line.strip():
            problems["unread_lines"] += 1
    if not rows:
        raise ValueError("there is no line 'session TAB time TAB Q TAB query TAB region TAB …'.")
    query, document, search, place, time, session = map(list, zip(*rows, strict=True))
    click = np.zeros(len(rows))
    click[list(clicked)] = 1
    found = {name: count for name, count in problems.items() if count}
    return ClickLog.from_columns(
        query, document, np.array(place), click, session=search, user=session, time=np.array(time),
        first_place=1, problems=found,
    )  # fmt: skip


# Actions of lines that tell a bulk request what to do with the next line.
BULK_ACTIONS = ("index", "create", "update", "delete")
# Fields of what a search found: of UBI 1.3, and of the first versions.
HITS = ("query_response_hit_ids", "query_response_object_ids")


def read_ubi(
    queries: PathLike | Any,
    events: PathLike | Any | None = None,
    *,
    clicks: str | Sequence[str] = ("click",),
    by: Literal["user_query", "query_id"] = "user_query",
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
    check_choice("by", by, ("user_query", "query_id"))
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
        if is_stored(path):
            yield from open_stored(path).read().to_pylist()
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
