"""BM25 and the scores of a cross-encoder, alone and fused, on SciFact and NFCorpus."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.datasets import Qrels, fetch, read_qrels
from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.fusion import LearnedFusion, RunPool, as_run, fuse, pool_runs
from rankwise.text import TextIndex, load_text
from rankwise_papers.fusion_choice import fuse_nested
from rankwise_papers.fusion_cross_encoder import tables
from rankwise_papers.fusion_measures import measure_run
from rankwise_papers.sources import make_fetchers

SCORES = "beir-cross-encoder-scores"
MEASURES = {"nDCG@10": "nDCG(ties=stable)@10", "AP": "AP(ties=stable)"}
DEPTH = 100


class FusionCrossEncoder(Experiment):
    """Both systems, rules and learnt fusions, query by query."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers([*tables.SETS, SCORES])

    def cells(self, quick: bool) -> Sequence[Cell]:
        cells = []
        for name in tables.SETS:
            cells += [Cell(f"{name}/{row}", {"depth": DEPTH}, name) for row in tables.UNTRAINED]
            params = {"depth": DEPTH, "folds": 5, "seed": 0}
            cells += [Cell(f"{name}/{row}", params, name) for row in tables.LEARNT if not quick]
        return cells

    def run(self, cell: Cell) -> Any:
        pool, qrels = load(cell.data, cell.params["depth"])
        row = cell.name.partition("/")[2]
        if row in pool.systems:
            column = pool.systems.index(row)
            rows = np.flatnonzero(pool.ranks[:, column] > 0)
            part = pool.take(rows)
            return measure_run(part.run(part.scores[:, column]), qrels, MEASURES, all_queries=True)
        if row in tables.UNTRAINED:
            run = fuse(pool, row.removeprefix("rule "))
            return measure_run(run, qrels, MEASURES, all_queries=True)
        folds, seed = cell.params["folds"], cell.params["seed"]
        if row == tables.LEARNT[-1]:
            run, chosen = fuse_nested(pool, qrels, folds, seed)
            return {**measure_run(run, qrels, MEASURES, all_queries=True), "chosen": chosen}
        fusion = LearnedFusion(nonnegative=True)
        run = fusion.fuse_held_out(pool, qrels, folds=folds, random_state=seed)
        weights = fusion.fit(pool, qrels).weights_
        return {**measure_run(run, qrels, MEASURES, all_queries=True), "weights": weights}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results)


@cache
def load(name: Any, depth: int) -> tuple[RunPool, Qrels]:
    """Both systems on the scored queries, and the judgements of these queries."""
    paths = {path.name.removesuffix(".gz"): path for path in fetch(SCORES)}
    encoder = _scores(paths[f"{name}.tsv"])
    qrels = read_qrels(paths[f"qrels.{name}.test.txt"])
    kept = np.isin(qrels.qid, list(encoder))
    qrels = Qrels(qrels.qid[kept], qrels.doc_ids[kept], qrels.relevance[kept])
    collection = load_text(name)
    index = TextIndex(collection.fields).add(collection.documents)
    queries = {query: collection.queries[query] for query in encoder}
    return pool_runs({"bm25": index.search(queries, depth), "encoder": as_run(encoder)}), qrels


def _scores(path: Path) -> dict[str, dict[str, float]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    found: dict[str, dict[str, float]] = {}
    for line in text.decode("utf-8").splitlines():
        query, document, score = line.split("\t")
        found.setdefault(query, {})[document] = float(score)
    return found
