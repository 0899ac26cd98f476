"""What every estimator with a kernel does with names of kernels and widths."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import rankwise
from rankwise._registry import REGISTRY
from rankwise.exceptions import IgnoredParameterWarning
from tests.common.estimators import load_class, row_scores, small

WITH_KERNEL = [
    key
    for key, entry in REGISTRY.items()
    if entry.kind in ("ranker", "ordinal")
    and not entry.extra
    and {"kernel", "gamma"} <= inspect.signature(load_class(key)).parameters.keys()
]
pytestmark = pytest.mark.parametrize("key", WITH_KERNEL)


@pytest.fixture
def judged(rng):
    X = rng.normal(size=(40, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5]), np.arange(40) // 8


def fitted(key, judged, **params):
    X, y, qid = judged
    return small(key, **params).fit(X, y, qid=qid)


def test_poly_is_polynomial(key, judged):
    given = {"kernel_params": {"degree": 2}}
    poly = fitted(key, judged, kernel="poly", **given)
    whole = fitted(key, judged, kernel="polynomial", **given)
    np.testing.assert_array_equal(row_scores(poly, judged[0]), row_scores(whole, judged[0]))
    assert poly.kernel_.name == "polynomial"


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_named_widths_are_numbers(key, kernel, judged, tmp_path):
    X = judged[0]
    for name, number in (("scale", 1 / (3 * X.var())), ("auto", 1 / 3)):
        model = fitted(key, judged, kernel=kernel, gamma=name)
        expected = fitted(key, judged, kernel=kernel, gamma=number)
        assert model.kernel_.gamma == pytest.approx(number)
        np.testing.assert_allclose(
            row_scores(model, X), row_scores(expected, X), rtol=1e-6, atol=1e-8
        )
        again = rankwise.load(model.save(tmp_path / "model"))
        assert again.gamma == name
        np.testing.assert_array_equal(row_scores(again, X), row_scores(model, X))


def test_width_of_a_kernel_without_one_is_ignored(key, judged):
    X = judged[0]
    expected = row_scores(fitted(key, judged, kernel="linear"), X)
    widths = [2.0] if REGISTRY[key].tags >= {"online"} else [2.0, [1.0, 2.0], "cv"]
    for gamma in widths:
        with pytest.warns(IgnoredParameterWarning, match="gamma has no effect with kernel=.linear"):
            model = fitted(key, judged, kernel="linear", gamma=gamma)
        np.testing.assert_array_equal(row_scores(model, X), expected)
        assert not hasattr(model, "cv_results_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(key, judged, kernel="linear", gamma="scale")


def test_search_over_kernels_and_widths(key, judged):
    X, y, _ = judged
    grid = {"kernel": ["linear", "rbf"], "gamma": [0.1, 1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredParameterWarning)
        search = GridSearchCV(small(key), grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4
