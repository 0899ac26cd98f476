"""Binning of columns into at most 255 bins, and columns 0 or 1 in place of categories.

A column with no more distinct values than bins is cut at every midpoint between neighbours, so that
no information is lost. Any other column is cut into bins of about equal weight; a value heavier
than a bin's share gets a bin of its own and does not reduce the share of the others.

Categories arrive as codes, as :class:`rankwise.trees.column_table.ColumnTable` makes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.binning import find_cuts, find_entry_cuts, write_codes
from rankwise.runtime.jit import are_few, run_few
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, SparseMatrix, is_sparse

MAX_BINS = 255  # codes are one byte, and one code is reserved for missing values
CHUNK_ROWS = 1024
CELLS_PER_STEP = 16  # that NumPy encodes in the time of a step of plain Python
CHUNK_COLUMNS = 4
CHUNK_SPARSE_COLUMNS = 256


@dataclass(frozen=True, eq=False)
class Binning:
    """Cuts of every column; :meth:`codes` applies them to rows."""

    # Ascending within a column; ``cuts[indptr[j]:indptr[j + 1]]`` are those of column j.
    cuts: Float64Array
    indptr: Int64Array  # (n_features + 1,)
    below: Float64Array  # largest training value up to each cut
    above: Float64Array  # smallest training value beyond each cut

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.indptr) - 1

    @property
    def n_cuts(self) -> Int64Array:
        """Cuts of each column, shape (n_features,); codes of present values are 0 to n_cuts."""
        return np.diff(self.indptr)

    @property
    def missing_code(self) -> Int64Array:
        """Code of missing values in each column, shape (n_features,): its last code, n_cuts + 1."""
        return self.n_cuts + 1

    def of_column(self, j: int) -> Float64Array:
        """Cuts of column ``j``, ascending."""
        return self.cuts[self.indptr[j] : self.indptr[j + 1]]

    def table(self) -> Float64Array:
        """Cuts of each column, padded with infinity, shape (n_features, 255)."""
        table = np.full((self.n_features, MAX_BINS), np.inf)
        table[np.arange(MAX_BINS) < self.n_cuts[:, None]] = self.cuts
        return table

    def codes(self, X: FloatArray, n_threads: int | None = None) -> NDArray[np.uint8]:
        """Number of cuts below each value: ``code <= c`` if and only if ``x <= cuts[c]``.

        Codes are (n_features, n_samples) and C-contiguous: transposed, so that those of one column
        are contiguous. NaN in X (n_samples, n_features) has ``missing_code``. Eight comparisons per
        value; threads (None: all) work on chunks of rows.
        """
        table, n_cuts = self.table(), self.n_cuts
        out = np.empty((self.n_features, X.shape[0]), dtype=np.uint8)

        def write(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            encode_block(np.ascontiguousarray(X[rows], np.float64), table, n_cuts, out[:, rows])

        thread_map(write, range(0, X.shape[0], CHUNK_ROWS), n_threads)
        return out


def encode_block(
    X: Float64Array, table: Float64Array, n_cuts: Int64Array, out: NDArray[np.uint8]
) -> None:
    """:func:`rankwise.kernels.binning.write_codes`; few rows do without compiled code."""
    if not are_few(write_codes, X.size // CELLS_PER_STEP):
        write_codes(X, table, n_cuts, out)
        return
    for column, cuts, count, codes in zip(X.T, table, n_cuts.tolist(), out, strict=True):
        codes[:] = np.searchsorted(cuts[:count], column)
        codes[np.isnan(column)] = count + 1


def check_category_numbers(
    n_categories: NDArray[Any], names: Sequence[str] | NDArray[Any] | None = None
) -> None:
    """Raise ValueError if a column has more categories than codes; ``names`` are those of columns.

    ``n_categories`` has shape (n_features,).
    """
    if n_categories.max(initial=0) > MAX_BINS:
        j = int(np.argmax(n_categories))
        column = j if names is None else repr(str(names[j]))
        raise ValueError(
            f"Histograms take at most {MAX_BINS} categories a column, got {n_categories[j]} in "
            f"column {column}. Merge rare categories. A new fit (without warm_start) also takes "
            "them: LambdaMART with categorical_encoding='ordered', RankingTree with method='exact'."
        )


def find_bins(
    X: Matrix,
    max_bins: int = MAX_BINS,
    weight: Float64Array | None = None,
    n_categories: Any = None,
    n_threads: int | None = None,
    rows: Int64Array | None = None,
    names: Sequence[str] | NDArray[Any] | None = None,
) -> Binning:
    """Cut every column of ``X`` into at most ``max_bins`` bins of about equal weight.

    NaN in X (n_samples, n_features) marks missing values. They have a bin of their own, which
    ``max_bins`` in [2, 255] does not count. A column with no more distinct values is cut between
    all of them. ``rows`` are the rows to read; None: all. ``weight`` >= 0 has one entry for each of
    these and counts as a number of repetitions; rows of weight 0 are ignored. ``n_categories``
    (n_features,) is at most 255 for nominal columns, which hold codes ``0 ... n_categories - 1``,
    and each code is a bin; 0 for ordered columns. ``names`` of columns are for messages.

    Threads (None: all) sort the columns, each in O(n log n) for n rows, or stored values of a
    sparse column. The result does not depend on the order of the rows, and repeating a row is
    equivalent to weighting it.

    Composition: sort x :func:`rankwise.kernels.binning.find_cuts`.
    """
    assert 2 <= max_bins <= MAX_BINS
    n_features = X.shape[1]
    nominal = np.zeros(n_features, dtype=np.int64) if n_categories is None else n_categories
    check_category_numbers(nominal, names)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        rows, weight = kept if rows is None else rows[kept], weight[kept]
    if rows is not None and weight is None:
        rows = np.sort(rows)  # reads in memory order
    if is_sparse(X):
        X, rows = (X if rows is None else X[rows]).tocsc(), None
    table = X
    step = CHUNK_SPARSE_COLUMNS if is_sparse(X) else CHUNK_COLUMNS

    def cut(first: int) -> list[Float64Array]:
        columns = slice(first, min(first + step, n_features))
        if is_sparse(table):
            cuts = _cuts_of_entries(table, columns, weight, max_bins)
        else:
            block = _columns(table, rows, columns)
            cuts = [_cuts_of_column(column, weight, max_bins) for column in block]
        for j in np.flatnonzero(nominal[columns]).tolist():
            codes = np.arange(float(nominal[first + j]))
            cuts[j] = np.stack([codes[:-1] + 0.5, codes[:-1], codes[1:]])
        return cuts

    blocks = thread_map(cut, range(0, n_features, step), n_threads)
    columns = [cuts for block in blocks for cuts in block]
    indptr = np.concatenate([[0], np.cumsum([c.shape[1] for c in columns])]).astype(np.int64)
    cuts, below, above = np.concatenate([np.empty((3, 0)), *columns], axis=1)
    return Binning(cuts, indptr, below, above)


def _cuts_of_entries(
    X: SparseMatrix, columns: slice, weight: Float64Array | None, max_bins: int
) -> list[Float64Array]:
    """Cuts of some columns of a CSC matrix, from the stored values."""
    indptr = X.indptr[columns.start : columns.stop + 1].astype(np.int64)
    part, indptr = slice(indptr[0], indptr[-1]), indptr - indptr[0]
    lengths = np.diff(indptr)
    values = X.data[part].astype(np.float64)
    if weight is None:
        for start, end in itertools.pairwise(indptr.tolist()):
            values[start:end].sort()  # NaN last
        weights, rest = np.ones(len(values)), X.shape[0] - lengths.astype(np.float64)
    else:
        column = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((values, column))
        values, weights = values[order], weight[X.indices[part]][order]
        rest = np.maximum(weight.sum() - np.bincount(column, weights, len(lengths)), 0.0)
    rest[lengths == X.shape[0]] = -1.0
    n_cuts = np.empty(len(lengths), dtype=np.int64)
    cuts = np.empty((3, int(np.minimum(lengths, max_bins - 1).sum())))
    find_entry_cuts(values, weights, indptr, rest, max_bins, n_cuts, cuts)
    return np.split(cuts[:, : n_cuts.sum()], np.cumsum(n_cuts)[:-1], axis=1)


def _columns(X: FloatArray, rows: Int64Array | None, columns: slice) -> FloatArray:
    """Copy of some columns of some rows, each column contiguous."""
    if rows is None:
        return np.array(X[:, columns].T, order="C")
    block = X[:, columns]
    out = np.empty((block.shape[1], len(rows)), dtype=X.dtype)
    for j in range(len(out)):
        out[j] = block[rows, j]
    return out


def midpoints(low: Float64Array, high: Float64Array) -> Float64Array:
    """Numbers m with ``low <= m < high``, midpoints if float64 has one."""
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & ((middle < high) | np.isinf(high)), middle, low)


def _cuts_of_column(column: FloatArray, weight: Float64Array | None, max_bins: int) -> Float64Array:
    """Cuts of one contiguous column and the values around them; may sort the column in place."""
    if weight is None:
        column.sort()  # NaN last
        weights = np.empty(0)
    else:
        order = np.argsort(column)
        column, weights = column[order], weight[order]
    n_present = len(column) - int(np.count_nonzero(np.isnan(column)))
    out = np.empty(max_bins - 1)
    values = column[:n_present].astype(np.float64, copy=False)
    # Distinct values are counted, then gone through about three times.
    cuts = out[: run_few(find_cuts, 4 * n_present, values, weights[:n_present], out)]
    above = np.searchsorted(values, cuts, side="right")
    return np.stack([cuts, values[above - 1], values[above]])


MOST_CATEGORIES = 64


def frequent_categories(
    X: NDArray[Any],
    columns: Iterable[int],
    weight: Float64Array | None = None,
    most: int = MOST_CATEGORIES,
) -> dict[int, Float64Array]:
    """Codes of the ``most`` heaviest categories by column, ascending; ties go to the smaller code.

    X is (n_samples, n_features), with codes in the given columns; NaN is not a category. ``weight``
    is (n_samples,); None: all 1.
    """
    found = {}
    for column in columns:
        known = np.isfinite(X[:, column])
        codes, place = np.unique(X[known, column].astype(np.float64), return_inverse=True)
        total = np.bincount(place, None if weight is None else weight[known], len(codes))
        found[column] = np.sort(codes[np.argsort(-total, kind="stable")[:most]])
    return found


def append_indicators(
    table: NDArray[Any], X: NDArray[Any], categories: Mapping[int, Float64Array], height: float
) -> NDArray[Any]:
    """The table with a column for each category: ``height`` in its rows of X, 0 in all others.

    Rows of other categories, or of none, are 0 in all columns.
    """
    blocks = [
        (X[:, [column]] == codes).astype(table.dtype) * table.dtype.type(height)
        for column, codes in categories.items()
    ]
    return np.hstack([table, *blocks]) if blocks else table
