"""Partitions that hold whole queries: each query is placed where its first row lies.

Boosters and measures need all rows of a query at once. Rows of a query in later partitions move to
the partition with its first rows; all other rows stay in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.checks.rows import check_fit
from rankwise.distributed.steps import convert_to_stream, naming_partition, refuse_categories
from rankwise.groups import QueryGroups, join_ids, kind_of_ids, same_kind_of_ids
from rankwise.streams.checked_stream import labels_of, match_chunk, match_columns
from rankwise.typing import Float64Array, Matrix, is_sparse, join_rows

_MIXED = "qid must be given in every partition or in none. Without it all rows are one query."


@dataclass(frozen=True, eq=False)
class QueryPart:
    """Checked rows of one partition; y, qid and weight are (n_rows,)."""

    X: Matrix | None  # (n_rows, n_features); None if the partition has no rows
    y: Float64Array
    qid: np.ndarray[Any, Any]
    weight: Float64Array | None = None
    names: list[str] | None = None  # column names for ``feature_names_in_``
    has_qid: bool | None = None  # whether query ids were passed; None without rows
    columns: list[Any] | None = None  # names as the partition has them, also where they are numbers

    def ids(self) -> tuple[np.ndarray[Any, Any], bool | None]:
        """Query ids in order of appearance, and whether they were given."""
        return QueryGroups.from_qid(self.qid, len(self.y)).ids, self.has_qid

    def take(self, ids: np.ndarray[Any, Any]) -> QueryPart:
        """The rows of some queries."""
        wanted = set(ids.tolist())
        rows = np.array([value in wanted for value in self.qid.tolist()], dtype=bool)
        weight = None if self.weight is None else self.weight[rows]
        X = None if self.X is None else self.X[rows]
        return replace(self, X=X, y=self.y[rows], qid=self.qid[rows], weight=weight)

    def form(self) -> tuple[list[Any] | None, Any, bool] | None:
        """Names of the columns, dtype, and whether the rows are sparse; None without rows."""
        return None if self.X is None else (self.columns, self.X.dtype, is_sparse(self.X))

    def in_form(self, number: int, first: int, columns: list[Any] | None, dtype: Any) -> QueryPart:
        """The rows of partition ``number`` with the columns of partition ``first``."""
        if self.X is None:
            return self
        X = self.X
        if columns is not None and self.columns != columns:
            with naming_partition(number):
                assert self.columns is not None
                X = match_columns(X, self.columns, columns, f"partition {first}")
        names = None if self.names is None or columns is None else [str(name) for name in columns]
        return replace(self, X=X.astype(dtype, copy=False), names=names, columns=columns)


def read_part(ranker: Any, rows: Any) -> QueryPart:
    """Rows of a partition, checked as in ``fit``; rows of weight 0 are dropped."""
    ranker, parts, columns = clone(ranker), [], None
    for chunk in convert_to_stream(rows):
        if chunk.n_rows:
            refuse_categories(chunk.X)
            columns = labels_of(chunk.X, chunk.feature_names) if not parts else columns
            chunk = match_chunk(chunk, columns, "the first chunk of the partition")
            data = check_fit(
                ranker, chunk.X, chunk.y, chunk.qid, chunk.sample_weight,
                allow_nan=True, reset=not parts, names=chunk.feature_names, part=True,
            )  # fmt: skip
            names = getattr(ranker, "feature_names_in_", None)
            names = None if names is None else [str(name) for name in names]
            ids = data.groups.row_ids()
            has_qid = chunk.qid is not None
            parts.append(
                QueryPart(data.X, data.y, ids, data.sample_weight, names, has_qid, columns)
            )
    return join_parts(*parts)


def join_parts(*given: QueryPart) -> QueryPart:
    """Concatenate the rows of some parts.

    All must have query ids, or none, and the same columns; else ValueError is raised.
    """
    parts = [part for part in given if part.X is not None]
    if not parts:
        return QueryPart(None, np.zeros(0), np.zeros(0, dtype=np.int64))
    first = parts[0]
    for part in parts[1:]:
        if part.has_qid != first.has_qid:
            raise ValueError(_MIXED)
        assert part.X is not None and first.X is not None
        if part.X.shape[1] != first.X.shape[1] or part.columns != first.columns:
            raise ValueError(
                "X must have the same columns in all chunks, got "
                f"{first.columns or first.X.shape[1]} and {part.columns or part.X.shape[1]}."
            )
    weight = None
    if any(part.weight is not None for part in parts):
        weight = np.concatenate(
            [np.ones(len(part.y)) if part.weight is None else part.weight for part in parts]
        )
    return QueryPart(
        join_rows([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        join_ids([part.qid for part in parts]),
        weight,
        first.names,
        first.has_qid,
        first.columns,
    )


def same_columns(parts: Sequence[Any], tasks: Any) -> list[Any]:
    """Parts with the columns of the first one, matched by name, in one precision.

    The precision is that of all rows in memory: float64 if some partition has it. ValueError is
    raised if a partition lacks a column or has one more, some have names and others none, or some
    are sparse and others dense.
    """
    found = tasks.results([tasks.call(QueryPart.form, part) for part in parts])
    forms = {number: form for number, form in enumerate(found) if form is not None}
    if not forms:
        return list(parts)
    first, (columns, _, sparse) = next(iter(forms.items()))
    for number, (others, _, other_sparse) in forms.items():
        for trait, other_trait, kinds in (
            (columns is None, others is None, ("column names", "none")),
            (sparse, other_sparse, ("dense rows", "sparse ones")),
        ):
            if trait != other_trait:
                has, has_other = kinds[::-1] if trait else kinds
                raise ValueError(
                    f"partitions must have the same form, got {has} in partition {first} and "
                    f"{has_other} in partition {number}. Convert them."
                )
    dtype = np.result_type(*(dtype for _, dtype, _ in forms.values()))
    return [
        part
        if number not in forms or forms[number][:2] == (columns, dtype)
        else tasks.call(QueryPart.in_form, part, number, first, columns, dtype)
        for number, part in enumerate(parts)
    ]


def moves(ids: Sequence[np.ndarray[Any, Any]]) -> list[dict[int, np.ndarray[Any, Any]]]:
    """Target partitions of the queries of each partition, by the query ids that it holds.

    A dict for each partition, from target partition to the ids that go there, its own entry first;
    it has one entry if the partition keeps all its rows.
    """
    home: dict[Any, int] = {}
    out = []
    for number, some in enumerate(ids):
        homes = np.array([home.setdefault(value, number) for value in some.tolist()], dtype=int)
        places = {int(place): some[homes == place] for place in np.unique(homes)}
        out.append({number: places.pop(number, some[:0]), **places})
    return out


def whole_parts(parts: Sequence[Any], tasks: Any) -> list[Any]:
    """Handles of parts that hold whole queries, as many as before, from handles of parts.

    ValueError is raised if only some parts have query ids.
    """
    found = tasks.results([tasks.call(QueryPart.ids, part) for part in parts])
    if len({has_qid for _, has_qid in found} - {None}) > 1:
        raise ValueError(_MIXED)
    ids = [some for some, _ in found]
    if any(has_qid for _, has_qid in found):
        same_kind_of_ids([(f"partition {n}", kind_of_ids(some)) for n, some in enumerate(ids)])
    pieces: list[list[Any]] = [[] for _ in parts]
    for part, places in zip(parts, moves(ids), strict=True):
        for place, some in places.items():
            pieces[place].append(
                part if len(places) == 1 else tasks.call(QueryPart.take, part, some)
            )
    return [group[0] if len(group) == 1 else tasks.call(join_parts, *group) for group in pieces]
