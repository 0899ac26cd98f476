"""RankSVM: its objective over explicit pairs, peers as oracles, weights, margins, kernels."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from rankwise import RankSVM
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.losses.score_loss import PAIR_WEIGHTS, label_codes, pair_table
from rankwise.solvers.newton.score_path import kernel_factor


@pytest.fixture
def judged(rng):
    X, qid = rng.normal(size=(60, 4)), rng.integers(0, 8, 60)
    y = np.clip(np.round(X[:, 0] + 1 + 0.5 * rng.normal(size=60)), 0, 3)
    return X, y, qid


def pairs(y, qid):
    upper, lower = np.nonzero((qid[:, None] == qid) & (y[:, None] > y))
    return upper, lower


def objective(scores, norm, C, y, qid, weight=None, margin=None, power=2):
    upper, lower = pairs(y, qid)
    margin = 1.0 if margin is None else y[upper] - y[lower]
    weight = 1.0 if weight is None else weight(y[upper], y[lower])
    slack = np.maximum(0, margin - (scores[upper] - scores[lower]))
    return 0.5 * norm + C * float(np.sum(weight * slack**power))


# The loss ----------------------------------------------------------------------------------------


def dense_loss(loss, scores):
    """Value, gradient and second derivative over explicit pairs."""
    n, keys = len(scores), scores - loss.offset
    value, gradient, curvature = 0.0, np.zeros(n), np.zeros((n, n))
    for query in range(len(loss.indptr) - 1):
        rows = range(loss.indptr[query], loss.indptr[query + 1])
        for i in rows:
            for j in rows:
                if loss.grades[i] <= loss.grades[j]:
                    continue
                pair = loss.scale[query] * loss.weight[i] * loss.weight[j]
                pair *= loss.table[loss.grades[i], loss.grades[j]]
                slack = loss.margin - (keys[i] - keys[j])
                bent = min(max(slack, 0.0), loss.bend)
                over = max(slack - loss.bend, 0.0)
                slope = 2 * loss.curvature * bent * pair
                value += pair * loss.curvature * bent**2 + slope * over
                gradient[i] -= slope
                gradient[j] += slope
                bend = 2 * loss.curvature * pair if 0 < slack <= loss.bend else 0.0
                curvature[[i, j], [i, j]] += bend
                curvature[[i, j], [j, i]] -= bend
    return value, gradient, curvature


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.sampled_from([np.inf, 0.5, 2.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_loss_from_order_statistics_is_that_over_pairs(seed, sizes, bend, margin):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(indptr[-1])
    scores = rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0]) + rng.choice([0.0, 100.0])
    loss = PairwiseHinge(
        indptr, rng.integers(0, 4, n), rng.random(n), rng.random(len(sizes)),
        np.tril(rng.random((4, 4)), -1), rng.choice([0, 1]) * rng.normal(size=n),
        margin, bend, 1.0 if np.isinf(bend) else 0.5 / bend,
    )  # fmt: skip
    state, gradient = loss.part(0, len(sizes)), np.empty(n)
    value, slopes, curvature = dense_loss(loss, scores)
    assert state.value_grad(scores, gradient) == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9)
    step, curved = rng.normal(size=n), np.empty(n)
    state.curvature(step, curved)
    np.testing.assert_allclose(curved, curvature @ step, rtol=1e-9, atol=1e-9)
    assert state.total_curvature() == pytest.approx(np.trace(curvature), abs=1e-9)


@given(hnp.arrays(float, 6, elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0])))
def test_hinge_without_bend_is_that_over_pairs(scores):
    grades = np.array([0, 1, 2, 0, 1, 2])
    table = np.tril(np.ones((3, 3)), -1)
    loss = PairwiseHinge(
        np.array([0, 4, 6]), grades, np.ones(6), np.array([1.0, 2.0]), table, np.zeros(6)
    )
    expected = 0.0
    for query, rows in enumerate(([0, 1, 2, 3], [4, 5])):
        expected += (query + 1) * sum(
            max(0.0, 1 - scores[i] + scores[j])
            for i in rows for j in rows if grades[i] > grades[j]
        )  # fmt: skip
    assert loss.part(0, 2).hinge(scores) == pytest.approx(expected)


def test_rows_far_from_sorted_and_nearly_sorted_agree(rng):
    loss = PairwiseHinge(
        np.array([0, 500]), rng.integers(0, 3, 500), np.ones(500), np.ones(1),
        np.tril(np.ones((3, 3)), -1), np.zeros(500),
    )  # fmt: skip
    state, again, out = loss.part(0, 1), np.empty(500), np.empty(500)
    scores = rng.normal(size=500)
    first = state.value_grad(scores, out)
    state.value_grad(-scores, again)
    assert state.value_grad(scores + 1e-3 * rng.normal(size=500), again) != first
    assert state.value_grad(scores, again) == first
    np.testing.assert_allclose(again, out, rtol=1e-12, atol=1e-12)


# The solution ------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_objective_is_the_least_over_explicit_pairs(C, judged):
    X, y, qid = judged
    ranker = RankSVM(C=C, tol=1e-12).fit(X, y, qid=qid)

    def value(w):
        return objective(X @ w, w @ w, C, y, qid)

    best = minimize(value, np.zeros(4), tol=1e-14).fun
    assert ranker.objective_ == pytest.approx(value(ranker.coef_), rel=1e-12)
    assert ranker.objective_ == pytest.approx(best, rel=1e-8)
    assert ranker.dual_gap_ <= 1e-12


def test_squared_hinge_is_liblinear_on_differences(judged):
    X, y, qid = judged
    upper, lower = pairs(y, qid)
    D = X[upper] - X[lower]
    both, sign = np.vstack([D, -D]), np.repeat([1, -1], len(D))
    peer = LinearSVC(C=0.25, dual=False, fit_intercept=False, tol=1e-10).fit(both, sign)
    ranker = RankSVM(C=0.5, tol=1e-12).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_hinge_is_libsvm_on_differences(C, judged):
    X, y, qid = judged
    upper, lower = pairs(y, qid)
    D = X[upper] - X[lower]
    both, sign = np.vstack([D, -D]), np.repeat([1, -1], len(D))
    peer = SVC(C=C / 2, kernel="linear", tol=1e-8).fit(both, sign).coef_[0]
    ranker = RankSVM(C=C, loss="hinge", tol=1e-6).fit(X, y, qid=qid)
    got = objective(X @ ranker.coef_, ranker.coef_ @ ranker.coef_, C, y, qid, power=1)
    assert ranker.objective_ == pytest.approx(got, rel=1e-12)
    assert got == pytest.approx(objective(X @ peer, peer @ peer, C, y, qid, power=1), rel=2e-6)
    assert 0 <= ranker.dual_gap_ <= 1e-6


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "perceptron", "stump"])
def test_exact_kernel_has_the_least_objective_of_its_expansions(kernel, judged, rng):
    X, y, qid = judged
    ranker = RankSVM(C=2.0, kernel=kernel, tol=1e-12).fit(X, y, qid=qid)
    K, a = ranker.kernel_(X, X), ranker.dual_coef_

    def value(coef):
        scores = K @ coef
        return objective(scores, coef @ scores, 2.0, y, qid)

    assert value(a) == pytest.approx(ranker.objective_, rel=1e-6)
    np.testing.assert_allclose(ranker.predict(X), K @ a, rtol=1e-9, atol=1e-9)
    _, group = np.unique(qid, return_inverse=True)
    for _ in range(20):  # on directions that sum to 0 in each query
        step = rng.normal(size=len(y))
        step -= (np.bincount(group, step) / np.bincount(group))[group]
        assert value(a + 1e-3 * step) > value(a) - 1e-9


def test_linear_kernel_given_as_values_is_the_linear_ranker(judged):
    X, y, qid = judged
    K = X @ X.T
    ranker = RankSVM(kernel="precomputed", tol=1e-12).fit(K, y, qid=qid)
    linear = RankSVM(tol=1e-12).fit(X, y, qid=qid)
    difference = ranker.predict(K) - linear.predict(X)
    for query in np.unique(qid):
        assert np.ptp(difference[qid == query]) < 1e-5


def test_every_landmark_is_the_exact_kernel(judged):
    X, y, qid = judged
    exact = RankSVM(kernel="rbf", gamma=0.3, tol=1e-12).fit(X, y, qid=qid)
    near = RankSVM(
        kernel="rbf", gamma=0.3, tol=1e-12, approximation="nystroem", n_landmarks=60, random_state=0
    ).fit(X, y, qid=qid)
    np.testing.assert_allclose(near.predict(X), exact.predict(X), atol=1e-3)
    assert near.objective_ == pytest.approx(exact.objective_, rel=1e-4)


@pytest.mark.parametrize("pair_weight", [*PAIR_WEIGHTS, lambda a, b: a**2 + b])
def test_pair_weights(pair_weight, judged):
    X, y, qid = judged
    weights = {
        "difference": lambda a, b: a - b,
        "gain": lambda a, b: 2**a - 2**b,
        "power": lambda a, b: np.maximum(a, b) ** np.abs(a - b),
        "product": lambda a, b: np.maximum(a, b) * np.abs(a - b),
    }
    weight = weights.get(pair_weight, pair_weight) if isinstance(pair_weight, str) else pair_weight
    ranker = RankSVM(pair_weight=pair_weight, tol=1e-12).fit(X, y, qid=qid)

    def value(w):
        return objective(X @ w, w @ w, 1.0, y, qid, weight)

    assert value(ranker.coef_) == pytest.approx(ranker.objective_, rel=1e-10)
    assert ranker.objective_ == pytest.approx(minimize(value, np.zeros(4), tol=1e-14).fun, rel=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margin_of_label_differences(loss, judged, rng):
    X, _, qid = judged
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    ranker = RankSVM(margin="difference", loss=loss, tol=1e-6).fit(X, y, qid=qid)
    power = 2 if loss == "squared_hinge" else 1

    def value(w):
        return objective(X @ w, w @ w, 1.0, y, qid, margin="difference", power=power)

    assert value(ranker.coef_) == pytest.approx(ranker.objective_, rel=1e-10)
    best = minimize(value, ranker.coef_, method="Nelder-Mead", tol=1e-9).fun
    assert ranker.objective_ <= best * (1 + 3e-6)


@pytest.mark.parametrize(("query_weight", "power"), [("document", -1), ("query", -2)])
def test_query_weights_scale_each_query(query_weight, power, judged):
    X, y, qid = judged
    sizes = np.bincount(qid)
    ranker = RankSVM(query_weight=query_weight, tol=1e-12).fit(X, y, qid=qid)
    w = ranker.coef_
    expected = 0.5 * w @ w + sum(
        float(size) ** power * objective(X[qid == q] @ w, 0.0, 1.0, y[qid == q], qid[qid == q])
        for q, size in enumerate(sizes)
        if size
    )
    assert ranker.objective_ == pytest.approx(expected, rel=1e-10)


def test_path_is_what_single_fits_give(judged):
    X, y, qid = judged
    Cs = [0.01, 1.0, 100.0]
    path = RankSVM(C=Cs, measure="AP", tol=1e-12).fit(X, y > 1, qid=qid)
    for C, coef in zip(path.path_["C"], path.path_["coef"], strict=True):
        single = RankSVM(C=C, tol=1e-12).fit(X, y > 1, qid=qid)
        np.testing.assert_allclose(coef, single.coef_, rtol=1e-4, atol=1e-6)
    assert path.C_ in Cs


def test_sparse_columns_stay_sparse_and_agree(judged, rng):
    X, y, qid = judged
    X = np.where(rng.random(X.shape) < 0.6, 0.0, X)
    dense = RankSVM(tol=1e-12).fit(X, y, qid=qid)
    thin = RankSVM(tol=1e-12).fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_many_rows_on_any_number_of_threads(rng, monkeypatch):
    X, qid = rng.normal(size=(9000, 30)).astype(np.float32), np.repeat(np.arange(90), 100)
    y = np.digitize(X[:, 0] + rng.normal(size=9000), [0.5, 1.5])
    got = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        got.append(RankSVM(C=0.01).fit(X, y, qid=qid).coef_)
    np.testing.assert_array_equal(got[0], got[1])


def test_steps_that_run_out_are_said(judged):
    X, y, qid = judged
    with pytest.warns(ConvergenceWarning, match="RankSVM stopped after 1 steps at C=100; the"):
        RankSVM(C=100.0, max_iter=1).fit(X, y, qid=qid)


def test_kernels_that_are_not_definite_are_refused(judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="kernel must be positive semidefinite"):
        RankSVM(kernel="sigmoid", gamma=5.0).fit(X, y, qid=qid)


def test_weights_of_pairs_are_checked():
    grades = np.array([-1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match=r"got -1 for the labels .*Use another weight"):
        pair_table(lambda a, b: b, grades)
    with pytest.raises(ValueError, match="one weight per pair of grades"):
        pair_table(lambda a, b: np.ones(2), grades)


def test_factor_of_a_kernel_has_its_rank(rng):
    A = rng.normal(size=(30, 4))
    U = kernel_factor(A @ A.T)
    assert U.shape == (30, 4)
    np.testing.assert_allclose(U @ U.T, A @ A.T, atol=1e-10)


# Many labels -------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.sampled_from([np.inf, 0.5, 2.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_trees_of_sums_give_the_loss_of_the_table(seed, sizes, bend, margin):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(indptr[-1])
    y, scores, step = rng.integers(0, 5, n).astype(float), rng.normal(size=n), rng.normal(size=n)
    rest = (rng.random(n), rng.random(len(sizes)))
    shape = (rng.normal(size=n), margin, bend, 1.0 if np.isinf(bend) else 0.5 / bend)
    table = np.tril(np.ones((5, 5)), -1)
    few = PairwiseHinge(indptr, y.astype(np.int64), *rest, table, *shape).part(0, len(sizes))
    codes = label_codes(y, indptr, None)
    for lo, hi in itertools.pairwise(indptr):
        expected = np.unique(y[lo:hi], return_inverse=True)[1]
        assert codes[lo:hi].tolist() == expected.tolist()
    many = PairwiseHinge(indptr, codes, *rest, None, *shape).part(0, len(sizes))
    got, expected = np.empty(n), np.empty(n)
    value = few.value_grad(scores, expected)
    assert many.value_grad(scores, got) == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    few.curvature(step, expected)
    many.curvature(step, got)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    assert many.hinge(scores) == pytest.approx(few.hinge(scores), rel=1e-9, abs=1e-9)
    assert many.total_curvature() == pytest.approx(few.total_curvature(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_real_targets_have_as_many_labels_as_rows(loss, rng):
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300)
    ranker = RankSVM(C=1e-3, loss=loss, tol=1e-6).fit(X, y)
    qid, power = np.zeros(300), 2 if loss == "squared_hinge" else 1

    def value(w):
        return objective(X @ w, w @ w, 1e-3, y, qid, power=power)

    assert ranker.objective_ == pytest.approx(value(ranker.coef_), rel=1e-9)
    best = minimize(value, ranker.coef_, method="Nelder-Mead", tol=1e-9).fun
    assert ranker.objective_ <= best * (1 + 3e-6)


def test_memory_does_not_grow_with_the_pairs(rng):
    X = rng.normal(size=(20_000, 2))
    ranker = RankSVM(C=1e-6).fit(X, X[:, 0] + rng.normal(size=20_000))  # 200 million pairs
    assert ranker.coef_[0] > 20 * abs(ranker.coef_[1])
    with pytest.raises(ValueError, match="takes at most 4096 distinct labels, got 20000"):
        RankSVM(pair_weight="difference").fit(X, rng.normal(size=20_000))


def test_a_tolerance_below_rounding_leads_to_no_worse_hinge():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(24, 3)), rng.integers(0, 4, 24), np.repeat(range(3), 8)
    loose = RankSVM(C=0.3, loss="hinge", tol=1e-6).fit(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tight = RankSVM(C=0.3, loss="hinge", tol=1e-9).fit(X, y, qid=qid)
    assert tight.objective_ <= loose.objective_ * (1 + 1e-6)
