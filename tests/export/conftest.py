"""Fitted estimators of the registry, each once, and how near scores are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from tests.common.estimators import row_scores, small

N_FEATURES = 5


def rows(seed, n=60, missing=False):
    """Rows of float32 numbers, some of them missing where asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def judged(missing=False):
    """Training rows in queries of ten."""
    X = rows(0, 80, missing)
    noise = np.random.default_rng(1).normal(0, 0.5, 80)
    signal = np.nan_to_num(X[:, 0]) + noise
    return X.astype(np.float64), np.clip(np.rint(signal), -1, 2) + 1, np.arange(80) // 10


@cache
def _fitted(key, missing, params):
    X, y, qid = judged(missing)
    estimator = small(key, **dict(params))
    return estimator.fit(X, y, qid=qid)


@pytest.fixture
def fitted():
    """Fits an estimator of the registry, or takes the one fitted before."""

    def fit(key, missing=False, **params):
        return _fitted(key, missing, tuple(sorted(params.items())))

    return fit


def neural(key):
    """A neural ranker with weights of ours: predicting needs no torch."""
    rng = np.random.default_rng(0)
    estimator = REGISTRY[key].load()((4, 3), activation="tanh")
    estimator.n_features_in_ = 5
    estimator.shift_, estimator.scale_ = rng.normal(size=5), rng.uniform(1, 2, size=5)
    sizes = [(5, 4), (4, 3), (3, 1)]
    parts = [[rng.normal(size=size), rng.normal(size=size[1])] for size in sizes]
    estimator.weights_ = [array for part in parts for array in part]
    return estimator


def expected(estimator, X):
    """What the estimator ranks float32 rows by, computed in float64."""
    return row_scores(estimator, X.astype(np.float64))


def assert_near(found, wanted, tolerance=1e-5):
    """Scores agree relative to the largest."""
    assert np.abs(np.asarray(found, dtype=float) - wanted).max() <= tolerance * np.abs(wanted).max()


@pytest.fixture
def boosted_at_middles():
    """ORBoost on few values of two columns, and rows in the middle of two of them and beside it."""
    values = np.array([-1.0, 1.0, 3.0, 6.0, 6.5])
    X = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    y = np.searchsorted([1.0, 5.0, 9.0], X @ [1.0, 0.5])
    middles = np.array([0.0, 2.0, 4.5, 6.25], dtype=np.float32)
    near = [np.nextafter(middles, np.float32(way)) for way in (-np.inf, np.inf)]
    # Solr adds 1e-6 to a threshold in float32: near 0 it cannot tell neighbours apart.
    near[0][0] = -1e-6
    rows = np.stack(np.meshgrid(np.concatenate([middles, *near]), values), axis=-1).reshape(-1, 2)
    return REGISTRY["orboost"].load()(n_estimators=60).fit(X, y), rows.astype(np.float32)
