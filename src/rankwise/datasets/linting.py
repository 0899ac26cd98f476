"""Check data for problems in training or comparison: empty queries, useless features, leakage.

One pass over the features hashes rows and columns (see :mod:`rankwise.row_order`). The other checks
use only labels, queries and hashes. O(stored values + n log n).
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.classes import RARE, are_whole, label_orders, middle_label, order_of_labels
from rankwise.checks.text_categories import share_codes_inplace
from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.readers.trec import string_codes
from rankwise.datasets.table_columns import names_ids, resemble_ids
from rankwise.groups import QueryGroups
from rankwise.row_order import TableHash, hash_table, scramble
from rankwise.runtime.frames import text_array
from rankwise.runtime.messages import escape_hidden, join_lines
from rankwise.runtime.result import Result, align_columns, columns_of
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse


def lint(data: RankingData | Fold | FoldedData) -> LintReport:
    """Check judged data.

    Every part of every fold is summarised. Rows, queries and features are checked on all parts of a
    fold together (only once if folds have the same queries). Constant features are also checked on
    the training part. The parts of a fold should not share anything.

    ======== ======================================================================================
    error    a query or a row in two parts; infinite features; grades that start at 1, as stars do,
             so that every row is relevant
    warning  queries without relevant rows, or with one grade; queries with one row; constant or
             duplicate features; NaN; documents twice in a query; equal rows of a query with
             different labels; equal rows in two parts; most queries in the order of their
             labels; all rows of a part in that order; features with another whole number
             in every row, or with a name, as ids have; 5 % of the queries or more with a
             relevant document that is relevant in training (info: fewer)
    info     documents in two parts (of different queries); equal rows of a query; queries whose
             rows are scattered
    ======== ======================================================================================

    Parameters
    ----------
    data : RankingData, Fold or FoldedData
        Rows without a judgement (``RankingData.judged``) are left out.

    Returns
    -------
    LintReport
        Report with the findings in ``rows``, worst first; printing it shows tables.

    Examples
    --------
    >>> from rankwise.datasets import RankingData
    >>> X, y = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0.0, 1.0])
    >>> for finding in lint(RankingData(X, y, qid=np.array([7, 7]))).rows:
    ...     print(finding.level, finding.what, finding.examples)
    warning constant features ('column 1',)
    """
    findings: list[Finding] = []
    summaries: list[PartSummary] = []
    seen: list[set[Any]] = []
    features: list[str] = []
    for fold_name, named in _parts_by_fold(data):
        parts = _hash_parts(named)
        features = parts[0].feature_names or []
        summaries += [summarize(part, f"{fold_name} {part.name}".strip()) for part in parts]
        everything = join(parts, f"{fold_name} all parts".strip())
        queries = set(everything.groups.ids.tolist())
        if queries not in seen:
            seen.append(queries)
            checks = (check_queries, check_rows, check_features, check_ids)
            if len(everything.y):
                findings += [f for check in checks for f in check(everything) if f.count]
            for part in parts:
                findings += check_label_order(part)
        if len(parts) > 1:
            findings += _constant_in_train(parts[0], everything, fold_name)
            findings += _leaks(parts, fold_name)
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return LintReport(getattr(data, "name", ""), findings, summaries, features)


def _parts_by_fold(
    data: RankingData | Fold | FoldedData,
) -> Iterator[tuple[str, list[tuple[str, RankingData]]]]:
    """Name of every fold, and its parts by name."""
    if isinstance(data, RankingData):
        yield "", [("data", data.only_judged())]
        return
    for fold in [data] if isinstance(data, Fold) else data:
        parts = [("train", fold.train), ("vali", fold.vali), ("test", fold.test)]
        named = [(what, part.only_judged()) for what, part in parts if part is not None]
        if not fold.name:
            named = [(f"{what} ({p.name})" if p.name else what, p) for what, p in named]
        yield fold.name, named


def _hash_parts(named: Sequence[tuple[str, RankingData]]) -> list[HashedRows]:
    widths = {part.n_features for _, part in named}
    if len(widths) > 1:
        raise ValueError(
            f"the parts of a fold must have as many features each, got {sorted(widths)}. "
            "Read them with the same n_features."
        )
    dtypes = {part.X.dtype for _, part in named}
    if len(dtypes) > 1:  # rows are compared as exactly as the least exact part has them
        floats = [dtype for dtype in dtypes if dtype.kind == "f"]
        dtype = min(floats, key=lambda dtype: dtype.itemsize, default=np.dtype(float))
        with np.errstate(over="ignore"):
            named = [(what, replace(part, X=part.X.astype(dtype))) for what, part in named]
    first_rows = itertools.accumulate((part.n_samples for _, part in named), initial=0)
    return [
        HashedRows.of(part, what, row) for (what, part), row in zip(named, first_rows, strict=False)
    ]


def _constant_in_train(
    train: HashedRows, everything: HashedRows, fold_name: str
) -> Iterator[Finding]:
    """Features that vary, but are constant in the training part."""
    only_there = train.hashes.constant & ~everything.hashes.constant
    if only_there.any() and len(train.y):
        yield Finding(
            "warning",
            "features constant in train only",
            f"{fold_name} {train.name}".strip(),
            int(only_there.sum()),
            len(only_there),
            tuple(train.feature(j) for j in np.flatnonzero(only_there)[:N_EXAMPLES].tolist()),
            "no weight can be learnt for them",
        )


def _leaks(parts: Sequence[HashedRows], fold_name: str) -> Iterator[Finding]:
    """Queries, rows and documents shared by two parts of a fold."""
    for part, other in itertools.combinations(parts, 2):
        where = f"{fold_name} {part.name} and {other.name}".strip()
        ids = dict.fromkeys(part.groups.ids.tolist())
        shared = [q for q in other.groups.ids.tolist() if q in ids]
        if shared:
            yield Finding(
                "error", "queries in two parts", where, len(shared), other.groups.n_queries,
                tuple(map(str, shared[:N_EXAMPLES])),
                "training queries are tested again (or two queries have the same id)",
            )  # fmt: skip
        copies = _mark_shared(part, other)
        if copies.any():
            yield _make_finding(
                "error", "rows that are rows of the other part", where, copies, other.row,
                "same query, label and features: the choice is made, or tested, on training rows",
            )  # fmt: skip
        rows = np.isin(other.hashes.rows, part.hashes.rows) & (other.hashes.rows != 0)
        if rows.any():
            yield Finding(
                "warning", "rows equal to a row of the other part", where, int(rows.sum()),
                len(rows), tuple(map(other.row, np.flatnonzero(rows)[:N_EXAMPLES].tolist())),
                "the other part shows their features with a label",
            )  # fmt: skip
        if part.doc_ids is not None and other.doc_ids is not None:
            first, second = np.unique(part.doc_ids), np.unique(other.doc_ids)
            documents = np.intersect1d(first, second, assume_unique=True)
            documents = documents[documents != ""]
            if len(documents):
                yield Finding(
                    "info", "documents in two parts", where, len(documents), len(second),
                    tuple(map(str, documents[:N_EXAMPLES])),
                    "usual if queries share a collection",
                )  # fmt: skip
            if part is parts[0]:
                yield from _find_memory(part, other, where)


def _find_memory(part: HashedRows, other: HashedRows, where: str) -> Iterator[Finding]:
    """Queries with a relevant document that is relevant in the training part, too."""
    ids: list[Any] = [np.array(rows.doc_ids, dtype=str) for rows in (part, other)]
    kept = [(rows.y >= 1) & (names != "") for rows, names in zip((part, other), ids, strict=True)]
    groups = other.groups
    query = groups.codes()[kept[1]]
    relevant, seen = count_seen(ids[0][kept[0]], ids[1][kept[1]], query, groups.n_queries)
    if seen.any():
        examples = groups.ids[np.flatnonzero(seen)[:N_EXAMPLES]]
        is_small = (seen > 0).sum() < SMALL_MEMORY * (relevant > 0).sum()
        yield Finding(
            "info" if is_small else "warning", "queries with a relevant document of training",
            where, int((seen > 0).sum()), int((relevant > 0).sum()), tuple(map(str, examples)),
            f"{seen.sum() / relevant.sum():.1%} of the relevant pairs: a gain on these queries may "
            "be memory; compare it with the gain on the others (memory_audit)",
        )  # fmt: skip


def count_seen(
    learnt: NDArray[Any], ids: NDArray[Any], query: Int64Array, n_queries: int
) -> tuple[Int64Array, Int64Array]:
    """Number of relevant documents of every query, and how many were relevant in training.

    ``learnt`` and ``ids`` are those of the relevant documents of training and of the test, and
    ``query`` is the number of the query of every entry of ``ids``.
    """
    relevant = np.bincount(query, minlength=n_queries)
    return relevant, np.bincount(query[np.isin(ids, learnt)], minlength=n_queries)


def find_copies(train: RankingData, other: RankingData) -> tuple[str, bool]:
    """Say how many rows of another part are training rows, and whether most are; empty if none is.

    Such a row has the same query id, label and features as a training row, and the same document id
    if both tables have some; ids 1, 1.0 and "1" are the same. A few equal rows can be chance, where
    queries are numbered from 1 in every file. Tables without features are not looked at.
    """
    known = {*_texts(train.groups.ids).tolist()}
    ids = _texts(other.groups.ids).tolist()
    shared = [i for i, qid in enumerate(ids) if qid in known]
    if not shared or train.n_features != other.n_features:
        return "", False
    n_rows, other = other.n_samples, other.queries(shared)
    if train.categories and other.categories and train.categories.keys() == other.categories.keys():
        # The same text may have another code.
        train, other = (replace(table, X=table.X.copy()) for table in (train, other))
        coded: Any = [(table.X, table.categories) for table in (train, other)]
        share_codes_inplace(coded)
    n = int(_mark_shared(*_hash_parts([("train", train), ("other", other)])).sum())
    found = f"{n:,} of {n_rows:,} rows are training rows (same query, label and features)"
    return found if n else "", 2 * n > n_rows


def _mark_shared(part: HashedRows, other: HashedRows) -> NDArray[np.bool_]:
    """Mask of the rows of ``other`` that are rows of ``part``, see :func:`find_copies`.

    A row of zeros has the same features as many others, so it is only one if all others of its
    query are.
    """
    columns = [[(table.y + 0.0).view(np.int64) for table in (part, other)]]
    columns.append(string_codes(_texts(part.qid), _texts(other.qid))[0])
    if part.doc_ids is not None and other.doc_ids is not None:
        columns.append(string_codes(_texts(part.doc_ids), _texts(other.doc_ids))[0])
    keys, others = part.hashes.rows, other.hashes.rows
    for first, second in columns:
        keys = scramble(keys ^ scramble(first.astype(np.uint64) + np.uint64(1)))
        others = scramble(others ^ scramble(second.astype(np.uint64) + np.uint64(1)))
    shared, zero = np.isin(others, keys), other.hashes.rows == 0
    queries = other.groups.codes()
    has_own = np.bincount(queries[~(shared | zero)], minlength=other.groups.n_queries) > 0
    return shared & ~(zero & has_own[queries]) & bool(len(other.hashes.columns))


def _texts(ids: NDArray[Any]) -> NDArray[Any]:
    """Ids as text; whole numbers are the same as int, float and text."""
    return text_array([
        str(int(value) if isinstance(value, float) and value.is_integer() else value)
        .removesuffix(".0") for value in ids.tolist()
    ])  # fmt: skip


N_EXAMPLES = 5
# Share of queries below which memory cannot make up a gain: 5 % of queries with a gain of .08, as
# memory gives in SciFact, add .004, less than some hundred queries can show.
SMALL_MEMORY = 0.05
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
    categories: frozenset[int] = frozenset()  # columns of X that hold codes of text

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
            frozenset(data.categories or ()),
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
        parts[0].categories,
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
    sums = np.add.reduceat(scramble(part.groups.sort(rows)), part.groups.indptr[:-1])
    sizes = part.groups.sizes.astype(np.uint64)
    yield _make_finding(
        "warning", "queries with the rows of an earlier one", where, _find_repeated(sums, sizes),
        lambda q: str(part.groups.ids[q]), "the same documents and features under another id",
    )  # fmt: skip
    keys = scramble(rows ^ scramble(codes.astype(np.uint64) + np.uint64(1)))
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
        f"{int(hashes.n_nan.sum()):,} values; only trees, AutoRanker and boosting adapters accept "
        "them",
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
    named = np.zeros(len(ids), dtype=bool)
    for j, name in enumerate(part.feature_names or ()):
        if not ids[j] and j not in part.categories:
            named[j] = names_ids(name, _column(part.blocks[0][:1000], j))
    yield _make_finding(
        "warning", "features with names of ids", part.name, named, part.feature,
        "the order of ids means nothing; leave them out (ignore), or write them as text",
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


LEVELS = ("error", "warning", "info")
LIKE_FINDINGS = 3  # number of findings of one kind in the text


@dataclass(frozen=True)
class Finding(Result):
    """One finding.

    Attributes
    ----------
    level : {"error", "warning", "info"}
        An error makes results wrong; a warning may make them wrong; an info is good to know.
    what : str
        Kind of the finding: "queries without relevant rows", "constant features", …
    where : str
        Part, or the two parts that share something.
    count : int
        Number of affected queries, rows or features.
    total : int
        Total of which ``count`` is a part.
    examples : tuple of str
        A few of the affected ones.
    note : str
        Consequence of the finding.
    """

    level: Literal["error", "warning", "info"]
    what: str
    where: str
    count: int
    total: int
    examples: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class PartSummary(Result):
    """Size and labels of one part."""

    name: str
    n_samples: int
    n_queries: int
    n_features: int
    # Number of rows with each label, or in each of ten ranges if there are more than 20 labels
    labels: dict[str, int]
    group_sizes: dict[str, float]  # "min", "median", "mean" and "max" number of rows per query


@dataclass(frozen=True)
class LintReport(Result):
    """Findings, worst first, and the parts they were found in.

    Attributes
    ----------
    name : str
        Name of the data.
    rows : list of Finding
    parts : list of PartSummary
    features : list of str
        Names of the features; empty if they have none, as in LETOR text.
    """

    _derived = ("ok",)

    name: str
    rows: list[Finding]
    parts: list[PartSummary]
    features: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return all(finding.level != "error" for finding in self.rows)

    def count(self, level: str) -> int:
        """Number of findings of that level."""
        return sum(finding.level == level for finding in self.rows)

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.rows, Finding)

    def _heading(self) -> str:
        counts = ((self.count(level), "note" if level == "info" else level) for level in LEVELS)
        found = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"Lint of {self.name or 'data'}: {found}"

    def _verdict(self) -> list[str]:
        return [
            f"{part.name}: {part.n_samples:,} rows, {part.n_queries:,} queries, "
            f"{part.n_features:,} features; rows by label: {_join_labels(part, ', ')}"
            for part in self.parts
        ]

    def __str__(self) -> str:
        return lint_text(self)


def lint_text(report: LintReport, width: int | None = None) -> str:
    """Tables of parts and findings; findings are paragraphs if their table is too wide."""
    title = escape_hidden(report._heading())
    parts = _table(
        ("part", "rows", "queries", "features", "rows a query", "labels"),
        [
            (
                part.name,
                f"{part.n_samples:,}",
                f"{part.n_queries:,}",
                f"{part.n_features:,}",
                "{min:.0f} to {max:.0f}, median {median:g}".format(**part.group_sizes)
                if part.n_queries
                else "",
                _join_labels(part, "  "),
            )
            for part in report.parts
        ],
        right=(1, 2, 3),
    )
    seen: Counter[str] = Counter()
    lines = []
    for finding in report.rows:
        seen[finding.what] += 1
        if seen[finding.what] <= LIKE_FINDINGS:
            lines.append(
                (
                    finding.level,
                    finding.where,
                    f"{finding.count:,} of {finding.total:,}",
                    f"{finding.what}: {finding.note}",
                    ", ".join(finding.examples),
                )
            )
    findings = _table(("", "where", "found", "", "such as"), lines, right=(2,))
    if width is not None and max(map(len, findings.split("\n"))) > width:
        findings = join_lines(
            piece
            for *facts, examples in lines
            for piece in ["  ".join(facts), *([f"  such as {examples}"] if examples else [])]
        )
    more = join_lines(
        f"{what}: {count - LIKE_FINDINGS} more, see to_dict()"
        for what, count in seen.items()
        if count > LIKE_FINDINGS
    )
    features = f"features: {escape_hidden(', '.join(report.features))}" if report.features else ""
    if width is not None:
        features = textwrap.fill(features, max(width, 20))
    blocks = (title, parts, features, findings, more)
    return "\n\n".join(block for block in blocks if block)


def _join_labels(part: PartSummary, sep: str) -> str:
    return sep.join(f"{label}: {count:,}" for label, count in part.labels.items())


def _table(header: Sequence[str], rows: list[tuple[str, ...]], right: Sequence[int]) -> str:
    """Aligned columns; empty without rows."""
    if not rows:
        return ""
    left = [j for j in range(len(header)) if j not in right]
    return join_lines(align_columns([header, *rows], left=left))
