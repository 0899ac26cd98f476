"""Which sets, parts, normalisations, kernels and systems there are, and the cells of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rankwise.experiments import Cell

NDCG = "nDCG(discount=letor,empty=0,ties=stable)@10"
ORDER = "Misranking(ties=0.5)"
QUERY, GLOBAL, NONE = "query", "global", "none"
KERNELS = ("linear", "rbf")
C_GRID = {
    "linear": tuple(10.0**k for k in range(-5, 4)),
    "rbf": tuple(10.0**k for k in range(-5, 2)),
}
SVR_GRID = tuple(10.0**k for k in range(-2, 3))
N_LANDMARKS = 150  # of the RBF kernel's columns


@dataclass(frozen=True)
class StudySet:
    """A set of the study.

    Attributes
    ----------
    title : str
    source : str
        Name of its files.
    n_parts : int
        Folds or draws.
    measure : str
        What C is chosen by and the test part is measured by.
    scalings : tuple of str
        Normalisations, the first is the one that rules are compared with.
    """

    title: str
    source: str
    n_parts: int
    measure: str
    scalings: tuple[str, ...]

    @property
    def is_ordinal(self) -> bool:
        """Whether all rows are one group and its value the share of pairs in order."""
        return self.measure == ORDER


def _ordinal(title: str, name: str) -> StudySet:
    return StudySet(title, f"ordinal-{name}", 2, ORDER, (GLOBAL, NONE))


SETS: dict[str, StudySet] = {
    "ohsumed": StudySet("OHSUMED", "ohsumed-min", 5, NDCG, (QUERY, GLOBAL, NONE)),
    "mq2008": StudySet("MQ2008", "mq2008", 5, NDCG, (QUERY, GLOBAL, NONE)),
    "movielens": StudySet("MovieLens", "movielens-1m", 2, NDCG, (QUERY, GLOBAL, NONE)),
    "abalone": _ordinal("abalone", "abalone"),
    "bank8fm": _ordinal("bank", "bank8fm"),
    "computer-cpu-act": _ordinal("computer", "computer-cpu-act"),
    "california": _ordinal("california", "california"),
    "census-house8l": _ordinal("census", "census-house8l"),
}
ORDINAL = tuple(name for name, known in SETS.items() if known.is_ordinal)


@dataclass(frozen=True)
class System:
    """A way to train.

    Attributes
    ----------
    title : str
    selector : dict
        Parameters of PrunedRankSVM; empty: it is none.
    has_twin : bool
        Whether as many random pairs are trained on beside it.
    """

    title: str
    selector: dict[str, Any] = field(default_factory=dict)
    has_twin: bool = False


ALL, LISTED, SVR = "all", "listed", "svr"
SYSTEMS: dict[str, System] = {
    ALL: System("all pairs"),
    LISTED: System("all pairs, as a list", {"selector": "random", "share": 1.0}),
    "adjacent": System("adjacent grades", {"selector": "adjacent"}, has_twin=True),
    **{
        f"nearest{k}": System(
            f"nearest {k}", {"selector": "nearest", "n_opponents": k}, has_twin=True
        )
        for k in (1, 3, 10, 30)
    },
    "pilot": System("pilot's margin", {"selector": "pilot"}, has_twin=True),
    SVR: System("SVR"),
}
SCALED = (ALL, "nearest10", SVR)  # run with every normalisation
QUICK = {"ohsumed": KERNELS, "bank8fm": KERNELS[:1]}  # the first part of each


def cell_name(data: str, part: int, scaling: str, kernel: str, system: str) -> str:
    """Name of a cell."""
    return f"{data}/part{part}/{scaling}/{kernel}/{system}"


def parts(data: str, quick: bool) -> list[int]:
    """Numbers of the folds or draws that are run, from 1."""
    n_parts = int(data in QUICK) if quick else SETS[data].n_parts
    return list(range(1, n_parts + 1))


def kernels(data: str, quick: bool) -> tuple[str, ...]:
    """Kernels that are run on a set."""
    return QUICK.get(data, ()) if quick else KERNELS


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of one part, normalisation and kernel follow each other: they share its columns."""
    for data, known in SETS.items():
        for part in parts(data, quick):
            for scaling in known.scalings[:1] if quick else known.scalings:
                for kernel in kernels(data, quick):
                    for system in SYSTEMS if scaling == known.scalings[0] else SCALED:
                        params = {
                            "set": data, "part": part, "scaling": scaling, "kernel": kernel,
                            "system": system, "C": SVR_GRID if system == SVR else C_GRID[kernel],
                            "n_landmarks": N_LANDMARKS,
                        }  # fmt: skip
                        name = cell_name(data, part, scaling, kernel, system)
                        yield Cell(name, params, known.source)
