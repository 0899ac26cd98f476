"""Bins and leaves on a large set, and why LambdaMART and LightGBM differ on their training rows.

    RANKWISE_DATA=... python -m benchmarks.study_trees causes > docs/study_trees.txt
    RANKWISE_DATA=... python -m benchmarks.study_trees sizes > docs/study_trees_sizes.txt

``sizes``: 63 and 255 bins, 31 and 255 leaves, on all training rows of cf-letor and on synthetic
rows; 100 trees, no penalty, one thread; means over splits of the queries, 70 % of which train.
``causes``: nDCG@10 of the training rows after 60 trees. Every line changes one thing on both sides,
or gives the trees of one library the derivatives of the other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import lightgbm
import numpy as np

from benchmarks._boosters import EQUAL, Rows, rows_of
from rankwise import LambdaMART, evaluate
from rankwise.losses.gradient_loss import JudgedRows
from rankwise.losses.lambda_gradients import LambdaGradients
from rankwise.metrics import parse
from rankwise.text import load_cf_letor

N_TREES, N_SPLITS, TRAIN_SHARE = 100, 3, 0.7
N_ROWS_OF_SIZES = 120_000
N_TREES_OF_CAUSES, N_ROWS_OF_CAUSES = 60, 36_000
TRUNCATION = 30
LIGHT = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1, "force_row_wise": True}
MEASURES = ["nDCG@10", "AP"]


def sizes() -> None:
    """Print CPU seconds and measures by set, bins and leaves."""
    print("study_trees: bins and leaves, means over three splits")
    for name in ("cf-letor", "synthetic"):
        rows = _cf_letor() if name == "cf-letor" else rows_of("continuous", N_ROWS_OF_SIZES)
        shape = f"{len(rows.y):,} rows, {rows.X.shape[1]} columns, {len(rows.sizes)} queries"
        print(f"\n{name}, {shape}\n\n{'':34}{'CPU s':>8}{'nDCG@10':>10}{'AP':>8}")
        for n_leaves, n_bins in product((31, 255), (63, 255)):
            for side, fit in (("LambdaMART", _fit_ours), ("LightGBM", _fit_lightgbm)):
                cells = [_measure(fit, n_leaves, n_bins, *_split(rows, k)) for k in range(N_SPLITS)]
                seconds, ndcg, ap = np.mean(cells, axis=0)
                what = f"{n_leaves} leaves, {n_bins} bins, {side}"
                print(f"{what:34}{seconds:8.2f}{ndcg:10.4f}{ap:8.4f}", flush=True)


def _cf_letor() -> Rows:
    train = load_cf_letor(1).train
    order = np.argsort(train.groups.codes(), kind="stable")
    qid = train.groups.codes()[order]
    return Rows(train.X[order].astype(np.float32), train.y[order], qid)


def _split(rows: Rows, number: int) -> tuple[Rows, Rows]:
    queries = np.unique(rows.qid)
    drawn = np.random.default_rng(number).random(len(queries)).argsort()
    trains = np.isin(rows.qid, queries[drawn[: round(TRAIN_SHARE * len(queries))]])
    parts = (Rows(rows.X[side], rows.y[side], rows.qid[side]) for side in (trains, ~trains))
    train, test = parts
    return train, test


def _measure(fit: Callable[..., Any], n_leaves: int, n_bins: int, train: Rows, test: Rows) -> Any:
    start = time.process_time()
    predict = fit(train, n_leaves, n_bins)
    seconds = time.process_time() - start
    result = evaluate(test.y, predict(test.X), test.qid, MEASURES)
    return [seconds, *(result[measure] for measure in MEASURES)]


def _fit_ours(rows: Rows, n_leaves: int, n_bins: int) -> Any:
    ranker = LambdaMART(N_TREES, **EQUAL | {"max_leaf_nodes": n_leaves}, max_bins=n_bins, n_jobs=1)
    return ranker.fit(rows.X, rows.y, qid=rows.qid).predict


def _fit_lightgbm(rows: Rows, n_leaves: int, n_bins: int) -> Any:
    params = LIGHT | {"num_leaves": n_leaves, "max_bin": n_bins}
    data = lightgbm.Dataset(rows.X, rows.y, group=rows.sizes, params=params)
    return lightgbm.train(params, data, N_TREES).predict


# Causes -------------------------------------------------------------------------------------------


def causes() -> None:
    """Print nDCG@10 of the training rows, ours and LightGBM's, with one change after another."""
    print(f"study_trees: nDCG@10 of training rows after {N_TREES_OF_CAUSES} trees\n")
    for kind in ("continuous", "mslr"):
        rows = rows_of(kind, N_ROWS_OF_CAUSES)
        print(f"{kind} {'':40}{'ours':>8}{'LightGBM':>10}{'gap':>9}")
        for what, ours, theirs in _experiments(rows):
            print(f"  {what:48}{ours:8.4f}{theirs:10.4f}{theirs - ours:9.4f}", flush=True)


