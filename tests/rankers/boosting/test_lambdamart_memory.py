"""LambdaMART: what a fit holds beside X, and sparse rows that stay sparse."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import LambdaMART
from rankwise.trees.tree_ensemble import TreeEnsemble
from tests.oracles import ragged_groups


def peak_of(work):
    """Largest number of bytes that a call holds beside what was there before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    work()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


@pytest.fixture
def sparse_rows(rng):
    y, qid, _ = ragged_groups(rng, n_queries=40, most=25, grades=4)
    X = rng.normal(size=(len(y), 30)) + y[:, None]
    X[rng.random(X.shape) < 0.7] = 0
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y.astype(float), qid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("most_twice", "bytes_of_value"), [(2**30, 2), (0, 1)])
def test_a_fit_copies_no_rows(most_twice, bytes_of_value, dtype, rng, monkeypatch):
    """A byte or two per value, 26 bytes per row for trees; up to 50 before there are codes."""
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.MOST_TWICE", most_twice)
    X, qid = rng.normal(size=(100_000, 24)).astype(dtype), np.arange(100_000) // 100
    y = (X[:, 0] > 1).astype(float)
    ranker = LambdaMART(2, max_leaf_nodes=4, n_jobs=1)
    ranker.fit(X, y, qid=qid)
    bound = 2**20 + len(y) * max(24 * bytes_of_value + 27, 51)  # histograms and chunks first
    assert peak_of(lambda: ranker.fit(X, y, qid=qid)) < bound
    assert peak_of(lambda: ranker.predict(X)) < X.size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_out_rows_are_not_copied(dtype, rng, monkeypatch):
    monkeypatch.setattr("rankwise.trees.tree_ensemble.CHUNK_CELLS", 2**16)
    X, qid = rng.normal(size=(100_000, 24)).astype(dtype), np.arange(100_000) // 100
    y, held = (X[:, 0] > 1).astype(float), qid % 4 == 0
    ranker = LambdaMART(2, max_leaf_nodes=4, n_jobs=1, cv=[(~held, held)])
    ranker.fit(X, y, qid=qid)
    whole = LambdaMART(2, max_leaf_nodes=4, n_jobs=1)
    more = peak_of(lambda: ranker.fit(X, y, qid=qid)) - peak_of(lambda: whole.fit(X, y, qid=qid))
    assert more < 48 * len(y)  # labels, ids and row numbers


@pytest.mark.parametrize(
    "kind", ["C", "F", "float16", "read-only", "weighted", "drawn", "position"]
)
def test_folds_of_one_array_have_the_bits_of_copies(kind, rng):
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = rng.integers(-9, 9, (len(y), 5)) / 4 + y[:, None] * [0, 1, 0, 0, 0]
    X = np.asarray(X, order="F" if kind == "F" else "C", dtype=kind if kind == "float16" else None)
    X.flags.writeable = kind != "fixed"
    more = {"weighted": {"sample_weight": rng.integers(0, 3, len(y)).astype(float)},
            "position": {"position": rng.integers(0, 5, len(y))}}.get(kind, {})  # fmt: skip
    parts = [np.flatnonzero(np.isin(qid % 7, places)) for places in ([0, 1], [2, 3], [4, 5, 6])]
    splits = [(np.concatenate([parts[i], parts[j]]), parts[k])
              for i, j, k in ((0, 1, 2), (2, 1, 0))]  # fmt: skip
    if kind == "drawn":  # rows may come more than once, in any order
        splits = [(np.repeat(train, 2)[::-1], test[::-1]) for train, test in splits]
    plain = LambdaMART(8, min_samples_leaf=2, early_stopping_rounds=3, random_state=0)
    curves = []
    for train, test in splits:
        given = {name: values[train] for name, values in more.items()}
        seen = more.get("sample_weight", np.ones(len(y)))[test] > 0
        held = {"X_val": X[test][seen], "y_val": y[test][seen], "qid_val": qid[test][seen]}
        fold = clone(plain).fit(X[train], y[train], qid=qid[train], **given, **held)
        curves.append(fold.validation_scores_)
    longest = max(map(len, curves))
    padded = [np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves]
    ranker = clone(plain).set_params(cv=splits).fit(X, y, qid=qid, **more)
    np.testing.assert_array_equal(ranker.validation_scores_, np.mean(padded, axis=0))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sampling": "goss", "learning_rate": 0.5},
        {"colsample_bytree": 0.4, "subsample": 0.6},
        {"growth": "symmetric", "colsample_bynode": 0.5},
        {"drop_rate": 0.5, "extra_trees": True},
        {"categorical_features": [1, 2], "n_jobs": 2},
    ],
)
@pytest.mark.parametrize("width", [1, 8, 11, 27])
def test_forms_of_codes_give_the_same_bits(options, width, rng, monkeypatch):
    """Codes row by row alone, and columns arranged such that words are mostly 0."""
    y, qid, _ = ragged_groups(rng, n_queries=40, most=25, grades=4)
    X = rng.integers(0, 9, (len(y), max(width, 3))).astype(np.float32)[:, :width] + 0.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(len(y)) < 0.7, 2::2] = 0
    X[:, 0] += y
    options = {"random_state": 0, "min_samples_leaf": 2} | options
    if width == 1:
        options.pop("categorical_features", None)
    models = []
    for most, arranged in ((2**30, 2**30), (2**30, 1), (0, 2**30), (0, 1)):
        monkeypatch.setattr("rankwise.trees.boosted.coded_rows.MOST_TWICE", most)
        monkeypatch.setattr("rankwise.trees.boosted.coded_rows.ARRANGED_ROWS", arranged)
        models.append(LambdaMART(8, **options).fit(X, y, qid=qid))
    usual, *others = models
    assert usual.n_estimators_ > 2
    for other in others:
        np.testing.assert_array_equal(other.predict(X), usual.predict(X))
        np.testing.assert_array_equal(other.has_missing_, usual.has_missing_)


