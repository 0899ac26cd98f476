"""Which rankers are stacked, how they are tuned, and on which folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rankwise._registry import REGISTRY
from rankwise.experiments import Cell

FOLDS = {"ohsumed": 5, "mq2008": 5}
TITLES = {"ohsumed": "OHSUMED", "mq2008": "MQ2008"}
# LETOR's discount, queries of fewer than ten documents counted as any other; then LETOR 4's script,
# which gives them 0. A query without relevant documents has 0 in both. Rows with equal scores rank
# in the order of the file, as in LETOR's scripts.
SELECT = "nDCG(discount=letor,empty=0,ties=stable)@10"
MEASURES = {
    "nDCG@10": SELECT,
    "nDCG@10, letor4": "nDCG(discount=letor,empty=0,ties=stable,short=zero)@10",
    "AP": "AP(empty=0,ties=stable)",
}
N_FOLDS = 5  # of the training queries, for the held-out scores
SEED = 0
BLENDS = {"borda_blend": "Borda", "reciprocal_rank_blend": "reciprocal ranks"}
# Parameters of StackingRanker; the first are its defaults.
_FINALS: dict[str, dict[str, Any]] = {
    "RankLR on products": {"final": None, "degree": 2},
    "RankLR": {"final": None, "degree": 1},
    "mean": {"final": "mean", "degree": 1},
}
STACKS: dict[str, dict[str, Any]] = {
    f"{title}, {'all' if n_best is None else f'best {n_best}'}": {**final, "n_best": n_best}
    for title, final in _FINALS.items()
    for n_best in (None, 5, 3)
}
CHOSEN = "stack, chosen"


@dataclass(frozen=True)
class Base:
    """One ranker.

    Attributes
    ----------
    title : str
    params : dict
        Beside the registry's, or in their place.
    """

    title: str
    params: dict[str, Any] = field(default_factory=dict)


BASES: dict[str, Base] = {
    "rank_svm": Base("RankSVM"),
    "rank_lr": Base("RankLR"),
    "pairwise_elm": Base("PairwiseELM, 3 draws", {"n_draws": 3}),
    "rankrls": Base("RankRLS, rbf, Nyström"),
    "orboost": Base("ORBoost", {"n_estimators": 1000}),
    "rank_boost": Base("RankBoost"),
    "coordinate_ascent": Base("CoordinateAscent"),
    "lightgbm": Base("LightGBM, 12 settings"),
    "xgboost": Base("XGBoost, 12 settings"),
    "catboost": Base("CatBoost, 4 settings"),
}
QUICK = ("rank_svm", "pairwise_elm")


def members(quick: bool) -> tuple[str, ...]:
    """Keys of the rankers that are stacked."""
    return QUICK if quick else tuple(BASES)


def folds(quick: bool) -> list[tuple[str, int]]:
    """(data set, fold) of a full or of a quick run."""
    if quick:
        return [("ohsumed", 1)]
    return [(data, fold) for data, n in FOLDS.items() for fold in range(1, n + 1)]


def cell_name(data: str, fold: int, what: str) -> str:
    """Name of a cell."""
    return f"{data}/fold{fold}/{what}"


def settings(key: str) -> dict[str, Any]:
    """Parameters and grid of a ranker, as JSON values."""
    entry = REGISTRY[key]
    return {"params": {**entry.params, **BASES[key].params}, "space": entry.space}


def cells(quick: bool) -> Iterator[Cell]:
    """A cell for every ranker of a fold, then one for everything made of them."""
    keys = members(quick)
    by_key = {key: settings(key) for key in keys}
    for data, fold in folds(quick):
        for key in keys:
            yield Cell(cell_name(data, fold, key), {"fold": fold, "key": key, **by_key[key]}, data)
        stacked = {"fold": fold, "members": by_key, "stacks": STACKS}
        yield Cell(cell_name(data, fold, f"stack{len(keys)}"), stacked, data)
