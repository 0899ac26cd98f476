"""ClickLog: one long table of impressions, with counts of what is wrong with it.

A row is one document shown to one user: query, session, document, place, click. The rows of one
session and query form a *list*, as a page of results. Ids are stored once, and rows hold integer
codes, so that ten million rows take less than half a gigabyte.

A click needs a user who looks and a document worth a click. A log that shows every pair of query
and document at one place only cannot separate the two. Places are linked where pairs were shown at
both and clicks go both ways; only the examination of linked places can be compared [1]_.

References
----------
.. [1] Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position bias without
   intrusive interventions", WSDM 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri, stdtrit

from rankwise.checks.exact_values import RowError, id_texts, warn_of_missing_words
from rankwise.kernels.click_models import count_repeats, encode_keys, order_by_pair, sum_cells
from rankwise.metrics.statistics.intervals import wilson_interval
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.arrow import pa, pc
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import convert_to_values, first_merged, text_array
from rankwise.runtime.messages import join_lines
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.runtime.result import NotebookTable, Result
from rankwise.typing import ArrayLike, Float64Array, Int64Array

Codes = NDArray[np.int32]

# Ids and times that were taken for places would fill the memory with tables of places.
MOST_PLACES = 10_000
# Rows of which temporary columns are made at a time.
ROWS_AT_A_TIME = 1 << 20


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids; compared, and made an array, as the text of the id of every row."""

    codes: Codes  # code of every row
    values: Any  # pyarrow array of the distinct ids, text or integers, by code

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def names(self) -> NDArray[Any]:
        """Distinct ids as text, by code; made when they are first read."""
        return text_array([str(value) for value in self.values.to_pylist()])

    @property
    def n_present(self) -> int:
        """Number of ids that rows have."""
        return int(np.count_nonzero(np.bincount(self.codes)))

    def take(self, rows: NDArray[Any] | slice) -> Ids:
        """Select rows; all ids are kept, so codes stay comparable."""
        return Ids(self.codes[rows], self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Id of every row, as text."""
        return np.array(self.names[self.codes], dtype=dtype)

    # Comparisons of rows, as of an array: without them, a filter of rows would be one truth value.
    def __eq__(self, other: object) -> NDArray[Any]:  # type: ignore[override]
        if isinstance(other, str | int | np.integer):
            return (self.names == str(other))[self.codes]
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> NDArray[Any]:  # type: ignore[override]
        return ~(self == other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


class Pairs(NamedTuple):
    """Distinct pairs of query and document; ``code`` has one entry per row of the log."""

    code: Codes
    query: Codes
    document: Codes


class Lists(NamedTuple):
    """Lists of a log: list ``i`` has the rows ``indptr[i]:indptr[i + 1]``, by ascending place."""

    indptr: Int64Array

    @property
    def code(self) -> Codes:
        """List of every row; made anew, since few need what is as long as the log."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class ClickLog(NotebookTable, NamesOldAttributes):
    """Impressions with clicks; made by :meth:`from_columns` or a reader, which check them.

    Rows are sorted by session, query and place. Without sessions, every row is a list of its own
    and rows keep their order.

    Attributes
    ----------
    query, document : Ids
        Codes of every row, and the ids by code.
    place : ndarray of shape (n_rows,), int32
        Place at which the document was shown, from 1.
    click : ndarray of shape (n_rows,), bool
    session, user : Ids or None
        A session and a query name one list; a user may have many sessions.
    weight : ndarray of shape (n_rows,), float64, or None
        Number of impressions that a row stands for, >= 0.
    time : ndarray of shape (n_rows,), float64, or None
        Seconds.
    propensity : ndarray of shape (n_rows,), float64, or None
        Probability, in (0, 1], with which the logging system shows this document at this place.
    list_propensity : ndarray of shape (n_rows,), float64, or None
        Probability, in (0, 1], of the list under the logging system, the same in all its rows; or
        of each row given the rows above it, see :func:`off_policy`.
    arm : Ids or None
        System or branch of an experiment that the row is credited to; "" for none.
    credit : ndarray of shape (n_rows, n_systems), float64, or None
        What a click is worth to each interleaved system, in the order of ``systems``.
    systems : tuple of str
    taken : ndarray of shape (n_rows,), int32, or None
        Row of the input from which each row comes, see ``source``; None: all rows, in order.
    n_source : int
        Number of rows of the input.
    problems : dict of str to int
        Counts of what was found, see ``rankwise.clicks.log.PROBLEMS``.
    """

    _most_rows = 10
    _rest = ""

    query: Ids
    document: Ids
    place: Codes
    click: NDArray[np.bool_]
    session: Ids | None = None
    user: Ids | None = None
    weight: Float64Array | None = None
    time: Float64Array | None = None
    propensity: Float64Array | None = None
    list_propensity: Float64Array | None = None
    arm: Ids | None = None
    credit: Float64Array | None = None
    systems: tuple[str, ...] = ()
    taken: Codes | None = None
    n_source: int = 0
    problems: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_columns(
        cls,
        query: Any,
        document: Any,
        place: ArrayLike,
        click: ArrayLike,
        *,
        session: Any = None,
        user: Any = None,
        weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        list_propensity: ArrayLike | None = None,
        arm: Any = None,
        credit: Mapping[str, ArrayLike] | None = None,
        first_place: int | None = None,
        problems: dict[str, int] | None = None,
    ) -> ClickLog:
        """Check columns, merge repeated rows, and count everything that is odd.

        Parameters
        ----------
        query, document, session, user, arm : array-like of shape (n_rows,)
            Ids: text or whole numbers. ``arm`` may be empty text.
        place : array-like of shape (n_rows,)
            Whole numbers from 0 to 10,000.
        click : array-like of shape (n_rows,)
            0 or 1, or bool.
        weight, time, propensity, list_propensity : array-like of shape (n_rows,), optional
        credit : mapping of str to array-like of shape (n_rows,), optional
            What a click on each row is worth to each system, see :func:`interleave`.
        first_place : {0, 1}, optional
            Number of the topmost place. None: 0 if any row has place 0, else 1. Places that count
            from 0 are raised by 1, and ``problems["places_from_0"]`` counts their rows.
        problems : dict of str to int, optional
            Counts that a reader has made.

        Raises
        ------
        ValueError
            If columns differ in length, the log is empty, an id is missing, or a value is out of
            range. The message names the row.

        Notes
        -----
        A list is what a session shows for a query to a user. If it holds documents twice, it is
        split by time where every time has two documents or more; otherwise the rows of a document
        are merged into the first one that was clicked, or the first. O(n log n) for n rows.

        Examples
        --------
        >>> from rankwise.clicks import ClickLog
        >>> log = ClickLog.from_columns(
        ...     ["tea", "tea", "tea"], ["d1", "d2", "d2"], [0, 1, 1], [0, 1, 0], session=[1, 1, 1]
        ... )
        >>> log
        ClickLog(2 impressions, 1 clicks, 1 lists, 1 queries, 2 pairs)
        >>> log.problems
        {'places_from_0': 3, 'repeated_rows': 1}
        """
        n = len(query)
        credits = {f"credit of {name!r}": column for name, column in (credit or {}).items()}
        named: dict[str, Any] = {
            "document": document, "place": place, "click": click, "session": session, "user": user,
            "weight": weight, "time": time, "propensity": propensity,
            "list_propensity": list_propensity, "arm": arm, **credits,
        }  # fmt: skip
        for name, column in named.items():
            if column is not None and len(column) != n:
                raise ValueError(
                    f"{name} must have one entry per row, {n} as query has, got {len(column)}."
                )
        if n == 0:
            raise ValueError("a click log must have at least one impression, got no rows.")
        found = dict(problems or {})
        worth: list[Any] = [
            _check_numbers(column, name, -np.inf, np.inf) for name, column in credits.items()
        ]
        log = cls(
            encode_ids(query, "query"),
            encode_ids(document, "document"),
            _check_places(place, first_place, found),
            _check_clicks(click),
            None if session is None else encode_ids(session, "session"),
            None if user is None else encode_ids(user, "user"),
            _check_numbers(weight, "weight", 0.0, np.inf),
            _check_numbers(time, "time", -np.inf, np.inf),
            _check_numbers(propensity, "propensity", np.nextafter(0.0, 1.0), 1.0),
            _check_numbers(list_propensity, "list_propensity", np.nextafter(0.0, 1.0), 1.0),
            None if arm is None else encode_ids(arm, "arm", may_be_empty=True),
            np.column_stack(worth) if worth else None,
            tuple(credit or ()),
            None,
            n,
            found,
        )
        return arrange_rows(log)

    def __len__(self) -> int:
        return len(self.place)

    def __repr__(self) -> str:
        lists = "no sessions" if self.session is None else f"{self.n_lists} lists"
        return (
            f"ClickLog({len(self)} impressions, {int(self.click.sum())} clicks, {lists}, "
            f"{self.query.n_present} queries, {len(self.pairs.query)} pairs)"
        )

    def _heading(self) -> str:
        return repr(self)

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        names = ("session", "user", "query", "document", "place", "click", "arm")
        columns = {name: getattr(self, name) for name in (*names, "weight", "time", "propensity")}
        shown = {
            name: [column.values[code].as_py() for code in column.codes[:n].tolist()]
            if isinstance(column, Ids)
            else column[:n]
            for name, column in columns.items()
            if column is not None
        }
        return shown | {"click": self.click[:n].astype(int)}, len(self)

    @cached_property
    def pairs(self) -> Pairs:
        """Distinct pairs of query and document, in order of their first row."""
        n_documents = len(self.document)
        if len(self) < MANY_ROWS:
            keys = self.query.codes.astype(np.int64) * n_documents + self.document.codes
            code, distinct = encode_numbers(keys)
        else:
            code = np.empty(len(self), dtype=np.int32)
            distinct = encode_keys(self.query.codes, n_documents, self.document.codes, code)
        query, document = np.empty((2, len(distinct)), dtype=np.int32)
        for start in range(0, len(distinct), ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            query[rows], document[rows] = np.divmod(distinct[rows], n_documents)
        return Pairs(code, query, document)

    @cached_property
    def lists(self) -> Lists:
        """Rows of each list; every row is a list if there are no sessions."""
        n = len(self)
        if self.session is None:
            return Lists(np.arange(n + 1))
        starts = np.ones(n, dtype=bool)
        starts[1:] = np.diff(self.session.codes) != 0
        starts[1:] |= np.diff(self.query.codes) != 0
        return Lists(np.append(np.flatnonzero(starts), n))

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.lists.indptr) - 1

    @property
    def n_places(self) -> int:
        """Lowest place that was shown."""
        return int(self.place.max())

    @property
    def source(self) -> Codes:
        """Row of the input from which each row comes."""
        return np.arange(len(self), dtype=np.int32) if self.taken is None else self.taken

    @property
    def counts(self) -> Float64Array:
        """Weight of every row; 1 without weights."""
        return np.broadcast_to(1.0, len(self)) if self.weight is None else self.weight

    @property
    def clusters(self) -> Int64Array:
        """Code of the user of every row; of its session, or of the row, if there are no users."""
        ids = self.session if self.user is None else self.user
        return np.arange(len(self)) if ids is None else ids.codes.astype(np.int64)

    def _require_sessions(self, what: str) -> None:
        """Raise ValueError if rows do not form lists."""
        if self.session is None:
            raise ValueError(
                f"{what} needs the lists that users saw, but the log has no sessions. Pass a "
                "column of sessions."
            )

    def parts(self) -> Iterator[tuple[slice, ClickLog]]:
        """Views of about a million rows, in whole lists, with the slice of their rows."""
        start, n = 0, len(self)
        while start < n:
            end = min(start + ROWS_AT_A_TIME, n)
            if self.session is not None:
                end = int(self.lists.indptr[np.searchsorted(self.lists.indptr, end)])
            rows = slice(start, end)
            yield rows, self.take(rows)
            start = end

    def take(self, rows: NDArray[Any] | slice) -> ClickLog:
        """Select rows, as of one arm; ids keep their codes, and problems are kept."""

        def pick(column: Any) -> Any:
            if column is None:
                return None
            return column.take(rows) if isinstance(column, Ids) else column[rows]

        columns = {
            column.name: pick(getattr(self, column.name))
            for column in fields(self)
            if column.name not in ("problems", "systems", "n_source", "taken")
        }
        return replace(self, **columns, taken=self.source[rows], problems=dict(self.problems))

    def take_arm(self, arm: str) -> ClickLog:
        """Rows of one arm.

        Raises
        ------
        ValueError
            If the log does not have this arm.
        """
        names = [] if self.arm is None else self.arm.names.tolist()
        if self.arm is None or arm not in names:
            raise ValueError(f"the log has no arm {arm!r}; it has {', '.join(names) or 'no arms'}.")
        return self.take(np.flatnonzero(self.arm.codes == names.index(arm)))

    @names_its_class
    def summary(self, *, confidence_level: float = 0.95) -> LogSummary:
        """Describe the log: click rates by place, its problems, and what it can identify."""
        check_level(confidence_level)
        place = np.flatnonzero(np.bincount(self.place))
        code = np.searchsorted(place, self.place)
        n = np.bincount(code, self.counts)
        clicks = np.bincount(code, self.counts * self.click)
        rate = np.divide(clicks, n, out=np.zeros(len(n)), where=n > 0)
        low, high = wilson_interval(
            rate, _units(self, code, rate, confidence_level), confidence_level
        )
        cells = count_cells(self)
        by_pair = np.bincount(cells.pair)
        arms = {}
        if self.arm is not None:
            arms = dict(
                zip(self.arm.names.tolist(), np.bincount(self.arm.codes).tolist(), strict=False)
            )
        return LogSummary(
            float(n.sum()),
            float(clicks.sum()),
            None if self.session is None else self.n_lists,
            self.query.n_present,
            self.document.n_present,
            len(self.pairs.query),
            place,
            n,
            rate,
            low,
            high,
            int((by_pair > 1).sum()),
            find_components(cells, self.n_places),
            arms,
            dict(self.problems),
            confidence_level,
        )


def encode_ids(values: Any, name: str, *, may_be_empty: bool = False) -> Ids:
    """Codes of ids by first appearance; each id is text or a whole number."""
    try:
        arrow = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, TypeError):
        arrow = pa.nulls(len(values))
    if may_be_empty and arrow.null_count and is_text(arrow.type):
        arrow = pc.fill_null(arrow, "")
    is_plain = pa.types.is_integer(arrow.type) or is_text(arrow.type)
    is_plain = is_plain and not arrow.null_count
    if is_plain and arrow.type in (pa.int32(), pa.int64()) and len(arrow) > MANY_ROWS:
        codes = np.empty(len(arrow), dtype=np.int32)
        keys = encode_keys(arrow.to_numpy(), 1, np.empty(0, dtype=np.int32), codes)
        return Ids(codes, pa.array(keys.astype(arrow.type.to_pandas_dtype())))
    if is_plain:
        encoded = arrow.dictionary_encode()
    else:
        listed = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else values
        texts = id_texts(listed, name, limit=first_merged(values))
        encoded = pa.array(texts, pa.string()).dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # also of an array with too much text for one
        encoded = encoded.unify_dictionaries().combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    distinct = encoded.dictionary
    empty = pc.index(distinct, "").as_py() if is_text(distinct.type) else -1
    if empty >= 0 and not may_be_empty:
        row = int(np.argmax(codes == empty))
        raise RowError(f"{name} must not be missing, got ''", row, ". Drop such rows.")
    if is_text(distinct.type):
        counts = np.bincount(codes, minlength=len(distinct)).tolist()
        warn_of_missing_words(distinct.to_pylist(), name, counts)
    return Ids(codes, distinct)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _check_places(place: ArrayLike, first: int | None, problems: dict[str, int]) -> Codes:
    values = convert_to_values(place)
    _check_kind(values, "place")
    if first not in (None, 0, 1):
        raise ValueError(f"first_place must be 0, 1 or None, got {first!r}.")
    least = 0 if first is None else first
    bad = ~((values >= least) & (values <= MOST_PLACES))
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    rule = f"a whole number from {least} to {MOST_PLACES}"
    _refuse_first(bad, values, f"place must be {rule}", " Pass the rank in the list.")
    places = values.astype(np.int32)
    if first == 0 or (first is None and (places == 0).any()):
        problems["places_from_0"] = len(places)
        places += 1
    return places


