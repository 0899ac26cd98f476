"""Judged rows from tables: CSV, TSV and Parquet files, and frames of any library narwhals knows.

One column holds the label, one the query; every other one is a feature unless it is named as
document id or weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import DTypeLike, NDArray

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.letor_errors import INFINITE
from rankwise.datasets.readers.letor_text import text_array
from rankwise.datasets.readers.textfiles import (
    MAX_DECOMPRESSED_BYTES,
    check_limit,
    check_there,
    read_text,
)
from rankwise.typing import Float64Array

LABEL_NAMES = ("label", "relevance", "rel", "y", "target")
QUERY_NAMES = ("qid", "query_id", "query", "q")
DOCUMENT_NAMES = ("doc_id", "docid", "docno", "document_id")
WEIGHT_NAMES = ("sample_weight",)
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

# What stays the same when it is read as a number and written again.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

# Its functions are made when it is imported: type checkers do not see them.
pc: Any = pyarrow.compute


def read_table(
    path: str | Path,
    *,
    label: str | None = None,
    qid: str | None = None,
    doc_id: str | None = None,
    sample_weight: str | None = None,
    features: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> RankingData:
    """Read a CSV, TSV or Parquet file with one row per document.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.tab`` with a header line, also compressed (``.gz``, ``.bz2``,
        ``.xz``, ``.zst``); ``.parquet`` or ``.pq``.
    label, qid : str, optional
        Columns. By default the one that is called label, relevance, rel, y or target, and qid,
        query_id, query or q, in any case.
    doc_id, sample_weight : str, optional
        Columns. By default doc_id, docid, docno or document_id, and sample_weight, where there.
    features : sequence of str, optional
        Columns of X, in this order; by default all that are left.
    dtype : float32 or float64
        Type of X. Missing values become NaN; numbers too large for it are an error.
    max_decompressed_bytes : int >= 1
        Longest text that a compressed file may hold, and size that the columns of a Parquet file
        may have in memory, in bytes; by default 16 GiB.

    Returns
    -------
    RankingData
        Query ids from text files are integers where all of them are, else strings.

    Raises
    ------
    ValueError
        When the suffix is unknown, a column is missing, could be two things, or does not hold
        what it should; a bad cell of a text file is named by column and row.
    FileNotFoundError, IsADirectoryError
        When there is no such file.
    """
    path = Path(path)
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in PARQUET:
        check_there(path)
        with open_parquet(path) as file:
            _check_size(path, file.metadata, max_decompressed_bytes)
            table = file.read(columns=column_names(file.schema_arrow))
    elif kind in DELIMITERS:
        text = read_text(path, max_decompressed_bytes)
        roles = (label, qid, doc_id, sample_weight)
        table = _read_text(path, text, DELIMITERS[kind], roles, features)
    else:
        known = ", ".join((*DELIMITERS, *PARQUET))
        raise ValueError(
            f"path must end in one of {known}, or in these and a suffix for compression, got "
            f"{path.name!r}. Rename the file; read SVMlight text with read_letor."
        )
    try:
        return from_frame(
            table, label=label, qid=qid, doc_id=doc_id, sample_weight=sample_weight,
            features=features, dtype=dtype, name=path.name.partition(".")[0],
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file to read from; ValueError, naming it, where it does not read as one."""
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} does not read as Parquet ({error}).") from None


def check_row_groups(path: Path, metadata: Any, max_bytes: int) -> None:
    """Refuse a Parquet file with a row group that, as it says, unpacks to over ``max_bytes``."""
    check_limit(max_bytes)
    for i in range(metadata.num_row_groups):
        n_bytes = metadata.row_group(i).total_byte_size
        if n_bytes > max_bytes:
            raise ValueError(
                f"{path}: its row group {i} unpacks to {n_bytes:,} bytes. Raise "
                f"max_decompressed_bytes ({max_bytes:,}) if the file is what you expect, or write "
                "it with smaller row groups."
            )


def _check_size(path: Path, metadata: Any, max_bytes: int) -> None:
    """Refuse a Parquet file whose columns, as it says, unpack to more than ``max_bytes``."""
    check_limit(max_bytes)
    stated = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    n_bytes = max(stated, 8 * metadata.num_rows * metadata.num_columns)
    if n_bytes > max_bytes:
        raise ValueError(
            f"{path}: its columns take {n_bytes:,} bytes in memory. Raise max_decompressed_bytes "
            f"({max_bytes:,}) if the file is what you expect, or read it chunk by chunk: "
            "rankwise.stream(path)."
        )


def column_names(schema: Any) -> list[str]:
    """Columns of a Parquet file, without the nameless index that pandas writes beside them."""
    metadata = schema.pandas_metadata or {}
    index = {name for name in metadata.get("index_columns", []) if isinstance(name, str)}
    return [
        name for name in schema.names if not (name in index and name.startswith("__index_level_"))
    ]


