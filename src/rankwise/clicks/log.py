"""ClickLog: one long table of impressions, with counts of what is wrong with it.

A row is one document shown to one user: query, session, document, place, click. The rows of one
session and query form a *list*, as a page of results. Ids are stored once, and rows hold integer
codes, so that ten million rows take less than half a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from rankwise.checks.ids import id_texts, warn_of_missing_words
from rankwise.checks.row_errors import RowError
from rankwise.clicks.log_rows import MANY_ROWS, arrange_rows, encode_numbers
from rankwise.kernels.click_codes import encode_keys
from rankwise.runtime.column_values import convert_to_values, first_merged, text_array
from rankwise.typing import ArrayLike, Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.summary import LogSummary

pc: Any = pyarrow.compute  # its functions are created on import, unseen by type checkers

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

    __hash__ = None  # type: ignore[assignment]


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
class ClickLog:
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
        Counts of what was found, see ``rankwise.clicks.summary.PROBLEMS``.
    """

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
            If columns differ in length, there is no row, an id is missing, or a value is out of
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
        named: dict[str, Any] = {
            "document": document,
            "place": place,
            "click": click,
            "session": session,
        }
        named |= {"user": user, "weight": weight, "time": time, "propensity": propensity}
        named |= {"list_propensity": list_propensity}
        credits: dict[str, Any] = {
            f"credit of {name!r}": column for name, column in (credit or {}).items()
        }
        for name, column in (named | {"arm": arm} | credits).items():
            if column is not None and len(column) != n:
                raise ValueError(
                    f"{name} must have one entry per row, {n} as query has, got {len(column)}."
                )
        if n == 0:
            raise ValueError("a click log must have at least one impression, got no rows.")
        found = dict(problems or {})
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
            _check_credits(credits),
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

    def require_sessions(self, what: str) -> None:
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
            If there is no such arm.
        """
        names = [] if self.arm is None else self.arm.names.tolist()
        if self.arm is None or arm not in names:
            raise ValueError(f"the log has no arm {arm!r}; it has {', '.join(names) or 'no arms'}.")
        return self.take(np.flatnonzero(self.arm.codes == names.index(arm)))

    def summary(self, *, level: float = 0.95) -> LogSummary:
        """Describe the log: click rates by place, its problems, and what it can identify."""
        from rankwise.clicks.summary import summarize

        return summarize(self, level)


def encode_ids(values: Any, name: str, *, may_be_empty: bool = False) -> Ids:
    """Codes of ids by first appearance; each id is text or a whole number."""
    try:
        arrow = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, TypeError):
        arrow = pa.nulls(len(values))
    if may_be_empty and arrow.null_count and _is_text(arrow.type):
        arrow = pc.fill_null(arrow, "")
    is_plain = pa.types.is_integer(arrow.type) or _is_text(arrow.type)
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
    empty = pc.index(distinct, "").as_py() if _is_text(distinct.type) else -1
    if empty >= 0 and not may_be_empty:
        row = int(np.argmax(codes == empty))
        raise RowError(f"{name} must not be missing, got ''", row, ". Drop such rows.")
    if _is_text(distinct.type):
        counts = np.bincount(codes, minlength=len(distinct)).tolist()
        warn_of_missing_words(distinct.to_pylist(), name, counts)
    return Ids(codes, distinct)


def _is_text(kind: Any) -> bool:
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
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            f"place must be a whole number from {least} to {MOST_PLACES}, got {values[row]}",
            row,
            ". Pass the rank in the list.",
        )
    places = values.astype(np.int32)
    if first == 0 or (first is None and (places == 0).any()):
        problems["places_from_0"] = len(places)
        places += 1
    return places


def _check_clicks(click: ArrayLike) -> NDArray[np.bool_]:
    values = convert_to_values(click)
    _check_kind(values, "click")
    bad = ~((values == 0) | (values == 1))
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            f"click must be 0 or 1, got {values[row]}",
            row,
            ". Pass counts of equal rows as weight.",
        )
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
    if bad.any():
        row = int(bad.argmax())
        rule = ">= 0" if name == "weight" else "in (0, 1]" if high == 1.0 else "finite"
        raise RowError(f"{name} must be {rule}, got {values[row]}", row, ".")
    return values


def _check_credits(credits: Mapping[str, ArrayLike]) -> Float64Array | None:
    columns = [_check_numbers(column, name, -np.inf, np.inf) for name, column in credits.items()]
    return np.column_stack(columns) if columns else None  # type: ignore[arg-type]


def _check_kind(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        raise ValueError(
            f"{name} must be one number per row, got {values.dtype} of shape {values.shape}. "
            "Convert it to numbers."
        )
