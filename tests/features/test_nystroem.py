"""Nyström features: the exact kernel where they can be, landmarks by content alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import rankwise
from rankwise import QueryGroups
from rankwise.features import Nystroem
from rankwise.features.kernels import resolve_kernel
from rankwise.features.nystroem import (
    METHODS,
    SLICE_ROWS,
    draw_in_proportion,
    draw_landmarks,
    leverage_scores,
    nystroem_map,
)
from rankwise.solvers.least_squares.design import NodeDesign
from rankwise.solvers.least_squares.gram import Problem, fold_grams

POSITIVE = ["linear", "polynomial", "rbf", "laplacian"]
CONDITIONAL = ["perceptron", "stump"]


def doubly_centred(K):
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)


# The map ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POSITIVE + CONDITIONAL)
def test_all_rows_as_landmarks_give_the_kernel(name, rng):
    X = rng.normal(size=(SLICE_ROWS + 50, 6))  # more than a slice and a block of columns
    kernel = resolve_kernel(name, X)
    phi = nystroem_map(kernel, X)
    features = phi(X)
    got, expected = features @ features.T, kernel(X, X)
    if name in CONDITIONAL:
        got, expected = doubly_centred(got), doubly_centred(expected)
    np.testing.assert_allclose(got, expected, atol=1e-9 * abs(expected).max())
    if name == "linear":
        assert phi.n_features_out == 6  # landmarks that depend on others are left out


@pytest.mark.parametrize("name", POSITIVE)
def test_few_landmarks_give_the_projection(name, rng):
    X = rng.normal(size=(80, 5))
    kernel = resolve_kernel(name, X)
    K, Z = kernel(X, X), X[:12]
    features = nystroem_map(kernel, Z)(X)
    expected = kernel(X, Z) @ np.linalg.pinv(kernel(Z, Z), rcond=1e-13) @ kernel(Z, X)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-9 * abs(K).max())


def test_conditional_kernel_is_that_of_an_origin(rng):
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    for name, norm in (("perceptron", 2), ("stump", 1)):
        phi = nystroem_map(resolve_kernel(name, X), X)

        def distance(A, B, norm=norm):
            return np.linalg.norm(A[:, None] - B[None], norm, axis=2)

        origin = phi.landmarks[:1]
        np.testing.assert_array_equal(origin, X[:1])
        expected = distance(new, origin) + distance(origin, X) - distance(new, X)
        np.testing.assert_allclose(phi(new) @ phi(X).T, expected, atol=1e-10)


def test_scores_are_features_times_weights(rng):
    X = rng.normal(size=(SLICE_ROWS + 9, 4))
    for name in ("rbf", "stump"):
        phi = nystroem_map(resolve_kernel(name, X), X[:40])
        weights = rng.normal(size=(phi.n_features_out, 3))
        np.testing.assert_allclose(phi.scores(X, weights), phi(X) @ weights, atol=1e-9)
        np.testing.assert_allclose(
            phi.scores(sparse.csr_array(X), weights), phi(X) @ weights, atol=1e-9
        )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_and_zero_landmarks_are_left_out(form, rng):
    Z = rng.normal(size=(10, 3))
    rbf = resolve_kernel("rbf", Z)
    phi = nystroem_map(rbf, form(np.vstack([Z, Z, Z[:3]])))
    assert phi.n_features_out == 10
    np.testing.assert_allclose(phi(Z) @ phi(Z).T, rbf(Z, Z), atol=1e-12)
    nothing = nystroem_map(resolve_kernel("linear", Z), form(np.zeros((4, 3))))
    np.testing.assert_array_equal(nothing(Z), np.zeros((10, 1)))
    one = nystroem_map(resolve_kernel("stump", Z), form(Z[:1]))
    np.testing.assert_array_equal(one(Z), np.zeros((10, 1)))


def test_float32_map_is_near_the_double_one(rng):
    X = rng.normal(size=(500, 4)).astype(np.float32)
    kernel = resolve_kernel("rbf", X)
    single = nystroem_map(kernel, X[:200], np.float32)
    features = single(X)
    assert features.dtype == single.landmarks.dtype == np.float32
    assert single.rows(X).dtype == np.float64
    for landmarks, tolerance in ((single.landmarks, 5e-3), (X[:200], 2e-2)):
        double = nystroem_map(kernel, landmarks.astype(np.float64))(X)
        np.testing.assert_allclose(features @ features.T, double @ double.T, atol=tolerance)


def test_map_serves_the_closed_forms(rng):
    """The dense system of the kernel's columns, from Gram statistics of the map."""
    X, y = rng.normal(size=(120, 4)), rng.normal(size=120)
    groups = QueryGroups.from_qid(np.repeat(np.arange(12), 10), 120)
    phi = nystroem_map(resolve_kernel("rbf", X), X[:25])
    problem = Problem(X, y, groups, None, "all")
    gram = fold_grams(problem, NodeDesign([phi]).maps[0])[0]
    features = phi(X)
    L = problem.factor(np.arange(120), groups).dense(0, 12)
    np.testing.assert_allclose(gram.matrix, features.T @ L @ features, atol=1e-9)
    np.testing.assert_allclose(gram.rhs, features.T @ L @ y, atol=1e-9)


