"""Which cells there are, and the penalties of the paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankwise.experiments import Cell
from rankwise_papers.elmrank_recommendation.reviewers import GROUPS

DATA = {"movielens": "movielens-1m", "jester": "jester"}
TITLES = {"movielens": "MovieLens", "jester": "Jester"}


@dataclass(frozen=True)
class Path:
    """How a method's path is taken.

    Attributes
    ----------
    exponents : tuple of float
        log10 of the penalties, from the strongest to the weakest.
    kernels : tuple of str
        By the names of ``linear_and_rbf``.
    n_reviewers, n_repetitions : int
    """

    exponents: tuple[float, ...]
    kernels: tuple[str, ...]
    n_reviewers: int
    n_repetitions: int


_RBF = ("rbf 0.0625", "rbf 0.25", "rbf 1")
PATHS: Mapping[str, Path] = {
    "MPRank": Path(tuple(4 - k / 2 for k in range(21)), ("linear", *_RBF), 300, 5),
    "SVRank": Path(tuple(0.5 - k / 2 for k in range(14)), ("linear", *_RBF), 100, 3),
}
QUICK_REVIEWERS = {"MPRank": 10, "SVRank": 3}


def groups() -> Iterator[tuple[str, str]]:
    """Data set and group of references, in the order of the tables."""
    for data in DATA:
        for low, high in GROUPS:
            yield data, f"{low}-{high}"


def cell_name(method: str, data: str, group: str, repetition: int, quick: bool) -> str:
    """Name of a cell."""
    return f"{'quick/' if quick else ''}{DATA[data]}/{group}/repetition{repetition}/{method}"


def n_repetitions(method: str, quick: bool) -> int:
    """Repetitions of a method in a run."""
    return 1 if quick else PATHS[method].n_repetitions


def cells(quick: bool) -> Iterator[Cell]:
    """All cells, the quick method first."""
    for method, path in PATHS.items():
        for data, group in groups():
            for repetition in range(n_repetitions(method, quick)):
                params = {
                    "method": method,
                    "group": [int(end) for end in group.split("-")],
                    "repetition": repetition,
                    "n_reviewers": QUICK_REVIEWERS[method] if quick else path.n_reviewers,
                    "exponents": list(path.exponents),
                    "kernels": list(path.kernels),
                }
                name = cell_name(method, data, group, repetition, quick)
                yield Cell(name, params, DATA[data])