def _check_clicks(click: ArrayLike) -> NDArray[np.bool_]:
    values = convert_to_values(click)
    _check_kind(values, "click")
    bad = ~((values == 0) | (values == 1))
    _refuse_first(bad, values, "click must be 0 or 1", " Pass counts of equal rows as weight.")
    return values.astype(bool)


def _check_numbers(
    column: ArrayLike | None, name: str, low: float, high: float
) -> Float64Array | None:
    if column is None:
        return None
    values = convert_to_values(column)
    _check_kind(values, name)
    values = values.astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= low) & (values <= high))
    rule = ">= 0" if name == "weight" else "in (0, 1]" if high == 1.0 else "finite"
    _refuse_first(bad, values, f"{name} must be {rule}")
    return values


def _refuse_first(bad: NDArray[np.bool_], values: NDArray[Any], rule: str, fix: str = "") -> None:
    """Raise RowError for the first row that is bad, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        raise RowError(f"{rule}, got {values[row]}", row, f".{fix}")


def _check_kind(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        raise ValueError(
            f"{name} must be one number per row, got {values.dtype} of shape {values.shape}. "
            "Convert it to numbers."
        )


# Sessions and users with more lists than this are reported: programs, or an id that many share.
MANY_LISTS = 1000
# From here on, kernels code ids: below, compiling them takes longer than their work.
MANY_ROWS = 1 << 17


def arrange_rows(log: ClickLog) -> ClickLog:
    """Sort rows by list and place, merge rows of one document in one list, and count oddities.

    Lists are those of one user. Where a session shows documents of a query repeatedly, it is split
    by time if it shows two or more documents at every time, as pages of results do; else the rows
    of a document are merged, since some systems log an impression and its click as two rows.
    """
    if log.session is not None:
        _count_steps_back(log)
        log = _merge_repeats(_split_by_time(_split_by_user(log)))
        keys = (log.session.codes, log.query.codes, log.place)  # type: ignore[union-attr]
        log = log if _are_sorted(*keys) else log.take(np.lexsort(keys[::-1]))
    _count_oddities(log)
    return log


def encode_numbers(keys: Int64Array) -> tuple[Codes, Int64Array]:
    """Codes by first appearance, and the distinct keys; hashing beats sorting tenfold here."""
    encoded = pa.array(keys).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_numpy()


def _count_steps_back(log: ClickLog) -> None:
    if log.time is None or log.session is None:
        return
    code, time = log.session.codes, log.time
    if not _are_sorted(code):
        order = np.argsort(code, kind="stable")
        code, time = code[order], time[order]
    _note(log, "time_backwards", int(((np.diff(code) == 0) & (np.diff(time) < 0)).sum()))


def _split_by_user(log: ClickLog) -> ClickLog:
    """Make the rows of each user of a session a session of their own."""
    session, user = log.session, log.user
    if session is None or user is None:
        return log
    key = session.codes.astype(np.int64) * len(user) + user.codes
    distinct = encode_numbers(key)[1]
    of_session = np.bincount(distinct // len(user))
    if of_session.max() == 1:
        return log
    _note(log, "shared_sessions", int((of_session > 1).sum()))
    return replace(log, session=_split(session, key))


def _split_by_time(log: ClickLog) -> ClickLog:
    """Make the pages of a query that a session shows repeatedly sessions of their own."""
    session, time = log.session, log.time
    if session is None or time is None or not _may_repeat(log):
        return log
    code, distinct = encode_numbers(_keys_of_documents(log))
    if len(distinct) == len(log):
        return log
    list_of = encode_numbers(session.codes.astype(np.int64) * len(log.query) + log.query.codes)[0]
    again = np.bincount(code)[code] > 1
    rows = np.flatnonzero((np.bincount(list_of, again) > 0)[list_of])
    moment = np.unique(time[rows], return_inverse=True)[1]
    pages = list_of[rows].astype(np.int64) * (moment.max() + 1) + moment
    page, distinct = encode_numbers(pages)
    shown = encode_numbers(page * np.int64(len(log.document)) + log.document.codes[rows])[1]
    sizes = np.bincount(shown // len(log.document))
    lists = distinct // (moment.max() + 1)
    several = np.bincount(lists, minlength=list_of.max() + 1) > 1
    small = np.bincount(lists, sizes < 2, list_of.max() + 1) > 0
    chosen = (several & ~small)[list_of[rows]]
    if not chosen.any():
        return log
    _note(log, "split_lists", len(np.unique(list_of[rows[chosen]])))
    key = session.codes.astype(np.int64) * (moment.max() + 2)
    key[rows[chosen]] += 1 + moment[chosen]
    return replace(log, session=_split(session, key))


def _split(session: Ids, key: Int64Array) -> Ids:
    """Sessions by ``key``, each within one session; all but the first get a number."""
    code, distinct = encode_numbers(key)
    first = np.full(len(distinct), len(key))
    np.minimum.at(first, code, np.arange(len(key)))
    parent = session.codes[first]
    names = session.names[parent].tolist()
    seen: dict[int, int] = {}
    for i, old in enumerate(parent.tolist()):
        seen[old] = seen.get(old, 0) + 1
        names[i] += f" ({seen[old]})" if seen[old] > 1 else ""
    return replace(session, codes=code, values=pa.array(names))


def _may_repeat(log: ClickLog) -> bool:
    """Whether a list may hold a document twice; for sure, if sessions are contiguous."""
    assert log.session is not None
    # A key for every row takes as much memory as all else; logs are mostly written by session.
    if len(log) < MANY_ROWS or not _are_sorted(log.session.codes):
        return True
    return count_repeats(log.session.codes, log.pairs.code, len(log.pairs.query)) > 0


def _keys_of_documents(log: ClickLog) -> Int64Array:
    assert log.session is not None
    return log.session.codes.astype(np.int64) * len(log.pairs.query) + log.pairs.code


def _merge_repeats(log: ClickLog) -> ClickLog:
    """Keep one row of each document in a list: the first one that was clicked, if any was."""
    if not _may_repeat(log):
        return log
    code, distinct = encode_numbers(_keys_of_documents(log))
    if len(distinct) == len(log):
        return log
    _note(log, "repeated_rows", len(log) - len(distinct))
    order = np.argsort(~log.click, kind="stable")
    kept = np.sort(order[np.unique(code[order], return_index=True)[1]])
    of_code = np.empty(len(distinct), dtype=np.int64)
    of_code[code[kept]] = kept
    differ = np.zeros(len(log), dtype=bool)
    for column in (log.place, log.weight, log.time):
        if column is not None:
            differ |= column != column[of_code[code]]
    _note(log, "differing_repeats", int(differ.sum()))
    return log.take(kept)


def _are_sorted(*keys: Codes) -> bool:
    """Whether rows are in lexicographic order."""
    tied = np.ones(len(keys[0]) - 1, dtype=bool)
    for key in keys:
        step = np.diff(key)
        if (step[tied] < 0).any():
            return False
        tied &= step == 0
    return True


def _count_oddities(log: ClickLog) -> None:
    """Count what is odd but kept."""
    if log.session is not None:
        list_of = log.lists.code
        inner = np.diff(list_of) == 0
        step = np.diff(log.place)
        _note(log, "shared_places", int((inner & (step == 0)).sum()))
        starts = log.place[log.lists.indptr[:-1]] != 1
        gaps = np.bincount(list_of[1:][inner & (step > 1)], minlength=log.n_lists) > 0
        _note(log, "lists_with_gaps", int((starts | gaps).sum()))
        ids = log.session if log.user is None else log.user
        lists_of = np.bincount(ids.codes[log.lists.indptr[:-1]])
        _note(log, "crowded_users", int((lists_of > MANY_LISTS).sum()))
    _note(log, "only_clicks", len(log) if len(log) > 1 and log.click.all() else 0)
    last = log.place[log.click].max(initial=0)
    _note(log, "below_last_click", int((log.place > last).sum()) if last else len(log))


def _note(log: ClickLog, problem: str, count: int) -> None:
    if count:
        log.problems[problem] = count


# Every count of ``ClickLog.problems``: what it counts, and what was done about it.
PROBLEMS = {
    "places_from_0": "rows had places from 0; all places were raised by 1",
    "repeated_rows": "rows repeated a document of their list; merged into its first clicked row",
    "differing_repeats": "repeated rows had another place, weight or time; merged like the others",
    "shared_sessions": "sessions have several users; they were split by user",
    "split_lists": "lists of a session showed documents repeatedly; they were split by time",
    "time_backwards": "rows are earlier than the row before them in their session; kept",
    "shared_places": "rows share their place with another document of the list; kept",
    "lists_with_gaps": "lists do not start at place 1 or skip places; kept",
    "crowded_users": "users or sessions have more than 1000 lists, as programs do; kept",
    "below_last_click": "rows lie below the last place ever clicked; kept",
    "only_clicks": "rows are all clicked: what was shown and not clicked is missing; kept",
    "clicks_without_impression": "clicks belong to no impression; left out",
    "clicks_without_query": "clicks name no search of the log; left out",
    "repeated_clicks": "clicks repeat a click of the same search and document; counted once",
    "repeated_searches": "searches repeat the id of an earlier one; left out",
    "several_texts": "searches have several texts; the first one counts",
    "queries_with_several_texts": "query ids have several texts; texts are not read",
    "without_text": "impressions belong to a search without a text; left out",
    "without_place": "impressions have no place; left out",
    "searches_without_impressions": "searches showed nothing; left out",
    "other_events": "events are neither impressions nor clicks; left out",
    "unnamed_hits": "hits of searches have no id; left out, those below keep their places",
    "without_time": "impressions have no time; the times of all are left out",
    "without_user": "searches have no client; each is a user of its own",
    "unnamed_events": "events lack the id of their search or document; left out",
    "unread_lines": "lines are neither searches nor clicks; left out",
}
MOST_PLACES_SHOWN = 20
MOST_GROUPS = 6
# In place of 0 trials; its square is still a number.
LEAST_TRIALS = 1e-100


class Cells(NamedTuple):
    """Sums over equal rows: of one pair and one slot, such as a place. Sorted by pair and slot."""

    pair: Int64Array
    slot: Int64Array
    n: Float64Array
    clicks: Float64Array


def count_cells(log: ClickLog, slot: Codes | None = None) -> Cells:
    """Sum weights and clicks by pair and slot; None: by place, slot 0 is place 1. O(rows)."""
    slot = log.place - np.int32(1) if slot is None else slot
    n_pairs, n_rows = len(log.pairs.query), len(log)
    indptr, order = group_rows(log)
    cuts = np.empty(n_pairs + 1, dtype=np.int64)
    n_slots = int(slot.max()) + 1
    most = min(n_rows, n_pairs * n_slots)
    cell_slot, n, clicks = np.empty(most, dtype=np.int64), np.empty(most), np.empty(most)
    weight = np.empty(0) if log.weight is None else log.weight
    sum_cells(indptr, order, slot, log.click, weight, n_slots, cuts, cell_slot, n, clicks)
    pair = np.repeat(np.arange(n_pairs), np.diff(cuts))
    end = len(pair)
    return Cells(pair, cell_slot[:end].copy(), n[:end].copy(), clicks[:end].copy())


def group_rows(log: ClickLog) -> tuple[Codes, Codes]:
    """Rows of each pair: those of pair p are ``order[indptr[p]:indptr[p + 1]]``."""
    indptr = np.zeros(len(log.pairs.query) + 1, dtype=np.int32)
    order = np.empty(len(log), dtype=np.int32)
    order_by_pair(log.pairs.code, indptr, order)
    return indptr, order


def find_components(cells: Cells, n_slots: int) -> list[Int64Array]:
    """Groups of places, from 1, between which clicks go both ways; the largest group first.

    A pair that was clicked at k and shown at j says how much more k is examined at most. Ratios
    have a finite estimate if such pairs lead from each place of a group to each other, as wins must
    in Bradley-Terry models. Places without clicks are in no group.
    """
    clicked = cells.clicks > 0
    known = np.bincount(cells.slot, clicked, n_slots) > 0
    shown = known[cells.slot]
    n = n_slots + int(cells.pair.max(initial=-1)) + 1
    # From a place to the pairs that were clicked there, and from a pair to where it was shown.
    start = np.concatenate([cells.slot[clicked], n_slots + cells.pair[shown]])
    end = np.concatenate([n_slots + cells.pair[clicked], cells.slot[shown]])
    graph = coo_array((np.ones(len(start)), (start, end)), shape=(n, n))
    label = connected_components(graph, connection="strong")[1][:n_slots]
    slots = np.flatnonzero(known)
    parts = [slots[label[slots] == number] + 1 for number in np.unique(label[slots])]
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def name_groups(parts: list[Int64Array]) -> str:
    """Groups of places, such as 1–3, 7 | 4; at most MOST_GROUPS of them."""
    names = [name_places(part) for part in parts[:MOST_GROUPS]]
    if len(parts) > MOST_GROUPS:
        names.append(f"{len(parts) - MOST_GROUPS} groups more")
    return " | ".join(names) or "none"


def name_places(places: NDArray[Any]) -> str:
    """Places as ranges, such as 1–3, 7."""
    places = np.asarray(places)
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    runs = np.split(places, cuts)
    return ", ".join(f"{r[0]}" if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


@dataclass(frozen=True, eq=False)
class LogSummary(Result):
    """Description of a log; ``print`` it.

    ``impressions``, ``clicks`` and ``place_impressions`` are sums of weights.
    ``place_impressions``, ``rate``, ``low`` and ``high`` have one value for each ``place`` that was
    shown. The interval of the click rate is Wilson's, with users (or sessions) as independent
    units. ``lists`` is None if there are no sessions. ``moved_pairs`` counts pairs that were shown
    at two or more places, ``arms`` the rows of each arm.

    ``components`` are groups of places between which clicks go both ways: a pair clicked at one
    place was shown at the other, and the other way round, directly or through other places. One
    group: the examination of its places can be compared. Places without clicks are in no group.
    """

    _drawn = "rate"
    _derived = ("identifies_examination",)

    impressions: float
    clicks: float
    lists: int | None
    queries: int
    documents: int
    pairs: int
    place: Int64Array
    place_impressions: Float64Array
    rate: Float64Array
    low: Float64Array
    high: Float64Array
    moved_pairs: int
    components: list[Int64Array]
    arms: dict[str, int]
    problems: dict[str, int]
    confidence_level: float

    @property
    def identifies_examination(self) -> bool:
        """Whether clicks go both ways between all places with clicks, of which there are several.

        :func:`~rankwise.clicks.propensities` refuses other logs of several places.
        """
        return len(self.components) == 1 and len(self.components[0]) >= min(len(self.place), 2)

    def verdict(self) -> str:
        """Whether the log can tell examination from relevance, in one sentence or two."""
        if len(self.place) == 1:
            return "All impressions are at one place, so click rates need no correction for places."
        if not self.identifies_examination:
            return (
                "Clicks do not go both ways between all places, so examination cannot be told from "
                f"relevance across these groups: {name_groups(self.components)}. Randomise a part "
                "of the traffic to link them."
            )
        linked = self.components[0]
        which = "them all" if len(linked) == len(self.place) else f"places {name_places(linked)}"
        silent = np.setdiff1d(self.place, linked)
        rest = f" No clicks at places {name_places(silent)}." if len(silent) else ""
        return (
            f"{self.moved_pairs} pairs were shown at several places and link {which}: "
            f"examination can be told from relevance, if it depends on the place alone.{rest}"
        )

    def _heading(self) -> str:
        lists = "no sessions" if self.lists is None else f"{self.lists} lists"
        return (
            f"{self.impressions:g} impressions, {self.clicks:g} clicks, {lists}, {self.queries} "
            f"queries, {self.documents} documents, {self.pairs} pairs"
        )

    def _cells(self) -> tuple[list[list[str]], list[str]]:
        cells, below = super()._cells()
        return cells, [*below, self.verdict(), *self._notes()]

    def _notes(self) -> list[str]:
        return [f"note: {count} {PROBLEMS[name]}" for name, count in self.problems.items()]

    def __str__(self) -> str:
        lines = [
            self._heading(),
            f"place  impressions  click rate  {self.confidence_level:.0%} interval",
        ]
        columns = (self.place, self.place_impressions, self.rate, self.low, self.high)
        for place, n, rate, low, high in list(zip(*columns, strict=True))[:MOST_PLACES_SHOWN]:
            lines.append(f"{place:5d}  {n:11g}  {rate:10.4f}  {low:.4f} to {high:.4f}")
        if len(self.place) > MOST_PLACES_SHOWN:
            lines.append(f"and {len(self.place) - MOST_PLACES_SHOWN} places more")
        if self.arms:
            lines.append("arms: " + ", ".join(f"{a or '(none)'} {n}" for a, n in self.arms.items()))
        lines.append(self.verdict())
        lines += self._notes()
        return join_lines(lines)


def _units(
    log: ClickLog, code: Int64Array, rate: Float64Array, confidence_level: float
) -> Float64Array:
    """Number of independent trials at each place, with the variance that clusters have.

    A user who is shown a place many times repeats the same habit: such rows count for less. The
    variance is that of leaving out every user once, and few or unequal users widen intervals as t
    widens the normal.
    """
    n_places, w = len(rate), log.counts
    plain = np.bincount(code, w, n_places)
    independent = plain**2 / np.maximum(np.bincount(code, w**2, n_places), LEAST_TRIALS)
    key, inverse = np.unique(log.clusters * n_places + code, return_inverse=True)
    place = key % n_places
    n_clusters = np.bincount(place, minlength=n_places)
    share = np.bincount(inverse, w) / np.maximum(plain[place], LEAST_TRIALS)
    total = np.bincount(inverse, w * (log.click - rate[code])) / np.maximum(1.0 - share, 1e-9)
    variance = np.bincount(place, total**2, n_places) * (1.0 - 1.0 / n_clusters)
    equal = 1.0 / np.maximum(np.bincount(place, share**2, n_places), LEAST_TRIALS)
    tail = (1 + confidence_level) / 2
    variance *= (stdtrit(np.maximum(equal - 1.0, 1.0), tail) / ndtri(tail)) ** 2
    clustered = np.divide(
        plain**2 * rate * (1 - rate), variance, out=np.full(n_places, np.inf), where=variance > 0
    )
    clustered = np.where(n_clusters == 1, 1.0, clustered)
    alone = n_clusters == np.bincount(code, minlength=n_places)
    return np.maximum(
        np.where(alone, independent, np.minimum(clustered, independent)), LEAST_TRIALS
    )


def note_unit(unit: str, top: str, linked: bool = True) -> str:
    """Sentence about the slot whose examination is 1, where that is not the topmost one."""
    why = "is looked at significantly less, or its clicks are missing"
    if not linked:
        why = "has few clicks or none, and none that link it"
    return f"examination is relative to {unit}, which has 1: {top} {why}"
