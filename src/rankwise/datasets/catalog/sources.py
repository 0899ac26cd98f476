"""Known data that are not judged queries: ratings and tables used by experiments.

``sources.toml`` lists the address, terms and file checksums (sha256) of every source.
:func:`rankwise.datasets.fetch` finds the files in the same way as those of judged sets.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

SOURCES = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class SourceFile:
    """One file of a source.

    Attributes
    ----------
    name : str
        File name without a suffix for compression.
    rows : int
        Number of lines, including a header.
    sha256 : str
        Hash of the text with LF line ends.
    sha256_gz : str
        Hash of the gzip file on mirrors.
    official : str
        Path in the publisher's archive; "" if the archive does not contain this text.
    """

    name: str
    rows: int
    sha256: str
    sha256_gz: str
    official: str = ""


@dataclass(frozen=True)
class Source:
    """One entry of ``sources.toml``.

    Attributes
    ----------
    name, title : str
    kind : str
        "ratings", "descriptors", "ordinal", "judgements", "runs", "text" or
        "multi-label".
    address : str
        Page of the publisher.
    how_to_get, terms, cite : str
    folders : tuple of str
        Possible locations of the files under a data folder; the first is ours.
    files : tuple of SourceFile
    """

    name: str
    title: str
    kind: str
    address: str
    how_to_get: str
    terms: str
    cite: str
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
    return MappingProxyType({name: _source(name, entry) for name, entry in entries.items()})


def _source(name: str, raw: dict[str, Any]) -> Source:
    files = tuple(SourceFile(**file) for file in raw.pop("files"))
    return Source(name=name, folders=tuple(raw.pop("folders")), files=files, **raw)
