"""Partitions that hold whole queries: each query is placed where its first row lies.

Boosters and measures need all rows of a query at once. Rows of a query in later partitions move to
the partition with its first rows; all other rows stay in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise.checks.rows import check_fit
from rankwise.distributed.planning import as_stream
from rankwise.groups import QueryGroups
from rankwise.streams.cutter import join_ids, join_rows
from rankwise.typing import Float64Array, Matrix

_MIXED = "qid must be given in every partition or in none. Without it all rows are one query."


@dataclass(frozen=True, eq=False)
class Part:
    """Checked rows of one partition.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_rows, n_features), or None
        Features; None if the partition has no rows.
    y : ndarray of shape (n_rows,), float64
    qid : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,), float64, or None
    names : list of str, or None
        Names of the columns.
    has_qid : bool or None
        Whether query ids were passed; None without rows.
    """

    X: Matrix | None
    y: Float64Array
    qid: np.ndarray[Any, Any]
    weight: Float64Array | None = None
    names: list[str] | None = None
    has_qid: bool | None = None

    def ids(self) -> tuple[np.ndarray[Any, Any], bool | None]:
        """Query ids in order of appearance, and whether they were given."""
        return QueryGroups.from_qid(self.qid, len(self.y)).ids, self.has_qid

    def take(self, ids: np.ndarray[Any, Any]) -> Part:
        """The rows of some queries."""
        wanted = set(ids.tolist())
        rows = np.array([value in wanted for value in self.qid.tolist()], dtype=bool)
        weight = None if self.weight is None else self.weight[rows]
        X = None if self.X is None else self.X[rows]
        return Part(X, self.y[rows], self.qid[rows], weight, self.names, self.has_qid)


def read_part(ranker: Any, rows: Any) -> Part:
    """Rows of a partition, checked as in ``fit``; rows of weight 0 are dropped.

    Raises
    ------
    ValueError, TypeError
        As ``fit`` of the ranker raises.
    """
    ranker, parts, has_qid = clone(ranker), [], set()
    for chunk in as_stream(rows):
        if chunk.n_rows:
            data = check_fit(
                ranker, chunk.X, chunk.y, chunk.qid, chunk.sample_weight,
                allow_nan=True, reset=not parts, names=chunk.feature_names, part=True,
            )  # fmt: skip
            names = getattr(ranker, "feature_names_in_", None)
            names = None if names is None else [str(name) for name in names]
            ids = data.groups.row_ids()
            parts.append(
                Part(data.X, data.y, ids, data.sample_weight, names, chunk.qid is not None)
            )
            has_qid.add(chunk.qid is not None)
    return join_parts(*parts)


def join_parts(*given: Part) -> Part:
    """Concatenate the rows of some parts.

    Raises
    ------
    ValueError
        If only some have query ids, or the columns differ.
    """
    parts = [part for part in given if part.X is not None]
    if not parts:
        return Part(None, np.zeros(0), np.zeros(0, dtype=np.int64))
    first = parts[0]
    for part in parts[1:]:
        if part.has_qid != first.has_qid:
            raise ValueError(_MIXED)
        assert part.X is not None and first.X is not None
        if part.X.shape[1] != first.X.shape[1] or part.names != first.names:
            raise ValueError(
                "X must have the same columns in all partitions, got "
                f"{first.names or first.X.shape[1]} and {part.names or part.X.shape[1]}."
            )
    weight = None
    if any(part.weight is not None for part in parts):
        weight = np.concatenate(
            [np.ones(len(part.y)) if part.weight is None else part.weight for part in parts]
        )
    return Part(
        join_rows([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        join_ids([part.qid for part in parts]),
        weight,
        first.names,
        first.has_qid,
    )


def moves(ids: Sequence[np.ndarray[Any, Any]]) -> list[dict[int, np.ndarray[Any, Any]]]:
    """Target partitions of the queries of each partition.

    Parameters
    ----------
    ids : sequence of ndarray
        Query ids of each partition.

    Returns
    -------
    list of dict
        For each partition, a dict from target partition to the ids that go there, its own entry
        first. The dict has one entry if the partition keeps all its rows.
    """
    home: dict[Any, int] = {}
    out = []
    for number, some in enumerate(ids):
        homes = np.array([home.setdefault(value, number) for value in some.tolist()], dtype=int)
        places = {int(place): some[homes == place] for place in np.unique(homes)}
        out.append({number: places.pop(number, some[:0]), **places})
    return out


def whole_parts(parts: Sequence[Any], tasks: Any) -> list[Any]:
    """Parts that hold whole queries, as many as before.

    Parameters
    ----------
    parts : sequence of handles of Part
    tasks : rankwise.distributed.tasks.Tasks

    Returns
    -------
    list of handles of Part

    Raises
    ------
    ValueError
        If only some parts have query ids.
    """
    found = tasks.results([tasks.call(Part.ids, part) for part in parts])
    if len({has_qid for _, has_qid in found} - {None}) > 1:
        raise ValueError(_MIXED)
    ids = [some for some, _ in found]
    pieces: list[list[Any]] = [[] for _ in parts]
    for part, places in zip(parts, moves(ids), strict=True):
        for place, some in places.items():
            pieces[place].append(part if len(places) == 1 else tasks.call(Part.take, part, some))
    return [mine[0] if len(mine) == 1 else tasks.call(join_parts, *mine) for mine in pieces]
