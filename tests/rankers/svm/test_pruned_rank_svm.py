"""Pruned RankSVM: which pairs are kept, and the objective over them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from rankwise import PrunedRankSVM, RankSVM
from rankwise.groups import GroupedRows
from rankwise.losses.pairwise_hinge import ListedHinge
from rankwise.solvers.newton.pair_subsets import (
    SELECTORS,
    PairSelector,
    PrunedHinge,
    numbered_pairs,
)


@pytest.fixture
def judged(rng):
    X, qid = rng.normal(size=(60, 4)), rng.integers(0, 6, 60)
    y = np.clip(np.round(X[:, 0] + 1 + 0.5 * rng.normal(size=60)), 0, 3)
    return X, y, qid


def kept(rule, X, y, sizes, n_opponents=2, share=0.3, slack=None):
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    selector = PairSelector(rule, n_opponents, share, 0)
    upper, lower, ptr, n_all = selector.select(X, indptr, y, slack)
    assert ptr[-1] == len(upper) == len(lower)
    for query, (a, b) in enumerate(itertools.pairwise(ptr)):
        for rows in (upper[a:b], lower[a:b]):
            assert ((rows >= indptr[query]) & (rows < indptr[query + 1])).all()
    assert (y[upper] > y[lower]).all()
    pairs = set(zip(upper.tolist(), lower.tolist(), strict=True))
    assert len(pairs) == len(upper)
    return pairs, n_all


def test_adjacent_grades_are_those_of_the_query():
    y = np.array([0, 2, 3, 2, 1, 0])
    pairs, n_all = kept("adjacent", np.zeros((6, 1)), y, [4, 2])
    assert pairs == {(1, 0), (3, 0), (2, 1), (2, 3), (4, 5)}
    assert n_all == 6


def test_nearest_opponents_are_those_of_a_search(rng):
    X, y, sizes = rng.normal(size=(30, 3)), rng.integers(0, 3, 30), [12, 0, 18]
    expected = set()
    start = 0
    for size in sizes:
        rows = range(start, start + size)
        for i in rows:
            others = sorted((float(((X[i] - X[j]) ** 2).sum()), j) for j in rows if y[i] != y[j])
            for _, j in others[:2]:
                expected.add((i, j) if y[i] > y[j] else (j, i))
        start += size
    assert kept("nearest", X, y, sizes)[0] == expected


def test_random_share_of_each_query(rng):
    y = rng.integers(0, 2, 40)
    pairs, n_all = kept("random", np.zeros((40, 1)), y, [20, 20], share=0.25)
    expected = sum(int(np.ceil(0.25 * part.sum() * (20 - part.sum()))) for part in (y[:20], y[20:]))
    assert len(pairs) == expected
    assert len(kept("random", np.zeros((40, 1)), y, [20, 20], share=1.0)[0]) == n_all


@pytest.mark.parametrize("n_grades", [1, 2, 5, 40])
def test_numbered_pairs_are_those_of_the_list(rng, n_grades):
    y = rng.integers(0, n_grades, 40)
    upper, lower = np.nonzero(y[:, None] > y)
    numbers = np.flatnonzero(rng.random(len(upper)) < 0.4)
    found = numbered_pairs(y, numbers)
    np.testing.assert_array_equal(found[0], upper[numbers])
    np.testing.assert_array_equal(found[1], lower[numbers])


def test_the_default_is_a_fifth_of_the_pairs_at_random(judged):
    X, y, qid = judged
    default = PrunedRankSVM(random_state=3).fit(X, y, qid=qid)
    same = PrunedRankSVM("random", share=0.2, random_state=3).fit(X, y, qid=qid)
    np.testing.assert_array_equal(default.coef_, same.coef_)
    sizes = [int((y[qid == query][:, None] > y[qid == query]).sum()) for query in np.unique(qid)]
    assert default.pairs_kept_ == sum(-(-size // 5) for size in sizes)
    other = PrunedRankSVM(random_state=4).fit(X, y, qid=qid)
    assert not np.allclose(other.coef_, default.coef_)


def test_pilot_keeps_pairs_within_its_margin():
    y, keys = np.array([0, 1, 2]), np.array([0.0, 0.4, 5.0])
    pairs, _ = kept("pilot", np.zeros((3, 1)), y, [3], slack=lambda i, j: 1.0 - (keys[i] - keys[j]))
    assert pairs == {(1, 0)}


# Random pairs are drawn in an order of the solver's own: their number is checked above.
@pytest.mark.parametrize("selector", [rule for rule in SELECTORS if rule != "random"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objective_is_the_least_over_the_kept_pairs(selector, loss, judged):
    X, y, qid = judged
    ranker = PrunedRankSVM(selector, n_opponents=3, loss=loss, tol=1e-7, random_state=0)
    ranker.fit(X, y, qid=qid)
    rule = PairSelector(selector, 3, ranker.share, 0)
    order = np.argsort(qid, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(qid))])
    rows = GroupedRows(X[order], y[order], indptr, np.ones(60))
    weights = {"pair_weight": None, "query_weight": "pair"}
    hinge = PrunedHinge.of(rows, selector=rule, tol=1e-7, by_difference=False, **weights)
    D = X[order][hinge.upper] - X[order][hinge.lower]
    assert len(D) == ranker.pairs_kept_
    power = 2 if loss == "squared_hinge" else 1

    def value(w):
        return 0.5 * w @ w + np.sum(np.maximum(0, 1 - D @ w) ** power)

    assert ranker.objective_ == pytest.approx(value(ranker.coef_), rel=1e-9)
    method = "BFGS" if power == 2 else "Nelder-Mead"
    best = minimize(value, ranker.coef_, method=method, tol=1e-10).fun
    assert ranker.objective_ <= best * (1 + 1e-6)


def test_all_pairs_kept_is_rank_svm(judged):
    X, y, qid = judged
    for kernel in ("linear", "rbf"):
        every = RankSVM(kernel=kernel, tol=1e-10).fit(X, y, qid=qid)
        for rule in ({"share": 1.0}, {"selector": "nearest", "n_opponents": 60}):
            ranker = PrunedRankSVM(kernel=kernel, tol=1e-10, random_state=0, **rule)
            ranker.fit(X, y, qid=qid)
            assert ranker.pairs_share_ == 1.0
            np.testing.assert_allclose(ranker.predict(X), every.predict(X), atol=1e-4)


def test_pairs_kept_and_their_share(judged):
    X, y, qid = judged
    n_all = int(((qid[:, None] == qid) & (y[:, None] > y)).sum())
    for selector in SELECTORS:
        ranker = PrunedRankSVM(selector, n_opponents=1, share=0.5, random_state=0)
        ranker.fit(X, y, qid=qid)
        assert 0 < ranker.pairs_kept_ < n_all
        assert ranker.pairs_share_ == ranker.pairs_kept_ / n_all


def test_listed_loss_is_that_of_finite_differences(rng):
    loss = ListedHinge(
        np.array([0, 5]), np.array([0, 1, 4]), np.array([2, 3, 0]), rng.random(3), np.array([0, 3]),
        rng.normal(size=5), 0.5, 0.7, 0.9,
    )  # fmt: skip
    state, out, curved = loss.part(0, 1), np.empty(5), np.empty(5)
    for _ in range(10):
        f, u = rng.normal(size=5), rng.normal(size=5)
        ahead, behind = np.empty(5), np.empty(5)
        rise = state.value_grad(f + 1e-6 * u, ahead) - state.value_grad(f - 1e-6 * u, behind)
        state.value_grad(f, out)
        assert rise / 2e-6 == pytest.approx(out @ u, abs=1e-6)
        state.curvature(u, curved)
        np.testing.assert_allclose(curved, (ahead - behind) / 2e-6, atol=1e-6)