def _experiments(rows: Rows) -> Iterator[tuple[str, float, float]]:
    """What is changed, and the measure of both sides."""
    longest = int(rows.sizes.max())
    free = {"min_samples_leaf": 1, "min_hessian_leaf": 1e-6}
    light_free = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1e-6}
    whole = {"lambdarank_truncation_level": longest}
    exact = _quantised(rows)
    plain = {"normalize": False}
    yield "as they are", _ours(rows), _theirs(rows)
    yield "no cut-off: all pairs, all discounts", _ours(rows, measure="nDCG"), _theirs(rows, whole)
    yield "rows of 200 distinct values, a bin each", _ours(exact), _theirs(exact)
    yield (
        "leaves of one row, second derivatives of 1e-6",
        _ours(rows, **free),
        _theirs(rows, light_free),
    )
    yield (
        "no normalisation of derivatives",
        _ours(rows, **plain),
        _theirs(rows, {"lambdarank_norm": False}),
    )
    yield "both: derivatives of ours", _ours(rows), _theirs(rows, {"objective": our_derivatives})
    yield (
        "both: derivatives of LightGBM, no table of sigmoids",
        _ours(rows, objective=light_derivatives, reg_lambda=0.0),
        _theirs(rows, {"objective": light_derivatives}),
    )
    yield (
        "the same, rows of 200 distinct values",
        _ours(exact, objective=light_derivatives, reg_lambda=0.0),
        _theirs(exact, {"objective": light_derivatives}),
    )


def _quantised(rows: Rows) -> Rows:
    """Rows with at most 200 distinct values a column, so that bins lose nothing."""
    order = rows.X.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return Rows(np.float32(order * 200 // len(order)), rows.y, rows.qid)


def _ours(rows: Rows, **params: Any) -> float:
    ranker = LambdaMART(N_TREES_OF_CAUSES, n_jobs=1, **EQUAL | params)
    scores = ranker.fit(rows.X, rows.y, qid=rows.qid).predict(rows.X)
    return evaluate(rows.y, scores, rows.qid, ["nDCG@10"])["nDCG@10"]


def _theirs(rows: Rows, params: dict[str, Any] | None = None) -> float:
    params = LIGHT | {"num_leaves": EQUAL["max_leaf_nodes"]} | (params or {})
    function = params["objective"]
    if callable(function):

        def derivatives(scores: Any, data: Any) -> Any:
            return function(rows.y, scores, rows.sizes)

        params = params | {"objective": derivatives}
    data = lightgbm.Dataset(rows.X, rows.y, group=rows.sizes, params=params)
    scores = lightgbm.train(params, data, N_TREES_OF_CAUSES).predict(rows.X)
    return evaluate(rows.y, scores, rows.qid, ["nDCG@10"])["nDCG@10"]


def our_derivatives(labels: Any, scores: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives by LambdaMART's default objective."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    rows = JudgedRows(np.asarray(labels, dtype=np.float64), indptr, None)
    loss = LambdaGradients(rows, parse(f"nDCG@{TRUNCATION}"), True, 1)
    first, second = np.empty((2, len(labels)))
    loss.write(np.asarray(scores, dtype=np.float64), first, second)
    return first, second


def light_derivatives(labels: Any, scores: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives by LightGBM's lambdarank: pairs above rank 30, discounts of all ranks."""
    first, second = np.zeros((2, len(labels)))
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        rows = slice(end - length, end)
        first[rows], second[rows] = _query_derivatives(labels[rows], scores[rows])
    return first, second


def _query_derivatives(labels: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.zeros((2, len(labels)))
    discounts = 1 / np.log2(np.arange(len(labels)) + 2)
    gains = 2.0**labels - 1
    ideal = (np.sort(gains)[::-1] * discounts)[:TRUNCATION].sum()
    if ideal == 0:
        return first, second
    order = np.argsort(-scores, kind="stable")
    gains, scores = gains[order], scores[order]
    above, below = np.triu_indices(len(labels), 1)
    kept = (above < TRUNCATION) & (gains[above] != gains[below])
    above, below = above[kept], below[kept]
    sign = np.where(gains[above] > gains[below], 1.0, -1.0)
    ahead = sign * (scores[above] - scores[below])
    change = np.abs(gains[above] - gains[below]) * (discounts[above] - discounts[below]) / ideal
    if scores[0] != scores[-1]:
        change /= 0.01 + np.abs(ahead)
    wrong = 1 / (1 + np.exp(np.minimum(ahead, 700)))
    slopes, curves = change * wrong, change * wrong * (1 - wrong)
    total = 2 * slopes.sum()
    scale = np.log2(1 + total) / total if total > 0 else 1.0
    for place, way in ((above, -sign), (below, sign)):
        first += np.bincount(order[place], way * slopes * scale, len(labels))
        second += np.bincount(order[place], curves * scale, len(labels))
    return first, second


def main() -> None:
    """Print one part, or both."""
    parts = {"sizes": sizes, "causes": causes}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
