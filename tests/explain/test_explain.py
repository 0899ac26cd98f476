"""Explanations: properties of Shapley values, exact models against enumeration, frames."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    FRank,
    LambdaMART,
    ORBoost,
    PairwiseELM,
    PolyOrdinalSVM,
    RankBoost,
    RankingForest,
    RankingTree,
    RankSVM,
    RidgeRanker,
)
from rankwise.explain import explain_pair, explain_ranking, explain_scores
from rankwise.explain.games import enumerate_sets, sample_orders, single
from rankwise.labels import CSOVO, BinaryRelevance
from rankwise.prediction import scores_of


@pytest.fixture
def judged(rng):
    X = rng.normal(size=(150, 4))
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 1.5), 0, 3).astype(int)
    return X, y, rng.integers(0, 10, 150)


def by_orders(estimator, a, b):
    """Mean gain of every feature over all orders."""
    d = len(a)
    orders = list(itertools.permutations(range(d)))
    rows = np.tile(b, (len(orders), d + 1, 1))
    for number, order in enumerate(orders):
        for step, j in enumerate(order):
            rows[number, step + 1 :, j] = a[j]
    gains = np.diff(scores_of(estimator, rows.reshape(-1, d)).reshape(len(orders), d + 1))
    values = np.zeros(d)
    for number, order in enumerate(orders):
        values[list(order)] += gains[number]
    return values / math.factorial(d)


def models():
    return [
        RidgeRanker(alpha=0.1),
        RankSVM(C=0.1),
        PairwiseELM(n_nodes=20, activation="linear", random_state=0),
        PairwiseELM(n_nodes=20, random_state=0),
        ORBoost(n_estimators=30),
        ORBoost(n_estimators=5, estimator="perceptron", random_state=0),
        PolyOrdinalSVM(degree=2, terms="cross"),
        RankBoost(n_estimators=20),
        RankingTree(max_depth=4),
        RankingForest(n_estimators=5, random_state=0),
        make_pipeline(StandardScaler(), RidgeRanker()),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_values_are_means_over_all_orders(model, judged):
    X, y, _ = judged
    model.fit(X, y)
    for a, b in ((0, 1), (5, 17), (30, 31)):
        explained = explain_pair(model, X[a], X[b])
        np.testing.assert_allclose(explained.values, by_orders(model, X[a], X[b]), atol=1e-9)
        difference = scores_of(model, X[[a]])[0] - scores_of(model, X[[b]])[0]
        assert explained.values.sum() == pytest.approx(difference, abs=1e-9)
        assert explained.error is None
        assert explained.score_a - explained.score_b == pytest.approx(difference)


def test_linear_values_are_weights_times_differences(judged):
    X, y, _ = judged
    ranker = RidgeRanker().fit(X, y)
    explained = explain_pair(ranker, X[0], X[1])
    np.testing.assert_allclose(explained.values, ranker.coef_ * (X[0] - X[1]), atol=1e-12)


def test_features_that_are_equal_get_nothing(judged):
    X, y, _ = judged
    model = RankingForest(n_estimators=5, random_state=0).fit(X, y)
    b = X[0].copy()
    b[2] += 1.0
    explained = explain_pair(model, X[0], b)
    assert not explained.values[[0, 1, 3]].any()


def test_sampled_values_come_near_and_add_up(rng):
    X = rng.normal(size=(200, 14))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    explained = explain_pair(forest, X[0], X[1], n_orders=60)
    assert explained.error is not None
    difference = explained.score_a - explained.score_b
    assert explained.values.sum() == pytest.approx(difference, abs=1e-9)
    more = explain_pair(forest, X[0], X[1], n_orders=60, random_state=1)
    spread = np.hypot(explained.error, more.error)
    assert (np.abs(explained.values - more.values) <= 5 * spread + 1e-12).all()


@pytest.mark.parametrize(
    "model",
    [RankBoost(n_estimators=40), FRank(n_estimators=40), ORBoost(n_estimators=40),
     PolyOrdinalSVM(degree=3, C=0.1), RankSVM(C=0.1)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_additive_values_of_many_features_are_exact(model, rng):
    """A feature's value is what it changes alone, whatever the others are."""
    X = rng.normal(size=(120, 14))
    model.fit(X, np.clip(np.round(X[:, 0] + X[:, 1] ** 2), 0, 2).astype(int))
    explained = explain_pair(model, X[0], X[1])
    assert explained.error is None
    for others in (X[1], X[2]):
        changed = np.tile(others, (2, 14, 1))
        changed[0, np.arange(14), np.arange(14)] = X[0]
        changed[1, np.arange(14), np.arange(14)] = X[1]
        alone = scores_of(model, changed.reshape(28, 14)).reshape(2, 14)
        np.testing.assert_allclose(explained.values, alone[0] - alone[1], atol=1e-9)


