"""Rows as the families of :class:`AutoRanker` read them: as they are, or scaled with indicators."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise.checks.frames import drop_times
from rankwise.datasets.table_columns import warn_of_ignored
from rankwise.features.binning import MAX_BINS
from rankwise.features.category_indicators import append_indicators, frequent_categories
from rankwise.groups import QueryGroups
from rankwise.rankers.ensemble.auto_trials import Family
from rankwise.rankers.ensemble.held_out_scores import parts
from rankwise.rows.fit_data import FitData
from rankwise.runtime.callers import callers_level
from rankwise.trees.column_table import ColumnTable
from rankwise.typing import Float64Array, FrameLike, Int64Array, Matrix, densify, is_sparse

_TIMES_FIX = "Replace them by numbers, such as days since a fixed day."


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rows as input of the families."""

    X: Matrix  # unscaled columns, for the trees
    scaled: Matrix  # scaled columns, for linear rankers and nodes
    y: Float64Array
    qid: Int64Array
    weight: Float64Array | None = None  # (n_samples,), of each row in fits; None: all 1

    def take(self, rows: Int64Array) -> TrialRows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrialRows(self.X[rows], self.scaled[rows], self.y[rows], self.qid[rows], weight)

    def with_indicators(self, categories: Mapping[int, Float64Array]) -> TrialRows:
        """The rows with columns of the categories after the scaled ones."""
        return replace(self, scaled=add_indicators(self.scaled, self.X, categories))

    def of(self, family: Family) -> Matrix:
        """Columns that a family is fitted on."""
        return self.X if family == "trees" else self.scaled

    @property
    def groups(self) -> QueryGroups:
        """Query groups of the rows."""
        return QueryGroups.from_qid(self.qid, len(self.y))


def leave_out_times(X: FrameLike) -> FrameLike:
    """X without columns of dates, durations and times of day, with a warning that names them."""
    X, kinds = drop_times(X)
    if kinds and not len(getattr(X, "columns", [0])):
        raise ValueError(
            "X must have a column of numbers or categories, got only columns that hold no numbers: "
            f"{', '.join(kinds)}. {_TIMES_FIX}"
        )
    warn_of_ignored(kinds, _TIMES_FIX)
    return X


def limit_categories(
    columns: ColumnTable, data: FitData, names: Sequence[str] | None
) -> tuple[ColumnTable, FitData]:
    """Keep the 255 heaviest categories of each nominal column; the others count as missing.

    ``data`` has codes for categories. The returned table holds the categories that are kept, and
    the returned rows have its codes.
    """
    many = [j for j, known in columns.nominal.items() if len(known) > MAX_BINS]
    if not many:
        return columns, data
    X, nominal = densify(data.X).copy(), dict(columns.nominal)
    for j, codes in frequent_categories(X, many, data.sample_weight, MAX_BINS).items():
        place = np.minimum(np.searchsorted(codes, X[:, j]), len(codes) - 1)
        X[:, j] = np.where(codes[place] == X[:, j], place, np.nan)
        nominal[j] = columns.nominal[j][codes.astype(np.int64)]
    named = [repr(names[j]) if names is not None else str(j) for j in many]
    warnings.warn(
        f"AutoRanker reads the {MAX_BINS} heaviest categories of a column, and all others as "
        f"missing: {', '.join(named)}. Merge rare categories, or leave out columns of ids.",
        UserWarning,
        stacklevel=callers_level(),
    )
    return ColumnTable(nominal, columns.ordered), replace(data, X=X)


def fold_rows(n_folds: int, data: FitData) -> list[tuple[Int64Array, Int64Array]]:
    """(rows to fit, rows to score) of folds of queries, or of rows if there are fewer queries."""
    n_rows = len(data.y)
    if data.groups.n_queries < n_folds:
        # A single row cannot be ordered, so every fold of rows has two or more.
        n_folds = min(n_folds, n_rows // 2)
    if n_folds > 1 or n_rows < 2:
        return parts(max(n_folds, 2), None, data, data.groups.codes())
    warnings.warn(
        f"AutoRanker holds no rows out, because X has only {n_rows} distinct rows: its trials are "
        "compared on the rows that they were fitted on. Pass more rows, or X_val.",
        UserWarning,
        stacklevel=callers_level(),
    )
    every = np.arange(n_rows)
    return [(every, every)]


def add_indicators(scaled: Matrix, X: Matrix, categories: Mapping[int, Float64Array]) -> Matrix:
    """Scaled columns, followed by those of the categories; X holds the codes."""
    if not categories:
        return scaled
    height = float(np.sqrt(3.0 / X.shape[1]))
    return append_indicators(densify(scaled), densify(X), categories, height)


def scale_columns(X: Matrix, center: Float64Array, scale: Float64Array) -> Matrix:
    """(X - center) * scale, or 0 if a value is missing; sparse rows are not centred."""
    if is_sparse(X):
        scaled = X.multiply(scale).tocsr().astype(np.float64)
        scaled.data = np.nan_to_num(scaled.data)
        return scaled
    return np.nan_to_num((X - center) * scale)


def fit_scaling(X: Matrix) -> tuple[Float64Array, Float64Array]:
    """Center and scale of every column; the scale is 0 if a column does not vary.

    Dense columns are scaled to mean 0, and to a spread at which sums of d columns with weights in
    [-1, 1] have variance 1, so nodes are neither linear nor saturated. Sparse columns are scaled to
    the largest value 1.
    """
    d = X.shape[1]
    if is_sparse(X):
        largest = np.zeros(d)
        np.maximum.at(largest, X.indices, np.nan_to_num(np.abs(X.data)).astype(np.float64))
        return np.zeros(d), np.divide(1.0, largest, out=np.zeros(d), where=largest > 0)
    defined = np.isfinite(X)
    count = np.maximum(defined.sum(axis=0), 1)
    filled = np.where(defined, X, 0.0)
    center = filled.sum(axis=0, dtype=np.float64) / count
    squares = (np.where(defined, X - center, 0.0) ** 2).sum(axis=0) / count
    sd = np.sqrt(squares)
    varies = sd > 1e-12 * np.maximum(np.abs(center), 1e-300)
    return center, np.divide(np.sqrt(3.0 / d), sd, out=np.zeros(d), where=varies)
