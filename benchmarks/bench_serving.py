"""Serving: scoring a hundred documents beside the bare booster, and the first scores of a process.

    python -m benchmarks.bench_serving
    python -m benchmarks.bench_serving few > docs/speed_serving_few.txt

A request is 100 documents of 136 features. "bare" is the predict of the library's own model on one
thread, which the adapter uses for so few rows; frames are compared with the same arrays. Models of
100 trees, trained on 3,000 rows. A first score is what ``load`` and the first ``predict`` take in a
fresh interpreter that has imported scikit-learn and the library of the
booster: wall-clock seconds, median of five. "From process start" counts from the launch of the
interpreter, imports and all, to the first 100 scores: with an empty cache of kernels, which is what
every process takes where none can be written, and with a warm one. Latencies are of 1,000 requests,
each with other documents: median and 99th percentile.

"few" prints its lines alone: one row and ten by LambdaMART and by the fastest of four ways that
LightGBM's own ``Booster.predict`` has, in turn, each call with other rows. Times of a call are
medians over windows of twenty calls; the lower decile is what other programs disturb least.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import rankwise
from benchmarks._timing import interleave, report, synthetic_ranking
from benchmarks.bench_start import line, printed

N_ROWS = 100
REQUESTS = 300
STARTS = 5
TREES: dict[str, Any] = {"n_estimators": 100, "random_state": 0}
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
FEW, LEAVES = (1, 10), (7, 31)
WINDOWS, CALLS = 100, 20  # of few rows: windows, and calls in each


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


def few_rows() -> None:
    """One row and ten beside the fastest of LightGBM's ways, raw scores on one thread included."""
    import lightgbm as lgb

    single, quiet = {"num_threads": 1}, {"verbosity": -1}
    floats, y, qid = synthetic_ranking(n_queries=25)
    rng = np.random.default_rng(0)
    for leaves in LEAVES:
        ours = rankwise.LambdaMART(100, max_leaf_nodes=leaves).fit(floats, y, qid=qid)
        text = rankwise.LightGBMRanker(**TREES, num_leaves=leaves).fit(floats, y, qid=qid)
        text = text.booster_.model_to_string()
        booster = lgb.Booster(model_str=text, params=quiet)
        sides = {
            "LambdaMART": ours.predict,
            "predict": booster.predict,
            "num_threads=1": partial(booster.predict, **single),
            "raw_score, num_threads=1": partial(booster.predict, raw_score=True, **single),
            "a Booster of one thread": lgb.Booster(model_str=text, params=quiet | single).predict,
        }
        ours.predict(np.tile(floats, (4, 1)))  # scored before, as in a process that serves
        for dtype in (np.float64, np.float32):
            X = floats.astype(dtype)
            for n_rows in FEW:
                asked = [X[rng.integers(len(X), size=n_rows)] for _ in range(LATENCIES)]
                timed = interleave(
                    {name: call_in_turn(score, asked) for name, score in sides.items()},
                    repeats=WINDOWS,
                    warmup=10,
                )
                mine, *theirs = timed.values()
                what = f"rows: {n_rows:2}, leaves: {leaves:2}, {np.dtype(dtype).name}"
                print_few(what, mine.seconds, {side.name: side.seconds for side in theirs})


def call_in_turn(score: Any, asked: list[np.ndarray]) -> Any:
    """A function that scores the next requests of an endless round."""
    rows = cycle(asked)
    return lambda: [score(next(rows)) for _ in range(CALLS)]


def print_few(what: str, ours: list[float], theirs: dict[str, list[float]]) -> None:
    """Print a line of microseconds for each call."""
    texts, ratios = [], []
    for share in (0.5, 0.1):
        mine = float(np.quantile(ours, share))
        name = min(theirs, key=lambda way: float(np.quantile(theirs[way], share)))
        best = float(np.quantile(theirs[name], share))
        ratios.append(mine / best)
        micro = 1e6 / CALLS
        texts.append(f"{mine * micro:5.1f} and {best * micro:5.1f} ({name})")
    print(
        f"{'met ' if ratios[0] <= 1 else 'MISS'}  LambdaMART, {what}: {ratios[0]:.2f} x the time "
        f"(target <= 1 x), lower decile {ratios[1]:.2f} x   µs: {texts[0]}; {texts[1]}",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    """Print the lines."""
    few_rows()
    if arguments == ["few"]:
        return
    requests()
    latencies()
    first_scores()
    from_process_start()


if __name__ == "__main__":
    main(sys.argv[1:])
