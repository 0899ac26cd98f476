"""Classification sets, their splits, and the costs of each split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sklearn.datasets

from rankwise.datasets import OrdinalData, load_ordinal
from rankwise.labels import ClassCosts, ordinal_costs, random_costs
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.ordinal_benchmark.sets import draw_split, encode

TRAIN_SHARE = 0.75
MAX_TRAIN, MAX_TEST = 300, 500
BUNDLED = {
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
    "digits": sklearn.datasets.load_digits,
}
RANDOM = ("iris", "wine", "digits", "balance-scale", "new-thyroid", "tae", "eucalyptus", "car")
ORDINAL = ("tae", "swd", "lev", "eucalyptus", "wine-quality-red")
# Which costs are taken on which sets.
TASKS = {"random": RANDOM, "absolute": ORDINAL, "squared": ("swd", "lev", "eucalyptus")}


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of one split.

    Attributes
    ----------
    Z, Z_test : ndarrays of shape (n_train, n_columns) and (n_test, n_columns), float64
        Standardised by the training rows.
    y, y_test : ndarrays of int64
        Class numbers.
    costs : ClassCosts
        Of all classes, scaled so that a wrong class costs a training row 1 on average.
    scale : float
        What that divided the costs by.
    """

    Z: Float64Array
    y: Int64Array
    Z_test: Float64Array
    y_test: Int64Array
    costs: ClassCosts
    scale: float


def source_of(name: str) -> str:
    """The data that a set needs, "" for those that scikit-learn brings along."""
    return "" if name in BUNDLED else f"ordinal-{name}"


def make_split(name: str, kind: Any, seed: int) -> Split:
    """A stratified split of a set with its costs; the seed draws both.

    Parameters
    ----------
    name : str
    kind : {"random", "absolute", "squared"}
    seed : int
    """
    y = _labels(name)
    train, test = draw_split(y, min(int(TRAIN_SHARE * len(y)), MAX_TRAIN), seed)
    test = test[:MAX_TEST]
    Z = _columns(name, train)
    n_classes = int(y.max()) + 1
    if kind == "random":
        costs = random_costs(y[train], random_state=seed)
    else:
        costs = ordinal_costs(kind, np.arange(n_classes))
    scale = float(costs.costs[y[train]].sum() / (len(train) * (n_classes - 1)))
    scaled = ClassCosts(costs.costs / scale, np.arange(n_classes))
    return Split(Z[train], y[train], Z[test], y[test], scaled, scale)


def _labels(name: str) -> Int64Array:
    return _bundled(name)[1].astype(np.int64) if name in BUNDLED else _ordinal(name).y


def _columns(name: str, train: Int64Array) -> Float64Array:
    if name not in BUNDLED:
        return encode(_ordinal(name), train)
    X = _bundled(name)[0]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    kept = deviation > 0
    return (X[:, kept] - mean[kept]) / deviation[kept]


@cache
def _bundled(name: str) -> tuple[Float64Array, Int64Array]:
    return BUNDLED[name](return_X_y=True)


@cache
def _ordinal(name: str) -> OrdinalData:
    return load_ordinal(name)