def test_products_of_many_features_are_sampled(rng):
    X = rng.normal(size=(60, 12))
    model = PolyOrdinalSVM(degree=2, terms="cross").fit(X, (X[:, 0] > 0).astype(int))
    assert explain_pair(model, X[0], X[1], n_orders=2).error is not None


def test_sampling_a_pipeline_of_an_additive_model_is_exact(rng):
    X = rng.normal(size=(60, 12)) * np.arange(1, 13)
    y = np.clip(np.round(X[:, 0] + 1), 0, 2)
    pipeline = make_pipeline(StandardScaler(), RidgeRanker()).fit(X, y)
    explained = explain_pair(pipeline, X[0], X[1], n_orders=3)
    weights = pipeline[-1].coef_ / pipeline[0].scale_
    np.testing.assert_allclose(explained.values, weights * (X[0] - X[1]), atol=1e-10)
    np.testing.assert_allclose(explained.error, 0, atol=1e-10)


def test_games(rng):
    worth = rng.normal(size=16)

    def score(sets):
        return worth[(sets * (1 << np.arange(4))).sum(axis=1)]

    exact = enumerate_sets(score, 4)
    near, errors = sample_orders(score, 4, 4000, np.random.RandomState(0))
    assert (np.abs(near - exact) <= 5 * errors).all()
    assert exact.sum() == pytest.approx(worth[15] - worth[0])
    parts = rng.normal(size=4)
    np.testing.assert_allclose(single(lambda sets: sets @ parts + 3, 4), parts)


