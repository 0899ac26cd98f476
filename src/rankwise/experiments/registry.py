"""Installed experiments; uses the standard library only, so ``reproduce list`` starts quickly.

A distribution announces its experiments by an entry point in the group ``rankwise.experiments``
that names a dict from key to :class:`ExperimentEntry`. One such distribution is
``rankwise-papers``, in ``papers/`` of the repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.experiments.experiment import Experiment

GROUP = "rankwise.experiments"
HOW_TO_GET = (
    "No experiments are installed. Reproductions of papers are a separate package: "
    "pip install rankwise-papers"
)


@dataclass(frozen=True)
class ExperimentEntry:
    """One experiment.

    Attributes
    ----------
    path : str
        ``"module:Class"`` of a subclass of :class:`rankwise.experiments.Experiment`, which is
        created without arguments.
    title : str
        Title for lists, one line.
    paper : str
        Authors, title, journal, year.
    data : tuple of str
        Names of the data sets that the experiment uses.
    """

    path: str
    title: str
    paper: str
    data: tuple[str, ...] = ()

    def load(self) -> Experiment:
        """Create the experiment."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)()


@cache
def experiments() -> dict[str, ExperimentEntry]:
    """Entries of all installed distributions that announce experiments, by key."""
    found: dict[str, ExperimentEntry] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found |= point.load()
    return found


def find_experiment(key: str) -> ExperimentEntry:
    """Find the entry of an experiment by key.

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
