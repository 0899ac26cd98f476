"""Formula (8) and its cross-validation against refits of every fold at every grid point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.features.random_features import draw_nodes
from rankwise.solvers.least_squares import stabilised as complex_path
from rankwise.solvers.least_squares.stabilised import complex_paths, complex_penalties, plan_folds
from rankwise_papers import tuned_draws
from rankwise_papers.tuned_draws import tune_draws

LAM = np.array([1e-5, 1e-2, 10.0])
C = np.array([2.0, 2.0**13, np.inf])


def stabilised(H, y, w, lam, c):
    """Minimiser of |A b - B|^2 + |b|^2 / C, which is formula (8); stacked, so A'A is not formed."""
    n, W = H.shape[1], w.sum()
    centred = H - (w @ H) / W
    A = 2 / W * (centred.T * w) @ centred + lam * np.eye(n)
    B = 2 / W * (centred.T * w) @ y
    stacked = np.vstack([A, np.eye(n) / np.sqrt(c)])
    return np.linalg.lstsq(stacked, np.concatenate([B, np.zeros(n)]), rcond=None)[0]


def refitted_errors(H, y, w, folds):
    """Squared held-out error of refits, each with the intercept of its training rows."""
    errors = np.zeros((len(LAM), len(C)))
    for fold in np.unique(folds):
        test = folds == fold
        for i, lam in enumerate(LAM):
            for j, c in enumerate(C):
                beta = stabilised(H[~test], y[~test], w[~test], lam, c)
                residual = y - H @ beta
                residual -= np.average(residual[~test], weights=w[~test])
                errors[i, j] += (w * residual**2)[test].sum()
    return errors


@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("tile", [60_000, 500], ids=["whole", "tiles"])
@pytest.mark.parametrize("m", [4, 13, 30, 31, 32, 45, 90])
def test_equals_refits(rng, m, weights, tile, monkeypatch):
    monkeypatch.setattr(complex_path, "TILE_NUMBERS", tile)
    X, X_test, y = rng.random((m, 6)), rng.random((5, 6)), rng.normal(size=m)
    w = rng.uniform(0.3, 3.0, m) if weights else np.ones(m)
    maps = [draw_nodes(6, 30, "sigmoid", np.random.RandomState(seed)) for seed in range(3)]
    folds = rng.permutation(np.arange(m) % min(m, 10))
    tuned = tune_draws(X, y, X_test, maps, folds, LAM, C, w if weights else None)
    for draw, nodes in enumerate(maps):
        expected = refitted_errors(nodes(X), y, w, folds)
        np.testing.assert_allclose(tuned.errors[draw], expected, rtol=1e-8)
        i, j = np.unravel_index(expected.argmin(), expected.shape)
        assert (tuned.lam[draw], tuned.C[draw]) == (LAM[i], C[j])
        beta = stabilised(nodes(X), y, w, LAM[i], C[j])
        np.testing.assert_allclose(tuned.draw_scores[draw], nodes(X_test) @ beta, rtol=1e-8)
    np.testing.assert_allclose(tuned.scores, tuned.draw_scores.mean(axis=0))


def test_leave_one_out_and_unequal_folds(rng):
    X, y = rng.random((17, 4)), rng.normal(size=17)
    nodes = draw_nodes(4, 9, "sigmoid", np.random.RandomState(0))
    for folds in (np.arange(17), np.repeat([1, 0, 2], [2, 9, 6])):
        tuned = tune_draws(X, y, X, [nodes], folds, LAM, C)
        expected = refitted_errors(nodes(X), y, np.ones(17), folds)
        np.testing.assert_allclose(tuned.errors[0], expected, rtol=1e-8)


