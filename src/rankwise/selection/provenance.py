"""Provenance of the numbers of a leaderboard: folds, settings, versions."""

from __future__ import annotations

import platform
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from rankwise._version import __version__
from rankwise.metrics.statistics.against_best import check_correction

_version = cache(version)  # reads files
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    return {
        "rankwise": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        **{package: _version(package) for package in _PACKAGES},
    }


@dataclass(frozen=True)
class FoldInfo:
    """One fold: its test queries and the size and fingerprint of its data.

    ``recall``: share of the relevant documents that are rows, mean over the test queries with any;
    None if it is not known, see ``RankingData.missed``. ``n_unjudged``: rows of the training part
    without a judgement, which are not part of ``n_train``.
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
    n_unjudged: int = 0


@dataclass(frozen=True)
class Settings:
    """Settings of a comparison.

    ``versions`` include the libraries that rankers wrap. ``baseline`` names the ranker that all
    others are tested against, if any. ``select_by`` is empty if nothing was fitted. ``unit`` is
    what is drawn anew (in the plural), ``contestant`` what is compared. ``greater_is_better`` is
    the direction of values that no measure of the library computed, otherwise None; ``layout`` says
    where they stood in their table. ``left_out`` are the columns of the table that are not
    features, and why; ``shared`` those that are features and scores of a ranker.

    Raises
    ------
    ValueError
        If there is no such test or correction, the two do not fit, or ``confidence`` is no level.
    """

    data: str = ""
    select_by: str = ""
    test: str = "t"
    correction: str | None = None
    confidence: float = 0.95
    baseline: str | None = None
    random_state: int = 0
    unit: str = "queries"
    contestant: str = "ranker"
    greater_is_better: bool | None = None
    layout: str = ""
    n_jobs: int = 1
    n_threads: int = 1
    versions: dict[str, str] = field(default_factory=library_versions)
    left_out: dict[str, str] = field(default_factory=dict)
    shared: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        correction = check_correction(self.test, self.correction, name="test")
        object.__setattr__(self, "correction", correction)  # that of the test if None
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence}.")

    def check_baseline(self, what: str, names: Collection[str]) -> None:
        """Raise ValueError if the baseline is none of the names of rankers or systems."""
        if self.baseline is not None and self.baseline not in names:
            raise ValueError(
                f"baseline must name one of the {what}, got {self.baseline!r}. "
                f"{what.capitalize()}: {', '.join(names)}."
            )
