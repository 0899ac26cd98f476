"""Tables 1 to 3 of the ELMRank paper: MovieLens-1M, Jester, and the part of Book-Crossing here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rankwise.datasets import load_book_crossing, load_jester, load_movielens
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.elmrank_recommendation import tables
from rankwise_papers.elmrank_recommendation.families import FAMILIES, Scale
from rankwise_papers.elmrank_recommendation.reviewers import (
    GROUPS,
    ReferenceTable,
    book_reviewers,
    draw_reviewers,
    reference_table,
)
from rankwise_papers.sources import make_fetchers

LOAD = {"movielens-1m": load_movielens, "jester": load_jester}
BOOKS = "book-crossing-partial"
BOOK_FAMILIES = ("elmrank", "mprank")
N_REVIEWERS, N_DRAWS = 300, 50
QUICK_REVIEWERS = 8


class Recommendation(Experiment):
    """MSD, M1D and misranking of ELMRank and its rivals, and of what does better."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([*LOAD, BOOKS])

    def cells(self, quick: bool) -> Sequence[Cell]:
        cells = []
        for family, (_, n_repetitions) in FAMILIES.items():
            for repetition in range(1 if quick else n_repetitions):
                for name in LOAD:
                    for low, high in GROUPS:
                        params = {
                            "group": [low, high],
                            "repetition": repetition,
                            "family": family,
                            "n_reviewers": QUICK_REVIEWERS if quick else N_REVIEWERS,
                            "n_draws": N_DRAWS,
                        }
                        where = f"{name}/{low}-{high}/repetition{repetition}/{family}"
                        cells.append(Cell(f"quick/{where}" if quick else where, params, name))
        for family in BOOK_FAMILIES:
            params = {"repetition": 0, "family": family, "n_draws": N_DRAWS}
            cells.append(Cell(f"{BOOKS}/{family}", params, BOOKS))
        return cells

    def run(self, cell: Cell) -> Any:
        params = cell.params
        if cell.data == BOOKS:
            ratings = load_book_crossing()
            reviewers = book_reviewers(ratings)
        else:
            table = reference_rows(cell.data)
            ratings, group = table.ratings, tuple(params["group"])
            reviewers = draw_reviewers(table, params["repetition"], group, params["n_reviewers"])
        family, _ = FAMILIES[params["family"]]
        return family(reviewers, params["repetition"], Scale(*ratings.scale), params["n_draws"])

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, quick, self.published("published.csv"))


@cache
def reference_rows(name: str) -> ReferenceTable:
    """The references of a data set; kept for the cells that follow."""
    return reference_table(LOAD[name]())