@pytest.mark.parametrize("weighted", [None, "whole", "fractions"])
def test_ideal_gains_in_chunks_have_the_same_bits(weighted, rng, monkeypatch):
    y, qid, _ = ragged_groups(rng, n_queries=40, most=25, grades=4)
    X = rng.normal(size=(len(y), 4))
    weight = {None: None, "whole": rng.integers(1, 4, len(y)), "fractions": rng.random(len(y)) + 1}
    models = []
    for chunk in (4096, 20):
        monkeypatch.setattr("rankwise.losses.lambda_gradients.IDEAL_ROWS", chunk)
        ranker = LambdaMART(4, min_samples_leaf=2)
        models.append(ranker.fit(X, y, qid=qid, sample_weight=weight[weighted]).predict(X))
    np.testing.assert_array_equal(*models)


def test_sparse_rows_stay_sparse(rng):
    X = sparse.random_array((8000, 1000), density=0.01, rng=rng, format="csr")
    y, qid = np.minimum(4, np.diff(X.indptr) // 4), np.arange(8000) // 50
    ranker = LambdaMART(2, max_leaf_nodes=4, n_jobs=1, early_stopping_rounds=5)
    rows = {"qid": qid, "X_val": X[:2000], "y_val": y[:2000], "qid_val": qid[:2000]}
    ranker.fit(X, y, **rows)
    dense_bytes = 8 * X.shape[0] * X.shape[1]
    histogram_bytes = 4 * 8 * (X.nnz + 2 * X.shape[1])
    assert peak_of(lambda: ranker.fit(X, y, **rows)) < 60 * X.nnz + histogram_bytes
    assert peak_of(lambda: ranker.predict(X)) < 0.05 * dense_bytes
    assert peak_of(lambda: list(ranker.staged_predict(X))) < 0.05 * dense_bytes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("most_stored", [0.0, 1.0])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drop_rate": 0.5, "random_state": 0},
        {"sampling": "goss", "learning_rate": 0.5, "random_state": 0},
        {"colsample_bytree": 0.4, "random_state": 0},
        {"objective": "squared", "early_stopping_rounds": 3},
        {"warm_start": True},
    ],
)
def test_sparse_rows_give_the_bits_of_dense_ones(
    options, most_stored, dtype, sparse_rows, monkeypatch
):
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.MOST_STORED", most_stored)
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.CHUNK_CELLS", 500)
    monkeypatch.setattr("rankwise.trees.tree_ensemble.CHUNK_CELLS", 500)
    X, y, qid = sparse_rows
    X = X.astype(dtype)
    csr = sparse.csr_array(X)
    weight = np.arange(len(y)) % 3
    models = []
    for rows in (X, csr):
        ranker = LambdaMART(6, min_samples_leaf=2, **options)
        held_out = {"X_val": rows, "y_val": y, "qid_val": qid}
        ranker.fit(rows, y, qid=qid, sample_weight=weight, **held_out)
        ranker.n_estimators = 12
        ranker.fit(rows, y, qid=qid, sample_weight=weight, **held_out)
        models.append(ranker)
    dense, of_sparse = models
    np.testing.assert_array_equal(of_sparse.predict(csr), dense.predict(X))
    np.testing.assert_array_equal(of_sparse.validation_scores_, dense.validation_scores_)
    np.testing.assert_array_equal(of_sparse.has_missing_, dense.has_missing_)
    stages = zip(of_sparse.staged_predict(csr), dense.staged_predict(X), strict=True)
    for ours, theirs in stages:
        np.testing.assert_array_equal(ours, theirs)


def test_repeated_and_unsorted_entries_add_up(sparse_rows):
    X, y, qid = sparse_rows
    X = np.nan_to_num(X)
    row, column = np.nonzero(X)
    half = X[row, column] / 2
    order = np.random.default_rng(0).permutation(2 * len(row))
    entries = (np.tile(half, 2)[order], (np.tile(row, 2)[order], np.tile(column, 2)[order]))
    coo = sparse.coo_array(entries, shape=X.shape)
    row, column = coo.coords
    by_row = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=len(X))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    csr = sparse.csr_array((coo.data[by_row], column[by_row], indptr), shape=X.shape)
    assert not csr.has_canonical_format
    expected = LambdaMART(5).fit(X, y, qid=qid).predict(X)
    ranker = LambdaMART(5).fit(csr, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(csr), expected)
    assert csr.nnz == 2 * np.count_nonzero(X)  # what the user holds is not changed


def test_trees_without_splits_score_sparse_rows(sparse_rows):
    csr = sparse.csr_array(sparse_rows[0])
    assert not TreeEnsemble.of([]).score(csr).any()