def from_frame(
    frame: Any,
    *,
    label: str | None = None,
    qid: str | None = None,
    doc_id: str | None = None,
    sample_weight: str | None = None,
    features: Sequence[str] | None = None,
    dtype: DTypeLike = np.float32,
    name: str = "",
) -> RankingData:
    """Judged rows from a pandas, polars or other eager frame, or a pyarrow table.

    Parameters
    ----------
    frame : frame
        One row per document.
    label, qid, doc_id, sample_weight, features, dtype
        As for :func:`read_table`.
    name : str
        For tables and reports.

    Raises
    ------
    TypeError
        When ``frame`` is no eager frame.
    ValueError
        When a column is missing, could be two things, or does not hold what it should.

    Examples
    --------
    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"qid": [1, 1], "rel": [0, 2], "bm25": [0.5, 1.5]}))
    RankingData(2 rows, 1 queries, 1 features, dense float32)
    """
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"frame must be an eager data frame, got {type(frame).__name__}. "
            "Collect a lazy one; pass arrays to RankingData."
        ) from None
    roles = Columns.of(
        [str(column) for column in table.columns], label, qid, doc_id, sample_weight, features
    )
    X, y, ids, weight = roles.read(table, dtype)
    assert y is not None and ids is not None
    original = dict(zip(map(str, table.columns), table.columns, strict=True))
    return RankingData(
        X,
        y,
        ids,
        doc_ids=None if roles.doc_id is None else _text(table.get_column(original[roles.doc_id])),
        feature_names=roles.features,
        sample_weight=weight,
        name=name,
    )


Role = str | Literal[False] | None


@dataclass(frozen=True)
class Columns:
    """Which column of a table is what; None where there is no such column."""

    label: str | None
    qid: str | None
    doc_id: str | None
    sample_weight: str | None
    features: list[str]

    @classmethod
    def of(
        cls,
        columns: list[str],
        label: Role = None,
        qid: Role = None,
        doc_id: Role = None,
        sample_weight: Role = None,
        features: Sequence[str] | None = None,
    ) -> Columns:
        """Columns as named; None: the usual name; False: there is none.

        Raises
        ------
        ValueError
            When a column is missing or could be two things.
        """
        _check_unique(columns)
        roles = _roles((label, qid, doc_id, sample_weight), columns)
        return cls(*roles, _features(features, columns, {*roles}))

    def names(self) -> list[str]:
        """The columns that are read."""
        roles = (self.label, self.qid, self.doc_id, self.sample_weight)
        return [*self.features, *(name for name in roles if name is not None)]

    def read(
        self, table: nw.DataFrame[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], Float64Array | None, NDArray[Any] | None, Float64Array | None]:
        """X, labels, query ids and weights.

        Raises
        ------
        ValueError
            When a column does not hold what it should.
        """
        original = dict(zip(map(str, table.columns), table.columns, strict=True))

        def column(named: str) -> nw.Series[Any]:
            return table.get_column(original[named])

        X = np.empty((len(table), len(self.features)), dtype=_float_type(dtype))
        for j, feature in enumerate(self.features):
            values = _numbers("features", feature, column(feature))
            with np.errstate(over="ignore"):  # told below
                X[:, j] = values
            _check_fits(feature, values, X[:, j])
        label, weight = self.label, self.sample_weight
        return (
            X,
            None if label is None else _complete_numbers("label", label, column(label)),
            None if self.qid is None else _query_ids(self.qid, column(self.qid)),
            None if weight is None else _complete_numbers("sample_weight", weight, column(weight)),
        )


def _read_text(
    path: Path,
    text: bytes,
    delimiter: str,
    roles: tuple[str | None, ...],
    features: Sequence[str] | None,
) -> pa.Table:
    """Numbers in every column but those of ids, so that no type is guessed from the first rows."""
    from pyarrow import csv

    if b"\0" in text:
        number = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise ValueError(f"{path}, line {number}: a NUL character. Is the file damaged?")
    parse = csv.ParseOptions(delimiter=delimiter)

    def read(data: bytes, threads: bool, convert: csv.ConvertOptions | None) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=threads),
            parse_options=parse,
            convert_options=convert,
        )

    try:
        header = read(text.partition(b"\n")[0] + b"\n", False, None).column_names
        _check_unique(header)
        label, qid, doc_id, weight = _roles(roles, header)
        numbers = _features(features, header, {label, qid, doc_id, weight})
        types: dict[str, pa.DataType] = {
            name: pa.float64() for name in (label, weight, *numbers) if name is not None
        }
        types |= {name: pa.string() for name in (qid, doc_id) if name is not None}
        convert = csv.ConvertOptions(column_types=types, include_columns=list(types))
        try:
            table = read(text, True, convert)
        except pa.ArrowInvalid:
            table = read(text, False, convert)  # on one thread the message has the row
        for name in [name for name, kind in types.items() if kind == pa.float64()]:
            infinite = pc.is_inf(table[name]).fill_null(False)
            if pc.any(infinite).as_py():
                as_text = csv.ConvertOptions(
                    column_types={name: pa.string()}, include_columns=[name]
                )
                _check_infinite(name, read(text, True, as_text)[name], infinite)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise ValueError(f"{path}: {error}. Is the first line the names of the columns?") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    ids = table[qid]
    if pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
        table = table.set_column(table.column_names.index(qid), qid, ids.cast(pa.int64()))
    return table


