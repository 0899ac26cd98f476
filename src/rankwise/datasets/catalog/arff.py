"""ARFF, dense and sparse: WEKA's text format of attributes and rows, used by Mulan and MEKA.

Numbers are read unchanged. Categories become the numbers in their names if all names are numbers,
otherwise positions in the attribute's list. A sparse row ``{3 1.5,7 1}`` omits zeros and the first
category of each nominal attribute. Dates, texts and row weights are not supported."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, PathLike, read_text
from rankwise.typing import Float64Array, Matrix

_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_NAME = rf"""(?:{_QUOTED}|[^\s{{}},'"][^\s{{}},]*+)"""
_ATTRIBUTE = re.compile(
    rf"@attribute\s++({_NAME})(?:\s++|(?=\{{))(\{{.*\}}|\S+)\s*$", re.IGNORECASE
)
_CATEGORIES = re.compile(rf"\{{\s*+{_NAME}\s*+(?:,\s*+{_NAME}\s*+)*+\}}")
_CATEGORY = re.compile(_NAME)
_DATA = re.compile(r"@data\s*(?:%.*)?$", re.IGNORECASE)
_PAIR = re.compile(rf"\s*+([0-9]+)\s++({_NAME})\s*+".encode())
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_NUMBERS = ("numeric", "real", "integer")
_BLANKS = " \t\r"


@dataclass(frozen=True)
class Attribute:
    """One column."""

    name: str
    categories: tuple[str, ...] = ()  # in the order of the file; empty if the column holds numbers

    @cached_property
    def is_coded(self) -> bool:
        """Whether categories become positions."""
        return not all(map(_NUMBER.fullmatch, self.categories))

    @cached_property
    def values(self) -> dict[str, float]:
        """Value of each category: its number if all categories are numbers, else 0, 1, ..."""
        if self.is_coded:
            return {name: float(position) for position, name in enumerate(self.categories)}
        return {name: float(name) for name in self.categories}

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Values of the categories."""
        return frozenset(self.values.values())


@dataclass(frozen=True, eq=False)
class ArffTable:
    """Rows of a file, with all columns as numbers."""

    relation: str  # name of the relation, without quotes
    attributes: tuple[Attribute, ...]
    # (n_samples, n_attributes), float64; CSR if the file's rows are sparse; NaN if missing
    matrix: Matrix


def read_arff(path: PathLike, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> ArffTable:
    """Read all rows of an ARFF file, plain or compressed (gzip, bzip2, xz, zstd).

    At most ``max_decompressed_bytes`` of text are decompressed: by default 16 GiB, and at most 200
    times the file if it is more than 64 MiB. ValueError is raised if an attribute is malformed or
    of an unsupported kind, a row does not have one value per attribute, a number is not finite, or
    a value is not a category of its attribute.
    """
    path = Path(path)
    text = read_text(path, max_decompressed_bytes)
    if b"\r" in text.replace(b"\r\n", b""):
        raise ValueError(f"{path}: a carriage return must be part of a line end CRLF.")
    relation, attributes, data, line = _header(path, text)
    if data.lstrip()[:1] == b"{":
        return ArffTable(relation, attributes, _sparse_rows(path, attributes, data, line))
    return ArffTable(relation, attributes, _dense_rows(path, attributes, data))


def _header(path: Path, text: bytes) -> tuple[str, tuple[Attribute, ...], bytes, int]:
    """Relation, attributes, the text after ``@data`` without comments, and its first line."""
    relation, attributes, position, number = "", [], 0, 0
    while position < len(text):
        stop = text.find(b"\n", position) + 1 or len(text)
        line = text[position:stop].decode("utf-8", "replace").strip()
        position, number = stop, number + 1
        word = line[:10].lower()
        if word.startswith("@relation"):
            relation = _unquoted(line[9:].strip())
        elif word.startswith("@attribute"):
            attributes.append(_attribute(path, number, line))
        elif _DATA.match(line):
            break
        elif line and not line.startswith("%"):
            raise ValueError(
                f"{path}, line {number}: an ARFF header has lines @relation, @attribute, @data and "
                f"comments (%), got {line[:60]!r}."
            )
    else:
        raise ValueError(f"{path} has no line @data. Is it an ARFF file?")
    if not attributes:
        raise ValueError(f"{path} has no @attribute before @data.")
    data = text[position:]
    if b"%" in data:
        lines = (b"" if row.lstrip().startswith(b"%") else row for row in data.split(b"\n"))
        data = b"\n".join(lines)
    return relation, tuple(attributes), data, number


def _attribute(path: Path, number: int, line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"{path}, line {number}: cannot read {line[:60]!r} as an attribute.")
    name, kind = _unquoted(match[1]), match[2]
    if not kind.startswith("{"):
        if kind.lower() in _NUMBERS:
            return Attribute(name)
        raise ValueError(
            f"{path}, line {number}: attribute {name!r} is of the kind {kind[:60]!r}; numbers "
            f"({', '.join(_NUMBERS)}) and lists of categories {{a,b}} are supported. Drop it."
        )
    if not _CATEGORIES.fullmatch(kind):
        raise ValueError(
            f"{path}, line {number}: the categories of {name!r} must read {{a,b,c}}, with quotes "
            f"around names that hold blanks, commas or braces, got {kind[:60]!r}."
        )
    attribute = Attribute(name, tuple(_unquoted(category) for category in _CATEGORY.findall(kind)))
    # Rows that leave the attribute out would hold it.
    infinite = [category for category, value in attribute.values.items() if math.isinf(value)]
    if infinite:
        raise ValueError(
            f"{path}, line {number}: category {infinite[0][:60]!r} of {name!r} is a number beyond "
            "the range of float64. Rename it."
        )
    if len(set(attribute.values.values())) < len(attribute.categories):
        raise ValueError(f"{path}, line {number}: {name!r} has a category twice.")
    if "?" in attribute.categories:
        raise ValueError(f"{path}, line {number}: {name!r} has the category '?', which is missing.")
    return attribute


def _dense_rows(path: Path, attributes: Sequence[Attribute], data: bytes) -> Float64Array:
    """Read comma-separated rows by pyarrow's reader."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(i) for i in range(len(attributes))]
    if not data.strip():
        return np.empty((0, len(names)))
    kinds = [pa.string() if attribute.is_coded else pa.float64() for attribute in attributes]
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=csv.ParseOptions(quote_char="'"),
            convert_options=csv.ConvertOptions(
                column_types=dict(zip(names, kinds, strict=True)),
                null_values=["?"],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{path}: every row must hold {len(names)} values, one per attribute ({error})."
        ) from None
    matrix = np.empty((table.num_rows, len(names)))
    for j, attribute in enumerate(attributes):
        column = table.column(j)
        if attribute.is_coded:
            matrix[:, j] = _codes(path, attribute, column.to_pylist(), data)
        else:
            matrix[:, j] = column.to_numpy()  # missing values become NaN
            if np.isinf(matrix[:, j]).any():
                raise ValueError(f"{path}: {attribute.name!r} has a number that is not finite.")
    _check_categories(path, attributes, matrix)
    return matrix


def _sparse_rows(path: Path, attributes: Sequence[Attribute], data: bytes, line: int) -> Matrix:
    """Read rows of pairs ``{index value,index value}``."""
    counts: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for number, row in enumerate(data.split(b"\n"), start=line + 1):
        row = row.strip()
        if not row:
            continue
        pairs = _pairs(row)
        if pairs is None:
            raise ValueError(
                f"{path}, line {number}: a sparse row must read {{index value,index value}}, got "
                f"{_shown(row)}."
            )
        counts.append(len(pairs))
        for index, token in pairs:
            column = int(index) if len(index) < 10 else len(attributes)
            if column >= len(attributes):
                raise ValueError(
                    f"{path}, line {number}: index {index[:20].decode()} is not one of the "
                    f"{len(attributes)} attributes, counted from 0."
                )
            columns.append(column)
            values.append(_value(path, number, attributes[column], token))
        if len(set(columns[len(columns) - len(pairs) :])) < len(pairs):
            raise ValueError(f"{path}, line {number}: an index is given twice.")
    rows = np.repeat(np.arange(len(counts)), counts)
    shape = (len(counts), len(attributes))
    left_out = np.array([next(iter(attribute.values.values()), 0.0) for attribute in attributes])
    if left_out.any():
        matrix = _dense_of(path, left_out, shape)
        matrix[rows, columns] = values
        return matrix
    table: Any = sparse.csr_matrix((values, (rows, columns)), shape=shape)
    table.eliminate_zeros()
    return table


def _pairs(row: bytes) -> list[tuple[bytes, bytes]] | None:
    """Index and value of every pair of a sparse row; None if the row is malformed."""
    if not (row.startswith(b"{") and row.endswith(b"}")):
        return None
    inner = row[1:-1].strip()
    if not inner:
        return []
    if b"'" not in inner and b'"' not in inner:
        pairs = [tuple(pair.split()) for pair in inner.split(b",")]
        if all(len(pair) == 2 and pair[0].isdigit() for pair in pairs):
            return None if b"{" in inner or b"}" in inner else pairs  # type: ignore[return-value]
        return None
    found, position = [], 0
    while True:
        match = _PAIR.match(inner, position)
        if match is None:
            return None
        found.append((match[1], match[2]))
        if match.end() == len(inner):
            return found
        if inner[match.end() : match.end() + 1] != b",":
            return None
        position = match.end() + 1


def _value(path: Path, number: int, attribute: Attribute, token: bytes) -> float:
    """Value in a sparse row; NaN if it is missing."""
    if token == b"?":
        return np.nan
    text = _unquoted(token.decode("utf-8", "replace"))
    if attribute.is_coded:
        value = attribute.values.get(text)
    else:
        value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None or not math.isfinite(value):
        what = "a category of" if attribute.is_coded else "a finite number for"
        raise ValueError(
            f"{path}, line {number}: {_shown(token)} is not {what} {attribute.name!r}."
        )
    if attribute.categories and value not in attribute.numbers:
        raise ValueError(
            f"{path}, line {number}: {_shown(token)} is not a category of {attribute.name!r}."
        )
    return value


def _dense_of(path: Path, row: Float64Array, shape: tuple[int, int]) -> Float64Array:
    """Dense matrix of equal rows, needed because the omitted values are not zero."""
    try:
        return np.tile(row, (shape[0], 1))
    except MemoryError:
        raise ValueError(
            f"{path}: {shape[0]:,} rows of {shape[1]:,} attributes take "
            f"{8 * shape[0] * shape[1] / 2**30:,.1f} GiB, because the first category of a nominal "
            "attribute, which sparse rows leave out, is not 0."
        ) from None


def _codes(
    path: Path, attribute: Attribute, cells: Sequence[str | None], data: bytes
) -> Float64Array:
    """Positions of categories; NaN for missing ones."""
    values: dict[str | None, float] = {None: np.nan}
    for cell in dict.fromkeys(cells):
        if cell is None:
            continue
        name = _unquoted(cell.strip(_BLANKS))
        # Blanks within quotes belong to the name; pyarrow has taken the quotes off.
        if cell in attribute.values or (name != cell and f"'{cell}'".encode() in data):
            name = cell
        if name != "?" and name not in attribute.values:
            raise ValueError(
                f"{path}: {name!r} is not one of the categories of {attribute.name!r}: "
                f"{', '.join(attribute.categories[:10])}."
            )
        values[cell] = attribute.values.get(name, np.nan)
    return np.array([values[cell] for cell in cells])


def _check_categories(path: Path, attributes: Sequence[Attribute], matrix: Float64Array) -> None:
    """Check that numbers in nominal columns are among their categories."""
    for j, attribute in enumerate(attributes):
        if not attribute.categories or attribute.is_coded:
            continue
        column = matrix[:, j]
        fits = np.isnan(column) | np.isin(column, [*attribute.numbers])
        if not fits.all():
            raise ValueError(
                f"{path}: {column[np.argmin(fits)]:g} is not one of the categories of "
                f"{attribute.name!r}: {', '.join(attribute.categories[:10])}."
            )


def _unquoted(name: str) -> str:
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _shown(token: bytes) -> str:
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
