"""Streams of text files: delimited tables, and LETOR lines that need no label."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.exact_numbers import LARGEST_EXACT
from rankwise.datasets.letor_text import doc_ids
from rankwise.datasets.readers.delimited import (
    DelimitedFile,
    arrow_types,
    check_exact_cells,
    common_columns,
    name_file_in_errors,
    refine_by_cells,
)
from rankwise.datasets.readers.letor_parse import (
    BLOCK_BYTES,
    LetorOptions,
    LetorRows,
    NoRowsError,
    parse_lines,
)
from rankwise.datasets.readers.tables import delimiter_of
from rankwise.datasets.readers.textfiles import cut_into_blocks, open_text
from rankwise.datasets.table_columns import Columns
from rankwise.runtime.column_values import text_array
from rankwise.runtime.threads import available_threads
from rankwise.streams.stream_sources import Chunk, Roles, RowStream, chunks_of

LETOR_BYTES = 1 << 24  # of text in one chunk


@dataclass(frozen=True, eq=False, repr=False)
class DelimitedFiles(RowStream):
    """CSV files and the like with the same columns, one after the other."""

    paths: tuple[Path, ...]
    delimiter: str
    layout: Columns
    dtype: DTypeLike
    max_decompressed_bytes: int
    flags: tuple[frozenset[str], ...]  # columns of each file that are written as true and false
    n_samples = None

    @classmethod
    def find(
        cls,
        paths: Sequence[Path],
        sep: str | None,
        roles: Roles,
        dtype: DTypeLike,
        max_decompressed_bytes: int,
        *,
        may_ignore: bool,
    ) -> DelimitedFiles:
        """Look at the headers, and at some rows for flags and, with ``may_ignore``, text."""
        delimiter = delimiter_of(paths[0], sep)
        files = [DelimitedFile.of(path, delimiter, max_decompressed_bytes) for path in paths]
        columns = common_columns(files, roles)
        layouts = refine_by_cells(files, columns, may_ignore=may_ignore, most_batches=1)
        absolute = tuple(path.absolute() for path in paths)  # workers have their own folder
        flags = tuple(layout.flags for layout in layouts)
        return cls(absolute, delimiter, layouts[0], dtype, max_decompressed_bytes, flags)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(self.layout)

    def keys(self) -> Iterator[Chunk]:
        roles = self.layout
        names = (roles.qid, roles.sample_weight)
        if names == (None, None):  # some column is needed to know the number of rows
            return self._chunks(roles)
        return self._chunks(Columns(None, roles.qid, None, roles.sample_weight, []))

    def _chunks(self, columns: Columns) -> Iterator[Chunk]:
        for path, flags in zip(self.paths, self.flags, strict=True):
            with name_file_in_errors(path):
                file = DelimitedFile.of(path, self.delimiter, self.max_decompressed_bytes)
                names = file.header()
            with file.name_in_errors(names):
                types = arrow_types(replace(columns, flags=flags & {*columns.features}))
                is_checked = False
                for chunk in chunks_of(file.batches(types), columns, self.dtype):
                    if not is_checked and _holds_large(chunk):  # rare, and costs a second reading
                        judged = replace(columns, features=[])
                        check_exact_cells(file, file.table(arrow_types(judged)), judged)
                        is_checked = True
                    yield chunk


def _holds_large(chunk: Chunk) -> bool:
    """Whether a chunk has labels or weights beyond the whole numbers of float64."""
    values = (chunk.y, chunk.sample_weight)
    return any(part is not None and (np.abs(part) >= LARGEST_EXACT).any() for part in values)


@dataclass(frozen=True, eq=False, repr=False)
class UnjudgedLetor(RowStream):
    """LETOR text without labels; labels that are present are not read.

    Query ids are text. Whether rows are dense, and whether indices start at 0 or 1 (unless
    ``zero_based`` says it), is decided by the first chunk.
    """

    paths: tuple[Path, ...]
    n_features: int
    dtype: DTypeLike
    max_decompressed_bytes: int
    zero_based: bool | Literal["auto"] = "auto"
    n_samples = None

    def __iter__(self) -> Iterator[Chunk]:
        options = LetorOptions(
            np.dtype(self.dtype), self.n_features, zero_based=self.zero_based, no_label=True
        )
        first = True
        for path in self.paths:
            file = open_text(path, self.max_decompressed_bytes)
            blocks = iter(cut_into_blocks(file, BLOCK_BYTES))
            while some := list(itertools.islice(blocks, LETOR_BYTES // BLOCK_BYTES)):
                try:
                    rows = parse_lines(some, options, available_threads())
                except NoRowsError:
                    continue
                if first:
                    is_dense = isinstance(rows.X, np.ndarray)
                    options = replace(options, dense=is_dense, zero_based=rows.base == 0)
                    first = False
                yield _chunk(rows)
            file.check_unchanged()


def _chunk(rows: LetorRows) -> Chunk:
    names = None if rows.comments is None else doc_ids(rows.comments)
    qid = None
    if rows.has_qid:
        qid = text_array(rows.qid if isinstance(rows.qid, list) else list(map(str, rows.qid)))
    return Chunk(rows.X, None, qid, doc_ids=None if names is None else text_array(names))
