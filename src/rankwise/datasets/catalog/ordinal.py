"""Sets for ordinal regression: ordered classes, nominal columns as codes, published splits."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.catalog.locate import fetch
from rankwise.datasets.catalog.ordinal_sets import ORDINAL_SETS, OrdinalSet
from rankwise.datasets.ordered_classes import By, cut_into_classes
from rankwise.datasets.readers.textfiles import read_text
from rankwise.typing import Float64Array, Int64Array

MISSING = ("", "?")
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OrdinalData:
    """Rows with classes in ascending order and, if a split was requested, its row numbers.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Features as published, not scaled. Nominal columns hold positions in ``categories``; missing
        values are NaN.
    y : ndarray of shape (n_samples,), int64
        Class numbers, 0 for the lowest.
    classes : tuple of str
        Name of every class number.
    train, test : ndarray of int64
        Row numbers of the published split, ascending; empty if no split was requested.
    feature_names : tuple of str
    categorical_features : ndarray of shape (n_features,), bool
        Mask of the nominal columns.
    categories : tuple of tuple of str
        Names of the categories of each column; empty for numeric columns.
    target : ndarray of shape (n_samples,), float64, or None
        Numbers from which the classes were cut.
    name : str
    """

    X: Float64Array
    y: Int64Array
    classes: tuple[str, ...]
    train: Int64Array
    test: Int64Array
    feature_names: tuple[str, ...]
    categorical_features: NDArray[np.bool_]
    categories: tuple[tuple[str, ...], ...]
    target: Float64Array | None
    name: str

    def __repr__(self) -> str:
        n_nominal = int(self.categorical_features.sum())
        nominal = f", {n_nominal} of them nominal" if n_nominal else ""
        split = f"; {len(self.train)} train, {len(self.test)} test" if len(self.train) else ""
        return (
            f"OrdinalData({self.name!r}: {len(self.y)} rows, {self.X.shape[1]} features{nominal}, "
            f"{len(self.classes)} classes{split})"
        )


def load_ordinal(
    name: str,
    split: int | None = None,
    bins: int | None = None,
    *,
    by: By | None = None,
) -> OrdinalData:
    """Load a set for ordinal regression by name.

    Parameters
    ----------
    name : str
        Name of the set.
        Published classes: "era", "esl", "lev", "swd", "car", "nursery", "balance-scale", "tae",
        "new-thyroid" (under-active, normal, over-active), "eucalyptus", "wine-quality-red".
        Numbers to cut into classes: "abalone", "machine-cpu", "bank8fm", "computer-cpu-act",
        "california", "census-house8l", "stock". Sets of Chu and Ghahramani with their 20 splits:
        "chu-pyrimidines", "chu-machinecpu", "chu-bostonhousing", "chu-diabetes", "chu-triazines",
        "chu-wisconsin". ORCA's holdouts, 30 each (20 for the last): "orca-toy", "orca-pasture",
        "orca-tae", "orca-pyrim10".
    split : int, optional
        Number of a published split, from 0. Required for "chu-wisconsin" and ORCA's sets, which are
        published split by split. None: all rows, with empty ``train`` and ``test``.
    bins : int >= 2, optional
        Number of classes if the target is a number. Chu and Ghahramani's sets have 5 (the default)
        or 10, as published; "chu-wisconsin" has 5.
    by : {"frequency", "length"}, optional
        Method of cutting numbers, see :func:`cut_into_classes`; default: "frequency". The published
        classes of Chu and Ghahramani are cut by "length".

    Returns
    -------
    OrdinalData

    Raises
    ------
    ValueError
        If there is no such set, split or number of classes, or the file has other content than
        expected.
    FileNotFoundError
        If the set is not on this machine; the message says where to get it.

    Notes
    -----
    Two columns of "machine-cpu" are not features and are left out: the estimate ``erp`` and the
    identifier ``model``. Its nominal column is ``vendor``.

    Chu and Ghahramani's classes are those of :func:`cut_into_classes` by length, except for 8 rows
    of "pyrimidines" in 5 bins and 6 rows of "diabetes" in 10.
    """
    if name not in ORDINAL_SETS:
        raise ValueError(f"name must be one of {', '.join(ORDINAL_SETS)}, got {name!r}.")
    known = ORDINAL_SETS[name]
    bins = _check_bins(name, known, bins, by)
    _check_split(name, known, split)
    paths = fetch(known.files)
    if not known.splits:
        data = _table_data(name, known, _read(paths[0]))
        return data if known.classes else _cut(data, bins, by or "frequency")
    if known.classes:
        return _published_rows(name, known, _read(paths[0]), split)
    data = _table_data(name, known, _read(paths[0]))
    return _published_classes(data, _read(paths[1 + known.published_bins.index(bins)]), bins, split)


def _check_bins(name: str, known: OrdinalSet, bins: int | None, by: str | None) -> int:
    """Number of classes to cut; 0 if the classes are published."""
    if known.published_bins:
        if by not in (None, "length"):
            raise ValueError(f'by must be "length" for {name}, as published, got {by!r}.')
        if bins is not None and bins not in known.published_bins:
            choices = " or ".join(map(str, known.published_bins))
            raise ValueError(f"bins must be {choices} for {name}, as published, got {bins}.")
        return bins or known.published_bins[0]
    if known.classes and (bins is not None or by is not None):
        raise ValueError(
            f"bins and by must be None for {name}, got bins={bins} and by={by!r}. "
            f"Its {len(known.classes)} classes are published."
        )
    if not known.classes and bins is None:
        raise ValueError(
            f"bins must be given for {name}, got None. Its target is a number: "
            "bins=10 cuts it into ten classes."
        )
    return bins or 0


def _check_split(name: str, known: OrdinalSet, split: int | None) -> None:
    if split is not None and not known.splits:
        raise ValueError(f"split must be None for {name}, got {split}. It has no published split.")
    if split is not None and not 0 <= split < known.splits:
        raise ValueError(f"split must be 0 to {known.splits - 1} for {name}, got {split}.")
    if split is None and known.splits and known.classes:
        raise ValueError(
            f"split must be 0 to {known.splits - 1} for {name}, got None. "
            "It is published split by split."
        )


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of a CSV file with a header, as strings."""
    text = read_text(path).decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text, newline="\n"))
    cells = np.array(rows, dtype=str)
    return dict(zip(header, cells.T, strict=True))


