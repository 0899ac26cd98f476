"""Multi-label data: the sets of Mulan by name, files of Mulan and MEKA, and extreme classification.

Mulan and MEKA use ARFF, WEKA's text format of attributes and rows. Numbers are read unchanged.
Categories become the numbers in their names if all names are numbers, otherwise positions in the
attribute's list. A sparse row ``{3 1.5,7 1}`` omits zeros and the first category of each nominal
attribute. Dates, texts and row weights are not supported.

The first line of a text of the extreme classification repository holds the numbers of rows,
features and labels. Every other line is a row: labels separated by commas (a leading blank means no
labels), then pairs ``feature:value``. Labels and features are counted from 0.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.datasets.catalog.entries import fetch
from rankwise.datasets.data import MultiLabelData
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, PathLike, read_text
from rankwise.runtime.arrow import pa, pa_csv
from rankwise.typing import Float64Array, Matrix, join_rows

# Rows, features and labels of the whole set, then the rows of the training and test parts.
MULAN_SETS: dict[str, tuple[int, int, int, int, int]] = {
    "emotions": (593, 72, 6, 391, 202),
    "yeast": (2417, 103, 14, 1500, 917),
    "corel5k": (5000, 499, 374, 4500, 500),
    "delicious": (16105, 500, 983, 12920, 3185),
    "mediamill-discretized": (43851, 120, 101, 30970, 12881),
}
PARTS = ("all", "train", "test")
_MEKA = re.compile(r"-C\s+(-?[0-9]{1,9})(?![0-9])")


def load_mulan(
    name: Literal["emotions", "yeast", "corel5k", "delicious", "mediamill-discretized"],
    part: Literal["all", "train", "test"] = "all",
) -> MultiLabelData:
    """Load one of Mulan's sets by name.

    Parameters
    ----------
    name : {"emotions", "yeast", "corel5k", "delicious", "mediamill-discretized"}
        Name of the set; corel5k and delicious are sparse.
    part : {"all", "train", "test"}, default="all"
        All rows, or those of a part of the published split.

    Returns
    -------
    MultiLabelData

    Raises
    ------
    ValueError
        If the set or part does not exist, or the file has other content than expected.
    FileNotFoundError
        If the set is not on this machine; the message says where to get it.

    Notes
    -----
    "mediamill-discretized" is **not** the published set of 43,907 numeric rows: its features are
    discretised into three bins, and 56 rows are missing. All its rows are the training rows
    followed by the test rows.
    """
    if name not in MULAN_SETS:
        raise ValueError(f"name must be one of {', '.join(MULAN_SETS)}, got {name!r}.")
    if part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(PARTS)}, got {part!r}.")
    rows, n_features, n_labels, *of_parts = MULAN_SETS[name]
    paths = fetch(f"mulan-{name}")
    whole = paths if len(paths) == 2 else paths[:1]  # published in two parts, some also as a whole
    paths_of_part = {"all": whole, "train": paths[-2:-1], "test": paths[-1:]}
    found = [read_mulan(path, labels=-n_labels) for path in paths_of_part[part]]
    data = MultiLabelData(
        join_rows([table.X for table in found]), join_rows([table.Y for table in found]),
        found[0].feature_names, found[0].label_names, name if part == "all" else f"{name} {part}",
    )  # fmt: skip
    expected = (dict(zip(PARTS, (rows, *of_parts), strict=True))[part], n_features)
    if data.X.shape != expected:
        raise ValueError(
            f"{name} must have {expected[0]} rows and {expected[1]} features, got "
            f"{data.X.shape[0]} and {data.X.shape[1]}."
        )
    return data


def read_mulan(
    path: PathLike,
    labels: PathLike | int | Sequence[str] | None = None,
    *,
    dense: bool | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> MultiLabelData:
    """Read a multi-label ARFF file of Mulan or MEKA, dense or sparse, plain or compressed.

    Parameters
    ----------
    path : path-like
        ARFF file.
    labels : path-like, int or sequence of str, optional
        Columns that are labels: Mulan's XML file with the names (all levels of a hierarchy count),
        the names themselves, or a number of columns in MEKA's convention: positive for the first
        columns, negative for the last. None: the number in the relation's name (``-C 6``), else the
        XML file with the name of the ARFF file in the same folder.
    dense : bool, optional
        Whether X and Y are ndarrays rather than CSR. None: as in the file.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    MultiLabelData
        Features and labels in the order of the ARFF file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the labels are not among the attributes, are not 0/1, or the file is not valid ARFF; see
        ``read_arff``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> text = "@relation 'toy: -C 1'\\n@attribute a {0,1}\\n@attribute x real\\n@data\\n1,2.5\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.arff")
    ...     _ = path.write_text(text)
    ...     data = read_mulan(path)
    >>> data.X.tolist(), data.Y.tolist(), data.label_names
    ([[2.5]], [[1]], ('a',))
    """
    path = Path(path)
    table = read_arff(path, max_decompressed_bytes=max_decompressed_bytes)
    is_label = _label_columns(path, table, labels, max_decompressed_bytes)
    matrix: Any = table.matrix
    if dense is not None and dense != isinstance(matrix, np.ndarray):
        matrix = sparse.csr_matrix(matrix) if not dense else sparse.csr_matrix(matrix).toarray()
    names = [attribute.name for attribute in table.attributes]
    return MultiLabelData(
        _columns(matrix, ~is_label),
        _indicator(path, table.attributes, matrix, is_label),
        tuple(name for name, chosen in zip(names, is_label, strict=True) if not chosen),
        tuple(name for name, chosen in zip(names, is_label, strict=True) if chosen),
        path.name.partition(".")[0],
    )


def _label_columns(
    path: Path,
    table: ArffTable,
    labels: PathLike | int | Sequence[str] | None,
    max_decompressed_bytes: int,
) -> NDArray[np.bool_]:
    """Mask of the attributes that are labels."""
    names = [attribute.name for attribute in table.attributes]
    if labels is None:
        meka = _MEKA.search(table.relation)
        beside = path.with_name(path.name.partition(".")[0] + ".xml")
        labels = int(meka[1]) if meka else beside
        if not meka and not beside.is_file():
            raise ValueError(
                f"{path} does not say which attributes are labels (MEKA's '-C 6' in @relation), "
                f"and there is no {beside}. Pass labels: an XML file, names, or their number "
                "(negative: the last columns)."
            )
    chosen = np.zeros(len(names), dtype=bool)
    if isinstance(labels, int | np.integer):
        if not 0 < abs(labels) <= len(names):
            raise ValueError(
                f"labels must count from 1 to the {len(names)} attributes of {path} (negative: "
                f"from the last), got {labels}."
            )
        chosen[slice(None, labels) if labels > 0 else slice(labels, None)] = True
        return chosen
    if isinstance(labels, str | os.PathLike):
        wanted = _xml_names(Path(labels), max_decompressed_bytes)
    else:
        wanted = list(labels)
    known, chosen_names = set(names), set(wanted)
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        got = f"{missing[0]!r} is not one" if missing else "got none"
        raise ValueError(
            f"labels must be among the attributes of {path} ({names[0]!r} to {names[-1]!r}): {got}."
        )
    chosen[:] = [name in chosen_names for name in names]
    if chosen.sum() > len(chosen_names):
        twice = next(name for name in wanted if names.count(name) > 1)
        raise ValueError(f"{path}: more than one attribute is called {twice!r}, which is a label.")
    return chosen


def _xml_names(path: Path, max_decompressed_bytes: int) -> list[str]:
    """Names of all labels in Mulan's XML, at any depth of a hierarchy.

    The parser refuses a document type in any encoding, because it could define entities.
    """
    names: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition("}")[2] == "label":
            if "name" not in attributes:
                raise _XmlError("every <label> must have a name")
            names.append(attributes["name"])

    def refuse(*_: Any) -> None:
        raise _XmlError("a document type (<!DOCTYPE ...>) is not read. Remove it")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(read_text(path, max_decompressed_bytes), True)
    except _XmlError as error:
        raise ValueError(f"{path}: {error}.") from None
    except (expat.ExpatError, LookupError, UnicodeError) as error:
        raise ValueError(f"{path} does not read as XML ({error}).") from None
    return names


class _XmlError(Exception):
    """XML that the parser's handlers refuse."""