@pytest.mark.parametrize("encoding", ["subset", "ordered"])
@pytest.mark.parametrize("first", [0, 2**60], ids=["small", "beyond floats"])
def test_frames_of_numbers_that_are_categories(encoding, first, rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"price": rng.normal(size=300), "maker": first + rng.integers(0, 20, 300)})
    y = (X["maker"] % 3 == 0).astype(int)
    ranker = LambdaMART(5, categorical_features=["maker"], categorical_encoding=encoding)
    ranker.fit(X, y, qid=np.arange(300) // 10)
    assert np.ptp(scores_of(ranker, X)) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"background": X[20:50]}):
            found = explain_scores(ranker, X[:20], **options)
            total = found.values.sum(axis=1) + found.expected
            np.testing.assert_allclose(total, ranker.predict(X[:20]), atol=1e-9)
        pair = explain_pair(ranker, X[:1], X[1:2])
        assert [pair.score_a, pair.score_b] == ranker.predict(X[:2]).tolist()
        assert explain_ranking(ranker, X[:20], np.arange(20) // 10).exact


def test_frames_with_categories_and_missing_values(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({
        "maker": pd.Categorical(rng.choice(["a", "b", "c"], 200)),
        "age": np.where(rng.random(200) < 0.2, np.nan, rng.integers(0, 9, 200)),
        "price": rng.random(200),
    })  # fmt: skip
    y = (frame["maker"] == "b").astype(int) + (frame["age"].fillna(9) > 4)
    tree = RankingTree(max_depth=4).fit(frame, y)
    explained = explain_pair(tree, frame.iloc[[0]], frame.iloc[[1]])
    difference = tree.rank_score(frame.iloc[[0]])[0] - tree.rank_score(frame.iloc[[1]])[0]
    assert explained.values.sum() == pytest.approx(difference, abs=1e-12)
    assert explained.names == ["maker", "age", "price"]
    ranking = explain_ranking(tree, frame.iloc[:20], n_others=20)
    scores = tree.rank_score(frame.iloc[:20])
    np.testing.assert_allclose(ranking.values.sum(axis=1), scores - scores.mean(), atol=1e-12)


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_frames_of_numbers_are_read_once(frames, rng, monkeypatch):
    """Frames are slow to build, to check and to take apart: rankers get their values as arrays."""
    kind = pytest.importorskip(frames).DataFrame
    columns = {f"f{j}": rng.normal(size=40) for j in range(12)}
    frame = kind({**columns, "clicks": np.arange(40) % 7})
    X = np.column_stack([*columns.values(), np.arange(40) % 7])
    y, seen = rng.integers(0, 3, 40), []
    predict = PairwiseELM.predict

    def recorded(ranker, rows):
        seen.append(type(rows))
        return predict(ranker, rows)

    monkeypatch.setattr(PairwiseELM, "predict", recorded)
    model = PairwiseELM(n_nodes=8, random_state=0)
    plain = explain_pair(model.fit(X, y, qid=0), X[3], X[4], n_orders=3)
    ranked = explain_ranking(model, X[:6], n_others=2, n_orders=2)
    spread = explain_scores(model, X[:3], X[3:6], n_orders=2)
    model.fit(frame, y, qid=0)
    seen.clear()
    with warnings.catch_warnings(action="error"):
        pair = explain_pair(model, frame[3:4], frame[4:5], n_orders=3)
        np.testing.assert_array_equal(pair.values, plain.values)
        found = explain_ranking(model, frame[:6], n_others=2, n_orders=2)
        np.testing.assert_array_equal(found.values, ranked.values)
        found = explain_scores(model, frame[:3], frame[3:6], n_orders=2)
        np.testing.assert_array_equal(found.values, spread.values)
    assert set(seen) == {np.ndarray}
    assert pair.names == found.names == [*columns, "clicks"]
    assert pair.row_a[12] == 3 and isinstance(pair.row_a[12], int | np.integer)
    with pytest.warns(UserWarning, match="valid feature names"):  # not outside of explanations
        model.predict(X)


def test_rows_of_pandas_frames_have_names(judged):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(judged[0], columns=list("abcd"))
    ranker = RidgeRanker().fit(frame, judged[1], qid=0)
    with warnings.catch_warnings(action="error"):
        pair = explain_pair(ranker, frame.iloc[0], frame.iloc[1])
    np.testing.assert_allclose(pair.values, explain_pair(ranker, frame[:1], frame[1:2]).values)
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        explain_pair(ranker, frame.iloc[0, ::-1], frame.iloc[1, ::-1])


def test_whole_numbers_of_frames_are_shown_exactly(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": 2**60 + np.arange(9), "x": rng.random(9)})
    ranker = RidgeRanker().fit(frame, np.arange(9) % 3, qid=0)
    assert explain_pair(ranker, frame[2:3], frame[:1]).row_a[0] == 2**60 + 2


@pytest.mark.parametrize("model", models()[:8:2], ids=lambda m: type(m).__name__)
def test_rankings_are_means_of_pairs(model, judged):
    X, y, qid = judged
    X, y, qid = X[:15], y[:15], qid[:15] % 2
    model.fit(X, y, qid=qid)
    explained = explain_ranking(model, X, qid, n_others=15)
    assert explained.exact
    scores = scores_of(model, X)
    np.testing.assert_array_equal(explained.ranks(), model.rank(X, qid))
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        above = scores[rows] - scores[rows].mean()
        np.testing.assert_allclose(explained.values[rows].sum(axis=1), above, atol=1e-9)
    row = 5
    pairs = [explain_pair(model, X[row], X[b]).values for b in np.flatnonzero(qid == qid[row])]
    np.testing.assert_allclose(explained.values[row], np.mean(pairs, axis=0), atol=1e-9)


def test_few_others_are_said_not_to_be_exact(judged):
    X, y, qid = judged
    model = PairwiseELM(n_nodes=10, random_state=0).fit(X, y)
    assert not explain_ranking(model, X[:40], qid[:40], n_others=2).exact


def test_text_names_what_matters(judged):
    X, y, qid = judged
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["bm25", "length", "rank", "age"])
    ranker = RidgeRanker().fit(frame, y)
    text = str(explain_pair(ranker, frame.iloc[[0]], frame.iloc[[1]]))
    assert text.splitlines()[0].startswith("score ")
    assert {"bm25", "length", "rank", "age"} <= set(text.split())
    ranking = explain_ranking(ranker, frame, qid)
    assert ranking.importances().argmax() == 0
    assert f"query {qid[0]}" in str(ranking)


def test_one_row_is_asked_for(judged):
    X, y, _ = judged
    ranker = RidgeRanker().fit(X, y)
    with pytest.raises(
        ValueError, match=r"xb must be one row of n_features=4 values, got shape \(2, 4\)"
    ):
        explain_pair(ranker, X[0], X[:2])


@pytest.mark.parametrize("estimator", [LogisticRegression(), CSOVO(), BinaryRelevance()])
def test_classifiers_have_no_scores_to_explain(estimator, judged):
    X, y, qid = judged
    estimator.fit(X, y)
    piped = make_pipeline(StandardScaler(), estimator).fit(X, y)
    for model in (estimator, piped):
        with pytest.raises(TypeError, match=f"classifier {type(estimator).__name__}, whose"):
            explain_pair(model, X[0], X[1])
        with pytest.raises(TypeError, match="Pass a ranker, an ordinal estimator"):
            explain_ranking(model, X, qid)


@pytest.mark.parametrize(
    ("xa", "xb", "message"),
    [
        (
            np.ones(20),
            np.ones(4),
            r"xa must be one row of n_features=4 values, got shape \(1, 20\)",
        ),
        (np.ones(4), np.ones(3), r"xb must be one row of n_features=4 values, got shape \(1, 3\)"),
        (np.ones((2, 4)), np.ones(4), r"xa must be one row .* got shape \(2, 4\). Pass X\[i\]"),
    ],
)
def test_rows_of_another_width_are_named(xa, xb, message, judged):
    model = RidgeRanker().fit(*judged[:2])
    with pytest.raises(ValueError, match=message):
        explain_pair(model, xa, xb)
