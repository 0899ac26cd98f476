"""RankELM on OHSUMED beside the paper: mean AP over the five folds, nDCG@1..10.

    python -m benchmarks.bench_ohsumed [--seeds 10]

Protocol: LETOR 3.0 folds, query-level normalised features, 1,000 nodes, weights U[-1, 1], biases
U[0, 1], C from 2^-30, 2^-28, ..., 2^20 by AP on the validation part, LETOR 3.0's measures. Random
nodes are drawn with seeds 0 to 9; the mean over draws and the standard deviation are printed.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import LinearRegressionRanker, PairwiseELM, PointwiseELM, RidgeRanker
from rankwise.datasets import load_ohsumed
from rankwise.metrics import evaluate

PUBLISHED = Path(__file__).parent / "published"
MEASURES = ["AP", *(f"nDCG@{k}" for k in range(1, 11))]

# name: (estimator for a seed, whether it draws nodes, column of the paper, least mean AP asked for)
METHODS: dict[str, tuple[Callable[[int], Any], bool, str, float | None]] = {
    "regression": (lambda _: LinearRegressionRanker(), False, "Regression", None),
    "regularised regression": (
        lambda _: RidgeRanker(alpha="val", measure="AP"),
        False,
        "RegularizedRegression",
        None,
    ),
    "pointwise, linear nodes": (
        lambda seed: PointwiseELM(1000, "linear", C="val", measure="AP", random_state=seed),
        True,
        "PointwiseELM_linear_nodes",
        None,
    ),
    "pointwise, linear kernel": (
        lambda _: PointwiseELM(kernel="linear", C="val", measure="AP"),
        False,
        "PointwiseELM_linear_kernel",
        None,
    ),
    "pairwise, linear nodes": (
        lambda seed: PairwiseELM(1000, "linear", C="val", measure="AP", random_state=seed),
        True,
        "PairwiseELM_linear_nodes",
        0.447,
    ),
    "pairwise, linear kernel": (
        lambda _: PairwiseELM(kernel="linear", C="val", measure="AP"),
        False,
        "PairwiseELM_linear_kernel",
        0.447,
    ),
    "pointwise, sigmoid nodes": (
        lambda seed: PointwiseELM(1000, "sigmoid", C="val", measure="AP", random_state=seed),
        True,
        "",
        None,
    ),
    "pairwise, sigmoid nodes": (
        lambda seed: PairwiseELM(1000, "sigmoid", C="val", measure="AP", random_state=seed),
        True,
        "",
        0.449,
    ),
}


def run_folds(make: Callable[[int], Any], seed: int) -> np.ndarray:
    """Measures on the test part of each fold, shape (5, n_measures)."""
    values = []
    for fold in load_ohsumed():
        ranker = make(seed)
        train, vali, test = fold.train, fold.vali, fold.test
        validation = {}
        if not isinstance(ranker, LinearRegressionRanker):
            validation = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
        ranker.fit(train.X, train.y, qid=train.qid, **validation)
        result = evaluate(test.y, ranker.predict(test.X), test.qid, MEASURES, preset="letor3")
        values.append([result[name] for name in MEASURES])
    return np.array(values)


def published() -> dict[str, np.ndarray]:
    """For each column of the paper's tables, mean AP and nDCG@1..10."""
    with (PUBLISHED / "rankelm_map.csv").open() as file:
        maps = next(row for row in csv.DictReader(file) if row["fold"] == "mean")
    with (PUBLISHED / "rankelm_ndcg_ohsumed.csv").open() as file:
        ndcg = list(csv.DictReader(file))
    columns = [name for name in ndcg[0] if name != "k"]
    return {
        name: np.array([float(maps[name]), *(float(row[name]) for row in ndcg)]) for name in columns
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="draws of the random nodes")
    args = parser.parse_args()
    paper = published()
    print(f"{'OHSUMED, 5 folds':26s} {'AP':>6s}  " + " ".join(f"n@{k:<4d}" for k in range(1, 11)))
    for name, (make, draws, column, least) in METHODS.items():
        start = time.perf_counter()
        seeds = range(args.seeds if draws else 1)
        runs = np.array([run_folds(make, seed) for seed in seeds])  # (draws, folds, measures)
        mean = runs.mean(axis=(0, 1))
        line = f"{name:26s} {mean[0]:.4f}  " + " ".join(f"{value:.4f}" for value in mean[1:])
        print(f"{line}   {time.perf_counter() - start:.1f} s")
        if draws:
            sd = runs.mean(axis=1).std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(len(mean))
            print(f"{'  sd over draws':26s} {sd[0]:.4f}  " + " ".join(f"{v:.4f}" for v in sd[1:]))
        if column:
            values = paper[column]
            print(f"{'  paper':26s} {values[0]:.4f}  " + " ".join(f"{v:.4f}" for v in values[1:]))
        print("  folds AP " + " ".join(f"{value:.4f}" for value in runs.mean(axis=0)[:, 0]))
        if least is not None:
            print(f"{'met ' if mean[0] >= least else 'MISS'}  {name}: AP >= {least}", flush=True)


if __name__ == "__main__":
    main()
