"""SVRRanker: scikit-learn's SVR behind the qid API, the linear kernel on columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVR

from rankwise import QueryGroups, SVRank, SVRRanker, load
from rankwise.features.kernels import gamma_grid
from rankwise.metrics import parse
from rankwise.streams import stream
from rankwise.tuning import fold_splits

GAMMA = 0.7


def rows(seed=0, n=50, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.clip(np.round(X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(size=n)), -2, 3)
    return X, y, rng.integers(0, 5, n)


def gaussian(X, Z):
    return rbf_kernel(X, Z, gamma=GAMMA)


def objective(coef, intercept, X, y, C, epsilon, w=1.0):
    beyond = np.abs(y - X @ coef - intercept) - epsilon
    return 0.5 * coef @ coef + C * (w * np.maximum(beyond, 0.0)).sum()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"kernel": "rbf", "gamma": GAMMA}, {"kernel": "rbf", "gamma": GAMMA}),
        (
            {"kernel": "polynomial", "gamma": 0.5, "kernel_params": {"degree": 2, "coef0": 1.0}},
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
        ),
        (
            {"kernel": "sigmoid", "gamma": 0.1, "kernel_params": {"coef0": 0.2}},
            {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.2},
        ),
        (
            {"kernel": "laplacian", "gamma": 0.3},
            {"kernel": lambda X, Z: laplacian_kernel(X, Z, gamma=0.3)},
        ),
    ],
)
def test_kernels_are_those_of_scikit_learn(ours, theirs):
    X, y, qid = rows()
    w = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0
    ranker = SVRRanker(**ours, C=2.0, epsilon=0.2, tol=1e-8).fit(X, y, qid=qid, sample_weight=w)
    peer = SVR(**theirs, C=2.0, epsilon=0.2, tol=1e-8).fit(X, y, sample_weight=w)
    new = rows(1)[0]
    np.testing.assert_allclose(ranker.predict(new), peer.predict(new), atol=1e-5)
    assert ranker.n_iter_ > 1


def test_gamma_is_the_median_heuristic():
    X, y, _ = rows()
    from rankwise.features.kernels import median_gamma

    assert SVRRanker().fit(X, y).gamma_ == pytest.approx(median_gamma(X))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.8])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_linear_kernel_on_columns_is_at_least_as_good_as_libsvm(C, epsilon):
    X, y, qid = rows(2, 200, 6)
    w = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0
    ranker = SVRRanker("linear", C=C, epsilon=epsilon, tol=1e-7).fit(X, y, qid=qid, sample_weight=w)
    peer = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-8).fit(X, y, sample_weight=w)
    ours = objective(ranker.coef_, ranker.intercept_, X, y, C, epsilon, w)
    theirs = objective(peer.coef_[0], peer.intercept_[0], X, y, C, epsilon, w)
    assert ours <= theirs * (1 + 1e-8)
    assert ours == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(ranker.predict(X), X @ ranker.coef_ + ranker.intercept_)


def test_wide_rows_use_libsvm_and_give_columns():
    X, y, qid = rows(3, 12, 20)
    ranker = SVRRanker("linear", C=0.5, tol=1e-8).fit(X, y, qid=qid)
    peer = SVR(kernel="linear", C=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(ranker.predict(X), peer.predict(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_queries_change_nothing_and_weights_are_repetition(kernel):
    X, y, qid = rows(4)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    weighted = SVRRanker(kernel).fit(X, y, qid=qid, sample_weight=w).predict(X)
    repeated = SVRRanker(kernel).fit(X[again], y[again]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-12)


def test_precomputed_and_callable_are_the_named_kernel():
    X, y, qid = rows(5)
    w = np.arange(len(y)) % 3
    settings = {"C": 2.0, "tol": 1e-7}
    named = SVRRanker(gamma=GAMMA, **settings).fit(X, y, qid=qid, sample_weight=w)
    called = SVRRanker(gaussian, **settings).fit(X, y, qid=qid, sample_weight=w)
    given = SVRRanker("precomputed", **settings).fit(gaussian(X, X), y, qid=qid, sample_weight=w)
    new = rows(6)[0]
    np.testing.assert_allclose(called.predict(new), named.predict(new), atol=1e-5)
    np.testing.assert_allclose(given.predict(gaussian(new, X)), named.predict(new), atol=1e-5)
    assert given.dual_coef_.shape == (len(y),)
    assert len(named.X_fit_) == len(named.dual_coef_) <= np.count_nonzero(w)


@pytest.mark.parametrize("kernel", ["perceptron", "stump"])
def test_conditionally_definite_kernels_need_no_delta(kernel):
    X, y, qid = rows(7)
    first, second = (
        SVRRanker(kernel, kernel_params={"delta": delta}, tol=1e-7).fit(X, y, qid=qid)
        for delta in (0.0, 5.0)
    )
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "stump"])
def test_sparse_rows_and_files(kernel, tmp_path):
    X, y, qid = rows(8)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = SVRRanker(kernel).fit(X, y, qid=qid)
    for max_bytes in (2**33, 2**15):
        given = SVRRanker(kernel, max_bytes=max_bytes).fit(sparse.csr_array(X), y, qid=qid)
        np.testing.assert_allclose(given.predict(X), dense.predict(X), atol=1e-3)
    again = load(dense.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), dense.predict(X))


def test_a_sparse_matrix_beyond_max_bytes_stays_sparse():
    X, y, _ = rows(9, 40, 30)
    X = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
    ranker = SVRRanker(max_bytes=8 * 40 * 30 - 1, tol=1e-8).fit(X, y)
    assert sparse.issparse(ranker.X_fit_)
    same = SVRRanker(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ranker.predict(X), same.predict(X), atol=1e-6)


def test_one_label_and_one_row_give_a_constant():
    X, y, _ = rows(10)
    for ranker in (SVRRanker(), SVRRanker("linear"), SVRRanker("stump")):
        np.testing.assert_allclose(ranker.fit(X, 0 * y + 2).predict(X), 2.0, atol=0.1 + 1e-9)
        np.testing.assert_allclose(ranker.fit(X[:1], y[:1]).predict(X[:1]), y[:1], atol=0.1 + 1e-9)


@pytest.mark.parametrize(
    ("kernel", "d"), [("rbf", 3), ("linear", 3), ("linear", 60), ("laplacian", 3)]
)
def test_the_search_is_that_of_single_fits(kernel, d):
    X, y, qid = rows(13, 60, d)
    qid = qid + 5 * (np.arange(60) % 2)
    w = np.arange(60) % 3 + 1.0
    common = {
        "kernel": kernel,
        "gamma": None if kernel == "linear" else 0.3,
        "epsilon": 0.2,
        "tol": 1e-7,
    }
    C = [0.02, 0.5, 8.0]
    ranker = SVRRanker(C=C[::-1], cv=4, measure="MSD", **common).fit(X, y, qid=qid, sample_weight=w)
    measure, expected = parse("MSD"), np.empty((4, 3))
    splits = fold_splits(X, y, QueryGroups.from_qid(qid, 60), 4)
    for fold, (train, test) in enumerate(splits):
        held = QueryGroups.from_qid(qid[test], len(test))
        for k, c in enumerate(C):
            single = SVRRanker(C=c, **common).fit(X[train], y[train], sample_weight=w[train])
            expected[fold, k] = measure.mean(y[test], single.predict(X[test]), held)
    np.testing.assert_allclose(ranker.cv_results_["fold_test_scores"], expected, rtol=1e-4)
    best = int(np.argmin(expected.mean(axis=0)))
    assert C[best] == ranker.C_
    np.testing.assert_array_equal(ranker.path_["C"], C)
    single = SVRRanker(C=C[best], **common).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ranker.predict(X), single.predict(X), atol=1e-5)
    coef = ranker.path_["coef"][best]
    fitted = X @ coef if kernel == "linear" else ranker.kernel_(X, X) @ coef
    np.testing.assert_allclose(fitted + ranker.intercept_, ranker.predict(X), atol=1e-8)


def test_a_precomputed_kernel_is_searched_without_its_unweighted_rows():
    X, y, qid = rows(14, 60)
    w = np.arange(60) % 3
    settings = {"C": [0.1, 1.0], "cv": 3, "tol": 1e-7, "measure": "MSD"}
    named = SVRRanker(gamma=GAMMA, **settings).fit(X, y, qid=qid, sample_weight=w)
    given = SVRRanker("precomputed", **settings).fit(gaussian(X, X), y, qid=qid, sample_weight=w)
    scores = [ranker.cv_results_["fold_test_scores"] for ranker in (named, given)]
    np.testing.assert_allclose(*scores, rtol=1e-4)
    np.testing.assert_allclose(given.predict(gaussian(X, X)), named.predict(X), atol=1e-5)


def test_width_and_zone_are_searched_with_C():
    X, y, qid = rows(15, 80)
    X_val, y_val, qid_val = rows(16, 40)
    validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    gammas, epsilons, C = [0.1, 2.0], [0.0, 0.5], [0.1, 10.0]
    ranker = SVRRanker("rbf", gammas, C=C, epsilon=epsilons, measure="MSD")
    ranker.fit(X, y, qid=qid, **validation)
    results = ranker.cv_results_
    assert results["mean_test_score"].shape == (8,)
    held = QueryGroups.from_qid(qid_val, 40)
    for k, score in enumerate(results["mean_test_score"]):
        single = SVRRanker(
            "rbf", results["gamma"][k], C=results["C"][k], epsilon=results["epsilon"][k]
        )
        scores = single.fit(X, y).predict(X_val)
        assert score == pytest.approx(parse("MSD").mean(y_val, scores, held), rel=1e-3)
    best = int(np.argmin(results["mean_test_score"]))
    chosen = (ranker.gamma_, ranker.C_, ranker.epsilon_)
    assert chosen == tuple(results[name][best] for name in ("gamma", "C", "epsilon"))
    by_folds = SVRRanker("rbf", "cv", C="cv", epsilon=0.2, cv=2, measure="MSD").fit(X, y, qid=qid)
    assert set(by_folds.cv_results_["C"]) == {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0}
    np.testing.assert_allclose(np.unique(by_folds.cv_results_["gamma"]), sorted(gamma_grid(X)))
    assert "epsilon" not in by_folds.cv_results_
    one = SVRRanker("linear", epsilon=[0.1, 0.3], measure="MSD").fit(X, y, qid=qid)
    assert one.epsilon_ in (0.1, 0.3)
    assert "gamma" not in one.cv_results_


def test_rows_must_be_in_memory():
    X, y, qid = rows(17)
    with pytest.raises(ValueError, match="SVRRanker needs all rows in memory, got a stream"):
        SVRRanker().fit(stream([(X, y, qid)]))
    assert not hasattr(SVRRanker("linear"), "partial_fit")


@pytest.mark.parametrize("precomputed", [False, True])
def test_a_kernel_that_is_not_symmetric_is_refused(precomputed):
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 6)), rng.integers(0, 3, 200)

    def share(A, B):
        return np.minimum(A[:, None], B).sum(axis=2) / B.sum(axis=1)

    rows, kernel = (share(X, X), "precomputed") if precomputed else (X, share)
    with pytest.raises(ValueError, match="must be symmetric"):
        SVRRanker(kernel, C=100.0).fit(rows, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_too_few_steps_warn(kernel):
    X, y, qid = rows(11)
    with pytest.warns(ConvergenceWarning):
        SVRRanker(kernel, max_iter=2).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": [0.0, 1.0]}, "C must be a number or a list of numbers"),
        ({"C": [1.0, np.inf]}, "C must be a number or a list of numbers"),
        ({"C": "val"}, 'C="val" needs validation data'),
        ({"C": "cv", "measure": "nDCG"}, "measure='nDCG', which chooses C, does not accept"),
        ({"epsilon": -0.1}, "'epsilon' parameter"),
        ({"epsilon": [0.1, -0.1], "measure": "MSD"}, "epsilon must be a number >= 0 or a list"),
        ({"epsilon": [], "measure": "MSD"}, "epsilon must be a number >= 0 or a list"),
        ({"kernel": "stump", "max_bytes": 100}, "max_bytes=100 is less than the"),
        ({"kernel": "precomputed"}, r"needs X of shape \(n_samples, n_samples\)"),
        ({"kernel": "cosine"}, "'kernel' parameter"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y, qid = rows(12)
    with pytest.raises(ValueError, match=message):
        SVRRanker(**params).fit(X, y, qid=qid)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-30])
@pytest.mark.parametrize("ranker", [SVRRanker("linear"), SVRank("linear")], ids=["svr", "svrank"])
def test_tiny_columns_have_weights_of_their_size(ranker, scale, rng):
    X, y = rng.normal(size=(24, 3)), rng.integers(0, 3, 24).astype(float)
    small = clone(ranker).fit(X * 1e-10, y).coef_
    np.testing.assert_allclose(clone(ranker).fit(X * scale, y).coef_, small * (scale / 1e-10))
