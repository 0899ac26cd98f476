"""Rows with the powers of their features as columns, computed without storing them.

If t are the scaled features, the columns are ``t, t^2, ..., t^degree``, ordered by power. Products
with the rows read the features once; only a few rows at a time are ever written out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.features.polynomial_terms import TermMap
from rankwise.kernels import ordinal_descent as kernels
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

CHUNK_ROWS = 4096
# Below this number of entries in X, one thread is quicker.
_SMALL = 1e6


class PowerRows:
    """Selected rows of a matrix, in a given order, with the powers of their features.

    X is float32 or float64. ``inverse``, (n_features,), holds factors of the features, applied
    first; None: ones. Without ``rows``, all rows are taken in their order.
    """

    def __init__(
        self,
        X: Matrix,
        degree: int,
        inverse: Float64Array | None = None,
        rows: Int64Array | None = None,
    ) -> None:
        self._rows = np.arange(X.shape[0]) if rows is None else rows
        self.degree, self.n_features = degree, X.shape[1]
        self.n_samples, self.n_columns = len(self._rows), degree * X.shape[1]
        self._inverse = np.ones(X.shape[1]) if inverse is None else inverse
        self._sparse = is_sparse(X)
        self._given = X
        # What the kernels take: they are compiled for contiguous rows.
        self._X: Any = (X.data, X.indices, X.indptr) if is_sparse(X) else np.ascontiguousarray(X)
        size = X.nnz if is_sparse(X) else X.size
        self._n_threads = None if size > _SMALL else 1

    def take(self, which: Int64Array) -> PowerRows:
        """Select rows by their numbers in this object."""
        return PowerRows(self._given, self.degree, self._inverse, self._rows[which])

    @cached_property
    def norms(self) -> Float64Array:
        """Squared norms of the rows, shape (n_samples,)."""
        out = np.empty(self.n_samples)
        of_norms = kernels.norms_csr if self._sparse else kernels.norms_rows
        self._map_chunks(lambda at: of_norms(self._X, *self._take(at), self.degree, out[at]))
        return out

    def scores(self, w: Float64Array) -> Float64Array:
        """Products of all rows with weights of shape (n_columns,); shape (n_samples,)."""
        out, table = np.empty(self.n_samples), self.table(w)
        times = kernels.scores_csr if self._sparse else kernels.scores_rows
        self._map_chunks(lambda at: times(self._X, *self._take(at), table, out[at]))
        return out

    def transposed(self, factors: Float64Array) -> Float64Array:
        """Sum of the rows, each times its factor, shape (n_columns,)."""
        add = kernels.add_csr if self._sparse else kernels.add_rows

        def part(at: slice) -> Float64Array:
            table = np.zeros_like(self.table(np.zeros(self.n_columns)))
            add(self._X, *self._take(at), factors[at], table)
            return table

        # Only a few sums at a time: with many columns, one sum per chunk would not fit in memory.
        total = np.zeros(self.n_columns)
        chunks = self._chunks()
        for first in range(0, len(chunks), 16):
            for table in thread_map(part, chunks[first : first + 16], self._n_threads):
                total += self.weights(table)
        return total

    def expanded(self, which: Int64Array) -> Float64Array:
        """Columns of selected rows of this object, shape (n_which, n_columns), float64."""
        block = self._given[self._rows[which]]
        t = densify(block).astype(np.float64) * self._inverse
        out = np.empty((len(which), self.n_columns))
        power = out[:, : self.n_features]
        power[:] = t
        for p in range(1, self.degree):
            # Each power is the one before times t, a product instead of a power.
            following = out[:, p * self.n_features : (p + 1) * self.n_features]
            np.multiply(power, t, out=following)
            power = following
        return out

    def descend(
        self,
        order: Int64Array,
        codes: Int64Array,
        weight: Float64Array,
        state: tuple[Float64Array, Float64Array, Float64Array],
        squared: bool,
        slack: float,
    ) -> tuple[int, float, float]:
        """One pass of coordinate descent; ``state`` starts with a :meth:`table` of weights."""
        descend = kernels.descend_csr if self._sparse else kernels.descend_rows
        return descend(
            self._X,
            self._inverse,
            self._rows,
            order,
            codes,
            weight,
            self.norms,
            state,
            squared,
            slack,
        )

    def table(self, w: Float64Array) -> Float64Array:
        """Copy of the weights (n_columns,) in the shape that the compiled kernels take."""
        table = w.reshape(self.degree, self.n_features)
        # All powers of a sparse entry lie together; of dense rows, all columns of a power.
        return np.array(table.T if self._sparse else table, order="C")

    def weights(self, table: Float64Array) -> Float64Array:
        """Inverse of :meth:`table`."""
        return (table.T if self._sparse else table).ravel()

    def _take(self, at: slice) -> tuple[Float64Array, Int64Array]:
        return self._inverse, self._rows[at]

    def _chunks(self) -> list[slice]:
        return [slice(lo, lo + CHUNK_ROWS) for lo in range(0, self.n_samples, CHUNK_ROWS)]

    def _map_chunks(self, work: Callable[[slice], None]) -> None:
        thread_map(work, self._chunks(), self._n_threads)


@dataclass(frozen=True, eq=False)
class PowerMap:
    """Rows of a matrix, scaled, with powers or products of their features."""

    scale: Float64Array  # (n_features,): divisors of the features
    terms: TermMap | None  # products of features, which are stored; None: powers, which are not
    degree: int  # highest power

    def __call__(self, X: Matrix) -> PowerRows:
        """Rows of checked X, a dense matrix or CSR."""
        inverse = 1.0 / self.scale
        if self.terms is None:
            return PowerRows(X, self.degree, inverse)
        scaled = X.multiply(inverse).tocsr() if is_sparse(X) else X * inverse
        return PowerRows(self.terms(scaled), 1, np.ones(len(self.terms.factors)))
