"""Powers, random products and all products of features."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from rankwise.features import PolynomialTerms


@pytest.fixture
def X(rng):
    return rng.normal(size=(700, 5)) * (rng.random((700, 5)) < 0.5)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_powers(X, degree):
    terms = PolynomialTerms(degree).fit(X)
    expected = np.hstack([X**p for p in range(1, degree + 1)])
    np.testing.assert_allclose(terms.transform(X), expected, rtol=1e-14)
    assert terms.get_feature_names_out()[-1] == ("x4" if degree == 1 else f"x4^{degree}")


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_all_products_are_those_of_scikit_learn(X, degree):
    terms = PolynomialTerms(degree, terms="cross").fit(X)
    peer = PolynomialFeatures(degree, include_bias=False).fit(X)
    assert list(terms.get_feature_names_out()) == list(peer.get_feature_names_out())
    np.testing.assert_allclose(terms.transform(X), np.asarray(peer.transform(X)), rtol=1e-13)


@pytest.mark.parametrize("terms", ["powers", "random", "cross"])
def test_sparse_rows_stay_sparse(X, terms):
    transformer = PolynomialTerms(3, terms=terms, random_state=0).fit(X)
    of_sparse = transformer.transform(sparse.csr_array(X))
    assert of_sparse.format == "csr"
    assert of_sparse.nnz < 0.5 * of_sparse.shape[0] * of_sparse.shape[1]
    np.testing.assert_allclose(of_sparse.toarray(), transformer.transform(X), rtol=1e-13)
    assert transformer.transform(X.astype(np.float32)).dtype == np.float32


def test_random_products_are_as_many_as_powers_and_none_of_them():
    drawn = PolynomialTerms(4, terms="random", random_state=0).fit(np.zeros((1, 30)))
    assert len(drawn.factors_) == 4 * 30
    for size in (2, 3, 4):
        block = drawn.factors_[30 * (size - 1) : 30 * size]
        assert (block[:, size:] == -1).all()
        block = block[:, :size]
        assert (np.diff(block, axis=1) >= 0).all()
        assert (block[:, 0] != block[:, -1]).all()
        assert len(np.unique(block, axis=0)) == 30
    names = drawn.get_feature_names_out([f"f{j}" for j in range(30)])
    assert len(set(names)) == 120
    again = PolynomialTerms(4, terms="random", random_state=0).fit(np.ones((3, 30)))
    np.testing.assert_array_equal(again.factors_, drawn.factors_)


@pytest.mark.parametrize("n_features", [6, 40])  # from a list, and number by number
def test_random_products_are_alike_likely(n_features):
    n_draws, wanted = 600, 12
    total = comb(n_features + 1, 2) - n_features
    counts = np.zeros((n_features, n_features))
    for seed in range(n_draws):
        drawn = PolynomialTerms(2, terms="random", n_terms=wanted, random_state=seed)
        i, j = drawn.fit(np.zeros((1, n_features))).factors_[n_features:].T
        counts[i, j] += 1
    counts = counts[np.triu_indices(n_features, 1)]
    share = wanted / total
    z = (counts - n_draws * share) / np.sqrt(n_draws * share * (1 - share))
    assert np.abs(z).max() < 5
    assert z.std() == pytest.approx(1.0, abs=0.35)


def test_few_features_have_few_products():
    assert PolynomialTerms(3, terms="random").fit(np.zeros((1, 1))).factors_.tolist() == [
        [0, -1, -1]
    ]
    drawn = PolynomialTerms(2, terms="random", n_terms=5).fit(np.zeros((1, 2)))
    assert drawn.get_feature_names_out().tolist() == ["x0", "x1", "x0 x1"]
    none = PolynomialTerms(3, terms="random", n_terms=0).fit(np.zeros((1, 2)))
    assert none.get_feature_names_out().tolist() == ["x0", "x1"]


def test_terms_beyond_memory_are_named_before_they_are_listed():
    X = np.zeros((10, 120))
    with pytest.raises(ValueError, match=r"the \d+ bytes of 1429702652399 terms") as raised:
        PolynomialTerms(8, terms="cross").fit(X)
    assert "degree=8 and terms='cross' with 120 features. Lower degree" in str(raised.value)
    with pytest.raises(ValueError, match="bytes of 234530794 terms"):
        PolynomialTerms(5, terms="random", n_terms=20_000_000_000).fit(sparse.csr_array(X))
    few = {"terms": "random", "n_terms": 50, "random_state": 0}
    needed = (120 + 2 * 50) * (8 * 3 + 10 * 8)
    assert len(PolynomialTerms(3, **few, max_bytes=needed).fit(X).factors_) == 220
    with pytest.raises(ValueError, match=f"less than the {needed} bytes of 220 terms"):
        PolynomialTerms(3, **few, max_bytes=needed - 1).fit(X)
    PolynomialTerms(3, **few, max_bytes=needed - 1).fit(X.astype(np.float32))
    PolynomialTerms(3, **few, max_bytes=needed - 1).fit(sparse.csr_array(X))
