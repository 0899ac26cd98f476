"""A stream whose chunks are validated like the rows of ``fit``, and matched by column names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from rankwise.checks.column_sizes import ColumnLimit
from rankwise.checks.rows import check_fit, check_weight, warn_unless_queries
from rankwise.groups import (
    Chunk,
    FitData,
    QueryGroups,
    QueryNumbers,
    RowStream,
    join_ids,
    kind_of_ids,
    plain_id,
    same_kind_of_ids,
)
from rankwise.losses.squared_loss import Problem
from rankwise.metrics.default import GRADES, TARGETS, is_graded
from rankwise.row_order import LeastRows
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse, join_rows

_NO_ROW = "sample_weight must not be all zero: no row is left to fit."


class CheckedStream:
    """Chunks of a stream, checked and grouped by query, on behalf of an estimator.

    The first pass sets the estimator's ``n_features_in_``, ``feature_names_in_`` and
    ``fit_fingerprint_``, chunk by chunk. ``like`` is a matrix without rows, of the type of rows
    that the estimator has already seen. The stream is then a part of them, possibly empty, and
    ``columns`` are the names of their columns.

    ``n_samples`` counts rows of positive weight, once a pass is over. ``graded`` says whether all
    labels so far are relevance grades, and ``has_qid`` whether chunks have query ids (None before
    the first one). The attribute ``columns`` holds the names of the columns of the first chunk,
    which order those of all others, or None if it has none.
    """

    def __init__(
        self,
        estimator: Any,
        rows: RowStream,
        *,
        like: Matrix | None = None,
        columns: list[Any] | None = None,
        column_limit: ColumnLimit | None = None,
    ) -> None:
        self.n_samples = 0
        self.graded = True
        self.has_qid: bool | None = None
        self.columns = columns
        self._estimator, self._rows, self._like = estimator, rows, like
        self._column_limit = column_limit
        self._first: Iterator[FitData] | None = self._pass(first=True)
        self._head: list[FitData] = []
        self._exhausted = False

    def head(self, n_rows: int) -> FitData:
        """The first ``n_rows`` rows with this ``stream``; all rows if there are fewer."""
        assert self._first is not None
        while not self._exhausted and sum(len(data.y) for data in self._head) < n_rows:
            data = next(self._first, None)
            if data is None:
                self._exhausted = True
            else:
                self._head.append(data)
        if self._exhausted:
            return _join(self._head)
        head = _join(self._head, n_rows)
        return replace(head, stream=self)

    @property
    def n_known(self) -> int | None:
        """Number of rows, if it is known; rows of weight 0 do not count."""
        head_is_weighted = any(data.sample_weight is not None for data in self._head)
        return self.n_samples or (None if head_is_weighted else self._rows.n_samples)

    def all_rows(self, n_rows: int) -> FitData | None:
        """All rows if there are fewer than ``n_rows``; call it before the first pass."""
        if self._first is None:
            return None
        data = self.head(n_rows)
        return None if data.stream is not None else data

    @property
    def typical_labels(self) -> Float64Array:
        """Labels of the kind of all labels so far: grades, or not."""
        return GRADES if self.graded else TARGETS

    def chunks(self) -> Iterator[FitData]:
        """Yield all chunks, grouped by query; the first call continues after the head."""
        if self._first is None:
            yield from self._pass(first=False)
            return
        rest, self._first = self._first, None
        head, self._head = self._head, []
        while head:
            yield head.pop(0)
        yield from rest

    def queries(self) -> tuple[np.ndarray[Any, Any], int]:
        """Ids of all queries in order of appearance, and the number of rows; makes a separate pass.

        The rows of a query must be adjacent, and the stream must be one that can be read again.
        """
        numbers, n_rows, row = QueryNumbers(), 0, 0
        for chunk in self._rows.keys():  # noqa: SIM118 (a stream's keys are chunks)
            if not chunk.n_rows:
                continue
            try:
                self._note_qid(chunk)
                groups = QueryGroups.from_qid(chunk.qid, chunk.n_rows)
                if chunk.sample_weight is not None:
                    weight = check_weight(chunk.sample_weight, chunk.n_rows, part=True)
                    groups = groups.take(weight > 0)
                if groups.n_samples:
                    numbers.add(groups.ids[_order_of_queries(groups, numbers.last)])
            except (ValueError, TypeError) as error:
                raise _add_place(error, row) from None
            n_rows += groups.n_samples
            row += chunk.n_rows
        if not n_rows and self._like is None:
            raise ValueError(_NO_ROW if row else "X must have rows, got a stream without any.")
        return numbers.ids(), n_rows

    def sample(self, draws: Sequence[LeastRows]) -> Matrix:
        """Rows kept by each of the draws, stacked; makes a separate pass."""
        for data in self._pass(first=False):
            for draw in draws:
                draw.add(data.X)
        return join_rows([draw.rows() for draw in draws])

    @property
    def fingerprint(self) -> str:
        """Hash of the rows of the first pass."""
        known = getattr(self._estimator, "fit_fingerprint_", None)
        return "" if known is None else known["sha256"]

    def _pass(self, *, first: bool) -> Iterator[FitData]:
        estimator, row, kept_rows, last = self._estimator, 0, 0, None
        known = None if first else estimator.fit_fingerprint_
        like, first_place = self._like, "the first partition" if self._like is not None else ""
        kind_of_first = ""
        for chunk in self._rows:
            if not chunk.n_rows:
                continue
            self._note_qid(chunk)
            if self.columns is None:
                self.columns = labels_of(chunk.X, chunk.feature_names) if like is None else None
            try:
                chunk = match_chunk(chunk, self.columns, first_place or "the first chunk")
                data = check_fit(
                    estimator,
                    chunk.X,
                    chunk.y,
                    chunk.qid,
                    chunk.sample_weight,
                    reset=first and row == 0 and self._like is None,
                    names=chunk.feature_names,
                    part=True,
                    column_limit=self._column_limit,
                )
                kind = kind_of_ids(data.groups.ids) if self.has_qid else ""
                same_kind_of_ids([("the rows before", kind_of_first), ("this chunk", kind)])
            except (ValueError, TypeError) as error:
                raise _add_place(error, row) from None
            kind_of_first = kind_of_first or kind
            if known is not None:
                estimator.fit_fingerprint_ = known
            elif last is not None and len(data.y) and last in set(data.groups.ids.tolist()):
                estimator.fit_fingerprint_["n_queries"] -= 1
            data = replace(data, X=_convert_to_type(data.X, like, row))
            like = data.X[:1].copy() if like is None else like
            row += chunk.n_rows
            if not len(data.y):
                continue
            kept_rows += len(data.y)
            self.graded: bool = self.graded and is_graded(data.y)
            data = group_rows(data, last)
            last = plain_id(data.groups.ids[-1])
            yield data
        if not kept_rows and self._like is None:
            raise ValueError(_NO_ROW if row else "X must have rows, got a stream without any.")
        self.n_samples: int = kept_rows
        if first and not self.has_qid:
            warn_unless_queries(estimator, None, kept_rows)

    def _note_qid(self, chunk: Chunk) -> None:
        """Check that all chunks have a qid or none."""
        has_qid = chunk.qid is not None
        if self.has_qid is None:
            self.has_qid = has_qid
        elif self.has_qid != has_qid:
            raise ValueError(
                "qid must be given in every chunk or in none. Without it all rows are one query."
            )


def _join(parts: list[FitData], most: int | None = None) -> FitData:
    """Concatenate all parts, or their first ``most`` rows, into one table."""
    weight = None
    if any(part.sample_weight is not None for part in parts):
        weights = [
            np.ones(len(part.y)) if part.sample_weight is None else part.sample_weight
            for part in parts
        ]
        weight = np.concatenate(weights)[:most]
    y = np.concatenate([part.y for part in parts])[:most]
    ids = join_ids([part.groups.row_ids() for part in parts])[:most]
    X, left = [], len(y)
    for part in parts:
        X.append(part.X[:left])
        left -= X[-1].shape[0]
    return FitData(join_rows(X), y, QueryGroups.from_qid(ids, len(y)), weight)


Rows = TypeVar("Rows", FitData, Problem)


def group_rows(data: Rows, last: Any) -> Rows:
    """Rows by query; a continued query comes first, and the query of the last row last."""
    groups = data.groups
    queries = _order_of_queries(groups, last)
    if groups.order is None and (np.diff(queries) == 1).all():
        return data
    rows, grouped = groups.subset(queries)
    weight = None if data.sample_weight is None else data.sample_weight[rows]
    return replace(data, X=data.X[rows], y=data.y[rows], groups=grouped, sample_weight=weight)


def _order_of_queries(groups: QueryGroups, last: Any) -> Int64Array:
    queries = list(range(groups.n_queries))
    if groups.order is not None:
        of_last_row = int(np.flatnonzero(groups.order == groups.n_samples - 1)[0])
        end = int(np.searchsorted(groups.indptr, of_last_row, side="right")) - 1
        queries.append(queries.pop(end))
    goes_on = [query for query in queries if plain_id(groups.ids[query]) == last]
    return np.array([*goes_on, *(q for q in queries if q not in goes_on)], dtype=np.int64)


def _convert_to_type(X: Matrix, first: Matrix | None, row: int) -> Matrix:
    """X converted to the type of the first chunk, as concatenating all chunks would."""
    if first is None or (X.dtype == first.dtype and is_sparse(X) == is_sparse(first)):
        return X
    if is_sparse(X) == is_sparse(first) and first.dtype == np.float64:
        return X.astype(np.float64)
    kinds = ["sparse" if is_sparse(part) else "dense" for part in (first, X)]
    raise ValueError(
        f"All chunks must have the same format and dtype, got {kinds[0]} {first.dtype} first and "
        f"{kinds[1]} {X.dtype} at row {row}. Convert the chunks."
    )


def _add_place(error: Exception, row: int) -> Exception:
    """The error with its place in the stream."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"In the chunk that starts at row {row} of the stream: {error}")


