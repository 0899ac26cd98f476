"""What every cost-sensitive classifier of the registry does alike."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise
from rankwise._registry import REGISTRY
from rankwise.labels import ClassCosts, RowCosts
from tests.common.estimators import small

COST_SENSITIVE = [key for key, entry in REGISTRY.items() if entry.kind == "cost-sensitive"]
pytestmark = pytest.mark.parametrize("key", COST_SENSITIVE)
TIGHT = {"rtol": 1e-9, "atol": 1e-9}
NAMES = ["ham", "news", "spam"]


def reduction(key):
    """A small estimator; one of ordered classes knows the order of the names."""
    return small(key, **({"classes": NAMES} if key == "ordinal_reduction" else {}))


@pytest.fixture
def rows(rng):
    """60 rows in three named classes, with costs of every row."""
    y = np.array(NAMES)[np.arange(60) % 3]
    X = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[np.arange(60) % 3]
    return X, y, rng.random((60, 3)) + (1 - np.eye(3))[np.arange(60) % 3]


def scores(key, X, y, costs, at=None, **fit_params):
    model = (small if y.dtype.kind == "i" else reduction)(key)
    model.fit(X, y, costs=costs, **fit_params)
    return model.decision_function(X if at is None else at)


def test_integer_weights_are_repetition(key, rows, rng):
    X, y, costs = rows
    weight = rng.integers(0, 4, 60)
    again = np.repeat(np.arange(60), weight)
    repeated = scores(key, X[again], y[again], costs[again], at=X)
    np.testing.assert_allclose(scores(key, X, y, costs, sample_weight=weight), repeated, **TIGHT)


def test_order_of_the_rows_does_not_matter(key, rows, rng):
    X, y, costs = rows
    order = rng.permutation(60)
    expected = scores(key, X, y, costs)
    np.testing.assert_allclose(
        scores(key, X[order], y[order], costs[order], at=X), expected, **TIGHT
    )


def test_costs_by_class_are_those_of_their_rows(key, rows, rng):
    X, y, _ = rows
    costs = rng.random((3, 3))
    codes = np.unique(y, return_inverse=True)[1]
    expected = scores(key, X, y, costs)
    for form in (ClassCosts(costs), RowCosts(costs[codes]), costs[codes], costs.tolist()):
        np.testing.assert_allclose(scores(key, X, y, form), expected, **TIGHT)


def test_only_differences_of_a_row_s_costs_matter(key, rows, rng):
    if key == "cost_sensitive_one_vs_all_regression":
        pytest.skip("the level of a row's costs is a part of what it regresses")
    X, y, costs = rows
    shifted = costs + rng.random(size=(60, 1))
    np.testing.assert_allclose(scores(key, X, y, shifted), scores(key, X, y, costs), **TIGHT)


def test_negative_costs_are_refused(key, rows):
    X, y, costs = rows
    for form, at in (
        (np.where(np.arange(60)[:, None] == 7, [0.0, -2.5, 1.0], costs), "row 7, class 'news'"),
        ([[0, 1, 1], [1, 0, 1], [1, -2.5, 0]], "row 2, class 'news'"),
    ):
        with pytest.raises(ValueError, match=rf"costs must be >= 0, got -2\.5 at {at}\."):
            reduction(key).fit(X, y, costs=form)
    model = reduction(key).fit(X, y, costs=costs)
    with pytest.raises(ValueError, match=r"costs must be >= 0, got -1 at row 0"):
        model.score(X, y, costs=-costs / costs[0, 0])


def test_prediction_is_the_highest_score(key, rows):
    X, y, costs = rows
    model = reduction(key).fit(X, y, costs=costs)
    decision = model.decision_function(X)
    assert decision.shape == (60, 3)
    assert decision.dtype == np.float64
    np.testing.assert_array_equal(model.classes_[decision.argmax(axis=1)], model.predict(X))
    assert np.mean(model.predict(X) == y) > (0.6 if key != "ordinal_reduction" else 0.4)
    two = small(key).fit(X, y == "spam", costs=[[0, 1], [3, 0]])
    assert two.decision_function(X).shape == (60,)
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X))


def test_forms_of_the_rows(key, rows, rng):
    X, y, costs = rows
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X)
    expected = scores(key, X, y, costs)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        np.testing.assert_allclose(scores(key, form(X), y, costs, at=form(X)), expected, **TIGHT)
    np.testing.assert_array_equal(scores(key, np.asfortranarray(X), y, costs), expected)
    single = scores(key, X.astype(np.float32), y, costs)
    assert single.dtype == np.float64
    assert np.abs(single - expected).max() < 1e-3 * np.ptp(expected)
    for library in ("pandas", "polars"):
        frames = pytest.importorskip(library)
        frame = frames.DataFrame(dict(zip("abcd", X.T, strict=True)))
        model = reduction(key).fit(frame, frames.Series(y), costs=frames.DataFrame(costs))
        assert model.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_allclose(model.decision_function(frame), expected, **TIGHT)


def test_number_of_threads_changes_no_bit(key, rng, monkeypatch):
    X, y, costs = rng.normal(size=(1500, 8)), rng.integers(0, 6, 1500), rng.random((1500, 6))
    got = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        got.append(scores(key, X, y, costs))
    np.testing.assert_array_equal(got[0], got[1])


def test_copies_score_the_same(key, rows, tmp_path):
    X, y, costs = rows
    model = reduction(key).fit(X, y, costs=ClassCosts(np.arange(9.0).reshape(3, 3) % 4))
    expected = model.decision_function(X)
    again = rankwise.load(model.save(tmp_path / "model"))
    for one in (again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(one) is type(model)
        assert one.get_params() == model.get_params()
        assert one.score_name_ == model.score_name_ == "-cost"
        np.testing.assert_array_equal(one.decision_function(X), expected)
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()
    header = rankwise.persistence.describe(tmp_path / "model")
    assert header["fingerprint"]["n_samples"] == 60
    refitted = model.fit(X, y, costs=costs)
    np.testing.assert_array_equal(refitted.decision_function(X), scores(key, X, y, costs))


def test_fit_changes_nothing_it_is_given(key, rows):
    before = copy.deepcopy(rows)
    X, y, costs = rows
    reduction(key).fit(X, y, costs=costs, sample_weight=np.arange(60))
    for array, old in zip(rows, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_wrong_rows_and_weights_are_named(key, rows):
    X, y, costs = rows
    holes = X.copy()
    holes[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN at row 7, column 2\."):
        reduction(key).fit(holes, y, costs=costs)
    with pytest.raises(ValueError, match="y must have n_samples=60 entries"):
        reduction(key).fit(X, y[:-1], costs=costs)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        reduction(key).fit(X, y, costs=costs, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="costs must have shape"):
        reduction(key).fit(X, y, costs=costs[:-1])
