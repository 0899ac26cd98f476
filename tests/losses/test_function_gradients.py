"""Objectives of LambdaMART that are functions of the user."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LambdaMART, load, save
from rankwise.rankers.boosting.lambdamart import check_shareable
from tests.oracles import ragged_groups


def logistic_pairs(labels, scores, sizes):
    """Logistic loss of the pairs of every query, written as a user would."""
    first, second = np.zeros(len(labels)), np.zeros(len(labels))
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        rows = slice(end - size, end)
        better = labels[rows, None] > labels[None, rows]
        p = better / (1 + np.exp(scores[rows, None] - scores[None, rows]))
        first[rows] = p.sum(axis=0) - p.sum(axis=1)
        curved = p * (1 - p) * better
        second[rows] = curved.sum(axis=0) + curved.sum(axis=1)
    return first, second


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=40, most=20, grades=4)
    X = rng.normal(size=(len(y), 5)).round(1) + 0.5 * y[:, None] * [1, -1, 0.5, 0, 0]
    return X, y.astype(float), qid


@pytest.mark.parametrize("query_weight", ["pair", "document", "query"])
@pytest.mark.parametrize("weighted", [False, True])
def test_function_equals_the_named_loss(query_weight, weighted, judged, rng):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y)) if weighted else None
    settings = {"query_weight": query_weight, "min_hessian_leaf": 0.0, "reg_lambda": 0.0}
    by_name, by_function = (
        LambdaMART(10, objective=objective, **settings).fit(X, y, qid=qid, sample_weight=weight)
        for objective in ("logistic", logistic_pairs)
    )
    np.testing.assert_allclose(by_function.predict(X), by_name.predict(X), rtol=1e-9)


def test_same_bits_for_order_and_repetition(judged, rng):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    ranker = LambdaMART(10, objective=logistic_pairs).fit(X, y, qid=qid, sample_weight=weight)
    repeated = LambdaMART(10, objective=logistic_pairs, n_jobs=2).fit(
        X[rows], y[rows], qid=qid[rows]
    )
    np.testing.assert_array_equal(repeated.predict(X), ranker.predict(X))


def test_function_may_write_to_its_arguments(judged):
    X, y, qid = judged

    def overwrite(labels, scores, sizes):
        derivatives = logistic_pairs(labels, scores, sizes)
        labels[:], scores[:], sizes[:] = 0, 0, 1
        return derivatives

    plain, overwritten = (
        LambdaMART(5, objective=function).fit(X, y, qid=qid).predict(X)
        for function in (logistic_pairs, overwrite)
    )
    np.testing.assert_array_equal(overwritten, plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g, h: g, "must return two arrays"),
        (lambda g, h: (g, h, h), "must return two arrays"),
        (lambda g, h: (g[1:], h), r"first derivatives of shape \(\d+,\), .* got shape"),
        (lambda g, h: (g, h[:, None]), r"second derivatives of shape"),
        (
            lambda g, h: (g * np.nan, h),
            r"first derivatives within \+-1e\+200, got nan at position 0",
        ),
        (lambda g, h: (g, h + np.inf), r"second derivatives within .* got inf at position 0"),
        (lambda g, h: (g + 1e301, h), r"first derivatives within .* got 1e\+301 at position 0"),
        (lambda g, h: (g.astype(np.longdouble) + np.longdouble("1e1000"), h), "first derivatives"),
        (lambda g, h: ([[0.0], [0.0, 1.0]], h), "first derivatives as an array"),
        (lambda g, h: (np.ma.masked_greater(g, -9), h), "first derivatives for all rows"),
        (lambda g, h: (g, h - 10), "second derivatives >= 0, got -"),
        (lambda g, h: (g * 1j, h), "real numbers, got complex128"),
        (lambda g, h: (g.astype(str), h), "real numbers, got str"),
        (lambda g, h: (None, h), "real numbers, got object"),
    ],
)
def test_refused_derivatives_leave_the_model(change, message, judged):
    X, y, qid = judged
    ranker = LambdaMART(3).fit(X, y, qid=qid)
    before = ranker.predict(X)
    ranker.set_params(objective=lambda *given: change(*logistic_pairs(*given)))
    with pytest.raises(ValueError, match=message):
        ranker.fit(-X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_errors_of_the_function_reach_the_user(judged):
    X, y, qid = judged

    def fail(labels, scores, sizes):
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        LambdaMART(3, objective=fail).fit(X, y, qid=qid)


def test_function_without_a_balance_of_gradients_learns(rng):
    """Gradients of a pointwise loss sum to anything, also in queries of a single label."""
    qid = np.repeat(np.arange(30), 20)
    X = rng.normal(size=(600, 5)).round(1)
    y = np.clip((X[:, 0] + rng.normal(size=600)).round(), 0, 3)
    y[qid < 10] = 0.0
    ranker = LambdaMART(20, objective=lambda y, f, sizes: (f - y, np.ones(len(y))))
    ranker.fit(X, y, qid=qid)
    assert ranker.n_estimators_ == 20
    assert np.corrcoef(ranker.predict(X), X[:, 0])[0, 1] > 0.7


def test_fractional_weights_and_clusters_are_refused(judged):
    X, y, qid = judged
    ranker = LambdaMART(3, objective=logistic_pairs)
    with pytest.raises(ValueError, match=r"sample_weight must hold whole numbers .* got 0\.5"):
        ranker.fit(X, y, qid=qid, sample_weight=np.full(len(y), 0.5))
    with pytest.raises(ValueError, match=r"sample_weight must sum to at most 2,147,483,648"):
        ranker.fit(X, y, qid=qid, sample_weight=np.full(len(y), 1e12))
    with pytest.raises(
        ValueError, match="objective must be 'lambdarank' for LambdaMART on a cluster"
    ):
        check_shareable(ranker)


def test_files_hold_named_functions(judged, tmp_path):
    X, y, qid = judged
    ranker = LambdaMART(3, objective=logistic_pairs).fit(X, y, qid=qid)
    save(ranker, tmp_path / "model")
    restored = load(tmp_path / "model", trusted=[logistic_pairs])
    np.testing.assert_array_equal(restored.predict(X), ranker.predict(X))
    assert restored.objective is logistic_pairs
    with pytest.raises(TypeError, match="objective is a lambda, which a model file cannot name"):
        save(ranker.set_params(objective=lambda *given: logistic_pairs(*given)), tmp_path / "other")
