"""Tree models and rows for tests of formats that keep missing values and categories."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import rankwise as rw

LARGEST = np.finfo(np.float32).max
COLOURS = np.array(["blue", "red", "green", "grey", "a b"])
# Scores that are sums of leaves in the order of the trees, and so bit-equal.
EXACT = {
    "leaf": lambda: rw.LambdaMART(12, min_samples_leaf=3, random_state=0),
    "depth": lambda: rw.LambdaMART(12, growth="depth", max_depth=4, min_samples_leaf=3),
    "symmetric": lambda: rw.LambdaMART(12, growth="symmetric", max_depth=3, min_samples_leaf=3),
    "nominal": lambda: rw.LambdaMART(
        12, categorical_features=[4], categorical_encoding="subset", min_samples_leaf=3
    ),
    "tree": lambda: rw.RankingTree(),
    "rank_boost": lambda: rw.RankBoost(20),
}
# Scores that are rounded elsewhere: shares of classes, float32 sums, a constant added last.
NEAR = {
    "forest": lambda: rw.RankingForest(4, random_state=0, n_jobs=1),
    "nominal forest": lambda: rw.RankingForest(
        4, random_state=0, categorical_features=[4], n_jobs=1
    ),
    "lightgbm": lambda: rw.LightGBMRanker(8, min_child_samples=3, n_jobs=1),
    "xgboost": lambda: rw.XGBoostRanker(8, n_jobs=1),
    "catboost": lambda: rw.CatBoostRanker(8, n_jobs=1),
    "nominal lightgbm": lambda: rw.LightGBMRanker(
        8, min_child_samples=3, categorical_features=[4], n_jobs=1
    ),
}


def rows(seed, n=300, missing=False):
    """Rows of float32 numbers: normal, rounded, and categories in the last column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = rng.integers(0, 40, n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(np.float64)


def labels(X):
    """Grades that depend on every kind of column."""
    known = np.nan_to_num(X)
    noise = np.random.default_rng(len(X)).normal(0, 0.3, len(X))
    return np.clip(np.rint(known[:, 0] + known[:, 3] + known[:, 4] % 3 + noise), 0, 4)


def frame(seed, n=300, missing=False):
    """Rows with a column of text and one of ordered categories."""
    X, rng = rows(seed, n, missing), np.random.default_rng(seed + 1)
    sizes = pd.Categorical.from_codes(rng.integers(0, 3, n), ["s", "m", "l"], ordered=True)
    columns = {f"c{column}": X[:, column] for column in range(4)}
    table = pd.DataFrame(columns | {"colour": rng.choice(COLOURS, n), "size": sizes})
    if missing:
        table.loc[rng.random(n) < 0.1, "colour"] = None
        table.loc[rng.random(n) < 0.1, "size"] = None
    table["colour"] = pd.Categorical(table["colour"], categories=COLOURS)
    return table


@cache
def fitted(name, missing=False):
    """A model of EXACT or NEAR."""
    X = rows(0, missing=missing)
    model = (EXACT | NEAR)[name]()
    return model.fit(X, labels(X), qid=np.arange(len(X)) // 10)


@cache
def fitted_on_frame(missing=False):
    """LambdaMART on a data frame with named categories."""
    X = frame(0, missing=missing)
    y = X["colour"].isin(["red", "grey"]) + (X["size"] == "l") + (X["c0"] > 0)
    return rw.LambdaMART(12, min_samples_leaf=3).fit(X, y, qid=np.arange(len(X)) // 10)


def probes(model, width, seed=0, n=400, categories=()):
    """Rows whose values are thresholds of the trees and their float32 neighbours."""
    from rankwise.export.parts import trees_of

    rng = np.random.default_rng(seed)
    trees = trees_of(model, "tests", encoded=True).trees
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    X = rng.normal(size=(n, width)).astype(np.float32)
    for column in range(width):
        if column in categories:
            X[:, column] = rng.choice([*range(45), 1000, np.nan], n)
            continue
        cuts = threshold[(feature == column) & (np.abs(threshold) < 1e38)].astype(np.float32)
        near = [np.nextafter(cuts, np.float32(way)) for way in (-np.inf, np.inf)]
        values = np.concatenate([cuts, *near, np.array([0, -0.0, LARGEST, -LARGEST], np.float32)])
        values = values[(values == 0) | (np.abs(values) > 1e-35)]  # LightGBM reads 0 below
        X[:, column] = rng.choice(values, n)
    return X.astype(np.float64)
