"""Catalog of known data sets: descriptions, sources, locations and checksums of their files.

``catalog.toml`` lists the address, terms, split and file checksums (sha256) of every set.
:func:`fetch` looks in the folder ``RANKWISE_DATA``, then among the bundled sets, then in the cache
folder (``RANKWISE_CACHE``). It downloads only from a mirror that you name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

CATALOG = Path(__file__).with_name("catalog.toml")


@dataclass(frozen=True)
class DataFile:
    """One file of a set; its name has no suffix for compression."""

    name: str
    queries: int
    rows: int = 0  # 0 if unknown
    # Hash of the text with LF line ends; "" if unknown. The loaders then check the numbers of
    # queries, rows and features.
    sha256: str = ""
    # Hash of the gzip file on mirrors; a file without this hash is not downloaded
    sha256_gz: str = ""
    official: str = ""  # path in the publisher's archive; "" if it is not in the archive


@dataclass(frozen=True)
class FoldFiles:
    """Files of one fold, in order; without validation files, some training queries validate."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    vali: tuple[str, ...] = ()
    # Share of the training queries, from the end of the files, that validate; in [0, 1)
    vali_share: float = 0.0


@dataclass(frozen=True)
class DataSet:
    """One entry of the catalog."""

    name: str
    title: str
    address: str  # page of the publisher
    how_to_get: str
    terms: str
    cite: str
    rows: int
    queries: int
    features: int
    labels: dict[str, int]  # number of rows with each label; empty if unknown
    # Possible locations of the files under a data folder: first ours, then the publisher's
    folders: tuple[str, ...]
    folds: tuple[FoldFiles, ...]
    files: tuple[DataFile, ...]
    # (url, sha256) of published files from which a bundled set was made
    made_from: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1)
def known_datasets() -> Mapping[str, DataSet]:
    """All known sets by name, read-only."""
    entries = tomllib.loads(CATALOG.read_text(encoding="utf-8"))
    return MappingProxyType({name: _entry(name, entry) for name, entry in entries.items()})


def find_set(name: str) -> DataSet:
    """Find the entry of a data set by name; ValueError is raised if there is none."""
    if name not in known_datasets():
        raise ValueError(
            f"name must be one of {', '.join(known_datasets())}, got {name!r}. "
            "Read other files with read_letor or read_table."
        )
    return known_datasets()[name]


def _entry(name: str, raw: dict[str, Any]) -> DataSet:
    parts: dict[str, Any] = {"train": tuple, "test": tuple, "vali": tuple, "vali_share": float}
    folds = tuple(
        FoldFiles(**{part: parts[part](given) for part, given in fold.items()})
        for fold in raw["folds"]
    )
    made_from = tuple((source["url"], source["sha256"]) for source in raw.get("made_from", ()))
    files = tuple(DataFile(**file) for file in raw["files"])
    made = {"folders": tuple(raw["folders"]), "folds": folds, "files": files}
    return DataSet(name=name, **{**raw, **made, "made_from": made_from})
