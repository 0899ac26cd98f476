"""Which setting of a method counts on each fold of a data set."""

from __future__ import annotations

from rankwise.experiments import Results
from rankwise_papers.challenge_methods import plan
from rankwise_papers.lin2010_challenge.chosen_tables import Chosen, Setting
from rankwise_papers.lin2010_challenge.plan import COSTS, Extent, cell_name
from rankwise_papers.shared_tables import all_or_none

NO_TORCH = 'BoltzRank needs torch, which is not installed: pip install "rankwise[neural]".'
ABSENT = (
    "Its cells have not run: they are no part of a quick run, the data are not there, or the run "
    "ended before them."
)


class Methods(Chosen):
    """What counts on the folds of one data set, by method; None where a cell is missing.

    Every choice is by ERR on the validation part, the first of the best.

    Parameters
    ----------
    results : mapping from cell name to its value
    data : str
    quick : bool
        Whether the tables are of a quick run.
    """

    def __init__(self, results: Results, data: str, quick: bool) -> None:
        extent = Extent(plan.folds(quick), 0, range(0), plan.DEGREES, COSTS, plan.ROW_WEIGHTS)
        super().__init__(results, data, extent)
        self._settings = {
            name: list(settings) for name, settings in plan.methods(data, quick).items()
        }

    def at(self, method: str) -> list[Setting] | None:
        """One setting a fold.

        Parameters
        ----------
        method : str
            A method of :func:`plan.methods`: the best of its settings; or the last part of a
            cell's name.
        """
        names = self._settings.get(method, [method])
        return all_or_none([self._best(fold, names) for fold in self._folds])

    @property
    def has_results(self) -> bool:
        """Whether any cell of the data set is there."""
        names = (
            cell_name(self._data, fold, name)
            for fold in self._folds
            for settings in self._settings.values()
            for name in settings
        )
        return any(name in self._results for name in names)


def absent(method: str) -> str:
    """Reason why a method has no values, if it has none."""
    needs_torch = method.startswith("boltz") or method == plan.ensemble_name(True)
    return NO_TORCH if needs_torch and not plan.has_torch() else ABSENT


def sets_of(results: Results, quick: bool) -> dict[str, Methods]:
    """By data set; the closed-access set only if it has run."""
    sets = {data: Methods(results, data, quick) for data in plan.folds(quick)}
    return {
        data: methods
        for data, methods in sets.items()
        if data != "yahoo-ltrc-1" or methods.has_results
    }
