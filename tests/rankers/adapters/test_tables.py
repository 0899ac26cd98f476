"""Frames with names, categories and missing values; weights, constraints and earlier models."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import rankwise
from rankwise.explain import explain_scores
from rankwise.export import to_onnx, to_solr
from rankwise.export.maps import ExportError
from rankwise.trees.stored_boosters import BoosterError

LIBRARIES = {
    "LightGBMRanker": "lightgbm",
    "XGBoostRanker": "xgboost",
    "CatBoostRanker": "catboost",
}
COLOURS = list("abcdefghijklmnopqrstuvwxyz")
SIZES = ["small", "medium", "large"]


@pytest.fixture(params=LIBRARIES)
def ranker_class(request):
    """Each adapter whose library is installed."""
    pytest.importorskip(LIBRARIES[request.param])
    return getattr(rankwise, request.param)


@pytest.fixture(scope="module")
def table():
    """A shuffled frame with text, categories and missing values; grades; text ids of queries."""
    rng = np.random.default_rng(0)
    n = 1200
    frame = pd.DataFrame({
        "price in €": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "colour": pd.Categorical(rng.choice([*COLOURS, None], n)),
        "brand": rng.choice(["x", "y", "z", None], n),
        "size": pd.Categorical(rng.choice(SIZES, n), categories=SIZES, ordered=True),
        "stock:[k]": rng.integers(0, 9, n),
    })  # fmt: skip
    y = (
        (frame["colour"].cat.codes.to_numpy() % 3 == 1) * 2
        + (frame["price in €"].fillna(0) > 0.3).to_numpy()
        + (frame["size"] == "large").to_numpy()
    )
    qid = np.char.add("query ", rng.integers(0, 40, n).astype(str))
    return frame, y, qid


def quick(ranker_class, **params):
    return ranker_class(**{"n_estimators": 25, "random_state": 0, "n_jobs": 1, **params})


def booster_names(ranker):
    booster = ranker.booster_
    match type(ranker).__name__:
        case "LightGBMRanker":
            return booster.feature_name()
        case "XGBoostRanker":
            return booster.feature_names
        case _:
            return booster.feature_names_


def unseen(frame):
    """Rows with categories that fit has not seen."""
    other = frame[:200].copy()
    other["brand"] = "new"
    other["colour"] = other["colour"].astype(object).where(other["colour"] != "b", "ultraviolet")
    return other


# Frames ------------------------------------------------------------------------------------------


def test_boosters_have_the_names_of_the_frame(ranker_class, table):
    frame, y, qid = table
    ranker = quick(ranker_class, n_estimators=2).fit(frame, y, qid=qid)
    expected = {
        "LightGBMRanker": ["price_in_€", "colour", "brand", "size", "stock__k_"],
        "XGBoostRanker": ["price in €", "colour", "brand", "size", "stock:_k_"],
        "CatBoostRanker": list(frame.columns),
    }[ranker_class.__name__]
    assert booster_names(ranker) == expected
    plain = quick(ranker_class, n_estimators=2).fit(frame[["price in €", "stock:[k]"]], y, qid=qid)
    assert booster_names(plain)[0] == expected[0]
    alike = frame[["price in €", "stock:[k]"]].set_axis(["a b", "a_b"], axis=1)
    names = booster_names(quick(ranker_class, n_estimators=2).fit(alike, y, qid=qid))
    assert len(set(names)) == 2


def test_categories_are_learnt_in_any_form(ranker_class, table):
    frame, y, qid = table
    ranker = quick(ranker_class, n_estimators=60).fit(frame, y, qid=qid)
    without = quick(ranker_class, n_estimators=60)
    without.fit(frame.drop(columns=["colour"]), y, qid=qid)
    score = ranker.score(frame, y, qid=qid)
    assert score > without.score(frame.drop(columns=["colour"]), y, qid=qid) + 0.05
    expected = ranker.predict(frame)
    text = frame.astype({"colour": object})
    np.testing.assert_array_equal(ranker.predict(text), expected)
    kinds = {
        "price in €": pl.Float64, "colour": pl.Categorical, "brand": pl.String,
        "size": pl.Enum(SIZES), "stock:[k]": pl.Int64,
    }  # fmt: skip
    text = text.astype(object).where(frame.notna(), None)
    columns = {name: text[name].tolist() for name in frame}
    polars = pl.DataFrame(columns, schema=kinds)
    fitted = quick(ranker_class, n_estimators=60).fit(polars, y, qid=qid)
    np.testing.assert_array_equal(fitted.predict(polars.lazy()), expected)
    np.testing.assert_array_equal(ranker.predict(polars), expected)


def test_any_row_order_trains_the_same_model(ranker_class, table):
    frame, y, qid = table
    rows = np.random.default_rng(1).permutation(len(y))
    expected = quick(ranker_class).fit(frame, y, qid=qid).predict(frame)
    shuffled = quick(ranker_class).fit(frame.iloc[rows], y[rows], qid=qid[rows])
    np.testing.assert_array_equal(shuffled.predict(frame), expected)


def test_unknown_categories_count_as_missing(ranker_class, table):
    frame, y, qid = table
    ranker = quick(ranker_class).fit(frame, y, qid=qid)
    rows, missing = unseen(frame), frame[:200].copy()
    missing["brand"] = None
    missing["colour"] = missing["colour"].where(missing["colour"] != "b")
    np.testing.assert_array_equal(ranker.predict(rows), ranker.predict(missing))


def test_saved_models_keep_categories(ranker_class, table, tmp_path):
    frame, y, qid = table
    ranker = quick(ranker_class).fit(frame, y, qid=qid)
    loaded = rankwise.load(ranker.save(tmp_path / "model"))
    for rows in (frame, unseen(frame)):
        np.testing.assert_array_equal(loaded.predict(rows), ranker.predict(rows))
    assert booster_names(loaded) == booster_names(ranker)


def test_numbers_can_be_categories(ranker_class, table, tmp_path):
    frame, y, qid = table
    codes = frame["colour"].cat.codes.to_numpy() * 10.0
    X = np.column_stack([np.where(codes < 0, np.nan, codes), frame["stock:[k]"]])
    ranker = quick(ranker_class, categorical_features=[0]).fit(X, y, qid=qid)
    numbers = quick(ranker_class).fit(X, y, qid=qid)
    assert (ranker.predict(X) != numbers.predict(X)).any()
    loaded = rankwise.load(ranker.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(
        quick(ranker_class, categorical_features=None).fit(X, y, qid=qid).predict(X),
        numbers.predict(X),
    )


def test_explanations_of_categories_add_up(ranker_class, table):
    frame, y, qid = table
    ranker = quick(ranker_class).fit(frame, y, qid=qid)
    for rows in (frame[:100], unseen(frame)):
        for background in (None, frame[100:130]):
            found = explain_scores(ranker, rows, background)
            total = found.values.sum(axis=1) + found.expected
            np.testing.assert_allclose(total, ranker.predict(rows), atol=2e-6)


def test_exports_of_categories(ranker_class, table):
    onnxruntime = pytest.importorskip("onnxruntime")
    frame, y, qid = table
    ranker = quick(ranker_class).fit(frame, y, qid=qid)
    session = onnxruntime.InferenceSession(to_onnx(ranker).SerializeToString())
    for rows in (frame, unseen(frame)):
        X = ranker._encoded_rows(rows).astype(np.float32)
        (scores,) = session.run(None, {"X": X})[:1]
        np.testing.assert_allclose(scores.ravel(), ranker.predict(rows), atol=1e-5)
    with pytest.raises(ExportError, match="has unordered categories"):
        to_solr(ranker)


def test_exports_of_numbers_as_categories(ranker_class, table):
    onnxruntime = pytest.importorskip("onnxruntime")
    frame, y, qid = table
    X = np.column_stack([frame["colour"].cat.codes * 10.0, frame["stock:[k]"]])
    ranker = quick(ranker_class, categorical_features=[0]).fit(X, y, qid=qid)
    session = onnxruntime.InferenceSession(to_onnx(ranker).SerializeToString())
    (scores,) = session.run(None, {"X": X.astype(np.float32)})[:1]
    np.testing.assert_allclose(scores.ravel(), ranker.predict(X), atol=1e-5)


def test_validation_rows_are_read_by_the_same_codes(ranker_class, table):
    frame, y, qid = table
    ranker = quick(ranker_class, n_estimators=100, early_stopping_rounds=5)
    part = frame[:300].copy()
    part["colour"] = part["colour"].astype(object)
    ranker.fit(frame, y, qid=qid, X_val=part, y_val=y[:300], qid_val=qid[:300])
    plain = quick(ranker_class, n_estimators=ranker.best_iteration_).fit(frame, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(frame), plain.predict(frame))


CATBOOST_WAYS = {
    "own default": ("YetiRank", {}),
    "pairs": ("PairLogit", {}),
    "squares": ("QueryRMSE", {}),
    "all kinds": (
        "QueryRMSE",
        {"simple_ctr": ["Borders", "Buckets", "BinarizedTargetMeanValue", "Counter"]},
    ),
}


@pytest.fixture(scope="module")
def many_categories():
    """Rows with columns of 300, 40 and 4 categories, two of them with missing values."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, [300, 40, 4], (1200, 3))
    effects = [rng.normal(size=n) for n in (300, 40, 4)]
    X = np.column_stack([codes, rng.normal(size=1200)])
    utility = X[:, 3] + sum(effect[codes[:, j]] for j, effect in enumerate(effects))
    X[rng.random((1200, 4)) < [0.1, 0.0, 0.1, 0.1]] = np.nan
    return X, np.digitize(utility, np.quantile(utility, [0.5, 0.8])), np.arange(1200) % 60


