"""Ordinal estimators on thirty sets: every method tuned inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise_papers.ordinal_benchmark import tables
from rankwise_papers.ordinal_benchmark.ours import BESIDE, OURS
from rankwise_papers.ordinal_benchmark.peers import PEERS, missing_peer
from rankwise_papers.ordinal_benchmark.sets import NOMINAL, SETS, BenchmarkSet, make_task
from rankwise_papers.ordinal_benchmark.tuning import tune_and_predict
from rankwise_papers.sources import make_fetchers

METHODS = {**OURS, **PEERS}
QUICK_SETS = ("machinecpu 5", "tae", "lev")
BY_KEY = {known.key: known for known in SETS}


class OrdinalBenchmark(Experiment):
    """Mean absolute and zero-one error of every ordinal estimator here and of its peers."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(known.source for known in SETS)

    def cells(self, quick: bool) -> Sequence[Cell]:
        return [
            _cell(known, method, 1 if quick else known.n_splits)
            for known in SETS
            if not quick or known.key in QUICK_SETS
            for method in (*METHODS, *(BESIDE if known.key in NOMINAL else ()))
            if not missing_peer(method)
        ]

    def run(self, cell: Cell) -> Any:
        known, name = BY_KEY[cell.params["set"]], cell.params["method"]
        method = BESIDE[name] if name in BESIDE else METHODS[name]
        absolute, zero_one, chosen = [], [], []
        for split in range(cell.params["splits"]):
            task = make_task(known, split)
            setting, predicted = tune_and_predict(method, task, seed=split)
            error = np.abs(predicted - task.y[task.test])
            absolute.append(float(error.mean()))
            zero_one.append(float((error > 0).mean()))
            chosen.append(str(setting))
        return {"absolute": absolute, "zero-one": zero_one, "chosen": chosen}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        known = [known_set for known_set in SETS if not quick or known_set.key in QUICK_SETS]
        return tables.make(results, known, list(METHODS), quick)


def _cell(known: BenchmarkSet, method: str, n_splits: int) -> Cell:
    params = {"set": known.key, "method": method, "splits": n_splits, "n_train": known.n_train}
    name = f"{known.key}/{method}" if n_splits == known.n_splits else f"quick/{known.key}/{method}"
    return Cell(name, params, known.source)
