"""Table 1 of the ranking-tree paper: twelve online methods and two trees on drawn points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, Figure, Results, ResultTable
from rankwise_papers.liu2007_synthetic import figures, tables
from rankwise_papers.liu2007_synthetic.methods import perceptrons, points, trees

N_REPETITIONS, QUICK_REPETITIONS = 20, 3


class SyntheticRanks(Experiment):
    """Mean absolute rank loss on points of the ordinal square, by method and training points."""

    def cells(self, quick: bool) -> Sequence[Cell]:
        return [
            Cell(f"{family}/{size}/{seed}", {"family": family, "size": size, "seed": seed})
            for seed in range(QUICK_REPETITIONS if quick else N_REPETITIONS)
            for size in (tables.TABLE_SIZES if quick else tables.SIZES)
            for family in ("perceptrons", "trees")
        ]

    def run(self, cell: Cell) -> Any:
        seed = cell.params["seed"]
        data = points(seed, cell.params["size"])
        return trees(data) if cell.params["family"] == "trees" else perceptrons(data, seed)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, self.published("published.csv"))

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return figures.make(results)
