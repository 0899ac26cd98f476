"""Permutation importances: against permuting by hand, and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rankwise import LambdaMART, RankingTree, RidgeRanker
from rankwise.explain import permutation_importances
from rankwise.metrics import make_scorer


@pytest.fixture
def judged(rng):
    qid = np.repeat(np.arange(30), 12)
    X = rng.normal(size=(360, 4))
    X[:, 3] = qid  # the same in each query
    y = np.clip(np.round(1.5 + X[:, 0] + 0.5 * X[:, 1]), 0, 3).astype(int)
    order = rng.permutation(360)
    return X[order], y[order], qid[order]


def test_orders_the_features(judged):
    X, y, qid = judged
    model = LambdaMART(20).fit(X, y, qid=qid)
    found = permutation_importances(model, X, y, qid, random_state=0)
    assert [name for name, _ in found.ranked()[:2]] == ["x0", "x1"]
    assert found.source == "loss of nDCG@10" and found.repeats.shape == (4, 5)
    np.testing.assert_allclose(found.values, found.repeats.mean(axis=1))


def test_agrees_with_scikit_learn(judged):
    """On one query, whose scorer needs no qid; both are means over many permutations."""
    X, y, _ = judged
    model = RidgeRanker().fit(X, y)
    ours = permutation_importances(model, X, y, 0, measure="Tau", n_repeats=40, random_state=0)
    theirs = permutation_importance(
        model, X, y, scoring=make_scorer("Tau"), n_repeats=40, random_state=0
    )
    errors = ours.repeats.std(axis=1) + theirs.importances_std
    assert (np.abs(ours.values - theirs.importances_mean) <= 4 * errors / np.sqrt(40) + 1e-9).all()


def test_permutes_within_queries(judged):
    X, y, qid = judged
    model = RidgeRanker().fit(X, y, qid=qid)
    found = permutation_importances(model, X, y, qid, within="queries", random_state=0)
    assert found.values[3] == 0 < found.values[1] < found.values[0]


def test_measures_that_are_losses_count_upwards(judged):
    X, y, qid = judged
    model = RidgeRanker().fit(X, y, qid=qid)
    found = permutation_importances(model, X, y, qid, measure="misranking", random_state=0)
    assert found.values[0] > 0.1


def test_frames_pipelines_and_ordinal_estimators(judged):
    X, y, qid = judged
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), RidgeRanker()).fit(frame, y, ridgeranker__qid=qid)
    found = permutation_importances(model, frame, y, qid, random_state=1, n_repeats=2)
    again = permutation_importances(model, frame, y, qid, random_state=1, n_repeats=2)
    assert found.names == list("abcd") and found.ranked()[0][0] == "a"
    np.testing.assert_array_equal(found.repeats, again.repeats)
    names = np.array(["low", "mid", "high", "top"])
    tree = RankingTree().fit(X, pd.Categorical(names[y], names, ordered=True))
    found = permutation_importances(tree, X, names[y], measure="MAE", random_state=0)
    assert found.ranked()[0][0] == "x0"


@pytest.mark.parametrize("has_nulls", [False, True])
def test_polars_frames_keep_their_nulls(has_nulls, judged):
    pl = pytest.importorskip("polars")
    X, y, qid = judged
    filled = np.where(has_nulls & (X < -1), 0.0, X)
    frame = pl.DataFrame(X, schema=list("abcd"))
    frame = frame.with_columns(pl.when(pl.all() >= -1).then(pl.all())) if has_nulls else frame
    fill = FunctionTransformer(lambda frame: frame.fill_null(0.0).to_numpy())
    model = make_pipeline(fill, RidgeRanker()).fit(frame, y, ridgeranker__qid=qid)
    found = permutation_importances(model, frame, y, qid, random_state=1, n_repeats=2)
    model = RidgeRanker().fit(filled, y, qid=qid)
    expected = permutation_importances(model, filled, y, qid, random_state=1, n_repeats=2)
    np.testing.assert_allclose(found.repeats, expected.repeats, atol=1e-12)


def test_wrong_arguments_are_named(judged):
    X, y, qid = judged
    model = RidgeRanker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="n_repeats must be a whole number >= 1, got 0"):
        permutation_importances(model, X, y, qid, n_repeats=0)
    with pytest.raises(ValueError, match="within must be one of 'rows', 'queries', got 'all'"):
        permutation_importances(model, X, y, qid, within="all")
    with pytest.raises(ValueError, match="must score at least one query, got none"):
        permutation_importances(model, X, 0 * y, qid)
