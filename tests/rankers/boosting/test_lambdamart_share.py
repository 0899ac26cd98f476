"""LambdaMART on shares of the rows: bit-identical to one machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import LambdaMART
from rankwise.rankers.boosting.lambdamart import check_shareable, fit_share
from rankwise.trees.boosted.coded_rows import MOST_STORED


class Threads:
    """Shares that are threads of one process."""

    def __init__(self, n):
        self.values, self.barrier, self.result = [None] * n, Barrier(n), None

    def of(self, number):
        return Member(self, number)


class Member:
    def __init__(self, group, number):
        self.group, self.number = group, number

    def sum(self, values):
        return self.agree(values, lambda parts: np.sum(parts, axis=0))

    def agree(self, value, combine):
        group = self.group
        group.values[self.number] = value
        if group.barrier.wait(60) == 0:
            group.result = combine(list(group.values))
        group.barrier.wait(60)
        result = group.result
        group.barrier.wait(60)
        return result


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 40, 60)
    qid = np.repeat(np.arange(60), sizes)
    X = rng.random((len(qid), 11))
    X[:, 3] = np.floor(4 * X[:, 3])
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0], nan=0.3) + 0.4 * rng.standard_normal(len(qid))
    return X, np.digitize(signal, [0.3, 0.6, 0.9]).astype(float), qid


def fitted(ranker, rows, n, validation=(None, None, None)):
    X, y, qid = rows
    group = Threads(n)
    parts = [qid % n == number for number in range(n)]

    def work(number):
        part = parts[number]
        mine = (X[part], y[part], qid[part])
        return fit_share(clone(ranker), mine, None, validation, 7, group.of(number))

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, range(n)))


def assert_same(a, b):
    for name in ("feature", "threshold", "left", "right", "values", "cover", "missing_left"):
        np.testing.assert_array_equal(getattr(a.trees_, name), getattr(b.trees_, name))
    np.testing.assert_array_equal(a.has_missing_, b.has_missing_)
    np.testing.assert_array_equal(a.feature_importances_, b.feature_importances_)
    assert a.n_estimators_ == b.n_estimators_


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"growth": "depth", "max_depth": 3, "reg_lambda": 1.0, "min_samples_leaf": 5},
        {"growth": "symmetric", "max_leaf_nodes": 8, "max_bins": 15},
        {"measure": "AP", "monotonic_cst": [1] + [0] * 10, "query_weight": "query"},
        {"measure": "ERR(max_grade=3)@5", "min_samples_leaf": 1, "max_leaf_nodes": 60},
    ],
)
def test_shares_grow_the_trees_of_one_machine(rows, n, options):
    ranker = LambdaMART(8, n_jobs=1, **options)
    whole = clone(ranker).fit(rows[0], rows[1], qid=rows[2])
    for part in fitted(ranker, rows, n):
        assert_same(part, whole)


def test_sparse_shares_of_other_densities(rows, rng):
    """All machines exchange histograms of one form, which the entries of all shares decide."""
    X, y, qid = rows
    stored = rng.random(X.shape) < np.where(qid % 3 == 0, 0.2, 0.02)[:, None]
    X = np.where(stored, X, 0.0)
    assert (X != 0).mean() < MOST_STORED < (X[qid % 3 == 0] != 0).mean()
    ranker = LambdaMART(8, min_samples_leaf=2, n_jobs=1)
    whole = clone(ranker).fit(X, y, qid=qid)
    for part in fitted(ranker, (sparse.csr_array(X), y, qid), 3):
        assert_same(part, whole)


def test_repeated_rows_and_early_stopping(rows):
    X, y, qid = rows
    twice = np.concatenate([np.arange(len(y)), np.arange(0, len(y), 3)])
    ranker = LambdaMART(40, early_stopping_rounds=3, validation_measure="AP", n_jobs=1)
    validation = (X[:200], y[::-1][:200], qid[:200])
    mine = (X[twice], y[twice], qid[twice])
    whole = clone(ranker).fit(
        mine[0], mine[1], qid=mine[2], X_val=validation[0], y_val=validation[1], qid_val=qid[:200]
    )
    for part in fitted(ranker, mine, 2, validation):
        assert_same(part, whole)
        np.testing.assert_array_equal(part.validation_scores_, whole.validation_scores_)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"subsample": 0.5}, "subsample"),
        ({"sampling": "goss"}, "sampling"),
        ({"drop_rate": 0.1}, "drop_rate"),
        ({"objective": "yetirank"}, "objective"),
        ({"decay": 0.85}, "decay"),
        ({"warm_start": True}, "warm_start"),
        ({"measure": "nDCG(gain=linear)@10"}, "measure"),
    ],
)
def test_options_that_need_all_rows_are_refused_by_name(options, name):
    with pytest.raises(ValueError, match=f"{name} must .* for LambdaMART on a cluster"):
        check_shareable(LambdaMART(**options))


def test_all_other_options_are_taken():
    check_shareable(LambdaMART(5, reg_alpha=0.1, colsample_bynode=0.5, extra_trees=True))
