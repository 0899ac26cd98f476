"""Tables of preferences: files of text or Parquet, and frames, as columns with places of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa

from rankwise.checks.frames import collect_frame
from rankwise.datasets.column_names import PREFERENCE_WEIGHT_NAMES
from rankwise.datasets.readers.delimited import DELIMITERS, DelimitedFile
from rankwise.datasets.readers.result_frames import find_column
from rankwise.datasets.readers.tables import (
    delimiter_of,
    is_parquet,
    read_parquet,
    suffix_of,
)
from rankwise.datasets.readers.text_columns import TextColumns, read_cells
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, open_text
from rankwise.datasets.table_columns import list_names
from rankwise.preferences.item_codes import AT_ROW, Where
from rankwise.runtime.column_values import convert_to_array, convert_to_values
from rankwise.runtime.vocabulary import setting
from rankwise.typing import Float64Array

_JSON_LINES = (".jsonl", ".ndjson")


@contextmanager
def name_file_of(source: Any) -> Iterator[None]:
    """Let errors inside the block name the file, if ``source`` is one."""
    try:
        yield
    except ValueError as error:
        if not isinstance(source, str | Path) or str(source) in str(error):
            raise
        raise ValueError(f"{source}: {error}") from None


@dataclass(frozen=True)
class PreferenceTable:
    """Columns of a table by name."""

    columns: list[str]
    source: nw.DataFrame[Any] | TextColumns
    where: Where  # describes a row in messages

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        sep: str | None = None,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> PreferenceTable:
        """Table of a frame, or of a file by suffix: CSV, TSV, Parquet, JSON lines or ``sep``."""
        if not isinstance(source, str | Path):
            frame = collect_frame(source)
            if frame is None:
                raise TypeError(
                    "preferences must be a path or a frame with named columns, got "
                    f"{type(source).__name__}. Pass a pandas or Polars frame, or arrays to fit."
                )
            return cls(frame.columns, frame, AT_ROW)
        path = Path(source)
        if is_parquet(path):
            table = read_parquet(path, max_decompressed_bytes)
            frame = nw.from_native(table, eager_only=True)
            return cls(frame.columns, frame, f"{path}, row {{}}".format)
        if sep is None and suffix_of(path) in _JSON_LINES:
            frame = nw.from_native(_read_json_lines(path, max_decompressed_bytes), eager_only=True)
            return cls(frame.columns, frame, f"{path}, line {{}}".format)
        if sep is None and suffix_of(path) not in DELIMITERS:
            known = (*DELIMITERS, *_JSON_LINES, ".parquet", ".pq")
            raise ValueError(
                f"path must end in one of {', '.join(known)}, got "
                f"{path.name!r}. Pass {setting('sep')} if it is delimited text."
            )
        file = DelimitedFile.of(path, delimiter_of(path, sep), max_decompressed_bytes)
        with file.name_in_errors():
            names = file.header()
        columns = read_cells(file)
        return cls(names, columns, columns.where)

    def find(self, what: str, named: str | None, usual: Sequence[str]) -> str:
        """Name of a column: the named one, or the first that has a usual name."""
        if named is None:
            return find_column(self.columns, usual, what)
        self.check(what, [named])
        return named

    def find_weight(self, named: str | Literal[False] | None, others: Sequence[str]) -> str | None:
        """Name of the column of weights: the named one, or one with a usual name; None without.

        Columns in ``others``, such as covariates, are no weights unless they are named as such. It
        is an error if several columns have a usual name.
        """
        if named is False:
            return None
        if named is not None:
            return self.find("weight", named, ())
        usual = [name for name in self.columns if name.lower() in PREFERENCE_WEIGHT_NAMES]
        found = [name for name in usual if name not in others]
        if len(found) > 1:
            raise ValueError(
                f"columns {list_names(found)} may both be weights. Pass "
                f"{setting('sample_weight', found[0])}, or drop one."
            )
        return found[0] if found else None

    def check(self, what: str, names: Sequence[str]) -> None:
        """Raise ValueError if names are not columns."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise ValueError(
                f"{what} {list_names(missing)} must be columns; there are "
                f"{list_names(self.columns)}."
            )

    def values(self, name: str) -> Any:
        """Column as an array of any type; text from a text file."""
        if isinstance(self.source, TextColumns):
            place = self.columns.index(name)
            try:
                return np.array([token.decode() for token in self.source.columns[place]], object)
            except UnicodeDecodeError:
                return self.source.texts(place)  # raises, and names the line
        return convert_to_array(self.source[name].to_native())

    def numbers(self, what: str, name: str) -> Float64Array:
        """Column of finite numbers."""
        if isinstance(self.source, TextColumns):
            return self.source.reals(self.columns.index(name))
        values = convert_to_values(self.source[name].to_native())
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{what} must hold numbers, column {name!r} holds {values.dtype}.")
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"{what} must be finite, column {name!r} has {values[row]} at {self.where(row)}. "
                "Drop or fill such rows."
            )
        return values


def _read_json_lines(path: Path, max_decompressed_bytes: int) -> pa.Table:
    """Columns of the texts, numbers and truth values of one object per line; others are left out.

    A column of numbers and texts becomes texts, and a missing value is null.
    """
    text = open_text(path, max_decompressed_bytes)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.read(text.start, text.stop).splitlines(), start=1):
        if not line.strip():
            raise ValueError(f"{path}, line {number}: an empty line. Remove it.")
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not a JSON object: {error}.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: must be a JSON object, as {{...}}.")
        rows.append({k: v for k, v in row.items() if v is None or isinstance(v, str | int | float)})
    if not rows:
        raise ValueError(f"{path} is empty. It must have one JSON object per line.")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # numbers and texts
            columns[name] = pa.array([None if v is None else str(v) for v in values])
    return pa.table(columns)
