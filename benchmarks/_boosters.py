"""LambdaMART and the libraries on equal terms: rows, fits, binning, peak memory of a process."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from scipy import sparse

from benchmarks._timing import synthetic_ranking
from rankwise import LambdaMART
from rankwise.datasets import load_dataset
from rankwise.trees.boosted.coded_rows import bin_rows
from rankwise.trees.tree_ensemble import OrderedRows

DOCS, FEW_DOCS = 120, 5
LEAVES, BINS = 31, 255
EQUAL: dict[str, Any] = {"max_leaf_nodes": LEAVES, "reg_lambda": 0.0}  # as LightGBM
# Beside the name: parameters. Quantised gradients have few bits and are rounded at random.
LIGHTGBM_MODES: dict[str, dict[str, Any]] = {
    "LightGBM col-wise": {"force_col_wise": True},
    "LightGBM row-wise": {"force_row_wise": True},
    "LightGBM col-wise, quantised": {"force_col_wise": True, "use_quantized_grad": True},
    "LightGBM row-wise, quantised": {"force_row_wise": True, "use_quantized_grad": True},
}
SYMMETRIC = "LambdaMART symmetric"
SUBSETS = "LambdaMART subsets"  # splits by categories, with LightGBM's penalty of them


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of queries of ``DOCS`` rows each, or of ``FEW_DOCS``, float32."""

    X: Any
    y: np.ndarray
    qid: np.ndarray
    nominal: tuple[int, ...] = ()  # columns that hold codes of categories

    @property
    def sizes(self) -> np.ndarray:
        return np.unique(self.qid, return_counts=True)[1]