def _indicator(
    path: Path, attributes: Sequence[Attribute], matrix: Matrix, is_label: NDArray[np.bool_]
) -> Any:
    Y: Any = _columns(matrix, is_label)
    values = Y if isinstance(Y, np.ndarray) else Y.data
    if not np.isin(values, (0.0, 1.0)).all():
        ok = np.isin(Y if isinstance(Y, np.ndarray) else Y.toarray(), (0.0, 1.0)).all(axis=0)
        name = attributes[np.flatnonzero(is_label)[np.argmin(ok)]].name
        raise ValueError(f"{path}: label {name!r} must be 0 or 1 in every row, without gaps.")
    return Y.astype(np.int64)


def _columns(matrix: Matrix, chosen: NDArray[np.bool_]) -> Any:
    """Copy of some columns."""
    part = matrix[:, np.flatnonzero(chosen)]
    return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part


# Up to fifteen digits, which float64 holds exactly. Possessive quantifiers: linear time.
_INDEX = rb"0*[0-9]{1,15}"
_VALUE = rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_SIZE = re.compile(_INDEX)
_MOST_COLUMNS = 2**31 - 1  # SciPy numbers the columns of sparse rows by int32
_LABELS = re.compile(rb"%b(?:,%b)*+" % (_INDEX, _INDEX))
_PAIRS = re.compile(rb"%b:%b(?:[ \t]++%b:%b)*+" % (_INDEX, _VALUE, _INDEX, _VALUE))
_HEADER = "the numbers of rows, features and labels, separated by blanks"


