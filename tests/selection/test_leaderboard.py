"""Rows, tests, text and JSON of leaderboards whose numbers can be worked out by hand."""

from __future__ import annotations

import json
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from rankwise import leaderboard
from rankwise.metrics.significance import holm
from rankwise.metrics.statistics.stratified import stratified_means, t_p_values
from rankwise.selection import FoldInfo, FoldResult, Leaderboard, Settings, compare
from rankwise.selection.leaderboard import leaderboard_text
from tests.selection.helpers import Column, Moody, graded_data


def board_of(values, fold_sizes, specs=("AP",), **settings):
    """Leaderboard of given per-query values: ranker → measure → array over all queries."""
    bounds = np.cumsum([0, *fold_sizes])
    infos = [
        FoldInfo(f"fold{i + 1}", list(range(a, b)), 10 * (b - a), 100, 10, 5, True, "f")
        for i, (a, b) in enumerate(pairwise(bounds))
    ]
    measures = {name: compare_spec(name) for name in specs}
    cells = [
        FoldResult(
            ranker, info.name, "done", fit_seconds=1.0 + i, predict_seconds=0.1 * i,
            memory_bytes=1_000_000 * i,
            values={
                measures[name]: np.asarray(of[name], float)[bounds[i] : bounds[i + 1]]
                for name in specs
            },
        )
        for ranker, of in values.items()
        for i, info in enumerate(infos)
    ]  # fmt: skip
    return Leaderboard(
        measures, {ranker: f"{ranker}()" for ranker in values}, infos, cells,
        Settings("made", "AP", **settings),
    )  # fmt: skip


def compare_spec(name):
    from rankwise.metrics import parse

    return str(parse(name))


@pytest.fixture
def board(rng):
    quality = rng.random(30)
    return board_of(
        {
            "bad": {"AP": quality * 0.5},
            "good": {"AP": quality},
            "near": {"AP": np.clip(quality + 0.05 * rng.standard_normal(30) - 0.01, 0, 1)},
        },
        [12, 10, 8],
    )


