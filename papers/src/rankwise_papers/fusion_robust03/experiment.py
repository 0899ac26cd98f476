"""Fusion of the nine runs of TREC 2003 Robust: rules, learnt weights, learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rankwise.datasets import Qrels, Run, fetch, read_qrels, read_run
from rankwise.experiments import Cell, Experiment, Figure, FindFiles, Results, ResultTable
from rankwise.fusion import LearnedFusion, RunPool, fuse, learning_curve, pool_runs
from rankwise_papers.fusion_choice import fuse_after, fuse_nested
from rankwise_papers.fusion_measures import measure_run
from rankwise_papers.fusion_robust03 import tables
from rankwise_papers.sources import make_fetchers

DATA = "trec-robust03-runs"
MEASURES = {"AP": "AP(ties=stable)", "nDCG@10": "nDCG(ties=stable)@10"}
N_DRAWS, QUICK_DRAWS = 20, 3


class FusionRobust03(Experiment):
    """Every rule and three learnt fusions, topic by topic."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([DATA])

    def cells(self, quick: bool) -> Sequence[Cell]:
        draws, sizes = QUICK_DRAWS if quick else N_DRAWS, list(tables.N_JUDGED)
        return [
            Cell("runs", {}, DATA),
            *(Cell(f"rule/{rule}", {"rule": rule}, DATA) for rule in tables.RULES),
            *(
                Cell(f"learnt/{name}", {"options": options, "folds": 5, "seed": 0}, DATA)
                for name, options in tables.LEARNT.items()
            ),
            Cell(f"curve/{draws}", {"n_judged": sizes, "draws": draws}, DATA),
            *(
                Cell(f"nested/{seed}", {"folds": 5, "seed": seed}, DATA)
                for seed in ([] if quick else tables.SEEDS)
            ),
            *(
                Cell(
                    f"nested curve/{draw}", {"n_judged": list(tables.N_JUDGED), "draw": draw}, DATA
                )
                for draw in ([] if quick else range(tables.N_NESTED_DRAWS))
            ),
        ]

    def run(self, cell: Cell) -> Any:
        runs, pool, qrels = load()
        kind, _, _ = cell.name.partition("/")
        if kind == "runs":
            return {system: _of_run(run, qrels) for system, run in runs.items()}
        if kind == "rule":
            return _of_run(fuse(pool, cell.params["rule"]), qrels)
        if kind == "learnt":
            fusion = LearnedFusion(**cell.params["options"])
            options = {"folds": cell.params["folds"], "random_state": cell.params["seed"]}
            held_out = fusion.fuse_held_out(pool, qrels, **options)
            weights = fusion.fit(pool, qrels).weights_
            return {**_of_run(held_out, qrels), "weights": weights}
        if kind == "nested":
            run, chosen = fuse_nested(pool, qrels, cell.params["folds"], cell.params["seed"])
            return {**_of_run(run, qrels), "chosen": chosen}
        if kind == "nested curve":
            return nested_curve(pool, qrels, cell.params["n_judged"], cell.params["draw"])
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

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, QUICK_DRAWS if quick else N_DRAWS)

    def figures(self, results: Results, quick: bool) -> Sequence[Figure]:
        return tables.figures(results, QUICK_DRAWS if quick else N_DRAWS)


@cache
def load() -> tuple[dict[str, Run], RunPool, Qrels]:
    """The runs by name, their pool, and the judgements."""
    qrels, *files = fetch(DATA)
    runs = {path.name.split(".")[1]: read_run(path) for path in files}
    return runs, pool_runs(runs), read_qrels(qrels)


def nested_curve(
    pool: RunPool, qrels: Qrels, n_judged: Sequence[int], draw: int
) -> list[dict[str, Any]]:
    """AP on the other topics after judging some, for one of the draws of ``learning_curve``."""
    rng = np.random.RandomState(0)
    orders = [rng.permutation(pool.groups.n_queries) for _ in range(draw + 1)]
    found = []
    for size in n_judged:
        run, chosen = fuse_after(pool, qrels, pool.groups.ids[orders[draw][:size]], draw)
        rest = pool.take(np.flatnonzero(np.isin(pool.qid, run.qid)))
        learnt, rule = (np.mean(_of_run(r, qrels)["AP"]) for r in (run, fuse(rest, "rrf")))
        found.append({"learnt": float(learnt), "rule": float(rule), "chosen": chosen})
    return found


def _of_run(run: Run, qrels: Qrels) -> dict[str, Any]:
    return {**measure_run(run, qrels, MEASURES)}
