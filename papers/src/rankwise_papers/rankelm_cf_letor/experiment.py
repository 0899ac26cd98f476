"""RankELM's Tables 1 and 3 on CF-LETOR, in place of TD2003 and TD2004."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from rankwise import evaluate
from rankwise._registry import REGISTRY
from rankwise.datasets import FoldedData
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.metrics import parse
from rankwise.selection import tune
from rankwise.text import load_cf_letor
from rankwise_papers.rankelm_cf_letor import tables
from rankwise_papers.rankelm_cf_letor.tables import CUTOFFS, FOLDS, fit_name, seeds_of
from rankwise_papers.sources import make_fetchers
from rankwise_papers.zong2013.methods import PAPER

DATA, PRESET = "cystic-fibrosis-text", "letor3"


class RankELMOnCFLetor(Experiment):
    """All seven columns of Tables 1 and 3 on five folds."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([DATA])

    def cells(self, quick: bool) -> Sequence[Cell]:
        return [
            Cell(
                fit_name(method, fold, seed),
                {"fold": fold, "seed": seed, **method.params()},
                DATA,
            )
            for method in PAPER
            if not (quick and method.ranker == "rank_svm")
            for fold in FOLDS
            for seed in seeds_of(method, quick)
        ]

    def run(self, cell: Cell) -> Any:
        params, fold = cell.params, _folds()[cell.params["fold"] - 1]
        tuned = tune(
            REGISTRY[params["ranker"]].load()(**params["settings"]),
            replace(fold.train, feature_names=None), fold.vali, parse("AP", PRESET),
            space=params["space"], random_state=params["seed"],
        )  # fmt: skip
        names = ["AP", *(f"{name}@{k}" for name in ("nDCG", "P") for k in CUTOFFS)]
        scores = tuned.estimator.predict(fold.test.X)
        found = evaluate(fold.test.y, scores, fold.test.groups, names, preset=PRESET)
        return {
            "chosen": tuned.chosen,
            "test": {name: float(found[name]) for name in names},
            "AP": found.per_query["AP"].tolist(),
        }

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, quick)


@cache
def _folds() -> FoldedData:
    return load_cf_letor()