def test_headline_is_the_mean_of_fold_means(board):
    rows = board.rows()
    assert [row["ranker"] for row in rows] == ["good", "near", "bad"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    values = board.per_query("AP")["good"]
    folds = [values[:12].mean(), values[12:22].mean(), values[22:].mean()]
    assert rows[0]["folds"] == pytest.approx(folds)
    assert rows[0]["mean"] == pytest.approx(np.mean(folds))
    assert rows[0]["mean"] != pytest.approx(values.mean(), abs=1e-6)
    assert rows[0]["low"] < rows[0]["mean"] < rows[0]["high"]
    assert rows[0]["measures"]["AP"]["mean"] == rows[0]["mean"]
    assert (rows[0]["fit_seconds"], rows[0]["memory_bytes"]) == (2.0, 1_000_000)


def test_values_of_one_ranker_take_names_and_full_specs_and_no_others(board):
    expected = board.per_query("AP")["good"]
    for measure in (None, "AP", compare_spec("AP")):
        np.testing.assert_array_equal(board.values("good", measure), expected)
    with pytest.raises(KeyError, match="'RR' was not measured"):
        board.values("good", "RR")
    with pytest.raises(KeyError, match="'best' is not on this leaderboard"):
        board.values("best")


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_tests_are_paired_and_corrected_over_all_pairs(board, test):
    board = Leaderboard(
        board.specs, board.descriptions, board.fold_infos, board.cells,
        Settings("made", "AP", test=test, correction="holm"),
    )  # fmt: skip
    values = board.per_query()

    def peer(a, b):
        if test == "wilcoxon":
            return stats.wilcoxon(a, b).pvalue
        return t_p_values(stratified_means((a - b)[:, None], board.fold_of_query))[0]

    rows = {row["ranker"]: row for row in board.rows()}
    p = {name: peer(values[name], values["good"]) for name in ("near", "bad")}
    p_other = peer(values["near"], values["bad"])
    assert rows["near"]["p"] == pytest.approx(p["near"])
    assert rows["bad"]["p"] == pytest.approx(p["bad"])
    adjusted = holm([p["near"], p["bad"], p_other])
    assert rows["near"]["p_corrected"] == pytest.approx(adjusted[0])
    assert rows["bad"]["p_corrected"] == pytest.approx(adjusted[1])
    untested = ("p", "p_corrected", "separable", "effect", "diff_low", "diff_high")
    assert rows["good"]["diff"] == 0.0
    assert [rows["good"][k] for k in untested] == [None] * 6
    difference = values["bad"] - values["good"]
    assert rows["bad"]["effect"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert rows["bad"]["diff"] == pytest.approx(rows["bad"]["mean"] - rows["good"]["mean"])
    assert (rows["bad"]["wins"], rows["bad"]["losses"]) == (0, 30)


def test_smaller_is_better_where_the_measure_says_so(rng):
    a, b = rng.random(20), rng.random(20) + 0.5
    board = board_of(
        {"high": {"misranking": b, "AP": b}, "low": {"misranking": a, "AP": a}},
        [10, 10], ("misranking", "AP"),
    )  # fmt: skip
    assert [row["ranker"] for row in board.rows()] == ["low", "high"]
    assert [row["ranker"] for row in board.rows("AP")] == ["high", "low"]
    assert board.best == "low"
    assert board.rows()[1]["diff"] > 0
    assert board.rows()[1]["losses"] > board.rows()[1]["wins"]
    assert board.rows()[0]["measures"]["AP"]["diff"] < 0


def test_queries_that_do_not_count_are_left_out():
    nan = np.nan
    board = board_of({"a": {"AP": [0.5, nan, 0.7, 0.1]}, "b": {"AP": [0.4, nan, 0.2, 0.3]}}, [2, 2])
    row = board.rows()[0]
    assert row["folds"] == [0.5, pytest.approx(0.4)]
    assert row["mean"] == pytest.approx(0.45)
    empty = board_of({"a": {"AP": [nan, nan]}}, [2])
    assert empty.rows()[0]["mean"] is None
    assert empty.best is None


def test_the_text_says_how_many_queries_count_for_each_measure(board, rng):
    assert board.n_counted() == 30
    specs = ("AP", "nDCG@5", "P@3")
    of = {name: dict(zip(specs, rng.random((3, 6)), strict=True)) for name in "ab"}
    for values in of.values():
        values["AP"][:2] = values["nDCG@5"][0] = np.nan
    some = board_of(of, [3, 3], specs)
    assert [some.n_counted(measure) for measure in (None, "nDCG@5", "P@3")] == [4, 5, 6]
    first = "made: 6 queries (4 count for AP, 5 for nDCG@5, 6 for P@3) in 2 folds, ordered by AP"
    assert str(some).splitlines()[0] == first


def test_queries_of_a_failed_cell_are_not_taken_for_queries_that_do_not_count(rng):
    board = board_of({"a": {"AP": rng.random(4)}, "b": {"AP": rng.random(4)}}, [2, 2])
    failed = [
        FoldResult(cell.ranker, cell.fold, "failed", "no luck")
        if cell.ranker == "b" or cell.fold == "fold2"
        else cell
        for cell in board.cells
    ]
    partly = Leaderboard(board.specs, board.descriptions, board.fold_infos, failed, board.settings)
    assert partly.n_counted() == 4
    assert str(partly).startswith("made: 4 queries in 2 folds, ordered by AP")


def test_a_tie_with_the_best_is_told_from_the_best(rng):
    values = rng.random(10)
    board = board_of({"a": {"AP": values}, "b": {"AP": values.copy()}}, [10])
    first, second = board.rows()
    assert (first["ranker"], first["p_corrected"]) == ("a", None)
    assert (second["ranker"], second["p_corrected"], second["diff"]) == ("b", 1.0, 0.0)


def test_json_round_trip(board, tmp_path):
    again = Leaderboard.from_dict(json.loads(json.dumps(board.to_dict(), allow_nan=False)))
    assert str(again) == str(board)
    assert again.rows() == board.rows()
    assert again.to_dict() == board.to_dict()
    np.testing.assert_equal(again.per_query(), board.per_query())
    board.to_json(tmp_path / "b.json")
    assert Leaderboard.from_json(tmp_path / "b.json").rows() == board.rows()
    assert Leaderboard.from_json(board.to_json()).rows() == board.rows()


def test_json_of_a_real_run_with_failures_and_text_ids(rng):
    data = graded_data(rng, as_text=True)
    data.y[data.qid == "q3"] = 0.0  # does not count
    board = compare({"a": Column(0), "b": Ridge(), "c": Moody("error")}, data, cv=3)
    state = json.loads(json.dumps(board.to_dict(), allow_nan=False))
    again = Leaderboard.from_dict(state)
    assert str(again) == str(board)
    assert again.qids.tolist() == board.qids.tolist()
    np.testing.assert_equal(again.per_query(), board.per_query())
    assert np.isnan(board.per_query()["a"]).sum() == 1
    assert state["rows"][0]["ranker"] == board.best


BOARD_STATE = leaderboard({"a": [0.1, 0.2], "b": [0.3, 0.4]}).to_dict()
WRONG_STATES = {
    "empty": ({}, "got None"),
    "newer": ({**BOARD_STATE, "format": 99}, "got 99. A newer version .* Upgrade rankwise"),
    "older": ({**BOARD_STATE, "format": 0}, r"\(format 1\), got 0\.$"),
    "list": ([], "got 'list'"),
    "lacks cells": (
        {name: value for name, value in BOARD_STATE.items() if name != "cells"},
        r"parts are missing or changed \(KeyError: 'cells'\)",
    ),
    "changed cells": ({**BOARD_STATE, "cells": [{"ranker": "a"}]}, "missing or changed"),
    "changed folds": ({**BOARD_STATE, "folds": [{}]}, "missing or changed"),
    "changed measures": ({**BOARD_STATE, "measures": 3}, "missing or changed"),
}


@pytest.mark.parametrize("name", WRONG_STATES)
def test_states_that_are_no_board(name, tmp_path):
    state, said = WRONG_STATES[name]
    with pytest.raises(ValueError, match=rf"a result of Leaderboard\.to_dict.*{said}"):
        Leaderboard.from_dict(state)
    (tmp_path / "b.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"b\.json is not a file of .*{said}"):
        Leaderboard.from_json(tmp_path / "b.json")


def test_files_that_are_not_json_are_named(tmp_path):
    (tmp_path / "b.json").write_text('{"format": 1}\n{}')
    with pytest.raises(ValueError, match=r"b\.json is not a file of Leaderboard\.to_json"):
        Leaderboard.from_json(tmp_path / "b.json")


def test_text_is_aligned_and_complete(board):
    text = str(board)
    lines = text.splitlines()
    assert lines[0] == "made: 30 queries in 3 folds, ordered by AP"
    header = next(line for line in lines if line.startswith("#"))
    start = lines.index(header)
    table = lines[start : start + 5]
    assert all("ranker p fit s predict s MB".count(w) for w in header.split()[-4:])
    assert len({len(line) for line in table}) == 1
    for row, line in zip(board.rows(), table[2:], strict=True):
        half = (row["high"] - row["low"]) / 2
        assert f"{row['mean']:.4f} ± {half:.4f}" in line
        assert line.split()[:2] == [str(row["rank"]), row["ranker"]]
    assert "AP = AP(" in text
    assert "p of this difference: max-t sign-flip test over all pairs of rankers." in text


def test_few_units_leave_a_difference_without_bounds():
    units = ["t1", "t2", "t3"]
    wins = {
        "a": dict(zip(units, [1, 1, 0], strict=True)),
        "b": dict(zip(units, [0, 0, 1], strict=True)),
    }
    board = leaderboard(wins)
    row = board.rows()[1]
    assert (row["diff_low"], row["diff_high"]) == (None, None)
    assert "b -0.3333 (not bounded)" in str(board)


def test_the_longer_side_of_an_interval_is_called_so(rng):
    near_1 = np.where(np.arange(30) < 3, 0.5, 1.0)
    board = board_of({"a": {"AP": near_1}, "b": {"AP": 0.5 * near_1}}, [10, 10, 10])
    row = board.rows()[0]
    assert row["mean"] - row["low"] > row["high"] - row["mean"] + 1e-3
    text = str(board)
    assert f"{row['mean']:.4f} ± {row['mean'] - row['low']:.4f}" in text
    assert "± the longer side of the 95 % interval over queries." in text
    middle = 0.3 + 0.4 * rng.random(30)
    board = board_of({"a": {"AP": middle}, "b": {"AP": middle - 0.2}}, [10, 10, 10])
    assert "± half of the 95 % interval over queries." in str(board)


def test_rankers_that_may_be_as_good_as_the_best_are_listed_with_their_intervals(rng):
    quality = rng.random(30)
    noise = 0.1 * rng.standard_normal(30)
    noise += -0.01 - noise.mean()
    board = board_of(
        {"good": {"AP": quality}, "near": {"AP": quality + noise}, "bad": {"AP": 0.3 * quality}},
        [12, 10, 8],
    )
    near, bad = board.rows()[1:]
    assert (near["ranker"], near["separable"], bad["separable"]) == ("near", False, True)
    numbers = f"{near['diff']:+.4f} ({near['diff_low']:+.4f} to {near['diff_high']:+.4f})"
    said = f"Differences to the best with p >= 0.05 (joint 95 % interval): near {numbers}."
    assert said in str(board).splitlines()
    assert near["diff_low"] < 0 < near["diff_high"]
    for correction in ("holm", "benjamini_hochberg", "bonferroni"):
        settings = Settings("made", "AP", correction=correction, confidence_level=0.9)
        other = Leaderboard(
            board.specs, board.descriptions, board.fold_infos, board.cells, settings
        )
        said = "the best with p >= 0.1 (joint 90 % t interval by Bonferroni): near -"
        assert said in str(other)


@pytest.mark.parametrize(
    ("test", "correction", "said"),
    [
        ("t", "holm", "paired t test, Holm-corrected over all pairs of rankers"),
        ("wilcoxon", "auto", "paired Wilcoxon test, Holm-corrected over all pairs of rankers"),
        ("t", "benjamini_hochberg", "Benjamini-Hochberg-corrected (false discovery rate) over"),
    ],
)
def test_the_text_names_the_test(board, test, correction, said):
    settings = Settings("made", "AP", test=test, correction=correction)
    other = Leaderboard(board.specs, board.descriptions, board.fold_infos, board.cells, settings)
    assert said in str(other)
    assert Leaderboard.from_dict(other.to_dict()).settings.correction == settings.correction


def test_frame(board, monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = board.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["ranker"].tolist() == ["good", "near", "bad"]
    assert frame["AP mean"].tolist() == [row["mean"] for row in board.rows()]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        board.to_frame("pandas")


def test_unknown_measures_are_named(board):
    with pytest.raises(KeyError, match="was not measured"):
        board.per_query("P@3")
    assert "best by AP: good" in repr(board)


# Width -------------------------------------------------------------------------------------------


def test_a_narrow_text_leaves_out_costs_and_further_measures(rng):
    quality = rng.random(30)
    specs = ("AP", "nDCG@10", "P@5")
    values = {
        name: dict.fromkeys(specs, quality * share)
        for name, share in (("a ranker", 0.5), ("another", 0.9), ("third", 0.7))
    }
    board = board_of(values, [10, 20], specs, baseline="third")
    whole = str(board)
    assert str(board) == leaderboard_text(board, 500) == whole
    assert "Left out" not in whole
    lengths = []
    for width in (100, 80, 60, 40):
        lines = leaderboard_text(board, width).splitlines()
        start = lines.index("", 2) + 1  # below the verdict
        table = lines[start : lines.index("", start)]
        if width > 40:  # name, first measure and test always stay
            assert max(map(len, table[:-1])) <= width
        assert table[0].split()[:3] == ["#", "ranker", "AP"]
        assert table[-1].startswith("Left out for the width: ")
        lengths.append(len(table[0]))
    assert lengths == sorted(lengths, reverse=True)
    narrow = leaderboard_text(board, 40)
    assert "Left out for the width: nDCG@10, P@5, fit s, predict s, MB." in narrow
    assert "medians over folds" not in narrow
    assert "better  equal" not in narrow
    assert "better, equal, worse: queries" not in narrow
    assert "Against the baseline third" in narrow
