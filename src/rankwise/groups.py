"""Query groups: the rows of each query, as a CSR pointer and a stable order.

Rows of a query need not be contiguous, and query ids may be of any type. Internally, the library
processes rows in *group order*: queries in order of first appearance, rows of a query in input
order. :meth:`QueryGroups.sort` and :meth:`QueryGroups.unsort` convert between the two orders.
:class:`FitData` are checked rows, :class:`GroupedRows` those of whole queries for losses, and a
:class:`RowStream` gives chunks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import check_one_type, convert_to_array, first_merged
from rankwise.runtime.renames import NamesOldAttributes
from rankwise.structure.state_rules import Optional, Plain, Rule, integers, require
from rankwise.typing import Float64Array, FrameLike, Int64Array, Matrix, Seed


@names_its_class
@dataclass(frozen=True, eq=False)
class QueryGroups:
    """Rows grouped by query.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,), int64
        In group order, query ``q`` has the rows ``indptr[q]:indptr[q + 1]``.
    order : ndarray of shape (n_samples,), int64, or None
        ``a[order]`` brings an array from input order into group order. None if the input is already
        grouped.
    ids : ndarray of shape (n_queries,)
        Query ids in order of first appearance.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "indptr": integers("n_queries + 1", low=0, ascending=True),
        "order": Optional(integers("n_samples", low=0)),
        "ids": Plain(),
    }

    indptr: NDArray[np.int64]
    order: NDArray[np.int64] | None
    _: KW_ONLY
    ids: NDArray[Any]

    @classmethod
    def from_qid(
        cls, qid: ArrayLike | QueryGroups | None, n_samples: int, *, name: str = "qid"
    ) -> QueryGroups:
        """Groups from one query id per row; a scalar or None puts all rows into one group.

        Parameters
        ----------
        qid : array-like of shape (n_samples,), QueryGroups, scalar or None
            Query ids of any dtype: integers, strings, floats without NaN, dates, categories or
            objects. A scalar is the id of a single query.
        n_samples : int
            Number of rows that the groups must cover.
        name : str
            Name of the argument in messages.

        Raises
        ------
        ValueError
            If ``qid`` has another length, more than one dimension, or missing entries, holds whole
            numbers that its type of floats cannot tell apart (from 2^53 in float64), or an id as a
            number and as text.

        Notes
        -----
        Time is O(n) for grouped input, and O(n + r log r) otherwise, with r runs of equal ids.
        """
        if qid is None:
            return cls.single(n_samples)
        if isinstance(qid, QueryGroups):
            _check_length(qid.n_samples, n_samples, name)
            return qid
        if np.isscalar(qid):
            single = cls.single(n_samples)
            return cls(single.indptr, None, ids=_convert_to_id_array([qid]))
        qid = _convert_to_id_array(qid)
        _check_length(len(qid), n_samples, name)
        if n_samples == 0:
            return cls(np.zeros(1, dtype=np.int64), None, ids=qid[:0])

        new_run = np.empty(n_samples, dtype=bool)
        new_run[0] = True
        np.not_equal(qid[1:], qid[:-1], out=new_run[1:])
        run_starts = np.flatnonzero(new_run).astype(np.int64)
        run_ids = qid[run_starts]
        run_codes, ids = _codes_by_first_appearance(run_ids)
        run_lengths = np.diff(run_starts, append=n_samples)
        if len(ids) == len(run_ids):
            return cls(np.append(run_starts, n_samples), None, ids=ids)
        codes = np.repeat(run_codes, run_lengths)
        order = np.argsort(codes, kind="stable").astype(np.int64)
        sizes = np.bincount(codes, minlength=len(ids))
        return cls(_indptr(sizes), order, ids=ids)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, n_samples: int | None = None) -> QueryGroups:
        """Groups from consecutive group sizes (``group`` in LightGBM); ids are 0, 1, …"""
        sizes = np.asarray(sizes)
        if sizes.ndim != 1 or (sizes.size and not np.issubdtype(sizes.dtype, np.integer)):
            raise ValueError(
                "sizes must be a 1-d array of integers, got "
                f"shape {sizes.shape} of dtype {sizes.dtype}. Pass one row count per query."
            )
        if (sizes < 0).any():
            raise ValueError(f"sizes must be >= 0, got {int(sizes.min())}.")
        groups = cls(_indptr(sizes), None, ids=np.arange(len(sizes)))
        if n_samples is not None and groups.n_samples != n_samples:
            raise ValueError(
                f"sizes must sum to n_samples={n_samples}, got {groups.n_samples}. "
                "Pass the row count of each query, in the order of the rows."
            )
        return groups

    @classmethod
    def single(cls, n_samples: int) -> QueryGroups:
        """All rows as one group."""
        return cls(np.array([0, n_samples], dtype=np.int64), None, ids=np.zeros(1, dtype=np.int64))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.indptr[-1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each query, shape (n_queries,)."""
        return np.diff(self.indptr)

    def sort(self, a: NDArray[Any]) -> NDArray[Any]:
        """Rows of ``a`` in group order; ``a`` itself if it is already grouped."""
        return a if self.order is None else a[self.order]

    def unsort(self, a: NDArray[Any]) -> NDArray[Any]:
        """Rows of ``a`` in input order, given ``a`` in group order."""
        if self.order is None:
            return a
        out = np.empty_like(a)
        out[self.order] = a
        return out

    def ranks(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """1-based rank of every row within its query by descending score; ties keep input order."""
        query = np.repeat(np.arange(self.n_queries), self.sizes)
        by_score = np.lexsort((-self.sort(scores), query))  # lexsort is stable
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[by_score] = np.arange(len(scores)) - self.indptr[query] + 1
        return self.unsort(ranks)

    def codes(self) -> NDArray[np.int64]:
        """Query index of every row, in input order, shape (n_samples,)."""
        return self.unsort(np.repeat(np.arange(self.n_queries, dtype=np.int64), self.sizes))

    def row_ids(self) -> NDArray[Any]:
        """Query id of every row, in input order, shape (n_samples,)."""
        return self.ids[self.codes()]

    def rows(
        self, queries: int | Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Input row numbers of the given queries (numbers or a mask), sorted by query."""
        queries = self._query_numbers(queries)
        starts, sizes = self.indptr[:-1][queries], self.sizes[queries]
        total = int(sizes.sum())
        before = np.cumsum(sizes) - sizes
        positions = np.arange(total, dtype=np.int64) + np.repeat(starts - before, sizes)
        return positions if self.order is None else self.order[positions]

    def subset(
        self, queries: Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], QueryGroups]:
        """Input row numbers of the given queries, and the groups of ``a[rows]``."""
        queries = self._query_numbers(queries)
        return self.rows(queries), QueryGroups(
            _indptr(self.sizes[queries]), None, ids=self.ids[queries]
        )

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> QueryGroups:
        """Groups of ``a[rows]`` for any selection of rows; empty queries are dropped."""
        codes = self.codes()[rows]
        kept = QueryGroups.from_qid(codes, len(codes))
        return QueryGroups(kept.indptr, kept.order, ids=self.ids[kept.ids])

    def split(self, n_splits: int, *, random_state: Seed = None) -> list[NDArray[np.int64]]:
        """Query numbers of ``n_splits`` folds with nearly equal numbers of queries.

        Without ``random_state``, folds are consecutive blocks of queries in order of appearance;
        with ``random_state``, queries are shuffled first.
        """
        if not 2 <= n_splits <= self.n_queries:
            raise ValueError(
                f"n_splits must lie between 2 and n_queries={self.n_queries}, got {n_splits}."
            )
        queries = np.arange(self.n_queries, dtype=np.int64)
        if random_state is not None:
            from rankwise.runtime.constraints import check_random_state

            queries = check_random_state(random_state).permutation(queries)
        return [np.sort(part) for part in np.array_split(queries, n_splits)]

    def _check_structure(self) -> None:
        n = int(self.indptr[-1])
        require(self.indptr[0] == 0, "indptr", "begin with 0", self.indptr)
        if self.order is not None:
            places = np.sort(self.order)
            require(np.array_equal(places, np.arange(n)), "order",
                    f"hold 0 to {n - 1} once each", self.order)  # fmt: skip

    def _query_numbers(self, queries: Any) -> NDArray[np.int64]:
        queries = np.atleast_1d(np.asarray(queries))
        if queries.dtype == bool:
            if len(queries) != self.n_queries:
                raise ValueError(
                    f"a mask of queries must have n_queries={self.n_queries} entries, "
                    f"got {len(queries)}."
                )
            return np.flatnonzero(queries)
        if queries.size and queries.dtype.kind not in "iu":
            raise TypeError(
                f"queries must be query numbers or a mask, got dtype {queries.dtype}. "
                "Query numbers are 0, 1, … in order of first appearance."
            )
        return queries.astype(np.int64)


