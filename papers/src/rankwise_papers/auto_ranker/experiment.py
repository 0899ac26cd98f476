"""AutoRanker, LightGBM, XGBoost and CatBoost on six sets, in the same CPU time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.metrics import parse
from rankwise_papers.auto_ranker import tables
from rankwise_papers.auto_ranker.contestants import CONTESTANTS, fit_contestant
from rankwise_papers.auto_ranker.sets import SETS, load
from rankwise_papers.sources import make_fetchers

SELECT = "nDCG(ties=stable)@10"
QUICK, QUICK_SECONDS = ("lambdarank",), 2.0


class AutoSixSets(Experiment):
    """Every contestant on every fold; test queries are scored once, when all is chosen."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(
            sorted({known.source for known in SETS.values()} | {"movielens-1m-tables"})
        )

    def cells(self, quick: bool) -> Sequence[Cell]:
        return [
            Cell(
                tables.cell_name(name, number, contestant),
                {
                    "set": name,
                    "fold": number,
                    "contestant": contestant,
                    "seconds": QUICK_SECONDS if quick else known.seconds,
                },
                known.source,
            )
            for name, known in SETS.items()
            if not quick or name in QUICK
            for number in range(1, known.n_folds + 1)
            for contestant in CONTESTANTS
        ]

    def run(self, cell: Cell) -> Any:
        name, number = cell.params["set"], cell.params["fold"]
        fold = load(name, number)
        ranker, told = fit_contestant(
            cell.params["contestant"], fold, parse(SELECT), cell.params["seconds"]
        )
        scores = ranker.predict(fold.test.X)
        test = {
            title: parse(spec).per_query(fold.test.y, scores, fold.test.groups).tolist()
            for title, spec in tables.measures(SETS[name].relevant).items()
        }
        return {**told, "test": test}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results)