def _table_data(name: str, known: OrdinalSet, table: dict[str, NDArray[Any]]) -> OrdinalData:
    """All rows of a table; class numbers are zeros if the target is to be cut."""
    names = tuple(column for column in table if column not in (known.target, *known.drop))
    columns, categories = [], []
    for column in names:
        cells = table[column]
        found = _categories(name, column, cells, known) if column in known.nominal else ()
        columns.append(_codes(cells, found) if found else _convert_to_numbers(cells))
        categories.append(found)
    target = table[known.target]
    X = np.column_stack(columns)
    if X.shape != (known.rows, known.features):
        raise ValueError(
            f"{name} must have {known.rows} rows and {known.features} features, got "
            f"{X.shape[0]} and {X.shape[1]}. Read the file that sources.toml names."
        )
    return OrdinalData(
        X=X,
        y=_classes_of(target, known.classes) if known.classes else np.zeros(len(X), np.int64),
        classes=known.classes,
        train=_NONE,
        test=_NONE,
        feature_names=names,
        categorical_features=np.array([bool(found) for found in categories]),
        categories=tuple(categories),
        target=None if known.classes else _convert_to_numbers(target),
        name=name,
    )


def _categories(name: str, column: str, cells: NDArray[Any], known: OrdinalSet) -> tuple[str, ...]:
    """Categories of a nominal column in order."""
    present = [str(cell) for cell in np.unique(cells) if cell not in MISSING]
    declared = known.nominal[column]
    if declared and set(present) - set(declared):
        raise ValueError(f"{column} of {name} must be one of {declared}, got {present}.")
    if declared:
        return declared
    return tuple(sorted(present, key=lambda cell: (int(cell) if cell.isdigit() else np.inf, cell)))


def _codes(cells: NDArray[Any], categories: tuple[str, ...]) -> Float64Array:
    code = dict(zip(categories, range(len(categories)), strict=True))
    return np.array([code.get(cell, np.nan) for cell in cells.tolist()], dtype=np.float64)


def _convert_to_numbers(cells: NDArray[Any]) -> Float64Array:
    return np.where(np.isin(cells, MISSING), "nan", cells).astype(np.float64)


def _classes_of(cells: NDArray[Any], classes: tuple[str, ...]) -> Int64Array:
    code = dict(zip(classes, range(len(classes)), strict=True))
    return np.array([code[cell] for cell in cells.tolist()], dtype=np.int64)


def _cut(data: OrdinalData, bins: int, by: By) -> OrdinalData:
    assert data.target is not None
    codes, classes = cut_into_classes(data.target, bins, by=by)
    return replace(data, y=codes, classes=classes)


def _published_classes(
    data: OrdinalData, splits: dict[str, NDArray[Any]], bins: int, split: int | None
) -> OrdinalData:
    """Classes cut by the publisher, the same in every split, and one of the splits."""
    row = splits["row"].astype(np.int64)
    y = np.empty(len(data.X), dtype=np.int64)
    y[row] = splits["class"].astype(np.int64) - 1
    classes = tuple(str(number) for number in range(1, bins + 1))
    if split is None:
        return replace(data, y=y, classes=classes)
    here = splits["split"].astype(np.int64) == split
    train, test = (np.sort(row[here & (splits["part"] == part)]) for part in ("train", "test"))
    return replace(data, y=y, classes=classes, train=train, test=test)


def _published_rows(
    name: str, known: OrdinalSet, splits: dict[str, NDArray[Any]], split: int | None
) -> OrdinalData:
    """Rows of a split that is published together with its features."""
    here = splits["split"].astype(np.int64) == split
    table = {c: cells[here] for c, cells in splits.items() if c not in ("split", "part")}
    data = _table_data(name, known, table)
    part = splits["part"][here]
    return replace(data, train=np.flatnonzero(part == "train"), test=np.flatnonzero(part == "test"))