def _indptr(sizes: NDArray[Any]) -> NDArray[np.int64]:
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def _check_length(got: int, n_samples: int, name: str) -> None:
    if got != n_samples:
        raise ValueError(
            f"{name} must have n_samples={n_samples} entries, got {got}. "
            "Pass one query id per row of X."
        )


def _convert_to_id_array(qid: Any) -> NDArray[Any]:
    """Checked one-dimensional array of hashable ids without missing entries."""
    array: NDArray[Any]
    if isinstance(qid, list | tuple) and len({type(value) for value in qid}) > 1:
        # NumPy would convert [1, "a"] to strings, so 1 and "1" would be the same query.
        array = np.fromiter(qid, dtype=object, count=len(qid))
    else:
        array = convert_to_array(qid)
        limit = first_merged(array.dtype)
        if array.dtype == np.float16 or array.dtype == np.longdouble:
            array = array.astype(np.float64)
        if array.dtype.kind == "f" and isinstance(qid, list | tuple) and {*map(type, qid)} == {int}:
            array = np.array(qid, dtype=object)  # otherwise [-1, 2**63] would become floats
        _check_distinct(array, limit)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"qid must be one-dimensional, got shape {array.shape}. Pass one query id per row of X."
        )
    if array.dtype.kind in "fc" and np.isnan(array).any():
        raise _missing_id("NaN", np.isnan(array).argmax())
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise _missing_id("NaT", np.isnat(array).argmax())
    if array.dtype.kind not in "biufcSUOmM":
        array = array.astype(object)  # StringDType of NumPy and other extension types
    if array.dtype == object and not set(map(type, array)) <= {str, bytes, int}:
        for row, value in enumerate(array):
            _check_id(value, row)
    if array.dtype == object:
        kinds = {issubclass(kind, str | bytes) for kind in set(map(type, array))}
        if len(kinds) > 1:
            check_one_type(array, map(_text, array), "qid", "row {}".format)
    _check_not_empty(array)
    return array


