"""Rows as one-byte codes, the input of gradient trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import Binning
from rankwise.kernels.binning import write_codes
from rankwise.kernels.boosted_trees import (
    BINS,
    WORD,
    add_leaf_values,
    add_rows,
    part,
    transpose_codes,
)
from rankwise.runtime.threads import thread_map
from rankwise.trees.ordered_rows import OrderedRows
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array

SAMPLE_ROWS = 200_000  # approximate number of rows read to find cuts
CHUNK_ROWS = 1024
CHUNK_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class WordCodes:
    """Codes of some columns, row by row, for histograms."""

    words: Int64Array  # (n_samples, n_words): eight codes per word, padded with zeros

    @property
    def starts(self) -> Int64Array:
        """Cells of each column and of the padding: 256 in every histogram."""
        return np.arange(WORD * self.words.shape[1] + 1) * BINS

    @property
    def work(self) -> int:
        """Words that a row adds."""
        return max(1, self.words.shape[1])

    def add(self, rows: NDArray[np.int32], packed: Int64Array, out: Int64Array) -> None:
        """Add rows to a histogram of shape (n_cells,)."""
        add_rows(self.words, rows, packed, out.reshape(-1, WORD * BINS))


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Codes of all rows, column by column and row by row."""

    binning: Binning
    columns: NDArray[np.uint8]  # (n_features, n_samples); used to partition the rows of a node
    # (n_samples, n_words): eight codes per word, padded with zeros; for histograms
    words: Int64Array
    nominal: NDArray[np.bool_]  # (n_features,): columns whose codes are categories

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns.shape[1]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.columns.shape[0]

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Whether each column has missing values, shape (n_features,)."""
        # Missing values have the last code of a column.
        return self.columns.max(axis=1, initial=0) == self.binning.missing_code

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

    def all_codes(self) -> WordCodes:
        """Codes of all columns."""
        return WordCodes(self.words)

    def take_codes(
        self, features: Int64Array, n_threads: int, earlier: WordCodes | None = None
    ) -> WordCodes:
        """Codes of some columns; ``earlier`` ones of equally many columns are overwritten."""
        n, n_words = self.n_rows, -(-len(features) // WORD)
        if earlier is None or earlier.words.shape[1] != n_words:
            earlier = WordCodes(np.zeros((n, n_words), dtype=np.int64))
        # Padding stays 0, because trees draw equally many columns.
        codes = earlier.words.view(np.uint8)

        def write(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            transpose_codes(self.columns[features, rows], codes[rows])

        thread_map(write, range(0, n, CHUNK_ROWS), n_threads)
        return earlier

    def part(
        self,
        rows: NDArray[np.int32],
        feature: int,
        goes_left: NDArray[np.bool_],
        spare: NDArray[np.int32],
    ) -> int:
        """Partition rows stably by the code of a column; return the number that go left."""
        return part(rows, self.columns[feature], goes_left, spare)

    def add_leaf_values(
        self,
        tree: ScoreTree,
        goes_left: NDArray[np.bool_],
        scores: Float64Array,
        rows: NDArray[np.int32],
    ) -> None:
        """Add to the scores of rows the values of the leaves that they reach."""
        add_leaf_values(
            scores, rows, self.columns, tree.feature, goes_left, tree.left, tree.right, tree.values
        )


def sample_step(n_rows: int) -> int:
    """Step between the rows read to find the cuts."""
    return max(1, -(-n_rows // SAMPLE_ROWS))
