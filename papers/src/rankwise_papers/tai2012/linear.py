"""Cells of ridge regression: full and partial BR, PLST, CPLST, compressed sensing, ideal codes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwise.datasets import MultiLabelData
from rankwise.experiments import Cell
from rankwise.labels import (
    CPLST,
    PLST,
    BinaryRelevance,
    CompressedSensing,
    PartialBinaryRelevance,
    fit_splits,
)
from rankwise.typing import Int64Array
from rankwise_papers.tai2012.parts import (
    dense_labels,
    hamming,
    partial_losses,
    prefix_losses,
    rows_of,
    split,
)
from rankwise_papers.tai2012.plan import ALPHA

N_TIMINGS = 3


def statistics(cell: Cell) -> dict[str, Any]:
    """Counts of a set; the hypercube sparsity is distinct label sets over 2^K, in log10."""
    data = rows_of(cell.data)
    Y = dense_labels(data.Y)
    distinct = len(np.unique(np.packbits(Y, axis=1), axis=0))
    return {
        "n": data.n_samples,
        "labels": data.n_labels,
        "cardinality": float(Y.sum() / len(Y)),
        "distinct": distinct,
        "nonzero": int(Y.sum(axis=1).max()),
        "log10_sparsity": float(np.log10(distinct) - data.n_labels * np.log10(2)),
    }


def ridge(cell: Cell) -> dict[str, Any]:
    """Losses of every split, and of every M of the grid."""
    data, params = rows_of(cell.data), cell.params
    n_axes, grid = params["n_axes"], params["grid"]
    splits = [split(data.n_samples, seed) for seed in range(params["n_splits"])]
    train = [rows for rows, _ in splits]
    models = {
        "BR": BinaryRelevance(ALPHA),
        "PLST": PLST(alpha=ALPHA),
        "CPLST": CPLST(n_axes, ALPHA),
    }
    fits = [fit_splits(model, data.X, data.Y, train) for model in models.values()]
    found: dict[str, list[Any]] = {}
    for seed, ((_, test), full, axes, aware) in enumerate(zip(splits, *fits, strict=True)):
        X, Y = data.X[test], data.Y[test]
        truth = dense_labels(Y)
        decisions = full.decision_function(X) > 0.5
        ideal = axes.encode_labels(Y)
        order = np.random.default_rng(seed).permutation(data.n_labels)
        wrong, absent = (decisions != truth).sum(axis=0), truth.sum(axis=0)
        predicted = X @ axes.coef_.T + axes.intercept_
        code = (axes.components_, axes.offset_, truth)
        values = {
            "BR": hamming(decisions, truth),
            "PLST": prefix_losses(predicted, *code, [n_axes])[0],
            "CPLST": hamming(aware.decision_function(X), truth),
            "PBR": partial_losses(wrong, absent, order, len(test), [n_axes])[0],
            "PLST curve": prefix_losses(predicted, *code, grid),
            "PBR curve": partial_losses(wrong, absent, order, len(test), grid),
            "ideal PLST": prefix_losses(ideal, *code, grid),
            "ideal PBR": partial_losses(0 * wrong, absent, order, len(test), grid),
        }
        share = PartialBinaryRelevance(n_axes, "mean", alpha=ALPHA, random_state=seed)
        for_mean = next(iter(fit_splits(share, data.X, data.Y, [train[seed]])))
        values["PBR mean"] = hamming(for_mean.decision_function(X), truth)
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {"grid": grid, **found}


def sense_labels(cell: Cell) -> list[float]:
    """Loss of every split for one draw of the rows."""
    data, params = rows_of(cell.data), cell.params
    model = CompressedSensing(
        params["n_axes"], params["sparsity"], random_state=params["draw"], alpha=ALPHA
    )
    splits = [split(data.n_samples, seed) for seed in range(params["n_splits"])]
    return _split_losses(model, data, splits)


def subset(cell: Cell) -> dict[str, Any]:
    """Losses of every split of random subsets; those of compressed sensing for every draw."""
    data, params = rows_of(cell.data), cell.params
    n_axes, seeds = params["n_axes"], range(params["n_splits"])
    splits = [split(data.n_samples, seed, params["n_rows"]) for seed in seeds]
    draws = [
        CompressedSensing(n_axes, params["sparsity"], random_state=draw, alpha=ALPHA)
        for draw in range(params["n_draws"])
    ]
    return {
        "sizes": [len(rows) for rows in splits[0]],
        "BR": _split_losses(BinaryRelevance(ALPHA), data, splits),
        "PLST": _split_losses(PLST(n_axes, alpha=ALPHA), data, splits),
        "CS": [_split_losses(model, data, splits) for model in draws],
    }


def _split_losses(
    model: Any, data: MultiLabelData, splits: Sequence[tuple[Int64Array, Int64Array]]
) -> list[float]:
    """Hamming loss of a model on the test rows of every split."""
    fits = fit_splits(model, data.X, data.Y, [train for train, _ in splits])
    return [
        hamming(fitted.decision_function(data.X[test]), dense_labels(data.Y[test]))
        for (_, test), fitted in zip(splits, fits, strict=True)
    ]


def times(cell: Cell) -> dict[str, float]:
    """Seconds of one split: training and codec of each method, medians of three."""
    data, params = rows_of(cell.data), cell.params
    train, test = split(data.n_samples, 0)
    X, Y, X_test = data.X[train], data.Y[train], data.X[test]
    found: dict[str, float] = {}
    found["full BR"] = _median(lambda: BinaryRelevance(ALPHA).fit(X, Y))
    methods = {
        "PLST": PLST(params["n_axes"], alpha=ALPHA),
        "CS": CompressedSensing(params["n_axes"], params["sparsity"], random_state=0, alpha=ALPHA),
    }
    for name, model in methods.items():
        fitted: Any = model.fit(X, Y)
        predicted = X_test @ fitted.coef_.T + fitted.intercept_
        whole = _median(lambda model=fitted: model.fit(X, Y))
        encoding = _median(lambda model=fitted: model.encode_labels(Y))
        decoding = _median(lambda model=fitted, r=predicted: model.decode_scores(r))
        code = _median(lambda model=fitted: _axes(model, X, Y)) if name == "PLST" else 0.0
        found[f"{name} regression"] = max(whole - encoding - code, 0.0)
        found[f"{name} codec"] = encoding + decoding + code
    return found


def _axes(model: Any, X: Any, Y: Any) -> Any:
    """The axes alone, without the regression."""
    from rankwise.checks.label_data import check_indicator
    from rankwise.solvers.many_labels import centre_products, leading_axes, products_of_labels

    ones = check_indicator(Y, Y.shape[0])
    means = np.asarray(ones.sum(axis=0)).ravel() / Y.shape[0]
    products = centre_products(products_of_labels(ones, None), means, float(Y.shape[0]), means)
    return leading_axes(products, len(model.components_))


def _median(work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(N_TIMINGS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))
