"""Sets of the Yahoo! Learning to Rank Challenge [1]_, which users must obtain themselves.

References
----------
.. [1] Chapelle & Chang, "Yahoo! learning to rank challenge overview", JMLR Workshop and Conference
   Proceedings 14 (2011) 1-24.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from rankwise.datasets.catalog.entries import DataFile, DataSet, find_set
from rankwise.datasets.catalog.loaders import load_dataset
from rankwise.datasets.catalog.locate import SUFFIXES
from rankwise.datasets.data import Fold, RankingData
from rankwise.datasets.readers.svmlight import has_no_qid, read_letor
from rankwise.datasets.readers.textfiles import PathLike

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
        If there is no set of this number, a file has no query ids, or a label is not a grade from 0
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
