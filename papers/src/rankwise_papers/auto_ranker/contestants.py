"""AutoRanker, and boosting libraries that a random search tunes in the same CPU time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise import AutoRanker, CatBoostRanker, LambdaMART, LightGBMRanker, XGBoostRanker
from rankwise.datasets import Fold
from rankwise.metrics import Measure
from rankwise.typing import Float64Array

AUTO = "AutoRanker"
_BOOSTED = {"n_estimators": 1000, "early_stopping_rounds": 50, "random_state": 0, "n_jobs": 1}
# Values of each setting, the library's own first; a mapping holds values that belong together.
SPACES: dict[str, tuple[type, dict[str, list[Any]]]] = {
    "LightGBM": (
        LightGBMRanker,
        {
            "learning_rate": [0.05, 0.03, 0.1],
            "num_leaves": [31, 7, 15, 63],
            "min_child_samples": [20, 50, 100, 300],
            "colsample_bytree": [1.0, 0.5, 0.7],
            "subsample": [1.0, 0.7],
            "reg_lambda": [0.0, 1.0, 10.0],
            "loss": [
                {"objective": "lambdarank"},
                {"objective": "lambdarank", "params": {"lambdarank_norm": False}},
                {"objective": "rank_xendcg"},
            ],
        },
    ),
    "XGBoost": (
        XGBoostRanker,
        {
            "learning_rate": [0.05, 0.03, 0.1],
            "max_depth": [6, 3, 4, 8],
            "min_child_weight": [1.0, 5.0, 20.0],
            "colsample_bytree": [1.0, 0.5, 0.7],
            "subsample": [1.0, 0.7],
            "reg_lambda": [1.0, 10.0],
            "loss": [
                {"pair_method": "topk"},
                {"pair_method": "topk", "params": {"lambdarank_normalization": False}},
                {"pair_method": "mean"},
            ],
        },
    ),
    "CatBoost": (
        CatBoostRanker,
        {
            "learning_rate": [0.05, 0.03, 0.1],
            "depth": [6, 4, 8],
            "reg_lambda": [3.0, 1.0, 10.0],
            "colsample_bylevel": [1.0, 0.5, 0.7],
            "random_strength": [1.0, 0.0],
            "objective": ["YetiRank", "QueryRMSE"],
        },
    ),
}
CONTESTANTS = (AUTO, *SPACES)
SPACES["LambdaMART"] = (
    LambdaMART,
    {
        "learning_rate": [0.05, 0.03, 0.1],
        "growth": ["leaf", "symmetric"],
        "max_leaf_nodes": ["auto", 15, 31, 63],
        "min_samples_leaf": [20, 50, 100, 300],
        "colsample_bytree": [1.0, 0.5, 0.7],
        "subsample": [1.0, 0.7],
        "reg_lambda": ["auto", 0.0, 10.0],
        "measure": ["nDCG@10", "nDCG(gain=linear)@10", "nDCG"],
        "loss": [
            {"objective": "lambdarank"},
            {"objective": "lambdarank", "normalize": False},
            {"objective": "yetirank", "decay": 0.85},
        ],
    },
)


def fit_contestant(
    name: str, fold: Fold, measure: Measure, seconds: float
) -> tuple[Any, dict[str, Any]]:
    """A contestant that had the CPU seconds of one thread, and what it did in them.

    AutoRanker's loops are compiled before the time begins, by a fit on 40 queries.
    """
    assert fold.vali is not None
    validation = {"X_val": fold.vali.X, "y_val": fold.vali.y, "qid_val": fold.vali.qid}
    if name == AUTO:
        few = fold.train.queries(range(min(40, fold.train.n_queries)))
        AutoRanker(None, n_trials=6, cv=2, random_state=0, n_jobs=1).fit(few.X, few.y, qid=few.qid)
        ranker = AutoRanker(
            seconds, measure=str(measure), clock="cpu", random_state=0, n_jobs=1
        ).fit(fold.train.X, fold.train.y, qid=fold.train.qid, **validation)
        return ranker, {
            "seconds": ranker.seconds_,
            "trials": len(ranker.history_),
            "chosen": ", ".join(ranker.families_),
            "validation": ranker.values_["blend"],
            "families": ranker.values_,
        }
    return searched(name, fold, measure, seconds)


def searched(name: str, fold: Fold, measure: Measure, seconds: float) -> tuple[Any, dict[str, Any]]:
    """The best of the settings that the time allows, by the measure on validation queries.

    No setting starts that the mean of those before says would end later; the first always runs.
    """
    assert fold.vali is not None
    validation = {"X_val": fold.vali.X, "y_val": fold.vali.y, "qid_val": fold.vali.qid}
    cls, space = SPACES[name]
    # LambdaMART follows one measure and watches another; the libraries watch what they are given.
    watched = "validation_measure" if name == "LambdaMART" else "measure"
    start = time.process_time()
    best: tuple[float, Any, dict[str, Any]] | None = None
    n_trials = 0
    for setting in _settings(space):
        spent = time.process_time() - start
        if n_trials and spent + spent / n_trials > seconds:
            break
        ranker = cls(**_BOOSTED, **setting, **{watched: str(measure)})
        ranker.fit(fold.train.X, fold.train.y, qid=fold.train.qid, **validation)
        n_trials += 1
        value = float(np.nanmean(_values(ranker, fold.vali, measure)))
        if best is None or value > best[0]:
            best = value, ranker, setting
    assert best is not None
    value, ranker, setting = best
    told = {
        "seconds": time.process_time() - start,
        "trials": n_trials,
        "chosen": _shown(setting),
        "validation": value,
    }
    return ranker, told


def single_changes(space: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The first value of everything, with every other value in its place in turn."""
    first = {key: values[0] for key, values in space.items()}
    yield _joined(first)
    for key, values in space.items():
        for value in values[1:]:
            yield _joined(first | {key: value})


def _settings(space: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The first value of everything, then draws with a fixed seed."""
    yield _joined({key: values[0] for key, values in space.items()})
    random = np.random.RandomState(0)
    while True:
        yield _joined({key: values[random.randint(len(values))] for key, values in space.items()})


def _joined(drawn: dict[str, Any]) -> dict[str, Any]:
    """The values by parameter, with those of mappings in place of the mappings."""
    setting: dict[str, Any] = {}
    for key, value in drawn.items():
        setting |= value if isinstance(value, dict) else {key: value}
    return setting


def _shown(setting: dict[str, Any]) -> str:
    parts = []
    for key, value in setting.items():
        if isinstance(value, dict):
            parts.append(_shown(value))
        else:
            parts.append(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}")
    return ", ".join(parts)


def _values(ranker: Any, rows: Any, measure: Measure) -> Float64Array:
    return measure.per_query(rows.y, ranker.predict(rows.X), rows.groups)
