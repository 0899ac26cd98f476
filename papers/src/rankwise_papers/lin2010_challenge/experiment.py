"""The ordinal methods of the Yahoo! learning to rank challenge on open sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, Table
from rankwise_papers.lin2010_challenge import plan
from rankwise_papers.lin2010_challenge.fits import compute
from rankwise_papers.lin2010_challenge.tables import tables
from rankwise_papers.sources import fetched


class ChallengeOrdinal(Experiment):
    """ORSVM, Poly-ORSVM and ORBoost in the layout of the report's tables."""

    def data(self) -> dict[str, FindFiles]:
        return fetched(plan.FOLDS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[Table]:
        return tables(self, results, quick)
