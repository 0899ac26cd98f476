"""Crafted trees are refused before a library parses them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise
from rankwise.rankers.adapters import lightgbm_model as lightgbm_text
from rankwise.rankers.adapters.catboost_model import check_catboost
from rankwise.rankers.adapters.xgboost_model import check_xgboost
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.stored_boosters import BoosterError


def check_lightgbm(data, n_features):
    return lightgbm_text.check_lightgbm(data, np.zeros(n_features, dtype=int))[0]


@pytest.fixture(scope="module")
def lightgbm_model(judged):
    pytest.importorskip("lightgbm")
    ranker = rankwise.LightGBMRanker(n_estimators=2, num_leaves=5, random_state=0)
    return ranker.fit(judged.X, judged.y, qid=judged.qid).model_.decode()


@pytest.fixture(scope="module")
def xgboost_model(judged):
    pytest.importorskip("xgboost")
    ranker = rankwise.XGBoostRanker(n_estimators=2, max_depth=3, random_state=0)
    return json.loads(ranker.fit(judged.X, judged.y, qid=judged.qid).model_)


@pytest.fixture(scope="module")
def catboost_model(judged):
    pytest.importorskip("catboost")
    ranker = rankwise.CatBoostRanker(n_estimators=2, depth=3, random_state=0)
    return json.loads(ranker.fit(judged.X, judged.y, qid=judged.qid).model_)


def with_lines(text, **changes):
    """The LightGBM text with lines of its first tree changed, tree sizes put right."""
    head, _, trees = text.partition("\n\n")
    first, second, end = trees.split("Tree=")[1], trees.split("Tree=")[2], "end of trees\n"
    second = second[: second.index(end)]
    lines = [
        f"{key}={changes.get(key, value)}" if "=" in line else line
        for line in first.split("\n")
        for key, _, value in [line.partition("=")]
    ]
    blocks = ["Tree=" + "\n".join(lines), "Tree=" + second]
    sizes = " ".join(str(len(block)) for block in blocks)
    head = "\n".join(
        f"tree_sizes={sizes}" if line.startswith("tree_sizes") else line
        for line in head.split("\n")
    )
    return f"{head}\n\n{''.join(blocks)}{end}"


def test_lightgbm_helper_changes_nothing_by_itself(lightgbm_model):
    assert with_lines(lightgbm_model) == lightgbm_model
    check_lightgbm(lightgbm_model.encode(), 5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"left_child": "1 -1 -2 999999"}, "a child number must lie in"),
        ({"left_child": "0 -1 -2 3"}, "two parents|root has a parent"),
        ({"left_child": "1 1 -2 3"}, "two parents"),
        ({"left_child": "-999 -1 -2 -3"}, "a leaf number must lie in"),
        ({"right_child": "2"}, "right_child of tree 0 has a wrong length"),
        ({"split_feature": "0 1 2 5"}, "split_feature must lie in 0..4"),
        ({"split_feature": "0 1 2 -1"}, "split_feature must lie in 0..4"),
        ({"split_feature": "0 1 2 99999999999"}, "wrong word"),
        ({"decision_type": "3 2 2 2"}, "num_cat is not the number"),
        ({"num_leaves": "100000"}, "has a wrong length"),
        ({"num_leaves": "-1"}, "no leaves"),
        ({"num_cat": "1"}, "missing entries"),
        ({"is_linear": "1"}, "linear"),
        ({"leaf_value": "1 2 3"}, "leaf_value of tree 0 has a wrong length"),
        ({"threshold": "1 2 3 x"}, "wrong word"),
        ({"threshold": "1 2 3 4_5.0"}, "wrong word"),
        ({"threshold": "1 2  3 4"}, "wrong length"),
        ({"leaf_count": "1 2 3 4 0x5"}, "wrong word"),
    ],
)
def test_lightgbm_trees_with_wrong_numbers(lightgbm_model, line, message):
    with pytest.raises(BoosterError, match=message):
        check_lightgbm(with_lines(lightgbm_model, **line).encode(), 5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tree_sizes=", "tree_sizes=9"),
        ("num_class=1", "num_class=2"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=7"),
        ("max_feature_idx=4", "max_feature_idx=400"),
        ("objective=lambdarank", "objective=regression"),
        ("objective=lambdarank", "objective=lambdarank\naverage_output=1"),
        ("objective=lambdarank\n", ""),
        ("Tree=1", "Tree=0"),
        ("end of trees\n", "end of trees\nparameters:\n"),
        ("tree\n", "forest\n"),
        ("num_class=1", "num_class=\N{SNOWMAN}"),
    ],
)
def test_lightgbm_text_with_wrong_parts(lightgbm_model, old, new):
    assert old in lightgbm_model
    with pytest.raises(BoosterError):
        check_lightgbm(lightgbm_model.replace(old, new, 1).encode(), 5)


def xgboost_tree(model, index=0):
    return model["learner"]["gradient_booster"]["model"]["trees"][index]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: xgboost_tree(m)["left_children"].__setitem__(0, 10**6),
        lambda m: xgboost_tree(m)["left_children"].__setitem__(0, -5),
        lambda m: xgboost_tree(m)["left_children"].__setitem__(1, 0),
        lambda m: xgboost_tree(m)["left_children"].__setitem__(1, 2),
        lambda m: xgboost_tree(m)["left_children"].__setitem__(0, 1.5),
        lambda m: xgboost_tree(m)["right_children"].__setitem__(0, -1),
        lambda m: xgboost_tree(m)["right_children"].pop(),
        lambda m: xgboost_tree(m)["split_indices"].__setitem__(0, 5),
        lambda m: xgboost_tree(m)["split_indices"].__setitem__(0, 2**40),
        lambda m: xgboost_tree(m)["split_type"].__setitem__(0, 1),
        lambda m: xgboost_tree(m)["parents"].__setitem__(1, 10**6),
        lambda m: xgboost_tree(m)["categories"].append(1),
        lambda m: m["learner"].__setitem__("feature_types", ["c"] * 5),
        lambda m: m["learner"].__setitem__("feature_types", ["q"] * 4),
        lambda m: m["learner"]["objective"]["lambdarank_param"].__setitem__(
            "lambdarank_unbiased", "1"
        ),
        lambda m: xgboost_tree(m)["tree_param"].__setitem__("num_nodes", "1000000"),
        lambda m: xgboost_tree(m)["tree_param"].__setitem__("num_feature", "1000000"),
        lambda m: xgboost_tree(m)["tree_param"].__setitem__("size_leaf_vector", "9"),
        lambda m: m["learner"]["learner_model_param"].__setitem__("num_feature", "9"),
        lambda m: m["learner"]["learner_model_param"].__setitem__("num_target", "9"),
        lambda m: m["learner"]["objective"].__setitem__("name", "multi:softmax"),
        lambda m: m["learner"]["gradient_booster"].__setitem__("name", "gblinear"),
        lambda m: m["learner"]["gradient_booster"]["model"]["tree_info"].__setitem__(0, 7),
        lambda m: m["learner"]["gradient_booster"]["model"]["iteration_indptr"].__setitem__(1, 9),
        lambda m: m["learner"]["gradient_booster"]["model"]["trees"].pop(),
        lambda m: xgboost_tree(m).__setitem__("id", 1),
        lambda m: xgboost_tree(m)["base_weights"].__setitem__(0, "x"),
        lambda m: m["learner"]["objective"].__setitem__("ti+", [1.0]),
        lambda m: m["learner"]["learner_model_param"].__setitem__("base_score", "x"),
        lambda m: m.__setitem__("version", [0, 90, 0]),
        lambda m: m.__setitem__("learner", []),
    ],
)
def test_xgboost_models_with_wrong_numbers(xgboost_model, spoil):
    check_xgboost(json.dumps(xgboost_model).encode(), 5)
    model = json.loads(json.dumps(xgboost_model))
    spoil(model)
    with pytest.raises(BoosterError, match="XGBoost model"):
        check_xgboost(json.dumps(model).encode(), 5)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m["oblivious_trees"][0]["leaf_values"].pop(),
        lambda m: m["oblivious_trees"][0]["leaf_weights"].pop(),
        lambda m: m["oblivious_trees"][0]["splits"].append(m["oblivious_trees"][0]["splits"][0]),
        lambda m: m["oblivious_trees"][0]["splits"][0].__setitem__("split_index", 10**6),
        lambda m: m["oblivious_trees"][0]["splits"][0].__setitem__("split_index", -1),
        lambda m: m["oblivious_trees"][0]["splits"][0].__setitem__("border", 123.0),
        lambda m: m["oblivious_trees"][0]["splits"][0].__setitem__("float_feature_index", 77),
        lambda m: m["oblivious_trees"][0]["splits"][0].__setitem__("split_type", "OnlineCtr"),
        lambda m: m["features_info"]["float_features"][0].__setitem__("flat_feature_index", 99),
        lambda m: m["features_info"]["float_features"][0].__setitem__("feature_index", 4),
        lambda m: m["features_info"]["float_features"][0].__setitem__("flat_feature_index", 1),
        lambda m: m["features_info"]["float_features"][0]["borders"].__setitem__(0, "x"),
        lambda m: m["features_info"].__setitem__("text_features", []),
        lambda m: m.__setitem__("scale_and_bias", [1, [0, 0]]),
        lambda m: m.__setitem__("trees", m.pop("oblivious_trees")),
    ],
)
def test_catboost_models_with_wrong_numbers(catboost_model, spoil):
    check_catboost(json.dumps(catboost_model).encode(), 5)
    model = json.loads(json.dumps(catboost_model))
    spoil(model)
    with pytest.raises(BoosterError, match="CatBoost model"):
        check_catboost(json.dumps(model).encode(), 5)


def categories_of(judged):
    """The rows with a first column of categories, which all trees of a few leaves ask for."""
    X = judged.X.copy()
    X[:, 0] = np.argsort(np.argsort(X[:, 0])) * 7 % 12
    return X


def category_ranker(name, judged, **options):
    options |= {"n_estimators": 2, "categorical_features": [0], "random_state": 0}
    ranker = getattr(rankwise, name)(**options)
    y = np.isin(categories_of(judged)[:, 0], [1, 5, 6, 11]).astype(int)
    return ranker.fit(categories_of(judged), y, qid=judged.qid)


@pytest.mark.parametrize(
    "line",
    [
        {"num_cat": "9"},
        {"cat_boundaries": "0 9"},
        {"cat_boundaries": "1 1"},
        {"cat_boundaries": "0 -1"},
        {"cat_threshold": "99999999999"},
        {"cat_threshold": "-1"},
        {"cat_threshold": "1 2"},
    ],
)
def test_lightgbm_categories_with_wrong_numbers(line, judged):
    pytest.importorskip("lightgbm")
    text = category_ranker("LightGBMRanker", judged).model_.decode()
    assert "num_cat=1\n" in text
    assert check_lightgbm(text.encode(), 5) == text
    with pytest.raises(BoosterError):
        check_lightgbm(with_lines(text, **line).encode(), 5)


def test_lightgbm_category_thresholds_stay_within(judged):
    pytest.importorskip("lightgbm")
    text = category_ranker("LightGBMRanker", judged).model_.decode()
    (thresholds,) = [
        row for row in text.split("Tree=1")[0].split("\n") if row.startswith("threshold")
    ]
    _, _, rest = thresholds.partition("=")
    wrong = " ".join(["7", *rest.split(" ")[1:]])
    with pytest.raises(BoosterError, match="categorical threshold"):
        check_lightgbm(with_lines(text, threshold=wrong).encode(), 5)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t["categories"].append(1),
        lambda t: t["categories"].__setitem__(0, -1),
        lambda t: t["categories"].__setitem__(0, 2**30),
        lambda t: t["categories_nodes"].__setitem__(0, 99),
        lambda t: t["categories_segments"].__setitem__(0, 5),
        lambda t: t["categories_sizes"].__setitem__(0, 10**6),
        lambda t: t["categories_sizes"].pop(),
        lambda t: t["split_type"].__setitem__(0, 0),
        lambda t: t["split_type"].__setitem__(-1, 1),
    ],
)
def test_xgboost_categories_with_wrong_numbers(spoil, judged):
    pytest.importorskip("xgboost")
    model = json.loads(category_ranker("XGBoostRanker", judged).model_)
    assert xgboost_tree(model)["split_type"][0] == 1
    check_xgboost(json.dumps(model).encode(), 5)
    spoil(xgboost_tree(model))
    with pytest.raises(BoosterError, match="XGBoost model"):
        check_xgboost(json.dumps(model).encode(), 5)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f, s: s.__setitem__("value", 1),
        lambda f, s: s.__setitem__("cat_feature_index", 1),
        lambda f, s: s.__setitem__("split_index", 10**6),
        lambda f, s: s.__setitem__("split_type", "FloatFeature"),
        lambda f, s: f.__setitem__("values", [2**40]),
        lambda f, s: f.__setitem__("flat_feature_index", 5),
        lambda f, s: f.__setitem__("feature_index", 3),
    ],
)
def test_catboost_categories_with_wrong_numbers(spoil, judged):
    pytest.importorskip("catboost")
    ranker = category_ranker("CatBoostRanker", judged, one_hot_max_size=12)
    model = json.loads(ranker.model_)
    check_catboost(json.dumps(model).encode(), 5)
    splits = [split for tree in model["oblivious_trees"] for split in tree["splits"]]
    split = next(split for split in splits if split["split_type"] == "OneHotFeature")
    spoil(model["features_info"]["categorical_features"][0], split)
    with pytest.raises(BoosterError, match="CatBoost model"):
        check_catboost(json.dumps(model).encode(), 5)


@pytest.fixture(scope="module")
def catboost_statistics(judged):
    """A model that splits by statistics of single columns and of a combination."""
    pytest.importorskip("catboost")
    X = categories_of(judged)
    X[:, 1] = X[:, 0] % 5
    ranker = rankwise.CatBoostRanker(
        n_estimators=8, categorical_features=[0, 1], one_hot_max_size=1, random_state=0,
        params={"max_ctr_complexity": 2},
    )  # fmt: skip
    y = np.isin(X[:, 0], [1, 5, 6, 11]).astype(int)
    return json.loads(ranker.fit(X, y, qid=judged.qid).model_)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m, s, t: m["features_info"]["ctrs"].pop(),
        lambda m, s, t: m["ctr_data"].clear(),
        lambda m, s, t: m.pop("ctr_data"),
        lambda m, s, t: m.__setitem__("ctr_data", []),
        lambda m, s, t: s.__setitem__("identifier", "{}"),
        lambda m, s, t: s.__setitem__("ctr_type", "FeatureFreq"),
        lambda m, s, t: s.__setitem__("ctr_type", "Median"),
        lambda m, s, t: s["elements"][0].__setitem__("cat_feature_index", 2),
        lambda m, s, t: s["elements"][0].__setitem__("combination_element", "float_feature"),
        lambda m, s, t: s.__setitem__("elements", []),
        lambda m, s, t: s.__setitem__("target_border_idx", 1),
        lambda m, s, t: s.__setitem__("target_border_idx", -1),
        lambda m, s, t: s.__setitem__("scale", "x"),
        lambda m, s, t: s["borders"].__setitem__(0, None),
        lambda m, s, t: s.__setitem__("more", 0),
        lambda m, s, t: t.__setitem__("hash_stride", 1),
        lambda m, s, t: t.__setitem__("hash_stride", 2),
        lambda m, s, t: t.__setitem__("hash_stride", 10**9),
        lambda m, s, t: t.__setitem__("counter_denominator", -1),
        lambda m, s, t: t["hash_map"].pop(),
        lambda m, s, t: t["hash_map"].__setitem__(0, 5),
        lambda m, s, t: t["hash_map"].__setitem__(0, "-5"),
        lambda m, s, t: t["hash_map"].__setitem__(0, str(2**64)),
        lambda m, s, t: t["hash_map"].__setitem__(0, t["hash_map"][3]),
        lambda m, s, t: t["hash_map"].__setitem__(1, -1),
        lambda m, s, t: t["hash_map"].__setitem__(1, 2**40),
        lambda m, s, t: t["hash_map"].__setitem__(1, "1"),
        lambda m, s, t: t.__setitem__("hash_map", {}),
    ],
)
def test_catboost_statistics_with_wrong_numbers(spoil, catboost_statistics):
    check_catboost(json.dumps(catboost_statistics).encode(), 5)
    model = json.loads(json.dumps(catboost_statistics))
    statistic = next(s for s in model["features_info"]["ctrs"] if s["ctr_type"] == "Borders")
    spoil(model, statistic, model["ctr_data"][statistic["identifier"]])
    with pytest.raises(BoosterError, match="CatBoost model"):
        check_catboost(json.dumps(model).encode(), 5)


def test_pruned_trees_are_sound(judged):
    pytest.importorskip("xgboost")
    ranker = rankwise.XGBoostRanker(n_estimators=5, min_split_loss=2.0, random_state=0)
    assert ranker.fit(judged.X, judged.y, qid=judged.qid).booster_ is not None


def test_duplicate_entries_are_read_once(xgboost_model):
    """Two readers of one JSON text must not see two models."""
    text = json.dumps(xgboost_model).replace('"id": 0', '"id": 7, "id": 0', 1)
    assert json.loads(check_xgboost(text.encode(), 5)) == xgboost_model
    assert b'"id": 7' not in check_xgboost(text.encode(), 5)


@given(data=st.data())
def test_any_change_of_a_digit_is_refused_or_harmless(
    data, lightgbm_model, xgboost_model, catboost_model, judged
):
    """What passes the check must also be safe to parse and to score with."""
    name, text = data.draw(
        st.sampled_from([
            ("LightGBMRanker", lightgbm_model),
            ("XGBoostRanker", json.dumps(xgboost_model)),
            ("CatBoostRanker", json.dumps(catboost_model)),
        ])
    )  # fmt: skip
    digits = [i for i, character in enumerate(text) if character.isdigit()]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(digits))
        text = text[:place] + data.draw(st.sampled_from("0123456789")) + text[place + 1 :]
    ranker = getattr(rankwise, name)()
    state = {"n_features_in_": 5, "model_": text.encode(), "columns_": ColumnTable({}, {})}
    ranker.__setstate__({**ranker.__getstate__(), **state})
    try:
        scores = ranker.predict(judged.X)
    except Exception as error:
        assert type(error).__name__ in {
            "BoosterError", "LightGBMError", "XGBoostError", "CatBoostError"
        }  # fmt: skip
    else:
        assert np.shape(scores) == (600,)
