"""Parse SVMlight/LETOR files into one table: a serial kernel per block of lines, on threads.

A small sample estimates the width and density of the rows. Dense rows are then written directly
into the matrix. If the estimate is wrong (a wider row, indices not ascending), or the data are
sparse, the entries are first collected as CSR. The estimate affects only the time, never the
result.

Every block is read twice. The first pass counts its rows, so that each block knows where its rows
go; in the second pass, the block is in the page cache. Blocks are small enough for a core's cache.
The file may change between the passes, so the parser is given the number of available rows.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.exact_values import LARGEST_EXACT, token_changes
from rankwise.datasets.letor_text import NotUtf8Error, split_text
from rankwise.datasets.readers.textfiles import (
    ChangedError,
    LineBlock,
    TextFile,
    cut_into_blocks,
    find_line_start,
)
from rankwise.kernels import svmlight as kernel
from rankwise.kernels.svmlight import DUPLICATE, LARGEST_INDEX, TOO_WIDE
from rankwise.runtime.jit import run_few
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import Float64Array, FloatArray, Matrix

BLOCK_BYTES = 1 << 20
DENSE_FROM = 0.25  # minimum share of written entries for dense rows
# Steps of plain Python, which parses numbers by words of eight bytes.
STEPS_PER_BYTE = 4
_SAMPLE_BLOCKS, _SAMPLE_BYTES = 8, 1 << 16


class NoRowsError(ValueError):
    """Some lines contain no rows."""

    def __init__(self, names: str) -> None:
        super().__init__(f"{names}: no rows. Every row is a line 'label qid:id index:value ...'.")


@dataclass(frozen=True)
class LetorOptions:
    """Options that determine the result of reading, apart from the files.

    With ``no_label``, lines may begin with their query id or first feature.
    """

    dtype: Any = np.float32
    n_features: int | None = None
    dense: bool | Literal["auto"] = "auto"
    zero_based: bool | Literal["auto"] = "auto"
    no_label: bool = False

    def collecting(self) -> Layout:
        """Layout that accepts rows of any width, in any order."""
        base = 1 if self.zero_based is False else 0
        if self.n_features is None:
            width = kernel.LARGEST_INDEX + 1
        else:
            width = self.n_features + (self.zero_based == "auto")
        return Layout(False, base, width, no_label=self.no_label)

    def base(self, states: NDArray[np.int64]) -> int:
        """Index of the first column in the files."""
        if self.zero_based == "auto":
            return 0 if states[:, kernel.LOWEST].min() == 0 else 1
        return 0 if self.zero_based else 1

    def wants_dense(self, entries: int, rows: int, width: int) -> bool:
        """Whether a matrix with the given number of written entries should be dense."""
        return entries >= DENSE_FROM * rows * width if self.dense == "auto" else self.dense


@dataclass(frozen=True)
class LetorRows:
    """Content of the files, row by row: X is (n_rows, n_features), the others (n_rows,)."""

    X: Matrix
    y: Float64Array  # NaN if a line has no label
    qid: NDArray[np.int64] | list[str]  # a list if the ids are text; zeros if no row has one
    comments: list[str] | None
    base: int  # index of the first column in the files, 0 or 1
    has_qid: bool
    # Numbers after ``cost:``, 1 for rows without one; None if no row has one
    weight: Float64Array | None


def parse_files(
    files: Sequence[TextFile],
    options: LetorOptions,
    n_threads: int | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> LetorRows:
    """Parse the files as one; the result does not depend on ``n_threads`` or ``block_bytes``.

    ValueError is raised at the first malformed line, or if there are no rows.
    """
    try:
        blocks = [block for file in files for block in cut_into_blocks(file, block_bytes)]
        if not blocks:
            raise NoRowsError(", ".join(str(file.path) for file in files))
        rows = parse_lines(blocks, options, n_threads or available_threads())
    except ChangedError:
        raise
    except ValueError:  # a file being written may look malformed
        for file in files:
            file.check_unchanged()
        raise
    for file in files:
        file.check_unchanged()
    return rows


def parse_lines(blocks: Sequence[LineBlock], options: LetorOptions, n_threads: int) -> LetorRows:
    """Parse the lines of some blocks; the caller checks that the files have not changed.

    NoRowsError is raised if there are no rows, and ValueError at the first malformed line.
    """
    n_rows = count_rows(blocks, n_threads)
    if not n_rows.any():
        raise NoRowsError(file_names(blocks))

    def parse(some: Sequence[LineBlock], rows: NDArray[np.int64], layout: Layout) -> Parsed:
        return parse_blocks(some, rows, layout, options.dtype, options.n_features, n_threads)

    layout = options.collecting()
    if options.dense is not False:
        sample = _sample(blocks)
        guessed = _guess(parse(sample, count_rows(sample, n_threads), layout), layout, options)
        # A file that is dense has four bytes or more for every entry, one cell of four.
        n_bytes = sum(block.stop - block.start for block in blocks)
        if options.dense is True or int(n_rows.sum()) * guessed.width <= n_bytes:
            layout = guessed
    parsed = parse(blocks, n_rows, layout)
    while (better := _better(layout, parsed, options)) != layout:
        layout = better
        parsed = parse(blocks, n_rows, layout)
    _raise_first_error(parsed)
    _refuse_changed_labels(parsed)
    X = parsed.values if layout.dense else _collected(parsed, options)
    text = b"".join(result.text for result in parsed.results)
    text_bytes = np.maximum(parsed.sizes[:, 1], 0) + (parsed.qid if layout.text_qid else 0)
    if b"\0" in text:
        row = int(np.searchsorted(np.cumsum(text_bytes), text.index(b"\0"), side="right"))
        _raise_in_row(parsed, row, rb"(\0)", "a NUL character in a query id or a comment")
    try:
        qid, comments = split_text(
            text, parsed.qid if layout.text_qid else None, parsed.sizes[:, 1]
        )
    except NotUtf8Error as error:
        pattern = rb"(qid:)" if error.what == "query id" else rb"(#)"
        _raise_in_row(parsed, error.row, pattern, f"the {error.what} is not UTF-8 text")
    return LetorRows(
        X,
        parsed.y,
        parsed.qid if qid is None else qid,
        comments,
        layout.base if layout.dense else options.base(parsed.states),
        bool((parsed.states[:, kernel.QID_AT] >= 0).any()),
        np.nan_to_num(parsed.weight, nan=1.0) if parsed.states[:, kernel.COSTS].any() else None,
    )


def _sample(blocks: Sequence[LineBlock]) -> list[LineBlock]:
    """First lines of a few evenly spread blocks."""
    chosen = blocks[:: max(1, len(blocks) // _SAMPLE_BLOCKS)][:_SAMPLE_BLOCKS]
    return [
        replace(b, stop=min(b.stop, find_line_start(b.file, b.start + _SAMPLE_BYTES)))
        for b in chosen
    ]


def _guess(sample: Parsed, collecting: Layout, options: LetorOptions) -> Layout:
    """Layout that suits the sample."""
    collecting = _better(collecting, sample, options)
    states = sample.states
    base = options.base(states)
    width = options.n_features or int(states[:, kernel.HIGHEST].max()) - base + 1
    entries, rows = (int(states[:, field].sum()) for field in (kernel.ENTRIES, kernel.ROWS))
    unfit = width < 1 or states[:, kernel.UNORDERED].any()
    if unfit or not options.wants_dense(entries, rows, width):
        return collecting
    return Layout(True, base, width, collecting.text_qid, options.no_label)


def _better(layout: Layout, parsed: Parsed, options: LetorOptions) -> Layout:
    """The layout itself if it was sufficient, else one that is."""
    status = parsed.states[:, kernel.STATUS]
    better = layout
    if layout.dense:
        misfit = np.isin(status, (kernel.TOO_WIDE, kernel.NOT_ASCENDING)).any()
        entries = int(parsed.states[:, kernel.ENTRIES].sum())
        too_sparse = not options.wants_dense(entries, len(parsed.y), layout.width)
        if misfit or (too_sparse and not status.any()):
            better = replace(options.collecting(), text_qid=layout.text_qid)
    if (status == kernel.QID_IS_TEXT).any():
        better = replace(better, text_qid=True)
    return better


def _raise_first_error(parsed: Parsed) -> None:
    """Raise for the first malformed token, or the first row with a missing or unexpected qid."""
    firsts, errors = [], []
    for field, reason in (
        (kernel.QID_AT, "this row has a qid, but earlier ones have none"),
        (kernel.NO_QID_AT, "this row has no qid, but earlier ones have"),
    ):
        numbers = np.flatnonzero(parsed.states[:, field] >= 0)
        if len(numbers):
            number = int(numbers[0])
            byte = parsed.blocks[number].start + int(parsed.states[number, field])
            firsts.append((number, byte, f"{reason}; add a qid to every row, or to none"))
    if len(firsts) == 2:
        errors.append(max(firsts))
    for number, result in enumerate(parsed.results):
        if result.error is not None:
            errors.append((number, *result.error))
            break
    if errors:
        number, byte, reason = min(errors)
        raise_at(parsed.blocks[number].file, byte, reason)


def _refuse_changed_labels(parsed: Parsed) -> None:
    """Raise for the first label whose whole number float64 changes."""
    is_large = np.abs(parsed.y) >= LARGEST_EXACT
    ends = np.cumsum(parsed.states[:, kernel.ROWS])
    for number in np.unique(np.searchsorted(ends, np.flatnonzero(is_large), side="right")):
        block = parsed.blocks[number]
        first = int(ends[number] - parsed.states[number, kernel.ROWS])
        rows = iterate_rows(block.file, block.start, block.stop)
        for row, (_, byte, line) in enumerate(rows, start=first):
            label = NUMBER.match(line.lstrip()) if is_large[row] else None
            if label is not None and token_changes(label.group()):
                reason = (
                    f"the label {label.group().decode()} is a whole number that float64 changes"
                )
                raise_at(block.file, byte, f"{reason}; subtract a common offset")


def _collected(parsed: Parsed, options: LetorOptions) -> Matrix:
    """CSR of the collected entries, or a dense matrix if requested."""
    base = options.base(parsed.states)
    entries, rows = len(parsed.values), len(parsed.y)
    highest = int(parsed.states[:, kernel.HIGHEST].max()) if entries else base - 1
    width = highest - base + 1 if options.n_features is None else options.n_features
    if highest - base >= width:
        raise ValueError(
            f"{file_names(parsed.blocks)}: indices run from 0 to {highest}, which is more than "
            f"n_features={width} columns. Raise n_features or leave it out."
        )
    indices = np.concatenate([result.indices for result in parsed.results])
    indices -= np.int32(base)
    indptr = np.zeros(rows + 1, dtype=np.int32 if entries <= kernel.LARGEST_INDEX else np.int64)
    np.cumsum(parsed.sizes[:, 0], out=indptr[1:])
    X: Any = sparse.csr_matrix((parsed.values, indices, indptr), shape=(rows, width))
    if parsed.states[:, kernel.UNORDERED].any():
        X.has_sorted_indices = False
        X.sort_indices()
        _refuse_duplicates(parsed, X, base)
    if not options.wants_dense(entries, rows, width):
        return X
    dense = dense_zeros(parsed.blocks, rows, width, X.dtype)
    dense[np.repeat(np.arange(rows), np.diff(X.indptr)), X.indices] = X.data  # keeps a -0.0
    return dense


def _refuse_duplicates(parsed: Parsed, X: sparse.csr_matrix, base: int) -> None:
    """Raise for a repeated index in a row; the kernel detects only adjacent repetitions."""
    same = np.flatnonzero(X.indices[1:] == X.indices[:-1]) + 1
    rows = np.searchsorted(X.indptr, same, side="right") - 1
    within = same > X.indptr[rows]
    if not within.any():
        return
    entry, row = int(same[within][0]), int(rows[within][0])
    index = int(X.indices[entry]) + base
    # A line without a label starts with an index.
    pattern = rb"(?:^|\s)(0*%d:)" % index
    _raise_in_row(parsed, row, pattern, f"index {index} occurs twice in this row", 1)


def _raise_in_row(parsed: Parsed, row: int, pattern: bytes, reason: str, skip: int = 0) -> NoReturn:
    """Raise ValueError at a pattern in a row, after skipping ``skip`` occurrences."""
    ends = np.cumsum(parsed.states[:, kernel.ROWS])
    number = int(np.searchsorted(ends, row, side="right"))
    block = parsed.blocks[number]
    row -= int(ends[number] - parsed.states[number, kernel.ROWS])
    rows = iterate_rows(block.file, block.start, block.stop)
    for _, byte, line in islice(rows, row, None):
        places = [match.start(1) for match in re.finditer(pattern, line)]
        raise_at(block.file, byte + places[skip], reason)
    raise ChangedError(block.file.path)


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
        stop = scratch.load(block)
        return run_few(kernel.count_rows, stop, scratch.buf, stop)

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
        run_few(
            kernel.parse_block,
            STEPS_PER_BYTE * (block.stop - block.start),
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


# Numbers of ``float`` without underscores and non-ASCII digits. Possessive: time is linear.
NUMBER = re.compile(
    rb"[+-]?(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?|nan)", re.IGNORECASE
)
INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_TOKEN = re.compile(rb"[^\s#]*")


def bad_number(token: bytes, *, is_label: bool) -> str:
    """Reason why a label or a value cannot be read."""
    if is_label:
        return f"the label must be a number, got {_show(token)}"
    if not token:
        return "a number must follow the colon, without a space"
    return f"the value must be a number, got {_show(token)}"


def too_large(token: bytes, dtype: Any) -> str:
    """Message for a decimal number that exceeds ``dtype``."""
    fits_float64 = math.isfinite(float(token))
    fix = "read with dtype=np.float64" if fits_float64 else "write inf if infinity is meant"
    return f"{_show(token)} is too large for {dtype}; {fix}"


def bad_token(line: bytes, status: int, n_features: int | None) -> str:
    """Reason why parsing stopped at the beginning of ``line``."""
    found = _TOKEN.match(line)
    token = found.group() if found else b""
    index = token.partition(b":")[0]
    shown = index.lstrip(b"0").decode("utf-8", "replace") or "0"
    if token.startswith(b"qid:"):
        return (
            "a query id must follow qid:"
            if token == b"qid:"
            else (f"qid must come once, right after the label, got {_show(token)}")
        )
    if token.startswith(b"cost:"):
        return f"cost: must come once, with a finite number >= 0, got {_show(token)}"
    if token.startswith(b"sid:"):
        return f"{_show(token)} sets the slack of a row in SVMlight, which is not read; remove it"
    if b":" not in token or not index.isdigit():
        return f"expected index:value with a whole index >= 0, got {_show(token)}"
    if status == DUPLICATE:
        return f"index {_cut(shown)} occurs twice in this row"
    if status == TOO_WIDE and shown == "0":
        return "index 0 in a file whose indices start at 1 (zero_based=False)"
    if status == TOO_WIDE:
        return f"index {_cut(shown)} is too large for n_features={n_features}"
    return f"index {_cut(shown)} is larger than {LARGEST_INDEX}"


def raise_at(file: TextFile, position: int, reason: str) -> NoReturn:
    """Raise ValueError with file, line, column (both from 1, in bytes) and reason."""
    line, line_start, at, step = 1, file.start, file.start, 1 << 20
    while at < position:
        part = file.read(at, min(at + step, position))
        if b"\n" in part:
            line += part.count(b"\n")
            line_start = at + part.rfind(b"\n") + 1
        at += len(part)
    rest = file.read(position, position + step)
    hint = ""
    if b"\n" not in rest and position + len(rest) >= file.stop:
        hint = " The file ends in this line without a newline: is it cut off?"
    raise ValueError(
        f"{file.path}, line {line}, column {position - line_start + 1}: {reason}.{hint}"
    )


def find_line(file: TextFile, row: int) -> tuple[int | None, int]:
    """Number of the line of a row, None beyond the last one; and the number of rows up to it."""
    n_rows = 0
    for number, _, _ in iterate_rows(file, file.start, file.stop):
        if n_rows == row:
            return number, n_rows
        n_rows += 1
    return None, n_rows


def iterate_rows(file: TextFile, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
    """Number, first byte and text of each line of a part that is a row; lines count from 1."""
    byte = start
    for number, line in enumerate(file.read(start, stop).split(b"\n"), start=1):
        if line.partition(b"#")[0].strip():
            yield number, byte, line
        byte += len(line) + 1


def _show(token: bytes) -> str:
    return repr(_cut(token.decode("utf-8", "backslashreplace")))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
