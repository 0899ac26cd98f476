"""Checks of the labels, queries and features of one table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.label_order import (
    RARE,
    are_whole,
    label_orders,
    middle_label,
    order_of_labels,
)
from rankwise.datasets.data import RankingData
from rankwise.datasets.linting.report import Finding, PartSummary
from rankwise.datasets.linting.table_hash import TableHash, hash_table, mix
from rankwise.datasets.readers.trec_ids import string_codes
from rankwise.datasets.role_values import resemble_ids
from rankwise.groups import QueryGroups
from rankwise.runtime.column_values import text_array
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

N_EXAMPLES = 5
ORDERED_NOTE = {
    -1: "where ties keep this order, equal scores look like a good ranking: shuffle the rows",
    1: "where ties keep this order, equal scores look like a bad ranking: shuffle the rows",
}
MOST_LABELS = 20
LARGEST_GRADE = 30  # larger whole numbers are counts or prices


@dataclass(frozen=True)
class HashedRows:
    """Rows of one or several tables, one below the other, with their hashes."""

    name: str
    y: Float64Array
    qid: NDArray[Any]
    doc_ids: NDArray[Any] | None
    feature_names: list[str] | None
    first_feature: int
    blocks: tuple[Matrix, ...]
    hashes: TableHash

    @classmethod
    def of(cls, data: RankingData, name: str, first_row: int = 0) -> HashedRows:
        """Hash a table whose first row is row ``first_row`` of the fold."""
        return cls(
            name,
            data.y,
            data.qid,
            data.doc_ids,
            data.feature_names,
            data.first_feature,
            (data.X,),
            hash_table(data.X, first_row),
        )

    @cached_property
    def groups(self) -> QueryGroups:
        """Rows grouped by query."""
        return QueryGroups.from_qid(self.qid, len(self.y))

    @cached_property
    def documents(self) -> tuple[NDArray[np.bool_], Int64Array] | None:
        """Mask of rows with a document id, and ids of all rows as codes; None without ids."""
        if self.doc_ids is None:
            return None
        ids = text_array(list(map(str, self.doc_ids)))
        (codes,), _ = string_codes(ids)
        return ids != "", codes

    @cached_property
    def positions(self) -> Int64Array:
        """Number of every row within its query, from 0."""
        groups = self.groups
        return groups.unsort(np.arange(len(self.y)) - np.repeat(groups.indptr[:-1], groups.sizes))

    def row(self, i: int) -> str:
        """Name of row ``i`` in findings."""
        return f"query {self.qid[i]} row {self.positions[i]}"

    def feature(self, j: int) -> str:
        """Name of column ``j`` in findings, or its number in the file or the array."""
        if self.feature_names:
            return repr(self.feature_names[j])
        return f"feature {j + 1}" if self.first_feature else f"column {j}"


def join(parts: Sequence[HashedRows], name: str) -> HashedRows:
    """All rows of ``parts``, in order."""
    if len(parts) == 1:
        return parts[0]
    hashes = parts[0].hashes
    for part in parts[1:]:
        hashes = part.hashes.below(hashes)
    doc_ids = [part.doc_ids for part in parts if part.doc_ids is not None]
    return HashedRows(
        name,
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.qid for part in parts]),
        np.concatenate(doc_ids) if len(doc_ids) == len(parts) else None,
        parts[0].feature_names,
        parts[0].first_feature,
        tuple(block for part in parts for block in part.blocks),
        hashes,
    )


def summarize(part: HashedRows, name: str) -> PartSummary:
    """Size, labels and group sizes of a part."""
    sizes = part.groups.sizes
    values, counts = np.unique(part.y, return_counts=True)
    if len(values) > MOST_LABELS and np.isfinite(values).all():
        counts, edges = np.histogram(part.y, bins=10)
        labels = [f"{low:.4g} to {high:.4g}" for low, high in itertools.pairwise(edges)]
    else:
        labels = [f"{value:g}" for value in values]
    return PartSummary(
        name,
        len(part.y),
        len(sizes),
        len(part.hashes.columns),
        dict(zip(labels, counts.tolist(), strict=True)),
        {
            "min": float(sizes.min(initial=len(part.y))),
            "median": float(np.median(sizes)) if len(sizes) else 0.0,
            "mean": float(len(part.y) / max(len(sizes), 1)),
            "max": float(sizes.max(initial=0)),
        },
    )


def check_queries(part: HashedRows) -> Iterator[Finding]:
    """Find queries without information for training, or with scattered rows."""
    groups, where = part.groups, part.name
    if not np.isfinite(part.y).all():
        bad = ~np.isfinite(part.y)
        yield _make_finding(
            "error", "labels that are not numbers", where, bad, part.row, "drop these rows"
        )
        return

    def query(q: int) -> str:
        return str(groups.ids[q])

    y, starts = groups.sort(part.y), groups.indptr[:-1]
    highest, lowest = np.maximum.reduceat(y, starts), np.minimum.reduceat(y, starts)
    none = highest <= 0
    if y.min() >= 0:
        yield _make_finding(
            "warning", "queries without relevant rows", where, none, query,
            "measures skip them, or count them as 0 or 1, by convention",
        )  # fmt: skip
    if part.y.min() >= 1 and part.y.max() <= LARGEST_GRADE and are_whole(part.y):
        middle = middle_label(part.y)
        note = "AP, RR, P@k and other measures of relevant rows are the same for every order"
        note += "" if middle is None else f": set rel={middle:g}"
        labels = np.unique(part.y)
        yield _make_finding(
            "error", "labels that start at 1, so every row is relevant", where, labels > 0,
            lambda i: f"label {labels[i]:g}", note,
        )  # fmt: skip
    single = groups.sizes == 1
    yield _make_finding("warning", "queries of one row", where, single, query, "nothing to rank")
    same = (highest == lowest) & ~single & ~(none & (y.min() >= 0))
    yield _make_finding(
        "warning", "queries of one grade", where, same, query,
        "any order is correct, and pairwise losses have no pairs",
    )  # fmt: skip
    direction, log_chance = label_orders(y, groups.indptr)
    n_mixed = int((highest != lowest).sum())
    for sign, name in ((-1, "descending"), (1, "ascending")):
        ordered = direction == sign
        # One or two rows are often in order, so the queries are judged together.
        if 2 * ordered.sum() > n_mixed and log_chance[ordered].sum() < RARE:
            yield _make_finding(
                "warning", f"queries whose rows are in {name} order of their labels", where,
                ordered, query, ORDERED_NOTE[sign],
            )  # fmt: skip
    if groups.order is not None:
        codes = groups.codes()
        runs = np.bincount(codes[np.append(True, codes[1:] != codes[:-1])])
        yield _make_finding(
            "info", "queries whose rows are scattered", where, runs > 1, query,
            "grouped by id; programs that read group sizes see other queries",
        )  # fmt: skip


def check_label_order(part: HashedRows) -> Iterator[Finding]:
    """Find tables of several queries whose rows are all in the order of their labels."""
    if part.groups.n_queries > 1 and (name := order_of_labels(part.y)):
        everything = np.ones(len(part.y), dtype=bool)
        yield _make_finding(
            "warning", f"rows in {name} order of their labels", part.name, everything, part.row,
            "online learners see one label after another: shuffle the rows",
        )  # fmt: skip


def check_rows(part: HashedRows) -> Iterator[Finding]:
    """Find repeated documents and equal rows within a query."""
    codes, where = part.groups.codes(), part.name
    if part.documents is not None:
        has_id, documents = part.documents
        twice = _find_repeated(codes.astype(np.uint64), documents.astype(np.uint64)) & has_id
        yield _make_finding(
            "warning", "rows whose document occurred earlier in the query", where, twice, part.row,
            "a ranking with a document twice cannot be evaluated by document",
        )  # fmt: skip
    rows = part.hashes.rows
    sums = np.add.reduceat(mix(part.groups.sort(rows)), part.groups.indptr[:-1])
    sizes = part.groups.sizes.astype(np.uint64)
    yield _make_finding(
        "warning", "queries with the rows of an earlier one", where, _find_repeated(sums, sizes),
        lambda q: str(part.groups.ids[q]), "the same documents and features under another id",
    )  # fmt: skip
    keys = mix(rows ^ mix(codes.astype(np.uint64) + np.uint64(1)))
    _, inverse = np.unique(keys, return_inverse=True)
    equal = _find_repeated(keys, np.zeros_like(keys))
    yield _make_finding(
        "info", "rows equal to an earlier one of their query", where, equal, part.row,
        "their scores tie",
    )  # fmt: skip
    low, high = np.full(inverse.max() + 1, np.inf), np.full(inverse.max() + 1, -np.inf)
    judged = np.isfinite(part.y)
    np.minimum.at(low, inverse[judged], part.y[judged])
    np.maximum.at(high, inverse[judged], part.y[judged])
    differs = (low < high)[inverse]
    yield _make_finding(
        "warning", "equal rows of a query with different labels", where, differs, part.row,
        "no function of the features can order them",
    )  # fmt: skip


def check_features(part: HashedRows) -> Iterator[Finding]:
    """Find features that are constant, duplicated or not finite."""
    hashes, where = part.hashes, part.name
    yield _make_finding(
        "error", "features with infinite values", where, hashes.n_inf > 0, part.feature,
        f"{int(hashes.n_inf.sum()):,} values; fit rejects them",
    )  # fmt: skip
    yield _make_finding(
        "warning", "features with NaN", where, hashes.n_nan > 0, part.feature,
        f"{int(hashes.n_nan.sum()):,} values; only trees and boosting adapters accept them",
    )  # fmt: skip
    yield _make_finding(
        "warning", "constant features", where, hashes.constant, part.feature,
        "they cannot distinguish rows",
    )  # fmt: skip
    copies = copied_columns(part)
    is_copy = np.zeros(len(hashes.columns), dtype=bool)
    is_copy[list(copies)] = True
    yield _make_finding(
        "warning", "duplicate features", where, is_copy,
        lambda j: f"{part.feature(j)} = {part.feature(copies[j])}",
        "weights are spread over equal columns",
    )  # fmt: skip


def check_ids(part: HashedRows) -> Iterator[Finding]:
    """Find features that hold another whole number in every row, as ids and row numbers do."""
    if part.groups.n_queries < 2:
        return
    ids = ~part.hashes.constant & (part.hashes.n_nan == 0)
    for block in part.blocks:
        if is_sparse(block):  # all but one of different values are stored
            ids &= np.bincount(block.indices, minlength=len(ids)) >= block.shape[0] - 1
    for j in np.flatnonzero(ids).tolist():
        head = _column(part.blocks[0][:1000], j)  # settles most columns
        ids[j] = (np.floor(head) == head).all() and resemble_ids(
            np.concatenate([_column(block, j) for block in part.blocks])
        )
    yield _make_finding(
        "warning", "features that look like ids", part.name, ids, part.feature,
        "another whole number in every row; leave them out if they are ids (ignore)",
    )  # fmt: skip


def copied_columns(part: HashedRows) -> dict[int, int]:
    """First equal column of each duplicate, without constant columns; equal hashes are verified."""
    copies: dict[int, int] = {}
    first: dict[int, int] = {}
    for j in np.flatnonzero(~part.hashes.constant).tolist():
        original = first.setdefault(int(part.hashes.columns[j]), j)
        if original != j and all(
            np.array_equal(_column(block, j), _column(block, original), equal_nan=True)
            for block in part.blocks
        ):
            copies[j] = original
    return copies


def _column(block: Matrix, j: int) -> NDArray[Any]:
    return block[:, [j]].toarray().ravel() if is_sparse(block) else block[:, j]


def _find_repeated(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mask of the entries whose pair of keys occurred before."""
    order = np.lexsort((second, first))
    same = np.zeros(len(order), dtype=bool)
    a, b = first[order], second[order]
    same[order[1:]] = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    return same


def _make_finding(
    level: Any,
    what: str,
    where: str,
    mask: NDArray[np.bool_],
    name: Callable[[int], str],
    note: str,
) -> Finding:
    """Finding about the entries marked in a mask; its count is 0 if there are none."""
    examples = np.flatnonzero(mask)[:N_EXAMPLES].tolist()
    return Finding(level, what, where, int(mask.sum()), len(mask), tuple(map(name, examples)), note)


def lint_part(part: HashedRows) -> list[Finding]:
    """All findings of one part; none if it has no rows."""
    if not len(part.y):
        return []
    checks = (check_queries, check_rows, check_features, check_ids)
    return [finding for check in checks for finding in check(part) if finding.count]
