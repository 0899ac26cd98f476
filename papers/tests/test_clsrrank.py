"""The kernels have the properties claimed; the fast grid equals the estimator, fold by fold."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import CLSRRank
from rankwise_papers.clsrrank.coefficient_grid import fit_coefficient_grid
from rankwise_papers.clsrrank.experiment import Clsrrank
from rankwise_papers.clsrrank.kernels import (
    containment,
    gaussian,
    kernel_functions,
    median_distance,
    sigmoid,
)
from rankwise_papers.clsrrank.tables import METHODS


@pytest.fixture
def X(rng):
    return np.where(rng.random((30, 8)) < 0.4, rng.random((30, 8)), 0.5)


def test_sigmoid_is_indefinite_and_containment_not_symmetric(X):
    for slope in (1.0, 4.0, 16.0):
        K = sigmoid(slope)(X, X)
        np.testing.assert_allclose(K, K.T, atol=1e-15)
        values = np.linalg.eigvalsh(K)
        assert values[0] < -1e-3 * abs(values).max()
        assert values[-1] > 1e-3 * abs(values).max()
    K = containment(X, X)
    assert np.abs(K - K.T).max() > 0.01
    np.testing.assert_allclose(np.diag(K), 1.0)
    assert np.linalg.eigvalsh(gaussian(1.0)(X, X))[0] > -1e-12


def test_kernels_by_loops(X):
    Z = X[:4]
    assert containment(X, np.zeros((1, 8))).max() == 0.0
    functions = kernel_functions(X)
    pairs = [((a - b) ** 2).sum() for i, a in enumerate(X) for b in X[:i]]
    assert median_distance(X) == pytest.approx(np.median(pairs))
    K_gaussian = functions["Gaussian"]["0.25"](X, Z)
    K_sigmoid = functions["sigmoid"]["4"](X, Z)
    K_containment = functions["containment"][""](X, Z)
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            square = ((x - z) ** 2).sum()
            assert K_gaussian[i, j] == pytest.approx(np.exp(-0.25 * square / np.median(pairs)))
            assert K_sigmoid[i, j] == pytest.approx(np.tanh(4 * x @ z / 8 - 1))
            assert K_containment[i, j] == pytest.approx(np.minimum(x, z).sum() / z.sum())


def test_equal_rows_have_no_width():
    assert median_distance(np.ones((5, 2))) == 1.0


@pytest.mark.parametrize("name", ["gaussian", "sigmoid", "containment"])
def test_fast_grid_is_the_estimator_refitted_for_every_fold(X, rng, name):
    kernel = {"gaussian": gaussian(0.7), "sigmoid": sigmoid(4.0), "containment": containment}[name]
    Z, y = rng.random((6, 8)), rng.normal(size=30)
    fold = rng.permutation(np.arange(30) % 5)
    lam = np.array([1e-5, 1e-3, 0.1])
    grid = fit_coefficient_grid(kernel(X, X), kernel(Z, X), y, fold, lam)

    def predict(rows, X_new, value):
        ranker = CLSRRank(kernel, lam=value).fit(X[rows], y[rows], qid=0)
        residual = y[rows] - ranker.predict(X[rows])
        return ranker.predict(X_new) + residual.mean()

    everything = np.arange(30)
    for number, value in enumerate(lam):
        np.testing.assert_allclose(
            grid.scores[number], predict(everything, Z, value), rtol=1e-7, atol=1e-8
        )
        error = sum(
            ((y[fold == k] - predict(everything[fold != k], X[fold == k], value)) ** 2).sum()
            for k in range(5)
        )
        assert grid.errors[number] == pytest.approx(error / 30, rel=1e-7)


def test_cells_and_tables():
    experiment = Clsrrank()
    assert len(experiment.cells(quick=False)) == 10 * 2 * 3 + 2
    values = {
        method: {name: [1.0, 3.0 - (method == METHODS[1])] for name in ("MSD", "M1D", "Misranking")}
        for method in ("constant", *METHODS)
    }
    results = {f"jester/20-40/repetition{r}": {"values": values} for r in range(2)}
    tables = {table.name: table for table in experiment.tables(results, quick=False)}
    found = {(v.row, v.column): v for v in tables["minus-lsrrank"].values}
    assert found["MSD: CLSRRank Gaussian", "Jester 20-40"].ours == pytest.approx(-0.5)
    assert found["MSD: CLSRRank sigmoid", "Jester 20-40"].ours == 0.0
    assert found["MSD: CLSRRank sigmoid", "MovieLens 20-40"].ours is None


@pytest.mark.paper
def test_compounds(data_root):
    experiment = Clsrrank()
    cell = next(cell for cell in experiment.cells(quick=True) if cell.name == "qsar/cox2")
    values = experiment.run(cell)["values"]
    assert set(values) == set(METHODS)
    for method in METHODS:  # all far better than a random order (0.76 on COX2)
        assert values[method]["RankingError"] < 0.4
