"""The computations of the cells."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rankwise._registry import REGISTRY
from rankwise.datasets import Fold, RankingData, load_dataset
from rankwise.experiments import Cell
from rankwise.metrics import evaluate, parse
from rankwise.selection import tune
from rankwise_papers.zong2013.plan import CUTOFFS, EXPONENTS, PRESETS, RAW
from rankwise_papers.zong2013.rank_svm_paths import hinge, stop_early


def compute(cell: Cell) -> Any:
    """The value of a cell of any kind."""
    fold = _folds(cell.data)[cell.params["fold"] - 1]
    work = {"fit": _fit, "path": _path, "hinge": hinge, "stopped": stop_early, "nodes": _nodes}
    preset = PRESETS["ohsumed" if cell.data == RAW else cell.data]
    return work[cell.params["kind"]](fold, cell.params, preset)


@cache
def _folds(data: str) -> list[Fold]:
    return list(load_dataset(data))


def _fit(fold: Fold, params: dict[str, Any], preset: str) -> dict[str, Any]:
    """Tune on the validation part, measure on the test part."""
    estimator = REGISTRY[params["ranker"]].load()(**params["settings"])
    select = parse("AP", preset)
    tuned = tune(
        estimator, fold.train, fold.vali, select,
        space=params["space"], random_state=params["seed"],
    )  # fmt: skip
    names = ["AP", *(f"{name}@{k}" for name in ("nDCG", "P") for k in CUTOFFS)]
    return {
        "chosen": tuned.chosen,
        "test": _measured(fold.test, tuned.estimator.predict(fold.test.X), names, preset),
    }


def _path(fold: Fold, params: dict[str, Any], preset: str) -> dict[str, Any]:
    """For every C the AP on the validation part and all measures on the test part."""
    vali, grid = fold.vali, [2.0**k for k in EXPONENTS]
    assert vali is not None
    settings = {**params["settings"], "C": grid, "measure": str(parse("AP", preset))}
    ranker = REGISTRY[params["ranker"]].load()(**settings)
    ranker.fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=vali.X, y_val=vali.y, qid_val=vali.qid,
    )  # fmt: skip
    names = ["AP", *(f"nDCG@{k}" for k in CUTOFFS)]
    X = fold.test.X.astype(np.float64)
    return {
        "vali": ranker.cv_results_["mean_test_score"],
        "test": [_measured(fold.test, X @ coef, names, preset) for coef in ranker.path_["coef"]],
    }


def _nodes(fold: Fold, params: dict[str, Any], preset: str) -> list[float]:
    """AP on the test part for every C of the paper's grid: the test part takes vali's place."""
    test = fold.test
    ranker = REGISTRY["pointwise_elm"].load()(
        params["n_nodes"], "linear",
        C=[2.0**k for k in EXPONENTS[::2]], measure=str(parse("AP", preset)),
        random_state=params["seed"],
    )  # fmt: skip
    ranker.fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=test.X, y_val=test.y, qid_val=test.qid,
    )  # fmt: skip
    return ranker.cv_results_["mean_test_score"]


def _measured(part: RankingData, scores: Any, names: list[str], preset: str) -> dict[str, float]:
    result = evaluate(part.y, scores, part.groups, names, preset=preset)
    return {name: float(result[name]) for name in names}
