"""Random nodes: each activation by its formula, the laws of the draws, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.features import RandomNodes
from rankwise.features.random_features import ACTIVATIONS

FORMULAS = {
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "linear": lambda z: z,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
    "sine": np.sin,
    "hardlimit": lambda z: (z >= 0).astype(float),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_output_is_the_formula(rng, activation):
    X = rng.standard_normal((1100, 5))  # more rows than one slice
    nodes = RandomNodes(7, activation, random_state=3).fit(X)
    a, b = nodes.weights_, nodes.biases_
    if activation == "gaussian":
        expected = np.exp(-b * ((X[:, :, None] - a) ** 2).sum(axis=1))
    else:
        expected = FORMULAS[activation](X @ a + b)
    np.testing.assert_allclose(nodes.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(nodes.transform(sparse.csr_array(X)), expected, atol=1e-12)
    single = nodes.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-4)


@pytest.mark.parametrize("weight_law", ["uniform", "normal"])
def test_weights_follow_their_law(weight_law):
    nodes = RandomNodes(5000, weight_law=weight_law, random_state=0).fit(np.zeros((1, 20)))
    a, b = nodes.weights_, nodes.biases_
    assert a.std() == pytest.approx(1 / np.sqrt(3) if weight_law == "uniform" else 1.0, rel=0.02)
    assert abs(a.mean()) < 0.01
    assert b.min() >= 0 and b.max() <= 1 and b.std() == pytest.approx(1 / np.sqrt(12), rel=0.03)
    if weight_law == "uniform":
        assert -1 <= a.min() < -0.99 and 0.99 < a.max() <= 1


def test_gaussian_widths_are_positive():
    assert (RandomNodes(10_000, "gaussian", random_state=0).fit(np.zeros((1, 1))).biases_ > 0).all()


def test_extreme_inputs_reach_the_limits():
    X = np.array([[-1e30], [0.0], [1e30]])
    with pytest.warns(UserWarning, match="random nodes saturate"):
        out = RandomNodes(50, random_state=1).fit_transform(X)
    assert set(np.unique(out[[0, 2]])) <= {0.0, 1.0}
    with pytest.warns(UserWarning, match="random nodes saturate"):
        single = RandomNodes(50, random_state=1).fit_transform(X.astype(np.float32))
    assert np.isfinite(single).all()


def test_names_and_reproducibility(rng):
    X = rng.random((4, 3))
    nodes = RandomNodes(2, random_state=5)
    np.testing.assert_array_equal(nodes.fit_transform(X), nodes.fit_transform(X))
    assert list(nodes.get_feature_names_out()) == ["randomnodes0", "randomnodes1"]
