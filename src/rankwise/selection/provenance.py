"""Provenance of the numbers of a leaderboard: folds, settings, versions."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from rankwise._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    return {
        "rankwise": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        **{package: version(package) for package in _PACKAGES},
    }


@dataclass(frozen=True)
class FoldInfo:
    """One fold: its test queries and the size and fingerprint of its data.

    ``recall``: share of the relevant documents that are rows, mean over the test queries with any;
    None if it is not known, see ``RankingData.missed``.
    """

    name: str
    qids: list[Any]
    n_rows: int
    n_train: int
    n_train_queries: int
    n_features: int
    has_validation: bool
    fingerprint: str
    recall: float | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of a comparison.

    ``versions`` include the libraries that rankers wrap. ``baseline`` names the ranker that all
    others are tested against, if any. ``select_by`` is empty if nothing was fitted.
    """

    data: str
    select_by: str
    test: str = "t"
    correction: str | None = None
    confidence: float = 0.95
    baseline: str | None = None
    random_state: int = 0
    n_jobs: int = 1
    n_threads: int = 1
    versions: dict[str, str] = field(default_factory=library_versions)
