"""Commands read KEY as its tuned recipe, KEY(…) and --set as its class with these parameters."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import ModelTree, compare, load
from rankwise.datasets import read_letor


@pytest.mark.parametrize(
    ("words", "ran"),
    [
        (["model_tree"], "tuned: min_samples_leaf of 4, 32"),
        (["model_tree()"], "class defaults"),
        (["model_tree(min_samples_leaf=9)"], "class defaults with min_samples_leaf=9"),
        (["model_tree", "--set", "min_samples_leaf=9"], "class defaults with min_samples_leaf=9"),
        (
            ["model_tree(min_samples_leaf=9)", "--set", "max_depth=3"],
            "class defaults with max_depth=3, min_samples_leaf=9",
        ),
    ],
)
def test_commands_read_the_same_keys(words, ran, rankwise, letor_file, tmp_path):
    key, *rest = words
    made = ["--ranker", key, *rest]
    fit = rankwise("fit", letor_file, *made, "--out", tmp_path / "m", "--json")
    assert fit.json["ran"] == ran
    shown = rankwise("fit", letor_file, *made, "--out", tmp_path / "m")
    assert f"ran: {ran}\n" in shown.out
    cv = rankwise("cv", letor_file, *made, "--cv", 3, "--json")
    assert [row["ran"] for row in cv.json["rows"]] == [ran]
    if not rest:
        compared = rankwise("compare", letor_file, "--rankers", key, "--cv", 3, "--json")
        assert [row["ran"] for row in compared.json["rows"]] == [ran]
        assert compared.json["rows"][0]["mean"] == cv.json["rows"][0]["mean"]


@pytest.mark.parametrize(
    "key",
    ["lambdamart(n_estimators=12)", "auto(n_trials=1)", "rank_boost(n_estimators=12)", "ridge()"],
)
def test_parameters_mean_the_same_in_python(key, rankwise, letor_file):
    """No validation rows for the class of a key, unless its parameters ask for them."""
    compared = rankwise("compare", letor_file, "--rankers", key, "--cv", 3, "--json")
    board = compare([key], read_letor(letor_file), cv=3, measures=["nDCG@10", "AP"])
    (row,), (expected,) = compared.json["rows"], board.rows()
    assert row["mean"] == expected["mean"]
    assert row["chosen"] == expected["chosen"]


def test_fit_uses_all_rows_of_the_chosen_setting(rankwise, letor_file, tmp_path):
    made = ("fit", letor_file, "--ranker", "model_tree", "--out", tmp_path / "m", "--json")
    fit = rankwise(*made)
    assert fit.json["notes"] == [
        "no validation part: held out 3 of 12 queries",
        "the chosen setting was then fitted on all training queries",
    ]
    data = read_letor(letor_file)
    whole = ModelTree(**fit.json["chosen"]).fit(data.X, data.y)
    np.testing.assert_array_equal(load(tmp_path / "m").predict(data.X), whole.predict(data.X))


@pytest.mark.parametrize("command", ["fit", "cv"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ridge(alfa=1)"], "ridge has no parameter 'alfa'. Did you mean 'alpha'?"),
        (["ridge()", "--set", "alfa=1"], "ridge has no parameter 'alfa'. Did you mean 'alpha'?"),
        (["ridge(1)"], "--ranker: 'ridge(1)' must be RANKER(NAME=VALUE,…)"),
        (["rigde()"], "'rigde' is not a ranker. Did you mean 'ridge'?"),
    ],
)
def test_wrong_keys(command, words, message, rankwise, letor_file, tmp_path):
    out = ("--out", tmp_path / "m") if command == "fit" else ()
    found = rankwise(command, letor_file, "--ranker", *words, *out)
    assert found.code == 2
    assert message in found.err


def test_fit_names_the_formats_that_the_model_can_be_exported_to(rankwise, letor_file, tmp_path):
    made = ("fit", letor_file, "--out", tmp_path / "m", "--ranker")
    shown = rankwise(*made, "ridge").out
    assert "\nexports to: onnx, python, solr, elasticsearch, ranklib\n" in shown
    assert rankwise(*made, "pairwise_elm", "--json").json["exports"] == ["onnx", "python", "solr"]
    assert "\nexports to: no format" in rankwise(*made, "score_blend").out


@pytest.mark.parametrize("width", [80, 160, None])
def test_the_list_shows_recipes_at_every_width(rankwise, width, monkeypatch):
    monkeypatch.setattr("rankwise.cli.listing.terminal_width", lambda: width)
    found = rankwise("list", "rankers")
    assert found.code == 0
    assert "RidgeRanker(alpha='val')" in found.out
    assert ("closed-form" in found.out) == (width != 80)
    assert ("Left out for the width: kind, tags" in found.out) == (width == 80)
