"""Test cost of cost-sensitive reductions and of what is blind to costs, on random splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.lin2010_csovo import tables
from rankwise_papers.lin2010_csovo.methods import METHODS, SplitRows, tune_and_measure
from rankwise_papers.lin2010_csovo.sets import TASKS, make_split, source_of
from rankwise_papers.sources import make_fetchers

N_SPLITS, QUICK_SPLITS = 20, 3
QUICK = {"random": ("iris", "wine"), "absolute": ("swd",)}


class CostSensitive(Experiment):
    """Random costs on classification sets, absolute and squared costs on ordinal ones."""

    def data(self) -> dict[str, FindFiles]:
        sources = {source_of(name) for names in TASKS.values() for name in names} - {""}
        return make_fetchers(sorted(sources))

    def cells(self, quick: bool) -> Sequence[Cell]:
        splits = QUICK_SPLITS if quick else N_SPLITS
        return [
            Cell(
                f"{'quick/' if quick else ''}{kind}/{name}/{method}",
                {"kind": kind, "set": name, "method": method, "splits": splits},
                source_of(name),
            )
            for kind, names in (QUICK if quick else TASKS).items()
            for name in names
            for method in METHODS[kind]
        ]

    def run(self, cell: Cell) -> Any:
        kind, name = cell.params["kind"], cell.params["set"]
        method = METHODS[kind][cell.params["method"]]
        cost, accuracy, chosen, sizes = [], [], [], (0, 0)
        for seed in range(cell.params["splits"]):
            split = make_split(name, kind, seed)
            of_split = tune_and_measure(method, split, SplitRows(split, seed), seed)
            for values, value in zip((cost, accuracy, chosen), of_split, strict=True):
                values.append(value)
            sizes = len(split.y), len(split.y_test)
        return {"cost": cost, "accuracy": accuracy, "chosen": chosen, "rows": sizes}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        asked = QUICK if quick else TASKS
        return tables.make(results, asked, {kind: list(METHODS[kind]) for kind in asked}, quick)
