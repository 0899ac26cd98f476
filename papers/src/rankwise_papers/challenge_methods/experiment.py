"""All methods of the report on the Yahoo! challenge, and their ensemble, on open sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.challenge_methods import plan
from rankwise_papers.challenge_methods.fits import compute
from rankwise_papers.challenge_methods.tables import tables
from rankwise_papers.sources import make_fetchers


class ChallengeMethods(Experiment):
    """Six methods, RankSVM's and BoltzRank's settings, and the ensemble of 20."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([*plan.FOLDS, *plan.OVERALL.values()])

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables(self, results, quick)
