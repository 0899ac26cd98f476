"""The Laplacian factor against the Laplacian built pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.groups import QueryGroups
from rankwise.losses.score_loss import QUERY_WEIGHTS
from rankwise.losses.squared_loss import GRAPHS, laplacian_factor
from tests.oracles import dense_laplacian, ragged_groups


def _case(seed, weighted):
    rng = np.random.default_rng(seed)
    y, qid, _ = ragged_groups(rng, 8, 9, shuffle=False)
    w = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    return rng, y, qid, w


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_factor_is_a_root_of_the_dense_laplacian(graph, query_weight, weighted):
    rng, y, qid, w = _case(3, weighted)
    groups = QueryGroups.from_qid(qid, len(y))
    factor = laplacian_factor(groups, y, w, graph=graph, query_weight=query_weight)
    L = dense_laplacian(y, qid, graph=graph, query_weight=query_weight, w=w)
    np.testing.assert_allclose(factor.dense(0, groups.n_queries), L, atol=1e-12)
    phi = rng.standard_normal((len(y), 3))
    B = factor.apply(phi.copy(), 0, groups.n_queries)
    np.testing.assert_allclose(B.T @ B, phi.T @ L @ phi, atol=1e-10)


@pytest.mark.parametrize("graph", GRAPHS)
def test_transposed_factor_gives_the_laplacian_back(graph):
    rng, y, qid, w = _case(5, True)
    groups = QueryGroups.from_qid(qid, len(y))
    factor = laplacian_factor(groups, y, w, graph=graph)
    phi = rng.standard_normal((len(y), 2))
    L = dense_laplacian(y, qid, graph=graph, w=w)
    back = factor.apply_transposed(factor.apply(phi.copy(), 0, groups.n_queries))
    np.testing.assert_allclose(back, L @ phi, atol=1e-10)


def test_a_range_of_queries_is_the_block_of_those_queries():
    _rng, y, qid, w = _case(7, True)
    groups = QueryGroups.from_qid(qid, len(y))
    factor = laplacian_factor(groups, y, w, graph="distinct")
    lo, hi = groups.indptr[2], groups.indptr[5]
    L = dense_laplacian(y, qid, graph="distinct", w=w)[lo:hi, lo:hi]
    np.testing.assert_allclose(factor.dense(2, 5), L, atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(GRAPHS), st.sampled_from(QUERY_WEIGHTS))
def test_constant_scores_cost_nothing_and_integer_weights_repeat(seed, graph, query_weight):
    rng, y, qid, w = _case(seed, True)
    groups = QueryGroups.from_qid(qid, len(y))
    factor = laplacian_factor(groups, y, w, graph=graph, query_weight=query_weight)
    ones = factor.apply(np.ones((len(y), 1)), 0, groups.n_queries)
    np.testing.assert_allclose(ones, 0, atol=1e-12)
    f = rng.standard_normal(len(y))
    loss = np.sum(factor.apply(f[:, None].copy(), 0, groups.n_queries) ** 2)
    times = w.astype(int)
    repeated = laplacian_factor(
        QueryGroups.from_qid(np.repeat(qid, times), times.sum()),
        np.repeat(y, times),
        graph=graph,
        query_weight=query_weight,
    )
    rows = np.repeat(f, times)[:, None].copy()
    np.testing.assert_allclose(loss, np.sum(repeated.apply(rows, 0, groups.n_queries) ** 2))
