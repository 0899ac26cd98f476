"""Folds of whole queries, and scores of held-out queries.

Folds of queries are drawn by query id, so renaming queries may change them and what is chosen on
them; folds of rows are drawn by content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.groups import FitData, QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.row_order import row_hashes
from rankwise.runtime.threads import thread_imap
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix

DEFAULT_FOLDS = 5
_SEED = 0  # folds are part of the method: the same for every random_state


def deal_queries(groups: QueryGroups, n_folds: int, seed: int = _SEED) -> list[Int64Array]:
    """Query numbers of each fold; queries are sorted by id, shuffled and dealt out."""
    order = np.random.RandomState(seed).permutation(_sort_by_id(groups.ids))
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def content_folds(X: Matrix, y: Float64Array, n_folds: int, seed: int = _SEED) -> list[Int64Array]:
    """Row numbers of each fold, equal rows share a fold, so weights equal repetition.

    Rows are sorted by a hash of their content, shuffled with the seed and dealt out. There must be
    at least as many distinct rows as folds.
    """
    distinct, codes = np.unique(row_hashes(X, y), return_inverse=True)
    if len(distinct) < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many distinct rows, got {len(distinct)} of "
            f"n_samples={len(y)}. Lower cv."
        )
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[np.random.RandomState(seed).permutation(len(distinct))] = (
        np.arange(len(distinct)) % n_folds
    )
    return [np.flatnonzero(fold[codes] == number) for number in range(n_folds)]


def fold_splits(
    X: Matrix, y: Float64Array, groups: QueryGroups, n_folds: int
) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of folds of queries, or of rows if queries are fewer than folds."""
    if groups.n_queries < n_folds:
        folds = content_folds(X, y, n_folds)
    else:
        folds = [groups.rows(fold) for fold in deal_queries(groups, n_folds)]
    every = np.arange(len(y))
    return [(np.setdiff1d(every, fold), np.sort(fold)) for fold in folds]


def split_stratified(
    X: Matrix, y: Float64Array, groups: QueryGroups, n_folds: int, seed: int = _SEED
) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of folds with about the same share of every class.

    With two or more queries, queries stay whole. Otherwise rows are dealt out individually,
    including equal rows. Queries or rows are sorted by their (mean) class, in random order within
    ties. If there are fewer queries or rows than folds, the number of folds is reduced.
    """
    if len(y) < 2:
        raise ValueError(f"folds need two or more rows, got n_samples={len(y)}.")
    if groups.n_queries > 1:
        key = np.argsort(_sort_by_id(groups.ids))[groups.codes()]
        unit = np.unique(key, return_inverse=True)[1]
        level = np.bincount(unit, y) / np.bincount(unit)
    else:
        # Equal rows may change places.
        unit = np.argsort(np.argsort(row_hashes(X, y), kind="stable"))
        level = np.empty(len(y))
        level[unit] = y
    shuffled = np.random.RandomState(seed).permutation(len(level))
    dealt = shuffled[np.argsort(level[shuffled], kind="stable")]
    fold = np.empty(len(level), dtype=np.int64)
    fold[dealt] = np.arange(len(level)) % n_folds
    of_row = fold[unit]
    return [
        (np.flatnonzero(of_row != number), np.flatnonzero(of_row == number))
        for number in range(min(n_folds, len(level)))
    ]


def cv_splits(cv: Any, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of a number of folds (None: 5), see :func:`fold_splits`, or of a
    splitter or index pairs, see :func:`row_splits`.
    """
    if cv is None or isinstance(cv, Integral):
        return fold_splits(data.X, data.y, data.groups, int(cv or DEFAULT_FOLDS))
    return row_splits(cv, data)


