"""ARFF, dense and sparse: WEKA's text of attributes and rows, as Mulan and MEKA publish it.

Numbers are read as they are, categories whose names are numbers as these numbers, any other
category as its position in the attribute's list. A sparse row ``{3 1.5,7 1}`` leaves out zeros and
the first category of each nominal attribute. Dates, texts and row weights are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.datasets.textfiles import PathLike, open_text
from rankwise.typing import Float64Array, Matrix

_NAME = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{},]+)"""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s*(\{{.*\}}|\S+)\s*$", re.IGNORECASE)
_CATEGORY = re.compile(_NAME)
_NUMBERS = ("numeric", "real", "integer")
_SPACES = bytes.maketrans(b"{},\n\r\t", b"      ")


@dataclass(frozen=True)
class Attribute:
    """One column.

    Attributes
    ----------
    name : str
    categories : tuple of str
        In the order of the file; empty where the column holds numbers.
    """

    name: str
    categories: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """What the categories are read as: their names where all are numbers, else 0, 1, ..."""
        try:
            return tuple(float(category) for category in self.categories)
        except ValueError:
            return tuple(float(position) for position in range(len(self.categories)))

    @property
    def is_coded(self) -> bool:
        """Whether categories are read as positions."""
        return any(not _is_number(category) for category in self.categories)


@dataclass(frozen=True, eq=False)
class ArffTable:
    """The rows of a file, all columns as numbers.

    Attributes
    ----------
    relation : str
        As written, without quotes.
    attributes : tuple of Attribute
    matrix : ndarray or CSR of shape (n_samples, n_attributes), float64
        CSR where the rows of the file are sparse. NaN: missing.
    """

    relation: str
    attributes: tuple[Attribute, ...]
    matrix: Matrix


def read_arff(path: PathLike) -> ArffTable:
    """All rows of an ARFF file, plain or compressed (gzip, bzip2, xz, zstd).

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ArffTable

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        When an attribute is of a kind that is not read, a row has other than one value an
        attribute, or a value is none of its attribute.

    Notes
    -----
    O(size of the file).
    """
    file = open_text(Path(path))
    relation, attributes, data, line = _header(Path(path), file.read(file.start, file.stop))
    if data.lstrip()[:1] == b"{":
        return ArffTable(relation, attributes, _sparse_rows(Path(path), attributes, data, line))
    return ArffTable(relation, attributes, _dense_rows(Path(path), attributes, data))


def _header(path: Path, text: bytes) -> tuple[str, tuple[Attribute, ...], bytes, int]:
    """Relation, attributes, the text after ``@data`` without comments, and where that begins."""
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
        elif word.startswith("@data"):
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
    if kind.startswith("{"):
        return Attribute(name, tuple(_unquoted(of) for of in _CATEGORY.findall(kind[1:-1])))
    if kind.lower() not in _NUMBERS:
        raise ValueError(
            f"{path}, line {number}: attribute {name!r} is of the kind {kind!r}; numbers "
            f"({', '.join(_NUMBERS)}) and lists of categories {{a,b}} are read. Drop the column."
        )
    return Attribute(name)


