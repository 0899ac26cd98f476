"""Where data lie: the user's own folder, what comes with the library, the cache."""

from __future__ import annotations

import os
from pathlib import Path

BUNDLED = Path(__file__).parent / "bundled"


def cache_folder() -> Path:
    """``RANKWISE_CACHE``, or rankwise's folder under the user's cache; it need not exist."""
    named = os.environ.get("RANKWISE_CACHE", "")
    if named:
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("rankwise"))


def data_folders() -> list[Path]:
    """Where to look for data sets, in this order: ``RANKWISE_DATA``, bundled, downloaded."""
    named = os.environ.get("RANKWISE_DATA", "")
    own = [Path(named).expanduser()] if named else []
    return [*own, BUNDLED, cache_folder() / "data"]
