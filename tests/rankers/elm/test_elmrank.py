"""ELMRank against the paper's literal sums, dense solves and refits of every fold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

from rankwise import ELMRank, PairwiseELM, QueryGroups
from rankwise.features.random_features import NodeMap, draw_nodes
from rankwise.losses.score_loss import QUERY_WEIGHTS
from rankwise.solvers.least_squares import stabilised
from rankwise.solvers.least_squares.stabilised import C_GRID, LAM_GRID
from rankwise.tuning import content_folds, deal_queries
from tests.oracles import dense_laplacian, literal_elmrank_system, ragged_groups

LAM, C = [1e-3, 0.1], [4.0, 2.0**12, np.inf]
ALPHA = [1 / c for c in C]


@pytest.fixture
def case(rng):
    y, qid, _ = ragged_groups(rng, 14, 12)
    return rng.random((len(y), 4)), y, qid, rng.integers(1, 4, len(y)).astype(float)


def hidden(ranker, X, draw=0):
    return NodeMap(ranker.hidden_weights_[draw], ranker.hidden_biases_[draw], ranker.activation)(X)


def system(H, y, qid, w, lam, query_weight="pair"):
    """A and B of the objective, pair by pair."""
    L = dense_laplacian(y, qid, query_weight=query_weight, w=w)
    total = np.array([w[qid == q].sum() for q in np.unique(qid)])
    S = (total ** {"pair": 2, "document": 1, "query": 0}[query_weight]).sum()
    return 2 / S * H.T @ L @ H + lam * np.eye(H.shape[1]), 2 / S * H.T @ L @ y


def solve(A, B, c):
    return np.linalg.solve(A.T @ A + np.eye(len(B)) / c, A.T @ B)


def test_paper_s_sums_are_the_closed_form(rng):
    H, y = rng.random((9, 4)), rng.normal(size=9)
    A, B = literal_elmrank_system(H, y, 0.3)
    ours = system(H, y, np.zeros(9), np.ones(9), 0.3)
    np.testing.assert_allclose(A, ours[0], atol=1e-14)
    np.testing.assert_allclose(B, ours[1], atol=1e-14)


@pytest.mark.parametrize("n_nodes", [10, 100], ids=["primal", "dual"])
def test_directions_singular_to_rounding_are_dropped(rng, n_nodes):
    X = np.repeat(rng.normal(size=(20, 5)), 2, axis=0)  # 19 differences, each twice
    y = rng.normal(size=40)
    fit = {"activation": "relu", "random_state": 3}
    for lam in (0.0, 1e-100, 1e-22):
        penalty = np.inf if lam < 1e-50 else 2 / (40**2 * lam)
        ours = ELMRank(n_nodes, lam, **fit).fit(X, y)
        theirs = PairwiseELM(n_nodes, C=penalty, **fit).fit(X, y)
        expected = theirs.predict(X)
        np.testing.assert_allclose(ours.predict(X), expected, atol=1e-8 * np.abs(expected).max())
    smooth = ELMRank(60, 1e-100, random_state=0).fit(X, y)
    A, B = system(hidden(smooth, X), y, np.zeros(40), np.ones(40), 0.0)
    least = np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ B
    np.testing.assert_allclose(
        hidden(smooth, X) @ (smooth.output_weights_[0] - least), 0.0, atol=1e-3 * np.abs(y).max()
    )


@pytest.mark.parametrize("n_nodes", [8, 60], ids=["primal", "dual"])
@pytest.mark.parametrize("block", [True, False])
def test_no_first_ridge_is_searched_like_any_other(rng, n_nodes, block, monkeypatch):
    monkeypatch.setattr(stabilised, "block_costs_less", lambda *_: block)
    X, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    fit = {"activation": "relu", "random_state": 0}
    for C_values in ([4.0, 2.0**12], [4.0, np.inf]):  # without any penalty: no block formula
        ranker = ELMRank(n_nodes, [0.0, 1e-3], alpha=[1 / c for c in C_values], cv=5, **fit).fit(
            X, y
        )
        expected = np.zeros((2, 2))
        for fold in content_folds(X, y, 5, seed_of_folds(ranker, 5)):
            train = np.setdiff1d(np.arange(30), fold)
            for i, lam in enumerate([0.0, 1e-3]):
                for j, c in enumerate(C_values):
                    model = ELMRank(n_nodes, lam, alpha=1 / c, **fit).fit(X[train], y[train])
                    error = y - model.predict(X)
                    expected[i, j] += ((error[fold] - error[train].mean()) ** 2).sum()
        np.testing.assert_allclose(ranker.cv_results_["squared_error"][0], expected, rtol=1e-8)


@pytest.mark.parametrize("n_nodes", [8, 60], ids=["primal", "dual"])
@pytest.mark.parametrize(
    ("lam", "alpha"), [(0.0, 0.5), (1e-3, 0.5), (0.1, 2.0**-20), (1e-2, 0.0), ("cv", "cv")]
)
def test_output_weights_solve_the_paper_s_system(rng, n_nodes, lam, alpha):
    X, y = rng.random((30, 3)), rng.normal(size=30)
    ranker = ELMRank(n_nodes, lam, alpha=alpha, n_draws=2, random_state=0).fit(X, y)
    for draw, beta in enumerate(ranker.output_weights_):
        A, B = literal_elmrank_system(hidden(ranker, X, draw), y, ranker.lam_[draw])
        residual = A.T @ A @ beta + beta * ranker.alpha_[draw] - A.T @ B
        assert np.abs(residual).max() <= 1e-8 * np.abs(A.T @ B).max()
        if alpha == 0.0:
            np.testing.assert_allclose(A @ beta, B, atol=1e-8 * np.abs(B).max())


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("n_nodes", [5, 120], ids=["primal", "dual"])
def test_several_queries_solve_the_dense_system(case, n_nodes, query_weight):
    X, y, qid, w = case
    for c in C:
        ranker = ELMRank(n_nodes, 0.02, alpha=1 / c, query_weight=query_weight, random_state=1)
        ranker.fit(X, y, qid=qid, sample_weight=w)
        H = hidden(ranker, X)
        expected = H @ solve(*system(H, y, qid, w, 0.02, query_weight), c)
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("activation", ["sigmoid", "gaussian", "linear"])
def test_without_the_second_ridge_it_is_pairwise_elm_and_ridge(rng, activation):
    X, y = rng.random((40, 3)), rng.normal(size=40)
    lam = 0.05
    ours = ELMRank(15, lam, activation=activation, random_state=3).fit(X, y)
    theirs = PairwiseELM(15, activation, C=2 / (40**2 * lam), random_state=3).fit(X, y)
    shift = (ours.predict(X) - theirs.predict(X)).mean() if activation == "linear" else 0.0
    np.testing.assert_allclose(ours.predict(X) - shift, theirs.predict(X), rtol=1e-8)
    H = hidden(ours, X)
    ridge = Ridge(alpha=lam * 40 / 2).fit(H, y)
    np.testing.assert_allclose(ours.output_weights_[0], ridge.coef_, atol=1e-10)


def naive_errors(ranker, case, splits, *, intercept):
    """Pooled squared errors of refits, draw by draw and grid point by grid point."""
    X, y, qid, w = case
    errors = np.zeros((ranker.n_draws, len(LAM), len(C)))
    for draw in range(ranker.n_draws):
        H = hidden(ranker, X, draw)
        for train, test in splits:
            A, B = system(H[train], y[train], qid[train], w[train], 0.0, ranker.query_weight)
            for i, j in np.ndindex(len(LAM), len(C)):
                residual = y - H @ solve(A + LAM[i] * np.eye(len(A)), B, C[j])
                if intercept:
                    residual -= np.average(residual[train], weights=w[train])
                    errors[draw, i, j] += (w * residual**2)[test].sum()
                    continue
                for q in np.unique(qid[test]):
                    rows = test[qid[test] == q]
                    centred = residual[rows] - np.average(residual[rows], weights=w[rows])
                    errors[draw, i, j] += (w[rows] * centred**2).sum()
    return errors


def without(folds, n):
    return [(np.setdiff1d(np.arange(n), fold), fold) for fold in folds]


def seed_of_folds(ranker, d):
    """The number that follows the nodes in the stream of ``random_state``."""
    state = np.random.RandomState(ranker.random_state)
    for _ in range(ranker.n_draws):
        draw_nodes(d, ranker.n_nodes, ranker.activation, state, ranker.weight_law)
    return state.randint(2**31 - 1)


def check_choice(ranker, errors):
    np.testing.assert_allclose(ranker.cv_results_["squared_error"], errors, rtol=1e-8)
    for draw in range(ranker.n_draws):
        i, j = np.unravel_index(errors[draw].argmin(), errors[draw].shape)
        assert (ranker.lam_[draw], ranker.alpha_[draw]) == (LAM[i], ALPHA[j])
        np.testing.assert_array_equal(
            ranker.output_weights_[draw], ranker.path_["coef"][draw, i, j]
        )


@pytest.mark.parametrize("n_nodes", [7, 30, 120])
@pytest.mark.parametrize("block", [True, False], ids=["block", "differences"])
def test_row_folds_of_one_query_equal_refits(case, n_nodes, block, monkeypatch):
    monkeypatch.setattr(stabilised, "block_costs_less", lambda *_: block)
    X, y, _, w = case
    ranker = ELMRank(n_nodes, LAM, alpha=ALPHA, n_draws=2, cv=5, random_state=5)
    ranker.fit(X, y, sample_weight=w)
    folds = content_folds(X, y, 5, seed_of_folds(ranker, 4))
    one = np.zeros(len(y))
    check_choice(
        ranker, naive_errors(ranker, (X, y, one, w), without(folds, len(y)), intercept=True)
    )


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("n_nodes", [7, 120], ids=["primal", "dual"])
def test_query_folds_equal_refits(case, n_nodes, query_weight):
    X, y, qid, w = case
    ranker = ELMRank(n_nodes, LAM, alpha=ALPHA, query_weight=query_weight, cv=4, random_state=5)
    ranker.fit(X, y, qid=qid, sample_weight=w)
    groups = QueryGroups.from_qid(qid, len(y))
    folds = [groups.rows(f) for f in deal_queries(groups, 4, seed_of_folds(ranker, 4))]
    check_choice(ranker, naive_errors(ranker, case, without(folds, len(y)), intercept=False))


@pytest.mark.parametrize("n_nodes", [7, 120], ids=["primal", "dual"])
def test_fewer_queries_than_folds_cut_over_rows(case, n_nodes):
    X, y, _, w = case
    qid = np.arange(len(y)) % 3
    ranker = ELMRank(n_nodes, LAM, alpha=ALPHA, cv=6, random_state=5)
    ranker.fit(X, y, qid=qid, sample_weight=w)
    folds = content_folds(X, y, 6, seed_of_folds(ranker, 4))
    check_choice(
        ranker, naive_errors(ranker, (X, y, qid, w), without(folds, len(y)), intercept=False)
    )


def test_splitters_and_index_pairs(case):
    X, y, qid, w = case
    codes = QueryGroups.from_qid(qid, len(y)).codes()
    splits = list(GroupKFold(3).split(X, y, groups=codes))
    expected = None
    for cv in (GroupKFold(3), splits):
        ranker = ELMRank(9, LAM, alpha=ALPHA, cv=cv, random_state=2)
        ranker.fit(X, y, qid=qid, sample_weight=w)
        if expected is None:
            expected = naive_errors(ranker, case, splits, intercept=False)
        check_choice(ranker, expected)
    one = np.zeros(len(y))
    for n_nodes in (9, 120):
        splits = list(KFold(4).split(X))
        ranker = ELMRank(n_nodes, LAM, alpha=ALPHA, cv=splits, random_state=2)
        ranker.fit(X, y, sample_weight=w)
        check_choice(ranker, naive_errors(ranker, (X, y, one, w), splits, intercept=True))


@pytest.mark.parametrize("n_nodes", [9, 120], ids=["primal", "dual"])
def test_validation_data_choose(case, n_nodes):
    X, y, qid, w = case
    val = qid % 3 == 0
    ranker = ELMRank(n_nodes, LAM, alpha=ALPHA, n_draws=2, random_state=2)
    validation = {"X_val": X[val], "y_val": y[val], "qid_val": qid[val]}
    ranker.fit(X[~val], y[~val], qid=qid[~val], sample_weight=w[~val], **validation)
    splits = [(np.flatnonzero(~val), np.flatnonzero(val))]
    w = np.where(val, 1.0, w)
    check_choice(ranker, naive_errors(ranker, (X, y, qid, w), splits, intercept=False))
    named = ELMRank(n_nodes, "val", alpha="val", random_state=2)
    named.fit(X[~val], y[~val], qid=qid[~val], **validation)
    assert named.cv_results_["squared_error"].shape == (1, 7, 25)


@pytest.mark.parametrize("searched", ["rows", "queries", "cut"])
def test_a_weight_is_a_repetition_in_the_search_too(case, searched):
    X, y, qid, w = case
    qid = {"rows": np.zeros(len(y)), "queries": qid, "cut": np.arange(len(y)) % 3}[searched]
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    fit = {"lam": "cv", "alpha": "cv", "n_draws": 2, "random_state": 0}
    weighted = ELMRank(20, **fit).fit(X, y, qid=qid, sample_weight=w)
    repeated = ELMRank(20, **fit).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(
        weighted.cv_results_["squared_error"], repeated.cv_results_["squared_error"], rtol=1e-8
    )
    np.testing.assert_array_equal(weighted.lam_, repeated.lam_)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


@pytest.mark.parametrize("searched", ["rows", "queries", "cut"])
def test_order_of_rows_changes_nothing(case, rng, searched):
    X, y, qid, _ = case
    qid = {"rows": np.zeros(len(y)), "queries": qid, "cut": np.arange(len(y)) % 3}[searched]
    ranker = ELMRank(20, LAM, alpha=ALPHA, n_draws=2, random_state=0)
    expected = ranker.fit(X, y, qid=qid).predict(X)
    errors = ranker.cv_results_["squared_error"]
    rows = rng.permutation(len(y))
    for other in (X[rows], sparse.csr_array(X[rows])):
        ranker.fit(other, y[rows], qid=qid[rows])
        np.testing.assert_allclose(ranker.cv_results_["squared_error"], errors, rtol=1e-9)
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-9)


def test_first_of_equal_grid_points_wins(rng):
    X = rng.random((20, 3))
    ranker = ELMRank(5, lam="cv", alpha="cv", random_state=0).fit(X, np.zeros(20))
    assert (ranker.lam_[0], ranker.alpha_[0]) == (LAM_GRID[0], 1 / C_GRID[0])
    ranker = ELMRank(5, lam=[2.0, 1.0], alpha=[0.0, 0.3], random_state=0).fit(X, np.zeros(20))
    assert (ranker.lam_[0], ranker.alpha_[0]) == (1.0, 0.3)
    np.testing.assert_array_equal(ranker.path_["lam"], [1.0, 2.0])


def test_default_grids_are_the_paper_s():
    np.testing.assert_allclose(np.log10(LAM_GRID), np.arange(-5, 2), atol=1e-12)
    np.testing.assert_array_equal(np.log2(C_GRID), np.arange(1, 26))
    assert ELMRank().cv == 10


def test_draws_are_those_of_single_rankers_and_average(rng):
    X, y, X_test = rng.random((25, 3)), rng.normal(size=25), rng.random((7000, 3))
    ranker = ELMRank(12, lam="cv", alpha="cv", n_draws=3, random_state=4, weight_law="normal")
    scores = ranker.fit(X, y).predict(X_test)
    state = np.random.RandomState(4)
    parts = []
    for draw in range(3):
        nodes = draw_nodes(3, 12, "sigmoid", state, "normal")
        np.testing.assert_array_equal(ranker.hidden_weights_[draw], nodes.weights)
        parts.append(nodes(X_test) @ ranker.output_weights_[draw])
    np.testing.assert_allclose(scores, np.mean(parts, axis=0), rtol=1e-10)
    assert ranker.lam_.shape == ranker.alpha_.shape == (3,)
    assert ranker.path_["coef"].shape == (3, 7, 25, 12)


def test_a_number_and_a_list_search_the_list(case):
    X, y, _, _ = case
    ranker = ELMRank(9, 0.1, alpha=ALPHA, random_state=0).fit(X, y)
    assert ranker.cv_results_["squared_error"].shape == (1, 1, 3)
    ranker.set_params(alpha=0.25).fit(X, y)
    assert not hasattr(ranker, "cv_results_")
    assert ranker.lam_[0] == 0.1
    assert ranker.alpha_[0] == 0.25


def test_cost_decides_between_block_and_differences():
    def chosen(m, n):
        return stabilised.block_costs_less(m, n, 175, np.array_split(np.arange(m), 10))

    assert [chosen(m, 100) for m in (36, 62, 150, 2000, 100_000)] == [True] * 3 + [False] * 2
    assert chosen(2, 1000)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": -1.0}, "lam"),
        ({"lam": [1.0, -0.5]}, "lam must be a number or a list of numbers from 1e-100"),
        ({"lam": [np.inf]}, "lam must be a number"),
        ({"lam": []}, "lam must be a number"),
        ({"alpha": [-1.0]}, r"\(or 0\)"),
        ({"alpha": "loqo"}, "alpha"),
        ({"lam": "val"}, 'lam="val" needs validation data'),
        ({"lam": "cv", "alpha": "val"}, "searched in one way"),
        ({"lam": "cv", "cv": 1000}, "cv=1000 needs at least as many distinct rows"),
        ({"cv": 1}, "cv"),
        ({"n_nodes": 0}, "n_nodes"),
        ({"weight_law": "cauchy"}, "weight_law"),
    ],
)
def test_wrong_parameters_are_named(case, params, message):
    X, y, _, _ = case
    with pytest.raises(ValueError, match=message):
        ELMRank(**{"n_nodes": 10, **params}).fit(X, y)
