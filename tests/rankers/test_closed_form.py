"""Closed-form rankers against dense solves, naive refits and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold

import rankwise.solvers.least_squares.path_selection as selection
from rankwise import (
    LinearRegressionRanker,
    LSRRank,
    PairwiseELM,
    PointwiseELM,
    QueryGroups,
    RidgeRanker,
    SVRank,
)
from rankwise.exceptions import IgnoredParameterWarning
from rankwise.features.random_features import ACTIVATIONS, draw_nodes
from rankwise.losses.score_loss import QUERY_WEIGHTS
from rankwise.losses.squared_loss import GRAPHS
from rankwise.metrics import parse
from rankwise.rankers.basis_expansion import DEFAULT_GRID
from rankwise.tuning import content_folds, deal_queries
from tests.common.estimators import with_default_grid
from tests.oracles import dense_laplacian, ragged_groups

GRID = [0.01, 1.0, 100.0]


@pytest.fixture
def case(rng):
    y, qid, _ = ragged_groups(rng, 14, 12)
    return rng.random((len(y), 4)), y, qid, rng.integers(0, 4, len(y)).astype(float)


def _hidden(X, n_nodes, activation, seed=1):
    return draw_nodes(X.shape[1], n_nodes, activation, np.random.RandomState(seed))(X)


def _solve(H, L, y, C):
    return np.linalg.solve(np.eye(H.shape[1]) / C + H.T @ L @ H, H.T @ L @ y)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("n_nodes", [3, 7, 300], ids=["few", "primal", "dual-or-collapsed"])
def test_pairwise_equals_the_dense_solve(case, activation, graph, n_nodes):
    X, y, qid, w = case
    for query_weight in QUERY_WEIGHTS:
        ranker = PairwiseELM(
            n_nodes, activation, C=0.7, graph=graph, query_weight=query_weight, random_state=1
        ).fit(X, y, qid=qid, sample_weight=w)
        H = _hidden(X, n_nodes, activation)
        L = dense_laplacian(y, qid, graph=graph, query_weight=query_weight, w=w)
        expected = H @ _solve(H, L, y, 0.7)
        got = ranker.predict(X)
        shift = (expected - got).mean() if activation == "linear" else 0.0  # no ranking sees it
        np.testing.assert_allclose(got + shift, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("activation", ["sigmoid", "linear"])
@pytest.mark.parametrize("n_nodes", [3, 300])
def test_pointwise_equals_the_dense_solve(case, activation, n_nodes):
    X, y, _, w = case
    ranker = PointwiseELM(n_nodes, activation, C=0.7, random_state=1)
    H = _hidden(X, n_nodes, activation)
    expected = H @ _solve(H, np.diag(w), y, 0.7)
    got = ranker.fit(X, y, sample_weight=w).predict(X)
    np.testing.assert_allclose(got, expected, rtol=1e-8)


@pytest.mark.parametrize("graph", GRAPHS)
def test_linear_kernel_is_the_primal_ridge_on_pairs(case, graph):
    X, y, qid, w = case
    ranker = PairwiseELM(kernel="linear", C=2.0, graph=graph).fit(X, y, qid=qid, sample_weight=w)
    L = dense_laplacian(y, qid, graph=graph, w=w)
    np.testing.assert_allclose(ranker.coef_, _solve(X, L, y, 2.0))
    pairs = np.sqrt(np.abs(np.triu(L, 1)))  # and the explicit list of pairs says the same
    i, j = np.nonzero(pairs)
    D = (X[i] - X[j]) * pairs[i, j][:, None]
    t = (y[i] - y[j]) * pairs[i, j]
    np.testing.assert_allclose(ranker.coef_, _solve(D, np.eye(len(t)), t, 2.0))


def test_wide_rows_use_the_dual_system_dense_and_sparse(case, rng):
    _, y, qid, _ = case
    X = rng.random((len(y), 500)) * (rng.random((len(y), 500)) < 0.1)
    L = dense_laplacian(y, qid, graph="distinct")
    expected = _solve(X, L, y, 3.0)
    for rows in (X, sparse.csr_array(X)):
        ranker = PairwiseELM(kernel="linear", C=3.0, graph="distinct").fit(rows, y, qid=qid)
        np.testing.assert_allclose(ranker.coef_, expected, atol=1e-10)


@pytest.mark.parametrize("way", ["number", "cv", "loqo"])
def test_wide_rows_with_an_intercept(case, rng, way):
    _, y, qid, w = case
    w = w + 1
    X = rng.random((len(y), 400)) * (rng.random((len(y), 400)) < 0.2) + 0.5
    alpha = 3.0 if way == "number" else way
    ranker = with_default_grid(RidgeRanker(alpha, measure="MSD", cv=4), GRID)
    for rows in (X, sparse.csr_array(X)):
        ranker.fit(rows, y, qid=qid, sample_weight=w)
        theirs = Ridge(ranker.alpha_).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(ranker.predict(rows), theirs.predict(X), atol=1e-8)
    if way != "number":
        groups = QueryGroups.from_qid(qid, len(y))
        folds = deal_queries(groups, 4) if way == "cv" else [np.array([0]), np.array([1])]
        for i, fold in enumerate(folds):
            test = groups.rows(fold)
            train = np.setdiff1d(np.arange(len(y)), test)
            for j, a in enumerate(ranker.cv_results_["alpha"]):
                model = Ridge(a).fit(X[train], y[train], sample_weight=w[train])
                expected = parse("MSD").mean(
                    y[test], model.predict(X[test]), QueryGroups.from_qid(qid[test], len(test))
                )
                got = ranker.cv_results_["fold_test_scores"][i, j]
                np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_million_sparse_columns_are_no_square_matrix(rng):
    X = sparse.random(50, 1_000_000, density=1e-4, format="csr", rng=rng)
    y, qid = rng.integers(0, 3, 50), np.repeat(np.arange(5), 10)
    for ranker in (LinearRegressionRanker(), RidgeRanker(1e-3)):
        ranker.fit(X, y, qid=qid)
        assert np.corrcoef(ranker.predict(X), y)[0, 1] > 0.99


def test_pairwise_is_pointwise_with_one_intercept_per_query(case):
    """The unifying fact: all pairs = an unpenalised intercept per query weighted by its size."""
    X, y, qid, _ = case
    ranker = PairwiseELM(kernel="linear", C=0.3).fit(X, y, qid=qid)
    codes = np.unique(qid, return_inverse=True)[1]
    sizes = np.bincount(codes)[codes]
    dummies = np.eye(codes.max() + 1)[codes]
    Z = np.column_stack([X, dummies])
    penalty = np.diag([1 / 0.3] * X.shape[1] + [0.0] * dummies.shape[1])
    beta = np.linalg.solve(Z.T @ (sizes[:, None] * Z) + penalty, Z.T @ (sizes * y))
    np.testing.assert_allclose(ranker.coef_, beta[: X.shape[1]])


@pytest.mark.parametrize("alpha", [0.5, 20.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_equals_scikit_learn(case, alpha, fit_intercept):
    X, y, qid, w = case
    X = X + 1e4
    ours = RidgeRanker(alpha, fit_intercept=fit_intercept).fit(X, y, qid=qid, sample_weight=w)
    theirs = Ridge(alpha, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


def test_least_squares_takes_the_least_norm_solution(case):
    X, y, _, w = case
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(y), 3.0)])
    ours = LinearRegressionRanker().fit(X, y, sample_weight=w)
    theirs = LinearRegression().fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize(
    "ranker",
    [
        PairwiseELM(60, C=GRID, random_state=0, cv=4),
        PairwiseELM(500, C=GRID, random_state=0, cv=4, graph="distinct"),
        PairwiseELM(60, "linear", C=GRID, random_state=0, cv=4),
        PairwiseELM(40, C=GRID, random_state=0, cv=4, n_draws=3),
        PointwiseELM(60, C=GRID, random_state=0, cv=4),
        RidgeRanker(alpha=[1 / c for c in GRID], cv=4),
    ],
    ids=["primal", "dual", "collapsed", "draws", "pointwise", "ridge"],
)
def test_cross_validation_equals_naive_refits(case, ranker):
    X, y, qid, w = case
    w = w + 1
    ranker.fit(X, y, qid=qid, sample_weight=w)
    groups = QueryGroups.from_qid(qid, len(y))
    name = next(iter(ranker.path_))
    values = ranker.cv_results_[name]
    expected = np.empty((4, len(values)))
    for i, fold in enumerate(deal_queries(groups, 4)):
        test = groups.rows(fold)
        train = np.setdiff1d(np.arange(len(y)), test)
        for j, value in enumerate(values):
            refit = type(ranker)(**{**ranker.get_params(), name: float(value)})
            refit.fit(X[train], y[train], qid=qid[train], sample_weight=w[train])
            expected[i, j] = parse("nDCG@10").mean(
                y[test], refit.predict(X[test]), QueryGroups.from_qid(qid[test], len(test))
            )
    np.testing.assert_allclose(ranker.cv_results_["fold_test_scores"], expected, atol=1e-12)
    best = np.argmax(expected.mean(axis=0))
    assert getattr(ranker, f"{name}_") == values[best]
    refit = type(ranker)(**{**ranker.get_params(), name: float(values[best])})
    np.testing.assert_allclose(
        ranker.predict(X), refit.fit(X, y, qid=qid, sample_weight=w).predict(X), rtol=1e-9
    )


@pytest.mark.parametrize(
    "ranker",
    [
        PairwiseELM(30, C="loqo", random_state=0, measure="MSD"),
        PairwiseELM(400, C="loqo", random_state=0, measure="MSD", graph="distinct"),
        PairwiseELM(30, "linear", C="loqo", random_state=0, measure="MSD", query_weight="query"),
        PairwiseELM(30, C="loqo", random_state=0, measure="MSD", n_draws=2),
        PointwiseELM(30, C="loqo", random_state=0, measure="MSD"),
        RidgeRanker(alpha="loqo", measure="MSD"),
        RidgeRanker(alpha="loqo", measure="MSD", fit_intercept=False),
    ],
    ids=["primal", "dual", "collapsed", "draws", "pointwise", "ridge", "no-intercept"],
)
def test_leave_one_query_out_is_exact(case, ranker):
    X, y, qid, w = case
    w = w + 1
    ranker = with_default_grid(ranker, GRID)
    ranker.fit(X, y, qid=qid, sample_weight=w)
    groups = QueryGroups.from_qid(qid, len(y))
    name = next(iter(ranker.path_))
    values = ranker.cv_results_[name]
    for query in (1, 4, 9):
        test = groups.rows(query)
        train = np.setdiff1d(np.arange(len(y)), test)
        for j, value in enumerate(values):
            refit = type(ranker)(**{**ranker.get_params(), name: float(value)})
            refit.fit(X[train], y[train], qid=qid[train], sample_weight=w[train])
            expected = parse("MSD").mean(
                y[test], refit.predict(X[test]), QueryGroups.single(len(test))
            )
            got = ranker.cv_results_["fold_test_scores"][query, j]
            np.testing.assert_allclose(got, expected, rtol=1e-7)


def test_validation_data_choose_from_the_path(case, rng):
    X, y, qid, _ = case
    val = qid % 3 == 0
    fit = {"X_val": X[val], "y_val": y[val], "qid_val": qid[val]}
    ranker = PairwiseELM(50, C=GRID, random_state=0, measure="AP")
    ranker.fit(X[~val], y[~val], qid=qid[~val], **fit)
    groups = QueryGroups.from_qid(qid[val], val.sum())
    expected = [
        parse("AP").mean(
            y[val],
            PairwiseELM(50, C=c, random_state=0)
            .fit(X[~val], y[~val], qid=qid[~val])
            .predict(X[val]),
            groups,
        )
        for c in GRID
    ]
    np.testing.assert_allclose(ranker.cv_results_["mean_test_score"], expected)
    assert GRID[int(np.argmax(expected))] == ranker.C_
    by_name = PairwiseELM(50, C="val", random_state=0)
    by_name.fit(X[~val], y[~val], qid=qid[~val], **fit)
    np.testing.assert_array_equal(by_name.cv_results_["C"], DEFAULT_GRID)
    assert by_name.path_["coef"].shape == (1, 26, 50)
    with pytest.raises(ValueError, match='C="val" needs validation data'):
        PairwiseELM(C="val").fit(X, y, qid=qid)


def test_fewer_queries_than_folds_cut_over_rows(case):
    X, y, _, _ = case
    ranker = PairwiseELM(20, C=GRID, cv=3, random_state=0, measure="MSD").fit(X, y)
    expected = []
    for fold in content_folds(X, y, 3):
        train = np.setdiff1d(np.arange(len(y)), fold)
        models = [PairwiseELM(20, C=c, random_state=0).fit(X[train], y[train]) for c in GRID]
        expected.append(
            [
                parse("MSD").mean(y[fold], m.predict(X[fold]), QueryGroups.single(len(fold)))
                for m in models
            ]
        )
    np.testing.assert_allclose(ranker.cv_results_["fold_test_scores"], expected)
    assert GRID[int(np.argmin(np.mean(expected, axis=0)))] == ranker.C_  # MSD: less is better


def test_row_folds_keep_repeated_rows_together(case):
    X, y, _, _ = case
    X, y = X[:40], y[:40]
    again = np.repeat(np.arange(40), 2)
    nodes, kernel = PairwiseELM(20, cv=4, random_state=0), LSRRank("rbf", lam=GRID, cv=4)
    nodes.set_params(C=GRID, measure="Misranking")
    kernel.set_params(measure="Misranking")
    for ranker, scaled in ((nodes, {"C": [c / 4 for c in GRID]}), (kernel, {})):
        single = ranker.fit(X, y).cv_results_["fold_test_scores"]
        repeated = ranker.set_params(**scaled).fit(X[again], y[again])
        np.testing.assert_allclose(repeated.cv_results_["fold_test_scores"], single)


@pytest.mark.parametrize("make", [PairwiseELM, LSRRank, SVRank])
def test_the_measure_is_checked_before_the_fit(case, make):
    X, y, qid, _ = case
    penalty = "C" if make is PairwiseELM else "lam"
    ranker = make(**{penalty: "cv"})
    with pytest.raises(
        ValueError,
        match=rf"measure='nDCG@10', which chooses {penalty}, does not accept these targets: y must "
        r'be >= 0 for nDCG.*, got -1\..* measure="MSD" or measure="Misranking", say\.$',
    ):
        ranker.fit(X, y - 1.0, qid=qid)
    assert not hasattr(ranker, "path_")
    with pytest.raises(ValueError, match="measure='ERR', which chooses"):
        make(**{penalty: "val"}, measure="ERR").fit(
            X, y, qid=qid, X_val=X, y_val=y - 1.0, qid_val=qid
        )
    make(**{penalty: [0.1, 1.0]}, measure="MSD").fit(X, y - 1.0, qid=qid)
    make(**{penalty: [0.1, 1.0]}).fit(X, y - 1.0, qid=qid, X_val=X, y_val=y, qid_val=qid)
    make(**{penalty: 1.0}).fit(X, y - 1.0, qid=qid)


def test_cv_takes_a_splitter_or_index_pairs(case):
    X, y, qid, w = case
    splits = list(GroupKFold(3).split(X, y, groups=qid))
    by_pairs = PairwiseELM(20, C=GRID, cv=splits, random_state=0).fit(X, y, qid=qid)
    by_splitter = PairwiseELM(20, C=GRID, cv=GroupKFold(3), random_state=0).fit(X, y, qid=qid)
    expected = [
        [
            parse("nDCG@10").mean(
                y[test],
                PairwiseELM(20, C=c, random_state=0)
                .fit(X[train], y[train], qid=qid[train])
                .predict(X[test]),
                QueryGroups.from_qid(qid[test], len(test)),
            )
            for c in GRID
        ]
        for train, test in splits
    ]
    np.testing.assert_allclose(by_pairs.cv_results_["fold_test_scores"], expected)
    assert by_splitter.cv_results_["fold_test_scores"].shape == (3, 3)
    weighted = PairwiseELM(20, C=GRID, cv=splits, random_state=0)
    weighted.fit(X, y, qid=qid, sample_weight=w)
    kept = w > 0
    position = np.cumsum(kept) - 1
    fewer = [(position[a[kept[a]]], position[b[kept[b]]]) for a, b in splits]
    dropped = PairwiseELM(20, C=GRID, cv=fewer, random_state=0)
    dropped.fit(X[kept], y[kept], qid=qid[kept], sample_weight=w[kept])
    np.testing.assert_allclose(weighted.predict(X), dropped.predict(X))


def test_draws_average_the_scores_of_independent_nodes(case):
    X, y, qid, _ = case
    for activation in ("sigmoid", "linear"):
        ranker = PairwiseELM(30, activation, n_draws=3, random_state=4).fit(X, y, qid=qid)
        state = np.random.RandomState(4)
        L = dense_laplacian(y, qid)
        scores = []
        for _ in range(3):
            H = draw_nodes(4, 30, activation, state)(X)
            scores.append(H @ _solve(H, L, y, 1.0))
        expected, got = np.mean(scores, axis=0), ranker.predict(X)
        shift = (expected - got).mean() if activation == "linear" else 0.0
        np.testing.assert_allclose(got + shift, expected, atol=1e-9)


def test_float32_rows_stay_close_to_float64(case):
    X, y, qid, _ = case
    double = PairwiseELM(50, C=1.0, random_state=0).fit(X, y, qid=qid).predict(X)
    X32 = X.astype(np.float32)
    ranker = PairwiseELM(50, C=1.0, random_state=0).fit(X32, y, qid=qid)
    assert ranker.hidden_weights_.dtype == np.float32
    single = ranker.predict(X32)
    assert single.dtype == np.float64
    assert 0 < np.abs(single - double).max() < 1e-4 * np.abs(double).max()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": -1.0}, "C"),
        ({"C": [1.0, 0.0]}, "from 1e-300"),
        ({"C": 1e-320}, "from 1e-300"),
        ({"measure": "zzz"}, "zzz"),
        ({"C": []}, "list of numbers"),
        ({"C": "best"}, "C"),
        ({"activation": "step"}, "activation"),
        ({"kernel": "gauss"}, "kernel"),
        ({"kernel_params": {"degree": 2}}, "kernel_params needs a kernel"),
        ({"graph": "some"}, "graph"),
        ({"n_nodes": 0}, "n_nodes"),
        ({"cv": 1}, "cv"),
        ({"C": "cv", "measure": "nDGC@10"}, "nDGC"),
    ],
)
def test_wrong_parameters_are_named(case, params, message):
    X, y, qid, _ = case
    with pytest.raises(ValueError, match=message):
        PairwiseELM(**{"n_nodes": 10, **params}).fit(X, y, qid=qid)


def test_gamma_of_nodes_is_ignored(case):
    X, y, qid, _ = case
    nodes = PairwiseELM(10, random_state=0)
    with pytest.warns(IgnoredParameterWarning, match="gamma has no effect with kernel=None"):
        ignored = clone(nodes).set_params(gamma=1.0).fit(X, y, qid=qid)
    clone(nodes).set_params(gamma="scale").fit(X, y, qid=qid)
    np.testing.assert_array_equal(ignored.predict(X), nodes.fit(X, y, qid=qid).predict(X))


@pytest.mark.parametrize("alpha", [-1.0, np.inf, [1.0, np.inf], [1e-320]])
def test_wrong_alpha_is_named(case, alpha):
    X, y, qid, _ = case
    with pytest.raises(ValueError, match="alpha"):
        RidgeRanker(alpha).fit(X, y, qid=qid)


def test_a_measure_that_nowhere_counts_cannot_choose(case):
    X, y, qid, _ = case
    with pytest.raises(ValueError, match="defined for no held-out query"):
        PointwiseELM(10, C=GRID).fit(X, np.zeros(len(y)), qid=qid)


def test_one_query_cannot_be_left_out(case):
    X, y, _, _ = case
    with pytest.raises(ValueError, match="at least 2 queries"):
        PairwiseELM(10, C="loqo").fit(X, y)


def test_infinite_C_is_least_squares(case):
    X, y, qid, _ = case
    ranker = PairwiseELM(kernel="linear", C=np.inf).fit(X, y, qid=qid)
    L = dense_laplacian(y, qid)
    np.testing.assert_allclose(ranker.coef_, np.linalg.pinv(X.T @ L @ X) @ X.T @ L @ y)


def test_held_out_scores_come_in_chunks(case, monkeypatch):
    X, y, qid, _ = case
    whole = PairwiseELM(30, C=GRID, random_state=0).fit(X, y, qid=qid)
    monkeypatch.setattr(selection, "CHUNK_ROWS", 5)
    monkeypatch.setattr(selection, "MEASURED_ROWS", 20)
    pieces = PairwiseELM(30, C=GRID, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_allclose(
        pieces.cv_results_["fold_test_scores"], whole.cv_results_["fold_test_scores"]
    )


def test_weights_of_rows_count_in_score(rng):
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.arange(60) // 10
    ranker = RidgeRanker().fit(X[:30], y[:30], qid=qid[:30])
    first = (qid < 3).astype(float)  # rows without weight are left out
    assert ranker.score(X, y, first, qid=qid) == ranker.score(X[:30], y[:30], qid=qid[:30])
    assert ranker.score(X, y, first, qid=qid) != ranker.score(X, y, qid=qid)