def skewed(X, Z):
    return X @ np.roll(Z, 1, axis=1).T


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("precomputed", None, "need a kernel function of rows, got kernel='precomputed'"),
        (skewed, None, "need a symmetric kernel"),
        ("sigmoid", {"coef0": -1.0}, "need a positive semidefinite kernel"),
    ],
)
def test_kernels_without_features_are_named(kernel, params, message, rng):
    X = rng.normal(size=(20, 20))
    with pytest.raises(ValueError, match=message):
        nystroem_map(resolve_kernel(kernel, X, params=params), X)


# Landmarks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_landmarks_are_distinct_rows_whatever_their_order(method, form, rng):
    X = np.round(rng.normal(size=(400, 3)), 1)
    X = np.vstack([X, X[:50], X[:50]])
    kernel = resolve_kernel("rbf", X)

    def landmarks(rows, seed=0, n=30):
        drawn = draw_landmarks(form(rows), n, method, kernel, seed)
        assert drawn.dtype == np.int64
        return rows[drawn]

    first = landmarks(X)
    assert len(np.unique(first, axis=0)) == 30
    np.testing.assert_array_equal(landmarks(rng.permutation(X)), first)
    np.testing.assert_array_equal(landmarks(X[:400]), first)
    assert (landmarks(X, seed=1) != first).any()
    assert len(landmarks(X, n=10**6)) == len(np.unique(X, axis=0))


def test_uniform_landmarks_are_uniform():
    X = np.arange(10.0)[:, None]
    drawn = np.concatenate([draw_landmarks(X, 3, random_state=seed) for seed in range(500)])
    counts = np.bincount(drawn, minlength=10)
    assert (abs(counts - 150) < 5 * np.sqrt(150 * 0.7)).all()


def test_draws_are_in_proportion():
    scores = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    rng = np.random.RandomState(0)
    drawn = np.concatenate([draw_in_proportion(scores, 3, rng) for _ in range(3000)])
    expected = np.array([0, 1 / 3, 2 / 3, 1, 1])  # 3 and 100 are sure, the rest shares one draw
    np.testing.assert_allclose(np.bincount(drawn, minlength=5) / 3000, expected, atol=0.03)
    assert len(draw_in_proportion(np.zeros(5), 2, rng)) == 2


def outliers(rng):
    """Rows of one tight cluster, and ten rows far from it and from one another."""
    return np.vstack([0.05 * rng.normal(size=(1500, 2)), 20 * rng.normal(size=(10, 2))])


