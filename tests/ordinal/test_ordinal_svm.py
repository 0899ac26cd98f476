"""OrdinalSVM: the optimum, costs, weights, kernels, searches, memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from sklearn.svm import SVC

import rankwise
from rankwise import OrdinalSVM
from rankwise.features.kernels import gamma_grid, resolve_kernel
from rankwise.groups import QueryGroups
from rankwise.losses.class_costs import cost_matrix, row_costs, threshold_weights
from rankwise.metrics import parse
from rankwise.tuning import fold_splits

KERNELS = ("perceptron", "stump", "laplacian", "rbf", "polynomial", "linear")


def graded(n, n_classes=4, seed=0, d=3):
    """Rows, classes 1, 2, ... that follow a curve with noise, queries of about six rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    utility = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    cuts = np.quantile(utility, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(utility, cuts) + 1, rng.integers(0, max(n // 6, 1), n)


def expanded_machine(K, y, weights, C, tol=1e-5):
    """scikit-learn's SVC on all pairs (row, threshold): its dual objective and decisions."""
    n_thresholds = weights.shape[1]
    Q = np.kron(K, np.ones((n_thresholds, n_thresholds)))
    Q += np.kron(np.ones_like(K), np.eye(n_thresholds))
    s = np.where(np.arange(n_thresholds) < y[:, None], 1.0, -1.0).ravel()
    # Pairs without weight are left out here: scikit-learn takes others for them.
    bound = np.flatnonzero(weights.ravel())
    machine = SVC(kernel="precomputed", C=C, tol=tol)
    machine.fit(Q[np.ix_(bound, bound)], s[bound], sample_weight=weights.ravel()[bound])
    signed = np.zeros(len(s))
    signed[bound[machine.support_]] = machine.dual_coef_[0]
    objective = 0.5 * signed @ Q @ signed - np.abs(signed).sum()
    return objective, (Q @ signed + machine.intercept_).reshape(-1, n_thresholds)


# The optimum -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_is_scikit_learns_machine_on_all_pairs(kernel):
    X, y, _ = graded(80)
    machine = OrdinalSVM(kernel, C=0.7, tol=1e-9).fit(X, y)
    K = resolve_kernel(kernel, X)(X, X)
    objective, decisions = expanded_machine(K, y - 1, np.ones((80, 3)), 0.7, tol=1e-9)
    assert machine.dual_objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(
        machine.rank_score(X)[:, None] - machine.thresholds_, decisions, atol=1e-5
    )
    np.testing.assert_array_equal(machine.predict(X), 1 + (decisions > 0).sum(axis=1))
    assert machine.dual_gap_ < 1e-7
    assert machine.objective_ == pytest.approx(-machine.dual_objective_, rel=1e-7)


@pytest.mark.parametrize("costs", ["squared", "zero_one", "err", "matrix", "rows"])
def test_costs_bound_each_variable(costs):
    X, y, qid = graded(90, seed=1)
    if costs == "matrix":
        costs = np.array([[0, 1, 1, 5], [2, 0, 1, 3], [4, 1, 0, 3], [9, 3, 3, 0.0]])
    elif costs == "rows":
        costs = cost_matrix("squared", 4)[y - 1] * np.random.default_rng(2).uniform(1, 3, (90, 1))
    machine = OrdinalSVM(costs=costs, C=2.0, tol=1e-6).fit(X, y, qid=qid)
    weights = threshold_weights(row_costs(costs, y - 1, 4, QueryGroups.from_qid(qid, 90)))
    K = resolve_kernel("perceptron", X)(X, X)
    objective, decisions = expanded_machine(K, y - 1, weights, 2.0)
    assert machine.dual_objective_ == pytest.approx(objective, rel=1e-6)
    # Sorted: the number of thresholds that a score reaches does not depend on their order.
    ordered = np.sort(decisions, axis=1)[:, ::-1]
    np.testing.assert_allclose(
        machine.rank_score(X)[:, None] - machine.thresholds_, ordered, atol=2e-3
    )


def test_the_constant_of_a_kernel_changes_nothing():
    X, y, _ = graded(60, seed=3)
    for kernel in ("perceptron", "stump"):
        plain, shifted = (
            OrdinalSVM(kernel, kernel_params={"delta": delta}).fit(X, y) for delta in (0.0, 50.0)
        )
        np.testing.assert_array_equal(plain.rank_score(X), shifted.rank_score(X))
        assert plain.dual_objective_ == shifted.dual_objective_
        assert plain.dual_coef_.sum() == pytest.approx(0.0, abs=1e-12)


def test_without_intercept():
    X, y, _ = graded(60, seed=4)
    machine = OrdinalSVM("rbf", 0.5, C=2.0, fit_intercept=False, tol=1e-8).fit(X, y)
    assert machine.intercept_ == 0.0
    assert machine.dual_gap_ < 1e-7
    theta = -machine.thresholds_
    K = resolve_kernel("rbf", X, 0.5)(X, X)
    coef = machine.path_["coef"][0]
    s = np.where(np.arange(3) < y[:, None] - 1, 1.0, -1.0)
    losses = np.maximum(0, 1 - s * ((K @ coef)[:, None] + theta))
    objective = 0.5 * (coef @ K @ coef + theta @ theta) + 2.0 * losses.sum()
    assert machine.objective_ == pytest.approx(objective, rel=1e-9)
    free = OrdinalSVM("rbf", 0.5, C=2.0, tol=1e-8).fit(X, y)
    assert free.objective_ < machine.objective_


# Rows --------------------------------------------------------------------------------------------


def test_order_of_rows_changes_no_bit():
    X, y, qid = graded(120, seed=5)
    X[::5] = np.round(X[::5])  # equal rows, equal distances
    X[1::10] = X[::10]
    weight = np.random.default_rng(6).integers(1, 4, 120).astype(float)
    for costs in ("absolute", "err"):
        machine = OrdinalSVM("rbf", costs=costs)
        expected = machine.fit(X, y, qid=qid, sample_weight=weight).rank_score(X)
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(120)
            machine.fit(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
            np.testing.assert_array_equal(machine.rank_score(X), expected)


@pytest.mark.parametrize("costs", ["absolute", "squared", "err"])
def test_weights_are_repetition(costs):
    X, y, qid = graded(60, seed=7)
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    given = OrdinalSVM("rbf", costs=costs).fit(X, y, qid=qid, sample_weight=weight)
    repeated = OrdinalSVM("rbf", costs=costs).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(given.rank_score(X), repeated.rank_score(X), rtol=1e-10)
    assert given.dual_objective_ == pytest.approx(repeated.dual_objective_, rel=1e-12)
    assert len(repeated.support_) == len(np.unique(repeated.X_fit_, axis=0))


def test_sparse_rows_that_are_too_many_to_fill():
    X, y, _ = graded(60, seed=8)
    X = np.where(np.random.default_rng(9).random(X.shape) < 0.5, 0.0, X)
    for kernel in ("perceptron", "linear"):
        filled = OrdinalSVM(kernel, tol=1e-4).fit(X, y)
        lean = OrdinalSVM(kernel, tol=1e-4, max_bytes=4 * 60 * 9).fit(sparse.csr_array(X), y)
        if kernel != "linear":
            assert sparse.issparse(lean.X_fit_)
        np.testing.assert_allclose(lean.rank_score(X), filled.rank_score(X), atol=5e-3)


def test_little_memory_gives_the_same_classes():
    X, y, _ = graded(300, 5, seed=10)
    plenty = OrdinalSVM(tol=1e-5).fit(X, y)
    for max_bytes in (4 * 300**2, 4 * 300 * 20):
        little = OrdinalSVM(tol=1e-5, max_bytes=max_bytes).fit(X, y)
        assert little.dual_objective_ == pytest.approx(plenty.dual_objective_, rel=1e-6)
        assert (little.predict(X) == plenty.predict(X)).mean() > 0.99


# Kernels -----------------------------------------------------------------------------------------


def share(A, B):
    return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_callable_and_precomputed_kernels_are_the_named_one(tmp_path):
    X, y, _ = graded(80, seed=11)
    weight = np.arange(80) % 4  # rows of zero weight have columns all the same
    named = OrdinalSVM("rbf", 0.5, tol=1e-6).fit(X, y, sample_weight=weight)
    expected = named.rank_score(X)
    called = OrdinalSVM(share, tol=1e-6).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(called.rank_score(X), expected, atol=1e-4)
    K = share(X, X)
    given = OrdinalSVM("precomputed", tol=1e-6).fit(K, y, sample_weight=weight)
    np.testing.assert_allclose(given.rank_score(K), expected, atol=1e-4)
    np.testing.assert_array_equal(np.flatnonzero(given.dual_coef_), np.sort(given.support_))
    assert (weight[given.support_] > 0).all()
    again = rankwise.load(given.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.rank_score(K), given.rank_score(K))


def test_linear_kernel_has_coefficients_of_features():
    X, y, _ = graded(80, seed=12)
    machine = OrdinalSVM("linear").fit(X, y)
    np.testing.assert_array_equal(machine.rank_score(X), X @ machine.coef_ + machine.intercept_)
    machine.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(machine, "coef_")


# Searches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["MAE", "nDCG@10"])
def test_search_by_folds_is_that_of_single_fits(measure):
    X, y, qid = graded(120, seed=13)
    weight = np.arange(120) % 3 + 1.0
    C = [0.05, 0.5, 5.0]
    machine = OrdinalSVM(C=C[::-1], cv=3, measure=measure, tol=1e-6)
    machine.fit(X, y, qid=qid, sample_weight=weight)
    expected = np.empty((3, 3))
    splits = fold_splits(X, y - 1.0, QueryGroups.from_qid(qid, 120), 3)
    for fold, (train, test) in enumerate(splits):
        for k, c in enumerate(C):
            single = OrdinalSVM(C=c, tol=1e-6)
            single.fit(X[train], y[train], sample_weight=weight[train])
            values = single.predict(X[test]) if measure == "MAE" else single.rank_score(X[test])
            labels = y[test] if measure == "MAE" else y[test] - 1
            expected[fold, k] = parse(measure).mean(
                labels, values, QueryGroups.from_qid(qid[test], len(test))
            )
    np.testing.assert_allclose(machine.cv_results_["fold_test_scores"], expected, rtol=1e-6)
    means = expected.mean(axis=0)
    assert C[int(np.argmin(means) if measure == "MAE" else np.argmax(means))] == machine.C_
    np.testing.assert_array_equal(machine.path_["C"], C)
    single = OrdinalSVM(C=machine.C_, tol=1e-6).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(machine.rank_score(X), single.rank_score(X), atol=1e-4)
    assert machine.dual_objective_ == pytest.approx(single.dual_objective_, rel=1e-7)


def test_search_on_validation_rows_over_widths_and_C():
    X, y, qid = graded(100, seed=14)
    X_val, y_val, qid_val = graded(60, seed=15)
    machine = OrdinalSVM("rbf", [0.2, 2.0], C=[0.1, 10.0], tol=1e-6)
    machine.fit(X, y, qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val)
    results = machine.cv_results_
    held = QueryGroups.from_qid(qid_val, 60)
    for k, score in enumerate(results["mean_test_score"]):
        single = OrdinalSVM("rbf", results["gamma"][k], C=results["C"][k], tol=1e-6).fit(X, y)
        assert score == pytest.approx(parse("MAE").mean(y_val, single.predict(X_val), held))
    best = int(np.argmin(results["mean_test_score"]))
    assert (machine.gamma_, machine.C_) == (results["gamma"][best], results["C"][best])
    named = OrdinalSVM("rbf", C="val").fit(X, y, X_val=X_val, y_val=y_val)
    assert named.cv_results_["C"].tolist() == [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]
    assert "gamma" not in named.cv_results_


def test_searched_widths_and_splitters():
    X, y, qid = graded(90, seed=16)
    machine = OrdinalSVM("rbf", "cv", cv=GroupKFold(3)).fit(X, y, qid=qid)
    np.testing.assert_allclose(machine.cv_results_["gamma"], gamma_grid(X))
    assert machine.gamma_ in machine.cv_results_["gamma"]
    assert machine.cv_results_["fold_test_scores"].shape == (3, 7)
    K = resolve_kernel("rbf", X, machine.gamma_)(X, X)
    weight = (np.arange(90) % 5 > 0).astype(float)
    given = OrdinalSVM("precomputed", C=[0.1, 1.0], cv=3, tol=1e-6)
    named = OrdinalSVM("rbf", machine.gamma_, C=[0.1, 1.0], cv=3, tol=1e-6)
    scores = [
        m.fit(rows, y, qid=qid, sample_weight=weight).cv_results_["fold_test_scores"]
        for m, rows in ((given, K), (named, X))
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)


def test_search_with_rows_computed_as_they_are_read():
    X, y, qid = graded(150, seed=17)
    whole, lean = (
        OrdinalSVM(C=[0.1, 1.0], cv=3, tol=1e-5, max_bytes=max_bytes).fit(X, y, qid=qid)
        for max_bytes in (2**30, 4 * 150 * 12)
    )
    np.testing.assert_allclose(
        whole.cv_results_["fold_test_scores"], lean.cv_results_["fold_test_scores"], atol=0.02
    )


# Errors ------------------------------------------------------------------------------------------


def test_too_few_steps_warn():
    X, y, _ = graded(60)
    with pytest.warns(ConvergenceWarning, match="stopped after 5 steps at C=1; the violation is"):
        OrdinalSVM(max_iter=5).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": [0.0, 1.0]}, "C must be a number or a list of numbers from 1e-300"),
        ({"C": np.inf}, "'C' parameter"),
        ({"C": [[1.0]]}, "C must be a number or a list of numbers from 1e-300"),
        ({"C": "val"}, 'C="val" needs validation data'),
        ({"C": "loqo"}, "'C' parameter"),
        ({"measure": "nGain"}, "nGain"),
        ({"kernel": "rbf", "gamma": []}, "gamma must be a number > 0 or a list of them"),
        ({"gamma": "wide"}, "'gamma' parameter"),
        ({"costs": "cubic"}, "'costs' parameter"),
        ({"costs": [[0.0, 1.0]]}, "costs must have shape"),
        ({"fit_intercept": False}, "fit_intercept=False needs a positive definite kernel"),
        ({"kernel": lambda A, B: -A @ B.T, "fit_intercept": False}, r"with K\(x, x\) < 0"),
        ({"kernel": lambda A, B: A @ np.roll(B, 1, axis=1).T}, "must be symmetric"),
        ({"max_bytes": 100}, "max_bytes=100 is less than"),
        ({"kernel": "precomputed"}, r"needs X of shape \(n_samples, n_samples\)"),
        ({"kernel": "cosine"}, "'kernel' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y, qid = graded(30)
    with pytest.raises(ValueError, match=message):
        OrdinalSVM(**params).fit(X, y, qid=qid)


@pytest.mark.parametrize("costs", [np.zeros((4, 4)), np.full((30, 4), 2.0), "err"])
def test_costs_of_nothing_are_named(costs):
    X, y, _ = graded(30)
    with pytest.raises(ValueError, match="costs must cost something") as raised:
        OrdinalSVM(costs=costs).fit(X, y, qid=np.arange(30))
    assert ("'err'" if isinstance(costs, str) else str(costs.shape)) in str(raised.value)
    assert len(str(raised.value)) < 250


@pytest.mark.parametrize("offset", [1024.0, 1.7e9])
def test_a_column_far_from_zero_costs_no_digits(offset, rng):
    X = np.round(rng.normal(size=(90, 3)) * 2.0**6) / 2.0**6  # sums with the offset are exact
    y = np.digitize(X[:, 0] - X[:, 2] + rng.normal(size=90), [-0.8, 0.8])
    far = X + np.array([0.0, offset, 0.0])
    for C in (1.0, [0.1, 1.0]):
        near, moved = (
            OrdinalSVM("linear", C=C, tol=1e-6).fit(Z[:60], y[:60], X_val=Z[60:], y_val=y[60:])
            for Z in (X, far)
        )
        np.testing.assert_allclose(moved.coef_, near.coef_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(moved.rank_score(far), near.rank_score(X), atol=1e-4)
        if np.ndim(C):
            found, expected = (m.cv_results_["mean_test_score"] for m in (moved, near))
            np.testing.assert_array_equal(found, expected)
        if offset < 1e6:  # raw products have digits to spare
            path, K = moved.path_, far[:60] @ far[:60].T
            scores = K @ path["coef"].T + path["intercept"]
            np.testing.assert_allclose(scores[:, -1], near.rank_score(X[:60]), atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_wide_column_does_not_keep_a_linear_machine_from_its_optimum(fit_intercept, form, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X.sum(axis=1) + 0.3 * rng.normal(size=120), [-1, 0, 1])
    X[:, 2] *= 5 * 3600  # hours, in seconds
    if form == "csr":
        X = sparse.csr_array(X)
    machine = OrdinalSVM("linear", C=C, fit_intercept=fit_intercept, max_bytes=2**18)
    with pytest.warns(UserWarning, match="X must have columns of similar scale"):
        machine.fit(X, y)
    assert machine.n_iter_ < 110_000
    assert 0 <= machine.dual_gap_ < 1e-4
    if fit_intercept:
        assert abs(machine.path_["coef"][0].sum()) < 1e-8
