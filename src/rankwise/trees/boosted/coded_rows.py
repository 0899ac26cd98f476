"""Rows as one-byte codes, the input of gradient trees: dense, or of stored entries alone.

Rows may be spread over several machines, which all grow the same tree from their shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.features.binning import Binning, encode_block, find_bins
from rankwise.kernels.boosted_trees import (
    BINS,
    WORD,
    add_column_entries,
    add_entries,
    add_leaf_values,
    add_leaf_values_of_entries,
    add_rows,
    part,
    sum_entries,
    transpose_codes,
    write_entry_codes,
)
from rankwise.runtime.jit import are_few
from rankwise.runtime.threads import thread_map
from rankwise.trees.tree_ensemble import OrderedRows, ScoreTree
from rankwise.typing import Float64Array, Int64Array, is_sparse

SAMPLE_ROWS = 200_000  # approximate number of rows read to find cuts
CHUNK_ROWS = 1024
CHUNK_CELLS = 2**20
CELLS_PER_STEP = 100  # that NumPy handles in the time of a step of plain Python
LIKELY_NODES = 200  # of a fit
# Number of codes beyond which rows have them once, row by row. A node's rows are then partitioned
# by codes that are far apart in memory, which takes longer.
MOST_TWICE = 150_000_000


@dataclass(frozen=True, eq=False)
class WordCodes:
    """Codes of some columns, row by row, for histograms."""

    words: Int64Array  # (n_samples, n_words): eight codes per word, padded with zeros
    places: Int64Array  # (n_columns,): byte of each column
    usual: Int64Array  # usual values of the first words, at most all; see :func:`arrange_columns`

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The codes, shape (n_samples, 8 n_words)."""
        return self.words.view(np.uint8)

    @property
    def starts(self) -> Int64Array:
        """First cell of each column in a histogram."""
        return self.places * BINS

    @property
    def n_cells(self) -> int:
        """Cells of a histogram: 256 for each column, in fours, of which the last may be padding."""
        return 4 * BINS * -(-len(self.places) // 4)

    @property
    def work(self) -> int:
        """Words that a row adds."""
        return max(1, self.words.shape[1])

    def add(self, rows: NDArray[np.int32], packed: Int64Array, out: Int64Array) -> None:
        """Add rows to a histogram of shape (n_cells,)."""
        n_steps = 20 + len(rows) * len(self.places) // CELLS_PER_STEP
        if not are_few(add_rows, n_steps, LIKELY_NODES):
            add_rows(self.words, self.usual, rows, packed, out)
            return
        cells = self.starts + self.codes[rows][:, self.places]
        np.add.at(out, cells.ravel(), np.repeat(packed[rows], len(self.places)))


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Codes of all rows, row by row and, unless there are too many, also column by column."""

    binning: Binning
    # (n_features, n_samples), used to partition the rows of a node; None: the codes below are
    columns: NDArray[np.uint8] | None
    codes: WordCodes  # of all columns, for histograms
    nominal: NDArray[np.bool_]  # (n_features,): columns whose codes are categories

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes.words)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.nominal)

    @property
    def by_column(self) -> NDArray[np.uint8]:
        """The codes column by column, those of column j in line ``lines[j]``."""
        return self.codes.codes.T if self.columns is None else self.columns

    @property
    def lines(self) -> Int64Array:
        """Line of each column in ``by_column``, shape (n_features,)."""
        return self.codes.places if self.columns is None else np.arange(self.n_features)

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each column has missing values, shape (n_features,)."""
        # Missing values have the last code of a column.
        return self.by_column.max(axis=1, initial=0)[self.lines] == self.binning.missing_code

    @classmethod
    def encode(
        cls,
        rows: OrderedRows,
        binning: Binning,
        n_threads: int | None = None,
        n_categories: NDArray[Any] | None = None,
        shares: Shares | None = None,
    ) -> BinnedRows:
        """Encode the rows with known cuts, block by block."""
        n, n_features = rows.n_rows, rows.n_features
        columns = None
        if n * n_features <= MOST_TWICE:
            columns = np.empty((n_features, n), dtype=np.uint8)
        # Columns are rounded up to whole words; the codes of the padding are 0 and never searched.
        codes = np.zeros((n, -(-n_features // WORD) * WORD), dtype=np.uint8)
        table, n_cuts = binning.table(), binning.n_cuts
        places, usual = np.arange(n_features), np.empty(0, dtype=np.int64)
        # Histograms that are exchanged have the same cells everywhere.
        if n >= ARRANGED_ROWS and shares is None:
            few = slice(None, None, max(1, n // FEW_ROWS))
            block = np.ascontiguousarray(rows.block(few), dtype=np.float64)
            sample = np.empty(block.shape[::-1], dtype=np.uint8)
            encode_block(block, table, n_cuts, sample)
            places, usual = arrange_columns(sample)
        # A block of few rows stays in the cache, from the values to both forms of their codes.
        n_block = max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, n_features)))

        def write(start: int) -> None:
            part = slice(start, start + n_block)
            block = np.ascontiguousarray(rows.block(part), dtype=np.float64)
            if columns is None:
                coded = np.empty((n_features, n_block + 1), dtype=np.uint8)[:, : len(block)]
            else:
                coded = columns[:, part]
            encode_block(block, table, n_cuts, coded)
            _transpose(coded, places, codes[part])

        thread_map(write, range(0, n, n_block), n_threads)
        nominal = np.zeros(n_features, dtype=bool) if n_categories is None else n_categories > 0
        return cls(binning, columns, WordCodes(codes.view(np.int64), places, usual), nominal)

    def take_codes(
        self, features: Int64Array, n_threads: int, earlier: WordCodes | None = None
    ) -> WordCodes:
        """Codes of some columns; ``earlier`` ones of equally many columns are overwritten."""
        n, n_words = self.n_rows, -(-len(features) // WORD)
        if earlier is None or earlier.words.shape[1] != n_words:
            places, usual = np.arange(len(features)), np.empty(0, dtype=np.int64)
            earlier = WordCodes(np.zeros((n, n_words), dtype=np.int64), places, usual)
        # Padding stays 0, because trees draw equally many columns.
        codes, lines = earlier.codes, self.lines[features]

        def write(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            some = np.ascontiguousarray(self.by_column[lines, rows])
            _transpose(some, earlier.places, codes[rows])

        thread_map(write, range(0, n, CHUNK_ROWS), n_threads)
        return earlier

    def part(
        self,
        rows: NDArray[np.int32],
        feature: int,
        goes_left: NDArray[np.bool_],
        spare: NDArray[np.int32],
        n_threads: int = 1,
    ) -> int:
        """Partition rows stably by the code of a column; return the number that go left."""
        column, far = self.by_column[self.lines[feature]], True if self.columns is None else None
        return part_chunks(rows, spare, column, goes_left, far, n_threads)

    def add_leaf_values(
        self,
        tree: ScoreTree,
        goes_left: NDArray[np.bool_],
        scores: Float64Array,
        rows: NDArray[np.int32],
    ) -> None:
        """Add to the scores of rows the values of the leaves that they reach."""
        lines = np.where(tree.feature < 0, -1, self.lines[tree.feature])
        add_leaf_values(
            scores, rows, self.by_column, lines, goes_left, tree.left, tree.right, tree.values
        )


def _transpose(codes: NDArray[np.uint8], places: Int64Array, out: NDArray[np.uint8]) -> None:
    """Write codes row by row, see :func:`transpose_codes`."""
    if are_few(transpose_codes, 10 + codes.size // CELLS_PER_STEP):
        out[:, places] = codes.T
    else:
        transpose_codes(codes, places, out)


# Rows from which the columns are arranged, and of the sample that is read for it.
ARRANGED_ROWS, FEW_ROWS = 20_000, 1000
LEAST_SHARE = 0.5  # of the rows with the usual codes, from which it pays to find them
NEAR = 64  # columns compared at a time


def arrange_columns(codes: NDArray[np.uint8]) -> tuple[Int64Array, Int64Array]:
    """Arrange columns such that many rows have the usual codes of a whole word.

    ``codes`` (n_features, n_rows) are a sample. Returns the place of each column, and the usual
    value of the words that most such rows have, which come first. Sums do not depend on it.
    """
    modes = np.array([np.bincount(line).argmax() for line in codes], dtype=np.uint8)
    is_usual = codes == modes[:, None]
    shares = is_usual.mean(axis=1)
    left = np.argsort(-shares, kind="stable").tolist()
    order: list[int] = []
    while len(left) >= WORD and shares[left[0]] >= LEAST_SHARE:
        word = [left.pop(0)]
        together, near = is_usual[word[0]], left[:NEAR]
        while len(word) < WORD and together.mean() >= LEAST_SHARE:
            best = near.pop(int((is_usual[near] & together).sum(axis=1).argmax()))
            together = together & is_usual[best]
            word.append(best)
        if together.mean() >= LEAST_SHARE:
            order += word
            left = [*near, *left[NEAR:]]
    usual = modes[order].view(np.int64)
    order += sorted(set(range(len(codes))) - set(order))
    return np.argsort(order), usual


def sample_step(n_rows: int) -> int:
    """Step between the rows read to find the cuts."""
    return max(1, -(-n_rows // SAMPLE_ROWS))


# Share of stored values up to which reading them takes less time than reading all codes.
MOST_STORED = 0.1
EVERY_CODE = np.arange(BINS)


@dataclass(frozen=True, eq=False)
class EntryCodes:
    """Codes of the entries of all rows (CSR) other than that of 0, for histograms of columns."""

    indptr: Int64Array
    features: NDArray[np.int32]
    codes: NDArray[np.uint8]
    zero_codes: NDArray[np.uint8]  # (n_features,)
    columns: Int64Array  # (n_columns,): columns of the histograms
    starts: Int64Array  # (n_columns + 1,): cells of each of them, as many as it has codes
    # The same entries by column (CSC): bounds of the columns, rows and codes.
    by_column: tuple[Int64Array, NDArray[np.int32], NDArray[np.uint8]]

    @property
    def n_cells(self) -> int:
        """Cells of a histogram."""
        return int(self.starts[-1])

    @cached_property
    def zero_cells(self) -> Int64Array:
        """Cell of the code of 0 in each of the columns."""
        return self.starts[:-1] + self.zero_codes[self.columns]

    @property
    def work(self) -> int:
        """Average number of entries of a row, rounded up."""
        return max(1, -(-len(self.codes) // max(1, len(self.indptr) - 1)))

    def sums(self, rows: NDArray[np.int32], packed: Int64Array) -> Int64Array:
        """Sums of those rows that have an entry, for each of the columns.

        The first line are packed derivatives, the second absolute gradients.
        """
        sums = np.empty((2, len(self.zero_codes)), dtype=np.int64)
        sum_entries(self.indptr, self.features, rows, packed, *sums)
        return sums if sums.shape[1] == len(self.columns) else sums[:, self.columns]

    def first(self, kept: Int64Array) -> Int64Array:
        """First cell of each of all columns, shape (n_features,); -1 for those not kept."""
        first = np.full(len(self.zero_codes), -1, dtype=np.int64)
        first[self.columns[kept]] = self.starts[kept]
        return first

    def add(
        self,
        rows: NDArray[np.int32],
        packed: Int64Array,
        out: Int64Array,
        first: Int64Array,
        sign: int = 1,
    ) -> None:
        """Add entries of rows to a histogram of shape (n_cells,), or subtract them (``sign`` -1).

        The cells of the codes of 0 are left alone.
        """
        add_entries(self.indptr, self.features, self.codes, first, rows, packed, sign, out)

    def add_all(
        self, kept: Int64Array, packed: Int64Array, out: Int64Array, first: Int64Array
    ) -> None:
        """Add the entries of all rows to some columns of a histogram."""
        add_column_entries(*self.by_column, self.columns[kept], first, packed, out)


@dataclass(frozen=True, eq=False)
class SparseBinnedRows:
    """Codes of the stored entries, row by row and column by column: ten bytes per stored value."""

    binning: Binning
    codes: EntryCodes  # by row, of all columns; used to build histograms
    # Codes by column (CSC), used to partition the rows of a node.
    column_indptr: Int64Array
    column_rows: NDArray[np.int32]
    column_codes: NDArray[np.uint8]
    nominal: NDArray[np.bool_]  # (n_features,)
    marks: NDArray[np.uint8]  # (n_samples,): scratch space, 0 between two calls

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.marks)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.nominal)

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each column has missing values, shape (n_features,)."""
        column = np.repeat(np.arange(self.n_features), np.diff(self.column_indptr))
        missing = self.column_codes == self.binning.missing_code[column]
        return np.bincount(column[missing], minlength=self.n_features) > 0

    @classmethod
    def encode(
        cls,
        rows: OrderedRows,
        binning: Binning,
        n_threads: int | None = None,
        n_categories: NDArray[Any] | None = None,
    ) -> SparseBinnedRows:
        """Encode the rows with known cuts."""
        X: Any = rows.X if rows.order is None else rows.X[rows.order]
        X = X.tocsc()
        indptr, numbers = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
        below = np.concatenate([[0], np.cumsum(binning.cuts < 0)])
        zero_codes = np.diff(below[binning.indptr]).astype(np.uint8)
        codes, kept = np.empty(X.nnz, dtype=np.uint8), np.empty(X.nnz, dtype=bool)
        n_features = X.shape[1]
        step = max(1, -(-n_features // (4 * (n_threads or 1))))

        def write(first: int) -> None:
            # Column by column, because the cuts of a column stay in the cache.
            bounds = indptr[first : first + step + 1]
            column = np.repeat(np.arange(first, first + len(bounds) - 1), np.diff(bounds))
            some = slice(bounds[0], bounds[-1])
            write_entry_codes(X.data[some], column, binning.cuts, binning.indptr, codes[some])
            kept[some] = codes[some] != zero_codes[column]

        thread_map(write, range(0, n_features, step), n_threads)
        # Values in the bin of 0 are as good as not stored.
        if not kept.all():
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
            numbers, codes = numbers[kept], codes[kept]
        by_column = sparse.csc_array((codes, numbers, indptr), shape=X.shape)
        by_row: Any = by_column.tocsr()
        entries = EntryCodes(
            by_row.indptr.astype(np.int64), by_row.indices.astype(np.int32, copy=False),
            by_row.data, zero_codes, np.arange(n_features),
            np.concatenate([[0], np.cumsum(binning.missing_code + 1)]), (indptr, numbers, codes),
        )  # fmt: skip
        nominal = np.zeros(n_features, dtype=bool) if n_categories is None else n_categories > 0
        marks = np.zeros(X.shape[0], dtype=np.uint8)
        return cls(binning, entries, indptr, numbers, codes, nominal, marks)

    def take_codes(self, features: Int64Array, n_threads: int, earlier: Any = None) -> EntryCodes:
        """Codes of some columns."""
        sizes = np.diff(self.codes.starts)[features]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return replace(self.codes, columns=features, starts=starts)

    def part(
        self,
        rows: NDArray[np.int32],
        feature: int,
        goes_left: NDArray[np.bool_],
        spare: NDArray[np.int32],
        n_threads: int = 1,
    ) -> int:
        """Partition rows stably by the code of a column; return the number that go left."""
        start, end = self.column_indptr[feature : feature + 2].tolist()
        stored, zero = self.column_rows[start:end], self.codes.zero_codes[feature]
        # Marks are codes counted from that of 0, so that rows without an entry have theirs already.
        self.marks[stored] = self.column_codes[start:end] ^ zero
        sides = goes_left[EVERY_CODE ^ zero]
        n_left = part_chunks(rows, spare, self.marks, sides, None, n_threads)
        self.marks[stored] = 0
        return n_left

    def add_leaf_values(
        self,
        tree: ScoreTree,
        goes_left: NDArray[np.bool_],
        scores: Float64Array,
        rows: NDArray[np.int32],
    ) -> None:
        """Add to the scores of rows the values of the leaves that they reach."""
        entries = self.codes
        add_leaf_values_of_entries(
            scores, rows, entries.indptr, entries.features, entries.codes, entries.zero_codes,
            tree.feature, goes_left, tree.left, tree.right, tree.values,
        )  # fmt: skip


CodedRows = BinnedRows | SparseBinnedRows

PART_ROWS = 65_536  # rows that a thread partitions at least


def part_chunks(
    rows: NDArray[np.int32],
    spare: NDArray[np.int32],
    codes: NDArray[np.uint8],
    goes_left: NDArray[np.bool_],
    far: bool | None,
    n_threads: int,
) -> int:
    """Partition rows stably in threads, see :func:`part`."""
    size = max(PART_ROWS, -(-len(rows) // n_threads))
    chunks = [slice(start, start + size) for start in range(0, len(rows), size)]

    def work(chunk: slice) -> int:
        some = rows[chunk]
        if not are_few(part, 20 + len(some) // CELLS_PER_STEP, LIKELY_NODES):
            return int(part(some, spare[chunk], codes, goes_left, far))
        are_left = goes_left[codes[some]]
        some[:] = np.concatenate([some[are_left], some[~are_left]])
        return int(np.count_nonzero(are_left))

    lefts = thread_map(work, chunks, len(chunks))
    n_left = 0
    for chunk, left in zip(chunks, lefts, strict=True):
        start, n_right = chunk.start, chunk.start - n_left
        if n_right > 0:
            # Rows of earlier chunks that go right move behind those of this one that go left.
            spare[:n_right] = rows[n_left:start]
            rows[n_left : n_left + left] = rows[start : start + left]
            rows[n_left + left : start + left] = spare[:n_right]
        n_left += left
    return n_left


def bin_rows(
    rows: OrderedRows,
    max_bins: int,
    n_threads: int | None = None,
    weight: Float64Array | None = None,
    n_categories: NDArray[Any] | None = None,
    names: Sequence[str] | NDArray[Any] | None = None,
) -> CodedRows:
    """Bin the columns and encode the rows in threads, in O(n_samples n_features).

    ``max_bins`` in [2, 255] does not count the additional bin of missing values. ``weight``
    (n_samples,) counts as a number of repetitions. ``n_categories`` (n_features,) is at most 255
    for columns with codes ``0 ... n_categories - 1``, and 0 for columns of numbers. Of more than
    200,000 rows, only every second, third, ... row is read to find the cuts. ``names`` of columns
    are for messages.

    One byte per value of dense rows, two if there are few; ten per stored value of sparse ones.
    """
    import numba  # noqa: F401  (derivatives are compiled, so stored code is used at once)

    sample = slice(None, None, sample_step(rows.n_rows))
    order = np.arange(rows.n_rows) if rows.order is None else rows.order
    # Rows are in the order of their content, so every k-th of them is the same sample for any
    # order of the input.
    sampled = None if weight is None else weight[sample]
    binning = find_bins(rows.X, max_bins, sampled, n_categories, n_threads, order[sample], names)
    return encode_rows(rows, binning, n_threads, n_categories)


def encode_rows(
    rows: OrderedRows,
    binning: Binning,
    n_threads: int | None = None,
    n_categories: NDArray[Any] | None = None,
    shares: Shares | None = None,
) -> CodedRows:
    """Encode the rows, in the form that suits their share of stored values on all machines."""
    X: Any = rows.X
    n_values = X.shape[0] * X.shape[1]
    sizes = np.array([X.nnz if is_sparse(X) else n_values, n_values])
    # Histograms that are exchanged have the same cells everywhere.
    stored, values = (sizes if shares is None else shares.sum(sizes)).tolist()
    if is_sparse(X) and stored <= MOST_STORED * values:
        return SparseBinnedRows.encode(rows, binning, n_threads, n_categories)
    return BinnedRows.encode(rows, binning, n_threads, n_categories, shares)


class Shares(Protocol):
    """Connection between machines with shares of the rows; all must make the same calls."""

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the arrays of all shares."""
        ...

    def agree(self, value: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Result of ``combine`` on the values of all shares, in their order."""
        ...
