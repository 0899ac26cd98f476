"""A leaderboard with everything in it: paths, a grid, a failed and a skipped ranker, notes."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.metrics import parse
from rankwise.selection import FoldInfo, FoldResult, Leaderboard, Settings

N_QUERIES = 20
FOLDS = ("fold1", "fold2", "fold3")
QUALITY = {"ridge": 0.0, "pairwise_elm": 0.1, "lightgbm": 0.09}
VERSIONS = {"rankwise": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"}


def make_board(measures=("nDCG@10", "AP"), rankers=QUALITY, seed=0, folds=FOLDS):
    """Cells with made-up values: better rankers are better on most queries."""
    rng = np.random.default_rng(seed)
    specs = {name: str(parse(name)) for name in measures}
    curve = [str(parse(f"nDCG@{k}")) for k in range(1, 11)] if "nDCG@10" in measures else []
    difficulty = {fold: rng.uniform(0.3, 0.6, N_QUERIES) for fold in folds}
    cells = []
    for ranker, quality in rankers.items():
        for number, fold in enumerate(folds):
            values = {
                spec: np.clip(difficulty[fold] + quality + rng.normal(0, 0.1, N_QUERIES), 0, 1)
                for spec in dict.fromkeys([*specs.values(), *curve])
            }
            values[specs[measures[0]]][0] = np.nan  # a query that does not count
            costs = {
                "fit_seconds": 0.5 + number,
                "predict_seconds": 0.002,
                "memory_bytes": 12_000_000,
            }
            search = search_of(ranker, number)
            cells.append(FoldResult(ranker, fold, "done", values=values, **costs, **search))
    for ranker, status, message in (
        ("catboost", "skipped", "No module named 'catboost'. pip install 'rankwise[gbdt]'"),
        ("broken", "failed", "ValueError: <script>alert(1)</script>"),
    ):
        cells += [FoldResult(ranker, fold, status, message=message) for fold in folds]
    infos = [
        FoldInfo(
            fold, [100 * i + q for q in range(N_QUERIES)], 2000, 60_000, 300, 45, True, "ab" * 16
        )
        for i, fold in enumerate(folds)
    ]
    descriptions = {cell.ranker: f"{cell.ranker}(…)" for cell in cells}
    settings = Settings("made & up", specs[measures[0]], random_state=7, versions=VERSIONS)
    return Leaderboard(specs, descriptions, infos, cells, settings)


def search_of(ranker, number):
    """What the cell says about its choice: a path, a grid, or nothing."""
    if ranker == "lightgbm":
        grid = [{"num_leaves": n, "rate": r} for n in (7, 31) for r in (0.1, 0.3)]
        search = [{"params": params, "score": 0.5} for params in grid]
        return {"chosen": grid[1], "search": search, "notes": ["early stopping at 12"]}
    name = {"ridge": "alpha", "pairwise_elm": "C"}.get(ranker)
    if name is None:
        return {}
    values = [None, *(2.0**k for k in range(-6, 8, 2))]  # None: infinity as JSON keeps it
    scores = [0.4 - 0.01 * abs(i - 3 - number) for i in range(len(values))]
    search = [
        {"params": {name: value}, "score": score}
        for value, score in zip(values, scores, strict=True)
    ]
    return {"chosen": {name: values[3 + number]}, "search": search}


@pytest.fixture(scope="session")
def board():
    return make_board()
