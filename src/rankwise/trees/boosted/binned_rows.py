"""Rows as codes of one byte: what gradient trees are grown from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import Binning, find_bins
from rankwise.kernels.boosted_trees import WORD, transpose_codes
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray, Int64Array

SAMPLE_ROWS = 200_000  # cuts are found on about so many rows
CHUNK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Codes of all rows, column by column and row by row.

    Attributes
    ----------
    binning : Binning
    columns : ndarray of shape (n_features, n_samples), uint8
        Parts the rows of a node.
    words : ndarray of shape (n_samples, n_words), int64
        Eight codes each, filled up with zeros: builds histograms.
    nominal : ndarray of shape (n_features,), bool
        Columns whose codes are categories.
    """

    binning: Binning
    columns: NDArray[np.uint8]
    words: Int64Array
    nominal: NDArray[np.bool_]

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Columns that miss values, shape (n_features,)."""
        return self.columns.max(axis=1, initial=0) == self.binning.missing_code

    @classmethod
    def of(
        cls,
        X: FloatArray,
        max_bins: int,
        n_threads: int | None = None,
        weight: Float64Array | None = None,
        n_categories: NDArray[Any] | None = None,
    ) -> BinnedRows:
        """Cut the columns and code the rows, on threads.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), float32 or float64
            NaN where missing. Of more than 200,000 rows every second, third ... is read for the
            cuts.
        max_bins : int in [2, 255]
            Most bins of a column; missing values have one more.
        n_threads : int, optional
        weight : ndarray of shape (n_samples,), float64, optional
            A weight counts as repetition; None: all 1.
        n_categories : ndarray of shape (n_features,), int, optional
            0 for columns of numbers; else the column holds codes ``0 ... n_categories - 1``, at
            most 255.

        Notes
        -----
        Two bytes a value, O(n_samples n_features).
        """
        sample = slice(None, None, -(-X.shape[0] // SAMPLE_ROWS))
        sampled = None if weight is None else weight[sample]
        binning = find_bins(X[sample], max_bins, sampled, n_categories, n_threads)
        return cls.coded(X, binning, n_threads, n_categories)

    @classmethod
    def coded(
        cls,
        X: FloatArray,
        binning: Binning,
        n_threads: int | None = None,
        n_categories: NDArray[Any] | None = None,
    ) -> BinnedRows:
        """Code the rows by cuts that are known."""
        columns = binning.codes(X, n_threads)
        n_features, n = columns.shape
        codes = np.zeros((n, -(-n_features // WORD) * WORD), dtype=np.uint8)

        def write(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            transpose_codes(columns[:, rows], codes[rows])

        thread_map(write, range(0, n, CHUNK_ROWS), n_threads)
        nominal = np.zeros(n_features, dtype=bool) if n_categories is None else n_categories > 0
        return cls(binning, columns, codes.view(np.int64), nominal)
