"""A comparison gives what evaluating by hand gives, for any number of jobs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import _registry
from rankwise._registry import Entry
from rankwise.datasets.data import Fold, FoldedData
from rankwise.metrics import evaluate, parse
from rankwise.runtime.threads import count_cores
from rankwise.selection import compare, query_folds
from rankwise.selection.cells import cell_runner
from tests.selection.helpers import Column, Moody, Validated, graded_data, one_fold

RANKERS = {"first": Column(0), "second": Column(1), "noisy": Column(0, noise=1.0), "ridge": Ridge()}


class Plain:
    """Fits and predicts, but cannot be cloned."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def values_of(board):
    return {
        (ranker, measure): values.tolist()
        for measure in board.measures
        for ranker, values in board.per_query(measure).items()
    }


def test_values_are_those_of_evaluate(rng):
    data = graded_data(rng, as_text=True)
    folds = list(query_folds(data, 4))
    board = compare(RANKERS, data, cv=4, measures=["AP", "nDCG@3"], preset="letor3")
    assert board.rankers == list(RANKERS)
    assert board.folds == ["fold1", "fold2", "fold3", "fold4"]
    assert board.specs["nDCG@3"] == str(parse("nDCG@3", "letor3"))
    assert board.qids.tolist() == [q for fold in folds for q in fold.test.groups.ids]
    assert board.qids.dtype.kind == "U"
    for i, fold in enumerate(folds):
        test = fold.test
        scores = {
            "first": test.X[:, 0],
            "second": test.X[:, 1],
            "noisy": Column(0, 1.0, random_state=0).predict(test.X),
            "ridge": Ridge().fit(fold.train.X, fold.train.y).predict(test.X),
        }
        for ranker, s in scores.items():
            expected = evaluate(test.y, s, test.qid, ["AP", "nDCG@3"], preset="letor3")
            assert board.cell(ranker, fold.name).scores.tolist() == s.tolist()
            for measure in ("AP", "nDCG@3"):
                mine = board.per_query(measure)[ranker][board.fold_of_query == i]
                assert mine.tolist() == expected.per_query[measure].tolist()
                row = next(r for r in board.rows() if r["ranker"] == ranker)
                assert row["measures"][measure]["folds"][i] == pytest.approx(expected[measure])


def test_cells_hold_the_points_of_a_curve(rng):
    fold = one_fold(rng)
    board = compare(Column(0), fold, measures=["AP", "nDCG@3", "P@2"], preset="letor3")
    specs = [str(parse(f"nDCG@{k}", "letor3")) for k in range(1, 11)]
    values = board.cells[0].values
    assert set(values) == {*specs, *board.specs.values()}
    expected = evaluate(fold.test.y, fold.test.X[:, 0], fold.test.qid, ["nDCG@7"], preset="letor3")
    np.testing.assert_array_equal(values[specs[6]], expected.per_query["nDCG@7"])
    assert set(compare(Column(0), fold, measures="AP").cells[0].values) == {str(parse("AP"))}


