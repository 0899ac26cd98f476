"""Many threads, and forked processes, score with one model as one thread does."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rankwise
from rankwise.prediction import scores_of

N_THREADS = 8
MODELS = {
    "RidgeRanker": {},
    "RankSVM": {},
    "PairwiseELM": {},
    "RankRLS": {"kernel": "rbf"},
    "LambdaMART": {"n_estimators": 20},
    "RankBoost": {"n_estimators": 20},
    "RankingForest": {"n_estimators": 10},
    "ORBoost": {"n_estimators": 20},
    "McRank": {"n_estimators": 10},
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=600) + 1), 0, 3)
    return X, y, np.arange(600) // 10


def fitted(name, rows):
    X, y, qid = rows
    model = getattr(rankwise, name)(**MODELS[name])
    return model.fit(X, y) if name in ("RankingForest", "ORBoost") else model.fit(X, y, qid=qid)


def requests(X):
    """Few rows, a hundred, and as many as several threads share."""
    rng = np.random.default_rng(1)
    sizes = [1, 7, 100, 100, 3000] * 8
    return [X[rng.integers(len(X), size=n)] for n in sizes]


@pytest.mark.parametrize("name", MODELS)
def test_eight_threads_score_as_one(name, rows):
    model = fitted(name, rows)
    asked = requests(rows[0])
    expected = [scores_of(model, X, np.zeros(len(X), int)) for X in asked]
    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(lambda X: scores_of(model, X, np.zeros(len(X), int)), asked))
    for ours, alone in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, alone)


def score_in_child(model, asked, queue):
    queue.put([scores_of(model, X, np.zeros(len(X), int)) for X in asked])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["RidgeRanker", "LambdaMART", "RankingForest"])
def test_a_forked_process_scores_as_its_parent(name, rows):
    model = fitted(name, rows)
    asked = requests(rows[0])[:5]
    # The parent's threads exist before the fork, and not after it.
    expected = [scores_of(model, X, np.zeros(len(X), int)) for X in asked]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=score_in_child, args=(model, asked, queue))
    child.start()
    try:
        found = queue.get(timeout=120)
    finally:
        child.join(10)
        child.kill()
    for ours, parents in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, parents)
