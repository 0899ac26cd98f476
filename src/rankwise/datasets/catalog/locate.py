"""Find and verify the files of a catalog entry, and download missing files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from rankwise.datasets.catalog.entries import DataFile, DataSet, find_set, known_datasets
from rankwise.datasets.catalog.sources import Source, SourceFile, known_sources
from rankwise.runtime.folders import cache_folder, data_folders

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")


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
    from rankwise.datasets.catalog.checksums import (
        text_sha256,  # loads NumPy, which listings do not need
    )

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
    import pooch

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