def _check_distinct(ids: NDArray[Any], limit: int) -> None:
    """Raise ValueError if floats hold whole numbers that may have been others."""
    if ids.dtype.kind != "f":
        return
    merged = np.isfinite(ids) & (np.abs(ids) >= limit)
    if merged.any():
        row = int(merged.argmax())
        raise ValueError(
            f"qid must not hold floats beyond 2^{limit.bit_length() - 1}, where whole numbers "
            f"become equal, got {ids[row]:.17g} at row {row}. Pass integers or text."
        )


def _text(value: Any) -> str:
    """Text of an id, as readers give it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    is_float = isinstance(value, float | np.floating | Decimal)
    is_whole = is_float and float(value).is_integer() and value == int(value)
    return str(int(value) if is_whole else value)


def _check_not_empty(ids: NDArray[Any]) -> None:
    """Raise ValueError if an id is an empty text, as tables have where ids are missing."""
    if ids.dtype.kind in "US":
        is_empty = ids == ids.dtype.type()
        row = int(is_empty.argmax()) if is_empty.any() else None
    elif ids.dtype == object:
        row = next((row for row, value in enumerate(ids) if value in ("", b"")), None)
    else:
        return
    if row is not None:
        raise _missing_id("''", row)


def _check_id(value: Any, row: int) -> None:
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"qid must hold hashable ids, got {value!r} at row {row}. Pass numbers or strings."
        ) from None
    same = value == value  # NaN differs from itself; pandas.NA gives NA
    if value is None or not isinstance(same, bool | np.bool_) or not same:
        raise _missing_id(repr(value), row)


def _missing_id(shown: str, row: Any) -> ValueError:
    return ValueError(
        f"qid must not be missing, got {shown} at row {row}. Give every row a query id."
    )


def _codes_by_first_appearance(ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Integer codes of the ids in order of first appearance, and the distinct ids."""
    if ids.dtype == object:
        seen: dict[Any, int] = {}
        codes = np.fromiter(
            (seen.setdefault(value, len(seen)) for value in ids), dtype=np.int64, count=len(ids)
        )
        return codes, np.fromiter(seen, dtype=object, count=len(seen))
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[by_appearance] = np.arange(len(distinct))
    return rank[inverse], distinct[by_appearance]


