"""Serving: scoring a hundred documents beside the bare booster, and the first scores of a process.

    python -m benchmarks.bench_serving

A request is 100 documents of 136 features. "bare" is the predict of the library's own model on one
thread, which the adapter uses for so few rows; frames are compared with the same arrays. Models of
100 trees, trained on 3,000 rows. A first score is what ``load`` and the first ``predict`` take in a
fresh interpreter that has imported scikit-learn and the library of the
booster: wall-clock seconds, median of five. "From process start" counts from the launch of the
interpreter, imports and all, to the first 100 scores: with an empty cache of kernels, which is what
every process takes where none can be written, and with a warm one. Latencies are of 1,000 requests,
each with other documents: median and 99th percentile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
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


STARTED = {
    "RidgeRanker": {},
    "RankSVM": {},
    "PairwiseELM": {},
    "LambdaMART": {"n_estimators": 100},
    "RankBoost": {"n_estimators": 100},
    "RankingForest": TREES,
}
PROCESS = """
import sys
import numpy as np
import rankwise
model = rankwise.load(sys.argv[1])
getattr(model, "rank_score", model.predict)(np.load(sys.argv[2]))
"""
LATENCIES = 1000


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


def from_process_start() -> None:
    """Seconds from the launch of an interpreter to its first scores."""
    X, y, qid = synthetic_ranking(n_queries=25)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, X[:N_ROWS])
        for name, params in STARTED.items():
            path = Path(folder) / name
            getattr(rankwise, name)(**params).fit(X, y, qid=qid).save(path)
            told = []
            for what in ("cold", "warm"):
                cache = f"{folder}/kernels-{name}"
                seconds = [
                    _launch(path, rows, cache) for _ in range(1 if what == "cold" else STARTS)
                ]
                told.append(f"{what} {float(np.median(seconds)):.2f} s")
            print(f"      {name}: from process start to 100 scores: {', '.join(told)}")


def _launch(model: Path, rows: Path, cache: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROCESS, str(model), str(rows)],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        check=True,
    )
    return time.perf_counter() - start


def latencies() -> None:
    """Median and 99th percentile of requests, beside LightGBM on one thread."""
    X, y, qid = synthetic_ranking(n_queries=25)
    rng = np.random.default_rng(0)
    asked = [X[rng.integers(len(X), size=N_ROWS)] for _ in range(LATENCIES)]
    booster = rankwise.LightGBMRanker(**TREES).fit(X, y, qid=qid).booster_
    scorers = {
        "LambdaMART": rankwise.LambdaMART(100).fit(X, y, qid=qid).predict,
        "RankBoost": rankwise.RankBoost(n_estimators=100).fit(X, y, qid=qid).predict,
        "RidgeRanker": rankwise.RidgeRanker().fit(X, y, qid=qid).predict,
        "bare LightGBM": partial(booster.predict, raw_score=True, num_threads=1),
    }
    for name, score in scorers.items():
        for rows in asked[:20]:
            score(rows)
        seconds = []
        for rows in asked:
            start = time.perf_counter()
            score(rows)
            seconds.append(time.perf_counter() - start)
        middle, last = (1e3 * float(q) for q in np.quantile(seconds, (0.5, 0.99)))
        print(f"      {name}: {LATENCIES} requests, median {middle:.2f} ms, 99 % {last:.2f} ms")


def main() -> None:
    """Print the lines."""
    requests()
    latencies()
    first_scores()
    from_process_start()


if __name__ == "__main__":
    main()