def labels_of(X: Any, feature_names: Sequence[str] | None = None) -> list[Any] | None:
    """Names of the columns of a frame, or those that are known of an array; None without names."""
    if hasattr(X, "column_names"):  # an Arrow table, whose ``columns`` are values
        return list(X.column_names)
    if hasattr(X, "columns"):
        return list(X.columns)
    return None if feature_names is None else list(feature_names)


def match_chunk(chunk: Chunk, labels: Sequence[Any] | None, first: str) -> Chunk:
    """The chunk with its columns in the order of ``labels``; unchanged where names are unknown.

    Messages about a missing or an additional column use ``first`` to say what has ``labels``.
    """
    found = labels_of(chunk.X, chunk.feature_names)
    if labels is None or found is None or found == list(labels):
        return chunk
    X = match_columns(chunk.X, found, labels, first)
    names = None if chunk.feature_names is None else [str(label) for label in labels]
    return replace(chunk, X=X, feature_names=names)


def match_columns(X: Any, found: Sequence[Any], labels: Sequence[Any], first: str) -> Any:
    """Columns ``found`` of a frame, array or CSR in the order of ``labels``."""
    missing = [label for label in labels if label not in found]
    extra = [label for label in found if label not in labels]
    if missing or extra or len(found) != len(labels):
        differences = [
            f"{verb} {', '.join(map(repr, names))}"
            for verb, names in (("lacks column", missing), ("has the additional column", extra))
            if names
        ]
        raise ValueError(
            f"X {' and '.join(differences) or 'has a column twice'}, compared with {first}. Give "
            "all of them the same columns."
        )
    order = [list(found).index(label) for label in labels]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, order].to_native()
    return X[:, np.array(order)]
