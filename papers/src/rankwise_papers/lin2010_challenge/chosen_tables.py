"""Which setting of a method counts on each fold, and what it reached there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankwise.experiments import Results
from rankwise.typing import Float64Array
from rankwise_papers.lin2010_challenge.plan import COSTS, ROUNDS, Extent, cell_name
from rankwise_papers.shared_tables import (
    MeanAndSpread,
    all_or_none,
    mean_and_deviation,
    mean_and_error,
)

Setting = Mapping[str, Any]
_PARTS = ("train", "vali", "test")


class Chosen:
    """What counts on the folds of one data set, by method; None where a cell is missing.

    Every choice is by ERR on the validation part, the first of the best.

    Parameters
    ----------
    results : mapping from cell name to its value
    data : str
    extent : Extent
        Of the run that the tables are for.
    """

    def __init__(self, results: Results, data: str, extent: Extent) -> None:
        self._results, self._data, self._extent = results, data, extent

    def at(self, method: str) -> list[Setting] | None:
        """One setting a fold.

        Parameters
        ----------
        method : str
            The last part of a cell's name; or "orsvm/small": C by small sets, "powers/err" and
            "powers/absolute": the best degree, "cross/err" and "cross/absolute": the mean over the
            draws, "orboost": the best weights.
        """
        extent = self._extent
        pick: dict[str, Callable[[int], Setting | None]] = {
            "orsvm/small": lambda fold: self._best(fold, [f"orsvm/small{extent.n_small_sets}"]),
            "orboost": lambda fold: self._best(fold, [f"orboost/{w}" for w in extent.weights]),
        }
        for costs in COSTS:
            powers = [f"powers{degree}/{costs}" for degree in extent.degrees]
            pick[f"powers/{costs}"] = lambda fold, powers=powers: self._best(fold, powers)
            pick[f"cross/{costs}"] = partial(self._cross, costs=costs)
        choose = pick.get(method, lambda fold: self._best(fold, [method]))
        return all_or_none([choose(fold) for fold in self._folds])

    def rounds(self, weight: str, rounds: int) -> list[Setting] | None:
        """One weighting of ORBoost after so many rounds."""
        cells = all_or_none([self._cell(fold, f"orboost/{weight}") for fold in self._folds])
        place = ROUNDS.index(rounds)
        return None if cells is None else [cell[place] for cell in cells]

    @property
    def _folds(self) -> range:
        return range(1, self._extent.folds[self._data] + 1)

    def _cell(self, fold: int, method: str) -> Any:
        return self._results.get(cell_name(self._data, fold, method))

    def _best(self, fold: int, methods: Sequence[str]) -> Setting | None:
        cells = all_or_none([self._cell(fold, method) for method in methods])
        if cells is None:
            return None
        return max(
            (setting for cell in cells for setting in cell),
            key=lambda setting: setting["vali"]["ERR"],
        )

    def _cross(self, fold: int, costs: str) -> Setting | None:
        """The mean over the draws of the terms, each with the C of its own."""
        draws = [self._best(fold, [f"cross/{costs}/seed{seed}"]) for seed in self._extent.seeds]
        known = all_or_none(draws)
        if known is None:
            return None
        mean: dict[str, Any] = {
            part: {name: float(np.mean([d[part][name] for d in known])) for name in ("ERR", "nDCG")}
            for part in _PARTS
        }
        for name in ("queries", "seconds", "C"):
            mean[name] = np.mean([draw[name] for draw in known], axis=0).tolist()
        return mean


def mean_over_folds(found: Sequence[Setting] | None, part: str, measure: str) -> MeanAndSpread:
    """Mean and standard deviation over folds of a measure on one part."""
    return mean_and_deviation([fold[part][measure] for fold in found or ()])


def mean_difference(a: Sequence[Setting] | None, b: Sequence[Setting] | None) -> MeanAndSpread:
    """Mean over all test queries of the difference in ERR, and its standard error."""
    if a is None or b is None:
        return None, None
    return mean_and_error(queries(a) - queries(b))


def queries(found: Sequence[Setting]) -> Float64Array:
    """ERR of all test queries, fold by fold."""
    return np.concatenate([np.array(fold["queries"]) for fold in found])
