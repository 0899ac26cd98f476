"""Kernels: each by its formula, near and equal rows, defaults that depend on content alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.svm import SVC

from rankwise.features.kernels import (
    KERNELS,
    MEDIAN_ROWS,
    SLICE_ROWS,
    IgnoredParameterWarning,
    find_searched_gamma,
    gamma_candidates,
    gamma_grid,
    median_gamma,
    resolve_kernel,
)


def differences(X, Z):
    return X[:, None, :] - Z[None, :, :]


FORMULAS = {
    "linear": lambda k, X, Z: X @ Z.T,
    "polynomial": lambda k, X, Z: (k.gamma * X @ Z.T + k.coef0) ** k.degree,
    "rbf": lambda k, X, Z: np.exp(-k.gamma * (differences(X, Z) ** 2).sum(axis=2)),
    "laplacian": lambda k, X, Z: np.exp(-k.gamma * abs(differences(X, Z)).sum(axis=2)),
    "perceptron": lambda k, X, Z: k.delta - np.sqrt((differences(X, Z) ** 2).sum(axis=2)),
    "stump": lambda k, X, Z: k.delta - abs(differences(X, Z)).sum(axis=2),
    "sigmoid": lambda k, X, Z: np.tanh(k.gamma * X @ Z.T + k.coef0),
}
PARAMS = {"polynomial": {"degree": 2, "coef0": 0.5}, "sigmoid": {"coef0": -0.3}}
EVERY = pytest.mark.parametrize("name", FORMULAS)


@pytest.fixture
def blocks(rng):
    """Rows with zeros, and rows of another block, some of them equal; width no multiple of 4."""
    X = np.where(rng.random((SLICE_ROWS + 40, 7)) < 0.5, 0.0, rng.normal(size=(SLICE_ROWS + 40, 7)))
    return X, np.vstack([X[:20], rng.normal(size=(300, 7))])


def test_formulas_are_those_of_all_kernels():
    assert set(FORMULAS) | {"precomputed"} == set(KERNELS)


@EVERY
def test_values_are_the_formula(name, blocks):
    X, Z = blocks
    kernel = resolve_kernel(name, X, params=PARAMS.get(name))
    expected = FORMULAS[name](kernel, X, Z)
    for rows, others in (
        (X, Z),
        (sparse.csr_array(X), sparse.csr_matrix(Z)),
        (sparse.csr_matrix(X), Z),
        (X, sparse.csr_array(Z)),
    ):
        np.testing.assert_allclose(kernel(rows, others), expected, rtol=1e-12, atol=1e-12)
    single = kernel(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-5)
    assert kernel(X.astype(np.float32), Z).dtype == np.float64
    sparse_single = kernel(*(sparse.csr_array(rows.astype(np.float32)) for rows in blocks))
    assert sparse_single.dtype == np.float32
    np.testing.assert_allclose(sparse_single, expected, rtol=1e-4, atol=1e-5)


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_of_rows_with_themselves_are_symmetric(name, dtype, blocks):
    X = blocks[0].astype(dtype)
    kernel = resolve_kernel(name, X)
    for rows in (X, sparse.csr_array(X)):
        K = kernel(rows, rows)
        np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "perceptron", "stump"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_rows_have_no_distance_and_near_rows_keep_their_digits(name, form, rng):
    far = 1e3 + rng.normal(size=(30, 5))
    near = far + 1e-7 * rng.normal(size=far.shape)
    kernel = dataclasses.replace(resolve_kernel(name, far), delta=0.0)
    assert (np.diagonal(kernel(form(far), form(far))) == (1.0 if kernel.gamma else 0.0)).all()
    assert (np.diagonal(kernel(form(far), form(far.copy()))) == (1 if kernel.gamma else 0)).all()
    if not kernel.gamma:  # distances themselves: relative to their size of 1e-7
        got = np.diagonal(kernel(form(far), form(near)))
        order = 1 if name == "stump" else 2
        expected = -np.linalg.norm(far - near, order, axis=1)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "perceptron", "stump"])
def test_bits_depend_on_the_two_rows_alone(name, blocks):
    X, Z = blocks
    kernel = resolve_kernel(name, X)
    K = kernel(X, Z)
    rows, columns = np.arange(len(X))[::-7], np.arange(len(Z))[::-3]
    np.testing.assert_array_equal(kernel(X[rows], Z[columns]), K[np.ix_(rows, columns)])
    np.testing.assert_array_equal(kernel(Z, X), K.T)


def test_sparse_rows_may_be_unsorted_wide_and_repeated(rng):
    X = sparse.random_array((40, 90_000), density=1e-3, format="csr", rng=rng)
    split = X.copy()
    split.indices, split.data = split.indices.copy(), split.data.copy()
    for row in range(40):
        entries = slice(split.indptr[row], split.indptr[row + 1])
        split.indices[entries] = split.indices[entries][::-1]
        split.data[entries] = split.data[entries][::-1]
    split.has_canonical_format = split.has_sorted_indices = False
    before = split.indices.copy()
    for name in ("rbf", "laplacian"):
        kernel = resolve_kernel(name, X)
        np.testing.assert_allclose(kernel(split, X), kernel(X.toarray(), X.toarray()), rtol=1e-12)
    np.testing.assert_array_equal(split.indices, before)


# Callables and matrices of values -----------------------------------------------------------------


def test_callable_is_called_once_with_two_matrices(blocks):
    X, Z = blocks
    calls = []

    def skewed(A, B, scale):
        calls.append((A, B))
        return scale * A @ np.roll(B, 1, axis=1).T  # not symmetric

    kernel = resolve_kernel(skewed, X, params={"scale": 2.0})
    K = kernel(X, X)
    assert len(calls) == 1 and calls[0][0] is X and calls[0][1] is X
    np.testing.assert_array_equal(K, 2 * X @ np.roll(X, 1, axis=1).T)
    assert abs(K - K.T).max() > 0.1
    assert kernel(X.astype(np.float32), Z.astype(np.float32)).dtype == np.float32
    assert (kernel.name, kernel.definite) == ("callable", "unknown")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda X, Z: X @ X.T, r"kernel must give .* shape \(552, 320\), got \(552, 552\)"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "kernel must give finite values"),
    ],
)
def test_callable_of_wrong_values_is_named(values, message, blocks):
    X, Z = blocks
    with pytest.raises(ValueError, match=message):
        resolve_kernel(values, X)(X, Z)


def test_precomputed_values_are_the_rows(blocks):
    X, Z = blocks
    rbf = resolve_kernel("rbf", Z)
    K, K_new = rbf(Z, Z), rbf(X, Z)
    kernel = resolve_kernel("precomputed", K)
    np.testing.assert_array_equal(kernel(K_new, K), K_new)
    np.testing.assert_array_equal(kernel(sparse.csr_array(K_new), K), K_new)
    with pytest.raises(ValueError, match=r"needs X of shape \(n_samples, n_samples\)"):
        resolve_kernel("precomputed", K_new)
    with pytest.raises(ValueError, match=r"shape \(552, 320\), got \(552, 319\)"):
        kernel(K_new[:, 1:], K)


def test_definiteness(rng):
    X = rng.normal(size=(60, 4))
    expected = {"perceptron": "conditional", "stump": "conditional", "sigmoid": "unknown"}
    for name in FORMULAS:
        kernel = resolve_kernel(name, X)
        assert kernel.definite == expected.get(name, "positive")
        K = kernel(X, X)
        if kernel.definite == "conditional":
            K = K - K.mean(axis=0)
            K = K - K.mean(axis=1, keepdims=True)
        smallest = np.linalg.eigvalsh(K)[0]
        assert (smallest > -1e-9) == (kernel.definite != "unknown")
    assert resolve_kernel("polynomial", X, params={"coef0": -1.0}).definite == "unknown"


# Defaults -----------------------------------------------------------------------------------------


def test_median_is_that_of_distinct_rows(rng):
    X = rng.normal(size=(80, 3))
    assert median_gamma(X) == pytest.approx(1 / np.median(pdist(X, "sqeuclidean")), rel=1e-13)
    expected = 1 / np.median(pdist(X, "cityblock"))
    assert median_gamma(X, "laplacian") == pytest.approx(expected, rel=1e-13)
    repeated = rng.permutation(np.vstack([X, X[:30], X[:5], X[:5]]))
    for name in ("rbf", "laplacian"):
        assert median_gamma(repeated, name) == median_gamma(X, name)
        sparse_rows = sparse.csr_array(X)
        assert median_gamma(sparse_rows, name) == pytest.approx(median_gamma(X, name), rel=1e-12)


def test_median_of_many_rows_is_that_of_a_sample_by_content(rng):
    X = rng.normal(size=(6 * MEDIAN_ROWS, 3))
    assert median_gamma(X) == median_gamma(rng.permutation(X))
    assert median_gamma(X) == pytest.approx(1 / np.median(pdist(X, "sqeuclidean")), rel=0.1)
    halves = X.astype(np.float32)
    assert median_gamma(halves) == median_gamma(halves.astype(np.float64))


@pytest.mark.parametrize(
    "X", [np.ones((5, 2)), np.zeros((1, 3)), [[0.0], [1e200]], [[0], [1e-200]]]
)
def test_gamma_without_a_median_is_one(X):
    assert median_gamma(np.asarray(X, dtype=float)) == 1.0


def test_grid_is_the_median_width_times_powers_of_two(rng):
    X = rng.normal(size=(50, 3))
    grid = gamma_grid(X)
    assert len(grid) == 7 and grid[3] == median_gamma(X)
    np.testing.assert_allclose((grid / grid[3]) ** -0.5, 2.0 ** np.arange(3, -4, -1))
    np.testing.assert_allclose(
        gamma_grid(X, "laplacian", 3), median_gamma(X, "laplacian") * np.array([0.5, 1, 2])
    )
    np.testing.assert_allclose(gamma_grid(X, "polynomial", 3), np.array([0.5, 1, 2]) / 3)


def test_default_delta_leaves_nothing_negative(rng):
    X = rng.normal(size=(100, 3))
    for name, norm in (("perceptron", 2), ("stump", 1)):
        kernel = resolve_kernel(name, X)
        assert kernel.delta == pytest.approx(np.linalg.norm(np.ptp(X, axis=0), norm))
        assert kernel(X, X).min() >= 0
        assert resolve_kernel(name, sparse.csr_array(X)).delta == kernel.delta
        assert resolve_kernel(name, X, params={"delta": 0.5}).delta == 0.5


@pytest.mark.parametrize("params", [{}, {"degree": 2, "coef0": 0.0}, {"degree": 4, "coef0": 0.5}])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_poly_is_scikit_learns(params, gamma, rng):
    X, Z = rng.normal(size=(20, 3)) + 1, rng.normal(size=(6, 3))
    kernel = resolve_kernel("poly", X, gamma, params)
    assert kernel.name == "polynomial"
    number = {"scale": 1 / (3 * X.var()), "auto": 1 / 3}.get(gamma, gamma)
    expected = polynomial_kernel(Z, X, gamma=number, **{"degree": 3, "coef0": 1.0, **params})
    np.testing.assert_allclose(kernel(Z, X), expected, rtol=1e-12)
    machine = SVC(kernel="poly", gamma=gamma, **{"coef0": 1.0, **params}).fit(X, X[:, 0] > 1)
    assert kernel.gamma == pytest.approx(machine._gamma)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial", "sigmoid"])
def test_widths_named_as_in_scikit_learn(name, rng):
    X = np.where(rng.random((50, 4)) < 0.5, 0.0, rng.normal(3, 2, (50, 4)))
    assert resolve_kernel(name, X, "scale").gamma == pytest.approx(1 / (4 * X.var()))
    assert resolve_kernel(name, X, "auto").gamma == 0.25
    of_csr = resolve_kernel(name, sparse.csr_array(X), "scale")
    assert of_csr.gamma == pytest.approx(1 / (4 * X.var()))
    weight = rng.integers(1, 4, 50).astype(float)
    again = np.repeat(X, weight.astype(int), axis=0)
    weighted = resolve_kernel(name, X, "scale", weight=weight)
    assert weighted.gamma == pytest.approx(1 / (4 * again.var()))
    assert resolve_kernel(name, np.ones((3, 4)), "scale").gamma == 1.0


@pytest.mark.parametrize("kernel", ["linear", "stump", "perceptron", "precomputed", np.dot])
def test_gamma_of_a_kernel_without_one_is_ignored(kernel):
    with pytest.warns(IgnoredParameterWarning, match="gamma has no effect with"):
        ignored = resolve_kernel(kernel, np.eye(3), 2.0)
    assert ignored.gamma is None
    assert ignored == resolve_kernel(kernel, np.eye(3))
    for name in ("scale", "auto"):  # defaults of scikit-learn
        assert resolve_kernel(kernel, np.eye(3), name) == ignored
    for several in ("cv", "lpo", [1.0, 2.0]):
        with pytest.warns(IgnoredParameterWarning):
            assert gamma_candidates(np.eye(3), kernel, several) == [None]
        assert find_searched_gamma(kernel, several) is None


@pytest.mark.parametrize(
    ("kernel", "gamma", "params", "message"),
    [
        ("gaussian", None, None, "kernel must be one of linear, polynomial, .*, got 'gaussian'"),
        ("rbf", 0.0, None, r'gamma must be a finite number > 0, "scale", "auto" or None, got 0\.0'),
        ("rbf", [1.0], None, r"gamma must be a finite number > 0, .*, got \[1\.0\]"),
        ("rbf", "wide", None, r"gamma must be a finite number > 0, .*, got 'wide'"),
        (
            "poly",
            None,
            {"delta": 1.0},
            "kernel_params of the polynomial kernel: degree",
        ),
        ("rbf", None, {"degree": 2}, "kernel_params of the rbf kernel: none; got degree"),
        ("sigmoid", None, {"degree": 2}, "kernel_params of the sigmoid kernel: coef0; got degree"),
        ("polynomial", None, {"degree": 2.5}, "degree .* must be an integer >= 1, got 2.5"),
        ("polynomial", None, {"degree": 0}, "degree .* must be an integer >= 1, got 0"),
        ("sigmoid", None, {"coef0": np.inf}, "coef0 .* must be a finite number, got inf"),
        ("stump", None, {"delta": "1"}, "delta .* must be a finite number, got '1'"),
    ],
)
def test_bad_parameters_are_named(kernel, gamma, params, message):
    with pytest.raises(ValueError, match=message):
        resolve_kernel(kernel, np.eye(3), gamma, params)
