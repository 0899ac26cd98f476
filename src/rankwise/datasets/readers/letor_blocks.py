"""Parse blocks of SVMlight/LETOR lines to arrays: one serial kernel per block, blocks on threads.

Every block is read twice. The first pass counts its rows, so that each block knows where its rows
go; in the second pass, the block is in the page cache. Blocks are small enough for a core's cache.
The file may change between the passes, so the parser is given the number of available rows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.letor_errors import (
    INFINITE,
    NUMBER,
    bad_number,
    bad_token,
    too_large,
)
from rankwise.datasets.readers.textfiles import ChangedError, LineBlock
from rankwise.kernels import svmlight as kernel
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray


@dataclass(frozen=True)
class Layout:
    """Layout of the rows written while parsing; see ``plan`` in :func:`kernel.parse_block`."""

    dense: bool
    base: int
    width: int
    text_qid: bool = False
    no_label: bool = False


@dataclass(frozen=True)
class BlockResult:
    """Result of parsing one block."""

    state: NDArray[np.int64]  # (kernel.N_STATE,)
    text: bytes
    values: FloatArray  # of entries, (n_entries,), as ``indices``; empty if rows are written dense
    indices: NDArray[np.int32]
    # Position (byte in the file) and reason of the first malformed token
    error: tuple[int, str] | None


@dataclass(frozen=True)
class Parsed:
    """All blocks parsed in one layout; ``values`` is the matrix if dense, else the entries."""

    blocks: Sequence[LineBlock]
    results: list[BlockResult]
    states: NDArray[np.int64]
    y: Float64Array
    qid: NDArray[np.int64]
    weight: Float64Array
    sizes: NDArray[np.int64]
    values: FloatArray


def count_rows(blocks: Sequence[LineBlock], n_threads: int) -> NDArray[np.int64]:
    """Number of rows of each block: lines that are neither blank nor comments."""
    scratch = _Scratch(_most_bytes(blocks), 0, np.float32)

    def count(block: LineBlock) -> int:
        return kernel.count_rows(scratch.buf, scratch.load(block))

    return np.array(thread_map(count, blocks, n_threads), dtype=np.int64)


def parse_blocks(
    blocks: Sequence[LineBlock],
    n_rows: NDArray[np.int64],
    layout: Layout,
    dtype: Any,
    n_features: int | None,
    n_threads: int,
) -> Parsed:
    """Parse the blocks; malformed lines are reported in the results, not raised.

    ``n_features`` is used only in error messages. ChangedError: a block does not have ``n_rows``
    rows. ValueError: a dense matrix does not fit into memory.
    """
    most_bytes = _most_bytes(blocks)
    scratch = _Scratch(most_bytes, 0 if layout.dense else most_bytes // 2 + 1, dtype)
    first_rows = np.concatenate([[0], np.cumsum(n_rows)]).astype(np.int64)
    total = int(first_rows[-1])
    y, qid, weight = np.empty(total), np.empty(total, dtype=np.int64), np.empty(total)
    sizes = np.empty((total, 2), dtype=np.int64)
    matrix = dense_zeros(blocks, total if layout.dense else 0, layout.width, dtype).reshape(-1)

    def parse(number: int) -> BlockResult:
        block = blocks[number]
        n_bytes = scratch.load(block)
        plan = np.array(
            [
                0,
                n_bytes,
                first_rows[number],
                layout.base,
                layout.width,
                layout.dense,
                layout.text_qid,
                first_rows[number + 1],
                layout.no_label,
            ],
            dtype=np.int64,
        )
        state = np.zeros(kernel.N_STATE, dtype=np.int64)
        values = matrix if layout.dense else scratch.values
        kernel.parse_block(
            scratch.buf,
            plan,
            y,
            qid,
            weight,
            sizes,
            values,
            scratch.indices,
            scratch.text,
            scratch.hard,
            state,
        )
        status, at = int(state[kernel.STATUS]), int(state[kernel.AT])
        if status == kernel.TOO_MANY_ROWS or (
            status == kernel.OK and state[kernel.ROWS] != n_rows[number]
        ):
            raise ChangedError(block.file.path)
        errors = _settle(scratch, state, values, y)
        errors += _find_hidden_line(scratch.buf[:n_bytes].tobytes())
        if status in (kernel.BAD_TOKEN, kernel.DUPLICATE) or (
            status == kernel.TOO_WIDE and not layout.dense
        ):
            line = scratch.buf[at:n_bytes].tobytes()
            errors.append((at, bad_token(line, status, n_features)))
        n_entries = 0 if layout.dense else int(state[kernel.ENTRIES])
        return BlockResult(
            state,
            scratch.text[: state[kernel.TEXT]].tobytes(),
            scratch.values[:n_entries].copy(),
            scratch.indices[:n_entries].copy(),
            min(((block.start + byte, reason) for byte, reason in errors), default=None),
        )

    results = thread_map(parse, range(len(blocks)), n_threads)
    states = np.array([result.state for result in results]).reshape(-1, kernel.N_STATE)
    if layout.dense:
        values = matrix.reshape(total, layout.width)
    else:
        values = np.concatenate([matrix, *(result.values for result in results)])
    return Parsed(blocks, results, states, y, qid, weight, sizes, values)


def _find_hidden_line(text: bytes) -> list[tuple[int, str]]:
    """Position of the first carriage return in a comment, whose line would be lost, and a reason.

    Elsewhere, a line that is ended by a carriage return alone is malformed.
    """
    # Counting takes half as long as parsing; most files have no carriage return.
    if b"\r" not in text or text.count(b"\r") == text.count(b"\r\n"):
        return []
    start = 0
    for line in text.split(b"\n"):
        body = line.rstrip()
        comment = body.find(b"#")
        place = body.find(b"\r", comment) if comment >= 0 else -1
        if place >= 0:
            reason = "a carriage return in a comment hides what follows; end lines by a line feed"
            return [(start + place, reason)]
        start += len(line) + 1
    return []


def dense_zeros(blocks: Sequence[LineBlock], n_rows: int, width: int, dtype: Any) -> FloatArray:
    """Matrix of zeros; raises ValueError with the file names if it does not fit into memory."""
    try:
        return np.zeros((n_rows, width), dtype=dtype)
    except (MemoryError, ValueError):  # ValueError: too large to address
        n_bytes = n_rows * width * np.dtype(dtype).itemsize
        raise ValueError(
            f"{file_names(blocks)}: {n_rows:,} rows of {width:,} columns as a dense matrix need "
            f"{n_bytes / 2**30:,.1f} GiB. Read with dense=False."
        ) from None


def file_names(blocks: Sequence[LineBlock]) -> str:
    """Names of the files of the blocks, each once."""
    return ", ".join(dict.fromkeys(str(block.file.path) for block in blocks))


def _most_bytes(blocks: Sequence[LineBlock]) -> int:
    return max((block.stop - block.start for block in blocks), default=0)


class _Scratch(threading.local):
    """Buffers of one thread that fit any block."""

    def __init__(self, n_bytes: int, n_entries: int, dtype: Any) -> None:
        self.buf = np.empty(n_bytes + 1 + kernel.SPARE_BYTES, dtype=np.uint8)
        self.text = np.empty(n_bytes, dtype=np.uint8)
        self.hard = np.empty((n_bytes // 2 + 1, 3), dtype=np.int64)
        self.values = np.empty(n_entries, dtype=dtype)
        self.indices = np.empty(n_entries, dtype=np.int32)

    def load(self, block: LineBlock) -> int:
        """Load a block, ended by a newline, and return its number of bytes."""
        n = block.stop - block.start
        block.file.read_into(self.buf[:n], block.start)
        if self.buf[n - 1] != 10:
            self.buf[n] = 10
            n += 1
        self.buf[n : n + kernel.SPARE_BYTES] = 0
        return n


def _settle(
    scratch: _Scratch, state: NDArray[np.int64], values: FloatArray, y: Float64Array
) -> list[tuple[int, str]]:
    """Convert the tokens that the kernel left; return position and reason of the first bad one.

    Writes into ``values`` and ``y``.
    """
    with np.errstate(over="ignore"):  # overflow of float32 becomes infinite, and is reported
        for slot, start, stop in scratch.hard[: state[kernel.HARD]].tolist():
            token = scratch.buf[start:stop].tobytes()
            if not NUMBER.fullmatch(token):
                return [(start, bad_number(token, is_label=slot < 0))]
            target, at = (y, -1 - slot) if slot < 0 else (values, slot)
            target[at] = float(token)
            if np.isinf(target[at]) and not INFINITE.fullmatch(token):
                return [(start, too_large(token, target.dtype))]
    return []
