"""Accuracy and time of PrunedRankSVM against the share of pairs that it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.pruned_ranksvm import plan
from rankwise_papers.pruned_ranksvm.figures import figures
from rankwise_papers.pruned_ranksvm.fits import compute
from rankwise_papers.pruned_ranksvm.tables import make
from rankwise_papers.sources import make_fetchers


class PrunedPairs(Experiment):
    """Rules that choose pairs against all pairs, random pairs and support vector regression."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(known.source for known in plan.SETS.values())

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        return compute(cell)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return make(results, quick)

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures(results, quick)
