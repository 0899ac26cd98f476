"""Random perceptrons and stumps: unbiased, error as 1 / sqrt(n), sparse rows, edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from rankwise.features import RandomPerceptrons
from rankwise.features.random_features import mean_projection

METRICS: dict[str, Any] = {"perceptron": "euclidean", "stump": "cityblock"}


def errors(kernel, X, n_nodes, seed):
    """Estimated less exact distance of every pair."""
    nodes = RandomPerceptrons(kernel, n_nodes, random_state=seed)
    F = nodes.fit_transform(X)
    np.testing.assert_allclose((F**2).sum(axis=1), nodes.delta_)
    return nodes.delta_ - F @ F.T - cdist(X, X, METRICS[kernel])


@pytest.mark.parametrize("d", [1, 2, 3, 10, 500])
def test_mean_projection_on_the_sphere(d, rng):
    directions = rng.normal(size=(20_000, d))
    drawn = np.abs(directions[:, 0]) / np.linalg.norm(directions, axis=1)
    assert mean_projection(d) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 140 + 1e-12)
    exact = {1: 1.0, 2: 2 / np.pi, 3: 0.5}
    assert mean_projection(d) == pytest.approx(exact.get(d, mean_projection(d)))


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
@pytest.mark.parametrize("d", [1, 6])
def test_products_are_unbiased(kernel, d, rng):
    X = rng.normal(size=(15, d)) * rng.uniform(0.1, 10.0, d)
    off = np.triu_indices(15, 1)
    drawn = np.stack([errors(kernel, X, 50, seed)[off] for seed in range(400)])
    far = cdist(X, X, METRICS[kernel])[off]
    # Pairs apart often enough for a normal mean; the ends of one feature are so in every draw.
    judged = (far > 0.05 * far.max()) & (drawn.std(axis=0) > 1e-9)
    assert judged.sum() > 60
    z = (drawn.mean(axis=0) / (drawn.std(axis=0) / 20 + 1e-300))[judged]
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_error_falls_with_the_root_of_the_nodes(kernel, rng):
    X = rng.normal(size=(40, 8))
    off = np.triu_indices(40, 1)
    sizes = np.array([64, 256, 1024, 4096])
    mean_squares = [
        np.mean([(errors(kernel, X, n, seed)[off] ** 2).mean() for seed in range(12)])
        for n in sizes.tolist()
    ]
    slope = np.polyfit(np.log(sizes), 0.5 * np.log(mean_squares), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


def test_thresholds_among_the_rows_leave_less_error(rng):
    """Uniform ones have the variance ``distance (range - distance) / n`` on one feature."""
    X = np.exp(1.5 * rng.normal(size=(60, 1)))
    off = np.triu_indices(60, 1)
    found = np.mean([errors("stump", X, 100, seed)[off] ** 2 for seed in range(200)], axis=0)
    distances = cdist(X, X)[off]
    uniform = distances * (np.ptp(X) - distances) / 100
    near = distances < np.median(distances)
    assert found[near].mean() < 0.5 * uniform[near].mean()
    assert (found / distances**2).mean() < 0.5 * (uniform / distances**2).mean()


def test_two_values_have_all_thresholds_between_them():
    X = np.stack([np.arange(200) >= 77, np.linspace(0, 1, 200)], axis=1)
    nodes = RandomPerceptrons("stump", 200, random_state=0).fit(X)
    of_two = nodes.biases_[nodes.weights_ == 0]
    assert len(of_two) > 50 and of_two.min() > 0 and of_two.max() < 1


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_sparse_rows_and_row_order(kernel, rng):
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.4)
    nodes = RandomPerceptrons(kernel, 200, random_state=3).fit(X)
    F = nodes.transform(X)
    assert set(np.unique(np.sign(F))) == {-1.0, 1.0}
    for given in (X[::-1], sparse.csr_array(X[::-1]), X[::-1].astype(np.float32)):
        other = RandomPerceptrons(kernel, 200, random_state=3).fit(given)
        np.testing.assert_allclose(other.biases_, nodes.biases_, rtol=1e-6, atol=1e-7)
        assert (np.sign(other.transform(given)) == np.sign(F[::-1])).mean() > 0.999
        assert other.transform(given).dtype == given.dtype


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_rows_without_distances(kernel):
    F = RandomPerceptrons(kernel, 10, random_state=0).fit_transform(np.ones((3, 2)))
    np.testing.assert_array_equal(F, np.zeros((3, 10)))