@dataclass(frozen=True)
class FitData:
    """Checked rows.

    Training rows are in input order, without the rows of zero weight. Validation rows are in an
    order that their content determines, see :func:`rankwise.checks.rows.check_validation`.

    ``kept`` marks the input rows that were kept; None: all of them. ``classes`` holds the ordered
    classes whose numbers 0, 1, … are ``y``; None if y holds the targets themselves. ``stream`` is
    the checked stream whose first rows these are: they serve to build designs and problems, while
    all sums are computed over the stream. None: these are all rows. ``numbers`` are the row numbers
    of X to which the other arrays belong; None: those of all rows, in order.
    """

    X: Matrix
    y: Float64Array
    groups: QueryGroups
    sample_weight: Float64Array | None
    kept: NDArray[np.bool_] | None = None
    classes: NDArray[Any] | None = None
    stream: Any = None
    numbers: Int64Array | None = None


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in group order: query ``q`` holds the rows ``indptr[q]:indptr[q + 1]``.

    X is (n_samples, n_columns), y and weight are (n_samples,).
    """

    X: Matrix
    y: Float64Array
    indptr: Int64Array
    weight: Float64Array


MOST_COPIES = 2**31


def count_copies(weight: Float64Array, use: str, fix: str) -> Int64Array:
    """Weights as numbers of copies; ValueError unless they are whole and sum to 2^31 at most."""
    why = "a row of weight w counts as w rows"
    if (weight % 1).any():
        value = weight[np.argmax(weight % 1 > 0)]
        raise ValueError(
            f"sample_weight must hold whole numbers {use}, got {value:g}: {why}. {fix}"
        )
    if weight.sum() > MOST_COPIES:
        raise ValueError(
            f"sample_weight must sum to at most {MOST_COPIES:,} {use}, got {weight.sum():,.0f}: "
            f"{why}. Use smaller weights."
        )
    return weight.astype(np.int64)


class QueryNumbers:
    """Numbers queries in order of appearance; each must come in one run of rows.

    ``last`` is the id of the last query, which may continue.
    """

    n_queries: int

    def __init__(self) -> None:
        self.n_queries = 0
        self.last: Any = None
        self._parts: list[np.ndarray[Any, Any]] = []
        self._known: set[Any] | None = None  # only once ids do not ascend

    def add(self, ids: np.ndarray[Any, Any]) -> int:
        """Number the queries; return the number of ``ids[0]``, which may continue the last one."""
        goes_on = self.n_queries > 0 and plain_id(ids[0]) == self.last
        first = self.n_queries - goes_on
        new = ids[int(goes_on) :]
        if len(new):
            self._note(new)
            self._parts.append(new)
            self.last = plain_id(new[-1])
            self.n_queries += len(new)
        return first

    def ids(self) -> np.ndarray[Any, Any]:
        """All ids, in order of appearance."""
        return join_ids(self._parts)

    def _note(self, new: np.ndarray[Any, Any]) -> None:
        if self._known is None:
            if self._ascends(new):
                return
            self._known = {plain_id(value) for part in self._parts for value in part.tolist()}
        for value in new.tolist():
            if value in self._known:
                raise ValueError(
                    f"qid {value!r} came back after other queries. The rows of a query must be in "
                    "one chunk, or at the end of one and the start of the next: sort the rows by "
                    "query."
                )
            self._known.add(value)

    def _ascends(self, new: np.ndarray[Any, Any]) -> bool:
        if new.dtype.kind not in "iufU":
            return False
        if self._parts and self._parts[-1].dtype.kind != new.dtype.kind:
            return False
        before = self._parts[-1][-1:] if self._parts else new[:0]
        both = np.concatenate([before, new])
        return bool((both[1:] > both[:-1]).all())


def join_ids(parts: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Join ids into one array, of objects if their kinds differ, so that 1 is not "1"."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def plain_id(value: Any) -> Any:
    """A query id as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def same_kind_of_ids(kinds: Sequence[tuple[str, str]]) -> None:
    """Raise if some query ids are text and others are not: 1 and "1" would be two queries.

    ``kinds`` holds pairs of a place, which the message names, and "text", "numbers", or "" without
    ids.
    """
    seen: dict[str, str] = {}
    for place, kind in kinds:
        if kind:
            seen.setdefault(kind, place)
    if len(seen) > 1:
        (kind, place), (other, later) = seen.items()
        raise ValueError(
            f"qid must be of one kind, got {kind} in {place} and {other} in {later}: 1 and '1' "
            "would be two queries. Convert them to one kind."
        )


