"""Columns in units of their spread, for Newton steps on a model with free thresholds.

Thresholds absorb a shift of the columns, so dense columns are centred, in float64. Sparse columns
keep their zeros and are only divided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

_pstrf: Any = get_lapack_funcs("pstrf", dtype=np.float64)
CHUNK_ROWS = 2000
N_LANES = 8
# With fewer entries, a second thread does not pay off.
SMALL = 100_000
# Share of a column's variance that the other columns must leave unexplained.
RANK_TOL = 1e-12


@dataclass(frozen=True, eq=False)
class StandardColumns:
    """Rows ``Z = (X - mean) / spread`` in chunks."""

    chunks: list[Matrix]  # of Z; the mean of sparse rows is not subtracted
    bounds: list[tuple[int, int]]  # (first row, row after the last)
    mean: Float64Array  # (n_features,): shift that has been subtracted, in units of X
    spread: Float64Array  # (n_features,): 0 for a constant column, which is zero in Z

    @classmethod
    def of(cls, X: Matrix, weight: Float64Array) -> StandardColumns:
        """Columns of rows with weights > 0; O(n_samples n_features)."""
        n, d = X.shape
        bounds = [(lo, min(lo + CHUNK_ROWS, n)) for lo in range(0, n, CHUNK_ROWS)]
        share = weight / weight.sum()
        low, high = (_dense_row(end) for end in (X.min(axis=0), X.max(axis=0)))
        # Divided by powers of two, which is exact, so that squares do not overflow.
        largest = np.maximum(np.abs(low), np.abs(high))
        unit = np.ldexp(1.0, np.clip(np.frexp(largest)[1] - 1, -1000, 1023))
        if is_sparse(X):
            scaled: Any = X.astype(np.float64)
            scaled = scaled.multiply(1.0 / unit).tocsr()
            centre = np.asarray(scaled.T @ share).ravel()
            squares = np.asarray(scaled.power(2).T @ share).ravel()
            spread = np.sqrt(np.maximum(squares - centre**2, 0.0))
            # The difference of squares loses half of the digits: smaller spreads would be rounding.
            spread = np.where(low < high, np.maximum(spread, 1e-8 * np.sqrt(squares)), 0.0)
            scaled = scaled.multiply(_inverse(spread)).tocsr()
            chunks = [scaled[lo:hi] for lo, hi in bounds]
            return cls(chunks, bounds, np.zeros(d), spread * unit)
        # Any row near the others does: a common offset is gone before sums are formed.
        first = X[0] / unit
        chunks = [X[lo:hi] / unit - first for lo, hi in bounds]
        centre = _sum([share[lo:hi] @ Z for (lo, hi), Z in zip(bounds, chunks, strict=True)], d)
        for Z in chunks:
            Z -= centre
        squares = _sum([share[lo:hi] @ Z**2 for (lo, hi), Z in zip(bounds, chunks, strict=True)], d)
        spread = np.where(low < high, np.sqrt(squares), 0.0)
        for Z in chunks:
            Z *= _inverse(spread)
        return cls(chunks, bounds, (first + centre) * unit, spread * unit)

    @property
    def n_columns(self) -> int:
        return len(self.spread)

    @property
    def n_threads(self) -> int | None:
        """Number of threads; None (all) for large inputs."""
        size = sum(Z.nnz if is_sparse(Z) else Z.size for Z in self.chunks)
        return None if size > SMALL else 1

    def take(self, columns: Int64Array) -> StandardColumns:
        """Some of the columns."""
        chunks = [Z[:, columns] for Z in self.chunks]
        return StandardColumns(chunks, self.bounds, self.mean[columns], self.spread[columns])

    def scores(self, u: Float64Array) -> Float64Array:
        """``Z u``, shape (n_samples,)."""
        return np.concatenate(thread_map(lambda Z: Z @ u, self.chunks, self.n_threads))

    def sum_of(
        self, of_chunk: Callable[[int], tuple[Float64Array, Float64Array]]
    ) -> tuple[Float64Array, Float64Array]:
        """Sums of two arrays over all chunk numbers, in a fixed order.

        Only ``N_LANES`` pairs of arrays are held at once. The result is bit-identical for any
        number of threads.
        """

        def run(lane: range) -> tuple[Float64Array, Float64Array]:
            first, second = of_chunk(lane[0])
            for number in lane[1:]:
                more = of_chunk(number)
                first += more[0]
                second += more[1]
            return first, second

        n = len(self.chunks)
        # A number of lanes that does not depend on threads: the sums then do not either.
        lanes = [range(lane, n, N_LANES) for lane in range(min(n, N_LANES))]
        parts = thread_map(run, lanes, self.n_threads)
        return np.sum([part[0] for part in parts], axis=0), np.sum(
            [part[1] for part in parts], axis=0
        )

    def independent(self, weight: Float64Array) -> Int64Array:
        """Columns that are not combinations of others and the constant, ascending; O(n d^2)."""
        share = weight / weight.sum()

        def of_chunk(number: int) -> tuple[Float64Array, Float64Array]:
            Z, here = self.chunks[number], share[slice(*self.bounds[number])]
            return np.asarray(Z.T @ here), compute_weighted_gram(Z, here)

        mean, gram = self.sum_of(of_chunk)
        gram = gram - np.outer(mean, mean)
        # Cholesky with pivots takes the column that is explained least, until none is left.
        _, pivots, rank, _ = _pstrf(gram, tol=RANK_TOL, lower=1)
        return np.sort(pivots[:rank] - 1).astype(np.int64)


def compute_weighted_gram(Z: Matrix, weight: Float64Array) -> Float64Array:
    """``Z' diag(weight) Z`` of weights >= 0, dense."""
    root = np.sqrt(weight)
    if is_sparse(Z):
        scaled = Z.multiply(root[:, None]).tocsr()
        return (scaled.T @ scaled).toarray()
    scaled = Z * root[:, None]
    return scaled.T @ scaled


def _sum(parts: list[Float64Array], d: int) -> Float64Array:
    return np.sum(parts, axis=0) if parts else np.zeros(d)


def _inverse(spread: Float64Array) -> Float64Array:
    return np.divide(1.0, spread, out=np.zeros(len(spread)), where=spread > 0)


def _dense_row(row: Any) -> Float64Array:
    dense = row.toarray() if is_sparse(row) else row
    return np.asarray(dense, dtype=np.float64).ravel()
