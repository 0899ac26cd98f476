"""Model trees: linear leaves, the choice of features, pruning, smoothing, weights."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeRegressor

from rankwise import ModelTree
from rankwise.trees.linear_models import LEAF, fit_linear, penalty


def pieces(rng, n=400, noise=0.1):
    """Two planes that meet, and a third column that tells nothing."""
    X = rng.uniform(-1, 1, (n, 3))
    y = np.where(X[:, 0] <= 0, 0, 6 * X[:, 0]) + 2 * X[:, 1]
    return X, y + noise * rng.normal(size=n)


def naive_choice(X, y, w):
    """Backward elimination by Akaike's criterion, every model fitted anew."""
    n, kept = w.sum(), list(range(X.shape[1]))

    def sse(columns):
        if not columns:
            return w @ (y - np.average(y, weights=w)) ** 2, np.empty(0)
        model = LinearRegression().fit(X[:, columns], y, sample_weight=w)
        return w @ (y - model.predict(X[:, columns])) ** 2, model.coef_

    full, coef = sse(kept)
    degrees = max(n - len(kept) - 1, 1)
    criterion = degrees + 2 * (len(kept) + 1)
    deviation = np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    while kept:
        j = int(np.argmin(np.abs(coef) * deviation[kept]))
        fewer = kept[:j] + kept[j + 1 :]
        error, next_coef = sse(fewer)
        now = error / full * degrees + 2 * (len(fewer) + 1)
        if now >= criterion:
            break
        kept, coef, criterion = fewer, next_coef, now
    return kept, coef


def test_linear_models_leave_out_what_does_not_help(rng):
    counts = []
    for _ in range(20):
        X = rng.normal(size=(60, 6)) * [1, 5, 0.1, 1, 1, 1] + 10
        y = X @ [1, 0.01, 3, 0, 0, 0] + 0.3 * rng.normal(size=60)
        w = rng.integers(1, 4, 60).astype(float)
        model = fit_linear(X, y, w, np.arange(10, 16))
        kept, coef = naive_choice(X, y, w)
        assert (model.features - 10).tolist() == kept
        np.testing.assert_allclose(model.coef, coef, rtol=1e-5)
        residual = y - X[:, kept] @ model.coef - model.intercept
        assert model.sse == pytest.approx(w @ residual**2, rel=1e-9)
        counts.append(len(kept))
    assert min(counts) < max(counts) < 6


def test_dependent_and_constant_columns(rng):
    X = np.column_stack([rng.normal(size=30), np.full(30, 7.0)])
    X = np.column_stack([X, X[:, 0]])
    model = fit_linear(X, 2 * X[:, 0] + 1, np.ones(30), np.arange(3))
    predicted = X[:, model.features] @ model.coef + model.intercept
    np.testing.assert_allclose(predicted, 2 * X[:, 0] + 1, atol=1e-5)
    assert 1 not in model.features


def test_exact_fits_do_not_overflow(rng):
    X = np.round(rng.normal(size=(12, 3)), 1)
    for scale in (1e-100, 1.0, 1e150):
        model = fit_linear(X, scale * X[:, 1], np.ones(12), np.arange(3))
        predicted = X[:, model.features] @ model.coef + model.intercept
        np.testing.assert_allclose(predicted, scale * X[:, 1], atol=1e-6 * scale)


def test_planes_are_found_and_beat_both_ends(rng):
    X, y = pieces(rng)
    tree = ModelTree().fit(X, y)
    assert 1 < tree.n_leaves_ < 20
    losses = {
        name: -cross_val_score(model, X, y, scoring="neg_mean_squared_error", cv=5).mean()
        for name, model in {
            "tree": ModelTree(),
            "linear": LinearRegression(),
            "constant leaves": DecisionTreeRegressor(min_samples_leaf=10, random_state=0),
        }.items()
    }
    assert losses["tree"] < 0.1
    assert losses["tree"] < 0.5 * min(losses["linear"], losses["constant leaves"])


def test_a_line_needs_one_leaf(rng):
    X = rng.normal(size=(200, 4))
    y = X @ [1, 2, 0, 0] + 0.5 * rng.normal(size=200)
    tree = ModelTree().fit(X, y)
    assert tree.n_leaves_ == 1
    assert ModelTree(prune=False).fit(X, y).n_leaves_ > 10


def test_smoothing_by_hand(rng):
    X, y = pieces(rng, n=60)
    settings = {"max_depth": 1, "prune": False}
    plain = ModelTree(**settings, smoothing=0).fit(X, y)
    assert plain.n_leaves_ == 2
    smooth = ModelTree(**settings, smoothing=15).fit(X, y)
    feature, threshold = plain.nodes_.feature[0], plain.nodes_.threshold[0]
    at_root = LinearRegression().fit(X[:, [feature]], y).predict(X[:, [feature]])
    n_left = (X[:, feature] <= threshold).sum()
    n = np.where(X[:, feature] <= threshold, n_left, 60 - n_left)
    wanted = (n * plain.predict(X) + 15 * at_root) / (n + 15)
    np.testing.assert_allclose(smooth.predict(X), wanted, rtol=1e-6)


def test_unpruned_leaves_are_means_of_their_rows(rng):
    X, y = pieces(rng, n=100)
    tree = ModelTree(20, prune=False, smoothing=0, least_deviation=0).fit(X, y)
    leaf = tree.nodes_.apply(X)
    assert (tree.nodes_.feature[leaf] == LEAF).all()
    for node in np.unique(leaf):
        assert (leaf == node).sum() >= 20
        np.testing.assert_allclose(tree.predict(X[leaf == node]), y[leaf == node].mean())
    assert tree.nodes_.coef.any() == 0


def test_penalty():
    assert penalty(10, 2) == 1.5
    assert penalty(3, 3) == 10


def test_weights_are_repetitions_and_the_order_does_not_matter(rng):
    X, y = pieces(rng, n=150)
    X = np.round(X, 1)
    w = rng.integers(0, 3, 150)
    weighted = ModelTree().fit(X, y, sample_weight=w)
    rows = rng.permutation(np.repeat(np.arange(150), w))
    repeated = ModelTree().fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_constant_target_and_one_row():
    assert ModelTree().fit([[1.0], [2.0]], [3, 3]).predict([[5.0]]).tolist() == [3.0]
    assert ModelTree().fit([[1.0]], [2.0]).predict([[5.0]]).tolist() == [2.0]
