"""The computations of the cells; those of the ordinal methods are challenge-ordinal's."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData
from rankwise.experiments import Cell
from rankwise.features import QueryScaler
from rankwise_papers.challenge_methods.ensemble import ensemble
from rankwise_papers.challenge_methods.plan import BOLTZ_SETTINGS
from rankwise_papers.lin2010_challenge import fits as ordinal
from rankwise_papers.lin2010_challenge.parts import all_scores, measure_parts, measures, parts


def compute(cell: Cell) -> Any:
    """The value of a cell of any kind: a list of settings with what each reaches."""
    work = _WORK.get(cell.params["kind"])
    if work is None:
        return ordinal.compute(cell)
    return work(cell.data, parts(cell.data, cell.params["fold"]), cell.params)


def _pairs(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """RankSVM or RankLR, its C by ERR on the validation part."""
    if params["norm"] == "query":
        fold = by_query(fold)
    weight = None if params["pair_weight"] == "none" else params["pair_weight"]
    estimator = REGISTRY[params["key"]].load()(
        C="val", pair_weight=weight, measure=measures(data)["ERR"]
    )
    return [
        {"seconds": _seconds(estimator, fold), "C": estimator.C_, **_reached(data, fold, estimator)}
    ]


def _boltz(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """BoltzRank on the expected ERR, stopped by ERR on the validation part."""
    err = measures(data)["ERR"]
    estimator = REGISTRY["boltz_rank"].load()(
        params["n_nodes"],
        n_pair_nodes=params["n_pair_nodes"],
        n_features=params["n_features"],
        objective=err,
        measure=err,
        random_state=params["seed"],
        **{name: params[name] for name in BOLTZ_SETTINGS},
    )
    seconds = _seconds(estimator, fold)
    run = {"epochs": estimator.n_epochs_, "epochs_run": len(estimator.loss_curve_)}
    return [{"seconds": seconds, **run, **_reached(data, fold, estimator)}]


def _ensemble(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    return [ensemble(data, fold, params["with_boltz"], out_of_fold=params["out_of_fold"])]


def by_query(fold: Fold) -> Fold:
    """Every feature from 0 to 1 within every query."""
    assert fold.vali is not None

    def scaled(part: RankingData) -> RankingData:
        return replace(part, X=QueryScaler("min_max").fit_transform(part.X, qid=part.qid))

    return Fold(scaled(fold.train), scaled(fold.vali), scaled(fold.test), fold.name)


def _reached(data: str, fold: Fold, estimator: Any) -> dict[str, Any]:
    return measure_parts(data, fold, all_scores(estimator, fold))


def _seconds(estimator: Any, fold: Fold) -> float:
    """Fit in place with the validation part; wall time."""
    train, vali = fold.train, fold.vali
    assert vali is not None
    start = time.perf_counter()
    estimator.fit(
        train.X, train.y, qid=train.qid, X_val=vali.X, y_val=vali.y, qid_val=vali.qid
    )  # fmt: skip
    return time.perf_counter() - start


_WORK = {"pairs": _pairs, "boltz": _boltz, "ensemble": _ensemble}
