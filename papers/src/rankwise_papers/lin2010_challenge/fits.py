"""The computations of the cells."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData
from rankwise.experiments import Cell
from rankwise_papers.lin2010_challenge.parts import (
    all_scores,
    measure_parts,
    measures,
    parts,
    small_sets,
)
from rankwise_papers.lin2010_challenge.plan import ALL_STUMPS, RANKERS


def compute(cell: Cell) -> Any:
    """The value of a cell of any kind."""
    fold = parts(cell.data, cell.params["fold"])
    return _WORK[cell.params["kind"]](cell.data, fold, cell.params)


def _svm(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernel machine."""
    return _chosen(data, fold, params, {"kernel": "perceptron", "costs": params["costs"]})


def _powers(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The linear machine on the powers of the features."""
    return _chosen(data, fold, params, {"degree": params["degree"], **_linear(params)})


def _cross(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The linear machine on as many random products of two features as there are squares."""
    settings = {"degree": 2, "terms": "random", "random_state": params["seed"]}
    return _chosen(data, fold, params, {**settings, **_linear(params)})


def _linear(params: dict[str, Any]) -> dict[str, Any]:
    """The loss is LIBLINEAR's default, see the protocol."""
    return {"costs": params["costs"], "loss": "squared_hinge"}


def _small(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernel machine with the C of the best mean over models of many small training sets."""
    settings = {"kernel": "perceptron", "costs": params["costs"]}
    sets = small_sets(fold.train, params["n_sets"], params["n_rows"], seed=params["fold"])
    searches = [_search(data, train, fold.vali, params, settings) for train in sets]
    mean = np.mean([search["ERR"] for search in searches], axis=0)
    search = {"C": params["C"], "ERR": mean.tolist()}
    C = params["C"][int(np.argmax(mean))]
    return [{"search": search, **_fitted(data, fold, params, {**settings, "C": C})}]


def _boost(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """One ensemble, measured on its way at every number of rounds."""
    weight = None if params["weight"] == "none" else params["weight"]
    settings = {name: params[name] for name in ALL_STUMPS}
    estimator = _make(
        params, {"row_weight": weight, "warm_start": True, "random_state": 0, **settings}
    )
    found, seconds = [], 0.0
    for rounds in params["rounds"]:
        estimator.set_params(n_estimators=rounds)
        seconds += _seconds(estimator, fold)
        errors = measure_parts(data, fold, all_scores(estimator, fold))
        found.append({"rounds": estimator.n_estimators_, "seconds": seconds, **errors})
    return found


def _ridge(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Ridge regression on the grades, its penalty chosen on the validation part."""
    vali = fold.vali
    assert vali is not None
    estimator = _make(params, {"alpha": "val", "measure": measures(data)["ERR"]})
    start = time.perf_counter()
    estimator.fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=vali.X, y_val=vali.y, qid_val=vali.qid,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return [{"seconds": seconds, **measure_parts(data, fold, all_scores(estimator, fold))}]


def _chosen(
    data: str, fold: Fold, params: dict[str, Any], settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """The C of the largest ERR on the validation part, then a fit of its own, which is timed."""
    search = _search(data, fold.train, fold.vali, params, settings)
    C = search["C"][int(np.argmax(search["ERR"]))]
    return [{"search": search, **_fitted(data, fold, params, {**settings, "C": C})}]


def _search(
    data: str,
    train: RankingData,
    vali: RankingData | None,
    params: dict[str, Any],
    settings: dict[str, Any],
) -> dict[str, list[float]]:
    """ERR on the validation part along the path of C."""
    assert vali is not None
    estimator = _make(params, {**settings, "C": params["C"], "measure": measures(data)["ERR"]})
    estimator.fit(
        train.X, train.y, qid=train.qid, X_val=vali.X, y_val=vali.y, qid_val=vali.qid
    )  # fmt: skip
    results = estimator.cv_results_
    return {"C": list(results["C"]), "ERR": np.asarray(results["mean_test_score"]).tolist()}


def _fitted(
    data: str, fold: Fold, params: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Time and measures of one fit."""
    estimator = _make(params, settings)
    seconds = _seconds(estimator, fold)
    errors = measure_parts(data, fold, all_scores(estimator, fold))
    return {"C": settings["C"], "seconds": seconds, **errors}


def _make(params: dict[str, Any], settings: dict[str, Any]) -> Any:
    return REGISTRY[RANKERS[params["kind"]]].load()(**settings)


def _seconds(estimator: Any, fold: Fold) -> float:
    """Fit in place on the training part; wall time."""
    start = time.perf_counter()
    estimator.fit(fold.train.X, fold.train.y, qid=fold.train.qid)
    return time.perf_counter() - start


_WORK = {
    "orsvm": _svm,
    "powers": _powers,
    "cross": _cross,
    "small": _small,
    "boost": _boost,
    "ridge": _ridge,
}
