"""Cystic fibrosis and MovieLens: what is drawn, what perceptrons get, tests of shared rows."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankingTree
from rankwise.datasets import load_cystic_fibrosis, load_movielens
from rankwise_papers.liu2007_ratings import draws, methods
from rankwise_papers.liu2007_ratings.draws import Draw
from rankwise_papers.liu2007_ratings.experiment import CysticFibrosis, MovieLens


@pytest.fixture
def draw(rng):
    X = rng.integers(1, 6, (60, 4)).astype(float)
    y = np.clip(np.round(X[:, :2].mean(axis=1)), 1, 5).astype(int) - 1
    X[rng.random(X.shape) < 0.3] = np.nan
    return Draw(X[:30], y[:30], X[30:], y[30:], middle=3.0, reach=2.0)


def test_the_target_is_no_column(data_root):
    grades = load_cystic_fibrosis().grades
    targets = set()
    for number in range(12):
        draw, target = draws.cystic_fibrosis(number)
        targets.add(target)
        assert (draw.X_train.shape, draw.X_test.shape) == ((2409, 3), (2410, 3))
        rows = np.vstack([np.c_[draw.X_train, draw.y_train], np.c_[draw.X_test, draw.y_test]])
        others = np.c_[np.delete(grades, target, axis=1), grades[:, target]]
        assert np.array_equal(sorted(rows.tolist()), sorted(others.tolist()))
    assert targets == {0, 1, 2, 3}


def test_the_panel_is_never_drawn(data_root):
    ratings = load_movielens()
    panel = set(np.argsort(-ratings.counts, kind="stable")[: draws.N_PANEL].tolist())
    drawn = []
    for number in range(30):
        draw, user = draws.movielens(number)
        n = len(draw.y_train) + len(draw.y_test)
        assert user not in panel
        assert n == ratings.counts[user] >= draws.MIN_FILMS
        values = np.sort(np.r_[draw.y_train, draw.y_test])
        assert np.array_equal(values, np.sort(ratings.of_user(user)[1]) - 1)
        drawn.append(np.isnan(draw.X_train).mean())
    assert 0.3 < np.mean(drawn) < 0.5
    draw, user = draws.movielens(0, curve=True)
    assert ratings.counts[user] >= draws.MIN_FILMS_CURVE
    # Columns are the panel's ratings of the same films.
    one = draws.movielens(3)[0]
    seen = one.X_train[~np.isnan(one.X_train)]
    assert set(seen.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_a_draw_is_its_number(data_root):
    one, other, third = (draws.cystic_fibrosis(number)[0] for number in (4, 4, 5))
    assert np.array_equal(one.X_train, other.X_train)
    assert not np.array_equal(one.y_train, third.y_train)


def test_least_loss_is_that_of_a_full_grown_tree(data_root):
    grades = load_cystic_fibrosis().grades
    for target in range(4):
        X, y = np.delete(grades, target, axis=1), grades[:, target]
        tree = RankingTree().fit(X, y)
        assert -tree.score(X, y) == pytest.approx(draws.least_loss(target), abs=1e-12)


def test_missing_ratings_add_nothing(draw):
    train, test = draw.numbers()
    assert np.array_equal(np.isnan(draw.X_train), (train == 0) & (draw.X_train != 3.0))
    assert np.linalg.norm(np.vstack([train, test]), axis=1).max() <= 1 + 1e-12
    assert train.max() == pytest.approx(0.5)  # an end of the scale, of four columns
    assert draw.first(7).numbers()[0].shape == (7, 4)
    assert np.array_equal(draw.first(7).X_test, draw.X_test, equal_nan=True)


def test_every_method_has_a_loss(draw):
    found = methods.losses(draw, 0)
    assert list(found) == list(methods.METHODS)
    assert all(0 <= loss <= 4 for loss in found.values())
    assert found["ranking tree"] < found["median grade"]
    median = np.sort(draw.y_train)[14]
    assert found["median grade"] == np.abs(draw.y_test - median).mean()


def test_a_grade_that_training_lacks_keeps_its_distance(draw):
    assert methods.rank_loss(np.zeros(30, int), draw) == draw.y_test.mean()


@pytest.mark.parametrize("kind", [CysticFibrosis, MovieLens])
def test_tables_of_some_cells_and_of_none(data_root, kind, monkeypatch):
    monkeypatch.setattr(kind, "sizes", (10, 20))
    experiment = kind()
    cells = [experiment._cell("draws", 0, 2), experiment._cell("curve", 0, 2)]
    results = {cell.name: experiment.run(cell) for cell in cells}
    losses, curves = experiment.tables(results, quick=True)
    of = {(value.row, value.column): value.ours for value in losses.values}
    column = results["draws 0-1"]["losses"]
    assert of["ranking tree", "loss"] == pytest.approx(np.mean(column["ranking tree"]))
    assert of["PRank", "minus the ranking tree's"] == pytest.approx(
        np.mean(column["PRank"]) - np.mean(column["ranking tree"])
    )
    assert [value.ours is not None for value in curves.values] == [True] * 8
    (figure,) = experiment.figures(results, quick=True)
    assert list(figure.series[0].x) == [10, 20]
    for table in experiment.tables({}, quick=False):
        assert all(value.ours is None for value in table.values)
    assert experiment.figures({}, quick=False) == []


@pytest.mark.parametrize("kind", [CysticFibrosis, MovieLens])
def test_cells_cover_the_draws_once(kind):
    experiment = kind()
    starts = [cell.params for cell in experiment.cells(quick=False)]
    for what, n in (("draws", 500), ("curve", 100)):
        covered = [
            number
            for params in starts
            if params["kind"] == what
            for number in range(params["start"], params["start"] + params["n"])
        ]
        assert covered == list(range(n))
    assert "Monte-Carlo" in experiment.protocol()
