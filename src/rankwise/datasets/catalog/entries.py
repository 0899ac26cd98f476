"""Catalog of known data: descriptions, sources, locations and checksums of their files.

``catalog.toml`` lists the address, terms, split and file checksums (sha256) of every set of judged
queries, ``sources.toml`` those of ratings and tables used by experiments. :func:`fetch` looks in
the folder ``RANKWISE_DATA``, then among the bundled sets, then in the cache folder
(``RANKWISE_CACHE``). It downloads only from a mirror that you name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from rankwise._packages import LazyPackage
from rankwise.runtime.files import COMPRESSIONS, cache_folder, data_folders

pooch: Any = LazyPackage("pooch", "Downloading a data set")

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


SOURCES = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class SourceFile:
    """One file of a source; its name has no suffix for compression."""

    name: str
    rows: int  # lines, including a header
    sha256: str  # hash of the text with LF line ends
    sha256_gz: str  # hash of the gzip file on mirrors
    # Path in the publisher's archive; "" if the archive does not contain this text
    official: str = ""


@dataclass(frozen=True)
class Source:
    """One entry of ``sources.toml``."""

    name: str
    title: str
    kind: str  # "ratings", "descriptors", "ordinal", "judgements", "runs", "text" or "multi-label"
    address: str  # page of the publisher
    how_to_get: str
    terms: str
    cite: str
    # Possible locations of the files under a data folder; the first is ours
    folders: tuple[str, ...]
    files: tuple[SourceFile, ...]


@lru_cache(maxsize=1)
def known_sources() -> Mapping[str, Source]:
    """All known sources by name, read-only.

    Examples
    --------
    >>> from rankwise.datasets import known_sources
    >>> known_sources()["jester"].kind
    'ratings'
    """
    entries = tomllib.loads(SOURCES.read_text(encoding="utf-8"))
    found = {}
    for name, entry in entries.items():
        files = tuple(SourceFile(**file) for file in entry.pop("files"))
        found[name] = Source(name=name, folders=tuple(entry.pop("folders")), files=files, **entry)
    return MappingProxyType(found)


SUFFIXES = ("", *COMPRESSIONS)


def fetch(name: str, *, mirror: str | None = None) -> list[Path]:
    """Find the files of a set, in the order of the catalog, and verify the known checksums.

    Parameters
    ----------
    name : str
        Name in :func:`known_datasets` or :func:`known_sources`.
    mirror : str, optional
        URL of a folder laid out like ``RANKWISE_DATA`` (``<mirror>/letor3-ohsumed-qln/S1.txt.gz``).
        Missing files are downloaded from it into the cache folder, where the loaders find them.
        Check the entry's ``terms`` first.

    Raises
    ------
    FileNotFoundError
        If a file is not on this machine and no mirror is given; the message says where to get it.
    ValueError
        If the name is unknown, or a file differs from the catalog.
    OSError
        If the mirror does not respond.
    """
    entry = known_datasets().get(name) or known_sources().get(name) or find_set(name)
    paths = []
    for file in entry.files:
        path = _find(entry, file)
        if path is None and (mirror is None or not file.sha256_gz):
            _raise_missing(entry, file)
        paths.append(path or _download(entry, file, str(mirror)))
    return paths


def _find(entry: DataSet | Source, file: DataFile | SourceFile) -> Path | None:
    """First file at the possible locations, with a verified checksum if that is known."""
    from rankwise.datasets.readers.textfiles import text_sha256

    path = next((path for path in _candidates(entry, file) if path.is_file()), None)
    if path is not None and file.sha256:
        got = text_sha256(path)
        if got != file.sha256:
            raise ValueError(
                f"{path} is not {file.name} of {entry.name}: sha256 of its text must be "
                f"{file.sha256}, got {got}. {entry.how_to_get} Address: {entry.address}"
            )
    return path


def _candidates(entry: DataSet | Source, file: DataFile | SourceFile) -> list[Path]:
    return [
        root / folder / f"{name}{suffix}"
        for root in data_folders()
        for folder in entry.folders
        for name in (file.name, file.official)
        if name
        for suffix in SUFFIXES
    ]


def _download(entry: DataSet | Source, file: DataFile | SourceFile, mirror: str) -> Path:
    folder = entry.folders[0]
    downloader: Any = pooch.HTTPDownloader(timeout=60)
    path = cache_folder() / "data" / folder / f"{file.name}.gz"
    try:
        pooch.retrieve(
            f"{mirror.rstrip('/')}/{folder}/{path.name}",
            known_hash=f"sha256:{file.sha256_gz}",
            fname=path.name,
            path=path.parent,
            downloader=downloader,
        )
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # a full disk
    return path


def _raise_missing(entry: DataSet | Source, file: DataFile | SourceFile) -> NoReturn:
    folder = entry.folders[0]
    roots = ", ".join(str(root) for root in data_folders())
    raise FileNotFoundError(
        f"{file.name} of {entry.name} ({entry.title}) is not on this machine: looked for "
        f"{folder}/{file.name} and the publisher's layout, plain or compressed, in {roots}. "
        f"{entry.how_to_get} Then set RANKWISE_DATA to the folder that holds it. "
        f"Address: {entry.address} Terms: {entry.terms}"
    )
