"""The guard of :mod:`rankwise.runtime.finite`: whose arithmetic it watches, on which threads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rankwise import LinearRegressionRanker, RankRLS
from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import laplacian_factor
from rankwise.runtime.finite import (
    FEW_NUMBERS,
    FiniteResults,
    RangeError,
    all_finite,
    own_overflow_raises,
)
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import thread_imap, thread_map


def test_only_the_library_s_own_arithmetic_raises():
    def overflow(factor):
        return np.full(2, 1e300) * factor

    with own_overflow_raises(), pytest.warns(RuntimeWarning, match="overflow"):
        overflow(1e300)  # of this module
    huge = np.full(2, 1e300)
    with own_overflow_raises(), pytest.raises(FloatingPointError, match="in laplacian_factor"):
        laplacian_factor(QueryGroups.single(2), np.zeros(2), huge)


def test_a_kernel_of_the_user_keeps_its_warnings(rng):
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3

    def kernel(X, Z):
        np.exp(np.full(3, 1e3))  # overflows, and does no harm
        return X @ Z.T + 1.0

    with pytest.warns(RuntimeWarning, match="overflow"):
        scores = RankRLS(kernel=kernel).fit(X, y).predict(X)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("error", [ZeroDivisionError, OverflowError, np.linalg.LinAlgError])
def test_a_kernel_of_the_user_keeps_its_errors(rng, error):
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3

    def kernel(X, Z):
        if error is ZeroDivisionError:
            return X @ Z.T / (1 // 0)
        if error is OverflowError:
            return X @ Z.T * 10.0**400
        return np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(error):
        RankRLS(kernel=kernel).fit(X, y)


@pytest.mark.parametrize(
    "run",
    [
        lambda work: thread_map(work, range(8), 2),
        lambda work: list(thread_imap(work, range(8), 2)),
        lambda work: list(thread_imap(work, iter(range(8)), 2)),
    ],
)
def test_threads_work_in_the_context_of_the_caller(run):
    seen = []
    with np.errstate(over="call", call=lambda *_: None):
        run(lambda item: seen.append(np.geterr()["over"]))
    assert seen == ["call"] * 8


def test_what_is_not_finite_is_an_error_of_its_method():
    class Model(FiniteResults):
        def fit(self, X, y):
            self.coef_ = np.array([1.0, np.nan])
            return self

        def predict(self, X):
            return np.array([np.inf, 1.0])

        def transform(self, X):
            raise np.linalg.LinAlgError("singular")

    X = np.array([[1.0, 3e-200], [2.0, 0.0]])
    with pytest.raises(ValueError, match=r"Model.fit gives values of coef_ that are not finite"):
        Model().fit(X, np.ones(2))
    with pytest.raises(ValueError, match=r"Model.predict .* Column 1 of X has values from 0 to 3e"):
        Model().predict(X)
    with pytest.raises(ValueError, match=r"Model.transform failed .*singular") as error:
        Model().transform(X)
    assert isinstance(error.value.__cause__, np.linalg.LinAlgError)


def _line(rng):
    X = rng.normal(size=(12, 2))
    return X, LinearRegressionRanker().fit(X, np.arange(12) % 3)


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_a_model_whose_numbers_are_too_large_is_named_and_not_the_rows(rng, value):
    X, model = _line(rng)
    model.coef_ = np.full(2, value)
    with pytest.raises(
        RangeError, match=r"expansion_\.coef of the model has values from .*1e\+308"
    ):
        model.predict(X * 9)
    with pytest.raises(RangeError, match=r"predict .* ranker\.expansion_\.coef of the model has"):
        _Outer(model).predict(X * 9)


def test_rows_that_are_too_large_are_named_and_not_the_model(rng):
    X, model = _line(rng)
    X[:, 1] *= 1e307
    model.coef_ = np.full(2, 1e3)
    with pytest.raises(RangeError, match=r"Column 1 of X has values"):
        model.predict(X)


class _Outer(FiniteResults):
    """Predicts by an estimator whose X its callers do not see."""

    def __init__(self, ranker):
        self.ranker = ranker

    def predict(self, X):
        return self.ranker.predict(X * 1e300)


def test_a_column_of_an_estimator_within_is_not_blamed(rng):
    X, model = _line(rng)
    model.coef_ = np.full(2, 1e200)
    with pytest.raises(
        RangeError, match=r"^LinearRegressionRanker.predict .*\. ranker\.expansion_\.coef of"
    ):
        _Outer(model).predict(X)


def test_a_range_error_survives_a_process():
    error = pickle.loads(pickle.dumps(RangeError("A.fit failed.", "Scale X.")))
    assert str(error) == "A.fit failed. Scale X."


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
@pytest.mark.parametrize("size", [0, 1, 7, FEW_NUMBERS, FEW_NUMBERS + 1])
def test_all_finite_finds_every_number_that_is_not(dtype, size):
    largest = np.finfo(dtype).max
    with np.errstate(all="raise"):  # neither squares nor sums may reach the caller's handler
        values = np.full(size, 0.5, dtype)
        assert all_finite(values)
        values[: size // 2] = largest  # whose squares, and whose sum, overflow
        assert all_finite(values)
        assert all_finite(values.reshape(1, -1)[:, ::-1])
        for bad in (np.nan, np.inf, -np.inf):
            for at in {0, size // 2, size - 1} if size else ():
                broken = values.copy()
                broken[at] = bad
                assert not all_finite(broken)


def test_a_fitted_estimator_is_known_by_its_columns():
    model = LinearRegressionRanker()
    with pytest.raises(NotFittedError, match="LinearRegressionRanker instance is not fitted"):
        model.predict([[0.0]])
    check_is_fitted(model.fit([[0.0], [1.0]], [0, 1], qid=0))
