"""CSV and its kin as columns: numbers everywhere but in ids, so that no type is guessed.

Where a cell is no number, its column is counted through: a column of mostly other things is text
and no feature, a few of them in a column of numbers are an error that names the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from rankwise.datasets.readers.columns import Columns, Role, check_unique, warn_of_ignored
from rankwise.datasets.readers.letor_errors import INFINITE
from rankwise.datasets.readers.textfiles import read_text

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# Among these a header that is one single column is searched for what divides it.
_OTHERS = (",", ";", "\t", "|")
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$|^\s*[+-]?(?i:inf(inity)?)\s*$"
_DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
# What stays the same when it is read as a number and written again.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

# Its functions are made when it is imported: type checkers do not see them.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class _Text:
    """The text of one file and how it is divided."""

    path: Path
    data: bytes
    delimiter: str

    @classmethod
    def of(cls, path: Path, delimiter: str, max_decompressed_bytes: int) -> _Text:
        text = read_text(path, max_decompressed_bytes)
        if b"\0" in text:
            number = text.count(b"\n", 0, text.index(b"\0")) + 1
            raise ValueError(f"{path}, line {number}: a NUL character. Is the file damaged?")
        return cls(path, text, delimiter)

    def header(self) -> list[str]:
        """Names of the columns."""
        line = self.data.partition(b"\n")[0] + b"\n"
        names = self._read(line, None, False).column_names
        check_unique(names)
        others = [sign for sign in _OTHERS if len(names) == 1 and sign in names[0]]
        if others:
            raise ValueError(
                f"the first line is one column, {names[0][:60]!r}. Name what divides the columns: "
                f"sep={others[0]!r}."
            )
        return names

    def table(self, types: dict[str, Any]) -> pa.Table:
        """These columns, of these types."""
        try:
            return self._read(self.data, types, True)
        except pa.ArrowInvalid:  # on one thread the message has the row
            return self._read(self.data, types, False)

    def texts(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches of these columns as text; empty cells and the like are null."""
        from pyarrow import csv

        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=list(names),
            strings_can_be_null=True,
        )
        parse = csv.ParseOptions(delimiter=self.delimiter)
        yield from csv.open_csv(
            pa.BufferReader(self.data),
            csv.ReadOptions(use_threads=False),  # so that an error has its row
            parse,
            convert,
        )

    def _read(self, data: bytes, types: dict[str, Any] | None, threads: bool) -> pa.Table:
        from pyarrow import csv

        convert = None
        if types is not None:
            convert = csv.ConvertOptions(column_types=types, include_columns=list(types))
        return csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(use_threads=threads),
            parse_options=csv.ParseOptions(delimiter=self.delimiter),
            convert_options=convert,
        )


def read_delimited(
    paths: Sequence[Path],
    delimiter: str,
    roles: tuple[Role, Role, Role, Role],
    features: Sequence[str] | None,
    max_decompressed_bytes: int,
) -> tuple[Columns, pa.Table]:
    """The rows of some files with the same columns.

    Query ids are integers where all of them are, else strings.

    Raises
    ------
    ValueError
        Naming the file, and column and row of a bad cell.
    """
    texts = [_Text.of(path, delimiter, max_decompressed_bytes) for path in paths]
    columns: Columns | None = None
    for text in texts:
        with naming(text.path):
            names = text.header()
            if columns is None:
                columns = Columns.of(dict.fromkeys(names), *roles, features)
            columns.check_in(names, paths[0])
    assert columns is not None
    try:
        tables = [text.table(_types(columns)) for text in texts]
    except pa.ArrowInvalid:
        if features is None:
            columns = _without_text(texts, columns)
        tables = []
        for text in texts:
            with naming(text.path):
                tables.append(text.table(_types(columns)))
    for text, table in zip(texts, tables, strict=True):
        with naming(text.path):
            _check_infinite(text, table)
    table = pa.concat_tables(tables)
    if columns.qid is not None:
        ids = table[columns.qid]
        if pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
            number = table.column_names.index(columns.qid)
            table = table.set_column(number, columns.qid, ids.cast(pa.int64()))
    return columns, table


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors inside the block name the file."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise ValueError(f"{path}: {error}. Is the first line the names of the columns?") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _types(columns: Columns) -> dict[str, Any]:
    ids = (columns.qid, columns.doc_id)
    return {name: pa.string() if name in ids else pa.float64() for name in columns.names()}


def _without_text(texts: Sequence[_Text], columns: Columns) -> Columns:
    """The columns without features in which most cells are no numbers."""
    counts = {name: _Cells() for name in columns.features}
    for text in texts:
        with naming(text.path):
            for batch in text.texts(columns.features):
                for name, cells in counts.items():
                    cells.add(batch.column(name))
    for name, cells in counts.items():
        if cells.commas > cells.filled // 2:
            raise ValueError(
                f"{texts[0].path}: column {name!r} has decimal commas. Write its numbers with "
                "decimal points."
            )
    ignored = [
        name for name, cells in counts.items() if cells.numbers < cells.filled - cells.numbers
    ]
    warn_of_ignored(dict.fromkeys(ignored, "text"))
    return replace(columns, features=[name for name in columns.features if name not in ignored])


@dataclass
class _Cells:
    """How many cells of a column are filled, are numbers, are numbers with a decimal comma."""

    filled: int = 0
    numbers: int = 0
    commas: int = 0

    def add(self, cells: Any) -> None:
        self.filled += len(cells) - cells.null_count
        self.numbers += pc.sum(pc.match_substring_regex(cells, _NUMBER)).as_py() or 0
        self.commas += pc.sum(pc.match_substring_regex(cells, _DECIMAL_COMMA)).as_py() or 0


def _check_infinite(text: _Text, table: pa.Table) -> None:
    """Raise where an infinite number is not written so, but is too large for float64."""
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind != pa.float64():
            continue
        infinite = pc.is_inf(table[name]).fill_null(False)
        if not pc.any(infinite).as_py():
            continue
        cells = text.table({name: pa.string()})[name]
        for row in np.flatnonzero(infinite.to_numpy()).tolist():
            if not INFINITE.fullmatch(cells[row].as_py().strip().encode()):
                raise ValueError(
                    f"column {name!r} has {cells[row].as_py()!r} at row {row}, too large for "
                    "float64. Write inf where infinity is meant"
                )
