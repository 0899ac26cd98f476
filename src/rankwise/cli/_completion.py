"""Shell completion of the word being typed, without heavy imports."""

from __future__ import annotations


def ranker(incomplete: str) -> list[str]:
    """Names of rankers."""
    from rankwise._registry import RANKING

    return [key for key in RANKING if key.startswith(incomplete)]


def rankers(incomplete: str) -> list[str]:
    """A comma-separated list of rankers with one more name."""
    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{key}" for key in ranker(last) if key not in typed.split(",")]


def measures(incomplete: str) -> list[str]:
    """A comma-separated list of measures with one more name."""
    from rankwise.metrics._table import MEASURES

    typed, comma, last = incomplete.rpartition(",")
    found = [name for name in MEASURES if name.lower().startswith(last.lower())]
    return [f"{typed}{comma}{name}" for name in found]


def presets(incomplete: str) -> list[str]:
    """Names of presets."""
    from rankwise.metrics.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def data(incomplete: str) -> list[str]:
    """Names of data sets and paths of files that start with the typed text."""
    from glob import escape, glob

    from rankwise.cli._data import catalog_names

    sets = [name for name in catalog_names() if name.startswith(incomplete)]
    return [*sets, *sorted(glob(f"{escape(incomplete)}*"))]


def experiments(incomplete: str) -> list[str]:
    """Keys of experiments, and the words ``all`` and ``list``."""
    from rankwise.experiments.registry import experiments as installed

    return [key for key in (*installed(), "all", "list") if key.startswith(incomplete)]