@pytest.mark.parametrize("method", ["leverage", "kmeans++"])
@pytest.mark.parametrize("name", ["rbf", "stump"])
def test_careful_landmarks_find_what_uniform_ones_miss(method, name, rng):
    X = outliers(rng)
    kernel = resolve_kernel(name, X, 0.5 if name == "rbf" else None)

    def worst(method, seed):
        """Largest part of a row's norm that the landmarks do not hold."""
        phi = nystroem_map(kernel, X[draw_landmarks(X, 150, method, kernel, seed)])
        exact = nystroem_map(kernel, np.vstack([phi.landmarks[:1], X[-10:], X[:150]]))
        norms, held = ((f(X[-10:]) ** 2).sum(axis=1) for f in (exact, phi))
        return float((norms - held).max() / norms.max())

    assert max(worst(method, seed) for seed in range(3)) < 0.01
    assert min(worst("uniform", seed) for seed in range(3)) > 0.05


@pytest.mark.parametrize("name", ["rbf", "stump"])
def test_leverage_scores_are_ridge_residuals(name, rng):
    """How badly the other rows of the sketch represent a row, inside the sketch and outside."""
    X = rng.normal(size=(120, 3))
    kernel = resolve_kernel(name, X)
    K = kernel(X, X)
    if name == "stump":
        K = K - K[:60].mean(axis=0)
        K = K - K[:, :60].mean(axis=1, keepdims=True)
    ridge = np.linalg.eigvalsh(K[:60, :60])[:-30].sum() / 30
    expected = np.empty(120)
    for i in range(120):
        S = np.delete(np.arange(60), i) if i < 60 else np.arange(60)
        inverse = np.linalg.inv(K[np.ix_(S, S)] + ridge * np.eye(len(S)))
        expected[i] = K[i, i] - K[i, S] @ inverse @ K[S, i]
    np.testing.assert_allclose(leverage_scores(X, kernel, 60), expected, rtol=1e-6)


# The transformer ----------------------------------------------------------------------------------


def test_transformer_is_the_map(rng, tmp_path):
    X = rng.normal(size=(60, 4))
    for params in ({}, {"kernel": "laplacian", "gamma": 0.3}, {"kernel": "stump"}):
        nystroem = Nystroem(n_components=20, random_state=0, **params).fit(X)
        kernel = resolve_kernel(params.get("kernel", "rbf"), X, params.get("gamma"))
        assert nystroem.gamma_ == kernel.gamma
        features = nystroem.transform(X)
        assert features.shape == (60, len(nystroem.get_feature_names_out()))
        rows = X[draw_landmarks(X, 20, "uniform", kernel, 0)]
        np.testing.assert_array_equal(features, nystroem_map(kernel, rows)(X))
        np.testing.assert_array_equal(nystroem.transform(X.astype(np.float32)).dtype, np.float32)
        path = rankwise.save(nystroem, tmp_path / "nystroem")
        np.testing.assert_array_equal(rankwise.load(path).transform(X), features)
        sparse_rows = Nystroem(n_components=20, random_state=0, **params).fit(sparse.csr_array(X))
        np.testing.assert_allclose(sparse_rows.transform(X), features, atol=1e-8)


def test_callable_kernel_is_saved_by_name(rng, tmp_path):
    X = rng.normal(size=(30, 3))
    params = {"n_components": 10, "random_state": 0}
    own = Nystroem(rbf_kernel, kernel_params={"gamma": 0.5}, **params).fit(X)
    named = Nystroem("rbf", gamma=0.5, **params).fit(X)
    np.testing.assert_allclose(own.transform(X), named.transform(X), atol=1e-12)
    path = rankwise.save(own, tmp_path / "own")
    with pytest.raises(rankwise.persistence.ModelFileError, match="rbf_kernel"):
        rankwise.load(path)
    loaded = rankwise.load(path, trusted=[rbf_kernel])
    np.testing.assert_array_equal(loaded.transform(X), own.transform(X))
