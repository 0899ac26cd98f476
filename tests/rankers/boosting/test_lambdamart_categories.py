"""LambdaMART on columns of categories split by subsets: frames, files, explanations, exports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import LambdaMART, RankingTree, load
from rankwise.explain import explain_scores
from rankwise.export import to_ranklib, to_solr
from rankwise.export.maps import ExportError
from rankwise.trees import export_text

SUBSETS = {"categorical_encoding": "subset", "min_samples_leaf": 5}
COLOURS = np.array(["red", "green", "blue", "white", "black"])
LIFT = np.array([0.0, 2.0, 0.0, 3.0, 0.5])


@pytest.fixture
def judged(rng):
    n = 600
    colour, number = rng.integers(0, 5, n), rng.normal(size=(n, 2))
    shop = rng.integers(10, 30, n)
    utility = LIFT[colour] + np.where(shop % 3 == 0, 1.5, 0) + number[:, 0] + rng.normal(size=n)
    frame = pd.DataFrame({
        "colour": pd.Categorical(COLOURS[colour], COLOURS), "a": number[:, 0], "shop": shop,
        "b": number[:, 1],
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    y = np.digitize(utility, np.quantile(utility, [0.5, 0.8]))
    return frame, y, np.arange(n) % 30


@pytest.fixture
def ranker(judged):
    frame, y, qid = judged
    ranker = LambdaMART(20, categorical_features=["shop"], **SUBSETS)
    return ranker.fit(frame, y, qid=qid)


def test_kinds_of_columns_give_the_same_scores(judged, ranker, rng):
    frame, y, qid = judged
    scores = ranker.predict(frame)
    assert ranker.trees_.nominal.any()
    assert set(ranker.trees_.feature[ranker.trees_.nominal]) == {0, 2}
    text = frame.assign(colour=frame["colour"].astype(object))
    polars = pl.DataFrame({
        **{name: frame[name].to_numpy() for name in ("a", "shop", "b")},
        "colour": [None if pd.isna(name) else name for name in text["colour"]],
    }).select(frame.columns)  # fmt: skip
    codes = frame["colour"].map({name: i for i, name in enumerate(sorted(COLOURS))}).astype(float)
    array = frame.assign(colour=codes).to_numpy(dtype=float)
    for X, chosen in ((text, ["shop"]), (polars, ["shop"]), (array, [0, 2])):
        again = LambdaMART(20, categorical_features=chosen, **SUBSETS)
        np.testing.assert_array_equal(again.fit(X, y, qid=qid).predict(X), scores)
    order = rng.permutation(len(y))
    again = LambdaMART(20, categorical_features=["shop"], **SUBSETS, n_jobs=2)
    again.fit(frame.iloc[order], y[order], qid=qid[order])
    np.testing.assert_array_equal(again.predict(frame), scores)
    assert ranker.score(frame, y, qid=qid) > 0.8


def test_unknown_categories_are_missing(judged, ranker):
    frame, _, _ = judged
    unknown = frame.assign(colour="violet", shop=99)
    missing = frame.assign(colour=None, shop=np.nan)
    np.testing.assert_array_equal(ranker.predict(unknown), ranker.predict(missing))


def test_stages_and_warm_start(judged, ranker):
    frame, y, qid = judged
    np.testing.assert_array_equal(list(ranker.staged_predict(frame))[-1], ranker.predict(frame))
    first = LambdaMART(7, categorical_features=["shop"], **SUBSETS, warm_start=True)
    first.fit(frame, y, qid=qid).set_params(n_estimators=20).fit(frame, y, qid=qid)
    np.testing.assert_array_equal(first.predict(frame), ranker.predict(frame))
    with pytest.raises(ValueError, match="warm_start needs the same columns of categories"):
        first.set_params(n_estimators=30, categorical_features="from_dtype").fit(frame, y, qid=qid)


def test_early_stopping_reads_categories(judged):
    frame, y, qid = judged
    val = qid < 10
    ranker = LambdaMART(100, early_stopping_rounds=5, min_samples_leaf=5)
    ranker.fit(
        frame[~val], y[~val], qid=qid[~val], X_val=frame[val], y_val=y[val], qid_val=qid[val]
    )
    assert ranker.validation_scores_.max() > 0.8


def test_stored_trees_come_back(judged, ranker, tmp_path):
    frame = judged[0]
    ranker.save(tmp_path / "model.rankwise")
    loaded = load(tmp_path / "model.rankwise")
    np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda trees: trees.categories.__setitem__(0, 77.0), "categories must be codes"),
        (lambda trees: trees.categories.__setitem__(0, 0.5), "categories must be codes"),
        (lambda trees: trees.nominal.__setitem__(slice(None), False), "threshold must be a number"),
        (lambda trees: trees.nominal.__setitem__(slice(None), True), "nominal must be True"),
    ],
)
def test_changed_categories_are_refused(change, message, ranker, tmp_path):
    change(ranker.trees_)
    with pytest.raises(ValueError, match=message):
        ranker.save(tmp_path / "bad.rankwise")


def test_categories_out_of_order_are_refused(ranker, tmp_path):
    trees = ranker.trees_
    start = trees.category_indptr[np.flatnonzero(np.diff(trees.category_indptr) > 1)[0]]
    trees.categories[start : start + 2] = trees.categories[start : start + 2][::-1].copy()
    with pytest.raises(ValueError, match="categories must ascend"):
        ranker.save(tmp_path / "bad.rankwise")


@pytest.mark.parametrize("method", ["path_dependent", "interventional"])
def test_explanations_sum_to_the_scores(method, judged, ranker):
    frame = judged[0].iloc[:40]
    given = {} if method == "path_dependent" else {"background": judged[0].iloc[100:120]}
    explained = explain_scores(ranker, frame, **given)
    total = explained.values.sum(axis=1) + explained.expected
    np.testing.assert_allclose(total, ranker.predict(frame), atol=1e-9)
    assert (explained.values[:, 0] != 0).any()


def test_search_engines_refuse_subsets(judged, ranker):
    frame, y, qid = judged
    for write in (to_solr, to_ranklib):
        with pytest.raises(ExportError, match=r"column '.*' has unordered categories"):
            write(ranker)
    plain = LambdaMART(3).fit(frame[["a", "b"]], y, qid=qid)
    assert to_solr(plain)["class"].endswith("MultipleAdditiveTreesModel")


def test_wrong_categories(judged):
    frame, y, qid = judged
    with pytest.raises(ValueError, match="monotonic_cst must be 0 for columns of categories"):
        LambdaMART(2, monotonic_cst={"colour": 1}).fit(frame, y, qid=qid)
    many = frame.assign(shop=np.arange(len(frame)))
    with pytest.raises(ValueError, match="categories a column, got 600 in column 'shop'"):
        LambdaMART(2, categorical_features=["shop"], **SUBSETS).fit(many, y, qid=qid)
    array = many.assign(colour=0).to_numpy(dtype=float)
    with pytest.raises(ValueError, match=r"categories a column, got 600 in column 2\."):
        LambdaMART(2, categorical_features=[2], **SUBSETS).fit(array, y, qid=qid)
    tree = RankingTree(method="histogram", categorical_features=["shop"])
    with pytest.raises(ValueError, match="categories a column, got 600 in column 'shop'"):
        tree.fit(many, y)
    with pytest.raises(ValueError, match="categorical_features must name columns of X"):
        LambdaMART(2, categorical_features=["size"]).fit(frame, y, qid=qid)


def read(text, row):
    """Score of a row by the lines of a tree."""
    lines, depth = text.split("\n"), 0
    for line in lines:
        bars = line.count("|   ")
        said = line[4 * bars :]
        if bars != depth:
            continue
        if said.startswith("score"):
            return float(said.split()[1])
        name, asked = said.split(" ", 1)
        value = row[name]
        missing = pd.isna(value)
        if asked.startswith("is "):
            holds = missing == (asked == "is missing")
        elif missing:
            holds = asked.endswith("or missing")
        elif "in {" in asked:
            inside = asked[asked.index("{") + 1 : asked.index("}")].split(", ")
            holds = (str(value) in inside) != asked.startswith("not")
        else:
            threshold = float(asked.split()[1])
            holds = value <= threshold if asked.startswith("<=") else value > threshold
        depth += holds
    raise AssertionError("no leaf")


def test_text_of_a_tree_tells_its_scores(judged, ranker):
    frame = judged[0]
    for number in (0, 7):
        text = export_text(ranker, tree=number, digits=17)
        before, after = (
            list(ranker.staged_predict(frame[:60]))[number - 1 : number + 1] if number else
            (np.zeros(60), next(ranker.staged_predict(frame[:60])))
        )  # fmt: skip
        scores = [read(text, frame.iloc[i]) for i in range(60)]
        np.testing.assert_allclose(scores, after - before, atol=1e-9)
    assert "score" in export_text(ranker, show_weights=True, max_depth=20)
    assert "leaves" in export_text(ranker, max_depth=1)
    with pytest.raises(ValueError, match="tree must be from 0 to 19, got 20"):
        export_text(ranker, tree=20)
