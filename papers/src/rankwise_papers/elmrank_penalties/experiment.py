"""Paths of penalties of MPRank and SVRank on the reviewers of elmrank-recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.elmrank_penalties import figures, plan, tables
from rankwise_papers.elmrank_penalties.fits import compute
from rankwise_papers.elmrank_recommendation.experiment import Recommendation, reference_rows
from rankwise_papers.elmrank_recommendation.reviewers import draw_reviewers
from rankwise_papers.sources import make_fetchers


class PenaltyPaths(Experiment):
    """Whether some penalty gives the published values of MPRank and of SVRank, and which."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(plan.DATA.values())

    def cells(self, quick: bool) -> Sequence[Cell]:
        return list(plan.cells(quick))

    def run(self, cell: Cell) -> Any:
        params = cell.params
        table = reference_rows(cell.data)
        reviewers = draw_reviewers(
            table, params["repetition"], tuple(params["group"]), params["n_reviewers"]
        )
        return compute(reviewers, params)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, quick, Recommendation().published("published.csv"))

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures.make(results, quick)
