"""Gram statistics: additive, exact for any chunking, giant queries included."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise.solvers.least_squares.gram as gram_module
from rankwise.features.random_features import draw_nodes
from rankwise.groups import QueryGroups
from rankwise.losses.score_loss import QUERY_WEIGHTS
from rankwise.losses.squared_loss import GRAPHS
from rankwise.solvers.least_squares.design import ShiftedColumns
from rankwise.solvers.least_squares.gram import Problem, fold_grams, total
from rankwise.tuning import content_folds, deal_queries, fold_splits
from tests.oracles import dense_laplacian, ragged_groups


@pytest.fixture
def case(rng):
    y, qid, _ = ragged_groups(rng, 20, 30)
    X = rng.random((len(y), 4)) + 5.0
    w = rng.integers(1, 4, len(y)).astype(float)
    return X, y, qid, w


def _statistics(case, graph, query_weight="pair", folds=None):
    X, y, qid, w = case
    groups = QueryGroups.from_qid(qid, len(y))
    problem = Problem(X, y, groups, w, graph, query_weight)
    return fold_grams(problem, ShiftedColumns(np.zeros(X.shape[1]), ones=True), folds)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("chunk", [3000, 7], ids=["whole", "giant"])
def test_equals_the_dense_laplacian(case, graph, query_weight, chunk, monkeypatch):
    monkeypatch.setattr(gram_module, "CHUNK_ROWS", chunk)
    monkeypatch.setattr(gram_module, "GIANT_ROWS", 2 * chunk)
    X, y, qid, w = case
    gram = total(_statistics(case, graph, query_weight))
    phi = np.column_stack([X, np.ones(len(y))])
    L = dense_laplacian(y, qid, graph=graph, query_weight=query_weight, w=w)
    scale = np.abs(phi.T @ L @ phi).max()
    np.testing.assert_allclose(gram.matrix, phi.T @ L @ phi, atol=1e-11 * scale)
    np.testing.assert_allclose(gram.rhs, phi.T @ L @ y, atol=1e-11 * scale)
    np.testing.assert_allclose(gram.target_norm, y @ L @ y)


def test_pointwise_statistics_and_their_centring(case):
    X, y, _, w = case
    gram = total(_statistics(case, "pointwise"))
    phi = np.column_stack([X, np.ones(len(y))])
    np.testing.assert_allclose(gram.matrix, phi.T @ (w[:, None] * phi))
    centred = phi - w @ phi / w.sum()
    np.testing.assert_allclose(gram.centred().matrix, centred.T @ (w[:, None] * centred), atol=1e-9)
    np.testing.assert_allclose(
        gram.centred().rhs, centred.T @ (w * (y - w @ y / w.sum())), atol=1e-9
    )


@pytest.mark.parametrize("graph", [*GRAPHS, "pointwise"])
def test_folds_add_up(case, graph):
    groups = QueryGroups.from_qid(case[2], len(case[1]))
    folds = deal_queries(groups, 4)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(groups.n_queries))
    parts, whole = total(_statistics(case, graph, folds=folds)), total(_statistics(case, graph))
    np.testing.assert_allclose(parts.matrix, whole.matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.rhs, whole.rhs, rtol=1e-10, atol=1e-10)


def test_same_bits_for_any_number_of_threads(rng, monkeypatch):
    y, qid, _ = ragged_groups(rng, 200, 60)
    X = rng.random((len(y), 5)).astype(np.float32)
    nodes = draw_nodes(5, 300, "sigmoid", np.random.RandomState(0)).astype(np.float32)
    problem = Problem(X, y, QueryGroups.from_qid(qid, len(y)), None, "distinct")
    monkeypatch.setattr(gram_module, "CHUNK_ROWS", 500)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4))
        results.append(total(fold_grams(problem, nodes)).matrix)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_float32_products_stay_close_to_float64(rng, monkeypatch):
    y, qid, _ = ragged_groups(rng, 50, 60)
    X = rng.random((len(y), 5)).astype(np.float32)
    nodes = draw_nodes(5, 40, "sigmoid", np.random.RandomState(0)).astype(np.float32)
    problem = Problem(X, y, QueryGroups.from_qid(qid, len(y)), None, "all")
    precise = total(fold_grams(problem, nodes)).matrix
    monkeypatch.setattr(gram_module, "PRECISE_FLOPS", 0)
    quick = total(fold_grams(problem, nodes)).matrix
    assert 0 < np.abs(quick - precise).max() <= 1e-6 * np.abs(precise).max()


def test_folds_do_not_depend_on_the_order_of_rows(rng):
    y, qid, _ = ragged_groups(rng, 20, 5)
    X = rng.random((len(y), 3))
    order = rng.permutation(len(y))
    for ids in (
        qid,
        qid.astype(str),
        np.array([f"q{i}" if i % 2 else int(i) for i in qid], object),
    ):
        a, b = QueryGroups.from_qid(ids, len(y)), QueryGroups.from_qid(ids[order], len(y))
        for fold_a, fold_b in zip(deal_queries(a, 5), deal_queries(b, 5), strict=True):
            assert {str(i) for i in a.ids[fold_a]} == {str(i) for i in b.ids[fold_b]}
    for fold_a, fold_b in zip(
        content_folds(X, y, 3), content_folds(X[order], y[order], 3), strict=True
    ):
        np.testing.assert_array_equal(np.sort(X[fold_a, 0]), np.sort(X[order][fold_b, 0]))


def test_equal_rows_are_in_one_fold(rng):
    X = np.repeat(rng.random((12, 3)), 3, axis=0)
    y = np.repeat(rng.integers(0, 3, 12), 3).astype(float)
    splits = fold_splits(X, y, QueryGroups.single(36), 4)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(36))
    for train, test in splits:
        assert len(test) == 9
        assert not set(X[train, 0]) & set(X[test, 0])
    with pytest.raises(ValueError, match=r"cv=13 .* distinct rows, got 12 of n_samples=36. Lower"):
        fold_splits(X, y, QueryGroups.single(36), 13)


def test_folds_of_sparse_and_dense_rows_agree(rng):
    from scipy import sparse

    X = rng.random((40, 6)) * (rng.random((40, 6)) < 0.4)
    y = rng.integers(0, 3, 40).astype(float)
    for dense, csr in zip(
        content_folds(X, y, 4), content_folds(sparse.csr_array(X), y, 4), strict=True
    ):
        assert len(dense) == len(csr) == 10
