"""LambdaMART beside LightGBM, XGBoost and CatBoost: time, memory, and nDCG with equal parameters.

    RANKWISE_DATA=... python -m benchmarks.bench_lambdamart [part ...] [--trees N]
        [--repeats N] [--threads N ...] [--others NAME ...]
        [--kinds NAME ...]

Parts: continuous, mslr, million, narrow, sparse, sparse-wide, small-queries (whole fits from
float32 rows), categories (the same with LightGBM only, LambdaMART also by subsets), binning,
memory, scoring, shapley, quality; all without a name. All grow 31 leaves (CatBoost, and LambdaMART
beside it once more, symmetric trees of depth 5) from 255 bins at a rate of 0.1. LightGBM counts in
its fastest mode: by column or by row, with quantised gradients or without. Sides take turns; ratios
are of medians, first of wall time, then of CPU time, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._boosters import (
    EQUAL,
    LIGHTGBM_MODES,
    SUBSETS,
    SYMMETRIC,
    binner,
    peak_memory,
    rows_of,
    trainer,
)
from benchmarks._timing import interleave, report
from rankwise import LambdaMART, LightGBMRanker, evaluate
from rankwise.datasets import load_dataset
from rankwise.explain import explain_scores

# Name: kind and number of rows, and at most what share of LightGBM's time.
TRAINING = {
    "continuous": ("continuous", 240_000, 0.45),
    "mslr": ("mslr", 240_000, 0.55),
    "million": ("continuous", 1_000_000, 0.45),
    "narrow": ("narrow", 5_000_000, 0.45),
    "sparse": ("sparse", 100_000, 1.0),
    "sparse-wide": ("sparse", 15_000, 0.5),  # many columns for its rows
    "small-queries": ("small", 200_000, 0.45),
    "categories": ("categories", 240_000, 0.5),
}
OTHERS = {"XGBoost": 0.4, "CatBoost": 0.4}
SYMMETRIC_SHARE = 0.35  # of CatBoost's time
MEMORY = (
    ("continuous", 240_000),
    ("mslr", 240_000),
    ("continuous", 1_000_000),
    ("narrow", 5_000_000),
    ("sparse", 100_000),
)


def both_times(sides: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Median wall and CPU seconds of each side; the sides take turns."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            side()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: [statistics.median(clock) for clock in zip(*clocks, strict=True)]
        for name, clocks in seconds.items()
    }


def compare(
    what: str, times: dict[str, list[float]], targets: dict[str, float], side: str = "LambdaMART"
) -> None:
    """Print a line for each peer."""
    ours = times[side]
    for name, target in targets.items():
        wall, cpu = (mine / theirs for mine, theirs in zip(ours, times[name], strict=True))
        print(
            f"{'met ' if wall <= target else 'MISS'}  {what}: {wall:.2f} x {name} (CPU {cpu:.2f}), "
            f"target <= {target:g}; {ours[0]:.2f} s, {name} {times[name][0]:.2f} s, load "
            f"{os.getloadavg()[0]:.1f}",
            flush=True,
        )


def with_fastest_mode(times: dict[str, list[float]]) -> dict[str, list[float]]:
    """LightGBM's fastest mode under its name, with and without quantised gradients."""
    exact = [name for name in LIGHTGBM_MODES if "quantised" not in name]
    fastest = {"LightGBM": exact, "LightGBM, quantised too": list(LIGHTGBM_MODES)}
    return times | {
        name: min((times[mode] for mode in modes), key=lambda clocks: clocks[0])
        for name, modes in fastest.items()
    }


def training(name: str, given: argparse.Namespace) -> None:
    """Whole fits."""
    n_trees, repeats = given.trees, given.repeats
    kind, n_rows, target = TRAINING[name]
    rows = rows_of(kind, n_rows)
    others = {side: OTHERS[side] for side in given.others if not rows.nominal}
    symmetric = (SYMMETRIC,) if "CatBoost" in others else ()
    subsets = (SUBSETS,) if rows.nominal else ()
    for side in ("LambdaMART", *subsets, *symmetric):
        trainer(side, rows_of(kind, 12_000), 2, 2)()  # compile
    for threads in given.threads:
        sides = ("LambdaMART", *subsets, *symmetric, *LIGHTGBM_MODES, *others)
        timed = both_times({side: trainer(side, rows, n_trees, threads) for side in sides}, repeats)
        timed = with_fastest_mode(timed)
        what = f"{n_trees} trees, {n_rows:,} x {rows.X.shape[1]} {kind}, {threads} threads"
        compare(what, timed, {"LightGBM": target, "LightGBM, quantised too": target, **others})
        for side in subsets:
            compare(f"subsets, {what}", timed, {"LightGBM": target}, side)
        for side in symmetric:
            compare(f"symmetric, {what}", timed, {"CatBoost": SYMMETRIC_SHARE}, side)


