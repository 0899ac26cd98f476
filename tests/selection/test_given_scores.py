"""Scores that are there already, and a baseline, in comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

import rankwise
from rankwise.datasets import Run
from rankwise.metrics import evaluate
from rankwise.metrics.significance import compare_to_baseline
from rankwise.report import write_report
from rankwise.selection import Leaderboard
from tests.selection.helpers import graded_data


@pytest.fixture
def data(rng):
    data = graded_data(rng)
    names = np.array([f"d{row % 7}" for row in range(data.n_samples)])
    names = np.char.add(names, data.qid.astype(str))
    names = np.array([f"{name}-{row}" for row, name in enumerate(names)])
    return replace(data, doc_ids=names, feature_names=[f"x{j}" for j in range(data.n_features)])


def run_of(data, scores, tag="prod", keep=slice(None)):
    run = Run.from_data(data, scores, tag)
    order = np.random.default_rng(1).permutation(len(run))[keep]
    return Run(run.qid[order], run.doc_ids[order], run.scores[order], tag)


def test_a_run_a_column_and_a_model_take_part(data):
    model = LinearRegression().fit(data.X, data.y)
    board = rankwise.compare(
        {
            "prod": run_of(data, data.X[:, 1].astype(float)),
            "column": "column:x1",
            "model": FrozenEstimator(model),
            "ridge": "ridge",
        },
        data,
        cv=3,
        measures=["AP", "nDCG@3"],
        baseline="prod",
    )
    assert [cell.status for cell in board.cells] == ["done"] * 12
    for measure in board.measures:
        values = board.per_query(measure)
        np.testing.assert_array_equal(values["prod"], values["column"])
        for name, scores in (("prod", data.X[:, 1]), ("model", model.predict(data.X))):
            expected = evaluate(data.y, scores, data.qid, measure)
            by_query = dict(zip(expected.qids.tolist(), expected.per_query[measure], strict=True))
            found = dict(zip(board.qids.tolist(), values[name], strict=True))
            assert found == pytest.approx(by_query, nan_ok=True)
    table = compare_to_baseline(board.per_query(), "prod", strata=board.fold_of_query)
    expected = {row.name: row for row in table}
    for row in board.rows():
        of = row["against_baseline"]["AP"]
        assert of["diff"] == pytest.approx(expected[row["ranker"]].difference)
        if row["ranker"] != "prod":
            assert of["p_corrected"] == expected[row["ranker"]].p_corrected
    assert board.cell("prod", "fold1").fit_seconds is None


def test_the_baseline_is_shown_everywhere(data, tmp_path):
    board = rankwise.compare(["ridge", "column:x1"], data, cv=3, baseline="x1", isolate=False)
    text = str(board)
    assert "Against the baseline x1, nDCG@10:" in text
    assert "max-t sign-flip test over all pairs with the baseline" in text
    page = write_report(board, tmp_path / "report.html").read_text("utf-8")
    assert "Against the baseline x1</h2>" in page
    again = Leaderboard.from_dict(board.to_dict())
    assert str(again) == text
    assert again.rows() == board.rows()
    assert board.descriptions["x1"] == "column x1 of the data"


def test_rows_that_a_run_lacks_are_never_found(data):
    scores = data.X[:, 1].astype(float)
    board = rankwise.compare(
        {"part": run_of(data, scores, keep=slice(None, None, 2))}, data, cv=2, measures=["AP"]
    )
    run = run_of(data, scores, keep=slice(None, None, 2))
    known = set(zip(run.qid.tolist(), run.doc_ids.tolist(), strict=True))
    rows = zip(data.qid.astype(str).tolist(), data.doc_ids.tolist(), strict=True)
    retrieved = np.array([row in known for row in rows])
    expected = evaluate(data.y, scores, data.qid, "AP", retrieved=retrieved)
    found = dict(zip(board.qids.tolist(), board.per_query()["part"], strict=True))
    by_query = dict(zip(expected.qids.tolist(), expected.per_query["AP"], strict=True))
    assert found == pytest.approx(by_query, nan_ok=True)
    assert "are not in the run and count as never found" in board.rows()[0]["notes"][0]


@pytest.mark.parametrize(
    ("change", "ranker", "told"),
    [
        ({"doc_ids": None}, "run", "needs document ids, but the data have none"),
        ({}, "other run", "has none of the"),
        ({}, "column:xx1", "must name a feature or a score column of the data. Did you mean 'x1'"),
        (
            {"feature_names": None},
            "column:99",
            "a score column of the data. There are 4 features, numbered from 1.",
        ),
    ],
)
def test_what_cannot_be_found_fails_alone(data, change, ranker, told):
    run = run_of(data, data.X[:, 1].astype(float))
    if ranker == "other run":
        run = Run(run.qid, np.char.add(run.doc_ids, "x"), run.scores)
    chosen = ranker if ranker.startswith("column") else run
    board = rankwise.compare({"a": chosen, "ridge": "ridge"}, replace(data, **change), cv=2)
    assert {cell.status for cell in board.cells if cell.ranker == "a"} == {"failed"}
    assert told in board.cell("a", "fold1").message
    assert board.best == "ridge"


def test_a_baseline_that_is_none_of_the_rankers_is_refused(data):
    with pytest.raises(ValueError, match="baseline must name one of the rankers, got 'bm25'"):
        rankwise.compare(["ridge"], data, baseline="bm25")


def test_a_baseline_that_failed_tests_nothing(data):
    board = rankwise.compare(["ridge", "column:x9"], data, cv=2, baseline="x9")
    assert "Nothing is tested against the baseline x9" in str(board)
    assert board.rows()[0]["against_baseline"] == {}


def test_given_scores_are_not_kept(data, tmp_path):
    run = run_of(data, data.X[:, 1].astype(float))
    rankwise.compare({"prod": run, "ridge": "ridge"}, data, cv=2, store=tmp_path)
    other = run_of(data, data.X[:, 0].astype(float))
    seen = []
    board = rankwise.compare(
        {"prod": other, "ridge": "ridge"}, data, cv=2, store=tmp_path,
        progress=lambda done, total, cell: seen.append(cell.ranker),
    )  # fmt: skip
    assert seen[:2] == ["ridge", "ridge"]
    expected = evaluate(data.y, data.X[:, 0], data.qid, "nDCG@10")
    values = board.per_query()["prod"]
    assert np.nanmean(values) == pytest.approx(np.nanmean(expected.per_query["nDCG@10"]))


def test_a_score_column_of_a_frame_is_a_feature_unless_it_is_ignored(data):
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(label=data.y, qid=data.qid)
    rankers = {"now": "column:x1", "ridge": "ridge"}
    board = rankwise.compare(rankers, frame, cv=2, measures="AP")
    assert board.fold_infos[0].n_features == data.n_features
    assert "Column x1 is also a feature of the other rankers; leave it out with" in str(board)
    whole = board.per_query()
    for given in (frame, data):
        board = rankwise.compare(rankers, given, cv=2, measures="AP", ignore=["x1"])
        assert board.fold_infos[0].n_features == data.n_features - 1
        assert "Columns that are not features: x1 (ignored)." in str(board)
        np.testing.assert_array_equal(board.per_query()["now"], whole["now"])
        assert (board.per_query()["ridge"] != whole["ridge"]).any()
    expected = evaluate(data.y, data.X[:, 1], data.qid, "AP")
    assert np.nanmean(board.per_query()["now"]) == pytest.approx(
        np.nanmean(expected.per_query["AP"])
    )
    with pytest.raises(ValueError, match=r"score_columns must be columns, but 'x99' is not"):
        rankwise.compare({"now": "column:x99"}, frame)


def test_a_frozen_model_takes_its_columns_by_name(data):
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = rankwise.RidgeRanker().fit(frame[["x1", "x0"]], data.y, qid=data.qid)
    board = rankwise.compare({"old": FrozenEstimator(model)}, data, cv=2, measures="AP")
    expected = evaluate(data.y, model.predict(frame[["x1", "x0"]]), data.qid, "AP")
    assert np.nanmean(board.per_query()["old"]) == pytest.approx(
        np.nanmean(expected.per_query["AP"])
    )
