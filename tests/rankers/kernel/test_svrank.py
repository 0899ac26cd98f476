"""SVRank: its objective by the double loop, its forms against each other, its errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold

import rankwise
from rankwise import SVRank
from rankwise.losses.absolute_loss import pairwise_absolute
from rankwise.metrics import evaluate
from rankwise.solvers.newton.proximal_newton import ProximalNewton, kernel_products

GAMMA = 0.7


def rows(seed=0, n=30, d=3, n_queries=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.clip(np.round(X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(size=n)), -2, 3)
    return X, y, rng.integers(0, n_queries, n)


def skewed(X, Z):
    return rbf_kernel(X, Z, gamma=2.0) + 0.3 * X[:, :1] * np.sin(3 * Z[:, 1])


def gaussian(X, Z):
    return rbf_kernel(X, Z, gamma=GAMMA)


def tanh(X, Z):
    return np.tanh(0.9 * X @ Z.T - 0.8)


def objective(scores, norm, y, qid, lam, epsilon=0.0, w=None):
    """Mean loss over the ordered pairs of the queries plus ``lam`` times the squared norm."""
    w = np.ones(len(y)) if w is None else w
    r, total, pairs = y - scores, 0.0, 0.0
    for i, j in itertools.product(range(len(y)), repeat=2):
        if qid[i] == qid[j]:
            total += w[i] * w[j] * max(0.0, abs(r[i] - r[j]) - epsilon)
            pairs += w[i] * w[j]
    return total / pairs + lam * norm


# The objective ------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.6])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_objective_is_the_definition_and_nothing_near_is_lower(kernel, epsilon):
    X, y, qid = rows()
    w = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0
    gamma = GAMMA if kernel == "rbf" else None
    ranker = SVRank(kernel, gamma, lam=0.02, epsilon=epsilon, tol=1e-9).fit(
        X, y, qid=qid, sample_weight=w
    )
    K = gaussian(X, X) if kernel == "rbf" else X
    coef = ranker.dual_coef_ if kernel == "rbf" else ranker.coef_

    def value(c):
        scores = K @ c
        norm = c @ scores if kernel == "rbf" else c @ c
        return objective(scores, norm, y, qid, 0.02, epsilon, w)

    best = value(coef)
    assert ranker.objective_ == pytest.approx(best, rel=1e-12)
    assert ranker.dual_gap_ <= 1e-9
    np.testing.assert_allclose(ranker.predict(X), K @ coef, atol=1e-12)
    rng = np.random.default_rng(2)
    for size in (1.0, 1e-2, 1e-4):
        for _ in range(20):
            assert value(coef + size * rng.normal(size=len(coef))) >= best * (1 - 1e-9)


@pytest.mark.parametrize("query_weight", ["document", "query"])
def test_query_weights_are_those_of_the_solver(query_weight):
    X, y, qid = rows(1)
    order = np.argsort(qid, kind="stable")
    indptr = np.searchsorted(qid[order], np.arange(5))
    ranker = SVRank(gamma=GAMMA, lam=0.05, query_weight=query_weight, tol=1e-9)
    ranker.fit(X, y, qid=qid)
    loss = pairwise_absolute(indptr, None, epsilon=0.0, query_weight=query_weight)
    products = kernel_products(gaussian(X[order], X[order]), indptr)
    (result,) = ProximalNewton(tol=1e-9).path(loss, y[order], products, np.array([0.05]))
    difference = ranker.predict(X)[order] - gaussian(X[order], X[order]) @ result.x
    for lo, hi in itertools.pairwise(indptr):
        assert np.ptp(difference[lo:hi]) < 1e-5
    assert ranker.objective_ != SVRank(gamma=GAMMA, lam=0.05).fit(X, y, qid=qid).objective_


def test_limits():
    X, y, _ = rows(2)
    assert np.ptp(y - SVRank(gamma=4.0, lam=1e-8).fit(X, y).predict(X)) < 1e-5
    flat = SVRank(lam=1e7).fit(X, y)
    assert np.abs(flat.predict(X)).max() < 1e-6
    assert flat.objective_ == pytest.approx(objective(0 * y, 0.0, y, 0 * y, 1.0), rel=1e-6)
    insensitive = SVRank(lam=1e-3, epsilon=5.0).fit(X, y)
    np.testing.assert_array_equal(insensitive.predict(X), 0.0)
    assert insensitive.objective_ == 0.0


# Forms of one model -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_linear_is_the_precomputed_linear_kernel(n, epsilon):
    """Also with fewer rows than columns, where the other system is solved."""
    X, y, qid = rows(3, n, 8, 2)
    columns = SVRank("linear", lam=0.05, epsilon=epsilon, tol=1e-10).fit(X, y, qid=qid)
    values = SVRank("precomputed", lam=0.05, epsilon=epsilon, tol=1e-10).fit(X @ X.T, y, qid=qid)
    assert columns.objective_ == pytest.approx(values.objective_, rel=1e-9)
    np.testing.assert_allclose(columns.coef_, X.T @ values.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(columns.predict(X), values.predict(X @ X.T), atol=1e-4)
    sparse_rows = SVRank("linear", lam=0.05, epsilon=epsilon, tol=1e-10)
    sparse_rows.fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(sparse_rows.coef_, columns.coef_, atol=1e-6)


def test_precomputed_and_callable_are_the_named_kernel():
    X, y, qid = rows(4)
    w = np.arange(len(y)) % 3
    named = SVRank(gamma=GAMMA, lam=0.01, tol=1e-9).fit(X, y, qid=qid, sample_weight=w)
    called = SVRank(gaussian, lam=0.01, tol=1e-9).fit(X, y, qid=qid, sample_weight=w)
    K = gaussian(X, X)
    given = SVRank("precomputed", lam=0.01, tol=1e-9).fit(K, y, qid=qid, sample_weight=w)
    new = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(called.predict(new), named.predict(new), atol=1e-8)
    np.testing.assert_allclose(given.predict(gaussian(new, X)), named.predict(new), atol=1e-5)
    assert named.X_fit_.shape == (np.count_nonzero(w), 3)
    assert given.dual_coef_.shape == (len(y),)


def test_all_rows_as_landmarks_are_the_exact_model():
    X, y, qid = rows(5)
    exact = SVRank(gamma=GAMMA, lam=0.05, tol=1e-10).fit(X, y, qid=qid)
    mapped = SVRank(
        gamma=GAMMA, lam=0.05, approximation="nystroem", n_landmarks=30, random_state=0, tol=1e-10
    ).fit(X, y, qid=qid)
    assert mapped.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    np.testing.assert_allclose(mapped.predict(X), exact.predict(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_conditionally_definite_kernels_need_no_delta(kernel):
    X, y, qid = rows(6)
    first, second = (
        SVRank(kernel, lam=0.01, kernel_params={"delta": delta}, tol=1e-9).fit(X, y, qid=qid)
        for delta in (0.0, 50.0)
    )
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-6)
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-6)


def test_equal_rows_share_their_weight_and_the_order_changes_no_bit():
    X, y, qid = rows(7)
    X, y, qid = (np.concatenate([a, a[:10], a[:3]]) for a in (X, y, qid))
    model = SVRank(gamma=GAMMA, lam=1e-3).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.dual_coef_[:3], model.dual_coef_[30:33])
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = SVRank(gamma=GAMMA, lam=1e-3).fit(X[order], y[order], qid=qid[order])
    np.testing.assert_array_equal(shuffled.dual_coef_, model.dual_coef_[order])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_models_survive_a_file(kernel, tmp_path):
    X, y, qid = rows(8)
    ranker = SVRank(kernel, lam=[1.0, 0.1], measure="Misranking").fit(X, y, qid=qid)
    again = rankwise.load(ranker.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert again.objective_ == ranker.objective_


# The choice of lam --------------------------------------------------------------------------------


def test_a_grid_is_the_fits_one_by_one_and_val_chooses_the_best():
    X, y, qid = rows(9, 60)
    X_val, y_val, qid_val = rows(10, 60)
    grid = [1.0, 1e-3, 0.05]
    ranker = SVRank(gamma=GAMMA, lam=grid, measure="Misranking")
    ranker.fit(X, y, qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val)
    values = []
    for lam, coef in zip(ranker.path_["lam"], ranker.path_["coef"], strict=True):
        alone = SVRank(gamma=GAMMA, lam=lam).fit(X, y, qid=qid)
        np.testing.assert_allclose(gaussian(X, X) @ coef, alone.predict(X), atol=5e-3)
        scores = gaussian(X_val, X) @ coef
        values.append(evaluate(y_val, scores, qid_val, ["Misranking"])["Misranking"])
    np.testing.assert_allclose(ranker.cv_results_["mean_test_score"], values)
    assert ranker.lam_ == ranker.path_["lam"][np.argmin(values)]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_cross_validation_is_refitting_without_each_fold(kernel, cv):
    X, y, qid = rows(11, 60, n_queries=9)
    gamma = GAMMA if kernel == "rbf" else None
    settings = {"kernel": kernel, "gamma": gamma, "tol": 1e-9}
    ranker = SVRank(lam=[0.3, 0.01], cv=cv, measure="Misranking", **settings).fit(X, y, qid=qid)
    results = ranker.cv_results_
    assert results["fold_test_scores"].shape == (3, 2)
    assert ranker.lam_ == results["lam"][np.argmin(results["mean_test_score"])]
    if cv == 3:
        return
    codes = rankwise.QueryGroups.from_qid(qid, len(y)).codes()
    for fold, (train, test) in enumerate(cv.split(X, y, groups=codes)):
        for k, lam in enumerate(results["lam"]):
            part = SVRank(lam=lam, **settings).fit(X[train], y[train], qid=qid[train])
            value = evaluate(y[test], part.predict(X[test]), qid[test], ["Misranking"])
            assert results["fold_test_scores"][fold, k] == pytest.approx(value["Misranking"])


def test_rows_are_the_folds_of_few_queries_and_cv_is_a_grid():
    X, y, _ = rows(12, 40)
    ranker = SVRank(gamma=[0.1, GAMMA], lam="cv", measure="Misranking").fit(X, y)
    assert ranker.path_["lam"][0] == 10.0
    assert ranker.path_["lam"][-1] == pytest.approx(1e-6)
    assert ranker.gamma_ in (0.1, GAMMA)
    assert set(ranker.cv_results_["gamma"]) == {0.1, GAMMA}
    assert np.isfinite(ranker.cv_results_["mean_test_score"]).all()


# Errors and warnings ------------------------------------------------------------------------------


def test_too_few_steps_warn_with_the_gap():
    X, y, qid = rows(13)
    with pytest.warns(
        ConvergenceWarning,
        match=r"stopped after 1 steps at lam=0.01; the relative .* Increase max_iter",
    ):
        ranker = SVRank(lam=0.01, max_iter=1).fit(X, y, qid=qid)
    assert ranker.n_iter_ == 1
    exact = SVRank(lam=0.01, tol=1e-9).fit(X, y, qid=qid)
    lower = ranker.objective_ * (1 - ranker.dual_gap_)
    assert lower <= exact.objective_ <= ranker.objective_


@pytest.mark.parametrize("kernel", ["sigmoid", tanh, "precomputed"])
def test_indefinite_kernels_are_refused(kernel):
    X, y, qid = rows(14)
    given = tanh(X, X) if kernel == "precomputed" else X
    with pytest.raises(ValueError, match="kernel must be positive semidefinite on coefficients"):
        SVRank(kernel).fit(given, y, qid=qid)


def test_asymmetric_kernels_are_refused():
    X, y, qid = rows(15)
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        SVRank(skewed).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": 0.0}, "'lam' parameter"),
        ({"lam": [1.0, 0.0]}, "lam must be a number or a list of numbers"),
        ({"lam": "loqo"}, "'lam' parameter"),
        ({"lam": "val"}, 'lam="val" needs validation data'),
        ({"epsilon": -1.0}, "'epsilon' parameter"),
        ({"max_bytes": 1000}, "max_bytes=1000 is less than the"),
        ({"tol": 0.0}, "'tol' parameter"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y, qid = rows(16)
    with pytest.raises(ValueError, match=message):
        SVRank(**params).fit(X, y, qid=qid)


def test_nothing_adds_up():
    X, y, qid = rows(17)
    assert not hasattr(SVRank(), "partial_fit")
    assert not hasattr(SVRank("linear"), "partial_fit")
    with pytest.raises(ValueError, match="SVRank needs all rows in memory"):
        SVRank("linear").fit(rankwise.streams.stream([(X, y, qid)]))
