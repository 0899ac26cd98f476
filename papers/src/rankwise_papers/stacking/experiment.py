"""Stacking on OHSUMED and MQ2008: the stack against all that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.sources import make_fetchers
from rankwise_papers.stacking import plan, tables
from rankwise_papers.stacking.fits import compute


class Stacking(Experiment):
    """Rankers tuned on validation parts, and a ranker on their held-out scores."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(plan.FOLDS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, quick)
