"""A bare key is the tuned recipe; a key with parentheses is the class with these parameters."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import (
    LambdaMART,
    ModelTree,
    RankBoost,
    RidgeRanker,
    ScoreBlend,
    StackingRanker,
    compare,
)
from rankwise._registry import RANKING, REGISTRY, build_ranker
from rankwise.metrics import parse
from rankwise.rankers.ensemble.members import Recipe, make_member
from rankwise.report import write_report
from rankwise.selection import Leaderboard
from rankwise.selection.cells.candidates import convert_to_candidates

from .helpers import graded_data, one_fold

RAN = {
    "linear_regression": "class defaults",
    "ridge": "tuned: alpha along its path",
    "model_tree": "tuned: min_samples_leaf of 4, 32",
    "ada_rank": "tuned: rounds by early stopping; with early_stopping_rounds=50",
    "svr": "tuned: C along its path; epsilon of 0.0, 0.1, 0.25, 0.4; with kernel='linear'",
    "prank": "class defaults with n_epochs=5; ranked by rank_score",
    "model_tree()": "class defaults",
    "rank_boost( )": "class defaults",
    "lambdamart(n_estimators=50)": "class defaults with n_estimators=50",
    "svr(C=val, kernel='linear')": "class defaults with C='val', kernel='linear'",
}
ESTIMATORS = [
    (ModelTree(), "class defaults"),
    (LambdaMART(n_estimators=50), "class defaults with n_estimators=50"),
    (rankwise.RankSVM(C="val", random_state=3), "class defaults with C='val', random_state=3"),
    (rankwise.ORBoost(), "class defaults; ranked by rank_score"),
    (
        make_pipeline(StandardScaler(), rankwise.ProportionalOdds()),
        "Pipeline(steps=[('standardscaler', StandardScaler()), ('proportionalodds', "
        "ProportionalOdds())]); ranked by rank_score",
    ),
]


@pytest.mark.parametrize(("key", "ran"), RAN.items())
def test_what_a_key_runs(key, ran):
    (candidate,) = convert_to_candidates(key)
    assert candidate.ran == ran
    assert bool(candidate.space) == (key in RANKING and bool(RANKING[key].space))


@pytest.mark.parametrize(("estimator", "ran"), ESTIMATORS)
def test_what_an_estimator_runs(estimator, ran):
    (candidate,) = convert_to_candidates(estimator)
    assert candidate.ran == ran
    assert not candidate.space


@pytest.mark.parametrize("key", RANKING)
def test_recipes_are_python(key):
    entry = REGISTRY[key]
    names = {entry.class_name: lambda **params: params}
    given, space = eval(f"f({entry.recipe})", names | {"f": lambda model, space=(): (model, space)})
    assert given == entry.params
    assert dict(space) == entry.space


@pytest.mark.parametrize("key", RANKING)
def test_parentheses_start_from_the_defaults_of_the_class(key):
    pytest.importorskip("torch") if RANKING[key].extra == "neural" else None
    estimator, space = build_ranker(f"{key}()", "rankers", seed=7)
    assert estimator.get_params() == RANKING[key].load()().get_params()
    assert space == {}


@pytest.mark.parametrize(
    ("key", "is_chosen"),
    [
        ("lambdamart(n_estimators=12)", False),
        ("lambdamart(n_estimators=12, early_stopping_rounds=2)", True),
        ("rank_boost(n_estimators=12)", False),
        ("ridge(alpha='val')", True),
        ("ridge()", False),
    ],
)
def test_the_class_of_a_key_chooses_nothing_unasked(key, is_chosen, rng):
    (row,) = compare([key], graded_data(rng), cv=3).rows()
    assert row["status"] == "done"
    assert any(row["chosen"].values()) == is_chosen


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("ridge(alfa=1)", "ridge has no parameter 'alfa'. Did you mean 'alpha'?"),
        ("ridge(1)", r"'ridge\(1\)' must be RANKER\(NAME=VALUE,…\)"),
        ("ridge(alpha=1", r"'ridge\(alpha=1' must be RANKER"),
        ("ridge(alpha=)", r"ridge\(alpha=\): .*'alpha' .* must be .* Got ''"),
        ("ridge(alpha=1)(x=2)", r"ridge\(alpha=1\)\(x=2\): .*'alpha' .* must be "),
        ("ridge(alpha=-1)", r"ridge\(alpha=-1\): .*'alpha' .* must be "),
        ("rigde()", "'rigde' is not a ranker of the registry. Did you mean 'ridge'?"),
    ],
)
@pytest.mark.parametrize("where", ["rankers", "estimators", "final_estimator"])
def test_wrong_entries(entry, message, where, rng):
    data = graded_data(rng)
    calls = {
        "rankers": lambda: compare([entry], data),
        "estimators": lambda: ScoreBlend([entry]).fit(data.X, data.y, qid=data.qid),
        "final_estimator": lambda: StackingRanker(["ridge"], entry, cv=2).fit(
            data.X, data.y, qid=data.qid
        ),
    }
    with pytest.raises(ValueError, match=f"{where}: {message}"):
        calls[where]()


def test_a_class_with_defaults_is_the_estimator(rng):
    fold = one_fold(rng)
    rankers = {"key": "lambdamart(n_estimators=4)", "object": LambdaMART(n_estimators=4)}
    board = compare(rankers | {"recipe": "lambdamart"}, fold, isolate=False)
    scores = {cell.ranker: cell.scores for cell in board.cells}
    np.testing.assert_array_equal(scores["key"], scores["object"])
    assert (scores["key"] != scores["recipe"]).any()


# Members of blends and stacks --------------------------------------------------------------------


def _rows(rng):
    fold = one_fold(rng)
    train, vali = fold.train, fold.vali
    given = {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
    return train, vali, given


def test_members_are_the_same_recipes(rng):
    train, _, given = _rows(rng)
    members = ["lambdamart(n_estimators=3)", "ridge()"]
    blend = ScoreBlend(members, random_state=0).fit(train.X, train.y, qid=train.qid, **given)
    trees, ridge = blend.models_[0].values()
    assert list(blend.models_[0]) == ["lambdamart", "ridge"]
    assert (
        trees.get_params()
        == LambdaMART(n_estimators=3, random_state=trees.random_state).get_params()
    )
    assert ridge.get_params() == RidgeRanker().get_params()


@pytest.mark.parametrize("make", [ScoreBlend, lambda keys, **kw: StackingRanker(keys, cv=2, **kw)])
def test_members_search_the_grid_on_validation_rows(make, rng):
    train, vali, given = _rows(rng)
    stack = make(["model_tree"], random_state=0).fit(train.X, train.y, qid=train.qid, **given)
    trees = [ModelTree(min_samples_leaf=n).fit(train.X, train.y) for n in (4, 32)]
    values = [parse("nDCG@10").mean(vali.y, tree.predict(vali.X), vali.groups) for tree in trees]
    best = trees[int(np.argmax(values))]
    (found,) = stack.models_[-1].values()
    assert found.min_samples_leaf == best.min_samples_leaf
    np.testing.assert_array_equal(found.predict(vali.X), best.predict(vali.X))


@pytest.mark.parametrize("key", ["model_tree", "rank_boost", "lambdamart"])
def test_members_without_validation_rows_are_chosen_on_held_out_queries(key, rng):
    train, _, _ = _rows(rng)
    fitted = ScoreBlend([key], random_state=0).fit(train.X, train.y, qid=train.qid)
    (found,) = fitted.models_[0].values()
    member = make_member(key, "nDCG@10", 0, has_validation=False)
    assert isinstance(member, Recipe)
    assert {name: getattr(found, name) for name in member.space}.items() <= {
        (name, value) for name, values in member.space.items() for value in values
    }
    if key != "model_tree":
        assert found.n_estimators < member.estimator.n_estimators
        assert found.n_estimators_ == found.n_estimators
    mixed = rng.permutation(len(train.y))
    again = ScoreBlend([key], random_state=0).fit(
        train.X[mixed], train.y[mixed], qid=train.qid[mixed]
    )
    np.testing.assert_allclose(again.predict(train.X), fitted.predict(train.X), atol=1e-9)


def test_members_that_cannot_hold_queries_out_are_fitted_on_all_rows():
    X, y = np.arange(3.0)[:, None], np.array([0, 1, 2])
    blend = ScoreBlend(["rank_boost"]).fit(X, y)
    assert isinstance(blend.models_[0]["rank_boost"], RankBoost)
    assert (np.diff(blend.predict(X)) > 0).all()


# Boards, reports and commands --------------------------------------------------------------------


@pytest.fixture
def board(rng):
    rankers = ["ridge", "model_tree", "lambdamart(n_estimators=2)", ModelTree()]
    return compare(rankers, one_fold(rng), measures="nDCG@10", isolate=False)


def test_every_row_says_what_it_ran(board, tmp_path):
    expected = {
        "ridge": "tuned: alpha along its path",
        "model_tree": "tuned: min_samples_leaf of 4, 32",
        "lambdamart(n_estimators=2)": "class defaults with n_estimators=2",
        "ModelTree": "class defaults",
    }
    assert {row["ranker"]: row["ran"] for row in board.rows()} == expected
    told = json.loads(json.dumps(board.to_dict()))
    assert {row["ranker"]: row["ran"] for row in told["rows"]} == expected
    again = Leaderboard.from_dict(told)
    assert {row["ranker"]: row["ran"] for row in again.rows()} == expected
    write_report(board, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    text, table = str(board), board.to_markdown()
    for ranker, ran in expected.items():
        assert f"{ranker} = {ran}" in text
        assert f"{ran}." in table.replace("\\", "") or f"{ran}. " in table.replace("\\", "")
        assert f"<dt>{ranker}</dt><dd>{ran}</dd>" in page


def test_boards_of_earlier_releases_say_the_code(board):
    told = json.loads(json.dumps(board.to_dict()))
    del told["settings"]["ran"]
    rows = {row["ranker"]: row["ran"] for row in Leaderboard.from_dict(told).rows()}
    assert rows["ridge"].startswith("RidgeRanker(alpha='val'")
    assert rows["model_tree"].endswith(" over {'min_samples_leaf': [4, 32]}")


def test_rows_of_csv_have_the_columns_of_the_header(board):
    header, *lines = csv.reader(io.StringIO(board.to_csv()))
    assert [len(line) for line in lines] == [len(header)] * len(board.rankers)
    first = dict(zip(header, lines[0], strict=True))
    row = board.rows()[0]
    assert first["ranker"] == row["ranker"]
    assert first["ran"] == row["ran"]
    assert float(first["nDCG@10 mean"]) == row["mean"]
