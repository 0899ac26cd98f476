"""The ordinal methods of the Yahoo! learning to rank challenge on open sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.lin2010_challenge import plan
from rankwise_papers.lin2010_challenge.fits import compute
from rankwise_papers.lin2010_challenge.tables import tables
from rankwise_papers.sources import make_fetchers


class ChallengeOrdinal(Experiment):
    """ORSVM, Poly-ORSVM and ORBoost in the layout of the report's tables."""

    full, quick = plan.FULL, plan.QUICK

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(self.full.folds)

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(self.extent(quick)))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables(self, results, self.extent(quick))

    def extent(self, quick: bool) -> plan.Extent:
        """Data sets and settings of a full or a quick run."""
        return self.quick if quick else self.full


class ChallengeOnCFLetor(ChallengeOrdinal):
    """The same on CF-LETOR, whose lists are long."""

    full, quick = plan.CF_FULL, plan.CF_QUICK
