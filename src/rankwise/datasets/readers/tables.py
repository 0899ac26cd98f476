"""Judged rows from tables: CSV, TSV and Parquet files, and frames supported by narwhals.

One column holds the label, and one the query. Every other column of numbers is a feature unless it
is assigned as document id or weight.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.text_categories import SAMPLE_ROWS
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import (
    NO_VALUES,
    DelimitedFile,
    FileColumns,
    name_file_in_errors,
    name_sizes_in_errors,
    read_delimited,
    warn_of_unread,
)
from rankwise.datasets.readers.file_formats import (
    DELIMITERS,
    FORMATS,
    STORED,
    TABLES,
)
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    PathLike,
    check_limit,
    find_files,
)
from rankwise.datasets.table_columns import (
    Columns,
    LargeNumbers,
    Roles,
    TableRows,
    warn_of_merged,
)
from rankwise.runtime.arrow import pa, pa_parquet, pa_types
from rankwise.runtime.files import COMPRESSIONS
from rankwise.runtime.frames import check_unique
from rankwise.runtime.messages import setting


def read_table(
    path: PathLike | Sequence[PathLike],
    *,
    label: str | None = None,
    qid: str | Literal[False] | None = None,
    doc_id: str | Literal[False] | None = None,
    sample_weight: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    score_columns: Sequence[str] = (),
    unjudged: float | Literal["missing"] | None = None,
    categories: bool | Sequence[str] = False,
    ignore: Sequence[str] = (),
    sep: str | None = None,
    dtype: DTypeLike = np.float32,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RankingData:
    """Read CSV, TSV or Parquet files with one row per document.

    Parameters
    ----------
    path : path, glob pattern, folder, or list of these
        Files ``.csv``, ``.tsv`` or ``.tab`` with a header line, optionally compressed (``.gz``,
        ``.bz2``, ``.xz``, ``.zst``), or ``.parquet`` or ``.pq``. Several files of one kind form one
        table. A folder stands for all such files in it and its subfolders, sorted by name; names
        that start with ``_`` or ``.`` are skipped.
    label, qid : str, optional
        Columns of labels and queries, in any case (default: relevance, label, grade, rel, rating,
        judgement, judgment, y or target; and qid, query_id, q_id, query-id, queryid, query, q or,
        without these, topic). ``qid=False``: all rows are one query.
    doc_id, sample_weight : str or False, optional
        Columns of document ids and weights (default, if present: doc_id, docno, docid, corpus-id,
        document_id, with a hyphen or an underscore, or, without these, pid, doc, document,
        product_id, item_id, sku or asin; and sample_weight). False: no such column.
    features : sequence of str, optional
        Columns of X, in this order (default: all remaining columns of numbers, without those with
        a name of ids, such as id, and those that number the rows of several queries from the first
        to the last). In a text file, a column counts as text if most of its cells are not numbers.
    score_columns : sequence of str
        Columns with scores of existing systems. They are features too, unless ``ignore`` names
        them or ``features`` does not.
    unjudged : number or "missing", optional
        Label of rows without a judgement, such as -1; "missing": an empty cell. See
        ``RankingData.judged``. None: every row needs a label.
    categories : bool or sequence of str
        Columns of text that are features, see ``RankingData.categories``. True: all whose values
        are in two rows or more on average and are neither dates nor numbers with units, or that
        ``features`` names. Names: these columns, of text or of numbers. False: none.
    ignore : sequence of str
        Columns that are not features. A column that has the usual name of document ids or weights
        loses that role. The columns of labels and queries cannot be ignored.
    sep : str of length 1, optional
        Column separator of text files (default: from the suffix). If given, files with any other
        suffix are read as text too.
    dtype : float32 or float64
        Type of X. Missing values become NaN; numbers that exceed the type are an error.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, and of the columns of a Parquet file in memory, in
        bytes; by default 16 GiB, and for text of more than 64 MiB at most 200 times the file.

    Returns
    -------
    RankingData
        Judged rows. Query ids from text files are integers if all of them are integers, else
        strings.

    Raises
    ------
    ValueError
        If the suffix is unknown, or a column is missing, has an ambiguous role or holds values of
        the wrong kind. The message names column and line of a bad cell in a text file.
    FileNotFoundError
        If the file does not exist.

    Warns
    -----
    IgnoredColumnsWarning
        If columns do not hold numbers and ``features`` is not given.
    UserWarning
        If the folder has a side file of group sizes or weights for a table: it is not read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankwise.datasets import read_table
    >>> rows = ["query,document,price,clicks,grade", "1,a,9.5,30,2", "1,b,7.0,4,0"]
    >>> rows += ["2,a,9.5,30,1"]
    >>> _ = Path("mine.csv").write_text("\\n".join(rows))
    >>> data = read_table("mine.csv")
    >>> data.feature_names, data.y, data.qid
    (['price', 'clicks'], array([2., 0., 1.]), array([1, 1, 2]))
    """
    paths = table_files(path, other=sep is not None)
    roles = Roles(
        label, qid, doc_id, sample_weight, features, tuple(score_columns), unjudged, categories,
        ignore,
    )  # fmt: skip
    if is_stored(paths[0]):
        tables = [open_stored(path, max_decompressed_bytes) for path in paths]
        columns, rows = _read_stored(paths, tables, roles, dtype)
    else:
        delimiter = delimiter_of(paths[0], sep)
        files = [DelimitedFile.of(path, delimiter, max_decompressed_bytes) for path in paths]
        columns, rows = read_delimited(files, roles, dtype)
    columns, rows = columns.without_unusable(rows, roles)
    warn_of_unread(paths)
    return RankingData.from_rows(
        rows, columns.features, _name(path, paths), unjudged, columns.left_out
    )


# Alias from before RankingData had this method.
from_frame = RankingData.from_frame


def suffix_of(path: Path) -> str:
    """Suffix in lower case, ignoring a suffix for compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of_name(path: Path) -> str | None:
    """Name in FORMATS of the format that the suffix of a file implies."""
    suffix = suffix_of(path)
    return next((name for name, found in FORMATS.items() if suffix in found.suffixes), None)


