"""Loaders of the known sets of judged queries, compounds (QSAR) and rated documents.

Each call reads a file only once, even for several folds, and verifies its checksum (see
:mod:`rankwise.datasets.catalog.entries`). The publisher's tables of compounds contain columns that
are not descriptors, including the target itself (``IC50_uM`` is 10^(6 - activity)) and activities
against other enzymes. They are dropped by name, and the number of remaining descriptors is compared
with that in the papers.

References
----------
.. [1] Chapelle & Chang, "Yahoo! learning to rank challenge overview", JMLR Workshop and Conference
   Proceedings 14 (2011) 1-24.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike

from rankwise.datasets.catalog.entries import SUFFIXES, DataFile, DataSet, fetch, find_set
from rankwise.datasets.data import Fold, FoldedData, RankingData, join_data
from rankwise.datasets.readers.letor import has_no_qid, read_letor
from rankwise.datasets.readers.textfiles import PathLike, read_text
from rankwise.typing import Float64Array, Int64Array

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
        If the set, fold or part does not exist, or a file differs from the catalog.
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


HIGHEST_GRADE = 4


def load_yahoo_ltrc(
    path: PathLike | None = None,
    number: Literal[1, 2] = 1,
    *,
    dtype: DTypeLike = np.float32,
) -> Fold:
    """Load a set of the Yahoo! Learning to Rank Challenge: 700 features, grades 0 to 4, one fold.

    The sets are not public; the catalog's ``how_to_get`` says whom to ask. Set 1 has 19,944
    training queries (473,134 rows), 2,994 validation queries (71,083 rows) and 6,983 test queries
    (165,660 rows). Set 2 has 1,266, 1,266 and 3,798 queries (34,815, 34,881 and 103,174 rows). The
    feature numbers are the same in both sets; 519 and 596 of the 700 occur, and the others are 0.

    Parameters
    ----------
    path : path-like, optional
        Folder with ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt``, plain or
        compressed, or a parent folder in the publisher's layout (``ltrc_yahoo``). None: the files
        are located as for "yahoo-ltrc-1" and "yahoo-ltrc-2" in :func:`load_dataset`, and other
        numbers of queries or rows raise ValueError.
    number : {1, 2}
        Number of the set.
    dtype : float32 or float64
        Type of X, which is dense: 1.3 GB in float32 for the training rows of set 1.

    Returns
    -------
    Fold
        Training, validation and test parts of the challenge.

    Raises
    ------
    ValueError
        If the set does not exist, a file has no query ids, or a label is not a grade from 0
        to 4.
    FileNotFoundError
        If a file is missing; the message says where to get it.

    Warns
    -----
    UserWarning
        If the numbers of queries or rows in a file at ``path`` differ from the challenge, so that
        values measured on it are not comparable with published ones.

    Notes
    -----
    ``preset="yahoo"`` selects the measures of the challenge. ERR is over all documents, with the
    probability ``(2^y - 1) / 16`` that a document of grade y satisfies the reader. For a query
    without relevant documents, nDCG@10 is 1 and ERR is 0.
    """
    if number not in (1, 2):
        raise ValueError(f"number must be 1 or 2, got {number!r}.")
    entry = find_set(f"yahoo-ltrc-{number}")
    if path is None:
        fold = load_dataset(entry.name, 1, dtype=dtype)
        for part in (fold.train, fold.vali, fold.test):
            assert part is not None
            _check_grades(part, part.name)
        return fold
    folder = Path(path)
    train, vali, test = (_read(_find(entry, folder, file), entry, file, dtype)
                         for file in entry.files)  # fmt: skip
    return Fold(train, vali, test)


def _find(entry: DataSet, root: Path, file: DataFile) -> Path:
    """Find a file in the folder, or in one of the publisher's folders under it."""
    for folder in ("", *entry.folders):
        for suffix in SUFFIXES:
            path = root / folder / f"{file.name}{suffix}"
            if path.is_file():
                return path
    raise FileNotFoundError(
        f"{file.name} of {entry.name} ({entry.title}) is not in {root}: looked for it, plain or "
        f"compressed, there and in {', '.join(entry.folders)} under it. {entry.how_to_get} "
        f"Address: {entry.address} Terms: {entry.terms}"
    )


def _read(path: Path, entry: DataSet, file: DataFile, dtype: DTypeLike) -> RankingData:
    data = read_letor(path, dtype=dtype, n_features=entry.features, dense=True, zero_based=False)
    if has_no_qid(data):
        raise ValueError(f"{path} must have a qid in every row, got none. Get the file again.")
    _check_grades(data, str(path))
    found, published = (data.n_queries, data.n_samples), (file.queries, file.rows)
    if found != published:
        warnings.warn(
            "{} has {} queries and {} rows, ".format(path, *found)
            + "the challenge's file {} and {}. ".format(*published)
            + "Values measured on it are not comparable with published ones.",
            UserWarning,
            stacklevel=4,
        )
    part = file.name.split(".")[1]
    return replace(data, name=f"{entry.name} {part}")


def _check_grades(data: RankingData, where: str) -> None:
    is_grade = np.isin(data.y, np.arange(HIGHEST_GRADE + 1))
    if not is_grade.all():
        row = int(np.argmin(is_grade))
        raise ValueError(
            f"{where} must have the grades 0 to {HIGHEST_GRADE}, got {data.y[row]:g} in row {row}."
        )


