"""What the shell offers for the word being typed; imports nothing heavy."""

from __future__ import annotations


def ranker(incomplete: str) -> list[str]:
    """Names of rankers."""
    from rankwise._registry import REGISTRY

    keys = [key for key, entry in REGISTRY.items() if entry.kind in ("ranker", "ordinal")]
    return [key for key in keys if key.startswith(incomplete)]


def rankers(incomplete: str) -> list[str]:
    """Names of rankers after those that are typed already."""
    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{key}" for key in ranker(last) if key not in typed.split(",")]


def measures(incomplete: str) -> list[str]:
    """Names of measures after those that are typed already."""
    from rankwise.metrics._table import MEASURES

    typed, comma, last = incomplete.rpartition(",")
    found = [name for name in MEASURES if name.lower().startswith(last.lower())]
    return [f"{typed}{comma}{name}" for name in found]


def presets(incomplete: str) -> list[str]:
    """Names of presets."""
    from rankwise.metrics.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def data(incomplete: str) -> list[str]:
    """Data sets and the files of the folder being typed."""
    from glob import escape, glob

    from rankwise.cli._data import catalog_names

    sets = [name for name in catalog_names() if name.startswith(incomplete)]
    return [*sets, *sorted(glob(f"{escape(incomplete)}*"))]


def experiments(incomplete: str) -> list[str]:
    """Keys of experiments, and the words for all and the list of them."""
    from rankwise.experiments.registry import experiments as installed

    return [key for key in (*installed(), "all", "list") if key.startswith(incomplete)]
