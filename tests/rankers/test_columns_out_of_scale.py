"""RankSVM and RankLR on columns far from zero, or of another scale than the others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise import RankLR, RankSVM
from rankwise.solvers.newton import score_path
from rankwise.solvers.newton.score_newton import LinearRows


@pytest.fixture
def rows(rng):
    qid = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(240, 6))
    y = np.clip(np.round(X[:, 0] - X[:, 3] + rng.normal(size=240)), -1, 1) + 1
    return X, y, qid


@pytest.fixture
def work(monkeypatch):
    """Numbers of Hessian products and of evaluations of the loss."""
    counts = {"products": 0, "values": 0}

    def counted(name, method):
        def call(self, *args):
            counts[name] += 1
            return method(self, *args)

        return call

    monkeypatch.setattr(LinearRows, "curvature", counted("products", LinearRows.curvature))
    monkeypatch.setattr(LinearRows, "value_grad", counted("values", LinearRows.value_grad))
    return counts


def _column(X, name, rng):
    qid = np.repeat(np.arange(30), 8)
    Z = X.copy()
    Z[:, 1] = {
        "Unix time": lambda: 1.7e9 + 1e5 * rng.uniform(-1, 1, len(X)),
        "Unix time of seconds": lambda: 1.7e9 + X[:, 1],
        "Unix time of the query": lambda: 1.7e9 + 1e8 * rng.uniform(-1, 1, 30)[qid] + X[:, 1],
        "1e10": lambda: 1e10 * X[:, 1],
        "1e30": lambda: 1e30 * X[:, 1],
    }[name]()
    return Z


@pytest.mark.parametrize("cls", [RankSVM, RankLR])
@pytest.mark.parametrize(
    "name", ["Unix time", "Unix time of seconds", "Unix time of the query", "1e10", "1e30"]
)
def test_searches_over_columns_out_of_scale_take_little_work(cls, name, rows, work, rng):
    X, y, qid = rows
    cls(C="cv").fit(X, y, qid=qid)  # about 200 products and 200 values
    plain = dict(work)
    work.update(products=0, values=0)
    cls(C="cv").fit(_column(X, name, rng), y, qid=qid)
    # One column of a thousandfold scale and more costs a few products a step more.
    assert work["products"] <= 12 * plain["products"]
    assert work["values"] <= 12 * plain["values"]


@pytest.mark.parametrize("cls", [RankSVM, RankLR])
def test_offsets_within_queries_change_nothing(cls, rows, rng):
    X, y, qid = rows
    X = X.copy()
    X[:, 1] = np.round(2.0**10 * X[:, 1]) / 2.0**10  # sums with the offsets are exact
    expected = cls(C=0.1, tol=1e-12).fit(X, y, qid=qid)
    far = X.copy()
    far[:, 1] += np.round(1.7e9 + 1e8 * rng.uniform(-1, 1, 30))[qid]
    found = cls(C=0.1, tol=1e-12).fit(far, y, qid=qid)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)


@pytest.mark.parametrize("cls", [RankSVM, RankLR])
def test_a_column_constant_within_queries_gets_no_weight(cls, rows, rng):
    X, y, qid = rows
    X = X.copy()
    X[:, 1] = (1.7e9 + 1e8 * rng.uniform(-1, 1, 30))[qid]
    assert cls(C=1.0).fit(X, y, qid=qid).coef_[1] == 0.0


@pytest.mark.parametrize("cls", [RankSVM, RankLR])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_column_is_unpenalised_in_effect(cls, dtype, rows):
    X, y, qid = rows
    scores = []
    for factor in (2.0**40, 2.0**80, 2.0**120):
        Z = X.astype(np.float32).astype(dtype)
        Z[:, 1] *= dtype(factor)
        scores.append(cls(C=0.1, tol=1e-9).fit(Z, y, qid=qid).predict(Z))
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-4)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-4)


@pytest.mark.parametrize("cls", [RankSVM, RankLR])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_squares_that_overflow_are_refused_before_anything_is_compiled(
    cls, form, rows, monkeypatch
):
    X, y, qid = rows
    X = X.copy()
    X[7, 1] = 1e200
    monkeypatch.setattr(score_path, "merge_rows", None)
    with pytest.raises(ValueError, match=r"squares of the columns overflow.* Column 1 of X"):
        cls().fit(form(X), y, qid=qid)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_columns_are_refused_by_their_differences_within_queries(dtype, rows):
    X, y, qid = rows
    X = X.astype(dtype)
    X[:, 1] = (np.finfo(dtype).max / 4 * np.linspace(-1, 1, 30).astype(dtype))[qid]
    assert np.isfinite(RankSVM().fit(X, y, qid=qid).coef_).all()
