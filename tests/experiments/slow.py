"""An experiment whose cells take their time and say when they start; for killing."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.experiments import (
    Cell,
    Experiment,
    ExperimentEntry,
    Reproduction,
    Results,
    ResultTable,
    Value,
    reproduce,
)
from rankwise_papers.framework.experiment import experiments

LOG = "RANKWISE_TEST_LOG"
N_CELLS, PAUSE = 15, 0.06


class Slow(Experiment):
    """Cell i gives i squared; cell "bad" raises."""

    def cells(self, quick: bool) -> Sequence[Cell]:
        only = os.environ.get("RANKWISE_TEST_CELLS", "")
        names = only.split(",") if only else [str(i) for i in range(N_CELLS)]
        return [Cell(name, {"pause": PAUSE}) for name in names]

    def run(self, cell: Cell) -> Any:
        with Path(os.environ[LOG]).open("a") as log:
            log.write(f"{cell.name}\n")
        time.sleep(cell.params["pause"])
        if cell.name == "bad":
            raise RuntimeError("this cell\nalways fails")
        return {"square": int(cell.name) ** 2}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        values = [Value(name, "square", of["square"]) for name, of in results.items()]
        return [ResultTable("squares", "Squares", values)]

    def protocol(self) -> str:
        return "Square."


def run(store: str, log: str, n_jobs: int | str = 1, **settings: Any) -> Reproduction:
    """Run it with its starts in ``log``."""
    os.environ[LOG] = log
    experiments()["slow"] = ExperimentEntry("tests.experiments.slow:Slow", "Squares", "")
    try:
        return reproduce("slow", store=store, n_jobs=int(n_jobs), **settings)
    finally:
        del experiments()["slow"], os.environ[LOG]


def run_any(store: str, log: str, n_jobs: str) -> None:
    """As ``run``, unmoved by files that are edited while a test lasts."""
    run(store, log, n_jobs, any_code=True)
