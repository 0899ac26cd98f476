"""Folders of data: the user's own, the bundled sets, the cache."""

from __future__ import annotations

import os
from pathlib import Path

BUNDLED = Path(__file__).parents[1] / "datasets" / "catalog" / "bundled"


def cache_folder() -> Path:
    """``RANKWISE_CACHE``, or rankwise's folder in the user's cache; it may not exist."""
    named = os.environ.get("RANKWISE_CACHE", "")
    if named:
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("rankwise"))


def data_folders() -> list[Path]:
    """Folders to search for data sets, in order: ``RANKWISE_DATA``, bundled, downloaded."""
    named = os.environ.get("RANKWISE_DATA", "")
    own = [Path(named).expanduser()] if named else []
    return [*own, BUNDLED, cache_folder() / "data"]
