"""Ratings in the place of labels: one drawn as target, the others the columns, 500 draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise_papers.liu2007_ratings import draws, tables
from rankwise_papers.liu2007_ratings.draws import Draw
from rankwise_papers.liu2007_ratings.methods import curve, losses
from rankwise_papers.sources import make_fetchers

N_DRAWS, CELL = 500, 50
N_CURVES, CURVE_CELL = 100, 20


class RatingsExperiment(Experiment):
    """Base of both: trees and perceptrons on every draw, and learning curves of the trees."""

    source: ClassVar[str]
    sizes: ClassVar[tuple[int, ...]]
    n_quick: ClassVar[int]

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([self.source])

    def cells(self, quick: bool) -> Sequence[Cell]:
        if quick:
            return [self._cell("draws", 0, self.n_quick), self._cell("curve", 0, self.n_quick // 2)]
        return [
            *(self._cell("draws", start, CELL) for start in range(0, N_DRAWS, CELL)),
            *(self._cell("curve", start, CURVE_CELL) for start in range(0, N_CURVES, CURVE_CELL)),
        ]

    def run(self, cell: Cell) -> Any:
        is_curve = cell.params["kind"] == "curve"
        drawn, targets, found = [], [], []
        for number in range(cell.params["start"], cell.params["start"] + cell.params["n"]):
            draw, target = type(self).draw(number, curve=is_curve)
            found.append(curve(draw, list(self.sizes)) if is_curve else losses(draw, number))
            drawn.append(len(draw.y_train))
            targets.append(target)
        columns = {name: [losses[name] for losses in found] for name in found[0]}
        return {"losses": columns, "n_train": drawn, "targets": targets}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, self.sizes, **self.said())

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return tables.figures(results, self.sizes)

    draw: ClassVar[Callable[..., tuple[Draw, int]]]

    def said(self) -> dict[str, Any]:
        """Text that the tables show for this data set: ``caption``, ``shares_rows``, ``least``."""
        raise NotImplementedError

    def _cell(self, kind: str, start: int, n: int) -> Cell:
        params = {"kind": kind, "start": start, "n": n}
        if kind == "curve":
            params["sizes"] = list(self.sizes)
        return Cell(f"{kind} {start}-{start + n - 1}", params, self.source)


class CysticFibrosis(RatingsExperiment):
    """One rater's grades of the 4,819 judged pairs from the three others'."""

    source = "cystic-fibrosis"
    sizes = (25, 50, 100, 200, 400, 800, 1600, 2409)
    n_quick = 20
    draw = staticmethod(draws.cystic_fibrosis)

    def said(self) -> dict[str, Any]:
        return {
            "caption": (
                "Rows are the 4,819 judged pairs, columns the grades (0 to 2) of the three raters "
                "who are not the target's."
            ),
            "shares_rows": True,
            "least": draws.least_loss,
        }


class MovieLens(RatingsExperiment):
    """A user's ratings of his films from those of the hundred users who rated most."""

    source = "movielens-1m"
    sizes = (10, 20, 40, 80, 160)
    n_quick = 10
    draw = staticmethod(draws.movielens)

    def said(self) -> dict[str, Any]:
        return {
            "caption": (
                "Rows are the films of one user, with 50 ratings or more; columns the ratings "
                "(1 to 5) of the hundred users who rated most, two fifths of them missing."
            ),
            "shares_rows": False,
            "least": None,
        }
