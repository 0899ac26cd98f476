"""What every multi-label estimator of the registry does alike."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import hamming_loss
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise._registry import REGISTRY
from tests.common.estimators import small

MULTI_LABEL = [key for key, entry in REGISTRY.items() if entry.kind == "multi-label"]
pytestmark = pytest.mark.parametrize("key", MULTI_LABEL)
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture
def labelled(rng):
    """60 rows, six labels of which the last is that of no row, the first that of all."""
    X = rng.normal(size=(60, 5))
    Y = (X @ rng.normal(size=(5, 6)) + 0.3 * rng.normal(size=(60, 6)) > 0.4).astype(int)
    Y[:, 0], Y[:, -1] = 1, 0
    return X, Y


def scores(key, X, Y, at=None, **fit_params):
    return small(key).fit(X, Y, **fit_params).decision_function(X if at is None else at)


def test_forms_of_the_labels(key, labelled):
    X, Y = labelled
    dense = small(key).fit(X, Y)
    predicted = dense.predict(X)
    assert predicted.dtype == np.int64
    assert dense.classes_.tolist() == list(range(6))
    assert dense.decision_function(X).shape == (60, 6)
    for form in (sparse.csr_array(Y), sparse.csc_matrix(Y), sparse.coo_array(Y)):
        model = small(key).fit(X, form)
        got = model.predict(X)
        assert sparse.issparse(got)
        assert got.format == "csr"
        assert got.toarray().tolist() == predicted.tolist()
        assert model.score(X, form) == model.score(X, Y) == dense.score(X, Y)
    for form in (Y.tolist(), Y == 1, Y.astype(np.float32), np.asfortranarray(Y)):
        np.testing.assert_array_equal(scores(key, X, form), dense.decision_function(X))


def test_score_is_minus_the_hamming_loss(key, labelled, rng):
    X, Y = labelled
    model, weight = small(key).fit(X[:40], Y[:40]), rng.random(20)
    predicted = model.predict(X[40:])
    assert model.score_name_ == "-Hamming loss"
    assert model.score(X[40:], Y[40:]) == pytest.approx(-hamming_loss(Y[40:], predicted))
    expected = -hamming_loss(Y[40:], predicted, sample_weight=weight)
    assert model.score(X[40:], Y[40:], sample_weight=weight) == pytest.approx(expected)


def test_ranks_order_the_scores(key, labelled):
    X, Y = labelled
    model = small(key).fit(X, Y)
    ranks, values = model.predict_ranking(X), model.decision_function(X)
    assert ranks.dtype == np.int64
    assert np.sort(ranks, axis=1).tolist() == [[1, 2, 3, 4, 5, 6]] * 60
    for row in range(60):
        expected = sorted(range(6), key=lambda label: (-values[row, label], label))
        assert np.argsort(ranks[row]).tolist() == expected


def test_classes_are_one_hot_labels(key, labelled):
    X, _ = labelled
    y = np.array(["ham", "news", "spam"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    model = small(key).fit(X, y)
    assert model.classes_.tolist() == ["ham", "news", "spam"]
    assert model.score_name_ == "accuracy"
    predicted = model.predict(X)
    assert model.score(X, y) == np.mean(predicted == y)
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == predicted).all()
    one_hot = (y[:, None] == model.classes_).astype(int)
    np.testing.assert_allclose(scores(key, X, one_hot), model.decision_function(X), **TIGHT)


def test_integer_weights_are_repetition(key, labelled, rng):
    X, Y = labelled
    weight = rng.integers(0, 4, 60)
    again = np.repeat(np.arange(60), weight)
    repeated = scores(key, X[again], Y[again], at=X)
    np.testing.assert_allclose(scores(key, X, Y, sample_weight=weight), repeated, **TIGHT)


def test_order_of_the_rows_does_not_matter(key, labelled, rng):
    X, Y = labelled
    order = rng.permutation(60)
    np.testing.assert_allclose(scores(key, X[order], Y[order], at=X), scores(key, X, Y), **TIGHT)


def test_forms_of_the_rows(key, labelled, tmp_path):
    X, Y = labelled
    X = np.where(X > 0, X, 0.0)
    expected = scores(key, X, Y)
    for rows in (sparse.csr_array(X), sparse.csc_matrix(X)):
        np.testing.assert_allclose(scores(key, rows, Y), expected, **TIGHT)
    joblib.dump((X, Y), tmp_path / "data")
    on_disk, labels = joblib.load(tmp_path / "data", mmap_mode="r")
    assert isinstance(on_disk, np.memmap)
    np.testing.assert_array_equal(scores(key, on_disk, labels), expected)
    single = X.astype(np.float32)
    assert scores(key, single, Y).dtype == np.float64
    np.testing.assert_allclose(
        scores(key, single, Y), scores(key, single.astype(float), Y), **TIGHT
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_column_names(key, library, labelled):
    frames = pytest.importorskip(library)
    X, Y = labelled
    frame = frames.DataFrame(dict(zip("abcde", X.T, strict=True)))
    labels = frames.DataFrame(dict(zip("uvwxyz", Y.T, strict=True)))
    model = small(key).fit(frame, labels)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(model.decision_function(frame), scores(key, X, Y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])


def test_copies_predict_the_same(key, labelled, tmp_path):
    X, Y = labelled
    model = small(key).fit(X, Y)
    expected = model.decision_function(X)
    for again in (
        rankwise.load(model.save(tmp_path / "model")),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        clone(model).fit(X, Y),
        model.fit(X[:, :3], Y[:, :4]).fit(X, Y),  # forgets the first rows
    ):
        assert again.get_params() == model.get_params()
        assert again.fit_fingerprint_ == model.fit_fingerprint_
        np.testing.assert_array_equal(again.decision_function(X), expected)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_number_of_threads_does_not_matter(key, rng, monkeypatch):
    X = rng.normal(size=(7000, 20))
    Y = (X[:, :6] + rng.normal(size=(7000, 6)) > 0.5).astype(int)
    got = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        got.append(scores(key, X, Y, at=X[:50]))
    # Bits are the same but for BLAS, which may divide its work by the number of threads.
    np.testing.assert_allclose(got[0], got[1], rtol=1e-10, atol=1e-10)


def test_weights_are_routed(key, labelled):
    X, Y = labelled
    weight = np.arange(60) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), small(key))
        result = cross_validate(
            pipeline, X, Y, cv=KFold(3), params={"sample_weight": weight}, error_score="raise"
        )
    expected = []
    for train, test in KFold(3).split(X):
        scaled = StandardScaler().fit(X[train]).transform(X)
        model = small(key).fit(scaled[train], Y[train], sample_weight=weight[train])
        expected.append(model.score(scaled[test], Y[test], sample_weight=weight[test]))
    np.testing.assert_allclose(result["test_score"], expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: Y * 2, "Y must hold 0 and 1 only, got 2 at row 0, label 0"),
        (lambda Y: sparse.csr_array(-Y), "Y must hold 0 and 1 only, got -1.0 at row 0, label 0"),
        (lambda Y: np.where(Y == 1, np.nan, 0), "Y must hold 0 and 1 only, got nan at row 0"),
        (lambda Y: Y[:-1], "Y must have n_samples=60 rows, got 59"),
        (lambda Y: Y.astype(str), "Y must hold 0 and 1 only, got dtype"),
        (lambda Y: Y[:, None], r"Y must have a column for every label, got shape \(60, 1, 6\)"),
    ],
)
def test_labels_that_are_no_indicator_are_named(key, change, message, labelled):
    X, Y = labelled
    with pytest.raises(ValueError, match=message):
        small(key).fit(X, change(Y))


def test_labels_to_score_are_those_of_the_fit(key, labelled):
    X, Y = labelled
    model = small(key).fit(X, Y)
    with pytest.raises(ValueError, match="y must have the 6 labels of the fit as its columns, got"):
        model.score(X, Y[:, :5])
