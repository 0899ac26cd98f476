"""The warning of columns that make an estimator lose the others: when it comes, and when not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from rankwise._registry import REGISTRY
from rankwise.checks.column_sizes import (
    CENTRED_PRODUCTS,
    DISTANCES,
    PRODUCTS,
    SATURATED_NODES,
    SQUARES,
    dominant_columns,
)
from tests.common.estimators import accepts, row_scores, small

LIMITS = [SATURATED_NODES, PRODUCTS, CENTRED_PRODUCTS, DISTANCES, SQUARES]
TOLD = "X must have columns of similar scale"
# Estimators whose scores of the rows of ``_times`` are no better than chance.
LOST = [
    ("pointwise_elm", {}),
    ("pairwise_elm", {}),
    ("pairwise_elm", {"activation": "tanh"}),
    ("pairwise_elm", {"kernel": "rbf"}),
    ("lsrrank", {}),
    ("clsrrank", {}),
    ("svr", {}),
    ("svrank", {}),
    ("lssvr", {}),
    ("rank_svm", {"kernel": "rbf"}),
    ("prank", {}),
    ("prank", {"kernel": "rbf"}),
    ("voted_prank", {}),
    ("aggregate_prank", {}),
    ("widrow_hoff", {}),
    ("ordinal_svm", {"kernel": "linear", "max_iter": 1000}),
    ("rank_net", {"scaling": False}),
]
# Those whose scores are as good as with a standardised column.
KEPT = [
    ("linear_regression", {}),
    ("ridge", {}),
    ("rankrls", {}),
    ("mprank", {}),
    ("pairwise_elm", {"activation": "linear"}),
    ("pairwise_elm", {"kernel": "linear"}),
    ("svr", {"kernel": "linear"}),
    ("svrank", {"kernel": "linear", "lam": 0.01}),
    ("rank_svm", {}),
    ("rank_lr", {}),
    ("poly_ordinal_svm", {}),
    ("orboost", {}),
    ("ranking_tree", {}),
    ("rank_net", {}),
]


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    ideal = X[:, 0] - X[:, 2]
    return X, np.digitize(ideal + 0.3 * rng.normal(size=120), [-0.8, 0.8]).astype(float), ideal


def _times():
    X, y, ideal = _rows()
    X[:, 1] = 1.7e9 + 977 * np.arange(len(X))
    return X, y, ideal


def _fitted(key, params, X, y):
    kwargs = {"qid": np.repeat(np.arange(12), 10)} if accepts(key, "qid") else {}
    return small(key, **params).fit(X, y, **kwargs)


def _agreement(key, params, X, y, ideal):
    """Mean correlation with the ideal scores within queries."""
    scores = row_scores(_fitted(key, params, X, y), X).reshape(12, 10)
    parts = zip(scores, ideal.reshape(12, 10), strict=True)
    return np.mean([np.corrcoef(*part)[0, 1] if np.ptp(part[0]) else 0.0 for part in parts])


def _name(value):
    return value if isinstance(value, str) else "-".join(map(str, value.values()))


@pytest.mark.filterwarnings("ignore:OrdinalSVM stopped after 1000 steps")
@pytest.mark.parametrize(("key", "params"), LOST, ids=_name)
def test_estimators_that_lose_columns_say_so(key, params):
    with pytest.warns(UserWarning, match=TOLD) as caught:
        lost = _agreement(key, params, *_times())
    caught = [told for told in caught if told.category is UserWarning]
    assert len(caught) == 1
    assert "column 1 from 1700000000 to 1700116263. " in str(caught[0].message)
    assert caught[0].filename == __file__
    assert abs(lost) < 0.25
    X, y, ideal = _times()
    assert _agreement(key, params, StandardScaler().fit_transform(X), y, ideal) > 0.6


@pytest.mark.parametrize(("key", "params"), KEPT, ids=_name)
def test_estimators_that_lose_nothing_are_silent(key, params):
    assert _agreement(key, params, *_times()) > 0.6


@pytest.mark.parametrize("key", ["ridge", "rankrls", "mprank", "lssvr"])
def test_squares_that_lose_digits_are_told(key):
    X, y, ideal = _rows()
    X = X.astype(np.float32)
    X[:, 1] *= np.float32(1e38)
    params = {"kernel": "linear"} if accepts(key, "qid") and key != "ridge" else {}
    with pytest.warns(UserWarning, match="rounding loses the other columns"):
        assert abs(_agreement(key, params, X, y, ideal)) < 0.25


@pytest.mark.parametrize("key", [k for k, e in REGISTRY.items() if e.kind in ("ranker", "ordinal")])
def test_columns_of_moderate_scale_are_no_reason(key):
    X, y, _ = _rows()
    _fitted(key, {}, X * [1.0, 100.0, 0.01, 1.0] + [0.0, 30.0, 0.0, 1.0], y)


def test_partial_fit_tells_once():
    X, y, _ = _times()
    for key in ("prank", "pairwise_elm"):
        estimator = small(key)
        kwargs = {"classes": [0.0, 1.0, 2.0]} if key == "prank" else {}
        with pytest.warns(UserWarning, match=TOLD):
            estimator.partial_fit(X[:60], y[:60], **kwargs)
        estimator.partial_fit(X[60:], y[60:])


@pytest.mark.parametrize("key", ["random_nodes", "nystroem", "random_fourier"])
def test_transformers_tell_too(key):
    X, _, _ = _times()
    with pytest.warns(UserWarning, match=TOLD):
        small(key).fit(X)


def test_names_of_columns_and_of_the_fix():
    pandas = pytest.importorskip("pandas")
    X, y, _ = _times()
    frame = pandas.DataFrame(np.hstack([X] + 4 * [X[:, 1:2]]), columns=list("abcdefgh"))
    told = r"column 1 \('b'\) from .*, column 4 \('e'\) from .*, column 5 .*, and 2 more\. Scale"
    with pytest.warns(UserWarning, match=told):
        small("pairwise_elm").fit(frame, y)
    with pytest.warns(UserWarning, match=r"Set scaling=True\.$"):
        small("rank_net", scaling=False).fit(X, y)


def test_values_of_the_user_are_not_judged():
    X, y, _ = _times()
    ranker = small("rankrls", kernel=lambda A, B: np.tanh(A[:, :1]) @ np.tanh(B[:, :1]).T)
    ranker.fit(X, y)
    clone(ranker).set_params(kernel="precomputed").fit(np.diag(np.geomspace(1e-6, 1e6, 120)), y)


# The rule ----------------------------------------------------------------------------------------


def _cases():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))

    def column(values):
        return np.column_stack([X[:, :1], values, X[:, 1:]])

    rare = (np.arange(500) == 7).astype(float)
    yield "normal", X, []
    yield "rare indicators", np.column_stack([column(50 * X[:, 1]), rare, rare]), []
    yield "heavy tails", np.exp(3 * X), []
    yield "constant", column(np.full(500, 3.0)), []
    yield "zero", np.zeros((500, 3)), []
    yield "far constant", column(np.full(500, 1e9)), ["nodes", "size"]
    yield "Unix time", column(1.7e9 + 977 * np.arange(500)), ["nodes", "size", "spread"]
    yield "Unix time of seconds", column(1.7e9 + X[:, 1]), ["nodes", "size"]
    yield "only a Unix time", 1.7e9 + 977.0 * np.arange(500)[:, None], ["nodes", "size"]
    yield "1e5", column(1e5 * X[:, 1]), ["nodes", "size", "spread"]
    yield "3e38", column(3e38 * X[:, 1]), ["nodes", "size", "spread", "squares"]
    yield "both ends", column(1.7e308 * np.sign(X[:, 1])), ["nodes", "size", "spread", "squares"]
    yield "one cell", column(np.where(rare, 1e200, 0)), ["nodes", "size", "spread", "squares"]


@pytest.mark.parametrize(("X", "beyond"), [pytest.param(*c[1:], id=c[0]) for c in _cases()])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_rule(X, beyond, form):
    limits = {"nodes": SATURATED_NODES, "size": PRODUCTS, "spread": DISTANCES, "squares": SQUARES}
    column = min(1, X.shape[1] - 1)
    with np.errstate(all="raise", under="ignore"):
        found = [name for name, limit in limits.items() if len(dominant_columns(form(X), limit))]
    assert found == beyond
    assert all(dominant_columns(form(X), limits[name]).tolist() == [column] for name in found)


@pytest.mark.parametrize("limit", [PRODUCTS, DISTANCES, SQUARES])
@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1e10, 1e300])
def test_a_common_scale_is_none(limit, scale, rng):
    X = rng.normal(size=(50, 4)) * scale
    assert not len(dominant_columns(X, limit))
    assert len(dominant_columns(X, SATURATED_NODES)) == (4 if scale > 1 else 0)


def test_some_of_many_rows_are_read(rng):
    X = rng.normal(size=(100_001, 2))
    assert not len(dominant_columns(X, PRODUCTS))
    X[:, 1] *= 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dominant_columns(X, PRODUCTS).tolist() == [1]
