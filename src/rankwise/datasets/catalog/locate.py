"""Find and verify the files of a catalog entry, and download missing files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from rankwise.runtime.folders import cache_folder, data_folders

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")


class Listed(Protocol):
    """File of an entry: its name, its path in the publisher's archive, and its checksums."""

    @property
    def name(self) -> str: ...
    @property
    def official(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def sha256_gz(self) -> str: ...


class Listing(Protocol):
    """Entry of a catalog: possible locations of its files, and texts for error messages."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def how_to_get(self) -> str: ...
    @property
    def terms(self) -> str: ...
    @property
    def folders(self) -> tuple[str, ...]: ...
    @property
    def files(self) -> Sequence[Listed]: ...


def locate(entry: Listing, mirror: str | None = None) -> list[Path]:
    """Paths of the files of ``entry``, in order, with verified checksums.

    Raises
    ------
    FileNotFoundError, ValueError, OSError
        See :func:`rankwise.datasets.fetch`.
    """
    paths = []
    for file in entry.files:
        path = _find(entry, file)
        if path is None and (mirror is None or not file.sha256_gz):
            _raise_missing(entry, file)
        paths.append(path or _download(entry, file, str(mirror)))
    return paths


def _find(entry: Listing, file: Listed) -> Path | None:
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


def _candidates(entry: Listing, file: Listed) -> list[Path]:
    return [
        root / folder / f"{name}{suffix}"
        for root in data_folders()
        for folder in entry.folders
        for name in (file.name, file.official)
        if name
        for suffix in SUFFIXES
    ]


def _download(entry: Listing, file: Listed, mirror: str) -> Path:
    import pooch

    folder = entry.folders[0]
    downloader: Any = pooch.HTTPDownloader(timeout=60)
    stored = pooch.retrieve(
        f"{mirror.rstrip('/')}/{folder}/{file.name}.gz",
        known_hash=f"sha256:{file.sha256_gz}",
        fname=f"{file.name}.gz",
        path=cache_folder() / "data" / folder,
        downloader=downloader,
    )
    return Path(stored)


def _raise_missing(entry: Listing, file: Listed) -> NoReturn:
    folder = entry.folders[0]
    roots = ", ".join(str(root) for root in data_folders())
    raise FileNotFoundError(
        f"{file.name} of {entry.name} ({entry.title}) is not on this machine: looked for "
        f"{folder}/{file.name} and the publisher's layout, plain or compressed, in {roots}. "
        f"{entry.how_to_get} Then set RANKWISE_DATA to the folder that holds it. "
        f"Address: {entry.address} Terms: {entry.terms}"
    )