@pytest.mark.parametrize("way", CATBOOST_WAYS)
def test_catboost_statistics_are_those_of_the_library(way, many_categories, tmp_path):
    catboost = pytest.importorskip("catboost")
    from rankwise.row_order import canonical_order

    X, y, qid = many_categories
    objective, params = CATBOOST_WAYS[way]
    options = {"categorical_features": [0, 1, 2], "objective": objective, "params": params}
    ranker = quick(rankwise.CatBoostRanker, **options).fit(X, y, qid=qid)
    kinds = {
        split["split_type"]
        for tree in json.loads(ranker.model_)["oblivious_trees"]
        for split in tree["splits"]
    }
    assert "OnlineCtr" in kinds
    scores = ranker.predict(X)

    # The library, called directly on the rows in the order that their content determines.
    codes = np.asarray(ranker._encoded_rows(X))

    def pool(rows, **given):
        table = pd.DataFrame(rows, columns=list("0123"))
        table[list("012")] = table[list("012")].fillna(-1).astype(int)
        return catboost.Pool(table, cat_features=["0", "1", "2"], **given)

    groups = rankwise.QueryGroups.from_qid(qid, len(y))
    order, sizes = canonical_order(codes, y.astype(float), groups, None)
    group_id = np.repeat(np.arange(len(sizes)), sizes)
    given = ranker._library_params(codes, None, int(np.random.RandomState(0).randint(2**31 - 1)))
    peer = catboost.CatBoost({**given, "allow_writing_files": False, "logging_level": "Silent"})
    peer.fit(pool(codes[order], label=y[order], group_id=group_id))
    np.testing.assert_allclose(scores, peer.predict(pool(codes)), rtol=0, atol=1e-13)

    # Our own trees, the library's model read back, stored models, and any order of the rows.
    np.testing.assert_allclose(ranker._tree_ensemble().score(codes, 1), scores, rtol=0, atol=1e-13)
    known = {column: range(-1, 300) for column in range(3)}
    found = rankwise.read_booster(peer, categories=known)
    codes[:, :3] = np.nan_to_num(codes[:, :3], nan=-1)
    np.testing.assert_allclose(found.predict(codes), scores, rtol=0, atol=1e-13)
    ranker.save(tmp_path / "m.rankwise")
    for again in (rankwise.load(tmp_path / "m.rankwise"), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(again.predict(X), scores)
    rows = np.random.default_rng(1).permutation(len(y))
    again = quick(rankwise.CatBoostRanker, **options).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_array_equal(again.predict(X), scores)
    unknown, missing = X.copy(), X.copy()
    unknown[:, :3], missing[:, :3] = 999, np.nan
    with pytest.warns(UserWarning, match="knows no category"):
        np.testing.assert_array_equal(ranker.predict(unknown), ranker.predict(missing))


def test_catboost_statistics_are_explained_and_exported(many_categories):
    pytest.importorskip("catboost")
    X, y, qid = many_categories
    ranker = quick(rankwise.CatBoostRanker, categorical_features=[0, 1, 2]).fit(X, y, qid=qid)
    explained = explain_scores(ranker, X[:20])
    total = explained.values.sum(axis=1) + explained.expected
    np.testing.assert_allclose(total, ranker.predict(X[:20]), atol=1e-9)
    assert (explained.values[:, :3] != 0).any()
    with pytest.raises(ExportError, match="unordered categories"):
        to_solr(ranker)
    # One by one, as versions before 1.0 split them.
    singly = quick(rankwise.CatBoostRanker, categorical_features=[1, 2], one_hot_max_size=255)
    assert b"OnlineCtr" not in singly.fit(X, y, qid=qid).model_
    # Other trees first: they bring their own statistics along.
    more = quick(rankwise.CatBoostRanker, categorical_features=[0, 1, 2])
    more.fit(X, y, qid=qid, init_model=ranker)
    codes = ranker._encoded_rows(X)
    assert more.best_iteration_ == 2 * ranker.best_iteration_
    np.testing.assert_allclose(more._tree_ensemble().score(codes, 1), more.predict(X), atol=1e-12)


def test_catboost_combinations_of_columns_are_refused(many_categories, tmp_path):
    pytest.importorskip("catboost")
    X, _, qid = many_categories
    pair = np.nan_to_num(X[:, 1]) % 12 + 12 * np.nan_to_num(X[:, 2])
    y = np.digitize(np.random.default_rng(0).normal(size=48)[pair.astype(int)], [0, 1])
    X = np.column_stack([pair % 12, pair // 12, X[:, 3]])
    ranker = quick(
        rankwise.CatBoostRanker, categorical_features=[0, 1], one_hot_max_size=1,
        params={"max_ctr_complexity": 2},
    ).fit(X, y, qid=qid)  # fmt: skip
    ranker.save(tmp_path / "m.rankwise")
    loaded = rankwise.load(tmp_path / "m.rankwise")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    for use in (to_solr, to_onnx, lambda model: explain_scores(model, X[:5])):
        with pytest.raises(ValueError, match="statistics of combinations of columns"):
            use(ranker)
    with pytest.raises(BoosterError, match="max_ctr_complexity=1"):
        rankwise.read_booster(ranker.booster_)


# Weights -----------------------------------------------------------------------------------------


def test_weights_of_queries_change_the_model(ranker_class, judged):
    X, y, qid = judged
    weight = np.where(np.isin(qid, np.unique(qid)[:4]), 20.0, 1.0)
    plain = quick(ranker_class).fit(X, y, qid=qid)
    weighted = quick(ranker_class).fit(X, y, qid=qid, sample_weight=weight)
    assert (weighted.predict(X) != plain.predict(X)).any()
    rows = np.random.default_rng(0).permutation(len(y))
    shuffled = quick(ranker_class).fit(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
    np.testing.assert_array_equal(shuffled.predict(X), weighted.predict(X))


def test_weights_within_a_query(ranker_class, judged):
    X, y, qid = judged
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    if ranker_class.__name__ == "LightGBMRanker":
        plain = quick(ranker_class).fit(X, y, qid=qid)
        weighted = quick(ranker_class).fit(X, y, qid=qid, sample_weight=weight)
        assert (weighted.predict(X) != plain.predict(X)).any()
        return
    message = r"sample_weight must be equal for all rows of a query, because .* in query \S+\. Pass"
    with pytest.raises(ValueError, match=message):
        quick(ranker_class).fit(X, y, qid=qid, sample_weight=weight)
    if ranker_class.__name__ == "CatBoostRanker":
        rows = quick(ranker_class, objective="QueryRMSE")
        rows.fit(X, y, qid=qid, sample_weight=weight)


def test_library_alone_trains_the_same_trees_with_weights(judged):
    lightgbm = pytest.importorskip("lightgbm")
    order = np.argsort(judged.qid, kind="stable")
    X, y, qid = judged.X[order], judged.y[order], judged.qid[order]
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    ranker = quick(rankwise.LightGBMRanker).fit(X, y, qid=qid, sample_weight=weight)
    groups = rankwise.QueryGroups.from_qid(qid, len(y))
    from rankwise.row_order import canonical_order

    order, sizes = canonical_order(X, y, groups, weight)
    peer = lightgbm.LGBMRanker(n_estimators=25, force_col_wise=True, verbosity=-1)
    peer.fit(X[order], y[order], group=sizes, sample_weight=weight[order])
    np.testing.assert_array_equal(ranker.predict(X), peer.booster_.predict(X))


# Constraints, positions, earlier models, parameters ----------------------------------------------


def test_monotone_constraints(ranker_class, judged):
    X, y, qid = judged
    frame = pd.DataFrame(X, columns=list("abcde"))
    grid = np.repeat(X[:50], 21, axis=0)
    grid[:, 1] = np.tile(np.linspace(-3, 3, 21), 50)
    needed = {"objective": "QueryRMSE"} if ranker_class.__name__ == "CatBoostRanker" else {}
    for constraints in ({"b": -1}, {1: -1}, [0, -1, 0, 0, 0]):
        ranker = quick(ranker_class, monotone_constraints=constraints, **needed)
        ranker.fit(frame, y, qid=qid)
        scores = ranker.predict(pd.DataFrame(grid, columns=list("abcde"))).reshape(50, 21)
        assert (np.diff(scores) <= 1e-6).all()
    free = quick(ranker_class).fit(X, y, qid=qid).predict(grid).reshape(50, 21)
    assert (np.diff(free) > 1e-6).any()


def test_catboost_keeps_no_trees_over_pairs_monotone(judged):
    pytest.importorskip("catboost")
    ranker = quick(rankwise.CatBoostRanker, monotone_constraints={0: 1})
    with pytest.raises(ValueError, match="monotone_constraints needs objective='QueryRMSE'"):
        ranker.fit(judged.X, judged.y, qid=judged.qid)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"price in E": 1}, "must name columns of X, got 'price in E'. Did you mean 'price in €'"),
        ({7: 1}, "must number columns from 0 to 4, got 7"),
        ([1, 0], "must have n_features=5 entries"),
        ({"price in €": 2}, "must be -1, 0 or 1, got 2"),
        ({"colour": 1}, "must be 0 for column 1, which has unordered"),
    ],
)
def test_wrong_constraints_are_named(ranker_class, table, constraints, message):
    frame, y, qid = table
    with pytest.raises(ValueError, match=re.escape(message)):
        quick(ranker_class, monotone_constraints=constraints).fit(frame, y, qid=qid)


