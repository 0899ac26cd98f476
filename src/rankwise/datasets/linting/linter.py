"""Check data for problems in training or comparison: empty queries, useless features, leakage.

One pass over the features hashes rows and columns
(see :mod:`rankwise.datasets.linting.table_hash`). The other checks use only labels, queries and
hashes. O(stored values + n log n).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rankwise.datasets.data import Fold, FoldedData, RankingData
from rankwise.datasets.linting.part import (
    N_EXAMPLES,
    HashedRows,
    check_label_order,
    join,
    lint_part,
    summarize,
)
from rankwise.datasets.linting.report import LEVELS, Finding, LintReport, PartSummary


def lint(data: RankingData | Fold | FoldedData) -> LintReport:
    """Check judged data.

    Every part of every fold is summarised. Rows, queries and features are checked on all parts of a
    fold together (only once if folds have the same queries). Constant features are also checked on
    the training part. The parts of a fold should not share anything.

    ======== ======================================================================================
    error    a query in two parts; infinite features; grades that start at 1, as stars do, so that
             every row is relevant
    warning  queries without relevant rows, or with one grade; queries with one row; constant or
             duplicate features; NaN; documents twice in a query; equal rows of a query with
             different labels; equal rows in two parts; most queries in the order of their
             labels; all rows of a part in that order; features with another whole number
             in every row, as ids have
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
    >>> for finding in lint(RankingData(X, y, np.array([7, 7]))).rows:
    ...     print(finding.level, finding.what, finding.examples)
    warning constant features ('column 1',)
    """
    findings: list[Finding] = []
    summaries: list[PartSummary] = []
    seen: list[set[Any]] = []
    for fold_name, named in _parts_by_fold(data):
        parts = _hash_parts(named)
        summaries += [summarize(part, f"{fold_name} {part.name}".strip()) for part in parts]
        everything = join(parts, f"{fold_name} all parts".strip())
        queries = set(everything.groups.ids.tolist())
        if queries not in seen:
            seen.append(queries)
            findings += lint_part(everything)
            for part in parts:
                findings += check_label_order(part)
        if len(parts) > 1:
            findings += _constant_in_train(parts[0], everything, fold_name)
            findings += _leaks(parts, fold_name)
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return LintReport(getattr(data, "name", ""), findings, summaries)


def _parts_by_fold(
    data: RankingData | Fold | FoldedData,
) -> Iterator[tuple[str, list[tuple[str, RankingData]]]]:
    """Name of every fold, and its parts by name."""
    if isinstance(data, RankingData):
        yield "", [("data", data.only_judged())]
        return
    for fold in [data] if isinstance(data, Fold) else data:
        parts = [("train", fold.train), ("vali", fold.vali), ("test", fold.test)]
        yield fold.name, [(what, part.only_judged()) for what, part in parts if part is not None]


def _hash_parts(named: Sequence[tuple[str, RankingData]]) -> list[HashedRows]:
    widths = {part.n_features for _, part in named}
    if len(widths) > 1:
        raise ValueError(
            f"the parts of a fold must have as many features each, got {sorted(widths)}. "
            "Read them with the same n_features."
        )
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
            f"{fold_name} train".strip(),
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
