"""Parse SVMlight/LETOR files into one table.

A small sample estimates the width and density of the rows. Dense rows are then written directly
into the matrix. If the estimate is wrong (a wider row, indices not ascending), or the data are
sparse, the entries are first collected as CSR. The estimate affects only the time, never the
result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.exact_numbers import LARGEST_EXACT, token_changes
from rankwise.datasets.letor_text import NotUtf8Error, split_text
from rankwise.datasets.readers.letor_blocks import (
    Layout,
    Parsed,
    count_rows,
    dense_zeros,
    file_names,
    parse_blocks,
)
from rankwise.datasets.readers.letor_errors import NUMBER, iterate_rows, raise_at
from rankwise.datasets.readers.textfiles import (
    ChangedError,
    LineBlock,
    TextFile,
    cut_into_blocks,
    find_line_start,
)
from rankwise.kernels import svmlight as kernel
from rankwise.runtime.threads import available_threads
from rankwise.typing import Float64Array, Matrix

BLOCK_BYTES = 1 << 20
DENSE_FROM = 0.25  # minimum share of written entries for dense rows
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
        rows = _parse_files(files, options, n_threads or available_threads(), block_bytes)
    except ChangedError:
        raise
    except ValueError:  # a file being written may look malformed
        _check_unchanged(files)
        raise
    _check_unchanged(files)
    return rows


def _check_unchanged(files: Sequence[TextFile]) -> None:
    for file in files:
        file.check_unchanged()


def _parse_files(
    files: Sequence[TextFile], options: LetorOptions, n_threads: int, block_bytes: int
) -> LetorRows:
    blocks = [block for file in files for block in cut_into_blocks(file, block_bytes)]
    if not blocks:
        raise NoRowsError(", ".join(str(file.path) for file in files))
    return parse_lines(blocks, options, n_threads)


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