def is_stored(path: Path) -> bool:
    """Whether the name of a file is that of a binary table."""
    return suffix_of(path) in STORED


def delimiter_of(path: Path, sep: str | None) -> str:
    """Column separator of a text file."""
    if sep is None:
        suffix = suffix_of(path)
        if suffix not in DELIMITERS:
            raise ValueError(
                f"{path}: {suffix or 'no suffix'!r} does not tell how columns are separated; known "
                f"suffixes are {', '.join(DELIMITERS)}. Pass {setting('sep', ',')}."
            )
        return DELIMITERS[suffix]
    if len(sep) != 1 or not sep.isascii():
        raise ValueError(f"sep must be one ASCII character, got {sep!r}.")
    return sep


def table_files(path: PathLike | Sequence[PathLike], *, other: bool = False) -> list[Path]:
    """Files of one kind that a path, a pattern, a folder or a list of these stands for.

    ``other``: files with an unknown suffix are treated as delimited text. Files that are not tables
    or differ in kind from the others raise ValueError.
    """
    items = [path] if isinstance(path, str | os.PathLike) else list(path)
    paths: list[Path] = []
    for item in items:
        folder = Path(item)
        paths += tables_below(folder) if folder.is_dir() else find_files(item)
    for found in paths:
        if suffix_of(found) not in TABLES and not other:
            known = ", ".join((*DELIMITERS, *STORED))
            raise ValueError(
                f"path must end in one of {known}, optionally with a suffix for compression, got "
                f"{found.name!r}. Pass {setting('sep')} if it is delimited text; read SVMlight "
                "text with read_letor."
            )
    kinds = {str(format_of_name(found)).title() if is_stored(found) else "text" for found in paths}
    if len(kinds) > 1:
        mixed = " and ".join(f"{kind} files" for kind in sorted(kinds))
        raise ValueError(f"{path} mixes {mixed}. Name files of one kind.")
    return paths


