"""TREC-COVID: the scores of three runs as NIST computed them, and fusion in rounds 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.datasets import Qrels, Run, fetch, read_qrels, read_run
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.fusion import LearnedFusion, RunPool, fuse, pool_runs
from rankwise_papers.fusion_choice import fuse_nested
from rankwise_papers.fusion_measures import measure_run
from rankwise_papers.fusion_trec_covid import tables
from rankwise_papers.sources import make_fetchers

DATA = "trec-covid-runs"
MEASURES = {
    "nDCG@20": "nDCG(ties=stable)@20",
    "P@20": "P(ties=stable)@20",
    "AP": "AP(ties=stable)",
}
# NIST's rank-biased precision is graded, half a gain for grade 1: the mean of two binary ones.
BIASED = {"at 1": "RBP(p=0.5,rel=1,ties=stable)", "at 2": "RBP(p=0.5,rel=2,ties=stable)"}
# Judgements of a round, and those known before and in it.
QRELS = {4: ("round4", "round4-cumulative"), 5: ("round5", "complete")}


class FusionTrecCovid(Experiment):
    """Runs, rules and learnt fusions of two rounds, on the residual collection."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([DATA])

    def cells(self, quick: bool) -> Sequence[Cell]:
        cells = []
        for number in QRELS:
            cells.append(Cell(f"{number}/runs", {"round": number}, DATA))
            for rule in tables.RULES:
                cells.append(Cell(f"{number}/rule/{rule}", {"round": number, "rule": rule}, DATA))
            for name in tables.LEARNT if not quick else ():
                params = {"round": number, "folds": 5, "seed": 0}
                cells.append(Cell(f"{number}/learnt/{name}", params, DATA))
        return cells

    def run(self, cell: Cell) -> Any:
        runs, pool, qrels = load(cell.params["round"])
        _, kind, *name = cell.name.split("/")
        if kind == "runs":
            return {name: _of_run(run, qrels) for name, run in runs.items()}
        if kind == "rule":
            return _of_run(fuse(pool, cell.params["rule"]), qrels)
        folds, seed = cell.params["folds"], cell.params["seed"]
        if name == ["setting chosen inside the folds"]:
            run, chosen = fuse_nested(pool, qrels, folds, seed)
            return {**_of_run(run, qrels), "chosen": chosen}
        fusion = LearnedFusion(nonnegative=True)
        return _of_run(fusion.fuse_held_out(pool, qrels, folds=folds, random_state=seed), qrels)

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, self.published("published.csv"))


@cache
def load(number: int) -> tuple[dict[str, Run], RunPool, Qrels]:
    """The runs of a round without documents judged before it, their pool, and the judgements."""
    paths = {path.name: path for path in fetch(DATA)}

    def found(beginning: str) -> Path:
        return next(path for name, path in paths.items() if name.startswith(beginning))

    own, known = (read_qrels(found(f"qrels.covid-{part}.txt")) for part in QRELS[number])
    prefix = {4: "r4.ohsu.", 5: "r5.final."}[number]
    runs = {
        name.removeprefix(prefix).removesuffix(".gz").removesuffix(".txt"): read_run(path)
        for name, path in paths.items()
        if name.startswith(prefix)
    }
    judged = set(zip(own.qid.tolist(), own.doc_ids.tolist(), strict=True))
    earlier = set(zip(known.qid.tolist(), known.doc_ids.tolist(), strict=True)) - judged
    runs = {name: _without(run, earlier) for name, run in runs.items()}
    return runs, pool_runs(runs), own


def _without(run: Run, pairs: set[tuple[str, str]]) -> Run:
    keys = zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True)
    kept = np.array([key not in pairs for key in keys])
    return Run(run.qid[kept], run.doc_ids[kept], run.scores[kept], run.tag)


def _of_run(run: Run, qrels: Qrels) -> dict[str, list[float]]:
    wanted = {**MEASURES, **BIASED, "bpref": "bpref"}
    found = measure_run(run, qrels, wanted, all_queries=True)
    biased = np.mean([found.pop(name) for name in BIASED], axis=0).tolist()
    return {**found, "RBP": biased}
