"""Random Fourier features against the kernels they approximate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import rankwise
from rankwise.features import RandomFourier
from rankwise.features.kernels import median_gamma, resolve_kernel
from rankwise.features.random_features import SLICE_ROWS


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_inner_products_approach_the_kernel(name, rng):
    X = rng.normal(size=(60, 3))
    K = resolve_kernel(name, X)(X, X)

    def error(n_frequencies):
        """Root mean square over pairs and draws."""
        errors = []
        for seed in range(5):
            F = RandomFourier(name, n_frequencies=n_frequencies, random_state=seed).fit_transform(X)
            errors.append(F @ F.T - K)
        return float(np.sqrt(np.mean(np.square(errors))))

    few, many = error(100), error(10_000)
    assert many < 0.01
    assert few / many == pytest.approx(10, rel=0.35)  # 1 / sqrt(n_frequencies)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_columns_are_cosines_and_sines(name, rng, tmp_path):
    X = rng.normal(size=(SLICE_ROWS + 20, 4))
    fourier = RandomFourier(name, n_frequencies=30, random_state=1).fit(X)
    assert fourier.gamma_ == median_gamma(X, name)
    phase = X @ fourier.frequencies_
    expected = np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt(30)
    features = fourier.transform(X)
    np.testing.assert_allclose(features, expected, atol=1e-12)
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0)
    np.testing.assert_allclose(fourier.transform(sparse.csr_array(X)), expected, atol=1e-12)
    single = fourier.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-3)
    path = rankwise.save(fourier, tmp_path / "fourier")
    np.testing.assert_array_equal(rankwise.load(path).transform(X), features)
    assert RandomFourier(name, gamma=0.7).fit(X).gamma_ == 0.7
