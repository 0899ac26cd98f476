"""Which setting of a method counts on each fold, and what it reached there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments.base import Results
from rankwise.experiments.lin2010_challenge.plan import (
    DEGREES,
    FOLDS,
    QUICK_SMALL_SETS,
    ROUNDS,
    SMALL_SETS,
    WEIGHTS,
    name_of,
    seeds,
)
from rankwise.typing import Float64Array

Setting = Mapping[str, Any]
_PARTS = ("train", "vali", "test")


class Chosen:
    """What counts on the folds of one data set, by method; None where a cell is missing.

    Every choice is by ERR on the validation part, the first of the best.
    """

    def __init__(self, results: Results, data: str, quick: bool) -> None:
        self._results, self._data, self._quick = results, data, quick

    def at(self, method: str) -> list[Setting] | None:
        """One setting a fold."""
        pick: dict[str, Callable[[int], Setting | None]] = {
            "orsvm-small": self._by_small_sets,
            "poly": lambda fold: self._best(fold, [f"powers{k}" for k in DEGREES]),
            "orboost": lambda fold: self._best(fold, [f"orboost/{weight}" for weight in WEIGHTS]),
            "cross": self._cross,
        }
        choose = pick.get(method, lambda fold: self._best(fold, [method]))
        found = [choose(fold) for fold in range(1, FOLDS[self._data] + 1)]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def rounds(self, weight: str, rounds: int) -> list[Setting] | None:
        """One weighting of ORBoost after so many rounds."""
        cells = [self._cell(fold, f"orboost/{weight}") for fold in range(1, FOLDS[self._data] + 1)]
        place = ROUNDS.index(rounds)
        return None if any(cell is None for cell in cells) else [c[place] for c in cells if c]

    def _cell(self, fold: int, method: str) -> Any:
        return self._results.get(name_of(self._data, fold, method))

    def _best(self, fold: int, methods: Sequence[str]) -> Setting | None:
        cells = [self._cell(fold, method) for method in methods]
        if any(cell is None for cell in cells):
            return None
        return max((of for cell in cells for of in cell), key=lambda of: of["vali"]["ERR"])

    def _by_small_sets(self, fold: int) -> Setting | None:
        """The fit on the whole training part with the C that is best for the small sets."""
        n_sets = QUICK_SMALL_SETS if self._quick else SMALL_SETS
        small, fits = self._cell(fold, f"orsvm-small{n_sets}"), self._cell(fold, "orsvm")
        return None if small is None or fits is None else fits[int(np.argmax(small))]

    def _cross(self, fold: int) -> Setting | None:
        """The mean over the draws of the terms, each with the C of its own."""
        draws = [self._best(fold, [f"cross/seed{seed}"]) for seed in seeds(self._quick)]
        known = [draw for draw in draws if draw is not None]
        if len(known) < len(draws):
            return None
        mean: dict[str, Any] = {
            part: {name: float(np.mean([d[part][name] for d in known])) for name in ("ERR", "nDCG")}
            for part in _PARTS
        }
        for name in ("queries", "seconds", "C"):
            mean[name] = np.mean([draw[name] for draw in known], axis=0).tolist()
        return mean


def over_folds(found: Sequence[Setting] | None, part: str, measure: str) -> tuple[Any, Any]:
    """Mean and standard deviation over folds of a measure on one part."""
    if found is None:
        return None, None
    values = np.array([of[part][measure] for of in found])
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None


def paired(a: Sequence[Setting] | None, b: Sequence[Setting] | None) -> tuple[Any, Any]:
    """Mean over all test queries of the difference in ERR, and its standard error."""
    if a is None or b is None:
        return None, None
    difference = _queries(a) - _queries(b)
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def _queries(found: Sequence[Setting]) -> Float64Array:
    return np.concatenate([np.array(of["queries"]) for of in found])
