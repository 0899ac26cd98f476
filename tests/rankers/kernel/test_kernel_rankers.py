"""Kernel rankers: the papers' equations, one solver under many names, memory."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import CLSRRank, LSRRank, LSSVRanker, MPRank, PairwiseELM, PointwiseELM, RankRLS, load
from rankwise.exceptions import IgnoredParameterWarning
from tests.oracles import dense_laplacian
from tests.rankers.kernel.kernel_cases import GAMMA, GRID, rows, skewed


def tanh(X, Z):
    return np.tanh(0.9 * X @ Z.T - 0.8)


def centring(m):
    return np.eye(m) - 1 / m


# The papers' equations ----------------------------------------------------------------------------


def test_lsrrank_solves_the_papers_equation():
    X, y, _ = rows()
    m, lam = len(y), 0.03
    model = LSRRank(gamma=GAMMA, lam=lam).fit(X, y)
    K, P, a = rbf_kernel(X, gamma=GAMMA), centring(m), model.dual_coef_
    np.testing.assert_allclose(((2 / m) * P @ K + lam * np.eye(m)) @ a, (2 / m) * P @ y, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), K @ a, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "sigmoid", skewed, tanh])
def test_clsrrank_solves_the_papers_equation_for_any_kernel(kernel):
    X, y, _ = rows()
    m, lam = len(y), 0.002
    model = CLSRRank(kernel, lam=lam).fit(X, y)
    K, P = model.kernel_(X, X), centring(m)
    A = (2 / m) * K.T @ P @ K + lam * m * np.eye(m)
    np.testing.assert_allclose(A @ model.dual_coef_, (2 / m) * K.T @ P @ y, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), K @ model.dual_coef_, atol=1e-12)


def test_the_papers_lambda_minimises_the_mean_over_ordered_pairs():
    X, y, _ = rows()
    model = LSRRank(gamma=GAMMA, lam=0.1).fit(X, y)
    K = rbf_kernel(X, gamma=GAMMA)

    def objective(a):
        r = y - K @ a
        return np.mean((r[:, None] - r) ** 2) + 0.1 * a @ K @ a

    best, rng = objective(model.dual_coef_), np.random.RandomState(1)
    for _ in range(20):
        assert objective(model.dual_coef_ + 1e-3 * rng.standard_normal(len(y))) > best


# One solver under many names ----------------------------------------------------------------------


def test_mprank_is_lsrrank():
    X, y, qid = rows()
    for kernel in ("rbf", "linear", "perceptron"):
        one = MPRank(kernel, lam=0.05).fit(X, y, qid=qid).predict(X)
        two = LSRRank(kernel, lam=1 / 20.0).fit(X, y, qid=qid).predict(X)
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_ls_svr_orders_as_lsrrank():
    X, y, _ = rows()
    m = len(y)
    svr = LSSVRanker(gamma=GAMMA, C=3.0).fit(X, y)
    ranker = LSRRank(gamma=GAMMA, lam=2 / (3.0 * m)).fit(X, y)
    difference = svr.predict(X) - ranker.predict(X)
    np.testing.assert_allclose(difference, difference[0], atol=1e-10)
    # The system of least-squares support vector machines, with the intercept b.
    system = np.block([[rbf_kernel(X, gamma=GAMMA) + np.eye(m) / 3.0, np.ones((m, 1))],
                       [np.ones((1, m)), np.zeros((1, 1))]])  # fmt: skip
    solution = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(svr.dual_coef_, solution[:-1], atol=1e-10)
    np.testing.assert_allclose(svr.intercept_, solution[-1], atol=1e-10)


@pytest.mark.parametrize("graph", ["all", "distinct"])
@pytest.mark.parametrize("query_weight", ["pair", "document", "query"])
def test_dual_equals_the_dense_laplacian_solve(graph, query_weight):
    X, y, qid = rows()
    y = np.round(y)
    w = np.random.RandomState(3).randint(1, 4, len(y)).astype(float)
    L = dense_laplacian(y, qid, graph=graph, query_weight=query_weight, w=w)
    K = rbf_kernel(X, gamma=GAMMA)
    expected = K @ np.linalg.solve(0.7 * np.eye(len(y)) + L @ K, L @ y)
    options = {"graph": graph, "query_weight": query_weight, "gamma": GAMMA}
    rls = RankRLS("rbf", alpha=0.7, **options).fit(X, y, qid=qid, sample_weight=w)
    elm = PairwiseELM(kernel="rbf", C=1 / 0.7, **options).fit(X, y, qid=qid, sample_weight=w)
    np.testing.assert_allclose(rls.predict(X), expected, atol=1e-10)
    np.testing.assert_allclose(elm.predict(X), expected, atol=1e-10)


def test_pointwise_kernel_elm_is_kernel_ridge():
    X, y, _ = rows()
    model = PointwiseELM(kernel="rbf", C=4.0, gamma=GAMMA).fit(X, y)
    K = rbf_kernel(X, gamma=GAMMA)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + np.eye(26) / 4, y), atol=1e-10)


def test_all_pairs_are_pointwise_with_one_intercept_per_query():
    X, y, qid = rows()
    sizes = np.bincount(qid)[qid]
    indicators = (qid[:, None] == np.unique(qid)).astype(float)
    weight = np.sqrt(sizes.astype(float))[:, None]
    design = np.vstack([weight * np.hstack([X, indicators]),
                        np.hstack([np.sqrt(0.5) * np.eye(3), np.zeros((3, 5))])])  # fmt: skip
    target = np.append(weight[:, 0] * y, np.zeros(3))
    pointwise = np.linalg.lstsq(design, target, rcond=None)[0][:3]
    pairwise = RankRLS(alpha=0.5).fit(X, y, qid=qid)
    np.testing.assert_allclose(pairwise.coef_, pointwise, atol=1e-10)


@pytest.mark.parametrize("make", [
    lambda kernel: RankRLS(kernel, alpha=0.3),
    lambda kernel: LSRRank(kernel, lam=0.01),
    lambda kernel: MPRank(kernel, lam=1 / 9),
    lambda kernel: LSSVRanker(kernel, C=2.0),
    lambda kernel: PairwiseELM(kernel=kernel, C=2.0),
])  # fmt: skip
def test_a_linear_kernel_is_the_primal(make):
    X, y, qid = rows()
    dual = make(lambda A, B: A @ B.T).fit(X, y, qid=qid)
    primal = make("linear").fit(X, y, qid=qid)
    assert not hasattr(primal, "dual_coef_")
    difference = dual.predict(X) - primal.predict(X)
    np.testing.assert_allclose(difference, difference[0], atol=1e-10)


def test_a_shift_of_a_conditional_kernel_changes_nothing():
    X, y, qid = rows()
    one = RankRLS("stump", alpha=0.1).fit(X, y, qid=qid).predict(X)
    two = RankRLS("stump", alpha=0.1, kernel_params={"delta": 50.0}).fit(X, y, qid=qid).predict(X)
    difference = one - two
    for query in np.unique(qid):
        assert np.ptp(difference[qid == query]) < 1e-9


# Kernels, rows, memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RankRLS, LSRRank, CLSRRank, LSSVRanker, MPRank])
def test_precomputed_equals_named_also_with_rows_of_no_weight(kind):
    X, y, qid = rows()
    new = rows(seed=9)[0]
    w = np.ones(len(y))
    w[[2, 11]] = 0.0
    for weight in (None, w):
        named = kind("rbf", gamma=GAMMA).fit(X, y, qid=qid, sample_weight=weight)
        K, K_new = rbf_kernel(X, gamma=GAMMA), rbf_kernel(new, X, gamma=GAMMA)
        model = kind("precomputed").fit(K, y, qid=qid, sample_weight=weight)
        np.testing.assert_allclose(model.predict(K_new), named.predict(new), atol=1e-12)


@pytest.mark.parametrize("kind", [RankRLS, LSRRank, CLSRRank, LSSVRanker])
def test_a_weight_means_repetition(kind):
    X, y, qid = rows()
    w = np.random.RandomState(2).randint(0, 4, len(y))
    weighted = kind("rbf").fit(X, y, qid=qid, sample_weight=w)
    again = np.repeat(np.arange(len(y)), w)
    repeated = kind("rbf").fit(X[again], y[again], qid=qid[again])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)


def test_a_callable_is_called_once_with_two_matrices():
    X, y, qid = rows()
    calls = []

    def kernel(A, B, scale):
        calls.append((A.shape, B.shape))
        return np.exp(-scale * ((A[:, None] - B) ** 2).sum(axis=2))

    model = CLSRRank(kernel, lam=GRID, kernel_params={"scale": 1.0}).fit(X, y, qid=qid)
    # Once for all of the path, and once for the scores of the rows that the guard looks at.
    assert calls == [((26, 3), (26, 3))] * 2
    model.predict(rows(n=7000, seed=4)[0])
    assert calls[2:] == [((7000, 3), (26, 3))]


def test_kernels_that_a_norm_cannot_take_are_named():
    X, y, _ = rows()
    with pytest.raises(ValueError, match=r"symmetric.*CLSRRank"):
        LSRRank(skewed).fit(X, y)
    with pytest.raises(ValueError, match=r"positive semidefinite.*CLSRRank"):
        LSRRank(tanh).fit(X, y)
    X, y, _ = rows(n=150)
    for lam in (0.1, [0.1, 1.0]):
        with pytest.raises(ValueError, match=r"positive semidefinite.*CLSRRank"):
            LSRRank("sigmoid", lam=lam, kernel_params={"coef0": -1.0}).fit(X, y)


def test_too_much_memory_is_an_error_with_its_bytes():
    X, y, qid = rows()
    with pytest.raises(ValueError, match=r"max_bytes=1000 .* 32448 bytes.*nystroem"):
        LSRRank(max_bytes=1000).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="43264 bytes"):
        LSRRank(lam="loqo", max_bytes=40000).fit(X, y, qid=qid)
    LSRRank(max_bytes=1000, approximation="nystroem", n_landmarks=9).fit(X, y, qid=qid)


def test_memory_stays_below_its_bound():
    X, y, _ = rows(n=900)
    qid = np.arange(900) // 9
    n = len(y)
    for options in (
        {"lam": 0.1},
        {"lam": "cv"},
        {"lam": "loqo"},
        {"lam": 0.1, "gamma": [1.0, 2.0]},
    ):
        bound = 8 * n * n * (8 if options["lam"] == "loqo" else 6)
        model = LSRRank(max_bytes=bound, cv=20, measure="MSD", **options)
        tracemalloc.start()
        model.fit(X, y, qid=qid)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.1 * bound + 4e6, (options, peak / (8 * n * n))


@pytest.mark.parametrize("options", [
    {"kernel": "rbf", "gamma": GAMMA},
    {"kernel": "precomputed"},
    {"kernel": "linear"},
    {"kernel": "linear", "X": rows(n=8, d=20)[0]},
    {"kernel": "rbf", "approximation": "nystroem", "n_landmarks": 5},
    {"kernel": "rbf", "approximation": "nystroem", "n_landmarks": 200},
])  # fmt: skip
def test_scores_of_training_rows_have_the_mean_of_the_targets(options):
    X, y, _ = rows()
    options = dict(options)
    X = options.pop("X", X)
    y = y[: len(X)] + 7.0
    w = np.random.RandomState(0).randint(1, 4, len(y)).astype(float)
    rows_in = rbf_kernel(X) if options["kernel"] == "precomputed" else X
    for weight in (None, w):
        model = LSSVRanker(C=3.0, **options).fit(rows_in, y, sample_weight=weight)
        mean = np.average(model.predict(rows_in), weights=weight)
        np.testing.assert_allclose(mean, np.average(y, weights=weight), rtol=1e-9)
    assert LSRRank(approximation="nystroem", n_landmarks=5).fit(X, y).intercept_ == 0.0


@pytest.mark.parametrize("way", [0.01, "cv", "loqo", "lpo"])
def test_the_papers_equation_holds_where_rows_repeat(way):
    X, y, qid = rows(n=16)
    X, qid = np.repeat(X, 2, axis=0), np.repeat(qid, 2)
    y = np.concatenate([y, y[::-1]])
    model = LSRRank(gamma=GAMMA, lam=way, measure="MSD", cv=2).fit(X, y, qid=qid)
    L = dense_laplacian(y, qid)
    K, a, S = rbf_kernel(X, gamma=GAMMA), model.dual_coef_, (np.bincount(qid) ** 2).sum()
    residual = (2 / S) * L @ (K @ a - y) + model.lam_ * a
    np.testing.assert_allclose(residual, 0, atol=1e-10)


@pytest.mark.parametrize("way", ["loqo", "lpo", "cv", 0.1])
def test_an_indefinite_kernel_is_refused_however_the_penalty_is_chosen(way):
    X, y, qid = rows()
    options = {"gamma": 5.0, "kernel_params": {"coef0": -1.0}}
    with pytest.raises(ValueError, match="positive semidefinite"):
        LSRRank("sigmoid", lam=way, measure="MSD", **options).fit(X, y, qid=qid)


def test_values_that_overflow_and_wrong_widths_are_named():
    X, y, _ = rows()
    with pytest.raises(ValueError, match="overflow"):
        LSRRank("polynomial", kernel_params={"degree": 500}).fit(100 * X, y)
    for gamma in ([[1.0]], ["a"], [None, 1.0], [], [1.0, -1.0]):
        with pytest.raises(ValueError, match="gamma must be"):
            LSRRank(gamma=gamma).fit(X, y)
    with pytest.warns(
        IgnoredParameterWarning, match="gamma has no effect with kernel='linear'"
    ) as caught:
        LSRRank("linear", gamma="cv").fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.raises(ValueError, match="alpha > 0"):
        RankRLS("rbf", alpha=0.0, approximation="pcg").fit(X, y)


def test_all_rows_as_landmarks_give_the_exact_model():
    X, y, qid = rows()
    for make in (lambda **o: LSRRank(lam=0.05, **o), lambda **o: RankRLS("stump", alpha=0.5, **o),
                 lambda **o: LSSVRanker(C=2.0, **o)):  # fmt: skip
        exact = make().fit(X, y, qid=qid).predict(X)
        nystroem = make(approximation="nystroem", n_landmarks=26).fit(X, y, qid=qid).predict(X)
        difference = exact - nystroem
        for query in np.unique(qid):
            assert np.ptp(difference[qid == query]) < 1e-7


@pytest.mark.parametrize("kernel", ["rbf", skewed])
@pytest.mark.parametrize("lam", [0.001, GRID])
def test_all_rows_as_columns_give_the_exact_coefficients(kernel, lam):
    X, y, qid = rows()
    X_val, y_val, qid_val = rows(seed=5)
    validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    options = {"lam": lam, "measure": "MSD"}
    exact = CLSRRank(kernel, **options).fit(X, y, qid=qid, **validation)
    columns = CLSRRank(kernel, approximation="landmarks", n_landmarks=26, **options)
    columns.fit(X, y, qid=qid, **validation)
    assert columns.lam_ == exact.lam_
    np.testing.assert_allclose(columns.predict(X_val), exact.predict(X_val), atol=1e-9)
    few = CLSRRank(kernel, lam=0.001, approximation="landmarks", n_landmarks=7, max_bytes=1)
    assert few.fit(X, y, qid=qid).dual_coef_.shape == (7,)


@pytest.mark.parametrize("times", [2, 5])
def test_landmarks_smooth_as_much_as_all_rows(times):
    """Repeated rows, and weights, leave the landmarks and the model as they are."""
    X, y, qid = rows()
    exact = CLSRRank(lam=0.001).fit(X, y, qid=qid).predict(X)
    columns = CLSRRank(lam=0.001, approximation="landmarks", n_landmarks=26)
    repeated = [np.repeat(values, times, axis=0) for values in (X, y, qid)]
    weighted = columns.fit(X, y, qid=qid, sample_weight=np.full(26, times)).predict(X)
    np.testing.assert_allclose(weighted, exact, atol=1e-9)
    columns.set_params(gamma=columns.gamma_).fit(*repeated[:2], qid=repeated[2])
    np.testing.assert_allclose(columns.predict(X), exact, atol=1e-9)


@pytest.mark.parametrize("graph", ["all", "distinct"])
def test_conjugate_gradients_reach_the_exact_model(graph):
    X, y, qid = rows(n=120)
    y = np.round(y)
    options = {"graph": graph, "gamma": GAMMA, "alpha": 0.01}
    exact = RankRLS("rbf", **options).fit(X, y, qid=qid)
    model = RankRLS("rbf", approximation="pcg", n_landmarks=30, random_state=0, **options)
    model.fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)
    plain = RankRLS("rbf", approximation="pcg", n_landmarks=1, random_state=0, **options)
    assert model.n_iter_ < plain.fit(X, y, qid=qid).n_iter_
    with pytest.warns(match="RankRLS stopped after max_iter=2 conjugate gradients"):
        RankRLS("rbf", approximation="pcg", n_landmarks=1, max_iter=2, **options).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="one penalty"):
        RankRLS("rbf", alpha="cv", approximation="pcg").fit(X, y, qid=qid)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_models_are_saved_with_their_kernel(kernel, tmp_path):
    X, y, qid = rows()
    for approximation in (None, "nystroem"):
        model = RankRLS(kernel, approximation=approximation, n_landmarks=8, random_state=0)
        model.fit(X, y, qid=qid)
        again = load(model.save(tmp_path / "model.rankwise"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_partial_fit_is_there_where_it_can_be():
    X, y, qid = rows()
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    model = LSRRank("linear", lam=0.1)
    model.partial_fit(X[:10], y[:10], qid=qid[:10]).partial_fit(X[10:], y[10:], qid=qid[10:])
    whole = LSRRank("linear", lam=0.1).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert not hasattr(LSRRank("rbf"), "partial_fit")
    assert not hasattr(CLSRRank("linear"), "partial_fit")


def test_a_grid_may_be_an_array():
    X, y, qid = rows()
    for kind in (LSRRank, CLSRRank):
        from_list = kind(lam=GRID, measure="MSD").fit(X, y, qid=qid)
        from_array = kind(lam=np.array(GRID), measure="MSD").fit(X, y, qid=qid)
        assert from_array.lam_ == from_list.lam_
