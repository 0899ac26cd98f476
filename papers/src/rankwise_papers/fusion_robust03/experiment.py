"""Fusion of the nine runs of TREC 2003 Robust: rules, learnt weights, a learning curve."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rankwise import evaluate
from rankwise.datasets import Qrels, Run, fetch, judge, read_qrels, read_run
from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, Table
from rankwise.fusion import LearnedFusion, RunPool, fuse, learning_curve, pool_runs
from rankwise_papers.fusion_robust03 import tables
from rankwise_papers.sources import fetched

DATA = "trec-robust03-runs"
MEASURES = {"AP": "AP(ties=stable)", "nDCG@10": "nDCG(ties=stable)@10"}
N_DRAWS, QUICK_DRAWS = 20, 3


class FusionRobust03(Experiment):
    """Every rule and three learnt fusions, topic by topic."""

    def data(self) -> dict[str, FindFiles]:
        return fetched([DATA])

    def cells(self, quick: bool) -> Sequence[Cell]:
        draws = QUICK_DRAWS if quick else N_DRAWS
        return [
            Cell("runs", {}, DATA),
            *(Cell(f"rule/{rule}", {"rule": rule}, DATA) for rule in tables.RULES),
            *(
                Cell(f"learnt/{name}", {"options": options, "folds": 5, "seed": 0}, DATA)
                for name, options in tables.LEARNT.items()
            ),
            Cell(f"curve/{draws}", {"n_judged": list(tables.N_JUDGED), "draws": draws}, DATA),
        ]

    def run(self, cell: Cell) -> Any:
        runs, pool, qrels = load()
        kind, _, _ = cell.name.partition("/")
        if kind == "runs":
            return {system: measured(run, qrels) for system, run in runs.items()}
        if kind == "rule":
            return measured(fuse(pool, cell.params["rule"]), qrels)
        if kind == "learnt":
            fusion = LearnedFusion(**cell.params["options"])
            options = {"folds": cell.params["folds"], "random_state": cell.params["seed"]}
            held_out = fusion.fuse_held_out(pool, qrels, **options)
            weights = fusion.fit(pool, qrels).weights_
            return {**measured(held_out, qrels), "weights": weights}
        curve = learning_curve(
            LearnedFusion(nonnegative=True),
            pool,
            qrels,
            n_judged=cell.params["n_judged"],
            n_draws=cell.params["draws"],
        )
        return {
            "learnt": curve.learned.mean(axis=1).tolist(),
            "rule": curve.baseline.mean(axis=1).tolist(),
            "gain": curve.gain.tolist(),
            "interval": curve.interval().tolist(),
        }

    def tables(self, results: Results, quick: bool) -> Sequence[Table]:
        return tables.make(results, QUICK_DRAWS if quick else N_DRAWS)

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return tables.figures(results, QUICK_DRAWS if quick else N_DRAWS)


@cache
def load() -> tuple[dict[str, Run], RunPool, Qrels]:
    """The runs by name, their pool, and the judgements."""
    qrels, *files = fetch(DATA)
    runs = {path.name.split(".")[1]: read_run(path) for path in files}
    return runs, pool_runs(runs), read_qrels(qrels)


def measured(run: Run, qrels: Qrels) -> dict[str, Any]:
    """The measures of every topic, in the order of the judgements."""
    rows = judge(run, qrels)
    result = evaluate(
        rows.y,
        rows.scores,
        rows.qid,
        list(MEASURES.values()),
        preset="trec_eval",
        retrieved=rows.retrieved,
    )
    return {name: result.per_query[spec].tolist() for name, spec in MEASURES.items()}
