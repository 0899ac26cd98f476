"""Online learners after the fit: changed parameters, numbers out of range, files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise
from rankwise import AggregatePRank, PRank, WidrowHoff
from tests.ordinal.learners import (
    RBF,
    RULES,
    assert_same_bits,
    each,
    linear,
    state,
    with_params,
)

# Parameters after the fit -------------------------------------------------------------------------


EXPLICIT = {}
POLYNOMIAL = {"kernel": "polynomial", "gamma": 1.0, "kernel_params": {"degree": 2}}
CHANGES = [
    (EXPLICIT, {"degree": 2}, r"degree must stay .* 1, got 2"),
    ({"degree": 2}, {"degree": 1}, r"degree must stay .* 2, got 1"),
    (EXPLICIT, RBF, r"kernel must stay .* None, got 'rbf'"),
    (EXPLICIT, {"gamma": 1.0}, r"gamma must stay .* None, got 1.0"),
    (RBF, {"kernel": None, "gamma": None}, r"kernel must stay .* 'rbf', got None"),
    (RBF, {"kernel": "laplacian"}, r"kernel must stay .* 'rbf', got 'laplacian'"),
    (RBF, {"gamma": 3.0}, r"gamma must stay .* 2.0, got 3.0"),
    (POLYNOMIAL, {"kernel_params": {"degree": 3}}, r"kernel_params must stay .*: 2}, got .*: 3}"),
    (POLYNOMIAL, {"kernel_params": None}, r"kernel_params must stay .* got None"),
]


def assert_refused(learner, params, message, X, y):
    before = [np.copy(array) for array in state(learner) if array is not None]
    old = {name: learner.get_params()[name] for name in params}
    learner.set_params(**params)
    held = dict(vars(learner))
    for _ in range(2):
        with pytest.raises(ValueError, match=message + r"\. Set it back, or call fit"):
            learner.partial_fit(X, y)
    assert all(vars(learner)[name] is value for name, value in held.items())
    with pytest.raises(ValueError, match=message):
        learner.predict(X)
    learner.set_params(**old)
    for a, b in zip(before, [a for a in state(learner) if a is not None], strict=True):
        np.testing.assert_array_equal(a, b)


@each
@pytest.mark.parametrize(("begun", "params", "message"), CHANGES)
def test_shape_stays_as_begun(learner, begun, params, message, square, tmp_path):
    X, y = square[0][:30], square[1][:30]
    classes = [1, 2, 3, 4, 5]
    whole = with_params(learner, **begun).fit(X, y)
    parts = with_params(learner, **begun).partial_fit(X, y, classes=classes)
    for fitted in (whole, parts, rankwise.load(parts.save(tmp_path / "model"))):
        assert_refused(fitted, params, message, X, y)
        fitted.partial_fit(X, y)
        assert fitted.n_seen_ == 60
    fresh = clone(parts).set_params(**params)
    if set(params) != {"gamma"} or begun:
        assert fresh.partial_fit(X, y, classes=classes).n_seen_ == 30
        assert parts.set_params(**params).fit(X, y).n_seen_ == 30  # begins anew


@pytest.mark.parametrize("combine", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("features", [{}, RBF], ids=["1", "rbf"])
@pytest.mark.parametrize(("begun", "later"), [(5, 50), (50, 5)])
def test_number_of_pranks_stays_as_begun(combine, features, begun, later, square, tmp_path):
    X, y = square[0][:30], square[1][:30]
    fitted = AggregatePRank(combine, n_prank=begun, random_state=0, **features, shuffle=False).fit(
        X, y
    )
    fitted.coin_seed_ = 0  # a seed like any other, also for files
    for learner in (fitted, rankwise.load(fitted.save(tmp_path / "model"))):
        message = f"n_prank must stay .* {begun}, got {later}"
        assert_refused(learner, {"n_prank": later}, message, X, y)


def test_a_fit_without_a_kernel_forgets_the_one_before(square):
    X, y = square[0][:30], square[1][:30]
    refitted = PRank(kernel="rbf", gamma=1.0, shuffle=False).fit(X, y).set_params(kernel=None)
    refitted.set_params(gamma=None).fit(X, y)
    assert vars(refitted).keys() == vars(PRank(shuffle=False).fit(X, y)).keys()


def test_keywords_changed_in_place_are_seen(square):
    X, y = square[0][:30], square[1][:30]
    fitted = PRank(kernel=linear, kernel_params={"shift": np.array([1.0])}, shuffle=False).fit(X, y)
    fitted.set_params(kernel_params={"shift": np.array([1.0])}).partial_fit(X, y)
    fitted.kernel_params["shift"] = np.array([2.0])
    with pytest.raises(ValueError, match="kernel_params must stay"):
        fitted.partial_fit(X, y)


@each
def test_other_parameters_may_change(learner, square):
    X, y = square[0][:40], square[1][:40]
    changes = {"n_epochs": 3, "shuffle": True, "random_state": 9, "learning_rate": 0.5, "tau": 0.2}
    known = {k: v for k, v in changes.items() if k in learner.get_params()}
    fitted = with_params(learner).fit(X, y).set_params(**known).partial_fit(X, y)
    assert fitted.n_seen_ == 80
    if "votes" in learner.get_params():
        for votes in RULES:
            direct = with_params(learner, votes=votes).fit(X, y)
            changed = with_params(learner).fit(X, y).set_params(votes=votes)
            np.testing.assert_array_equal(changed.predict(X), direct.predict(X))
            np.testing.assert_array_equal(
                changed.partial_fit(X, y).thresholds_, direct.partial_fit(X, y).thresholds_
            )


@pytest.mark.parametrize("features", [{}, RBF], ids=["1", "rbf"])
@pytest.mark.parametrize("later", ["bpm", "bag", "vote"])
@pytest.mark.parametrize("begun", ["bpm", "bag", "vote"])
def test_pranks_can_be_combined_otherwise(begun, later, features, square):
    X, y = square[0][:60], square[1][:60]
    params = {"tau": 0.5, "n_prank": 7, "votes": "mean", "random_state": 1, **features}
    changed = AggregatePRank(begun, **params).fit(X, y).set_params(combine=later)
    direct = AggregatePRank(later, **params).fit(X, y)
    if (begun == "bpm") != (later == "bpm"):
        for method in (changed.predict, changed.rank_score, changed.decision_function):
            with pytest.raises(
                ValueError, match=f"combine must stay .* as in the fitted model, got '{later}'"
            ):
                method(X)
    else:
        np.testing.assert_array_equal(changed.predict(X), direct.predict(X))
    changed.partial_fit(X, y)
    direct.partial_fit(X, y)
    assert_same_bits(changed, direct)
    np.testing.assert_array_equal(changed.decision_function(X), direct.decision_function(X))


# Range of numbers ---------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(
    ("params", "scale"),
    [
        ({}, 1e200),
        ({"degree": 2}, 1e100),
        ({"degree": 2}, 1e200),
        ({"kernel": "linear"}, 1e200),
        ({"kernel": "polynomial", "gamma": 1.0}, 1e120),
    ],
)
def test_scores_beyond_the_range_are_refused(learner, params, scale, form, square):
    rows, y = square[0][:30], square[1][:30]
    X, huge = rows, scale * rows
    if form == "csr":
        X, huge = sparse.csr_array(X), sparse.csr_array(huge)
    message = (
        r"products of the rows .* overflow\). Column \d of X has values from .*: scale it"
        r"|products are finite with degree=2.*Scale the columns"
    )
    learner = with_params(learner, **params)
    with pytest.raises(ValueError, match=message):
        with_params(learner).fit(huge, y)
    fitted = with_params(learner).fit(X, y)
    held, scores = dict(vars(fitted)), fitted.rank_score(X)
    for call in (fitted.fit, fitted.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(huge, y)
        assert vars(fitted) == held
        np.testing.assert_array_equal(fitted.rank_score(X), scores)
    shrunk = with_params(learner).fit(X, y).rank_score(1e-200 * X)
    assert np.isfinite(shrunk).all()


@each
def test_predictions_beyond_the_range_are_refused(learner, rng):
    X = 1e10 * rng.normal(size=(40, 3))
    y = np.digitize(X[:, 0], [-1e9, 1e9])
    params = (
        {"learning_rate": 1e-30} if isinstance(learner, WidrowHoff) else {}
    )  # else steps of 1 / |x|^2
    for kernel in (None, "linear"):
        fitted = with_params(learner, kernel=kernel, **params).fit(X, y)
        assert np.isfinite(fitted.rank_score(1e100 * X)).all()
        if params == {}:
            with pytest.raises(ValueError, match=r"Column 0 of X has values from 1\.7e"):
                fitted.rank_score(np.full((2, 3), 1.7e308) * [1.0, -1.0, 1.0])


@each
def test_a_damaged_model_is_named_where_its_scores_overflow(learner, square):
    fitted = with_params(learner).fit(*(part[:30] for part in square[:2]))
    holders = (fitted.hypotheses_, "weights"), (fitted, "dual_coef_"), (fitted, "coef_")
    for holder, name in holders:
        if hasattr(holder, name):
            getattr(holder, name)[:] = 1e308
    with pytest.raises(ValueError, match=r"of the model has values from .* to 1e\+308"):
        fitted.predict(9.0 + square[0])


# Files -------------------------------------------------------------------------------------------


@each
def test_saved_learners_go_on(learner, square, tmp_path):
    X, y, X_new, _ = square
    for params in ({"degree": 2}, {"kernel": "rbf", "gamma": 3.0}):
        first = with_params(learner, **params).fit(X[:50], y[:50])
        again = rankwise.load(first.save(tmp_path / "model"))
        np.testing.assert_array_equal(again.rank_score(X_new), first.rank_score(X_new))
        assert_same_bits(
            again.partial_fit(X[50:90], y[50:90]), first.partial_fit(X[50:90], y[50:90])
        )