def kind_of_ids(qid: Any) -> str:
    """The kind of query ids: "text", "numbers", or "" without ids or for mixed objects."""
    values = np.asarray(qid)
    if not values.size:
        return ""
    if values.dtype.kind in "biuf":
        return "numbers"
    if values.dtype.kind in "US":
        return "text"
    kinds = {isinstance(value, str | bytes) for value in values.ravel().tolist()}
    return "" if len(kinds) > 1 else "text" if kinds.pop() else "numbers"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a stream, not yet checked.

    X has shape (n_rows, n_features); y, qid, sample_weight and doc_ids are array-likes (n_rows,).
    """

    X: FrameLike
    y: Any = None
    qid: Any = None
    sample_weight: Any = None
    feature_names: list[str] | None = None  # names of the columns if X is an array
    doc_ids: Any = None  # ndarray of str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        X: Any = self.X
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)


# Named in errors of all other estimators.
FIT_STREAMS = "LinearRegressionRanker, RidgeRanker, PointwiseELM, PairwiseELM and ELMRank"
ALSO = "RankRLS, LSRRank, MPRank and LSSVRanker"
EVALUATES = "rankwise.rankers.evaluate_stream(ranker, stream)"


class RowStream(NamesOldAttributes):
    """Stream of judged rows in chunks; created by :func:`rankwise.streams.stream`.

    Iterating gives the chunks, each with ``X``, ``y``, ``qid``, ``sample_weight`` and
    ``feature_names``.

    Attributes
    ----------
    n_samples : int or None
        Number of rows; None if it is unknown before reading.
    reiterable : bool
        Whether the stream can be read more than once.
    """

    n_samples: Any
    reiterable = True

    def __iter__(self) -> Iterator[Chunk]:
        raise NotImplementedError

    def keys(self) -> Iterator[Chunk]:
        """The chunks with query ids and weights; ``X`` need not be read."""
        return iter(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refused("This method")

    def _refused(self, method: str) -> TypeError:
        """Error of a method that takes no streams, such as ``LambdaMART.fit``."""
        name = method.rpartition(".")[2]
        fix = "Read the rows into memory, or use one of these."
        if name == "partial_fit":
            fix = "Pass the chunks one by one: partial_fit(chunk.X, chunk.y, qid=chunk.qid)."
        elif name != "fit":
            fix = f"Pass the X of each chunk, or score any ranker with {EVALUATES}."
        return TypeError(
            f"{method} needs rows in memory, got a RowStream. {FIT_STREAMS} fit streams; {ALSO} "
            f"too, unless they store rows for a kernel. They predict and score streams. {fix}"
        )

    def __repr__(self) -> str:
        rows = "?" if self.n_samples is None else self.n_samples
        again = "" if self.reiterable else ", once"
        return f"RowStream({type(self).__name__}, {rows} rows{again})"
