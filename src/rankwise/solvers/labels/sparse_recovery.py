"""Sparse label vectors from codes, many rows at a time.

In each step of CoSaMP, the 2s labels with the largest ``|P' residual|`` join the support. Least
squares is solved on the support, and the s largest values stay. Steps end when the residual no
longer falls. If a support has more labels than there are codes, or linearly dependent labels, the
minimum-norm solution is taken. Matching pursuit adds one label per step.

Complexity: O(K M + s^2 M + s^3) per row and step for K labels and M codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.kernels.sparse_decoding import (
    PENDING,
    SINGULAR,
    fit_supports,
    merge_supports,
    prune_supports,
    pursue_orthogonally,
)
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, Int64Array

# Number of rows per unit of work; results do not depend on it.
CHUNK_ROWS = 64
# Relative size of singular values that count as zero.
CUTOFF = 1e-10


def cosamp(code: Float64Array, codes: Float64Array, sparsity: int, max_iter: int) -> Float64Array:
    """The last iterates of CoSaMP, (n_samples, n_labels).

    P is ``code``, (n_codes, n_labels), and ``codes`` is (n_samples, n_codes). ``sparsity`` is the
    number of non-zero entries, at most n_labels.
    """
    columns = np.ascontiguousarray(code.T)
    n_take = min(2 * sparsity, code.shape[1])

    def decode(codes: Float64Array) -> tuple[Int64Array, Int64Array, Float64Array]:
        n = len(codes)
        state, norms = np.full(n, PENDING), np.einsum("ij,ij->i", codes, codes)
        support, size = np.zeros((n, sparsity), dtype=np.int64), np.zeros(n, dtype=np.int64)
        kept, residuals = np.zeros((n, sparsity)), codes
        merged = np.zeros((n, sparsity + n_take), dtype=np.int64)
        merged_size, values = np.zeros(n, dtype=np.int64), np.zeros(merged.shape)
        for _ in range(max_iter):
            merge_supports(code, residuals, support, size, state, n_take, merged, merged_size)
            fit_supports(columns, codes, merged, merged_size, values, state)
            # Few rows: a singular value decomposition each costs little in all.
            for row in np.flatnonzero(state == SINGULAR):
                labels = merged[row, : merged_size[row]]
                values[row, : len(labels)] = _least_norm(columns[labels], codes[row])
            residuals = codes.copy()
            prune_supports(
                columns, residuals, merged, merged_size, values, state, support, size, kept, norms
            )
            if (state != PENDING).all():
                break
        return support, size, kept

    return _decode_chunks(decode, codes, code.shape[1])


def matching_pursuit(code: Float64Array, codes: Float64Array, sparsity: int) -> Float64Array:
    """Orthogonal matching pursuit; arguments and result as in :func:`cosamp`."""
    columns = np.ascontiguousarray(code.T)

    def decode(codes: Float64Array) -> tuple[Int64Array, Int64Array, Float64Array]:
        support = np.zeros((len(codes), sparsity), dtype=np.int64)
        size, values = np.zeros(len(codes), dtype=np.int64), np.zeros(support.shape)
        pursue_orthogonally(code, columns, codes.copy(), support, size, values)
        return support, size, values

    return _decode_chunks(decode, codes, code.shape[1])


def _least_norm(columns: Float64Array, codes: Float64Array) -> Float64Array:
    """Minimum-norm least squares on some columns, given with shape (t, M)."""
    left, values, right = np.linalg.svd(columns, full_matrices=False)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > CUTOFF * values[0])
    return left @ (inverse * (right @ codes))


def _decode_chunks(
    decode: Callable[[Float64Array], tuple[Int64Array, Int64Array, Float64Array]],
    codes: Float64Array,
    n_labels: int,
) -> Float64Array:
    scores = np.zeros((len(codes), n_labels))

    def work(lo: int) -> None:
        part: Any = np.ascontiguousarray(codes[lo : lo + CHUNK_ROWS])
        support, size, values = decode(part)
        taken = np.arange(support.shape[1]) < size[:, None]
        rows = np.broadcast_to(np.arange(lo, lo + len(part))[:, None], support.shape)
        # Chunks write to rows of their own, so threads need no lock.
        scores[rows[taken], support[taken]] = values[taken]

    thread_map(work, range(0, len(codes), CHUNK_ROWS))
    return scores
