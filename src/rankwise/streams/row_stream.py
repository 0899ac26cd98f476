"""Streams of judged rows that need not fit in memory: frames, Parquet files, text, chunks.

Closed-form rankers accept a stream instead of ``X``: ``ranker.fit(stream(source))``. Leave out
``y``, because the chunks contain labels, query ids and weights.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.exact_values import LARGEST_EXACT, RowError
from rankwise.checks.text_categories import SAMPLE_ROWS, category_frame
from rankwise.datasets.data import RankingData
from rankwise.datasets.letor_text import doc_ids
from rankwise.datasets.readers.delimited import (
    SIZES,
    DelimitedFile,
    FileColumns,
    arrow_types,
    check_exact_cells,
    common_columns,
    name_file_in_errors,
    name_sizes_in_errors,
    refine_by_cells,
    side_file,
    warn_of_unread,
)
from rankwise.datasets.readers.file_formats import TABLES
from rankwise.datasets.readers.letor_parse import (
    BLOCK_BYTES,
    LetorOptions,
    LetorRows,
    NoRowsError,
    parse_lines,
)
from rankwise.datasets.readers.tables import (
    ParquetTable,
    check_row_groups,
    delimiter_of,
    format_of_name,
    is_stored,
    open_parquet,
    suffix_of,
    table_files,
    valid,
)
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    cut_into_blocks,
    find_files,
    open_text,
)
from rankwise.datasets.table_columns import (
    Columns,
    IgnoredColumnsWarning,
    Kinds,
    TableRows,
    list_names,
)
from rankwise.groups import Chunk, RowStream
from rankwise.runtime.arrow import pa
from rankwise.runtime.frames import FrameColumns, text_array
from rankwise.runtime.messages import setting
from rankwise.runtime.threads import available_threads

# Rows read at a time if the source does not determine it.
CHUNK_ROWS = 1 << 14


def stream(
    source: Any,
    *,
    label: str | Literal[False] | None = None,
    qid: str | Literal[False] | None = None,
    doc_id: str | Literal[False] | None = None,
    sample_weight: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    sep: str | None = None,
    dtype: DTypeLike = np.float32,
    n_features: int | None = None,
    chunk_rows: int = CHUNK_ROWS,
    n_samples: int | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RowStream:
    """Open a stream of judged rows that ``fit``, ``predict`` and ``score`` accept as ``X``.

    Parameters
    ----------
    source : path, RankingData, iterable or callable
        - A Parquet, CSV or TSV file, a folder of them (searched through; read in the order of
          their names; names that start with ``_`` or ``.`` are skipped), a glob pattern, or a list
          of these. LETOR text, also with group sizes in a file beside it: it is parsed once and
          mapped from :func:`read_letor`'s cache.
        - A :class:`RankingData`; one that :func:`read_letor` has mapped from its cache stays on
          the disk.
        - An iterable of chunks. An iterator (a generator, say) can be read once; a list, or an
          object whose ``__iter__`` starts afresh, again.
        - A callable without arguments that returns such an iterable: can be read again.

        A chunk is a tuple ``(X, y)``, ``(X, y, qid)`` or ``(X, y, qid, sample_weight)``, a
        RankingData, a frame with all columns, or just ``X`` (to predict).
    label, qid, doc_id, sample_weight : str or False, optional
        Columns of tables and frames, by default those that :func:`read_table` takes. False:
        there is no such column (without labels a stream can only be predicted; without qid all
        rows are one query).
    features : sequence of str, optional
        Columns of X, in this order; by default all remaining numeric columns.
    ignore : sequence of str
        Columns that are not features, see :func:`read_table`.
    sep : str of length 1, optional
        Column separator of a text file; inferred from its suffix by default.
    dtype : float32 or float64
        Type of X from files and frames. Missing values become NaN.
    n_features : int, optional
        Number of columns of LETOR text; by default the largest index in the text.
    chunk_rows : int
        Number of rows per chunk of Parquet files and RankingData. Text is read a few megabytes at
        a time.
    n_samples : int, optional
        Number of rows of an iterable, if known. ``fit`` then skips a test of about a second
        that decides whether float32 rows are multiplied in float64.
    max_decompressed_bytes : int >= 1
        Maximum decompressed size of a row group of a Parquet file; by default 16 GiB.

    Returns
    -------
    RowStream

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        If the source is none of these, a file or a column is missing, or a row group of a
        Parquet file is too large.

    Notes
    -----
    The rows of a query must be in one chunk, in any order, or at the end of one and the start of
    the next; a query may extend over any number of chunks. The rows of a RankingData may be in any
    order; if they are not grouped, an index of 8 bytes per row is stored. A Parquet file takes the
    memory of one row group, a compressed text file that of its text. Query ids of text tables are
    strings. Columns of text are detected in the first megabytes of the first text file; a later
    cell that is not a number is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PairwiseELM
    >>> def chunks():
    ...     for first in range(0, 300, 100):
    ...         X = np.random.default_rng(first).random((100, 4))
    ...         yield X, np.floor(3 * X[:, 0]), first // 10 + np.arange(100) // 25
    >>> rows = stream(chunks)
    >>> ranker = PairwiseELM(n_nodes=50, C=100.0, random_state=0).fit(rows)
    >>> [len(scores) for scores in ranker.predict(rows)]
    [100, 100, 100]
    >>> ranker.score(rows) > 0.9
    True
    """
    if not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be an integer >= 1, got {chunk_rows!r}.")
    if isinstance(source, RowStream):
        return source
    if isinstance(source, RankingData):
        if source.categories:
            raise ValueError(
                "streams hold columns of numbers, but the data have categories. Read the table "
                "without categories, or encode them as numbers."
            )
        return InMemory(source, chunk_rows)
    roles = {"label": label, "qid": qid, "doc_id": doc_id, "sample_weight": sample_weight}
    columns = partial(Columns.of, **roles, features=features, ignore=ignore)
    items: list[Any] = source if isinstance(source, list) and source else [source]
    if all(isinstance(item, str | os.PathLike) for item in items):
        first = Path(items[0])
        if sep is not None or first.is_dir() or suffix_of(find_files(first)[0]) in TABLES:
            warn_of_unread(table_files(source, other=sep is not None))
            return table_stream(
                source, columns, sep, dtype, chunk_rows, max_decompressed_bytes,
                may_ignore=features is None,
            )  # fmt: skip
        if ignore or any(role is not None for role in (*roles.values(), features)):
            raise ValueError(
                f"{source} is SVMlight text, whose columns have no names. Drop label, qid, doc_id, "
                f"sample_weight, features and ignore, or pass {setting('sep')} if it is a table."
            )
        return InMemory(_read_text(source, n_features, dtype, max_decompressed_bytes), chunk_rows)
    if isinstance(source, Iterator):
        return Once(lambda: source, columns, dtype, n_samples)
    if isinstance(source, Callable):
        return Repeated(source, columns, dtype, n_samples)
    if isinstance(source, Iterable) and not isinstance(source, np.ndarray):
        return Repeated(source.__iter__, columns, dtype, n_samples)
    raise TypeError(
        f"source must be a path of files, a RankingData, an iterable of chunks or a "
        f"callable that returns one, got {type(source).__name__}. Rows in memory go into fit as "
        "they are."
    )


def table_stream(
    source: Any,
    roles: Roles,
    sep: str | None,
    dtype: DTypeLike,
    chunk_rows: int,
    max_decompressed_bytes: int,
    *,
    may_ignore: bool,
) -> ParquetFiles | DelimitedFiles:
    """A stream of Parquet files, or of text files with columns."""
    paths = table_files(source, other=sep is not None)
    if is_stored(paths[0]):
        if format_of_name(paths[0]) != "parquet":
            raise ValueError(
                f"{paths[0]}: of binary tables, only Parquet files are read chunk by chunk. Read "
                "it whole: stream(read_table(path))."
            )
        return ParquetFiles.find(paths, roles, dtype, chunk_rows, max_decompressed_bytes)
    return DelimitedFiles.find(
        paths, sep, roles, dtype, max_decompressed_bytes, may_ignore=may_ignore
    )


def _read_text(
    source: Any, n_features: int | None, dtype: DTypeLike, max_decompressed_bytes: int
) -> RankingData:
    """Rows of LETOR text, mapped from the cache, with the queries of a file beside it."""
    # The parser imports Numba, which loaded models do not need for scoring.
    from rankwise.datasets.readers.letor import read_grouped, read_letor

    files = find_files(source)
    if len(files) == 1 and side_file(files[0], SIZES):
        return read_grouped(
            files[0], dtype=dtype, n_features=n_features,
            max_decompressed_bytes=max_decompressed_bytes,
        )  # fmt: skip
    return read_letor(
        files, dtype=dtype, n_features=n_features, max_decompressed_bytes=max_decompressed_bytes
    )  # fmt: skip


# Role of each column in a table with columns of the given kinds.
Roles = Callable[..., Columns]


@dataclass(frozen=True, eq=False, repr=False)
class InMemory(RowStream):
    """Rows in memory, or mapped from a file, query by query."""

    data: RankingData
    chunk_rows: int

    @property
    def n_samples(self) -> int:
        return self.data.n_samples

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(self.data.X)

    def keys(self) -> Iterator[Chunk]:
        return self._chunks(np.empty((self.n_samples, 0)))

    def _chunks(self, X: Any) -> Iterator[Chunk]:
        data, order = self.data, self.data.groups.order
        weight = data.sample_weight
        for lo in range(0, self.n_samples, self.chunk_rows):
            rows: Any = slice(lo, lo + self.chunk_rows)
            rows = rows if order is None else order[rows]
            yield Chunk(
                X[rows],
                data.y[rows],
                data.qid[rows],
                None if weight is None else weight[rows],
                data.feature_names,
                None if data.doc_ids is None else data.doc_ids[rows],
            )


@dataclass(frozen=True, eq=False, repr=False)
class ParquetFiles(RowStream):
    """Parquet files with the same columns, one after the other."""

    paths: tuple[Path, ...]
    layout: Columns
    dtype: DTypeLike
    chunk_rows: int
    n_samples: int

    @classmethod
    def find(
        cls,
        paths: Sequence[Path],
        roles: Roles,
        dtype: DTypeLike,
        chunk_rows: int,
        max_decompressed_bytes: int,
    ) -> ParquetFiles:
        """Check the columns of the files, and that no row group is too large."""
        files, n_samples = [], 0
        for path in paths:
            with open_parquet(path) as file:
                check_row_groups(path, file.metadata, max_decompressed_bytes)
            table = ParquetTable(path)
            with name_file_in_errors(path):
                files.append((path, table.kinds))
            n_samples += table.num_rows
        found = FileColumns.join(files)
        with name_file_in_errors(paths[0]), name_sizes_in_errors(paths[0]):
            columns = roles(
                found.kinds,
                sample=lambda name: ParquetTable(found.first[name]).first_values(name, SAMPLE_ROWS),
            )
        found.check(columns)
        absolute = tuple(path.absolute() for path in paths)  # workers have their own folder
        return cls(absolute, columns, dtype, chunk_rows, n_samples)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks(self.layout)

    def keys(self) -> Iterator[Chunk]:
        roles = self.layout
        return self._chunks(Columns(None, roles.qid, None, roles.sample_weight, []))

    def _chunks(self, columns: Columns) -> Iterator[Chunk]:
        # Without a column to read, only the number of rows is known.
        names = columns.names() or None
        for path in self.paths:
            with open_parquet(path) as file, name_file_in_errors(path):
                batches = map(valid, file.iter_batches(self.chunk_rows, columns=names))
                yield from chunks_of(batches, columns, self.dtype)


def chunks_of(batches: Iterable[Any], columns: Columns, dtype: DTypeLike) -> Iterator[Chunk]:
    """Convert record batches to chunks."""
    row = 0
    for batch in batches:
        try:
            table = nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
            rows = columns.read(table, dtype)
        except RowError as error:
            raise error.at(row + error.row) from None
        except ValueError as error:
            raise ValueError(f"from row {row}: {error}") from None
        row += len(rows.X)
        yield _chunk_of(rows, columns)


def _chunk_of(rows: TableRows, columns: Columns) -> Chunk:
    X = category_frame(rows.X, columns.features, rows.categories) if rows.categories else rows.X
    return Chunk(X, rows.y, rows.qid, rows.sample_weight, columns.features, rows.doc_ids)


@dataclass(frozen=True, eq=False, repr=False)
class Repeated(RowStream):
    """Chunks of a callable that returns a new iterable on each call."""

    make: Callable[[], Iterable[Any]]
    roles: Roles
    dtype: DTypeLike
    n_samples: int | None = None

    def __iter__(self) -> Iterator[Chunk]:
        columns: Columns | None = None
        for number, item in enumerate(self.make()):
            source = FrameColumns.of(item)
            if source.frame is None:
                yield _convert_to_chunk(item, number)
                continue
            source = FrameColumns(source.in_memory())
            try:
                if columns is None:
                    columns = self.roles(source.kinds)
                else:
                    self._check_same(columns, source.kinds)
                yield _chunk_of(columns.read(source.in_memory(), self.dtype), columns)
            except ValueError as error:
                raise ValueError(f"chunk {number} of the stream: {error}") from None

    def _check_same(self, columns: Columns, kinds: Kinds) -> None:
        """Raise ValueError if a later chunk has other features than the first one."""
        missing = [name for name in columns.names() if name not in kinds]
        if missing:
            raise ValueError(
                f"columns {list_names(missing)} are missing, but the first chunk has them. Give "
                "all chunks the same columns."
            )
        with warnings.catch_warnings():  # the first chunk has warned
            warnings.simplefilter("ignore", IgnoredColumnsWarning)
            more = {*self.roles(kinds).features} - {*columns.features}
        if more:
            raise ValueError(
                f"columns {list_names(sorted(more))} hold numbers, but not in the first chunk. "
                "Give all chunks the same columns, or name the columns to use: "
                f"{setting('features')}."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Once(Repeated):
    """Chunks of an iterator, which can be read once."""

    used: list[bool] = field(default_factory=list)
    reiterable = False

    def __iter__(self) -> Iterator[Chunk]:
        if self.used:
            raise ValueError(
                "the stream's iterator has been read already. Pass a callable that returns a new "
                "iterator each time: stream(make_chunks)."
            )
        self.used.append(True)
        return super().__iter__()


def _convert_to_chunk(item: Any, number: int) -> Chunk:
    """Convert an item of an iterable to a chunk."""
    if isinstance(item, tuple):
        if not 1 <= len(item) <= 4:
            raise ValueError(
                f"chunk {number} of the stream must be (X, y), (X, y, qid) or (X, y, qid, "
                f"sample_weight), got a tuple of {len(item)}."
            )
        return Chunk(*item)
    if hasattr(item, "X") and hasattr(item, "y"):
        return Chunk(item.X, item.y, item.qid, item.sample_weight, item.feature_names)
    if hasattr(item, "shape"):
        return Chunk(item)
    raise TypeError(
        f"chunk {number} of the stream must be a tuple (X, y[, qid[, sample_weight]]), a "
        f"RankingData, a frame or X alone, got {type(item).__name__}."
    )


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
                names = file.header
            with file.name_in_errors(names):
                types = arrow_types(replace(columns, flags=flags & {*columns.features}))
                is_checked = False
                for chunk in chunks_of(file.batches(types), columns, self.dtype):
                    known = [c for c in (chunk.y, chunk.sample_weight) if c is not None]
                    is_large = any((np.abs(column) >= LARGEST_EXACT).any() for column in known)
                    if is_large and not is_checked:  # rare, and costs a second reading
                        judged = replace(columns, features=[])
                        check_exact_cells(file, file.table(arrow_types(judged)), judged)
                        is_checked = True
                    yield chunk


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