def test_numbers_do_not_depend_on_the_number_of_jobs(rng):
    data = graded_data(rng, n_queries=30, docs=20, n_features=300)
    rankers = {
        **RANKERS,
        "trees": ExtraTreesRegressor(5),
        "boosting": HistGradientBoostingRegressor(max_iter=5),
        "val": Validated(),
    }
    boards = [compare(rankers, data, cv=3, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert [board.settings.n_jobs for board in boards] == [1, min(2, count_cores())]
    for board in boards[1:]:
        np.testing.assert_equal(values_of(board), values_of(boards[0]))
        assert [(r["ranker"], r["low"], r["p_corrected"]) for r in board.rows()] == [
            (r["ranker"], r["low"], r["p_corrected"]) for r in boards[0].rows()
        ]
        assert [c.chosen for c in board.cells] == [c.chosen for c in boards[0].cells]
        for cell, other in zip(board.cells, boards[0].cells, strict=True):
            np.testing.assert_array_equal(cell.scores, other.scores)


def test_the_seed_decides_folds_and_open_seeds(rng):
    data = graded_data(rng)
    rankers = {"noisy": Column(noise=1.0), "fixed": Column(noise=1.0, random_state=5)}
    one, same, two = (compare(rankers, data, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_equal(values_of(one), values_of(same))
    assert one.qids.tolist() != two.qids.tolist()
    fold = one_fold(rng)
    one, two = (compare(rankers, fold, random_state=seed) for seed in (1, 2))
    assert one.per_query()["noisy"].tolist() != two.per_query()["noisy"].tolist()
    assert one.per_query()["fixed"].tolist() == two.per_query()["fixed"].tolist()


def test_test_labels_do_not_reach_the_fit(rng):
    """Other labels in the test part: the same model, the same choice."""
    fold = one_fold(rng)
    other = replace(fold, test=replace(fold.test, y=rng.permutation(fold.test.y)))
    rankers = {"ridge": Ridge(), "val": Validated(), "search": GridSearchCV(
        Ridge(), {"alpha": [0.1, 1e4]}, cv=GroupKFold(3))}  # fmt: skip
    a, b = compare(rankers, fold), compare(rankers, other)
    assert values_of(a) != values_of(b)
    for cell, twin in zip(a.cells, b.cells, strict=True):
        assert cell.chosen == twin.chosen
        np.testing.assert_array_equal(cell.scores, twin.scores)


def test_what_goes_wrong_is_reported_and_the_rest_goes_on(rng, monkeypatch):
    missing = Entry("no_such_package.x:Y", kind="ranker", summary="", extra="gbdt")
    monkeypatch.setitem(_registry.RANKING, "absent", missing)
    fold = one_fold(rng)
    rankers = {
        "absent": "absent",
        "late": Moody("import"),
        "error": Moody("error"),
        "nan": Moody("nan"),
        "write": Moody("write"),
        "warn": Moody("warn"),
        "good": Column(0),
    }
    board = compare(rankers, fold)
    found = {row["ranker"]: (row["status"], row["message"]) for row in board.rows()}
    assert found["absent"][0] == found["late"][0] == "skipped"
    assert "no_such_package" in found["absent"][1]
    assert found["error"] == ("failed", "RuntimeError: no luck today")
    assert found["nan"][0] == "failed"
    assert found["write"][0] == "failed"  # X is shared: it cannot be written
    assert "read-only" in found["write"][1]
    assert found["good"] == ("done", "")
    assert [row["rank"] for row in board.rows()] == [1, 2, None, None, None, None, None]
    assert next(r for r in board.rows() if r["ranker"] == "warn")["notes"] == ["shaky"]
    assert np.isnan(board.per_query()["error"]).all()
    for text in ("skipped: absent", "failed: error (fold1): RuntimeError", "note: warn: shaky"):
        assert text in str(board)


def test_a_ranker_that_kills_its_process_fails_alone(rng):
    rankers = {"good": Column(0), "killer": Moody("die"), "other": Column(1)}
    board = compare(rankers, one_fold(rng), n_jobs=2)
    statuses = {cell.ranker: cell.status for cell in board.cells}
    assert statuses == {"good": "done", "killer": "failed", "other": "done"}
    assert "was killed" in board.cell("killer", "fold1").message


def test_a_partly_failed_ranker_is_not_ranked(rng):
    data = graded_data(rng)
    folds = list(query_folds(data, 3))
    empty = replace(folds[1].train, X=folds[1].train.X * np.nan)
    board = compare(
        {"ridge": Ridge(), "first": Column(0)}, [folds[0], replace(folds[1], train=empty)]
    )
    ridge = next(r for r in board.rows() if r["ranker"] == "ridge")
    assert (ridge["status"], ridge["rank"], ridge["mean"]) == ("failed", None, None)
    assert ridge["measures"]["AP"]["folds"][0] > 0
    assert ridge["measures"]["AP"]["folds"][1] is None
    assert board.best == "first"


def test_progress_is_told_of_every_cell(rng, tmp_path):
    calls = []

    def progress(done, total, cell):
        calls.append((done, total, cell.ranker, cell.fold))

    data = graded_data(rng)
    for _ in range(2):  # the second time, all cells come from the store
        calls.clear()
        compare({"a": Column(0), "b": Column(1)}, data, cv=2, store=tmp_path, progress=progress)
        assert [call[:2] for call in calls] == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert {call[2:] for call in calls} == {(r, f) for r in "ab" for f in ("fold1", "fold2")}


def test_sparse_rows_weights_pipelines_and_searches(rng):
    data = graded_data(rng, as_text=True)
    data = replace(data, X=sparse.csr_array(data.X), sample_weight=rng.random(160) + 0.5)
    scaler = StandardScaler(with_mean=False)
    rankers = [
        make_pipeline(scaler, Ridge()),
        GridSearchCV(Ridge(), {"alpha": [1e-3, 1e3]}, cv=GroupKFold(3)),
        Ridge(),
        Ridge(10.0),
    ]
    board = compare(rankers, data, cv=3, n_jobs=2)
    assert board.rankers == ["Pipeline", "GridSearchCV", "Ridge", "Ridge #2"]
    assert {cell.status for cell in board.cells} == {"done"}
    chosen = next(r for r in board.rows() if r["ranker"] == "GridSearchCV")["chosen"]
    assert set(chosen) == {"fold1", "fold2", "fold3"}
    assert all(c in ({"alpha": 1e-3}, {"alpha": 1e3}) for c in chosen.values())


def test_folds_are_made_when_they_are_due(rng):
    made = []
    data = graded_data(rng)
    folds = list(query_folds(data, 3))

    def make(i):
        made.append(i)
        return folds[i]

    compare({"a": Column(0), "b": Column(1)}, FoldedData("made", ("x", "y", "z"), make))
    assert made == [0, 1, 2, 0, 1, 2]  # once to describe, once to run


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rankers": "ridg"}, ValueError, "Did you mean 'ridge'"),
        (
            {"rankers": pd.DataFrame({"a": [1]})},
            TypeError,
            "got a DataFrame. The data come",
        ),
        ({"rankers": "random_nodes"}, ValueError, "is not a ranker of the registry"),
        ({"rankers": []}, ValueError, "at least one ranker"),
        ({"rankers": [Ridge]}, TypeError, "Call the class"),
        ({"rankers": [3]}, TypeError, "or an estimator object, got 3, which has no fit"),
        ({"rankers": {"mine": Plain()}}, TypeError, "no get_params.*Derive.*sklearn.base.BaseEst"),
        ({"measures": []}, ValueError, "at least one measure"),
        ({"measures": ["nDGC@10"]}, ValueError, "nDGC"),
        ({"select_by": "no"}, ValueError, "unknown measure"),
        ({"test": "sign"}, ValueError, "test must be one of"),
        ({"correction": "tukey"}, ValueError, "correction must be one of"),
        (
            {"test": "wilcoxon", "correction": "max_t"},
            ValueError,
            "needs t statistics, got test='wilcoxon'",
        ),
        ({"confidence_level": 95}, ValueError, "between 0 and 1, got 95"),
        ({"cv": 1}, ValueError, "between 2 and the number of queries, 20, got 1"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be a number of processes.*got 0"),
        ({"n_jobs": 1.5}, ValueError, "n_jobs must be a number of processes.*got 1.5"),
        ({"n_jobs": "2"}, ValueError, "n_jobs must be a number of processes.*got '2'"),
        ({"data": [1.0]}, TypeError, "a frame, a RankingData, a Fold"),
    ],
)
def test_wrong_arguments_raise_before_anything_runs(rng, changes, error, message):
    arguments = {"rankers": {"a": Moody("error")}, "data": graded_data(rng)} | changes
    with pytest.raises(error, match=message):
        compare(arguments.pop("rankers"), arguments.pop("data"), **arguments)


def test_labels_that_a_measure_cannot_take_raise_before_anything_runs(rng):
    fold = one_fold(rng)
    negative = replace(fold, test=replace(fold.test, y=fold.test.y - 1))
    with pytest.raises(ValueError, match=r"nDCG|gain|label|y "):
        compare({"a": Moody("error")}, negative, measures=["nDCG@10"])
    assert compare({"a": Column(0)}, negative, measures=["Misranking"]).best == "a"


def test_single_fold_without_validation_part(rng):
    fold = one_fold(rng)
    board = compare({"val": Validated(), "one": Column(1)}, Fold(fold.train, None, fold.test))
    assert board.fold_infos[0].has_validation is False
    assert "no validation part" in board.rows()[0]["notes"][0]


def test_a_note_of_several_rankers_is_one_line():
    data = graded_data(np.random.default_rng(0))
    data.X[:, :2] = 0.0
    rankers = {"first": Column(0), "second": Column(1), "untied": Column(2)}
    options = {"cv": 3, "measures": ["AP", "P@3"], "preset": "letor3", "isolate": False}

    def lines(names):
        chosen = {name: rankers[name] for name in names}
        text = str(compare(chosen, data, **options))
        return [line.partition(": rows")[0] for line in text.splitlines() if "note: " in line]

    assert lines(["first", "untied"]) == ["note: first: AP", "note: first: P@3"]
    assert lines(rankers) == ["note: first, second: AP", "note: first, second: P@3"]
    rankers["untied"] = Column(0)
    assert lines(rankers) == ["note: all rankers: AP", "note: all rankers: P@3"]


def test_a_note_says_that_the_order_of_tied_rows_decides():
    """As evaluate does: by the rule of a preset, and only between rows of different labels."""
    data = graded_data(np.random.default_rng(0))
    rankers = {"tied": Column(0), "untied": Column(1)}
    data.X[:, 0] = 0.0
    board = compare(rankers, data, cv=3, measures=["AP", "P@3"], preset="letor3", isolate=False)
    notes = {row["ranker"]: row["notes"] for row in board.rows()}
    assert [note.partition(":")[0] for note in notes["tied"]] == ["AP", "P@3"]
    assert "Write AP(ties=mean) for the mean over all orders" in notes["tied"][0]
    assert notes["untied"] == []
    assert f"note: tied: {notes['tied'][0]}" in str(board)
    plain = compare(rankers, data, cv=3, measures=["AP(ties=stable)"], isolate=False)
    assert not any(row["notes"] for row in plain.rows())
    scores = {"column": "column:1"}
    given = compare(scores, data, cv=3, measures=["AP"], preset="letor3", isolate=False)
    assert [note.partition(":")[0] for note in given.rows()[0]["notes"]] == ["AP"]


class Loading(Column):
    """Its first predict takes ``first`` seconds, each later one 0.004; it may predict only once."""

    clock: ClassVar = [0.0]
    calls: ClassVar = []

    def __init__(self, first=0.943, only_once=False):
        super().__init__()
        self.first = first
        self.only_once = only_once

    def predict(self, X):
        self.clock[0] += 0.004 if self.calls else self.first
        self.calls.append(len(X))
        if self.only_once and len(self.calls) > 1:
            raise ValueError("predicts once")
        return super().predict(X)


@pytest.mark.parametrize(
    ("ranker", "seconds", "n_calls"),
    [
        (Loading(), 0.004, 2),
        (Loading(first=0.002), 0.002, 2),
        (Loading(first=3.0), 3.0, 1),  # too long to be repeated
        (Loading(only_once=True), 0.943, 2),
    ],
)
def test_what_only_the_first_predict_does_is_not_timed(rng, monkeypatch, ranker, seconds, n_calls):
    monkeypatch.setattr(Loading, "calls", [])
    monkeypatch.setattr(cell_runner, "time", SimpleNamespace(perf_counter=lambda: Loading.clock[0]))
    fold = one_fold(rng)
    board = compare({"loading": ranker}, fold, isolate=False)
    cell = board.cell("loading", board.folds[0])
    assert cell.predict_seconds == pytest.approx(seconds)
    assert cell.evaluate_seconds == 0.0
    assert Loading.calls == n_calls * [fold.test.n_samples]
    assert board.rows()[0]["notes"] == []