def binning(repeats: int) -> None:
    """Bins of continuous and of MSLR-like features."""
    for kind in ("continuous", "mslr"):
        rows = rows_of(kind, 240_000)
        for threads in (1, 2):
            sides = {side: binner(side, rows, threads) for side in ("LambdaMART", "LightGBM")}
            both_times(sides, 1)
            what = f"binning, 240,000 x 136 {kind}, {threads} threads"
            compare(what, both_times(sides, repeats), {"LightGBM": 0.3})


def memory(others: list[str], kinds: list[str]) -> None:
    """What fits hold at most beside their rows, and with them; LightGBM in its leanest mode."""
    for kind, n_rows in (part for part in MEMORY if part[0] in kinds):
        sides = ("LambdaMART", *LIGHTGBM_MODES, *others)
        peaks = {side: peak_memory(side, kind, n_rows, 5) for side in sides}
        least = min(peaks[side] for side in LIGHTGBM_MODES)
        ratio = peaks["LambdaMART"] / least
        named = ", ".join(f"{side} {peak:.0f} MiB" for side, peak in peaks.items())
        met = "met " if ratio <= 0.8 else "MISS"
        X = rows_of(kind, 12_000).X
        rows = (X.data.nbytes + X.indices.nbytes if kind == "sparse" else X.nbytes) / 2**20
        rows *= n_rows / 12_000
        whole = (rows + peaks["LambdaMART"]) / (rows + least)
        print(f"{met}  memory, {n_rows:,} {kind}: {ratio:.2f} x LightGBM, target <= 0.8 "
              f"({whole:.2f} with the {rows:.0f} MiB of the rows); {named}",
              flush=True)  # fmt: skip


def scoring(repeats: int) -> None:
    """A thousand trees."""
    rows = rows_of("continuous", 24_000)
    ours = LambdaMART(1000, n_jobs=1, **EQUAL).fit(rows.X, rows.y, qid=rows.qid)
    theirs = LightGBMRanker(1000, n_jobs=1).fit(rows.X, rows.y, qid=rows.qid)
    for X in (rows_of("continuous", 1_000_000).X, rows.X[:100]):
        for threads in (1, 2):
            ours.n_jobs = threads
            booster = theirs.booster_
            sides = {
                "LambdaMART": partial(ours.predict, X),
                "LightGBM": partial(booster.predict, X, num_threads=threads),
            }
            both_times(sides, 1)
            what = f"scoring, 1,000 trees, {len(X):,} rows, {threads} threads"
            timed = both_times(sides, repeats if len(X) > 100 else 30 * repeats)
            compare(what, timed, {"LightGBM": 0.5})


def shapley(repeats: int) -> None:
    """Exact values of 1,000 rows under 100 trees."""
    rows = rows_of("continuous", 24_000)
    X = rows.X[:1000]
    ours = LambdaMART(**EQUAL).fit(rows.X, rows.y, qid=rows.qid)
    theirs = LightGBMRanker().fit(rows.X, rows.y, qid=rows.qid)
    sides = {
        "ours": partial(explain_scores, ours, X),
        "LightGBM": partial(theirs.booster_.predict, X, pred_contrib=True),
    }
    timed = interleave(sides, repeats)
    report("Shapley values, 1,000 rows x 100 trees", timed["ours"], timed["LightGBM"], within=1)


def quality() -> None:
    """Fold means; equal parameters, but for what each optimises."""
    for name in ("mq2008", "ohsumed"):
        rankers = {"LambdaMART": LambdaMART(**EQUAL), "LightGBM": LightGBMRanker(random_state=0)}
        values: dict[str, list[float]] = {key: [] for key in rankers}
        for fold in range(1, 6):
            data = load_dataset(name, fold=fold)
            train, test = data.train, data.test
            for key, ranker in rankers.items():
                scores = ranker.fit(train.X, train.y, qid=train.qid).predict(test.X)
                values[key].append(evaluate(test.y, scores, test.qid, ["nDCG@10"])["nDCG@10"])
        print(name, *(f"{key} {np.mean(folds):.4f}" for key, folds in values.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--kinds", nargs="*", default=[kind for kind, _ in MEMORY])
    parser.add_argument("--others", nargs="*", choices=list(OTHERS), default=list(OTHERS))
    given = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        **{name: partial(training, name, given) for name in TRAINING},
        "binning": partial(binning, given.repeats),
        "memory": partial(memory, given.others, given.kinds),
        "scoring": partial(scoring, given.repeats),
        "shapley": partial(shapley, given.repeats),
        "quality": quality,
    }
    for name in given.parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