def _dense_rows(path: Path, attributes: Sequence[Attribute], data: bytes) -> Float64Array:
    """Comma-separated rows, by pyarrow's reader."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(i) for i in range(len(attributes))]
    if not data.strip():
        return np.empty((0, len(names)))
    kinds = [pa.string() if of.is_coded else pa.float64() for of in attributes]
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
            f"{path}: its rows must hold {len(names)} values each, one an attribute ({error})."
        ) from None
    matrix = np.empty((table.num_rows, len(names)))
    for j, attribute in enumerate(attributes):
        column = table.column(j)
        if attribute.is_coded:
            matrix[:, j] = _codes(path, attribute, column.to_pylist())
        else:
            matrix[:, j] = column.to_numpy()  # missing ones become NaN
    _check_categories(path, attributes, matrix)
    return matrix


def _sparse_rows(path: Path, attributes: Sequence[Attribute], data: bytes, line: int) -> Matrix:
    """Rows of pairs ``{index value,index value}``."""
    lines = data.split(b"\n")
    used = [number for number, row in enumerate(lines) if row.strip()]
    counts, tokens = [], []
    for number in used:
        row = lines[number].strip()
        found = row.translate(_SPACES).split()
        if not (row.startswith(b"{") and row.endswith(b"}")) or len(found) % 2:
            raise ValueError(
                f"{path}, line {line + number + 1}: a sparse row must read "
                f"{{index value,index value}}, got {row[:60].decode('utf-8', 'replace')!r}."
            )
        counts.append(len(found) // 2)
        tokens += found
    at = np.repeat(used, counts)
    columns = _integers(path, tokens[0::2], at, line)
    outside = np.flatnonzero((columns < 0) | (columns >= len(attributes)))
    if len(outside):
        raise ValueError(
            f"{path}, line {line + at[outside[0]] + 1}: index {columns[outside[0]]} is none of "
            f"the {len(attributes)} attributes, counted from 0."
        )
    values = _values(path, attributes, columns, tokens[1::2], at, line)
    rows = np.repeat(np.arange(len(used)), counts)
    shape = (len(used), len(attributes))
    cells = rows * shape[1] + columns
    if len(np.unique(cells)) < len(cells):
        raise ValueError(f"{path}: a sparse row names an index twice. Give each value once.")
    left_out = np.array([of.values[0] if of.categories else 0.0 for of in attributes])
    if left_out.any():
        matrix = np.tile(left_out, (shape[0], 1))
        matrix[rows, columns] = values
        _check_categories(path, attributes, matrix)
        return matrix
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=shape)
    _check_categories(path, attributes, matrix.tocsc())
    matrix.eliminate_zeros()
    return matrix


def _integers(path: Path, tokens: list[bytes], at: Any, line: int) -> Any:
    try:
        return np.array(tokens, dtype="S").astype(np.int64) if tokens else np.empty(0, np.int64)
    except ValueError:
        bad = next(i for i, token in enumerate(tokens) if not token.lstrip(b"+-").isdigit())
        raise ValueError(
            f"{path}, line {line + at[bad] + 1}: a sparse row must read {{index value,...}}, got "
            f"the index {tokens[bad].decode('utf-8', 'replace')!r}."
        ) from None


def _values(
    path: Path, attributes: Sequence[Attribute], columns: Any, tokens: list[bytes], at: Any,
    line: int,
) -> Float64Array:  # fmt: skip
    coded = np.array([of.is_coded for of in attributes])[columns]
    plain = [b"nan" if token == b"?" else token for token in tokens]
    for i in np.flatnonzero(coded):
        attribute = attributes[columns[i]]
        plain[i] = b"%r" % float(_codes(path, attribute, [_unquoted(tokens[i].decode())])[0])
    try:
        return np.array(plain, dtype="S").astype(np.float64) if plain else np.empty(0)
    except ValueError:
        bad = next(i for i, token in enumerate(plain) if not _is_number(token.decode()))
        raise ValueError(
            f"{path}, line {line + at[bad] + 1}: value {plain[bad].decode()!r} of "
            f"{attributes[columns[bad]].name!r} is no number."
        ) from None


def _codes(path: Path, attribute: Attribute, names: Sequence[str | None]) -> Float64Array:
    """Positions of categories; NaN for those that are missing."""
    positions = {name: float(i) for i, name in enumerate(attribute.categories)}
    positions["?"] = np.nan
    names = [None if name is None else _unquoted(name.strip()) for name in names]
    for name in names:
        if name is not None and name not in positions:
            raise ValueError(
                f"{path}: {name!r} is none of the categories of {attribute.name!r}: "
                f"{', '.join(attribute.categories[:10])}."
            )
    return np.array([np.nan if name is None else positions[name] for name in names])


def _check_categories(path: Path, attributes: Sequence[Attribute], matrix: Any) -> None:
    """Numbers of nominal columns are among their categories."""
    for j, attribute in enumerate(attributes):
        if not attribute.categories or attribute.is_coded:
            continue
        if sparse.issparse(matrix):
            column = matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]]
        else:
            column = matrix[:, j]
        fits = np.isnan(column)
        for value in attribute.values:
            fits |= column == value
        if not fits.all():
            raise ValueError(
                f"{path}: {column[np.argmin(fits)]:g} is none of the categories of "
                f"{attribute.name!r}: {', '.join(attribute.categories[:10])}."
            )


def _unquoted(name: str) -> str:
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
