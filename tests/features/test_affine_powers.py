"""Explicit features against the kernels they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.features.polynomial_terms import AffinePowers
from tests.ordinal.oracles_online import products


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("degree", "constant"), [(1, False), (1, True), (2, False)])
def test_products_of_rows_are_the_kernel(d, degree, constant, rng):
    X = np.where(rng.random((7, d)) < 0.4, 0.0, rng.normal(size=(7, d)))
    phi = AffinePowers(d, degree, constant)
    rows = phi(X)
    assert rows.shape == (7, phi.n_features_out)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows @ rows.T, phi.kernel(X, X), atol=1e-12)
    inner = X @ X.T
    expected = (inner + 1) ** 2 if degree == 2 else inner + constant
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-12)
    for given in (
        sparse.csr_array(X),
        sparse.csr_matrix(X),
        sparse.csr_array(X.astype(np.float32)),
    ):
        features = phi(given)
        assert features.has_sorted_indices
        np.testing.assert_allclose(
            features.toarray(), rows, rtol=1e-6 if given.dtype != float else 0
        )


def test_columns_are_in_the_order_stated(rng):
    X = rng.normal(size=(3, 4))
    np.testing.assert_allclose(AffinePowers(4, 2)(X), [products(x) for x in X], rtol=1e-12)


def test_input_is_left_as_it_is(rng):
    X = sparse.csr_matrix(rng.normal(size=(3, 4)))
    X.indices[:4], X.data[:4] = X.indices[:4][::-1].copy(), X.data[:4][::-1].copy()
    X.has_sorted_indices = False
    before = X.indices.copy()
    AffinePowers(4, 2)(X)
    np.testing.assert_array_equal(X.indices, before)


def test_products_beyond_float64_are_named():
    with pytest.raises(ValueError, match=r"finite with degree=2, got an entry of 1e\+200"):
        AffinePowers(1, 2)(np.array([[1e200]]))