def tables_below(folder: Path) -> list[Path]:
    """Tables in a folder and its subfolders, sorted by name.

    FileNotFoundError is raised if there are none.
    """
    found = [
        path
        for path in folder.rglob("*")
        if suffix_of(path) in TABLES
        and not path.is_dir()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise FileNotFoundError(f"{folder} contains no file that ends in {', '.join(TABLES)}.")
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def _name(path: Any, paths: Sequence[Path]) -> str:
    """Name for reports: that of the folder, or the stems of the files."""
    if isinstance(path, str | os.PathLike) and Path(path).is_dir():
        return Path(path).name.partition(".")[0]
    stem = paths[0].name.partition(".")[0]
    return stem if len(paths) == 1 else f"{stem} and {len(paths) - 1} more"


def _read_stored(
    paths: Sequence[Path], tables: Sequence[StoredTable], roles: Roles, dtype: DTypeLike
) -> tuple[Columns, TableRows]:
    """Read the rows of binary tables with the same columns, only with the required columns."""
    files = []
    for path, table in zip(paths, tables, strict=True):
        with name_file_in_errors(path):
            files.append((path, table.kinds))
    found = FileColumns.join(files)

    def sample(name: str) -> list[Any]:
        return tables[paths.index(found.first[name])].first_values(name, SAMPLE_ROWS)

    with name_file_in_errors(paths[0]), name_sizes_in_errors(paths[0]):
        columns = Columns.of(found.kinds, *roles, sample=sample)
    found.check(columns)
    for table in tables:
        table.check_size()
    # One array for the rows of all files, which fill it in turn: a matrix of each file would be in
    # memory twice.
    X = columns.allocate(sum(table.num_rows for table in tables), dtype)
    large: LargeNumbers = {}
    parts, start = [], 0
    for path, table in zip(paths, tables, strict=True):
        with name_file_in_errors(path):
            rows = slice(start, start + table.num_rows)
            source = FewColumns(table, columns.names())
            parts.append(columns.read(source, dtype, X[rows], large))
        start = rows.stop
    warn_of_merged(large, dtype)
    return columns, TableRows.join(parts, X)


# Bytes of columns, at 8 bytes per value, that are in memory at once beside X.
COLUMN_BYTES = 1 << 23


class FewColumns:
    """Columns of a binary table, of which few are in memory: those asked for last."""

    def __init__(self, table: StoredTable, names: list[str]) -> None:
        self.columns, self._table = names, table
        self._most = max(1, COLUMN_BYTES // max(1, 8 * table.num_rows))
        self._read: Any = None

    def __len__(self) -> int:
        return self._table.num_rows

    def get_column(self, name: str) -> nw.Series[Any]:
        """A column, which is read with those that follow it."""
        if self._read is None or name not in self._read.columns:
            first = self.columns.index(name)
            self._read = None  # freed before the next ones are read
            part = self._table.read(self.columns[first : first + self._most])
            self._read = nw.from_native(part, eager_only=True)
        return self._read.get_column(name)


class StoredTable:
    """Table of a binary file, in memory; a subclass may read columns when they are asked for."""

    num_rows: Any
    schema: Any

    def __init__(self, table: Any) -> None:
        self.schema, self.num_rows, self._table = table.schema, table.num_rows, table

    @cached_property
    def kinds(self) -> dict[str, str | None]:
        """What the columns hold, without the unnamed index that pandas writes.

        A named index is kept, since it was added on purpose. ``FileColumns.join`` decides what a
        column without values holds.
        """
        metadata = self.schema.pandas_metadata or {}
        index = {name for name in metadata.get("index_columns", []) if isinstance(name, str)}
        fields = [
            field
            for field in self.schema
            if not (field.name in index and field.name.startswith("__index_level_"))
        ]
        # Those without a name are left out.
        check_unique([field.name for field in fields if field.name])
        return {field.name: _kind_of_type(field.type) for field in fields}

    def check_size(self) -> None:
        """Raise ValueError if the columns would take too much memory."""

    def read(self, names: Sequence[str] | None = None) -> Any:
        """Arrow table of some columns, in this order; None: of all."""
        return self._table if names is None else self._table.select(list(names))

    def first_values(self, name: str, n_rows: int) -> list[Any]:
        """First values of a column."""
        return self._table[name].slice(0, n_rows).to_pylist()


class ParquetTable(StoredTable):
    """Parquet file; columns are read when they are asked for, from files within the limit."""

    max_bytes: int
    path: Path
    num_rows: Any
    schema: Any

    def __init__(self, path: Path, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
        check_limit(max_bytes)
        self.path, self.max_bytes = path, max_bytes
        with open_parquet(path) as file:
            self.num_rows, self.schema = file.metadata.num_rows, file.schema_arrow
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            stated = sum(group.total_byte_size for group in groups)
            self._n_bytes = max(stated, 8 * self.num_rows * file.metadata.num_columns)

    def check_size(self) -> None:
        """Raise ValueError if the columns would take too much memory."""
        if self._n_bytes > self.max_bytes:
            raise ValueError(
                f"{self.path}: its columns take {self._n_bytes:,} bytes in memory. Raise "
                f"max_decompressed_bytes ({self.max_bytes:,}) if the file is what you expect, "
                "or read rows chunk by chunk: rankwise.streams.stream(path)."
            )

    def read(self, names: Sequence[str] | None = None) -> Any:
        """Arrow table of some columns, in this order; None: of all."""
        self.check_size()
        with open_parquet(self.path) as file:
            if names is None:
                return valid(file.read())
            return valid(file.read(columns=list(names))).select(list(names))

    def first_values(self, name: str, n_rows: int) -> list[Any]:
        """First values of a column."""
        with open_parquet(self.path) as file:
            batch = next(file.iter_batches(n_rows, columns=[name]), None)
            return [] if batch is None else valid(batch).column(0).to_pylist()


def open_stored(path: Path, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> StoredTable:
    """Open a binary table, of the format that its suffix or else its first bytes imply."""
    found = FORMATS.get(format_of_name(path) or "")
    if found is None or not found.open:
        with path.open("rb") as stream:
            head = stream.read(64)
        found = next(
            found for found in FORMATS.values() if found.magic and head.startswith(found.magic)
        )
    module, name = found.open.split(":")
    table = getattr(import_module(module), name)(path, max_bytes)
    return table if isinstance(table, StoredTable) else StoredTable(table)


def _kind_of_type(kind: Any) -> str | None:
    """What a column of an Arrow type holds; None: numbers."""
    are_numbers = (
        pa_types.is_integer,
        pa_types.is_floating,
        pa_types.is_decimal,
        pa_types.is_boolean,
    )
    are_texts = (pa_types.is_string, pa_types.is_large_string, pa_types.is_string_view)
    if any(test(kind) for test in are_numbers):
        return None
    if any(test(kind) for test in are_texts):
        return "text"
    if pa_types.is_null(kind):
        return NO_VALUES
    if pa_types.is_dictionary(kind):
        return "categories"
    if pa_types.is_duration(kind) or pa_types.is_interval(kind):
        return "durations"
    if pa_types.is_time(kind):
        return "times of day"
    return "dates" if pa_types.is_temporal(kind) else str(kind)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; raises ValueError with its name if it is not valid."""
    try:
        with pa_parquet.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} does not read as Parquet ({error}).") from None


def valid(part: Any) -> Any:
    """A table or record batch, once checked; text that is not UTF-8 raises ArrowInvalid."""
    part.validate(full=True)
    return part


def check_row_groups(path: Path, metadata: Any, max_bytes: int) -> None:
    """Refuse a Parquet file if a row group states a size of over ``max_bytes``."""
    check_limit(max_bytes)
    for i in range(metadata.num_row_groups):
        n_bytes = metadata.row_group(i).total_byte_size
        if n_bytes > max_bytes:
            raise ValueError(
                f"{path}: its row group {i} unpacks to {n_bytes:,} bytes. Raise "
                f"max_decompressed_bytes ({max_bytes:,}) if the file is what you expect, or write "
                "it with smaller row groups."
            )
