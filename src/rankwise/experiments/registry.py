"""The installed experiments; standard library only, so that ``reproduce list`` starts at once.

A distribution announces its experiments with an entry point in the group ``rankwise.experiments``
that names a dict from key to :class:`Entry`. ``papers/`` in the repository is such a distribution,
``rankwise-papers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.experiments.base import Experiment

GROUP = "rankwise.experiments"
HOW_TO_GET = (
    "No experiments are installed. Reproductions of papers are a package of their own: "
    "pip install rankwise-papers"
)


@dataclass(frozen=True)
class Entry:
    """One experiment.

    Attributes
    ----------
    path : str
        ``"module:Class"`` of a subclass of :class:`rankwise.experiments.Experiment` that is made
        without arguments.
    title : str
        One line for lists.
    paper : str
        Authors, title, journal, year.
    data : tuple of str
        Names of the data sets it uses.
    """

    path: str
    title: str
    paper: str
    data: tuple[str, ...] = ()

    def load(self) -> Experiment:
        """The experiment."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)()


@cache
def experiments() -> dict[str, Entry]:
    """Entries of all installed distributions that announce experiments, by key."""
    found: dict[str, Entry] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found |= point.load()
    return found


def find_experiment(key: str) -> Entry:
    """The entry of that key.

    Raises
    ------
    ValueError
        If there is no such experiment, or none at all.
    """
    known = experiments()
    if not known:
        raise ValueError(f"experiment {key!r} was not found. {HOW_TO_GET}")
    if key not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)}, got {key!r}.")
    return known[key]
