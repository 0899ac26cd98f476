"""Loaders of the known sets: one fold, all folds, or all rows.

Each call reads a file only once, even for several folds, and verifies its checksum (see
:mod:`rankwise.datasets.catalog.entries`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike

from rankwise.datasets.catalog.entries import DataSet, find_set
from rankwise.datasets.catalog.locate import fetch
from rankwise.datasets.data import Fold, FoldedData, RankingData, join_data
from rankwise.datasets.readers.svmlight import read_letor

PartName: TypeAlias = Literal["all", "train", "test"]


# fmt: off
@overload
def load_dataset(name: str, fold: int, *, dtype: DTypeLike = ...) -> Fold: ...
@overload
def load_dataset(name: str, fold: None = ..., *, dtype: DTypeLike = ...) -> FoldedData: ...
@overload
def load_dataset(
    name: str, fold: None = ..., *, part: PartName, dtype: DTypeLike = ...
) -> RankingData: ...
# fmt: on
def load_dataset(
    name: str,
    fold: int | None = None,
    *,
    part: PartName | None = None,
    dtype: DTypeLike = np.float32,
) -> Fold | FoldedData | RankingData:
    """Load a set of the catalog by name.

    Parameters
    ----------
    name : str
        "ohsumed", "ohsumed-min", "td2003", "td2004", "mq2008", "lambdarank", "mslr-slices",
        "yahoo-ltrc-1" or "yahoo-ltrc-2".
    fold : int, optional
        Number of a fold, from 1. None: all folds.
    part : {"all", "train", "test"}, optional
        Rows as one table, for your own splits: all rows of the set or, if the set has a single
        fold, all rows of its training files (which the fold may divide into training and validation
        part) or test files.
    dtype : float32 or float64
        Type of X, which is dense.

    Returns
    -------
    Fold, FoldedData or RankingData
        A Fold for a fold number, RankingData for a part, else FoldedData.

    Raises
    ------
    ValueError
        If there is no such set, fold or part, or a file differs from the catalog.
    FileNotFoundError
        If the set is not on this machine; the message says where to get it.

    Notes
    -----
    :func:`known_datasets` describes the sets. OHSUMED is normalised by query (QueryLevelNorm);
    "ohsumed-min" has its raw features, with missing values replaced by the minimum. TD2003 and
    TD2004 are topic distillation on the .Gov collection; no checksums are known for them, so the
    numbers of queries, rows and features are checked instead. Zong and Huang report 72 queries for
    TD2004; the set has 75. LightGBM's "lambdarank" example is bundled with the library (MIT). Its
    only fold tests on LightGBM's 50 test queries, and the last fifth (40) of the 201 training
    queries is the validation part.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> load_dataset("lambdarank", part="all")
    RankingData('lambdarank': 3773 rows, 251 queries, 300 features, dense float32)
    """
    entry = find_set(name)
    _check_choice(entry, fold, part)
    read = _reader(entry, dtype)
    if part == "all":
        return join_data([read(file.name) for file in entry.files], name)
    if part is not None:
        files = getattr(entry.folds[0], part)
        return join_data([read(file) for file in files], f"{name} {part}")
    fold_names = tuple(f"fold{number}" for number in range(1, len(entry.folds) + 1))
    folds = FoldedData(name, fold_names, lambda index: _fold(entry, index, read))
    return folds if fold is None else folds[fold - 1]


def _check_choice(entry: DataSet, fold: int | None, part: str | None) -> None:
    n_folds = len(entry.folds)
    if fold is not None and fold not in range(1, n_folds + 1):
        known = f"folds 1 to {n_folds}" if n_folds > 1 else "a single fold, 1"
        raise ValueError(
            f"{entry.name} has {known}, got fold={fold!r}. Pass one of its numbers, or None for "
            "the whole set."
        )
    parts = ("all", "train", "test") if n_folds == 1 else ("all",)
    if part is not None and part not in parts:
        raise ValueError(
            f"part must be one of {', '.join(map(repr, parts))} for {entry.name}, got {part!r}. "
            "For parts of a fold, use its attributes train, vali and test."
        )
    if fold is not None and part is not None:
        raise ValueError(f"part selects rows of the whole set, got fold={fold} too. Drop one.")


def _reader(entry: DataSet, dtype: DTypeLike) -> Callable[[str], RankingData]:
    """Function that reads the rows of a file by name, each file once."""
    paths = dict(zip((file.name for file in entry.files), fetch(entry.name), strict=True))

    files = {file.name: file for file in entry.files}

    @cache
    def read(file_name: str) -> RankingData:
        path, file = paths[file_name], files[file_name]
        data = read_letor(
            path,
            dtype=dtype,
            n_features=entry.features,
            dense=True,
            zero_based=False,
        )
        if not file.sha256 and data.n_queries != file.queries:
            raise ValueError(
                f"{path} is not {file_name} of {entry.name}: it must have {file.queries} queries, "
                f"got {data.n_queries}. {entry.how_to_get} Address: {entry.address}"
            )
        return data

    return read


def _fold(entry: DataSet, index: int, read: Callable[[str], RankingData]) -> Fold:
    files, fold_name = entry.folds[index], f"fold{index + 1}"

    def part(file_names: Sequence[str], what: str) -> RankingData:
        return join_data([read(name) for name in file_names], f"{entry.name} {fold_name} {what}")

    train, test = part(files.train, "train"), part(files.test, "test")
    if files.vali:
        vali = part(files.vali, "vali")
        _check_rows(entry, [train, vali, test])
        return Fold(train, vali, test, fold_name)
    queries = np.arange(train.n_queries)
    n_train = train.n_queries - round(files.vali_share * train.n_queries)
    vali = replace(train.queries(queries[n_train:]), name=f"{entry.name} {fold_name} vali")
    return Fold(train.queries(queries[:n_train]), vali, test, fold_name)


def _check_rows(entry: DataSet, parts: Sequence[RankingData]) -> None:
    """Check that the parts of a set without checksums have the expected number of rows."""
    n_rows = sum(part.n_samples for part in parts)
    if not all(file.sha256 for file in entry.files) and n_rows != entry.rows:
        raise ValueError(
            f"{entry.name} must have {entry.rows} rows, but the files have {n_rows}. "
            f"{entry.how_to_get} Address: {entry.address}"
        )
