"""RankLR: logistic regression on explicit differences as oracle, drawn pairs, products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from rankwise import RankLR
from rankwise.features.score_expansions import ProductsMap
from rankwise.losses.pair_loss import PairwiseLogistic
from rankwise.solvers.newton.pair_subsets import PairDraw


@pytest.fixture
def judged(rng):
    X, qid = rng.normal(size=(60, 4)), rng.integers(0, 8, 60)
    y = np.clip(np.round(X[:, 0] + 1 + 0.5 * rng.normal(size=60)), 0, 3)
    return X, y, qid


def differences(X, y, qid):
    upper, lower = np.nonzero((qid[:, None] == qid) & (y[:, None] > y))
    return X[upper] - X[lower]


def random_loss(rng, sizes):
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(indptr[-1])
    weight = rng.choice([1.0, 1.0, 0.5], n)
    table = np.tril(rng.random((4, 4)), -1)
    return PairwiseLogistic(indptr, rng.integers(0, 4, n), weight, rng.random(len(sizes)), table)


def explicit(loss):
    """Rows and weight of every pair."""
    for query in range(len(loss.scale)):
        rows = range(loss.indptr[query], loss.indptr[query + 1])
        for i in rows:
            for j in rows:
                if loss.grades[i] > loss.grades[j]:
                    pair = loss.table[loss.grades[i], loss.grades[j]] * loss.scale[query]
                    yield i, j, pair * loss.weight[i] * loss.weight[j]


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.sampled_from([0.1, 1.0, 100.0]),
)
def test_loss_is_that_over_pairs(seed, sizes, spread):
    rng = np.random.default_rng(seed)
    loss = random_loss(rng, sizes)
    n = int(loss.indptr[-1])
    scores, step = spread * rng.normal(size=n) + 50, rng.normal(size=n)
    value, slopes, bends, trace = 0.0, np.zeros(n), np.zeros(n), 0.0
    for i, j, pair in explicit(loss):
        gap = scores[i] - scores[j]
        share = 0.5 * (1 - np.tanh(gap / 2))
        value += pair * np.logaddexp(0, -gap)
        slopes[[i, j]] += np.array([-1, 1]) * pair * share
        bend = pair * share * (1 - share)
        bends[[i, j]] += np.array([1, -1]) * bend * (step[i] - step[j])
        trace += 2 * bend
    state, gradient, curved = loss.part(0, len(sizes)), np.empty(n), np.empty(n)
    assert state.value_grad(scores, gradient) == pytest.approx(value, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9)
    state.curvature(step, curved)
    np.testing.assert_allclose(curved, bends, rtol=1e-9, atol=1e-9)
    assert state.total_curvature() == pytest.approx(trace, rel=1e-6, abs=1e-9)


def test_scores_too_far_apart_have_an_infinite_loss():
    loss = PairwiseLogistic(
        np.array([0, 2]), np.array([0, 1]), np.ones(2), np.ones(1), np.tril(np.ones((2, 2)), -1)
    )
    state, out = loss.part(0, 1), np.empty(2)
    assert state.value_grad(np.array([0.0, 601.0]), out) == np.inf
    assert state.value_grad(np.array([0.0, 599.0]), out) == pytest.approx(0.0, abs=1e-200)
    assert state.value_grad(np.array([599.0, 0.0]), out) == pytest.approx(599.0)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_solution_is_logistic_regression_on_differences(C, judged):
    X, y, qid = judged
    D = differences(X, y, qid)
    both, sign = np.vstack([D, -D]), np.repeat([1, -1], len(D))
    peer = LogisticRegression(C=C / 2, fit_intercept=False, tol=1e-12, max_iter=10_000)
    peer.fit(both, sign)
    ranker = RankLR(C=C, tol=1e-12).fit(X, y, qid=qid)
    w = ranker.coef_
    np.testing.assert_allclose(w, peer.coef_[0], rtol=1e-4, atol=1e-5)
    expected = 0.5 * w @ w + C * np.logaddexp(0, -D @ w).sum()
    assert ranker.objective_ == pytest.approx(expected, rel=1e-12)


def test_degree_two_is_on_products(judged):
    X, y, qid = judged
    products = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    np.testing.assert_allclose(ProductsMap(4)(X), products)
    ranker = RankLR(degree=2, tol=1e-12).fit(X, y, qid=qid)
    linear = RankLR(tol=1e-12).fit(products, y, qid=qid)
    np.testing.assert_allclose(ranker.coef_, linear.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X), linear.predict(products), rtol=1e-9)
    thin = RankLR(degree=2, tol=1e-12).fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), ranker.predict(X), rtol=1e-9)
    searched = RankLR(C="cv", degree=2, cv=3).fit(X, y, qid=qid)
    assert searched.coef_.shape == (14,)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_drawn_pairs_come_near_the_solution(C, judged):
    X, y, qid = judged
    exact = RankLR(C=C).fit(X, y, qid=qid)
    drawn = RankLR(C=C, solver="sgd", n_steps=200_000, random_state=0).fit(X, y, qid=qid)
    assert exact.objective_ <= drawn.objective_ * (1 + 1e-6)
    assert drawn.objective_ < exact.objective_ * 1.001
    again = RankLR(C=C, solver="sgd", n_steps=200_000, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_array_equal(drawn.coef_, again.coef_)


def test_pairs_are_drawn_by_their_weight(rng):
    loss = random_loss(rng, [5, 0, 6, 1])
    pairs = PairDraw.of(loss)
    expected = {(i, j): weight for i, j, weight in explicit(loss)}
    assert pairs.total == pytest.approx(sum(expected.values()))
    upper, lower = pairs.draw(np.random.RandomState(0), 200_000)
    got = np.zeros((12, 12))
    np.add.at(got, (upper, lower), pairs.total / 200_000)
    for i in range(12):
        for j in range(12):
            assert got[i, j] == pytest.approx(expected.get((i, j), 0.0), abs=0.02)
            assert (got[i, j] > 0) == (expected.get((i, j), 0.0) > 0)


def test_one_huge_query_by_drawn_pairs(rng):
    X = rng.normal(size=(20_000, 5))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=20_000), [0, 1, 2])
    ranker = RankLR(C=1e-6, solver="sgd", n_steps=100_000, random_state=0).fit(X, y)
    assert ranker.coef_[0] > 5 * np.abs(ranker.coef_[2:]).max()
    assert ranker.coef_[1] == pytest.approx(-ranker.coef_[0], rel=0.05)


def test_what_does_not_go_together_is_said(judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="degree=2 needs kernel"):
        RankLR(degree=2, kernel="rbf").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match='solver="sgd" needs dense rows'):
        RankLR(solver="sgd").fit(sparse.csr_array(X), y, qid=qid)
    with pytest.raises(ValueError, match="max_bytes=100 is less than the 6720 bytes"):
        RankLR(degree=2, max_bytes=100).fit(X, y, qid=qid)


def test_real_targets_have_as_many_labels_as_rows(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    D = differences(X, y, np.zeros(200))
    ranker = RankLR(C=1e-3, tol=1e-10).fit(X, y)
    w = ranker.coef_
    expected = 0.5 * w @ w + 1e-3 * np.logaddexp(0, -D @ w).sum()
    assert ranker.objective_ == pytest.approx(expected, rel=1e-10)
    gradient = w - 1e-3 * D.T @ (1 / (1 + np.exp(D @ w)))
    np.testing.assert_allclose(gradient, 0, atol=1e-4)
    drawn = RankLR(C=1e-3, solver="sgd", n_steps=100_000, random_state=0).fit(X, y)
    assert drawn.objective_ < ranker.objective_ * 1.001