@cache
def rows_of(kind: str, n_rows: int) -> Rows:
    """Rows of a kind: "continuous" (136 features), "narrow" (40), "small" (20, in queries of few
    rows), "mslr": the slices, tiled, "sparse" (CSR, 1 % of 5,000 features) or "categories" (ten
    columns of 100 levels)."""
    if kind == "mslr":
        data = load_dataset("mslr-slices", fold=1)
        parts = (data.train, data.vali, data.test)
        X, y, given = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "qid")
        )
        order = np.argsort(given, kind="stable")
        X, y, qid = X[order], y[order], np.unique(given[order], return_inverse=True)[1]
        times = -(-n_rows // len(y))
        tiled = (np.arange(times)[:, None] * (qid.max() + 1) + qid).ravel()[:n_rows]
        return Rows(np.tile(X, (times, 1))[:n_rows], np.tile(y, times)[:n_rows], tiled)
    if kind == "sparse":
        rng = np.random.default_rng(0)
        X = sparse.random_array(
            (n_rows, 5000), density=0.01, rng=rng, format="csr", dtype=np.float32
        )
        utility = X @ rng.standard_normal(5000) + 0.3 * rng.standard_normal(n_rows)
        y = np.digitize(utility, np.quantile(utility, [0.5, 0.8, 0.92, 0.98])).astype(np.float64)
        return Rows(X, y, np.arange(n_rows) // DOCS)
    if kind == "categories":
        rng = np.random.default_rng(0)
        codes, effects = rng.integers(0, 100, (n_rows, 10)), rng.standard_normal((10, 100))
        utility = effects[np.arange(10), codes].sum(axis=1) + rng.standard_normal(n_rows)
        y = np.digitize(utility, np.quantile(utility, [0.5, 0.8, 0.92, 0.98])).astype(np.float64)
        return Rows(codes.astype(np.float32), y, np.arange(n_rows) // DOCS, tuple(range(10)))
    width = {"continuous": 136, "narrow": 40, "small": 20}[kind]
    docs = FEW_DOCS if kind == "small" else DOCS
    return Rows(*synthetic_ranking(n_queries=n_rows // docs, docs=docs, n_features=width))


def trainer(side: str, rows: Rows, n_trees: int, n_threads: int) -> Callable[[], Any]:
    """A whole fit from float32 rows: 31 leaves (32 symmetric ones), 255 bins, learning rate 0.1."""
    X, y, qid = rows.X, rows.y, rows.qid
    if side in ("LambdaMART", SUBSETS):
        equal: dict[str, Any] = EQUAL | {"categorical_features": rows.nominal or None}
        if side == SUBSETS:
            equal |= {"categorical_encoding": "subset", "cat_l2": 10.0}
        return lambda: LambdaMART(n_trees, n_jobs=n_threads, **equal).fit(X, y, qid=qid)
    if side == SYMMETRIC:
        symmetric = EQUAL | {"growth": "symmetric", "max_leaf_nodes": 32}
        return lambda: LambdaMART(n_trees, n_jobs=n_threads, **symmetric).fit(X, y, qid=qid)
    if side in LIGHTGBM_MODES:
        params = light_params(side, n_threads)
        return lambda: lightgbm.train(params, light_set(rows, params), n_trees)
    if side == "XGBoost":
        params = {
            "objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide",
            "max_leaves": LEAVES, "max_depth": 0, "max_bin": BINS, "eta": 0.1,
            "lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 30,
            "min_child_weight": 1e-3, "nthread": n_threads,
        }  # fmt: skip

        def extreme() -> Any:
            data = xgboost.QuantileDMatrix(X, y, qid=qid, max_bin=BINS, nthread=n_threads)
            return xgboost.train(params, data, n_trees)

        return extreme
    assert side == "CatBoost"
    params = {
        "loss_function": "YetiRank", "iterations": n_trees, "depth": 5, "border_count": BINS - 1,
        "learning_rate": 0.1, "thread_count": n_threads, "verbose": False,
        "allow_writing_files": False,
    }  # fmt: skip
    data = sparse.csr_matrix(X) if sparse.issparse(X) else X  # it takes no sparse arrays
    return lambda: catboost.train(catboost.Pool(data, y, group_id=qid), params)


def light_params(side: str, n_threads: int) -> dict[str, Any]:
    """LightGBM's parameters in one of its modes."""
    return {
        "objective": "lambdarank", "num_threads": n_threads, "verbosity": -1, "max_bin": BINS,
        "num_leaves": LEAVES,
    } | LIGHTGBM_MODES[side]  # fmt: skip


def light_set(rows: Rows, params: dict[str, Any]) -> lightgbm.Dataset:
    """LightGBM's bins."""
    nominal = list(rows.nominal)
    return lightgbm.Dataset(
        rows.X, rows.y, group=rows.sizes, params=params, categorical_feature=nominal
    ).construct()


def binner(side: str, rows: Rows, n_threads: int) -> Callable[[], Any]:
    """Bins of LambdaMART or of LightGBM."""
    if side == "LambdaMART":
        return lambda: bin_rows(OrderedRows(rows.X), BINS, n_threads)
    return lambda: light_set(rows, light_params("LightGBM row-wise", n_threads))


def peak_memory(side: str, kind: str, n_rows: int, n_trees: int) -> float:
    """MiB that a fit with two threads holds at most beside its rows, in a process of its own.

    Linux only. The peak of making the rows is forgotten before the fit: it would hide a part.
    """
    command = [sys.executable, "-m", "benchmarks._boosters", side, kind, str(n_rows), str(n_trees)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def reset_peak() -> float:
    """Set the peak of this process to its memory now, and return that in MiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return read_mebibytes("VmRSS")


def read_mebibytes(field: str) -> float:
    """A line of the process's status: VmRSS is its memory now, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def _main() -> None:
    side, kind, n_rows, n_trees = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    small = rows_of("sparse" if kind == "sparse" else "narrow", 12_000)
    trainer(side, small, 2, 2)()  # compiled code and pools of threads are there
    fit = trainer(side, rows_of(kind, n_rows), n_trees, 2)
    gc.collect()
    before = reset_peak()
    fit()
    print(json.dumps(read_mebibytes("VmHWM") - before))


if __name__ == "__main__":
    _main()