def clicks(seed=0):
    """Clicks on 300 result lists of 10, fewer at lower places; the feature decides the rest."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 2))
    place = np.tile(np.arange(10), 300)
    y = (rng.random(3000) < 1 / (1 + np.exp(-3 * X[:, 0])) / (1 + place)).astype(float)
    return X, y, np.repeat(np.arange(300), 10), place


@pytest.mark.parametrize("name", ["LightGBMRanker", "XGBoostRanker"])
def test_positions(name, tmp_path):
    pytest.importorskip(LIBRARIES[name])
    X, y, qid, place = clicks()
    ranker_class = getattr(rankwise, name)
    plain = quick(ranker_class).fit(X, y, qid=qid)
    ranker = quick(ranker_class).fit(X, y, qid=qid, position=place)
    assert (ranker.predict(X) != plain.predict(X)).any()
    rows = np.random.default_rng(1).permutation(len(y))
    shuffled = quick(ranker_class).fit(X[rows], y[rows], qid=qid[rows], position=place[rows])
    np.testing.assert_array_equal(shuffled.predict(X), ranker.predict(X))
    loaded = rankwise.load(ranker.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    more = quick(ranker_class).fit(X, y, qid=qid, position=place, init_model=ranker)
    assert more.best_iteration_ == 50
    for wrong in (place[:-1], place - 1, place + 0.5, place.astype(str)):
        with pytest.raises(ValueError, match="position must"):
            quick(ranker_class).fit(X, y, qid=qid, position=wrong)


def test_positions_tell_equal_queries_apart(rng):
    """Bags of rows are drawn by their number, so queries need an order of their own."""
    pytest.importorskip("lightgbm")
    n, qid = 120, np.repeat(np.arange(20), 6)
    X, place = (rng.random((n, 1)) < 0.5).astype(float), rng.integers(0, 4, n)
    y = (X[:, 0] + (rng.random(n) < 0.3) > 0.5).astype(int)
    settings = {"subsample": 0.5, "min_child_samples": 2, "random_state": 0, "n_jobs": 1}
    expected = None
    for _ in range(4):
        rows = np.concatenate([np.flatnonzero(qid == q) for q in rng.permutation(20)])
        ranker = rankwise.LightGBMRanker(10, **settings)
        ranker.fit(X[rows], y[rows], qid=qid[rows], position=place[rows])
        expected = ranker.predict(X) if expected is None else expected
        np.testing.assert_array_equal(ranker.predict(X), expected)


def test_xgboost_corrects_positions_only_where_it_has_them():
    pytest.importorskip("xgboost")
    X, y, qid, place = clicks()
    ranker = quick(rankwise.XGBoostRanker, params={"lambdarank_unbiased": True})
    with pytest.raises(ValueError, match=r"needs the place .* Pass position to fit"):
        ranker.fit(X, y, qid=qid)
    ranker.fit(X, y, qid=qid, position=place)
    xgboost = pytest.importorskip("xgboost")
    params = {"objective": "rank:ndcg", "lambdarank_unbiased": True, "nthread": 1,
              "tree_method": "hist", "learning_rate": 0.3}  # fmt: skip
    matrix = xgboost.QuantileDMatrix(X, y, qid=qid)
    peer = xgboost.train(params, matrix, 25)
    agreement = np.corrcoef(ranker.predict(X), peer.inplace_predict(X))[0, 1]
    assert agreement > 0.99  # queries come in another order, which sums in float32 see


def test_training_goes_on_from_an_earlier_model(ranker_class, table):
    frame, y, qid = table
    first = quick(ranker_class, n_estimators=10).fit(frame[:600], y[:600], qid=qid[:600])
    before = first.model_
    more = quick(ranker_class, n_estimators=15).fit(frame, y, qid=qid, init_model=first)
    assert more.best_iteration_ == 25
    assert first.model_ == before
    assert more.score(frame, y, qid=qid) > first.score(frame, y, qid=qid)
    old, new = first.columns_.nominal[2].tolist(), more.columns_.nominal[2].tolist()
    assert new[: len(old)] == old
    with pytest.raises(ValueError, match="init_model must be fitted on the"):
        quick(ranker_class).fit(frame[["price in €"]], y, qid=qid, init_model=first)
    with pytest.raises(TypeError, match="init_model must be a fitted"):
        quick(ranker_class).fit(frame, y, qid=qid, init_model=rankwise.RidgeRanker())


def test_new_categories_of_a_later_fit_come_last(ranker_class):
    rng = np.random.default_rng(0)
    early = pd.DataFrame({"word": rng.choice(["m", "n"], 400), "x": rng.normal(size=400)})
    late = pd.DataFrame({"word": rng.choice(["a", "m", "n", "z"], 400), "x": rng.normal(size=400)})
    y = (early["word"] == "m") + (early["x"] > 0)
    first = quick(ranker_class).fit(early, y.to_numpy(), qid=np.arange(400) // 20)
    labels = ((late["word"] == "z") + (late["x"] > 0)).to_numpy()
    more = quick(ranker_class).fit(late, labels, qid=np.arange(400) // 20, init_model=first)
    assert more.columns_.nominal[0].tolist() == ["m", "n", "a", "z"]
    assert more.score(late, labels, qid=np.arange(400) // 20) > 0.95


def test_training_goes_on_from_the_library_model(ranker_class, judged):
    X, y, qid = judged
    first = quick(ranker_class, n_estimators=10).fit(X, y, qid=qid)
    by_ranker = quick(ranker_class).fit(X, y, qid=qid, init_model=first)
    by_booster = quick(ranker_class).fit(X, y, qid=qid, init_model=first.booster_)
    np.testing.assert_array_equal(by_booster.predict(X), by_ranker.predict(X))
    stopped = quick(ranker_class, n_estimators=200, early_stopping_rounds=3)
    stopped.fit(
        X[:400], y[:400], qid=qid[:400], init_model=first,
        X_val=X[400:], y_val=y[400:], qid_val=qid[400:],
    )  # fmt: skip
    assert stopped.best_iteration_ == 10 + 1 + np.argmax(stopped.validation_scores_)


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("LightGBMRanker", "min_data_per_grup", "min_data_per_group"),
        ("XGBoostRanker", "max_delta_stepp", "max_delta_step"),
        ("CatBoostRanker", "bootstrap_typ", "bootstrap_type"),
    ],
)
def test_unknown_params_are_refused(name, given, meant, judged):
    pytest.importorskip(LIBRARIES[name])
    X, y, qid = judged
    message = f"params must hold parameters of .*, got '{given}' for {name}. Did you mean '{meant}'"
    with pytest.raises(ValueError, match=message):
        quick(getattr(rankwise, name), params={given: 1}).fit(X, y, qid=qid)


@pytest.mark.parametrize("columns", [["colour"], ["colour", "brand"]])
def test_frames_of_categories_alone(ranker_class, table, tmp_path, columns):
    frame, y, qid = table
    ranker = ranker_class(n_estimators=5, random_state=0).fit(frame[columns], y, qid=qid)
    scores = ranker.predict(frame[columns])
    assert len(np.unique(scores)) > 3
    loaded = rankwise.load(ranker.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(frame[columns]), scores)
    explanation = explain_scores(ranker, frame[columns][:5])
    np.testing.assert_allclose(explanation.scores, scores[:5], rtol=1e-6)


def test_rows_that_may_not_be_written(ranker_class, judged):
    rows = sparse.csr_matrix(np.where(np.abs(judged.X) < 0.5, 0, judged.X))
    mapped = rows.copy()  # as joblib maps large arguments of its processes
    for part in (mapped.data, mapped.indices, mapped.indptr):
        part.flags.writeable = False
    ranker = ranker_class(n_estimators=3, random_state=0).fit(mapped, judged.y, qid=judged.qid)
    np.testing.assert_array_equal(ranker.predict(mapped), ranker.predict(rows))
