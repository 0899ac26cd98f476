"""Learnt fusion whose setting is chosen on the training topics alone.

The 16 settings were declared before anything was measured: four scales of what a system says of a
document, weights bounded below by 0 or free, and every document or every pair counting the same.
The penalty is 1e-6 throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import LSRRank, evaluate
from rankwise.datasets import Qrels, RankingData, Run
from rankwise.fusion import LearnedFusion, NonNegativeRanker, RunPool, fusion_table
from rankwise.typing import Float64Array, Int64Array

SCALES: dict[str, dict[str, Any]] = {
    "1 / (10 + rank)": {"features": ["reciprocal_rank"], "rank_constant": 10.0},
    "1 / (60 + rank)": {"features": ["reciprocal_rank"], "rank_constant": 60.0},
    "min_max": {"features": ["min_max"]},
    "z": {"features": ["z"]},
}
WEIGHTS = ("document", "pair")
LAM, N_FOLDS = 1e-6, 5
AP = "AP(ties=mean)"


def settings() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Name, options of the features and ranker of every setting."""
    for scale, options in SCALES.items():
        for weight in WEIGHTS:
            free = LSRRank("linear", lam=LAM, query_weight=weight)
            yield f"{scale}, every {weight}", options, free
            bounded = NonNegativeRanker(LAM, query_weight=weight)
            yield f"{scale}, every {weight}, weights >= 0", options, bounded


def choose(pool: RunPool, qrels: Qrels, seed: int) -> str:
    """Name of the setting with the best AP over folds of the queries, the first of equals.

    All queries of the pool are judged. AP counts the relevant documents of the pool.
    """
    tables = {name: fusion_table(pool, qrels, **options) for name, options in SCALES.items()}
    reached = {}
    for name, options, ranker in settings():
        table = tables[next(scale for scale, known in SCALES.items() if known is options)]
        folds = table.groups.split(min(N_FOLDS, table.n_queries), random_state=seed)
        scores = _held_out(ranker, table, folds)
        reached[name] = evaluate(table.y, scores, table.qid, [AP])[AP]
    return max(reached, key=lambda name: reached[name])


def _held_out(ranker: Any, table: RankingData, folds: list[Int64Array]) -> Float64Array:
    scores = np.empty(len(table.y))
    for fold in folds:
        train = table.queries(np.setdiff1d(np.arange(table.n_queries), fold))
        rows = np.isin(table.qid, table.groups.ids[fold])
        scores[rows] = ranker.fit(train.X, train.y, qid=train.qid).predict(table.X[rows])
    return scores


def fuse_nested(pool: RunPool, qrels: Qrels, n_folds: int, seed: int) -> tuple[Run, list[str]]:
    """Every query by a setting and weights that never saw it; the setting of each fold."""
    groups, scores, chosen = pool.groups, np.empty(len(pool)), []
    for fold in groups.split(n_folds, random_state=seed):
        rest = np.setdiff1d(np.arange(groups.n_queries), fold)
        run, name = fuse_after(pool, qrels, groups.ids[rest], seed)
        scores[np.isin(pool.qid, groups.ids[fold])] = run.scores
        chosen.append(name)
    return pool.run(scores, "nested"), chosen


def fuse_after(pool: RunPool, qrels: Qrels, judged: NDArray[Any], seed: int) -> tuple[Run, str]:
    """The queries beside the judged ones, by a setting and weights learnt from these."""
    seen = np.isin(pool.qid, judged)
    train = pool.take(np.flatnonzero(seen))
    name = choose(train, qrels, seed)
    options, ranker = next((options, ranker) for key, options, ranker in settings() if key == name)
    fusion = LearnedFusion(ranker, **options).fit(train, qrels)
    return fusion.fuse(pool.take(np.flatnonzero(~seen))), name
