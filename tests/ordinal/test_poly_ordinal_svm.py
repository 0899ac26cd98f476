"""PolyOrdinalSVM: LIBLINEAR's optimum, costs, paths, terms, maps of kernels, invariances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from rankwise import OrdinalSVM, PolyOrdinalSVM, load
from rankwise.features import Nystroem, PolynomialTerms, RandomPerceptrons
from rankwise.groups import QueryGroups
from rankwise.losses.class_costs import cost_matrix, row_costs, threshold_weights
from rankwise.solvers.svm.ordinal_path import sorted_thresholds
from rankwise.solvers.svm.threshold_solver import ThresholdHinge
from tests.solvers.svm.test_threshold_svm import liblinear, powers


@pytest.fixture
def rows(rng):
    """Rows whose class bends with the features; queries of six."""
    X = rng.uniform(-1, 1, (120, 3)) * [1.0, 20.0, 0.05]
    utility = X[:, 0] - (X[:, 1] / 20) ** 2 + 0.2 * rng.normal(size=120)
    y = np.digitize(utility, np.quantile(utility, [0.3, 0.6, 0.85]))
    return X, y, np.repeat(np.arange(20), 6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "descent", "newton"])
@pytest.mark.parametrize("costs", ["absolute", "squared", "zero_one", "err"])
def test_optimum_is_that_of_the_expansion(rows, loss, solver, costs):
    X, y, qid = rows
    machine = PolyOrdinalSVM(
        3, C=0.5, costs=costs, loss=loss, solver=solver, tol=1e-8, max_iter=20_000
    )
    machine.fit(X, y, qid=qid)
    Z = powers(X / np.abs(X).max(axis=0), 3)
    weight = threshold_weights(row_costs(costs, y, 4, QueryGroups.from_qid(qid, 120)))
    squared = loss == "squared_hinge"
    _, best = liblinear(Z, ThresholdHinge(y, weight, squared), 0.5)
    assert machine.objective_ == pytest.approx(best, rel=1e-6)
    assert machine.dual_objective_ == pytest.approx(-best, rel=1e-6)
    assert 0 <= machine.dual_gap_ + 1e-14 <= 1e-8 + 1e-14
    np.testing.assert_allclose(machine.rank_score(X), Z @ machine.coef_, atol=1e-12)


def test_what_is_reported_is_what_is_minimised(rows):
    X, y, _ = rows
    machine = PolyOrdinalSVM(2, C=2.0).fit(X, y)
    margins = machine.rank_score(X)[:, None] - machine.thresholds_
    signs = np.where(np.arange(3) < y[:, None], 1.0, -1.0)
    loss = 2.0 * np.maximum(0, 1 - signs * margins).sum()
    norm = 0.5 * (machine.coef_ @ machine.coef_ + machine.thresholds_ @ machine.thresholds_)
    assert machine.objective_ == pytest.approx(loss + norm, rel=1e-12)
    gap = (machine.objective_ + machine.dual_objective_) / machine.objective_
    assert machine.dual_gap_ == pytest.approx(gap, abs=1e-14)
    assert machine.dual_gap_ <= machine.tol


def test_powers_bend_scores(rows):
    X, y, _ = rows
    straight, bent = (PolyOrdinalSVM(degree, C=10.0).fit(X, y) for degree in (1, 2))
    assert bent.score(X, y) > straight.score(X, y) + 0.1


@pytest.mark.parametrize("terms", ["powers", "random", "cross"])
def test_order_storage_and_weights(rows, terms):
    X, y, qid = rows
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, 120).astype(float)
    weight[y == 2] += 1
    new = rng.uniform(-1, 1, (50, 3)) * [1.0, 20.0, 0.05]
    new *= rng.random((50, 3)) < 0.7
    params = {"degree": 3, "terms": terms, "random_state": 0}
    machine = PolyOrdinalSVM(**params).fit(X, y, qid=qid, sample_weight=weight)
    expected = machine.rank_score(new)
    order = rng.permutation(120)
    again = PolyOrdinalSVM(**params)
    again.fit(X[order], y[order], qid=qid[order], sample_weight=weight[order])
    np.testing.assert_allclose(again.rank_score(new), expected, rtol=1e-12, atol=1e-12)
    repeated = np.repeat(np.arange(120), weight.astype(int))
    again = PolyOrdinalSVM(**params).fit(X[repeated], y[repeated], qid=qid[repeated])
    np.testing.assert_allclose(again.rank_score(new), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again.thresholds_, machine.thresholds_, rtol=1e-9, atol=1e-9)
    of_sparse = PolyOrdinalSVM(**params)
    of_sparse.fit(sparse.csr_array(X), y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(of_sparse.rank_score(sparse.csr_array(new)), expected, atol=1e-6)


def test_err_costs_take_weights_as_repetition(rows):
    X, y, qid = rows
    weight = np.random.default_rng(2).integers(1, 3, 120)
    repeated = np.repeat(np.arange(120), weight)
    one = PolyOrdinalSVM(2, C=50.0, costs="err").fit(X, y, qid=qid, sample_weight=weight)
    two = PolyOrdinalSVM(2, C=50.0, costs="err").fit(X[repeated], y[repeated], qid=qid[repeated])
    np.testing.assert_allclose(two.rank_score(X), one.rank_score(X), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="zeros alone"):
        PolyOrdinalSVM(costs="err").fit(X, y, qid=np.arange(120))
    with pytest.raises(ValueError, match=r"got an array of shape \(120, 4\), which gives zeros"):
        PolyOrdinalSVM(costs=np.ones((120, 4))).fit(X, y)


def test_scale_of_features_does_not_matter(rows):
    X, y, _ = rows
    factors = np.array([1e-9, 3.0, -7e12])
    machine, other = (PolyOrdinalSVM(tol=1e-9).fit(rows, y) for rows in (X, X * factors))
    np.testing.assert_allclose(other.scale_, machine.scale_ * np.abs(factors), rtol=1e-12)
    np.testing.assert_allclose(other.rank_score(X * factors), machine.rank_score(X), atol=1e-3)
    raw = PolyOrdinalSVM(1, scaling=False).fit(X, y)
    np.testing.assert_array_equal(raw.scale_, np.ones(3))
    np.testing.assert_allclose(raw.rank_score(X), X @ raw.coef_, atol=1e-12)


def test_costs_by_class_and_by_row_say_the_same(rows):
    X, y, _ = rows
    weight = (np.arange(120) % 3).astype(float)
    expected = PolyOrdinalSVM(costs="squared").fit(X, y, sample_weight=weight)
    squares = cost_matrix("squared", 4)
    for costs in (squares, squares[y], squares[y].tolist()):
        machine = PolyOrdinalSVM(costs=costs).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(machine.coef_, expected.coef_)
    assert not np.array_equal(PolyOrdinalSVM().fit(X, y).coef_, expected.coef_)


def test_costs_of_rows_act_on_these_rows(rows):
    X, y, _ = rows
    X, y = np.vstack([X, X[:60]]), np.concatenate([y, y[:60]])
    costs = cost_matrix("absolute", 4)[y]
    costs[:60] *= 2
    by_row = PolyOrdinalSVM(2, costs=costs, tol=1e-9).fit(X, y)
    weight = np.ones(180)
    weight[:60] = 2
    by_weight = PolyOrdinalSVM(2, tol=1e-9).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(by_row.rank_score(X), by_weight.rank_score(X), atol=1e-9)


def test_path_is_that_of_single_fits(rows):
    X, y, qid = rows
    machine = PolyOrdinalSVM(2, C=[10.0, 0.1, 1.0], tol=1e-8).fit(X, y, qid=qid)
    assert machine.path_["C"].tolist() == [0.1, 1.0, 10.0]
    for C, coef, cuts in zip(*machine.path_.values(), strict=True):
        single = PolyOrdinalSVM(2, C=C, tol=1e-8).fit(X, y, qid=qid)
        assert single.objective_ == pytest.approx(
            objective(X, y, C, coef, cuts, single.scale_), rel=1e-7
        )
        assert single.cv_results_ if np.ndim(single.C) else not hasattr(single, "cv_results_")


def objective(X, y, C, coef, cuts, scale):
    margins = (powers(X / scale, 2) @ coef)[:, None] - cuts
    signs = np.where(np.arange(3) < y[:, None], 1.0, -1.0)
    return 0.5 * (coef @ coef + cuts @ cuts) + C * np.maximum(0, 1 - signs * margins).sum()


def test_the_search_takes_the_best_of_the_held_out(rows):
    X, y, qid = rows
    train = qid < 14
    vali = {"X_val": X[~train], "y_val": y[~train], "qid_val": qid[~train]}
    grid = [0.01, 1.0, 100.0]
    machine = PolyOrdinalSVM(2, C=grid).fit(X[train], y[train], qid=qid[train], **vali)
    losses = []
    for C in grid:
        single = PolyOrdinalSVM(2, C=C).fit(X[train], y[train], qid=qid[train])
        missed = np.abs(single.predict(X[~train]) - y[~train])
        losses.append(missed.reshape(-1, 6).mean(axis=1).mean())
    np.testing.assert_allclose(machine.cv_results_["mean_test_score"], losses, rtol=1e-12)
    assert grid[int(np.argmin(losses))] == machine.C_
    ranked = PolyOrdinalSVM(2, C="val", measure="nDCG@5")
    ranked.fit(X[train], y[train], qid=qid[train], **vali)
    scores = ranked.cv_results_["mean_test_score"]
    assert ranked.cv_results_["C"][int(np.argmax(scores))] == ranked.C_
    with pytest.raises(ValueError, match='C="val" needs validation data'):
        PolyOrdinalSVM(C="val").fit(X, y)


@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
def test_folds_hold_out_queries(rows, cv):
    X, y, qid = rows
    machine = PolyOrdinalSVM(2, C=[0.1, 10.0], cv=cv).fit(X, y, qid=qid)
    held = machine.cv_results_["fold_test_scores"]
    assert held.shape == (4, 2)
    splits = [(np.flatnonzero(qid % 4 != k), np.flatnonzero(qid % 4 == k)) for k in range(4)]
    machine = PolyOrdinalSVM(2, C=[0.1, 10.0], cv=splits, tol=1e-8).fit(X, y, qid=qid)
    train, test = splits[1]
    single = PolyOrdinalSVM(2, C=10.0, scaling=False, tol=1e-8)
    single.fit(X[train] / machine.scale_, y[train], qid=qid[train])
    missed = np.abs(single.predict(X[test] / machine.scale_) - y[test])
    assert machine.cv_results_["fold_test_scores"][1, 1] == pytest.approx(missed.mean())


def test_terms_are_those_of_the_transformer(rows):
    X, y, _ = rows
    largest = np.abs(X).max(axis=0)
    for terms in ("random", "cross"):
        machine = PolyOrdinalSVM(3, terms=terms, random_state=5, tol=1e-8).fit(X, y)
        transformer = PolynomialTerms(3, terms=terms, random_state=5)
        F = transformer.fit_transform(X / largest)
        assert machine.terms_ is not None
        np.testing.assert_array_equal(machine.terms_.factors, transformer.factors_)
        linear = PolyOrdinalSVM(1, scaling=False, tol=1e-8).fit(F, y)
        assert machine.objective_ == pytest.approx(linear.objective_, rel=1e-7)
        np.testing.assert_allclose(machine.rank_score(X), F @ machine.coef_, atol=1e-12)
    assert PolyOrdinalSVM(3, terms="random").fit(X, y).coef_.shape == (3 + 3 + 3,)


def test_saved_terms_come_back(rows, tmp_path):
    X, y, _ = rows
    machine = PolyOrdinalSVM(3, terms="random", random_state=0).fit(X, y)
    loaded = load(machine.save(tmp_path / "machine.skops"))
    np.testing.assert_array_equal(loaded.rank_score(X), machine.rank_score(X))


def test_warns_with_the_gap_that_is_left(rows):
    X, y, _ = rows
    with pytest.warns(
        ConvergenceWarning, match=r"after 3 passes at C=0.1; the relative duality gap"
    ):
        PolyOrdinalSVM(C=0.1, tol=1e-12, solver="descent", max_iter=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PolyOrdinalSVM(C=1e6).fit(X, y)


def test_thresholds_without_rows_take_a_neighbour():
    theta = np.array([5.0, 0.0, 1.0, 0.0, -2.0, 0.0])
    known = np.array([True, False, True, False, True, False])
    assert sorted_thresholds(theta, known).tolist() == [-5, -5, -1, -1, 2, 2]
    assert sorted_thresholds(theta, ~known).tolist() == [0, 0, 0, 0, 0, 0]
    assert sorted_thresholds(theta[::-1], known[::-1]).tolist() == [-5, -1, -1, 2, 2, 2]


def test_all_landmarks_give_the_kernel_machine(rows):
    """A large constant column stands for the free intercept of the exact machine."""
    X, y, _ = rows
    X = X / np.abs(X).max(axis=0)
    exact = OrdinalSVM("perceptron", C=1.0, tol=1e-6).fit(X, y)
    F = Nystroem("perceptron", n_components=120, random_state=0).fit_transform(X)
    F = np.hstack([F, np.full((120, 1), 1e3)])
    linear = PolyOrdinalSVM(1, C=1.0, scaling=False, solver="newton", tol=1e-8).fit(F, y)
    assert linear.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    assert (linear.predict(F) == exact.predict(X)).mean() > 0.98


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_feature_maps_come_near_the_kernel_machine(rows, kernel):
    X, y, _ = rows
    X = X / np.abs(X).max(axis=0)
    exact = OrdinalSVM(kernel, C=1.0).fit(X, y)
    for features in (
        Nystroem(kernel, n_components=60, random_state=0),
        RandomPerceptrons(kernel, 3000, random_state=0),
    ):
        linear = PolyOrdinalSVM(1, C=1.0, scaling=False)
        pipeline = make_pipeline(features, linear).fit(X, y)
        scores = linear.rank_score(features.transform(X))
        assert np.corrcoef(scores, exact.rank_score(X))[0, 1] > 0.98
        assert (pipeline.predict(X) == exact.predict(X)).mean() > 0.9


def test_terms_beyond_memory_are_named(rows):
    y = rows[1]
    X = np.random.default_rng(3).normal(size=(120, 60))
    with pytest.raises(ValueError, match=r"terms needed for degree=8 and terms='cross' with 60"):
        PolyOrdinalSVM(8, terms="cross").fit(X, y)
    with pytest.raises(ValueError, match="max_bytes=1000 is less than"):
        PolyOrdinalSVM(2, terms="random", max_bytes=1000).fit(X, y)


def test_features_too_small_to_scale_count_as_zeros(rows):
    X, y, _ = rows
    small = X * [1.0, 1e-312, 1.0]
    assert (small[:, 1] != 0).any()
    expected = PolyOrdinalSVM(tol=1e-9).fit(X * [1.0, 0.0, 1.0], y)
    machine = PolyOrdinalSVM(tol=1e-9).fit(small, y)
    assert machine.scale_[1] == 1.0
    np.testing.assert_allclose(machine.rank_score(small), expected.rank_score(small), atol=1e-3)
    for nothing in (X * 1e-320, X * 0.0, sparse.csr_array(X * 1e-320)):
        scores = PolyOrdinalSVM().fit(nothing, y).rank_score(nothing)
        np.testing.assert_allclose(scores, 0.0, atol=1e-300)
    for scale in (True, False):
        assert np.isfinite(PolyOrdinalSVM(scaling=scale).fit(X * 1e-310, y).coef_).all()
