"""Sutherland's eight sets of compounds: activity of a compound from 2.5D descriptors.

The publisher's tables contain columns that are not descriptors, including the target itself
(``IC50_uM`` is 10^(6 - activity)) and activities against other enzymes. They are dropped by name,
and the number of remaining descriptors is compared with that in the papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise.datasets.catalog.locate import fetch
from rankwise.datasets.readers.textfiles import read_text
from rankwise.typing import Float64Array, Int64Array

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


def load_qsar(name: str) -> QsarData:
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
        If there is no such set, or the numbers of descriptors or compounds in the file differ from
        those in the papers.
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
