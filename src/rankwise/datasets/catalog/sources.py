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
    return MappingProxyType({name: _source(name, entry) for name, entry in entries.items()})


def _source(name: str, raw: dict[str, Any]) -> Source:
    files = tuple(SourceFile(**file) for file in raw.pop("files"))
    return Source(name=name, folders=tuple(raw.pop("folders")), files=files, **raw)
