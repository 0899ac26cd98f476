"""Rows of a kernel matrix within a memory limit: the whole matrix, or a cache of recent rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.features.kernel import Kernel, check_symmetric
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse

# Returns float64 values of some rows (a slice or row numbers) with all rows, (n_rows, n_samples).
Evaluate = Callable[[Any], Float64Array]
# Number of values computed at a time; fitting a core's caches makes this 2.5 times quicker.
SLICE_VALUES = 2**18
LEAST_SLICE, MOST_SLICE = 32, 512
# A step reads two rows; with only a few slots most rows would be recomputed.
LEAST_SLOTS = 8


class KernelRows:
    """Kernel values between training rows, for solvers that read them row by row.

    If the matrix fits in memory, all values are computed at once, in float64 or else in float32.
    Otherwise rows are computed in float32 as they are read, and the least recently read row is
    evicted. ``evaluate`` computes the kernel values of some rows with all rows; ``whole`` is the
    matrix, if it is already known. ``max_bytes`` limits the memory for kernel values.

    ``values`` is (n_slots, n_samples). ``slots``, (n_samples,), is the place of each row in it, or
    -1. ``used``, (n_slots + 1,), says when each slot was last read; its last entry is the number of
    reads.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        diagonal: Float64Array,
        max_bytes: int,
        whole: FloatArray | None = None,
    ) -> None:
        self.evaluate = evaluate
        self.diagonal = diagonal
        n_samples = len(diagonal)
        # float32 rather than fewer rows: a row that is not held is computed again.
        dtype = np.float64 if 8 * n_samples**2 <= max_bytes else np.float32
        size = np.dtype(dtype).itemsize * n_samples
        n_slots = min(n_samples, max_bytes // size)
        if n_slots < min(n_samples, LEAST_SLOTS):
            raise ValueError(
                f"max_bytes={max_bytes} is less than the {LEAST_SLOTS * size} bytes of "
                f"{LEAST_SLOTS} rows of a kernel between {n_samples} distinct rows. Raise "
                "max_bytes, or fit fewer rows."
            )
        self.values: FloatArray = (
            np.empty((n_slots, n_samples), dtype=dtype) if whole is None else whole
        )
        self.slots: Int64Array = np.full(n_samples, -1, dtype=np.int64)
        self.used: Int64Array = np.zeros(n_slots + 1, dtype=np.int64)
        if self.is_whole:
            if whole is None:
                self._fill()
            self.slots[:] = np.arange(n_samples)
            # Of the values that steps read, so that the curvature between equal rows is exactly 0.
            self.diagonal = np.diagonal(self.values).astype(np.float64)

    @property
    def is_whole(self) -> bool:
        """Whether all values are held."""
        return len(self.values) == len(self.slots)

    def load(self, row: int) -> None:
        """Compute one row and replace the least recently read one."""
        slot = int(self.used[:-1].argmin())
        # The row that held the slot, if any.
        self.slots[self.slots == slot] = -1
        self.values[slot] = self.evaluate(slice(row, row + 1))[0]
        self.slots[row] = slot
        self.used[-1] += 1
        self.used[slot] = self.used[-1]

    def products(self, rows: Int64Array, coef: Float64Array) -> Float64Array:
        """``K[rows] @ coef`` in float64; in chunks on threads, bit-identical to one thread."""
        out = np.empty(len(rows))

        def multiply(part: slice) -> None:
            block = self.values[rows[part]] if self.is_whole else self.evaluate(rows[part])
            out[part] = block.astype(np.float64, copy=False) @ coef

        n_threads = None if float(len(rows)) * len(coef) > 1e6 else 1
        thread_map(multiply, self._slices(len(rows)), n_threads)
        return out

    def _fill(self) -> None:
        def write(rows: slice) -> None:
            self.values[rows] = self.evaluate(rows)

        n = len(self.slots)
        thread_map(write, self._slices(n), None if n > MOST_SLICE else 1)

    def _slices(self, n_rows: int) -> list[slice]:
        size = min(max(SLICE_VALUES // len(self.slots), LEAST_SLICE), MOST_SLICE)
        return [slice(first, first + size) for first in range(0, n_rows, size)]


def kernel_rows(
    kernel: Kernel, X: Matrix, max_bytes: int, columns: Int64Array | None = None
) -> KernelRows:
    """Rows of the kernel matrix of X, which is float64; a callable kernel is called once.

    For a precomputed kernel, X holds the values between these rows and the training rows.
    ``columns``, (n_samples,), are those of its columns that belong to the rows; None: all.
    """
    if kernel.name in ("callable", "precomputed"):
        K = _compute_given(kernel, X, max_bytes, columns)
        return KernelRows(lambda rows: K[rows], np.diagonal(K), max_bytes, K)
    write = kernel.against(X, np.float64, sparse_rows=is_sparse(X))

    def evaluate(rows: Any) -> Float64Array:
        block = X[rows]
        out = np.empty((block.shape[0], X.shape[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            write(block, out)
            total = out.sum()
        if not np.isfinite(total):
            raise ValueError(
                f"kernel must be finite between training rows, got kernel={kernel.name!r} with "
                "values that overflow. Scale X, or change the kernel's parameters."
            )
        return out

    with np.errstate(over="ignore"):
        diagonal = kernel.diagonal(X)
    return KernelRows(evaluate, diagonal, max_bytes)


def _compute_given(
    kernel: Kernel, X: Matrix, max_bytes: int, columns: Int64Array | None
) -> Float64Array:
    """Matrix of a callable or precomputed kernel, which is given as a whole."""
    needed = 8 * X.shape[0] ** 2
    if needed > max_bytes:
        raise ValueError(
            f"max_bytes={max_bytes} is less than the {needed} bytes of the kernel matrix of "
            f"{X.shape[0]} distinct rows, which a callable or precomputed kernel gives at once. "
            "Raise max_bytes, or use a kernel with a name, whose rows are computed as needed."
        )
    if kernel.name == "callable":
        K = np.asarray(kernel(X, X), dtype=np.float64)
        check_symmetric(K, kernel.function)
        return K
    K = np.asarray(densify(X), dtype=np.float64)
    K = K if columns is None else K.take(columns, axis=1)  # C-ordered, as steps read rows
    check_symmetric(K, "precomputed")
    return K