def read_extreme(
    path: PathLike, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> MultiLabelData:
    """Read a file of the extreme classification repository [1]_, plain or compressed.

    Parameters
    ----------
    path : path-like
        File with ``n d k`` in the first line, then n lines ``l1,l2 f:v f:v``.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Returns
    -------
    MultiLabelData
        Data with X and Y in CSR, with sorted columns and without stored zeros.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the header or a row is malformed, an index is out of range or repeated, or the number of
        rows differs from the header.

    Notes
    -----
    O(size of the file); the file and its numbers are both held in memory.

    References
    ----------
    .. [1] Bhatia, Dahiya, Jain, Kar, Mittal, Prabhu & Varma, "The extreme classification
       repository: multi-label datasets and code" (2016).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.txt")
    ...     _ = path.write_text("2 3 4\\n0,3 0:1 2:0.5\\n 1:2\\n")
    ...     data = read_extreme(path)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]], [[1, 0, 0, 1], [0, 0, 0, 0]])
    """
    path = Path(path)
    text = read_text(path, max_decompressed_bytes).replace(b"\r\n", b"\n")
    header, _, body = text.partition(b"\n")
    sizes = header.split()
    if len(sizes) != 3 or not all(map(_SIZE.fullmatch, sizes)):
        raise ValueError(
            f"{path}, line 1 must hold {_HEADER}, got {header[:60].decode('utf-8', 'replace')!r}."
        )
    n, d, k = (int(size.lstrip(b"0") or b"0") for size in sizes)
    if max(d, k) > _MOST_COLUMNS:
        raise ValueError(
            f"{path}, line 1: at most {_MOST_COLUMNS:,} features and as many labels can be read, "
            f"got {max(d, k):,}. Number those that occur anew, from 0."
        )
    lines = body.removesuffix(b"\n").split(b"\n") if body else []
    if len(lines) != n:
        raise ValueError(f"{path} must have the {n} rows stated in line 1, got {len(lines)}.")
    parts = [_parted(path, row, line) for row, line in enumerate(lines)]
    labels, features = [labels for labels, _ in parts], [features for _, features in parts]
    n_labels = np.array([text.count(b",") + 1 if text else 0 for text in labels], dtype=np.int64)
    n_pairs = np.array([text.count(b":") for text in features], dtype=np.int64)
    of_labels = _numbers(b" ".join(labels).replace(b",", b" "))
    pairs = _numbers(b" ".join(features).replace(b":", b" "))
    Y = _csr(path, n_labels, of_labels, np.ones(len(of_labels), dtype=np.int64), (n, k), "label")
    X = _csr(path, n_pairs, pairs[0::2], pairs[1::2], (n, d), "feature")
    return MultiLabelData(X, Y, name=path.name.partition(".")[0])


def _parted(path: Path, row: int, line: bytes) -> tuple[bytes, bytes]:
    """Labels and features of a line."""
    labels, _, features = line.partition(b" ")
    if b":" in labels:
        labels, features = b"", line
    features = features.strip(b" \t")
    if (labels and not _LABELS.fullmatch(labels)) or (features and not _PAIRS.fullmatch(features)):
        raise ValueError(
            f"{path}, line {row + 2}: a row must read 'l1,l2 f:v f:v', got "
            f"{line[:60].decode('utf-8', 'replace')!r}."
        )
    return labels, features


def _numbers(text: bytes) -> Float64Array:
    """Numbers separated by blanks."""
    if not text.strip():
        return np.empty(0)
    return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ")


def _csr(
    path: Path, counts: Any, indices: Float64Array, values: Any, shape: tuple[int, int], what: str
) -> Any:
    columns = indices.astype(np.int64)
    rows = np.repeat(np.arange(shape[0]), counts)
    bad = np.flatnonzero((columns != indices) | (columns < 0) | (columns >= shape[1]))
    if len(bad):
        raise ValueError(
            f"{path}, line {rows[bad[0]] + 2}: {what} {indices[bad[0]]:g} is not one of the "
            f"{shape[1]} stated in line 1, counted from 0."
        )
    finite = np.isfinite(values)
    if not finite.all():
        raise ValueError(f"{path}, line {rows[np.argmin(finite)] + 2}: values must be finite.")
    matrix = sparse.csr_matrix(
        (values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape
    )
    matrix.sort_indices()
    again = np.diff(matrix.indices) == 0
    again &= rows[1:] == rows[:-1]
    if again.any():
        row = int(rows[np.argmax(again)])
        raise ValueError(f"{path}, line {row + 2}: a {what} is repeated. List each once.")
    matrix.eliminate_zeros()
    return matrix


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
    names = [str(i) for i in range(len(attributes))]
    if not data.strip():
        return np.empty((0, len(names)))
    kinds = [pa.string() if attribute.is_coded else pa.float64() for attribute in attributes]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=pa_csv.ParseOptions(quote_char="'"),
            convert_options=pa_csv.ConvertOptions(
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
            raise _unknown_category(path, repr(name), attribute)
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
            raise _unknown_category(path, f"{column[np.argmin(fits)]:g}", attribute)


def _unknown_category(path: Path, shown: str, attribute: Attribute) -> ValueError:
    known = ", ".join(attribute.categories[:10])
    return ValueError(
        f"{path}: {shown} is not one of the categories of {attribute.name!r}: {known}."
    )


def _unquoted(name: str) -> str:
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _shown(token: bytes) -> str:
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