# Numbers of descriptors and of compounds (train, test) of each set.
QSAR_SETS = {
    "dhfr": (70, 237, 124),
    "cox2": (74, 188, 94),
    "bzr": (75, 98, 49),
    "ace": (56, 76, 38),
    "ache": (63, 74, 37),
    "thr": (66, 59, 29),
    "therm": (64, 51, 25),
    "gpb": (70, 44, 22),
}
NOT_DESCRIPTORS = frozenset(
    {
        "activity", "set", "structure_name", "name", "family", "order", "min_dist", "avg_dist",
        "in_ref_23", "ic50_um", "thrombin", "trypsin", "fxa",
    }
)  # fmt: skip
TRAIN, TEST = 1, 2  # values of the column "set"; 3 marks inactive compounds, which are dropped


@dataclass(frozen=True, eq=False)
class QsarData:
    """Compounds with descriptors and activity, with the published split.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Descriptors as published, not scaled.
    y : ndarray of shape (n_samples,), float64
        Activity, as -log10 of a concentration; larger values are more active.
    train, test : ndarray of int64
        Row numbers.
    feature_names : tuple of str
    compounds : tuple of str
    name : str
    """

    X: Float64Array
    y: Float64Array
    train: Int64Array
    test: Int64Array
    feature_names: tuple[str, ...]
    compounds: tuple[str, ...]
    name: str

    def __repr__(self) -> str:
        return (
            f"QsarData({self.name!r}: {len(self.train)} train and {len(self.test)} test "
            f"compounds, {self.X.shape[1]} descriptors)"
        )


def load_qsar(
    name: Literal["dhfr", "cox2", "bzr", "ace", "ache", "thr", "therm", "gpb"],
) -> QsarData:
    """Load one of Sutherland's sets with its published split, without inactive compounds.

    Parameters
    ----------
    name : {"dhfr", "cox2", "bzr", "ace", "ache", "thr", "therm", "gpb"}

    Returns
    -------
    QsarData

    Raises
    ------
    ValueError
        If the set does not exist, or the numbers of descriptors or compounds in the file differ
        from those in the papers.
    FileNotFoundError
        If the set is not on this machine; the message says where to get it.
    """
    if name not in QSAR_SETS:
        raise ValueError(f"name must be one of {', '.join(QSAR_SETS)}, got {name!r}.")
    return read_qsar(fetch(f"qsar-{name}")[0], name)


def read_qsar(path: Path, name: str) -> QsarData:
    """Read the publisher's table at ``path`` as the set ``name``; see :func:`load_qsar`."""
    lines = read_text(path).decode("latin-1").replace("\r\n", "\n").split("\n")
    rows = [[cell.strip('"') for cell in line.split("\t")] for line in lines if line.strip()]
    header, rows = rows[0], rows[1:]
    plain = [column.replace(" ", "_").lower() for column in header]
    used = [i for i, column in enumerate(plain) if i > 0 and column not in NOT_DESCRIPTORS]
    part = np.array([int(row[plain.index("set")]) for row in rows])
    keep = np.flatnonzero((part == TRAIN) | (part == TEST))
    data = QsarData(
        X=np.array([[float(rows[i][j]) for j in used] for i in keep]),
        y=np.array([float(rows[i][plain.index("activity")]) for i in keep]),
        train=np.flatnonzero(part[keep] == TRAIN),
        test=np.flatnonzero(part[keep] == TEST),
        feature_names=tuple(header[j] for j in used),
        compounds=tuple(rows[i][0] for i in keep),
        name=name,
    )
    expected = QSAR_SETS[name]
    got = (data.X.shape[1], len(data.train), len(data.test))
    if got != expected:
        raise ValueError(
            "{} must have {} descriptors, {} train and {} test compounds, ".format(name, *expected)
            + "got {}, {} and {}. ".format(*got)
            + f"Use the publisher's table; columns read as descriptors: {', '.join(plain[1:8])}…"
        )
    return data


RATERS = ("rew", "rew_colleagues", "rew_postdoc", "jbw")
N_PAIRS = 4819


@dataclass(frozen=True, eq=False)
class CysticFibrosis:
    """Judged pairs, query by query.

    Attributes
    ----------
    grades : ndarray of shape (4819, 4), int64
        Grades with one column per rater: 0 not relevant, 1 marginally relevant, 2 highly relevant.
        Pairs that are not listed are not relevant.
    queries, documents : ndarray of shape (4819,), int64
        Numbers assigned by the publisher, from 1.
    raters : tuple of str
        Raters: one of the authors ("rew"), colleagues, an associate and a bibliographer ("jbw").
    """

    grades: Int64Array
    queries: Int64Array
    documents: Int64Array
    raters: tuple[str, ...] = RATERS

    def __repr__(self) -> str:
        return f"CysticFibrosis({len(self.grades)} pairs, {len(self.raters)} raters)"


def load_cystic_fibrosis() -> CysticFibrosis:
    """Load the 4,819 judged pairs of the cystic fibrosis collection, with each rater's grade.

    Returns
    -------
    CysticFibrosis

    Raises
    ------
    ValueError
        If the file has other content than expected.
    FileNotFoundError
        If the collection is not on this machine; the message says where to get it.
    """
    header, *lines = read_text(fetch("cystic-fibrosis")[0]).decode("utf-8").split()
    table = np.array([line.split(",") for line in lines]).astype(np.int64)
    expected = ",".join(("query", "doc", *RATERS))
    if header != expected or len(table) != N_PAIRS or table[:, 2:].max() > 2:
        raise ValueError(
            f"cystic-fibrosis must have {N_PAIRS} pairs and the columns {expected}, got "
            f"{len(table)} and {header}. Use the file named in sources.toml."
        )
    return CysticFibrosis(table[:, 2:].copy(), table[:, 0].copy(), table[:, 1].copy())
