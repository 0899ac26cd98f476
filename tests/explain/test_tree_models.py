"""Shapley values of tree models against those of the libraries that grew them."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import ORBoost, PairwiseELM, RankBoost, RankingForest, RankingTree, RidgeRanker
from rankwise.explain import explain_pair, explain_ranking, explain_scores
from rankwise.prediction import scores_of

BOOSTERS = ("LightGBMRanker", "XGBoostRanker", "CatBoostRanker")


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 1.5), 0, 3).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, np.arange(400) // 20


def booster(name, **params):
    pytest.importorskip(name.removesuffix("Ranker").lower())
    return getattr(rankwise, name)(n_estimators=20, random_state=0, **params)


def library_values(model, X):
    """Contributions and expected score of every row, as the library has them."""
    name = type(model).__name__
    if name == "LightGBMRanker":
        return model.booster_.predict(X, pred_contrib=True)
    if name == "XGBoostRanker":
        import xgboost

        return model.booster_.predict(xgboost.DMatrix(X), pred_contribs=True)
    import catboost

    return model.booster_.get_feature_importance(catboost.Pool(X), type="ShapValues")


@pytest.mark.parametrize("name", BOOSTERS)
def test_path_dependent_values_are_the_library_s(name, judged):
    X, y, qid = judged
    model = booster(name).fit(X, y, qid=qid)
    expected = library_values(model, X)
    explained = explain_scores(model, X)
    tolerance = 2e-6 if name == "XGBoostRanker" else 1e-10  # XGBoost adds in float32
    np.testing.assert_allclose(explained.values, expected[:, :-1], atol=tolerance)
    np.testing.assert_allclose(explained.expected, expected[:, -1], atol=tolerance)
    assert explained.exact
    pair = explain_pair(model, X[0], X[1], feature_perturbation="tree_path_dependent")
    np.testing.assert_allclose(pair.values, explained.values[0] - explained.values[1], atol=1e-12)
    ranking = explain_ranking(model, X, qid, feature_perturbation="tree_path_dependent")
    of_query = explained.values[qid == 3]
    np.testing.assert_allclose(
        ranking.values[qid == 3], of_query - of_query.mean(axis=0), atol=1e-12
    )


def test_zeros_taken_for_missing(judged):
    X, y, qid = judged
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = booster("LightGBMRanker", params={"zero_as_missing": True}).fit(X, y, qid=qid)
    values = explain_scores(model, X).values
    np.testing.assert_allclose(values, library_values(model, X)[:, :-1], atol=1e-10)


def tree_models():
    return [RankingTree(max_depth=5), RankingForest(n_estimators=10, random_state=0)]


@pytest.mark.parametrize("model", [*BOOSTERS, *tree_models()], ids=str)
@pytest.mark.parametrize("kind", ["interventional", "tree_path_dependent"])
def test_values_add_up(model, kind, judged):
    X, y, qid = judged
    model = (booster(model) if isinstance(model, str) else model).fit(X, y, qid=qid)
    background = X[100:150] if kind == "interventional" else None
    explained = explain_scores(model, X[:60], background, feature_perturbation=kind)
    scores = scores_of(model, X[:60])
    total = explained.values.sum(axis=1)
    np.testing.assert_allclose(total, scores - explained.expected, atol=5e-6)
    np.testing.assert_array_equal(explained.scores, scores)
    if background is not None:
        assert explained.expected == pytest.approx(scores_of(model, background).mean())
    ranking = explain_ranking(model, X, qid, n_others=3, feature_perturbation=kind)
    assert ranking.exact  # trees look at all rows of a query
    mine = scores_of(model, X)[qid == 5]
    np.testing.assert_allclose(ranking.values[qid == 5].sum(axis=1), mine - mine.mean(), atol=5e-6)


@pytest.mark.parametrize("name", BOOSTERS)
def test_pairs_are_means_over_all_orders(name, judged):
    X, y, qid = judged
    X = X[:, :4]
    model = booster(name).fit(X, y, qid=qid)
    orders = list(itertools.permutations(range(4)))
    rows = np.tile(X[1], (len(orders), 5, 1))
    for number, order in enumerate(orders):
        for step, j in enumerate(order):
            rows[number, step + 1 :, j] = X[0, j]
    gains = np.diff(model.predict(rows.reshape(-1, 4)).reshape(len(orders), 5))
    expected = np.zeros(4)
    for number, order in enumerate(orders):
        expected[list(order)] += gains[number] / math.factorial(4)
    explained = explain_pair(model, X[0], X[1])
    np.testing.assert_allclose(explained.values, expected, atol=1e-6)
    assert explained.error is None


def test_the_mean_over_a_background_is_the_mean_of_pairs(judged):
    X, y, qid = judged
    forest = RankingForest(n_estimators=5, random_state=0).fit(X, y, qid=qid)
    values = explain_scores(forest, X[:1], X[10:15]).values[0]
    pairs = [explain_pair(forest, X[0], X[other]).values for other in range(10, 15)]
    np.testing.assert_allclose(values, np.mean(pairs, axis=0), atol=1e-12)


@pytest.mark.parametrize("model", [RidgeRanker(), RankBoost(n_estimators=10)], ids=str)
def test_additive_models_against_a_background(model, judged):
    X, y, qid = judged
    X = np.nan_to_num(X)
    model.fit(X, y, qid=qid)
    explained = explain_scores(model, X[:5], X[50:80])
    pairs = [explain_pair(model, X[2], X[other]).values for other in range(50, 80)]
    np.testing.assert_allclose(explained.values[2], np.mean(pairs, axis=0), atol=1e-10)
    assert explained.exact
    by_paths = explain_pair(model, X[0], X[1], feature_perturbation="tree_path_dependent")
    np.testing.assert_array_equal(by_paths.values, explain_pair(model, X[0], X[1]).values)


def test_other_models_are_explained_pair_by_pair(judged):
    X, y, qid = judged
    X = np.nan_to_num(X)
    model = PairwiseELM(n_nodes=20, random_state=0).fit(X, y, qid=qid)
    explained = explain_scores(model, X[:2], X[50:53], n_orders=3)
    assert not explained.exact
    total = explained.values.sum(axis=1)
    np.testing.assert_allclose(total, explained.scores - explained.expected, atol=1e-10)


@pytest.mark.parametrize("name", BOOSTERS)
def test_frames_give_what_arrays_give(name, judged):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y, qid = judged
    names = [f"f{j}" for j in range(X.shape[1])]
    array = booster(name).fit(X, y, qid=qid)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = booster(name).fit(frame, y, qid=qid)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explained = explain_scores(model, frame[:50], frame[50:60])
            pair = explain_pair(model, frame[:1], frame[1:2])
            ranking = explain_ranking(model, frame[:40], qid[:40])
        expected = explain_scores(array, X[:50], X[50:60])
        np.testing.assert_allclose(explained.values, expected.values, atol=1e-12)
        np.testing.assert_allclose(pair.values, explain_pair(array, X[0], X[1]).values, atol=1e-12)
        assert explained.names == pair.names == ranking.names == names


@pytest.mark.parametrize("frame_of", ["pandas", "polars"])
def test_frames_of_other_models_give_what_arrays_give(frame_of, judged):
    frames = pytest.importorskip(frame_of)
    X, y, qid = judged
    X = np.nan_to_num(X)
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    for model in (PairwiseELM(n_nodes=20, random_state=0), RankBoost(n_estimators=10)):
        expected = explain_ranking(model.fit(X, y, qid=qid), X[:8], n_others=2, n_orders=2)
        model.fit(frame, y, qid=qid)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = explain_ranking(model, frame[:8], n_others=2, n_orders=2)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-12)


@pytest.mark.parametrize("scale", [True, False])
def test_pipelines_of_scalers_keep_exact_values(scale, judged):
    X, y, _ = judged
    steps = [StandardScaler()] if scale else ["passthrough"]
    piped = make_pipeline(*steps, booster("LightGBMRanker")).fit(X, y)
    explained = explain_scores(piped, X)
    total = explained.values.sum(axis=1)
    np.testing.assert_allclose(total, piped.predict(X) - explained.expected, atol=1e-10)
    pair = explain_pair(piped, X[0], X[1])
    assert pair.error is None
    assert pair.values.sum() == pytest.approx(pair.score_a - pair.score_b)


def test_a_refit_and_a_copy_are_explained_anew(judged):
    X, y, qid = judged
    model = booster("LightGBMRanker").fit(X, y, qid=qid)
    before = explain_scores(model, X[:5]).values
    np.testing.assert_array_equal(
        explain_scores(pickle.loads(pickle.dumps(model)), X[:5]).values, before
    )
    after = explain_scores(model.fit(X, 3 - y, qid=qid), X[:5])
    np.testing.assert_allclose(
        after.values.sum(axis=1), model.predict(X[:5]) - after.expected, atol=1e-10
    )


def test_text_of_scores(judged):
    X, y, qid = judged
    tree = RankingTree(max_depth=3).fit(X, y, qid=qid)
    explained = explain_scores(tree, X)
    lines = str(explained).splitlines()
    assert lines[0].startswith("expected score") and len(lines) == 11
    assert explained.importances().argmax() in (0, 1, 2)


def test_games_are_named(judged):
    X, y, qid = judged
    tree, ridge = RankingTree(max_depth=2), PairwiseELM(n_nodes=5, random_state=0)
    tree.fit(X, y, qid=qid)
    ridge.fit(np.nan_to_num(X), y, qid=qid)
    X = np.nan_to_num(X)
    message = (
        "feature_perturbation must be one of 'interventional', 'tree_path_dependent', got 'path'"
    )
    for explain in (explain_pair, explain_scores):
        with pytest.raises(ValueError, match=message):
            explain(tree, X[0], X[1], feature_perturbation="path")
    with pytest.raises(ValueError, match=message):
        explain_ranking(tree, X, feature_perturbation="path")
    with pytest.raises(ValueError, match="needs a model of trees"):
        explain_pair(ridge, X[0], X[1], feature_perturbation="tree_path_dependent")
    with pytest.raises(ValueError, match="needs a model of trees"):
        explain_ranking(ridge, X[:5], feature_perturbation="tree_path_dependent")
    with pytest.raises(ValueError, match="background must be given for PairwiseELM"):
        explain_scores(ridge, X[:5])
    with pytest.raises(ValueError, match="needs background rows, got None"):
        explain_scores(tree, X[:5], feature_perturbation="interventional")
    with pytest.raises(ValueError, match="background must have at least one row"):
        explain_scores(tree, X[:5], X[:0])


def test_stumps_have_no_expected_score_of_their_own(judged):
    X, y, _ = judged
    stumps = ORBoost(n_estimators=5).fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="background must be given for ORBoost"):
        explain_scores(stumps, np.nan_to_num(X))