def row_splits(cv: Any, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(train rows, test rows) of a scikit-learn splitter or an iterable of index pairs.

    A splitter gets the queries as ``groups``. Indices of an iterable refer to the rows passed to
    ``fit``; rows of zero weight are left out.
    """
    if hasattr(cv, "split"):
        splits = list(cv.split(data.X, data.y, groups=data.groups.codes()))
        n_rows, kept = len(data.y), None
    else:
        splits, kept = list(cv), data.kept
        n_rows = len(data.y) if kept is None else len(kept)
    checked = [tuple(_row_numbers(rows, n_rows) for rows in split) for split in splits]
    if not checked or not all(len(s) == 2 and len(s[0]) and len(s[1]) for s in checked):
        raise ValueError(f"cv={cv!r} must give splits with training rows and test rows.")
    if kept is None:
        return [(train, test) for train, test in checked]
    position = np.cumsum(kept) - 1
    return [(position[train[kept[train]]], position[test[kept[test]]]) for train, test in checked]


def _row_numbers(rows: ArrayLike, n_rows: int) -> Int64Array:
    """Row numbers of one side of a split, which may be given as a mask."""
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError(
            f"splits of cv must hold row numbers, got dtype {given.dtype} and shape {given.shape}. "
            "Pass pairs (train rows, test rows) of integers."
        )
    beyond = (given < 0) | (given >= n_rows)
    if beyond.any():
        raise ValueError(
            f"splits of cv must hold row numbers from 0 to {n_rows - 1}, got {given[beyond][0]}. "
            "Make the splits on the rows that fit receives."
        )
    return given.astype(np.int64)


def _sort_by_id(ids: np.ndarray[Any, Any]) -> Int64Array:
    if ids.dtype != object:
        return np.argsort(ids, kind="stable").astype(np.int64)
    keys = [(type(value).__name__, repr(value)) for value in ids]
    return np.array(sorted(range(len(ids)), key=keys.__getitem__), dtype=np.int64)


def measure_per_query(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Values per query for every column of scores, shape (n_queries, n_columns)."""
    columns = np.ascontiguousarray(scores.T)
    return np.stack([measure.per_query(y, column, groups) for column in columns], axis=1)


def mean_measure(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Mean of the measure over the queries for every column of scores, shape (n_columns,)."""
    return mean_defined(measure_per_query(measure, y, scores, groups))


def measure_refits(
    measure: Measure,
    rows: FitData,
    splits: Sequence[tuple[Int64Array, Int64Array]],
    scores: Callable[[Int64Array, Int64Array], Float64Array],
    n_threads: int | None = None,
) -> Float64Array:
    """Mean of the measure on the test rows of each split, shape (n_splits, n_columns).

    ``scores`` maps training and test rows to the scores of the test rows, one column per solution.
    ``n_threads`` splits are fitted in parallel.
    """

    def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
        train, test = split
        return mean_measure(measure, rows.y[test], scores(train, test), rows.groups.take(test))

    return np.stack(list(thread_imap(held_out, splits, n_threads)))


class RunningMean:
    """Running mean of each column over the values that are not NaN; NaN if there are none.

    Parts are summed in order, so the same parts give a bit-identical mean.
    """

    def __init__(self) -> None:
        self.sums: Float64Array | float = 0.0
        self.counts: Float64Array | int = 0

    def add(self, values: Float64Array) -> None:
        """Add a part of shape (n_values, n_columns)."""
        defined = ~np.isnan(values)
        self.sums = self.sums + np.where(defined, values, 0.0).sum(axis=0)
        self.counts = self.counts + defined.sum(axis=0)

    def __add__(self, other: RunningMean) -> RunningMean:
        both = RunningMean()
        both.sums, both.counts = self.sums + other.sums, self.counts + other.counts
        return both

    def value(self) -> Float64Array:
        """The mean so far, shape (n_columns,)."""
        counts = np.asarray(self.counts)
        return np.where(counts > 0, self.sums / np.maximum(counts, 1), np.nan)


def mean_defined(values: Float64Array) -> Float64Array:
    """Mean of each column over the values that are not NaN; NaN if there are none."""
    mean = RunningMean()
    mean.add(values)
    return mean.value()
