"""Tables 1 to 3 and the curves of the paper on label space transformation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.sources import make_fetchers
from rankwise_papers.tai2012 import figures, plan, tables
from rankwise_papers.tai2012.linear import ridge, sense_labels, statistics, subset, times
from rankwise_papers.tai2012.piecewise import sense_labels_by_tree, tree
from rankwise_papers.tai2012.tuned import ours

_WORK = {
    "statistics": statistics,
    "ridge": ridge,
    "cs": sense_labels,
    "cs-curve": sense_labels,
    "subset": subset,
    "tree": tree,
    "tree-cs": sense_labels_by_tree,
    "times": times,
    "ours": ours,
}


class LabelSpaces(Experiment):
    """Full and partial BR, PLST, CPLST and compressed sensing on Mulan's sets."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(f"mulan-{name}" for name in plan.SETS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return _WORK[cell.params["kind"]](cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, self.published("published.csv"), quick)

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures.make(results, quick)
