"""Support rows of a kernel expansion, offered one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from rankwise.typing import Float64Array, Matrix, SparseMatrix, densify, is_sparse


class SupportRows(ABC):
    """Support rows, with space for all rows of a block."""

    n_kept: int  # number of rows kept so far

    @abstractmethod
    def offer(self, row: int) -> Matrix:
        """View of the kept rows followed by one row of the block; the next call changes it."""

    @abstractmethod
    def keep(self) -> None:
        """Keep the row that was last offered."""

    @abstractmethod
    def kept(self) -> Matrix:
        """Copy of the kept rows."""

    @staticmethod
    def start(kept: Matrix, block: Matrix) -> SupportRows:
        """Support rows for the rows kept so far and the next block, dense or CSR like ``kept``."""
        if is_sparse(kept):
            return SparseSupportRows(kept, sparse.csr_array(block, dtype=np.float64))
        dense = densify(block)
        return DenseSupportRows(kept, dense.astype(np.float64, copy=False))


class DenseSupportRows(SupportRows):
    """Support rows in a dense array."""

    def __init__(self, kept: Float64Array, block: Float64Array) -> None:
        self._block, self.n_kept = block, len(kept)
        self._rows = np.empty((len(kept) + len(block), block.shape[1]))
        self._rows[: len(kept)] = kept

    def offer(self, row: int) -> Matrix:
        self._rows[self.n_kept] = self._block[row]
        return self._rows[: self.n_kept + 1]

    def keep(self) -> None:
        self.n_kept += 1

    def kept(self) -> Matrix:
        return self._rows[: self.n_kept].copy()


class SparseSupportRows(SupportRows):
    """Support rows in a CSR matrix."""

    def __init__(self, kept: SparseMatrix, block: SparseMatrix) -> None:
        self._block, self.n_kept = block, kept.shape[0]
        n_entries = kept.nnz + block.nnz
        self._data = np.empty(n_entries)
        self._indices = np.empty(n_entries, dtype=np.int64)
        self._indptr = np.zeros(kept.shape[0] + block.shape[0] + 1, dtype=np.int64)
        self._data[: kept.nnz], self._indices[: kept.nnz] = kept.data, kept.indices
        self._indptr[: self.n_kept + 1] = kept.indptr

    def offer(self, row: int) -> Matrix:
        first, last = self._block.indptr[row], self._block.indptr[row + 1]
        start = self._indptr[self.n_kept]
        end = start + last - first
        self._data[start:end] = self._block.data[first:last]
        self._indices[start:end] = self._block.indices[first:last]
        self._indptr[self.n_kept + 1] = end
        return self._view(self.n_kept + 1)

    def keep(self) -> None:
        self.n_kept += 1

    def kept(self) -> Matrix:
        return self._view(self.n_kept).copy()

    def _view(self, n_rows: int) -> Matrix:
        end = self._indptr[n_rows]
        arrays = (self._data[:end], self._indices[:end], self._indptr[: n_rows + 1])
        return sparse.csr_array(arrays, (n_rows, self._block.shape[1]))
