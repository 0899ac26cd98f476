"""Do exported files rank as their models? Random models, every format, a million rows each.

    python -m benchmarks.parity [models] [rows per model]

Models of eleven kinds are fitted on random columns: normal, rounded, sparse, beside each other in
float32, of any size, and with a tenth of the values missing. For formats without missing values,
the same models are fitted on rows whose missing values are 0. Each file is verified by
:func:`rankwise.export.verify`.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import rankwise as rw
from rankwise import export

N_TRAIN, PER_QUERY = 600, 20
FORMATS: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {
    "lightgbm": (export.to_lightgbm, "m.txt", {}),
    "python": (export.to_python, "m.py", {}),
    "vespa": (export.to_vespa, "m.json", {}),
    "elasticsearch native": (export.to_elasticsearch, "m.json", {"native": True}),
    "xgboost": (export.to_xgboost, "m.json", {}),
    "opensearch": (export.to_opensearch, "m.json", {}),
    "onnx": (export.to_onnx, "m.onnx", {}),
    "solr, nulls": (export.to_solr, "m.json", {"nulls": True}),
    "solr": (export.to_solr, "m.json", {}),
    "elasticsearch": (export.to_elasticsearch, "m.json", {}),
    "ranklib": (export.to_ranklib, "m.txt", {}),
}
WITHOUT_MISSING = ("solr", "elasticsearch", "ranklib")
_FEW: dict[str, Any] = {"min_samples_leaf": 5}
MODELS: list[Callable[[int], Any]] = [
    lambda seed: rw.LambdaMART(30, random_state=seed, **_FEW),
    lambda seed: rw.LambdaMART(30, growth="depth", max_depth=5, **_FEW),
    lambda seed: rw.LambdaMART(30, growth="symmetric", max_depth=4, **_FEW),
    lambda seed: rw.LambdaMART(30, drop_rate=0.3, random_state=seed, **_FEW),
    lambda seed: rw.RankingTree(min_samples_leaf=3),
    lambda seed: rw.RankingForest(10, random_state=seed, n_jobs=1, min_samples_leaf=3),
    lambda seed: rw.RankBoost(40),
    lambda seed: rw.ORBoost(n_estimators=30),
    lambda seed: rw.LightGBMRanker(20, n_jobs=1, min_child_samples=5),
    lambda seed: rw.XGBoostRanker(20, n_jobs=1),
    lambda seed: rw.CatBoostRanker(20, n_jobs=1),
]


def column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Values on which rounding to float32 or a strict comparison could fail."""
    values = rng.normal(size=n)
    match rng.integers(8):
        case 0:
            return np.round(values)
        case 1:
            return np.abs(values) * 1e3
        case 2:
            return np.where(values > 0.5, values, 0.0)
        case 3:  # neighbours in float32
            return 1.0 + rng.integers(0, 40, n) * 2.0**-23
        case 4:
            return values * 10.0 ** rng.integers(2, 20)
        case 5:
            return rng.integers(0, 9, n).astype(float)
        case 6:
            return values * 1e-4
        case _:
            return values


def measure(n_models: int, n_rows: int) -> dict[str, Counter[str]]:
    """Counts of each format over random models."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(n_models):
        rng = np.random.default_rng(seed)
        size = N_TRAIN + n_rows
        X = np.stack([column(rng, size) for _ in range(int(rng.integers(2, 8)))], axis=1)
        X = X.astype(np.float32).astype(np.float64)
        grades = np.digitize(X[:N_TRAIN, 0], np.quantile(X[:N_TRAIN, 0], [0.5, 0.75, 0.9]))
        y = np.clip(grades + rng.integers(0, 2, N_TRAIN), 0, 3)
        make = MODELS[seed % len(MODELS)]
        if make(seed).__sklearn_tags__().input_tags.allow_nan:
            X[rng.random(X.shape) < 0.1] = np.nan
        _verify_all(seed, make, X, y, counts)
    return counts


def _verify_all(
    seed: int, make: Callable[[int], Any], X: np.ndarray, y: np.ndarray,
    counts: dict[str, Counter[str]],
) -> None:  # fmt: skip
    @cache
    def fitted(is_filled: bool) -> Any:
        rows = np.nan_to_num(X[:N_TRAIN]) if is_filled else X[:N_TRAIN]
        return make(seed).fit(rows, y, qid=np.arange(N_TRAIN) // 10)

    rows = X[N_TRAIN:]
    qid = np.arange(len(rows)) // PER_QUERY
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, file, options) in FORMATS.items():
            is_filled = name in WITHOUT_MISSING
            model = fitted(is_filled)
            write(model, Path(folder) / file, **options)
            given = np.nan_to_num(rows) if is_filled else rows
            found = export.verify(model, Path(folder) / file, given, qid=qid)
            counts[name].update(
                models=1, rows=found.n_rows, probes=found.n_probes, queries=found.n_queries,
                changed=found.n_changed, rounded=found.n_rounded, different=found.n_different,
            )  # fmt: skip
            counts[name][found.reader] = 1
            if not found.holds:
                print(f"{name}, {type(model).__name__}, seed {seed}\n{found}", flush=True)


def main(n_models: int = 200, n_rows: int = 5000) -> None:
    """Print a line for each format."""
    warnings.simplefilter("ignore")
    print("format                models       rows  at thresholds  differ  reordered  near ties")
    for name, count in measure(n_models, n_rows).items():
        print(
            f"{name:20s}  {count['models']:6d}  {count['rows']:9,}  {count['probes']:13,}  "
            f"{count['different']:6d}  {count['changed']:9d}  {count['rounded']:9d}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
