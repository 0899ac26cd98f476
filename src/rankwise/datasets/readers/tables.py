"""Judged rows from tables: CSV, TSV and Parquet files, and frames supported by narwhals.

One column holds the label, and one the query. Every other column of numbers is a feature unless it
is assigned as document id or weight.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from rankwise.checks.text_categories import SAMPLE_ROWS
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.delimited import (
    DELIMITERS,
    DelimitedFile,
    FileColumns,
    arrow_kinds,
    name_file_in_errors,
    name_sizes_in_errors,
    read_delimited,
    warn_of_unread,
)
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    PathLike,
    check_limit,
    find_files,
)
from rankwise.datasets.table_columns import Columns, Roles, TableRows
from rankwise.runtime.messages import setting

PARQUET = (".parquet", ".pq")
TABLES = (*PARQUET, *DELIMITERS)
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


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
        If there is no such file.

    Warns
    -----
    IgnoredColumnsWarning
        If columns do not hold numbers and ``features`` is not given.
    UserWarning
        If a side file of group sizes or weights stands beside a table: it is not read.
    """
    paths = table_files(path, other=sep is not None)
    roles = Roles(
        label, qid, doc_id, sample_weight, features, tuple(score_columns), unjudged, categories,
        ignore,
    )  # fmt: skip
    if is_parquet(paths[0]):
        columns, rows = _read_parquet(paths, roles, dtype, max_decompressed_bytes)
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
            known = ", ".join((*DELIMITERS, *PARQUET))
            raise ValueError(
                f"path must end in one of {known}, optionally with a suffix for compression, got "
                f"{found.name!r}. Pass {setting('sep')} if it is delimited text; read SVMlight "
                "text with read_letor."
            )
    if len({is_parquet(found) for found in paths}) > 1:
        raise ValueError(f"{path} mixes Parquet files and text files. Name files of one kind.")
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


def suffix_of(path: Path) -> str:
    """Suffix in lower case, ignoring a suffix for compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_parquet(path: Path) -> bool:
    """Whether the name of a file is that of a Parquet file."""
    return suffix_of(path) in PARQUET


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


def _name(path: Any, paths: Sequence[Path]) -> str:
    """Name for reports: that of the folder, or the stems of the files."""
    if isinstance(path, str | os.PathLike) and Path(path).is_dir():
        return Path(path).name.partition(".")[0]
    stem = paths[0].name.partition(".")[0]
    return stem if len(paths) == 1 else f"{stem} and {len(paths) - 1} more"


def _read_parquet(
    paths: Sequence[Path],
    roles: Roles,
    dtype: DTypeLike,
    max_decompressed_bytes: int,
) -> tuple[Columns, TableRows]:
    """Read the rows of files with the same columns, only with the required columns."""
    files = []
    for path in paths:
        with open_parquet(path) as file:
            check_size(path, file.metadata, max_decompressed_bytes)
            with name_file_in_errors(path):
                files.append((path, arrow_kinds(file.schema_arrow)))
    found = FileColumns.join(files)
    with name_file_in_errors(paths[0]), name_sizes_in_errors(paths[0]):
        sample = partial(sample_column, files=found.first)
        columns = Columns.of(found.kinds, *roles, sample=sample)
    found.check(columns)
    parts = []
    for path in paths:
        with open_parquet(path) as file:
            table = valid(file.read(columns=columns.names())).select(columns.names())
        with name_file_in_errors(path):
            parts.append(columns.read(nw.from_native(table, eager_only=True), dtype))
    return columns, TableRows.join(parts)


def sample_column(name: str, files: Mapping[str, Path]) -> list[Any]:
    """First values of a column of the first Parquet file with it."""
    with open_parquet(files[name]) as file:
        batch = next(file.iter_batches(SAMPLE_ROWS, columns=[name]), None)
        return [] if batch is None else valid(batch).column(0).to_pylist()


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; raises ValueError with its name if it is not valid."""
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
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


def read_parquet(path: Path, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Any:
    """Whole table of a Parquet file, checked."""
    with open_parquet(path) as file:
        check_size(path, file.metadata, max_bytes)
        return valid(file.read())


def check_size(path: Path, metadata: Any, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
    """Refuse a Parquet file whose columns have a stated size of more than ``max_bytes``."""
    check_limit(max_bytes)
    stated = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    n_bytes = max(stated, 8 * metadata.num_rows * metadata.num_columns)
    if n_bytes > max_bytes:
        raise ValueError(
            f"{path}: its columns take {n_bytes:,} bytes in memory. Raise max_decompressed_bytes "
            f"({max_bytes:,}) if the file is what you expect, or read rows chunk by chunk: "
            "rankwise.stream(path)."
        )
