"""The computations of the cells."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold
from rankwise.experiments.base import Cell
from rankwise.experiments.lin2010_challenge.parts import (
    all_scores,
    measured,
    measures,
    parts,
    small_sets,
)
from rankwise.experiments.lin2010_challenge.plan import RANKERS
from rankwise.metrics import parse
from rankwise.metrics.predicting import scores_of


def compute(cell: Cell) -> Any:
    """The value of a cell of any kind."""
    fold = parts(cell.data, cell.params["fold"])
    return _WORK[cell.params["kind"]](cell.data, fold, cell.params)


def _svm(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """A fit for every C."""
    settings = {"kernel": "perceptron", "costs": params["costs"]}
    return [_fitted(data, fold, params, {**settings, "C": C}) for C in params["C"]]


def _powers(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """A fit for every C on the powers of the features."""
    settings = {"degree": params["degree"], "costs": params["costs"]}
    return [_fitted(data, fold, params, {**settings, "C": C}) for C in params["C"]]


def _cross(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """A fit for every C on as many random products of two features as there are squares."""
    settings = {"degree": 2, "terms": "random", "costs": params["costs"]}
    settings["random_state"] = params["seed"]
    return [_fitted(data, fold, params, {**settings, "C": C}) for C in params["C"]]


def _small(data: str, fold: Fold, params: dict[str, Any]) -> list[float]:
    """Mean ERR on the validation part for every C, over models of many small training sets."""
    vali, measure = fold.vali, parse(measures(data)["ERR"])
    assert vali is not None
    sets = small_sets(fold.train, params["n_sets"], params["n_rows"], seed=params["fold"])
    found = np.empty((len(sets), len(params["C"])))
    for row, train in enumerate(sets):
        for column, C in enumerate(params["C"]):
            estimator = _make(params, {"kernel": "perceptron", "costs": params["costs"], "C": C})
            estimator.fit(train.X, train.y, qid=train.qid)
            found[row, column] = measure.mean(vali.y, scores_of(estimator, vali.X), vali.groups)
    return found.mean(axis=0).tolist()


def _boost(data: str, fold: Fold, params: dict[str, Any]) -> list[dict[str, Any]]:
    """One ensemble, measured on its way at every number of rounds."""
    weight = None if params["weight"] == "none" else params["weight"]
    estimator = _make(params, {"row_weight": weight, "warm_start": True})
    found, seconds = [], 0.0
    for rounds in params["rounds"]:
        estimator.set_params(n_estimators=rounds)
        seconds += _seconds(estimator, fold)
        of = measured(data, fold, all_scores(estimator, fold))
        found.append({"rounds": estimator.n_estimators_, "seconds": seconds, **of})
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
    return [{"seconds": seconds, **measured(data, fold, all_scores(estimator, fold))}]


def _fitted(
    data: str, fold: Fold, params: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Time and measures of one fit."""
    estimator = _make(params, settings)
    seconds = _seconds(estimator, fold)
    of = measured(data, fold, all_scores(estimator, fold))
    return {"C": settings["C"], "seconds": seconds, **of}


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
