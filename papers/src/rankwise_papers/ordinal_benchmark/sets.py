"""The sets of the benchmark, their splits, and the rows as the methods take them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets import OrdinalData, load_ordinal
from rankwise.datasets.catalog.ordinal import ORDINAL_SETS
from rankwise.typing import Float64Array, Int64Array

CHU = ("pyrimidines", "machinecpu", "bostonhousing", "diabetes", "triazines")


@dataclass(frozen=True)
class BenchmarkSet:
    """One set.

    Attributes
    ----------
    key : str
        Name in the tables.
    name : str
        Argument of :func:`rankwise.datasets.load_ordinal`.
    n_splits : int
    bins : int or None
    n_train : int
        Training rows of a drawn split; 0: the published splits.
    twin : bool
        Whether the same rows with more classes are another set, which counts in their place where
        every data set must count once.
    """

    key: str
    name: str
    n_splits: int
    bins: int | None = None
    n_train: int = 0
    twin: bool = False

    @property
    def source(self) -> str:
        """Name in ``sources.toml``."""
        return ORDINAL_SETS[self.name].files


def _chu(name: str, bins: int, n_splits: int, twin: bool = False) -> BenchmarkSet:
    return BenchmarkSet(f"{name} {bins}", f"chu-{name}", n_splits, bins, twin=twin)


SETS: tuple[BenchmarkSet, ...] = (
    *(_chu(name, 5, 20, twin=True) for name in CHU),
    _chu("wisconsin", 5, 10),
    *(_chu(name, 10, 10) for name in CHU),
    BenchmarkSet("toy", "orca-toy", 5),
    BenchmarkSet("pasture", "orca-pasture", 5),
    BenchmarkSet("era", "era", 5, n_train=750),
    BenchmarkSet("esl", "esl", 5, n_train=366),
    BenchmarkSet("lev", "lev", 5, n_train=750),
    BenchmarkSet("swd", "swd", 5, n_train=750),
    BenchmarkSet("tae", "tae", 5, n_train=113),
    BenchmarkSet("thyroid", "new-thyroid", 5, n_train=161),
    BenchmarkSet("balance", "balance-scale", 5, n_train=468),
    BenchmarkSet("eucalyptus", "eucalyptus", 5, n_train=552),
    BenchmarkSet("wine", "wine-quality-red", 3, n_train=1000),
    BenchmarkSet("car", "car", 3, n_train=1000),
    BenchmarkSet("nursery", "nursery", 3, n_train=1000),
    BenchmarkSet("stock", "stock", 3, 10, n_train=600),
    BenchmarkSet("abalone", "abalone", 3, 10, n_train=1000),
    BenchmarkSet("bank", "bank8fm", 3, 10, n_train=1000),
    BenchmarkSet("computer", "computer-cpu-act", 3, 10, n_train=1000),
    BenchmarkSet("california", "california", 3, 10, n_train=1000),
    BenchmarkSet("census", "census-house8l", 3, 10, n_train=1000),
)
NOMINAL = ("tae", "eucalyptus", "car", "nursery", "abalone")  # with nominal columns
MAX_TEST = 5000  # rows of a drawn split that are tested on


@dataclass(frozen=True, eq=False)
class Task:
    """One split of one set.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        As published: nominal columns hold codes, NaN is missing.
    categorical : ndarray of shape (n_features,), bool
    Z : ndarray of shape (n_samples, n_columns)
        For methods that take numbers only: nominal columns one-hot, missing cells the column's
        mean with a column more that says so, all to mean 0 and variance 1 over the training rows;
        columns constant there are left out.
    y : ndarray of shape (n_samples,), int64
    n_classes : int
    train, test : ndarray of int64
    """

    X: Float64Array
    categorical: NDArray[np.bool_]
    Z: Float64Array
    y: Int64Array
    n_classes: int
    train: Int64Array
    test: Int64Array


def make_task(known: BenchmarkSet, split: int) -> Task:
    """A split of a set, published or drawn with the split's number as seed."""
    data = _load(known.name, split if not known.n_train else None, known.bins)
    train, test = data.train, data.test
    if known.n_train:
        train, test = draw_split(data.y, known.n_train, split)
    return Task(
        X=data.X,
        categorical=data.categorical_features,
        Z=encode(data, train),
        y=data.y,
        n_classes=len(data.classes),
        train=train,
        test=test[:MAX_TEST],
    )


@cache
def _load(name: str, split: int | None, bins: int | None) -> OrdinalData:
    return load_ordinal(name, split, bins)


def draw_split(y: Int64Array, n_train: int, seed: int) -> tuple[Int64Array, Int64Array]:
    """Rows of train and test, every class cut in the same proportion up to rounding, shuffled."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    # Every class lies in one stretch; the places of the training rows are spread evenly over it.
    is_train = np.zeros(len(y), dtype=bool)
    is_train[(np.arange(n_train) * len(y) + rng.integers(len(y))) // n_train % len(y)] = True
    return rng.permutation(order[is_train]), rng.permutation(order[~is_train])


def encode(data: OrdinalData, train: Int64Array) -> Float64Array:
    """Columns of numbers without missing cells, standardised by the training rows."""
    columns: list[Float64Array] = []
    for column, categories in zip(data.X.T, data.categories, strict=True):
        if categories:
            columns += [(column == code).astype(np.float64) for code in range(len(categories))]
            continue
        missing = np.isnan(column)
        mean = np.nanmean(column[train]) if not missing[train].all() else 0.0
        columns.append(np.where(missing, mean, column))
        columns.append(missing.astype(np.float64))
    Z = np.column_stack(columns)
    mean, deviation = Z[train].mean(axis=0), Z[train].std(axis=0)
    kept = deviation > 1e-12 * np.maximum(np.abs(mean), 1.0)
    return (Z[:, kept] - mean[kept]) / deviation[kept]
