"""Online learners on streams in any blocks, and the classes that they declare."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from rankwise import AggregatePRank, PRank
from rankwise.ordinal.voted_prank import LARGEST_SEED
from tests.ordinal.learners import (
    assert_same_bits,
    each,
    state,
    with_params,
)


@each
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize(
    "features", [{}, {"degree": 2}, {"kernel": "rbf", "gamma": 2.0}], ids=["1", "2", "rbf"]
)
def test_any_blocks_are_one_fit(learner, features, form, square):
    X, y = square[0][:45], square[1][:45]
    X = np.where(X < 0.3, 0.0, X)
    rows = {"dense": X, "float32": X.astype(np.float32), "csr": sparse.csr_array(X)}[form]
    learner = with_params(learner, **features)
    whole = with_params(learner).fit(rows, y)
    for ends in (range(46), [0, 1, 20, 21, 45], [0, 45]):
        parts = with_params(learner)
        for lo, hi in pairwise(ends):
            parts.partial_fit(rows[lo:hi], y[lo:hi], classes=[1, 2, 3, 4, 5])
        assert_same_bits(parts, whole)
        np.testing.assert_array_equal(parts.decision_function(rows), whole.decision_function(rows))
        assert parts.n_seen_ == whole.n_seen_ == 45


@each
@pytest.mark.parametrize("degree", [1, 2])
def test_blocks_inside_are_of_no_matter(learner, degree, square, monkeypatch):
    X, y = square[0][:90], square[1][:90]
    learner = with_params(learner, degree=degree)
    whole = with_params(learner).fit(X, y)
    monkeypatch.setattr("rankwise.ordinal.online_ranker.BLOCK_ROWS", 7)
    assert_same_bits(with_params(learner).fit(X, y), whole)


@each
def test_dense_and_sparse_rows_give_the_same_bits(learner, rng):
    X = np.where(rng.random((200, 6)) < 0.6, 0.0, rng.normal(size=(200, 6)))
    y = rng.integers(0, 4, 200)
    for degree in (1, 2):
        learner = with_params(learner, degree=degree)
        dense = with_params(learner).fit(X, y)
        unsorted = sparse.csr_matrix(X)
        for row in range(200):
            entries = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
            unsorted.indices[entries] = unsorted.indices[entries][::-1]
            unsorted.data[entries] = unsorted.data[entries][::-1]
        unsorted.has_sorted_indices = False
        for rows in (sparse.csr_array(X), unsorted):
            assert_same_bits(with_params(learner).fit(rows, y), dense)


def test_threads_change_nothing(rng, monkeypatch):
    X, y = rng.normal(size=(3000, 10)), rng.integers(0, 4, 3000)
    fits = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            "rankwise.ordinal.online_ranker.available_threads", lambda n=n_threads: n
        )
        fits.append(AggregatePRank("vote", random_state=0, shuffle=False).fit(X, y))
        fits.append(
            AggregatePRank("vote", random_state=0, shuffle=False).fit(sparse.csr_array(X), y)
        )
    for fit in fits[1:]:
        assert_same_bits(fit, fits[0])


def test_passes(square):
    X, y = square[:2]
    twice = PRank(n_epochs=2, shuffle=False).fit(X, y)
    by_hand = PRank(shuffle=False).fit(X, y).partial_fit(X, y)
    assert_same_bits(twice, by_hand)
    assert twice.n_seen_ == 600


@each
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_rows_are_shuffled_by_default_in_every_pass(learner, kind, kernel, square, monkeypatch):
    """As one stream of permuted rows, whatever the blocks in which they are read."""
    X, y = square[:2]
    params = {"kernel": kernel, "random_state": 4}
    if isinstance(learner, AggregatePRank):
        params |= {"combine": learner.combine, "n_prank": 5}
    rng = np.random.RandomState(4)
    if isinstance(learner, AggregatePRank):
        rng.randint(LARGEST_SEED)  # of the coins
    orders = np.concatenate([rng.permutation(len(y)) for _ in range(2)])
    stream = type(learner)(**params).partial_fit(kind(X[orders]), y[orders], classes=range(1, 6))
    monkeypatch.setattr("rankwise.ordinal.online_ranker.BLOCK_ROWS", 70)
    monkeypatch.setattr("rankwise.ordinal.online_ranker.SUPPORT_BLOCK", 70)
    assert_same_bits(type(learner)(n_epochs=2, **params).fit(kind(X), y), stream)


@each
@pytest.mark.filterwarnings("ignore:.* sees row after row:UserWarning")
def test_rows_sorted_by_class_are_learnt(learner, rng):
    """In their order the last class wins, and a constant is better."""
    X = rng.normal(size=(600, 5)) / np.sqrt(5)
    height = X @ [1, -1, 0.5, 0.5, 0] + 0.25 * rng.normal(size=600)
    y = np.searchsorted(np.quantile(height, [0.2, 0.4, 0.6, 0.8]), height)
    by_class = np.argsort(y, kind="stable")
    constant = np.abs(y - 2).mean()
    shuffled = with_params(learner, shuffle=True, random_state=0).fit(X[by_class], y[by_class])
    assert np.abs(shuffled.predict(X) - y).mean() < 0.7 * constant
    in_order = with_params(learner).fit(X[by_class], y[by_class])
    assert np.abs(in_order.predict(X) - y).mean() > constant


@each
def test_a_failing_block_changes_nothing(learner, square):
    X, y = square[:2]
    learner = with_params(learner, degree=2).fit(X[:100], y[:100])
    before = [np.copy(array) for array in state(learner) if array is not None]
    with pytest.raises(ValueError, match="y must contain declared classes only, got 9 at row 1"):
        learner.partial_fit(X[:3], [1, 9, 2])
    with pytest.raises(ValueError, match=r"products are finite with degree=2.*Scale the columns"):
        learner.partial_fit([[1.0, 1.0], [1e200, 1.0]], [1, 2])
    after = [array for array in state(learner) if array is not None]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    held = learner.hypotheses_
    learner.partial_fit(X[100:], y[100:])
    assert learner.hypotheses_ is not held
    np.testing.assert_array_equal(held.weights, before[0])


# Classes -----------------------------------------------------------------------------------------


@each
def test_classes_are_declared_in_the_first_call(learner, square):
    X = square[0][:4]
    with pytest.raises(ValueError, match="classes must be given in the first call of partial_fit"):
        with_params(learner).partial_fit(X, [1, 2, 1, 2])
    words = ["low", "mid", "high"]
    fitted = with_params(learner).partial_fit(X, ["low", "high", "low", "low"], classes=words)
    assert fitted.classes_.tolist() == words
    assert len(fitted.thresholds_) == 2
    assert set(fitted.predict(X)) <= set(words)
    fitted.partial_fit(X, ["mid"] * 4).partial_fit(X, ["mid"] * 4, classes=words)
    with pytest.raises(ValueError, match=r"classes must stay \['low', 'mid', 'high'\], got"):
        fitted.partial_fit(X, ["mid"] * 4, classes=["low", "high", "mid"])
    with pytest.raises(ValueError, match="must contain declared classes only, got 'top' at row 2"):
        fitted.partial_fit(X, ["low", "mid", "top", "low"])


def test_categories_declare_classes(square):
    pd = pytest.importorskip("pandas")
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    X = square[0][:3]
    y = pd.Series(["low", "low", "high"], dtype=dtype)
    parts = PRank().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    assert parts.classes_.tolist() == ["low", "mid", "high"]
    assert_same_bits(parts, PRank(shuffle=False).fit(X, y))
    other = pd.Series(["low"], dtype=pd.CategoricalDtype(["low", "high"], ordered=True))
    with pytest.raises(ValueError, match=r"classes must stay \['low', 'mid', 'high'\]"):
        parts.partial_fit(X[:1], other)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([3, 1, 2], "classes must ascend if they are numbers"),
        ([1, 1, 2], "distinct"),
        ([], "not empty"),
        ([[1], [2]], "one-dimensional"),
    ],
)
def test_classes_that_are_none(classes, message, square):
    with pytest.raises(ValueError, match=message):
        PRank().partial_fit(square[0][:2], [1, 2], classes=classes)


@each
def test_one_class_and_many(learner, rng):
    X = rng.normal(size=(60, 3))
    only = with_params(learner).fit(X, np.ones(60))
    assert set(only.predict(X)) == {1.0}
    assert np.isfinite(only.rank_score(X)).all()
    y = np.concatenate([np.arange(30), np.arange(30)])
    many = with_params(learner).fit(X, y)
    assert len(many.thresholds_) == 29
    assert (np.diff(many.thresholds_) >= 0).all()


def test_no_prank_has_seen_a_row(square):
    """They vote alike then: zeros reach all thresholds."""
    X, y = square[0][:5], square[1][:5]
    for combine in ("bpm", "bag", "vote"):
        ranker = AggregatePRank(combine, 1e-9, n_prank=3, random_state=0, shuffle=False).fit(X, y)
        assert set(ranker.predict(X)) == {y.max()}
