"""Inner products between rows, from a kernel matrix or from columns, with their Newton systems.

Both are centred by query, see :mod:`rankwise.solvers.least_squares.centred_kernel`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.kernels.pairwise_absolute import expand_blocks, reduce_blocks
from rankwise.runtime.threads import query_chunks
from rankwise.solvers.least_squares.centred_kernel import centre_kernel
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.solvers.newton.proximal_newton import NewtonSystem
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

_posv: Any = get_lapack_funcs("posv", dtype=np.float64)
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class KernelProducts:
    """A symmetric kernel matrix, positive semidefinite where dual values sum to zero."""

    K: Float64Array

    def mean_diagonal(self) -> float:
        return float(self.K.trace()) / len(self.K)

    def apply(self, beta: Float64Array) -> Float64Array:
        return self.K @ beta

    def step(self, system: NewtonSystem) -> tuple[Float64Array, Float64Array]:
        """Solve ``(K_AA + 2 lam tau / weight) xi = K (u - beta)`` with sum 0 in each block."""
        rows, block_ptr = system.block_rows, system.point.block_ptr
        n = len(rows) - len(block_ptr) + 1
        matrix, vector = np.empty((n, n)), np.empty(n)
        two_lam = 2.0 * system.lam
        diagonal = (two_lam * system.tau) / system.block_weight
        target = two_lam * system.score_residual
        reduce_blocks(self.K, rows, diagonal, block_ptr, target, matrix, vector)
        reduced = _solve_definite(matrix, vector)
        xi = np.empty(len(rows))
        expand_blocks(reduced, np.arange(len(rows)), block_ptr, xi)
        # A row may have two nodes in blocks.
        per_row = np.bincount(rows, weights=xi, minlength=len(self.K))
        return xi, system.score_residual - (self.K @ per_row) / two_lam


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Rows of columns, ``K = X X'``; the step solves a system in the columns."""

    X: Matrix

    def mean_diagonal(self) -> float:
        X = self.X
        squares = X.multiply(X).sum() if is_sparse(X) else np.vdot(X, X)
        return float(squares) / X.shape[0]

    def apply(self, beta: Float64Array) -> Float64Array:
        return np.asarray(self.X @ (self.X.T @ beta))

    def step(self, system: NewtonSystem) -> tuple[Float64Array, Float64Array]:
        """Solve ``(2 lam + X' H X) e = X' (u - beta)``; the scores change by ``X e``."""
        block_ptr = system.point.block_ptr
        d = self.X.shape[1]
        matrix = np.zeros((d, d))
        scale = system.block_weight / system.tau
        for first, last in query_chunks(block_ptr, CHUNK_ROWS):
            lo, hi = block_ptr[first], block_ptr[last]
            rows = self.X[system.block_rows[lo:hi]]
            block = densify(rows)
            root = np.sqrt(scale[lo:hi])[:, None]
            # The sum within a block is fixed, so only columns about its mean count.
            block = _centre(block, scale[lo:hi], block_ptr[first : last + 1] - lo) * root
            matrix += block.T @ block
        matrix.flat[:: d + 1] += 2.0 * system.lam
        e = _solve_definite(matrix, np.asarray(self.X.T @ system.residual))
        score_step = np.asarray(self.X @ e)
        moved = score_step[system.block_rows][:, None]
        return scale * _centre(moved, scale, block_ptr)[:, 0], score_step


def kernel_products(
    K: Float64Array, indptr: Int64Array, rows: Int64Array | None = None
) -> KernelProducts:
    """Products of a kernel matrix, see :func:`centre_kernel`."""
    return KernelProducts(centre_kernel(K, indptr, rows))


def column_products(X: Matrix, indptr: Int64Array, rows: Int64Array) -> ColumnProducts:
    """Columns of ``X[rows]`` in float64; dense ones are centred by query. X is not changed."""
    columns = X[rows].astype(np.float64, copy=False)
    if is_sparse(columns):
        return ColumnProducts(columns)
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            columns[lo:hi] -= columns[lo:hi].mean(axis=0)
    return ColumnProducts(columns)


def _centre(block: Float64Array, weight: Float64Array, block_ptr: Int64Array) -> Float64Array:
    """Rows minus the weighted mean of their block."""
    starts = block_ptr[:-1]
    sums = np.add.reduceat(block * weight[:, None], starts, axis=0)
    means = sums / np.add.reduceat(weight, starts)[:, None]
    return block - np.repeat(means, np.diff(block_ptr), axis=0)


def _solve_definite(matrix: Float64Array, vector: Float64Array) -> Float64Array:
    """Cholesky on the lower triangle; if it breaks down, with a shift of rounding size."""
    shift, size = 0.0, len(vector) * EPS * float(np.abs(matrix.diagonal()).max(initial=0.0))
    while True:
        shifted = matrix if shift == 0.0 else matrix + shift * np.eye(len(matrix))
        _, solution, info = _posv(shifted.T, vector, lower=0)
        if info == 0:
            return solution
        shift = max(100.0 * shift, size)
