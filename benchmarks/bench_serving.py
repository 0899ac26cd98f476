"""Serving: scoring a hundred documents beside the bare booster, and the first scores of a process.

    python -m benchmarks.bench_serving

A request is 100 documents of 136 features. "bare" is the predict of the library's own model on one
thread, which the adapter uses for so few rows; frames are compared with the same arrays. Models of
100 trees, trained on 3,000 rows. A first score is what ``load`` and the first ``predict`` take in a
fresh interpreter that has imported scikit-learn and the library of the
booster: wall-clock seconds, median of five.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rankwise
from benchmarks._timing import interleave, report, synthetic_ranking
from benchmarks.bench_start import line, printed

N_ROWS = 100
REQUESTS = 300
STARTS = 5
TREES = {"n_estimators": 100, "random_state": 0}
ADAPTERS = ("LightGBMRanker", "XGBoostRanker", "CatBoostRanker")
COLD = {
    "RidgeRanker": {},
    "RankSVM": {},
    "RankLR": {},
    "ProportionalOdds": {},
    "RankingTree": {},
    "RankingForest": TREES,
    "RankBoost": {"n_estimators": 100},
    "LightGBMRanker": TREES,
    "XGBoostRanker": TREES,
    "CatBoostRanker": TREES,
}
FIRST_SCORE = """
import sys, time
import numpy as np
import sklearn.base, sklearn.linear_model, sklearn.pipeline, sklearn.preprocessing
{library}
X = np.load({rows!r})
start = time.perf_counter()
import rankwise
model = rankwise.load({model!r})
getattr(model, "rank_score", model.predict)(X)
print(time.perf_counter() - start)
"""


def bare(model: Any, X: np.ndarray) -> Any:
    """Scores by the library's own model."""
    match type(model).__name__:
        case "LightGBMRanker":
            return partial(model.booster_.predict, X, raw_score=True, num_threads=1)
        case "XGBoostRanker":
            model.booster_.set_param({"nthread": 1})
            return partial(model.booster_.inplace_predict, X, predict_type="margin")
        case _:
            return partial(
                model.booster_.predict, X, prediction_type="RawFormulaVal", thread_count=1
            )


def requests() -> None:
    """Scores of arrays and frames, ours and the libraries'."""
    import pandas as pd
    import polars as pl

    X, y, qid = synthetic_ranking(n_queries=25)
    names = [f"feature {j}" for j in range(X.shape[1])]
    array = X[:N_ROWS].copy()
    frames = {"pandas": pd.DataFrame(array, columns=names), "Polars": pl.DataFrame(array, names)}
    for name in ADAPTERS:
        kind = getattr(rankwise, name)
        plain = kind(**TREES).fit(X, y, qid=qid)
        named = kind(**TREES).fit(pd.DataFrame(X, columns=names), y, qid=qid)
        sides = {"bare": bare(plain, array), "array": partial(plain.predict, array)}
        sides |= {key: partial(named.predict, frame) for key, frame in frames.items()}
        timed = interleave(sides, repeats=REQUESTS, warmup=20)
        report(f"{name}, {N_ROWS} rows, array", timed["array"], timed["bare"], within=1.3)
        for key in frames:
            report(f"{name}, {N_ROWS} rows, {key}", timed[key], timed["bare"], within=3)
    for name in ("RidgeRanker", "RankSVM", "RankBoost", "RankingForest"):
        model = getattr(rankwise, name)(**COLD[name]).fit(X, y, qid=qid)
        score = getattr(model, "rank_score", model.predict)
        timed = interleave({"array": partial(score, array)}, repeats=REQUESTS, warmup=20)
        print(f"      {name}, {N_ROWS} rows, array: {timed['array'].median * 1e3:.2f} ms")


def first_scores() -> None:
    """Loading and the first scores in fresh interpreters."""
    X, y, qid = synthetic_ranking(n_queries=25)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, X[:N_ROWS])
        for name, params in COLD.items():
            path = Path(folder) / name
            getattr(rankwise, name)(**params).fit(X, y, qid=qid).save(path)
            module = name.removesuffix("Ranker").lower()
            library = f"import {module}" if name in ADAPTERS else ""
            code = FIRST_SCORE.format(rows=str(rows), model=str(path), library=library)
            seconds = [float(printed(code)) for _ in range(STARTS)]
            line(f"{name}: load and first score", seconds, 0.5)


def main() -> None:
    """Print the lines."""
    requests()
    first_scores()


if __name__ == "__main__":
    main()
