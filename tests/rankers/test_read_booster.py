"""Models of boosting libraries: read back, they score as the library itself does."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise import export
from rankwise.rankers.adapters.read_booster import library_of
from rankwise.rankers.adapters.xgboost_model import read_ubjson
from rankwise.trees.stored_boosters import BoosterError
from tests.export.readers import elasticsearch_scores, ranklib_scores, solr_scores
from tests.export.tree_models import COLOURS, rows

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

N = 300
SIZES = np.full(N // 10, 10)
QID = np.arange(N) // 10


def numbers(missing):
    X = rows(0, N, missing)[:, :4]
    return X, (np.nan_to_num(X[:, 0]) > 0).astype(int) + (np.nan_to_num(X[:, 3]) > 0)


def frame(seed=0, n=N):
    X, rng = rows(seed, n, True), np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "bm25": X[:, 0],
            "colour": pd.Categorical(rng.choice(COLOURS, n), categories=COLOURS),
            "clicks": X[:, 3],
            "shop": pd.Categorical(rng.choice([3, 7, 9], n), categories=[3, 7, 9]),
        }
    )


def frame_labels(X):
    return X["colour"].isin(["red", "grey"]).astype(int) + (X["shop"] == 7) + (X["bm25"] > 0)


def fit_lightgbm(X, y, **params):
    settings = {"n_estimators": 8, "num_leaves": 7, "min_child_samples": 3, "verbose": -1}
    settings |= {"n_jobs": 1, "min_data_per_group": 3, "cat_smooth": 1.0, **params}
    return lightgbm.LGBMRanker(**settings).fit(X, y, group=SIZES)


def fit_xgboost(X, y, **params):
    settings = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, **params}
    return xgboost.XGBRanker(**settings).fit(X, y, qid=QID)


def fit_catboost(X, y, **params):
    settings = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
    settings |= {"thread_count": 1, **params}
    cat_features = settings.pop("cat_features", None)
    pool = catboost.Pool(X, y, group_id=QID, cat_features=cat_features)
    return catboost.CatBoostRanker(**settings).fit(pool)


FITS = {"LightGBM": fit_lightgbm, "XGBoost": fit_xgboost, "CatBoost": fit_catboost}
TOLERANCE = {"LightGBM": 0.0, "XGBoost": 2e-6, "CatBoost": 1e-13}


def save(model, folder):
    """Files of a fitted model, one for each format that is read."""
    if library_of(model) == "lightgbm":
        model.booster_.save_model(folder / "m.txt")
        return [folder / "m.txt"]
    if library_of(model) == "xgboost":
        for name in ("m.json", "m.ubj"):
            model.save_model(folder / name)
        return [folder / "m.json", folder / "m.ubj"]
    model.save_model(str(folder / "c.json"), format="json")
    return [folder / "c.json"]


def edges(model, X):
    """Rows at the thresholds of the trees and their float32 neighbours."""
    rng = np.random.default_rng(5)
    out = X.astype(np.float32)
    for column in range(X.shape[1]):
        cuts = model.trees_.threshold[model.trees_.feature == column].astype(np.float32)
        cuts = cuts[np.abs(cuts) < 1e38]
        near = [np.nextafter(cuts, np.float32(way)) for way in (-np.inf, np.inf)]
        values = np.concatenate([cuts, *near, X[:, column].astype(np.float32)])
        values = values[~((values != 0) & (np.abs(values) <= 1e-35))]
        out[:, column] = rng.choice(values, len(X))
    return out.astype(np.float64)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", FITS)
def test_scores_are_those_of_the_library(library, missing, tmp_path):
    X, y = numbers(missing)
    peer = FITS[library](X, y)
    for source in (peer, *save(peer, tmp_path)):
        model = rw.read_booster(source)
        assert (model.library_, model.n_features_in_, model.n_estimators_) == (library, 4, 8)
        for Z in (X, rows(3, 200, missing)[:, :4], edges(model, X)):
            wanted = peer.predict(Z)
            assert len(np.unique(wanted)) > 5
            tolerance = TOLERANCE[library]
            np.testing.assert_allclose(model.predict(Z), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
def test_values_missing_after_training_only(library, missing):
    X, y = numbers(missing)
    peer = FITS[library](X, y)
    Z = rows(4, 200, True)[:, :4]
    found = rw.read_booster(peer).predict(Z)
    np.testing.assert_allclose(found, peer.predict(Z), rtol=TOLERANCE[library], atol=1e-6)


def test_boosters_and_other_classes():
    X, y = numbers(True)
    ranker = fit_lightgbm(X, y)
    np.testing.assert_array_equal(rw.read_booster(ranker.booster_).predict(X), ranker.predict(X))
    regressor = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y)
    np.testing.assert_array_equal(rw.read_booster(regressor).predict(X), regressor.predict(X))
    classifier = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y > 0)
    raw = classifier.predict(X, raw_score=True)
    np.testing.assert_array_equal(rw.read_booster(classifier).predict(X), raw)
    booster = fit_xgboost(X, y).get_booster()
    np.testing.assert_allclose(
        rw.read_booster(booster).predict(X), booster.inplace_predict(X), atol=2e-6
    )
    for objective, kind in (("binary:logistic", xgboost.XGBClassifier),
                            ("count:poisson", xgboost.XGBRegressor),
                            ("reg:squarederror", xgboost.XGBRegressor)):  # fmt: skip
        model = kind(n_estimators=5, objective=objective).fit(X, y > 0)
        raw = model.predict(X, output_margin=True)
        np.testing.assert_allclose(rw.read_booster(model).predict(X), raw, atol=2e-6)


def test_other_kinds_of_boosting():
    X, y = numbers(True)
    forest = fit_lightgbm(X, y, boosting_type="rf", subsample=0.5, subsample_freq=1)
    np.testing.assert_allclose(rw.read_booster(forest).predict(X), forest.predict(X), atol=1e-14)
    dart = fit_xgboost(X, y, booster="dart", rate_drop=0.5)
    np.testing.assert_allclose(rw.read_booster(dart).predict(X), dart.predict(X), atol=2e-6)
    for policy in ("Depthwise", "Lossguide"):
        peer = fit_catboost(X, y, grow_policy=policy)
        np.testing.assert_allclose(rw.read_booster(peer).predict(X), peer.predict(X), atol=1e-13)


def test_trees_kept_by_early_stopping(tmp_path):
    X, y = numbers(False)
    held_out = rows(9, N)[:, :4]
    shuffled = np.random.default_rng(0).permutation(y)
    stopped = lightgbm.LGBMRanker(n_estimators=60, verbose=-1, min_child_samples=3)
    stopped.fit(X, y, group=SIZES, eval_X=(held_out,), eval_y=(shuffled,), eval_group=[SIZES],
                callbacks=[lightgbm.early_stopping(3, verbose=False)])  # fmt: skip
    assert 0 < stopped.best_iteration_ < 60
    np.testing.assert_array_equal(rw.read_booster(stopped).predict(X), stopped.predict(X))
    peer = xgboost.XGBRanker(n_estimators=60, early_stopping_rounds=3)
    peer.fit(X, y, qid=QID, eval_set=[(held_out, shuffled)], eval_qid=[QID], verbose=False)
    assert peer.best_iteration + 1 < peer.get_booster().num_boosted_rounds()
    np.testing.assert_allclose(rw.read_booster(peer).predict(X), peer.predict(X), atol=2e-6)
    peer.save_model(tmp_path / "m.json")
    with pytest.warns(UserWarning, match=r"m\.json has \d+ rounds, of which XGBRanker uses"):
        assert rw.read_booster(tmp_path / "m.json").n_estimators_ > peer.best_iteration + 1


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
def test_categories_of_frames(library, tmp_path):
    X = frame()
    params = {"enable_categorical": True, "max_cat_to_onehot": 2} if library == "XGBoost" else {}
    peer = FITS[library](X, frame_labels(X), **params)
    for source in (peer, *save(peer, tmp_path)):
        model = rw.read_booster(source)
        assert model.trees_.nominal.sum() > 5
        assert model.columns_.nominal[1].tolist() == list(COLOURS)
        assert model.columns_.nominal[3].tolist() == [3, 7, 9]
        for Z in (X, frame(2)):
            Z.loc[::5, "colour"] = None
            Z.loc[::7, "shop"] = None
            np.testing.assert_allclose(
                model.predict(Z), peer.predict(Z), rtol=TOLERANCE[library], atol=1e-6
            )


def test_unknown_categories_go_where_lightgbm_sends_them():
    X = frame()
    peer = fit_lightgbm(X, frame_labels(X))
    Z = X.assign(colour=pd.Categorical(["never seen"] * N))
    np.testing.assert_array_equal(rw.read_booster(peer).predict(Z), peer.predict(Z))


def test_categories_that_are_numbers():
    X = rows(0, N, True)
    y = (np.nan_to_num(X[:, 4]) % 3).astype(int)
    peer = lightgbm.LGBMRanker(n_estimators=8, min_child_samples=3, verbose=-1)
    peer.fit(X, y, group=SIZES, categorical_feature=[4])
    model = rw.read_booster(peer)
    Z = rows(6, N, True)
    Z[::9, 4] = 1000
    np.testing.assert_array_equal(model.predict(Z), peer.predict(Z))
    filled = np.nan_to_num(X)
    table = pd.DataFrame(filled).assign(shop=filled[:, 4].astype(int)).drop(columns=4)
    boosted = fit_catboost(table, y, cat_features=["shop"], one_hot_max_size=50,
                           max_ctr_complexity=0)  # fmt: skip
    table.loc[::9, "shop"] = 77
    np.testing.assert_allclose(
        rw.read_booster(boosted).predict(table), boosted.predict(table), atol=1e-13
    )


def test_categories_that_the_file_does_not_list():
    X = np.nan_to_num(rows(0, N))
    y = (X[:, 4] % 3).astype(int)
    types = ["q"] * 4 + ["c"]
    data = xgboost.DMatrix(X, y, qid=QID, feature_types=types, enable_categorical=True)
    peer = xgboost.train({"objective": "rank:ndcg", "max_depth": 4}, data, 5)
    with pytest.raises(BoosterError, match=r"columns \[4\] .* Pass categories="):
        rw.read_booster(peer)
    model = rw.read_booster(peer, categories={4: range(40)})
    np.testing.assert_allclose(model.predict(X), peer.predict(data), atol=2e-6)
    ordered = frame().assign(colour=lambda t: t["colour"].cat.as_ordered())
    fitted = fit_lightgbm(ordered, frame_labels(ordered))
    for given in (None, {"shop": [3, 7, 9], "colour": COLOURS}):
        model = rw.read_booster(fitted, categories=given)
        assert list(model.columns_.ordered) == [1]
        np.testing.assert_array_equal(model.predict(ordered), fitted.predict(ordered))
    with pytest.raises(BoosterError, match=r"LGBMRanker: categories must .* keys .* got 'none'"):
        rw.read_booster(fitted, categories={"none": []})


@pytest.mark.parametrize("library", FITS)
def test_exported_explained_saved_and_cloned(library, tmp_path):
    X, y = numbers(False)
    peer = FITS[library](X, y)
    model, Z = rw.read_booster(peer), rows(3, 100)[:, :4]
    wanted = peer.predict(Z)
    columns = {f"f{column + 1}": Z[:, column].astype(np.float32) for column in range(4)}
    if library == "CatBoost":
        assert not hasattr(model, "feature_names_in_")
    tolerance = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(solr_scores(export.to_solr(model), columns), wanted, **tolerance)
    np.testing.assert_allclose(ranklib_scores(export.to_ranklib(model), Z), wanted, **tolerance)
    body = export.to_elasticsearch(model)
    np.testing.assert_allclose(elasticsearch_scores(body, list(columns), Z), wanted, **tolerance)
    text = export.to_lightgbm(model)
    np.testing.assert_allclose(
        lightgbm.Booster(model_str=text).predict(Z), model.predict(Z), atol=1e-13
    )
    again = rw.load(rw.save(model, tmp_path / "m.rankwise"))
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
    assert clone(model) is model and model.fit(X, y) is model
    explained = rw.explain.explain_scores(model, Z)
    np.testing.assert_allclose(
        explained.values.sum(axis=1) + explained.expected, model.predict(Z), atol=1e-9
    )
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("library", FITS)
def test_exporters_take_the_objects_of_the_libraries(library):
    X, y = numbers(False)
    peer = FITS[library](X, y)
    model = rw.read_booster(peer)
    for write in (export.to_ranklib, export.to_solr, export.to_elasticsearch, export.to_lightgbm):
        assert write(peer) == write(model)
    if library != "CatBoost":
        booster = peer.booster_ if library == "LightGBM" else peer.get_booster()
        assert export.to_solr(booster) == export.to_solr(model)
        piped = make_pipeline(StandardScaler(), type(peer)(**peer.get_params()))
        sizes = {"group": SIZES} if library == "LightGBM" else {"qid": QID}
        piped.fit(X, y, **{f"{piped.steps[1][0]}__{key}": value for key, value in sizes.items()})
        Z = X.astype(np.float32)
        found = ranklib_scores(export.to_ranklib(piped), Z)
        np.testing.assert_allclose(found, piped.predict(Z.astype(float)), rtol=1e-5, atol=1e-6)


def test_onnx_with_missing_values():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = numbers(True)
    peer = fit_lightgbm(X, y)
    written = export.to_onnx(peer).SerializeToString()
    session = runtime.InferenceSession(written, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["score"], {"X": X.astype(np.float32)})
    np.testing.assert_allclose(scores[:, 0], peer.predict(X), rtol=1e-5, atol=1e-6)


def test_a_contestant_of_a_comparison():
    X, y = numbers(False)
    model = rw.read_booster(fit_lightgbm(X, y))
    data = rw.RankingData(rows(8, N)[:, :4], y, qid=QID)
    board = rw.compare({"booster": model, "ridge": "ridge"}, data, cv=3)
    assert "booster" in str(board)


# What is refused ----------------------------------------------------------------------------------


def test_models_that_are_not_supported(tmp_path):
    X, y = numbers(False)
    several = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y)
    with pytest.raises(BoosterError, match=r"LGBMClassifier: .*num_class=3"):
        rw.read_booster(several)
    with pytest.raises(BoosterError, match="num_class=3"):
        rw.read_booster(xgboost.XGBClassifier(n_estimators=2).fit(X, y))
    with pytest.raises(BoosterError, match="3 scores per row"):
        rw.read_booster(
            catboost.CatBoostClassifier(2, verbose=0, allow_writing_files=False).fit(X, y)
        )
    with pytest.raises(BoosterError, match="linear leaves"):
        rw.read_booster(lightgbm.LGBMRegressor(n_estimators=2, linear_tree=True, verbose=-1,
                                               min_child_samples=3).fit(X, y))  # fmt: skip
    fit_xgboost(X, y).save_model(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    for old, new, said in (
        ('"name":"gbtree"', '"name":"gblinear"', "'gblinear' booster"),
        ('"num_target":"1"', '"num_target":"2"', "num_target=2"),
        ('"name":"rank:ndcg"', '"name":"survival:aft"', "objective 'survival:aft'"),
    ):
        assert old in text
        (tmp_path / "m.json").write_text(text.replace(old, new))
        with pytest.raises(BoosterError, match=said):
            rw.read_booster(tmp_path / "m.json")
    zeros = np.where(np.abs(X) < 0.6, 0.0, X)
    with pytest.raises(BoosterError, match="zero_as_missing"):
        rw.read_booster(fit_lightgbm(zeros, y, zero_as_missing=True))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_statistics_of_categories_of_catboost(policy):
    table = frame().assign(colour=lambda t: t["colour"].astype(str))
    table = table.fillna({"clicks": 0, "bm25": 0})
    peer = fit_catboost(table, frame_labels(frame()), cat_features=["colour", "shop"],
                        one_hot_max_size=2, iterations=30, max_ctr_complexity=1,
                        grow_policy=policy)  # fmt: skip
    with pytest.raises(BoosterError, match=r"'colour' .* keeps only their hashes. Pass categories"):
        rw.read_booster(peer)
    given = {name: sorted(set(table[name])) for name in ("colour", "shop")}
    model = rw.read_booster(peer, categories=given)
    np.testing.assert_allclose(model.predict(table), peer.predict(table), atol=1e-13)
    # A category that no row has is not needed; an unknown one has the prior of CatBoost.
    other = table.assign(colour=np.where(np.arange(len(table)) % 2, "mauve", table["colour"]))
    more = {**given, "colour": ["violet", *given["colour"]]}
    for categories in (given, more):
        found = rw.read_booster(peer, categories=categories).predict(other)
        np.testing.assert_allclose(found, peer.predict(other), atol=1e-13)


WORDS = ["", "a", "ab", "abc", "abcd", "é", "nine byte", "sixteen bytes ab", "seventeen bytes ab",
         "a text of thirty-three bytes here", "x" * 64]  # fmt: skip


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_categories_of_catboost_are_known_by_their_hashes(policy):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"word": rng.choice(WORDS, N), "x": rng.normal(size=N),
                          "shop": rng.choice([3, 7, 900], N)})  # fmt: skip
    y = table["word"].map({word: len(word) % 3 for word in WORDS}) + (table["shop"] == 7)
    peer = fit_catboost(table, y, cat_features=["word", "shop"], one_hot_max_size=50,
                        grow_policy=policy, iterations=30, max_ctr_complexity=0)  # fmt: skip
    with pytest.raises(BoosterError, match=r"'word' .* keeps only their hashes. Pass categories"):
        rw.read_booster(peer)
    with pytest.raises(BoosterError, match=r"'word' .* neither whole numbers"):
        rw.read_booster(peer, categories={"word": WORDS[:4]})
    model = rw.read_booster(peer, categories={"word": WORDS})
    assert model.columns_.nominal[0].tolist() == WORDS
    other = table.assign(word=table["word"].where(table["x"] > 0, "never seen"))
    for Z in (table, other, table.assign(shop=11)):
        np.testing.assert_allclose(model.predict(Z), peer.predict(Z), atol=1e-13)
    with pytest.raises(
        BoosterError, match="CatBoostRanker: categories of CatBoost must have at most"
    ):
        rw.read_booster(peer, categories={"word": [*WORDS, "y" * 65]})


def test_things_that_are_no_boosters(tmp_path):
    with pytest.raises(TypeError, match=r"takes a path or a model of LightGBM.* got list"):
        rw.read_booster([1])
    with pytest.raises(TypeError, match="RidgeRanker is a ranker of this library already"):
        rw.read_booster(rw.RidgeRanker())
    with pytest.raises(FileNotFoundError):
        rw.read_booster(tmp_path / "none.txt")
    for content, said in (
        (b"hello", "neither LightGBM's text"),
        (b"CBM1....", "format='json'"),
        (b"{}", "no model of XGBoost or CatBoost"),
        (b'{"tree_info": []}', "LightGBM's dump"),
        (b'[{"nodeid": 0}]', "XGBoost's dump.* save_model"),
        (b'{"learner": {}}', "damaged"),
        (b'{"learner"', "damaged"),
        (b"{L\x00", "damaged"),
        (b"tree\nversion=v4\n", "damaged"),
    ):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(BoosterError, match=f"m: .*{said}"):
            rw.read_booster(tmp_path / "m")
    with pytest.raises(TypeError, match="read_booster"):
        rw.rankers.ImportedBooster().fit([[0.0]])


DAMAGES = [
    ("left_child=", "left_child=7 "), ("left_child=", "left_child=0 "), ("threshold=", "threshold="
     "nan "), ("split_feature=", "split_feature=99 "), ("leaf_value=", "leaf_value=inf "),
    ("right_child=", "right_child=-40 "), ("num_class=1", "num_class=x"),
    ("feature_infos=", "feature_infos=2147483647:1 "), ("leaf_value=", "leaf_value="),
    ("max_feature_idx", "max_feature_idx=2000000000"), ("decision_type=", "decision_type=1 "),
    ("split_feature=", "split_feature=-1 "), ("end of trees", ""),
]  # fmt: skip


@pytest.mark.parametrize(("key", "damage"), DAMAGES)
def test_damaged_trees_are_refused(key, damage, tmp_path):
    X, y = numbers(False)
    lines = fit_lightgbm(X, y).booster_.model_to_string().split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith(key))
    if " " in lines[place]:
        lines[place] = damage + lines[place].partition(" ")[2]
    else:
        lines[place] = damage
    (tmp_path / "m.txt").write_text("\n".join(lines))
    with pytest.raises(BoosterError, match=r"m\.txt"):
        rw.read_booster(tmp_path / "m.txt")


def test_files_that_are_cut_off(tmp_path):
    X, y = numbers(False)
    text = fit_lightgbm(X, y).booster_.model_to_string()
    start, end = text.index("Tree=4"), text.index("Tree=5")
    for content, said in (
        (text[:start], "no line 'end of trees'"),
        (text[: text.index("\nTree=0")], "no line 'end of trees'"),
        (text[:start] + text[text.index("end of trees") :], "has 4 trees, but its header lists 8"),
        (text[:start] + text[end:], "has 7 trees, but its header lists 8"),
    ):
        (tmp_path / "m.txt").write_text(content)
        with pytest.raises(BoosterError, match=rf"m\.txt: .*{said}"):
            rw.read_booster(tmp_path / "m.txt")
    (tmp_path / "m.txt").write_text(text, encoding="utf-8-sig")
    assert rw.read_booster(tmp_path / "m.txt").n_estimators_ == 8


def test_ubjson_is_json():
    X, y = numbers(True)
    booster = fit_xgboost(X, y).get_booster()
    wanted = json.loads(booster.save_raw("json"))
    found = read_ubjson(bytes(booster.save_raw("ubj")))
    assert found.keys() == wanted.keys() and found["version"] == wanted["version"]
    trees = [m["learner"]["gradient_booster"]["model"]["trees"] for m in (found, wanted)]
    for ours, theirs in zip(*trees, strict=True):
        assert ours["left_children"] == theirs["left_children"]
        np.testing.assert_array_equal(
            np.array(ours["split_conditions"], "f4"), np.array(theirs["split_conditions"], "f4")
        )
    data = bytes(booster.save_raw("ubj"))
    for end in (10, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="UBJSON"):
            read_ubjson(data[:end])
    assert read_ubjson(b"[ZTF]") == [None, True, False]
    assert read_ubjson(b"{i\x01aSi\x02hii\x01bC!}") == {"a": "hi", "b": "!"}
    with pytest.raises(ValueError, match="64 levels"):
        read_ubjson(b"[" * 100)
    with pytest.raises(ValueError, match="list of constants"):
        read_ubjson(b"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff")
    with pytest.raises(ValueError, match="cut off"):
        read_ubjson(b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff")


@pytest.mark.parametrize("change", [
    {"num_feature": "2000000000"}, {"num_feature": "1"}, {"base_score": "x"},
    {"base_score": "NaN"},
])  # fmt: skip
def test_damaged_models_of_xgboost_are_refused(change, tmp_path):
    X, y = numbers(False)
    model = json.loads(fit_xgboost(X, y).get_booster().save_raw("json"))
    model["learner"]["learner_model_param"] |= change
    (tmp_path / "m.json").write_text(json.dumps(model))
    with pytest.raises(BoosterError, match="json"):
        rw.read_booster(tmp_path / "m.json")
    (tmp_path / "m.json").write_text('{"learner": ' + "[" * 100_000)
    with pytest.raises(BoosterError, match="damaged"):
        rw.read_booster(tmp_path / "m.json")


def test_a_tree_in_words():
    X, y = numbers(False)
    text = rw.trees.export_text(rw.read_booster(fit_lightgbm(X, y)), max_depth=1)
    assert text.startswith("x0 <= ") or text.startswith("x3 <= ")