def test_draws_may_have_folds_of_their_own(rng):
    X, y = rng.random((20, 4)), rng.normal(size=20)
    maps = [draw_nodes(4, 9, "sigmoid", np.random.RandomState(seed)) for seed in (0, 1)]
    cuts = [np.arange(20) % 5, rng.permutation(np.arange(20) % 5), np.arange(20) // 7]
    for second in cuts[1:]:  # of the same sizes, and of others
        check_draws(X, y, maps, np.stack([cuts[0], second]))


def check_draws(X, y, maps, folds):
    both = tune_draws(X, y, X, maps, folds, LAM, C)
    for draw in (0, 1):
        alone = tune_draws(sparse.csr_array(X), y, X, [maps[draw]], folds[draw], LAM, C)
        np.testing.assert_allclose(both.errors[draw], alone.errors[0], rtol=1e-12)
        np.testing.assert_allclose(both.draw_scores[draw], alone.scores, rtol=1e-9)


@pytest.mark.parametrize("activation", ["sigmoid", "gaussian", "tanh"])
def test_filled_in_entries_change_nothing(rng, activation):
    """Rows that differ from a common row in few entries take a sparse way to the same scores."""
    fill = rng.random(40)
    X = np.where(rng.random((30, 40)) < 0.1, rng.random((30, 40)), fill)
    y = rng.normal(size=20)
    nodes = draw_nodes(40, 9, activation, np.random.RandomState(0))
    folds = np.arange(20) % 5
    common = tuned_draws._StackedRows.stacked(X[:20], X[20:]).common
    np.testing.assert_array_equal(common, fill)
    tuned = tune_draws(X[:20], y, X[20:], [nodes], folds, LAM, C)
    expected = refitted_errors(nodes(X[:20]), y, np.ones(20), folds)
    np.testing.assert_allclose(tuned.errors[0], expected, rtol=1e-8)
    beta = stabilised(nodes(X[:20]), y, np.ones(20), tuned.lam[0], tuned.C[0])
    np.testing.assert_allclose(tuned.scores, nodes(X[20:]) @ beta, rtol=1e-8)


@pytest.mark.parametrize("m", [12, 40], ids=["dual", "primal"])
def test_columns_that_say_nothing(rng, m):
    """Rank-deficient, repeated and constant columns; rows that repeat."""
    H = rng.random((m, 3))
    H = np.column_stack([H, H, np.ones(m), H[:, :2] * 1e-9, H @ rng.random((3, 6))])
    H[m // 2 :] = H[: m - m // 2]
    y, w = rng.normal(size=m), np.ones(m)
    folds = np.arange(m) % 4
    (path,) = complex_paths(H[None], y)
    members = [np.flatnonzero(folds == f) for f in range(4)]
    errors = path.held_out(plan_folds(members, w), complex_penalties(LAM, C)).reshape(3, 3)
    np.testing.assert_allclose(errors, refitted_errors(H, y, w, folds), rtol=1e-8)
    (path,) = complex_paths(np.ones((1, m, 3)), y)  # nothing but the intercept
    errors = path.held_out(plan_folds(members, w), complex_penalties(LAM, C))
    means = sum(((y[f] - np.delete(y, f).mean()) ** 2).sum() for f in members)
    np.testing.assert_allclose(errors, means)
    np.testing.assert_allclose(path.coef(complex_penalties(LAM, C)), 0.0, atol=1e-9)


def test_ties_go_to_the_first_point_in_lam_then_C_order(rng):
    X, y = rng.random((12, 4)), np.ones(12)
    nodes = draw_nodes(4, 5, "sigmoid", np.random.RandomState(0))
    tuned = tune_draws(X, y * 0, X, [nodes], np.arange(12) % 3, LAM, C)
    np.testing.assert_array_equal(tuned.errors, 0.0)
    assert (tuned.lam[0], tuned.C[0]) == (LAM[0], C[0])
    penalty = complex_penalties(LAM, C)
    np.testing.assert_array_equal(penalty[0], np.repeat(LAM, 3))
    np.testing.assert_allclose(penalty[1], np.tile([2**-0.5, 2**-6.5, 0.0], 3))