def _check_infinite(name: str, cells: Any, infinite: Any) -> None:
    """Raise where an infinite number is not written so, but is too large for float64."""
    for row in np.flatnonzero(infinite.to_numpy()).tolist():
        if not INFINITE.fullmatch(cells[row].as_py().strip().encode()):
            raise ValueError(
                f"column {name!r} has {cells[row].as_py()!r} at row {row}, too large for float64. "
                "Write inf where infinity is meant"
            )


def _roles(roles: tuple[Role, ...], columns: list[str]) -> tuple[Any, Any, Any, Any]:
    """The columns of label, query, document id and weight."""
    label, qid, doc_id, weight = roles
    return (
        _choose("label", label, LABEL_NAMES, columns),
        _choose("qid", qid, QUERY_NAMES, columns),
        _choose_if_there("doc_id", doc_id, DOCUMENT_NAMES, columns),
        _choose_if_there("sample_weight", weight, WEIGHT_NAMES, columns),
    )


def _choose(what: str, named: Role, usual: tuple[str, ...], columns: list[str]) -> str | None:
    found = _choose_if_there(what, named, usual, columns)
    if found is None and named is not False:
        raise ValueError(
            f"{what} needs a column, but none is called {', '.join(usual)}; there are "
            f"{_listed(columns)}. Pass {what}='…'."
        )
    return found


def _choose_if_there(
    what: str, named: Role, usual: tuple[str, ...], columns: list[str]
) -> str | None:
    if named is False:
        return None
    if named is not None:
        if named not in columns:
            raise ValueError(f"{what}={named!r} is no column; there are {_listed(columns)}.")
        return named
    found = [column for column in columns if column.lower() in usual]
    if len(found) > 1:
        raise ValueError(
            f"{what} could be any of the columns {_listed(found)}. Pass {what}='…', and features "
            "if the others are none."
        )
    return found[0] if found else None


def _features(
    features: Sequence[str] | None, columns: list[str], taken: set[str | None]
) -> list[str]:
    if features is None:
        return [column for column in columns if column not in taken]
    missing = sorted({*features} - {*columns})
    if missing:
        raise ValueError(
            f"features must be columns, {_listed(missing)} are not; there are {_listed(columns)}."
        )
    return list(features)


def _check_unique(columns: list[str]) -> None:
    if len(set(columns)) < len(columns):
        twice = {column for column, count in Counter(columns).items() if count > 1}
        raise ValueError(
            f"columns must have different names, {_listed(sorted(twice))} occur more than once."
        )


def _numbers(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One number per row, NaN where there is none."""
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise ValueError(
            f"{what} must hold numbers, column {name!r} holds {column.dtype}. Encode it, or name "
            "the columns to take with features=[…]."
        )
    if column.dtype in (nw.Float32, nw.Float64):
        return column.to_numpy()
    return column.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)


def _check_fits(name: str, values: Float64Array, stored: NDArray[Any]) -> None:
    """Raise where a finite number has become infinite."""
    if values.dtype == stored.dtype:
        return
    lost = np.isinf(stored) & ~np.isinf(values)
    if lost.any():
        row = int(lost.argmax())
        raise ValueError(
            f"features must fit {stored.dtype}, column {name!r} has {values[row]:g} at row {row}. "
            "Read with dtype=np.float64."
        )


def _complete_numbers(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    values = _numbers(what, name, column).astype(np.float64, copy=False)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{what} must be finite, column {name!r} has {values[row]} at row {row}. "
            "Drop or fill such rows."
        )
    return values


def _query_ids(name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """The ids as the column holds them."""
    text = column.dtype == nw.String
    missing = (column.fill_null("") == "" if text else column.is_null()).to_numpy()
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"qid must not be missing, column {name!r} is empty at row {row}.")
    return column.to_numpy()


def _text(column: nw.Series[Any]) -> NDArray[Any]:
    return text_array(column.cast(nw.String).fill_null("").to_list())


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {found.name}.")
    return found


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
