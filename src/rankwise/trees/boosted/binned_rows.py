"""Rows as one-byte codes, the input of gradient trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import Binning, find_bins
from rankwise.kernels.binning import write_codes
from rankwise.kernels.boosted_trees import WORD, transpose_codes
from rankwise.runtime.threads import thread_map
from rankwise.trees.ordered_rows import OrderedRows
from rankwise.typing import Float64Array, Int64Array

SAMPLE_ROWS = 200_000  # approximate number of rows read to find cuts
CHUNK_ROWS = 1024
CHUNK_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Codes of all rows, column by column and row by row.

    Attributes
    ----------
    binning : Binning
    columns : ndarray of shape (n_features, n_samples), uint8
        Codes by column, used to partition the rows of a node.
    words : ndarray of shape (n_samples, n_words), int64
        Codes by row, eight per word and padded with zeros; used to build histograms.
    nominal : ndarray of shape (n_features,), bool
        Columns whose codes are categories.
    """

    binning: Binning
    columns: NDArray[np.uint8]
    words: Int64Array
    nominal: NDArray[np.bool_]

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each column has missing values, shape (n_features,)."""
        # Missing values have the last code of a column.
        return self.columns.max(axis=1, initial=0) == self.binning.missing_code

    @classmethod
    def of(
        cls,
        rows: OrderedRows,
        max_bins: int,
        n_threads: int | None = None,
        weight: Float64Array | None = None,
        n_categories: NDArray[Any] | None = None,
    ) -> BinnedRows:
        """Bin the columns and encode the rows in threads.

        Parameters
        ----------
        rows : OrderedRows
            If there are more than 200,000 rows, only every second, third, ... row is read to find
            the cuts.
        max_bins : int in [2, 255]
            Maximum number of bins of a column; missing values have an additional bin.
        n_threads : int, optional
        weight : ndarray of shape (n_samples,), float64, optional
            A weight counts as a number of repetitions. None: all 1.
        n_categories : ndarray of shape (n_features,), int, optional
            Number of categories of each column, at most 255, with codes ``0 ... n_categories - 1``;
            0 for columns of numbers.

        Notes
        -----
        Two bytes per value. O(n_samples n_features).
        """
        sample = slice(None, None, sample_step(rows.n_rows))
        order = np.arange(rows.n_rows) if rows.order is None else rows.order
        # Rows are in the order of their content, so every k-th of them is the same sample for any
        # order of the input.
        sampled = None if weight is None else weight[sample]
        binning = find_bins(rows.X, max_bins, sampled, n_categories, n_threads, order[sample])
        return cls.encode(rows, binning, n_threads, n_categories)

    @classmethod
    def encode(
        cls,
        rows: OrderedRows,
        binning: Binning,
        n_threads: int | None = None,
        n_categories: NDArray[Any] | None = None,
    ) -> BinnedRows:
        """Encode the rows with known cuts, block by block."""
        n, n_features = rows.n_rows, rows.n_features
        columns = np.empty((n_features, n), dtype=np.uint8)
        # Columns are rounded up to whole words; the codes of the padding are 0 and never searched.
        codes = np.zeros((n, -(-n_features // WORD) * WORD), dtype=np.uint8)
        table, n_cuts = binning.table(), binning.n_cuts
        # A block of few rows stays in the cache, from the values to both forms of their codes.
        n_block = max(1, min(CHUNK_ROWS, CHUNK_CELLS // max(1, n_features)))

        def write(start: int) -> None:
            part = slice(start, start + n_block)
            block = np.ascontiguousarray(rows.block(part), dtype=np.float64)
            write_codes(block, table, n_cuts, columns[:, part])
            transpose_codes(columns[:, part], codes[part])

        thread_map(write, range(0, n, n_block), n_threads)
        nominal = np.zeros(n_features, dtype=bool) if n_categories is None else n_categories > 0
        return cls(binning, columns, codes.view(np.int64), nominal)


def sample_step(n_rows: int) -> int:
    """Step between the rows read to find the cuts."""
    return max(1, -(-n_rows // SAMPLE_ROWS))
