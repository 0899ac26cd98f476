"""RankELM on LETOR (Zong and Huang 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.sources import make_fetchers
from rankwise_papers.zong2013 import plan
from rankwise_papers.zong2013.figures import figures
from rankwise_papers.zong2013.fits import compute
from rankwise_papers.zong2013.tables import tables


class RankELM(Experiment):
    """Tables 1 to 3 and Figure 2 of the paper, and the same columns on MQ2008."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([*plan.PRESETS, plan.RAW])

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables(self, results, quick)

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures(results, quick)
