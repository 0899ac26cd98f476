"""A worker process computes what this one would: same numbers, functions, environment, folder."""

from __future__ import annotations

import os
import threading

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from rankwise.selection import compare
from tests.selection.helpers import Column, graded_data, one_fold


def test_the_numbers_are_the_same_in_both_kinds_of_process(rng):
    data = graded_data(rng, n_queries=40, docs=60, n_features=120)  # X is large enough for a file
    assert data.X.nbytes > 2 << 20
    rankers = {"ridge": Ridge(), "noisy": Column(0, noise=1.0), "elm": "pairwise_elm"}
    inside = compare(rankers, data, cv=3, isolate=False)
    outside = compare(rankers, data, cv=3)
    for one, other in zip(inside.cells, outside.cells, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert one.chosen == other.chosen


def test_locally_defined_rankers_and_functions_travel(rng):
    shift = 3.0

    class Local(BaseEstimator):
        def __init__(self, function=None):
            self.function = function

        def fit(self, X, y):
            return self

        def predict(self, X):
            return self.function(X[:, 0]) + shift

    board = compare({"local": Local(lambda x: 2 * x), "peer": Column(0)}, one_fold(rng))
    assert board.cell("local", "fold1").status == "done"
    np.testing.assert_allclose(
        board.cell("local", "fold1").scores, 2 * board.cell("peer", "fold1").scores + 3
    )


def test_what_does_not_pickle_fails_alone_and_runs_in_this_process(rng):
    held = Column(0)
    held.random_state = threading.Lock()  # a parameter that cannot be sent
    rankers = {"held": _Held(), "good": Column(0)}
    fold = one_fold(rng)
    board = compare(rankers, fold)
    assert "cannot be sent to a worker process" in board.cell("held", "fold1").message
    assert board.cell("good", "fold1").status == "done"
    assert compare(rankers, fold, isolate=False).cell("held", "fold1").status == "done"


class _Held(BaseEstimator):
    """Holds a lock, which does not pickle."""

    def __init__(self):
        self._lock = threading.Lock()

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_workers_see_the_environment_and_folder_of_the_call(rng, monkeypatch, tmp_path):
    monkeypatch.setenv("RANKWISE_TEST_COLUMN", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "factor").write_text("2")
    fold = one_fold(rng)
    first = compare({"r": _Surroundings()}, fold).cells[0]
    monkeypatch.delenv("RANKWISE_TEST_COLUMN")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    (tmp_path / "deeper" / "factor").write_text("5")
    second = compare({"r": _Surroundings()}, fold).cells[0]
    np.testing.assert_array_equal(first.scores, 2 * fold.test.X[:, 1])
    np.testing.assert_array_equal(second.scores, 5 * fold.test.X[:, 0])


class _Surroundings(BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        with open("factor") as file:
            return float(file.read()) * X[:, int(os.environ.get("RANKWISE_TEST_COLUMN", 0))]
