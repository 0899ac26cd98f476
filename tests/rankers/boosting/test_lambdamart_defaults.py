"""What "auto" stands for: leaves by the number of rows, and a penalty in the scale of the loss."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LambdaMART, load, save
from rankwise.trees.boosted import growth_rules
from tests.oracles import ragged_groups


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = rng.normal(size=(len(y), 6)).round(1) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0, 0]
    return X, y.astype(float), qid


def count_leaves(judged, **params):
    X, y, qid = judged
    ranker = LambdaMART(5, min_samples_leaf=1, **params).fit(X, y, qid=qid)
    return max((tree.feature < 0).sum() for tree in ranker.trees_.score_trees())


def values(judged, **params):
    X, y, qid = judged
    return LambdaMART(5, **params).fit(X, y, qid=qid).predict(X)


@pytest.mark.parametrize(
    ("params", "few", "many", "leaves"),
    [
        ({}, True, False, 4),
        ({}, False, False, 7),
        ({}, True, True, 31),
        ({}, False, True, 31),
        ({"growth": "depth"}, True, False, 4),
        ({"growth": "depth"}, False, False, 7),
        ({"max_depth": 8}, True, False, 31),
        ({"max_leaf_nodes": 12}, True, True, 12),
    ],
)
def test_leaves_follow_distinct_rows_and_queries(params, few, many, leaves, judged, monkeypatch):
    X, y, qid = judged
    # Queries of equal labels say nothing.
    n_queries = sum(len(np.unique(y[qid == query])) > 1 for query in np.unique(qid))
    assert n_queries < len(np.unique(qid))
    monkeypatch.setattr(growth_rules, "FEW_QUERIES", n_queries + few)
    n_distinct = len(np.unique(np.column_stack([X, y, qid]), axis=0))
    monkeypatch.setattr(growth_rules, "MANY_ROWS", n_distinct if many else n_distinct + 1)
    assert count_leaves(judged, **params) == leaves
    # Copies of rows are not distinct rows.
    assert count_leaves([np.tile(of, (2, 1)[: of.ndim]) for of in judged], **params) == leaves


def test_symmetric_trees_have_more_than_few_leaves(judged):
    assert growth_rules.FEW_LEAVES < count_leaves(judged, growth="symmetric") <= 31
    assert count_leaves(judged) == growth_rules.FEWEST_LEAVES


def test_penalty_is_a_share_of_the_second_derivatives(judged):
    X, y, qid = judged
    n_queries = sum(len(np.unique(y[qid == query])) > 1 for query in np.unique(qid))
    # Without features that split, the root's second derivatives are those of all rows.
    share = growth_rules.PENALTY_QUERIES / (growth_rules.PENALTY_QUERIES + n_queries)
    plain = LambdaMART(1, reg_lambda=0.0, max_leaf_nodes=2, objective="logistic")
    penalised = LambdaMART(1, max_leaf_nodes=2, objective="logistic")
    before, after = (ranker.fit(X, y, qid=qid) for ranker in (plain, penalised))
    hessians = np.zeros(len(y))  # of logistic pairs at equal scores: a quarter a pair and row
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        hessians[rows] = 0.25 * (y[rows][:, None] != y[rows]).sum(axis=1)
    total = hessians.sum()
    same = np.isclose(before.trees_.threshold[0], after.trees_.threshold[0])
    assert same and before.trees_.feature[0] == after.trees_.feature[0]
    for value in np.unique(before.predict(X)):
        rows = before.predict(X) == value
        inside = hessians[rows].sum()
        expected = value * inside / (inside + share * total)
        np.testing.assert_allclose(after.predict(X[rows]), expected, rtol=1e-6)


@pytest.mark.parametrize("objective", ["lambdarank", "logistic"])
def test_penalty_follows_the_scale_of_the_loss(objective, rng):
    """Queries of one size: 1 / W and 1 / W^2 scale the whole loss, and leave the trees alone."""
    qid = np.repeat(np.arange(40), 16)
    y = rng.integers(0, 3, len(qid)).astype(float)
    X = rng.normal(size=(len(y), 4)).round(1) + 0.5 * y[:, None]
    rows = X, y, qid
    # No other bound may depend on the scale.
    params = {"objective": objective, "min_hessian_leaf": 0.0}
    of_pairs = values(rows, **params)
    for query_weight in ("document", "query"):
        scaled = values(rows, **params, query_weight=query_weight)
        np.testing.assert_allclose(scaled, of_pairs, rtol=1e-6)
    fixed = values(rows, **params, reg_lambda=30.0, query_weight="query")
    assert np.abs(fixed).max() < 0.5 * np.abs(of_pairs).max()


def test_same_bits_for_threads_order_weights_and_files(judged, rng, tmp_path):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    ranker = LambdaMART(10, n_jobs=1).fit(X, y, qid=qid, sample_weight=weight)
    repeated = LambdaMART(10, n_jobs=2).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_array_equal(repeated.predict(X), ranker.predict(X))
    save(ranker, tmp_path / "model")
    restored = load(tmp_path / "model")
    assert restored.reg_lambda == restored.max_leaf_nodes == "auto"
    np.testing.assert_array_equal(restored.predict(X), ranker.predict(X))


def test_going_on_equals_one_fit(judged):
    X, y, qid = judged
    ranker = LambdaMART(4, warm_start=True).fit(X, y, qid=qid)
    ranker.set_params(n_estimators=10).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), LambdaMART(10).fit(X, y, qid=qid).predict(X))


@pytest.mark.parametrize("name", ["max_leaf_nodes", "reg_lambda"])
def test_other_words_are_refused(name, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=f"'{name}' parameter.*'auto'"):
        LambdaMART(**{name: "some"}).fit(X, y, qid=qid)
