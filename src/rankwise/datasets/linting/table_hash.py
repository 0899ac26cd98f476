"""Hashes of the rows and columns of a matrix in one pass; equal rows have equal hashes.

The bits of a value are mixed (by the finaliser of SplitMix64 [1]_, which maps 0 to 0) and
multiplied by an odd number of its column (for row hashes) or row (for column hashes). The products
are summed modulo 2^64. Zeros therefore add nothing, a CSR matrix and its dense form have the same
hashes, and sums of blocks can be added in any order. The collision probability of two different
rows is about 2^-58.

References
----------
.. [1] Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.runtime.threads import thread_map
from rankwise.typing import Int64Array, Matrix, canonicalise, is_sparse

VALUES_PER_BLOCK = 1 << 17

UInt64Array = NDArray[np.uint64]


@dataclass(frozen=True)
class TableHash:
    """Results of one pass over a matrix, or over several stacked matrices.

    ``rows`` is (n_samples,), all others are (n_features,).
    """

    rows: UInt64Array
    columns: UInt64Array
    first: UInt64Array  # mixed bits of the first row
    constant: NDArray[np.bool_]  # whether all rows equal the first one (all NaN counts as constant)
    n_nan: Int64Array
    n_inf: Int64Array

    def below(self, other: TableHash) -> TableHash:
        """Hash of the matrix of ``other`` with this one below it."""
        empty = len(other.rows) == 0, len(self.rows) == 0
        same = (self.first == other.first) | any(empty)
        return TableHash(
            np.concatenate([other.rows, self.rows]),
            other.columns + self.columns,
            self.first if empty[0] else other.first,
            other.constant & self.constant & same,
            other.n_nan + self.n_nan,
            other.n_inf + self.n_inf,
        )


def hash_table(X: Matrix, first_row: int = 0) -> TableHash:
    """Hash a matrix whose first row is row ``first_row`` of the whole.

    O(stored values): a few passes over blocks that stay in the cache, on all threads.
    """
    n_rows, n_columns = X.shape
    row_factors, column_factors = _factors(first_row, n_rows), _factors(0, n_columns)
    if is_sparse(X):
        return _hash_csr(X, row_factors, column_factors)
    first = _mix_bits(X[:1]).ravel() if n_rows else np.zeros(n_columns, dtype=np.uint64)
    rows = np.zeros(n_rows, dtype=np.uint64)
    step = max(1, VALUES_PER_BLOCK // max(1, n_columns))

    def block(start: int) -> tuple[UInt64Array, NDArray[np.bool_], Int64Array, Int64Array]:
        part = X[start : start + step]
        mixed = _mix_bits(part)
        rows[start : start + step] = mixed @ column_factors
        finite = np.isfinite(part)
        n_nan = n_inf = np.zeros(n_columns, dtype=np.int64)
        if not finite.all():
            n_nan = np.isnan(part).sum(axis=0)
            n_inf = np.isinf(part).sum(axis=0)
        columns = row_factors[start : start + step] @ mixed
        return columns, (mixed == first).all(axis=0), n_nan, n_inf

    columns, n_nan, n_inf = (np.zeros(n_columns, dtype=t) for t in (np.uint64, int, int))
    constant = np.ones(n_columns, dtype=bool)
    for part_columns, part_constant, part_nan, part_inf in thread_map(
        block, range(0, n_rows, step)
    ):
        columns += part_columns
        constant &= part_constant
        n_nan += part_nan
        n_inf += part_inf
    return TableHash(rows, columns, first, constant, n_nan, n_inf)


def mix(bits: UInt64Array) -> UInt64Array:
    """SplitMix64's finaliser, a bijection of 64-bit words that keeps 0."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _mix_bits(values: NDArray[Any]) -> UInt64Array:
    """Mixed bits of numbers; −0.0 is treated as 0, and float32 is not converted."""
    values = values + values.dtype.type(0)
    words = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return mix(words.astype(np.uint64))


def _factors(start: int, n: int) -> UInt64Array:
    """Odd pseudo-random numbers for rows or columns ``start`` to ``start + n``."""
    return mix(np.arange(start + 1, start + n + 1, dtype=np.uint64)) | np.uint64(1)


def _hash_csr(X: Any, row_factors: UInt64Array, column_factors: UInt64Array) -> TableHash:
    n_rows, n_columns = X.shape
    X = canonicalise(X)
    mixed = sparse.csr_matrix((_mix_bits(X.data), X.indices, X.indptr), shape=X.shape)
    stored = X.indices[mixed.data != 0]
    n_stored = np.bincount(stored, minlength=n_columns)
    first = (
        mixed[:1].toarray().ravel().astype(np.uint64) if n_rows else np.zeros(n_columns, np.uint64)
    )
    constant = n_stored == 0
    full = np.flatnonzero(n_stored == n_rows) if n_rows else np.empty(0, dtype=int)
    constant[full] = [(mixed[:, j].data == first[j]).sum() == n_rows for j in full]
    return TableHash(
        np.asarray(mixed @ column_factors),
        np.asarray(mixed.T @ row_factors),
        first,
        constant,
        np.bincount(X.indices[np.isnan(X.data)], minlength=n_columns),
        np.bincount(X.indices[np.isinf(X.data)], minlength=n_columns),
    )
