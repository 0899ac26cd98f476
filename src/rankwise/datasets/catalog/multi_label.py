"""Multi-label data: files of Mulan and MEKA, and the sets of Mulan by name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.datasets.catalog.locate import fetch
from rankwise.datasets.data import MultiLabelData
from rankwise.datasets.readers.arff import ArffTable, Attribute, read_arff
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, PathLike, read_text
from rankwise.typing import Matrix, join_rows

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


def load_mulan(name: str, part: Literal["all", "train", "test"] = "all") -> MultiLabelData:
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
        If there is no such set or part, or the file has other content than expected.
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
        XML file with the name of the ARFF file beside it.
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
        If there is no such file.
    ValueError
        If the labels are not among the attributes, are not 0/1, or the file is not valid ARFF; see
        ``rankwise.datasets.readers.arff.read_arff``.

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
