"""AutoRanker takes what LambdaMART takes: inputs are fitted, scored, saved and loaded."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold

import rankwise
from rankwise import AutoRanker, RidgeRanker
from rankwise.datasets import IgnoredColumnsWarning
from rankwise.explain import explain_pair, explain_scores
from rankwise.export import to_onnx, verify
from rankwise.features.binning import append_indicators, frequent_categories
from rankwise.rankers.ensemble import auto
from rankwise.rankers.ensemble import auto as auto_report
from rankwise.rankers.ensemble import auto_search as auto_trials
from rankwise.rankers.ensemble.auto_search import TimeBudget, fit_scaling, settings

SMALL = {"time_budget": None, "n_trials": 6, "cv": 2, "random_state": 0, "n_jobs": 1}
N = 240
QID = np.arange(N) % 24
_RNG = np.random.default_rng(1)
NUMBERS = _RNG.normal(size=(N, 2))
COLOURS = np.array(["red", "green", "blue", "violet"], dtype=object)[_RNG.integers(0, 4, N)]
Y = (np.isin(COLOURS, ["red", "blue"]) + (NUMBERS[:, 0] > 0.5)).astype(float)


def _frame(**more):
    return pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "colour": COLOURS, **more})


def _with_missing():
    frame = _frame()
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "colour"] = None
    return frame


INPUTS = {
    "text": _frame,
    "categorical": lambda: _frame().astype({"colour": "category"}),
    "polars": lambda: pl.from_pandas(_frame()),
    "ordered": lambda: _frame().assign(
        colour=pd.Categorical(COLOURS, ["red", "blue", "green", "violet"], ordered=True)
    ),
    "missing": _with_missing,
    "array": lambda: NUMBERS,
    "float32": lambda: NUMBERS.astype(np.float32),
    "sparse": lambda: sparse.csr_matrix(NUMBERS),
}


def tick(monkeypatch):
    """Replace the CPU clock by one that moves with every look at it; its time, in a list."""
    now = [0.0]

    def clock():
        now[0] += 0.01
        return now[0]

    monkeypatch.setitem(auto.CLOCKS, "cpu", clock)
    return now


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs_are_fitted_scored_saved_and_loaded(kind, tmp_path):
    X = INPUTS[kind]()
    ranker = AutoRanker(**SMALL).fit(X, Y, qid=QID)
    assert not ranker.skipped_
    assert ranker.score(X, Y, qid=QID) > (0.95 if hasattr(X, "columns") else 0.7)
    scores = ranker.predict(X)
    again = rankwise.load(ranker.save(tmp_path / "model"))
    assert (again.predict(X) == scores).all()
    assert again.leaderboard() == ranker.leaderboard()
    alone = ranker.predict(X[:3])
    np.testing.assert_allclose(alone, scores[:3], rtol=1e-9, atol=1e-9)


def test_validation_rows_hold_categories():
    X, held = _frame(), QID > 15
    ranker = AutoRanker(**SMALL).fit(
        X[~held], Y[~held], qid=QID[~held], X_val=X[held], y_val=Y[held], qid_val=QID[held]
    )
    assert ranker.values_["blend"] > 0.95
    assert ranker.score(X[held], Y[held], qid=QID[held]) == pytest.approx(ranker.values_["blend"])


def test_smooth_families_read_categories():
    ranker = AutoRanker(**SMALL | {"n_trials": 5}).fit(_frame(), Y, qid=QID)
    numbers = AutoRanker(**SMALL | {"n_trials": 5}).fit(NUMBERS, Y, qid=QID)
    assert ranker.values_["linear"] > numbers.values_["linear"] + 0.03
    unknown = _frame().assign(colour="never seen")
    missing = _frame().assign(colour=pd.Series([None] * N, dtype=object))
    with pytest.warns(UserWarning, match="knows no category .*'colour' holds 'never seen'"):
        scores = ranker.predict(unknown)
    np.testing.assert_array_equal(scores, ranker.predict(missing))


def test_categories_are_those_of_the_training_rows_of_a_part():
    colours = COLOURS.copy()
    colours[:5] = "rare"  # only in queries that the second part holds out
    splits = [(np.arange(N), np.arange(N)), (np.arange(5, N), np.arange(5))]
    X = _frame().assign(colour=colours)
    ranker = AutoRanker(**SMALL | {"cv": splits, "n_trials": 1}).fit(X, Y, qid=QID)
    known = [len(codes[2]) for codes in ranker.indicators_]
    assert known == [5, 4]


def test_the_heaviest_categories_have_columns():
    X = np.array([[0.0], [1.0], [1.0], [2.0], [np.nan]])
    assert frequent_categories(X, [0], most=1)[0].tolist() == [1.0]
    assert frequent_categories(X, [0], np.array([9.0, 1, 1, 9, 99]), most=2)[0].tolist() == [0, 2]
    table = append_indicators(np.zeros((5, 1)), X, {0: np.array([0.0, 2.0])}, 0.5)
    assert table[:, 1:].tolist() == [[0.5, 0], [0, 0], [0, 0], [0, 0.5], [0, 0]]


def test_dates_are_left_out_with_a_warning():
    dated = _frame(day=pd.date_range("2024-01-01", periods=N))
    with pytest.warns(IgnoredColumnsWarning, match=r"day \(dates\)"):
        ranker = AutoRanker(**SMALL | {"n_trials": 2}).fit(dated, Y, qid=QID)
    assert ranker.feature_names_in_.tolist() == ["a", "b", "colour"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ranker.predict(dated), ranker.predict(_frame()))


def test_large_sparse_rows_are_tried_with_all_families(monkeypatch):
    monkeypatch.setattr(auto, "_MOST_DENSE", 1)
    X = sparse.csr_matrix(np.where(NUMBERS > 0, NUMBERS, 0.0))
    ranker = AutoRanker(**SMALL).fit(X, Y, qid=QID)
    assert ranker.is_sparse_
    assert {row["family"] for row in ranker.history_} == {"linear", "nodes", "trees"}
    np.testing.assert_allclose(ranker.predict(X), ranker.predict(X.toarray()), rtol=1e-9)


def test_weights_are_repetition_with_categories():
    weight = np.random.default_rng(0).integers(0, 3, N)
    rows = np.repeat(np.arange(N), weight)
    X, wanted = _frame(), AutoRanker(**SMALL)
    wanted.fit(X.iloc[rows], Y[rows], qid=QID[rows])
    found = AutoRanker(**SMALL).fit(X, Y, qid=QID, sample_weight=weight)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("query_weight", ["pair", "document", "query"])
def test_one_weighting_of_queries(query_weight):
    ranker = AutoRanker(**SMALL, query_weight=query_weight).fit(NUMBERS, Y, qid=QID)
    given = {row["params"].get("query_weight", query_weight) for row in ranker.history_}
    assert given == {query_weight}
    assert len({row["trial"] for row in ranker.history_}) == 6


def test_splitters_and_explicit_splits_agree():
    folds = list(GroupKFold(3).split(NUMBERS, Y, QID))
    by_splitter, by_rows = (
        AutoRanker(**SMALL | {"cv": cv}).fit(NUMBERS, Y, qid=QID) for cv in (GroupKFold(3), folds)
    )
    np.testing.assert_array_equal(by_splitter.predict(NUMBERS), by_rows.predict(NUMBERS))


BAD_SPLITS = [
    ([], "must give splits"),
    ([(np.arange(9), [])], "must give splits"),
    ([(np.arange(9), [N])], rf"row numbers from 0 to {N - 1}, got {N}"),
    ([(np.arange(9), [-1])], r"row numbers from 0 to \d+, got -1"),
    ([(np.arange(9), [0.5])], "must hold row numbers, got dtype float64"),
]


@pytest.mark.parametrize(("cv", "message"), BAD_SPLITS)
@pytest.mark.parametrize(
    "ranker",
    [
        AutoRanker(**SMALL),
        RidgeRanker("cv"),
        rankwise.StackingRanker(["ridge", "linear_regression"]),
    ],
)
def test_bad_splits_are_named(ranker, cv, message):
    ranker = type(ranker)(**ranker.get_params(deep=False) | {"cv": cv})
    with pytest.raises(ValueError, match=message):
        ranker.fit(NUMBERS, Y, qid=QID)


@pytest.mark.parametrize("row", [N, -1])
def test_bad_splits_beside_weights_are_named(row):
    weight = (np.arange(N) > 5).astype(float)
    ranker = RidgeRanker("cv", cv=[(np.arange(6, 20), [row])])
    with pytest.raises(ValueError, match=rf"row numbers from 0 to {N - 1}, got {row}"):
        ranker.fit(NUMBERS, Y, qid=QID, sample_weight=weight)


def test_progress_leaderboard_and_reasons(capsys):
    ranker = AutoRanker(1e-6, cv=2, random_state=0, verbose=True, n_trials=3)
    ranker.fit(NUMBERS, Y, qid=QID)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "AutoRanker: trial 1 of 3 (ridge), 0 s left"
    assert lines[1].startswith("AutoRanker: trial 2 of 3 (rank_svm pair), best 0.")
    assert [row["trial"] for row in ranker.skipped_] == ["rank_svm pair", "rank_svm document"]
    assert "rank_svm pair     not tried: time_budget is too short" in ranker.report()
    board = AutoRanker(**SMALL).fit(NUMBERS, Y, qid=QID).leaderboard()
    values = [row["value"] for row in board]
    assert values == sorted(values, reverse=True)
    assert all(row["low"] < row["value"] < row["high"] for row in board)


# A value other than the default of each parameter; a new parameter fails here until it has one.
OTHER_VALUES = {
    "time_budget": 60.0,
    "measure": "AP",
    "n_trials": 5,
    "cv": 3,
    "query_weight": "query",
    "clock": "cpu",
    "random_state": 7,
    "n_jobs": 2,
    "verbose": True,
}


@pytest.mark.parametrize("name", AutoRanker().get_params())
def test_every_parameter_is_saved_exported_and_explained(name, tmp_path):
    assert OTHER_VALUES[name] != AutoRanker().get_params()[name]
    ranker = AutoRanker(**SMALL | {"n_trials": 4, name: OTHER_VALUES[name]})
    ranker.fit(NUMBERS, Y, qid=QID)
    rankwise.save(ranker, tmp_path / "m")
    again = rankwise.load(tmp_path / "m")
    assert again.get_params() == ranker.get_params()
    assert again.report() == ranker.report()
    np.testing.assert_array_equal(again.predict(NUMBERS), ranker.predict(NUMBERS))
    to_onnx(ranker, tmp_path / "m.onnx")
    certificate = verify(ranker, tmp_path / "m.onnx", NUMBERS, qid=QID)
    assert certificate.largest_difference < 1e-4, str(certificate)
    told = explain_scores(ranker, NUMBERS[:5], NUMBERS[5:15])
    total = told.expected + told.values.sum(axis=1)
    np.testing.assert_allclose(total, ranker.predict(NUMBERS[:5]), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({"n_trials": 2}, "The scores of 2 of 2 trials are blended, with nDCG@10 = 0."),
        ({"n_trials": 2, "measure": "AP"}, "trials are blended, with AP = 0."),
        ({"n_trials": 2, "measure": "Misranking"}, "trials are blended, with Misranking = 0."),
        ({"n_trials": 1}, "Only ridge was tried, with nDCG@10 = 0."),
    ],
)
def test_reports_name_the_measure_as_it_is(options, choice):
    ranker = AutoRanker(None, cv=2, random_state=0, **options).fit(NUMBERS, Y, qid=QID)
    text = ranker.report()
    assert choice in text
    assert "-0." not in text
    assert ("No other trial was asked for." in text) == (options["n_trials"] == 1)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ([auto_report.TOO_SHORT], "time_budget was too short for 1 other."),
        ([auto_report.TOO_SHORT] * 2 + ["no pairs"], "short for 2 others and 1 other failed."),
    ],
)
def test_reports_count_the_trials_that_were_not_tried(reasons, said):
    history = [{"trial": "ridge", "family": "linear", "value": 0.5, "seconds": 1.0, "kept": True}]
    skipped = [{"trial": f"t{i}", "reason": reason} for i, reason in enumerate(reasons)]
    known = {"blend": 0.5, "linear": 0.5}
    text = auto_report.report_text(history, skipped, ["linear"], known, "AP", 1.0)
    assert text.endswith(said)


def test_reports_say_if_time_passed_outside_of_trials(monkeypatch):
    now = tick(monkeypatch)
    given = {"cv": 2, "random_state": 0, "clock": "cpu", "n_trials": 4}
    monkeypatch.setattr(auto, "fit_scaling", lambda X: _late(now, X))
    ranker = AutoRanker(2.0, **given).fit(NUMBERS, Y, qid=QID)
    *_, note, choice = ranker.report().splitlines()
    assert note.startswith("note: 3.")
    assert "s passed outside of the trials. The first fit compiles kernels; fit again, or" in note
    assert "Only ridge was tried" in choice
    assert "time_budget was too short for 3 others." in choice


def _late(now, X):
    now[0] += 3.0
    return fit_scaling(X)


def test_explanations_take_categories():
    X = _frame()
    ranker = AutoRanker(**SMALL).fit(X, Y, qid=QID)
    found = explain_pair(ranker, X.iloc[[0]], X.iloc[[1]])
    gap = np.diff(ranker.predict(X[:2])[::-1])[0]
    assert found.values.sum() == pytest.approx(gap, abs=1e-9)


def test_folds_of_few_distinct_rows_have_two_each():
    X = np.repeat(np.arange(5.0)[:, None], 6, axis=0)
    y = np.repeat([0, 1, 0, 2, 1], 6)
    weighted = AutoRanker(**{**SMALL, "cv": 5}).fit(X[::6], y[::6], sample_weight=[6] * 5)
    repeated = AutoRanker(**{**SMALL, "cv": 5}).fit(X, y)
    np.testing.assert_array_equal(repeated.predict(X), weighted.predict(X))
    trees = [model for model in repeated.models_ if isinstance(model, rankwise.LambdaMART)]
    assert len(trees) in (0, 2)


@pytest.mark.parametrize("n_distinct", [2, 3])
def test_rows_too_few_to_hold_out_are_named(n_distinct):
    X, y = np.arange(float(n_distinct))[:, None], np.arange(n_distinct)
    with pytest.warns(UserWarning, match=f"AutoRanker holds no rows out.* only {n_distinct} dist"):
        ranker = AutoRanker(**SMALL).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert (np.diff(ranker.predict(X)) > 0).all()
    with pytest.raises(ValueError, match="n_samples=1"):
        AutoRanker(**SMALL).fit(X[:1], y[:1])


def test_only_dates_are_refused():
    with pytest.raises(ValueError, match="got only columns that hold no numbers: day"):
        AutoRanker(**SMALL).fit(pd.DataFrame({"day": pd.date_range("2024-01-01", periods=N)}), Y)


def test_trees_read_any_number_of_categories():
    rng = np.random.default_rng(2)
    ids = np.array([f"id{k:04}" for k in rng.permutation(400)], dtype=object)
    names = np.repeat(ids, 3)
    good = np.isin(names, ids[:200]).astype(float)
    frame = pd.DataFrame({"name": names, "x": rng.normal(size=len(names))})
    qid = rng.permutation(len(names)) % 40
    ranker = AutoRanker(**SMALL).fit(frame, good, qid=qid)
    assert not ranker.skipped_
    trees = [model for model in ranker.models_ if isinstance(model, rankwise.LambdaMART)]
    assert trees
    assert all(set(model.columns_.statistics) == {0} for model in trees)
    assert sorted(ranker.columns_.nominal[0]) == sorted(ids)
    assert ranker.score(frame, good, qid=qid) > 0.8
    rows = frame.assign(name=["new", None, *ids[[0, 300]], *names[4:]])
    coded = ranker._encode(rows).rows["name"]
    assert coded[0] == -1
    assert np.isnan(coded[1])
    values = trees[0]._encode(np.column_stack([coded, frame["x"]])).rows[:4, 0]
    assert values[0] == trees[0].columns_.prior[0]
    assert values[2] > 0 > values[3]


def test_a_family_without_a_trial_is_named():
    weight = np.random.default_rng(0).random(N) + 0.5
    with pytest.warns(UserWarning, match="leaves out the family 'trees', .* whole numbers for AP"):
        AutoRanker(**SMALL, measure="AP").fit(NUMBERS, Y > 0, qid=QID, sample_weight=weight)


def test_trials_are_not_started_if_they_must_take_longer(monkeypatch):
    ridge, svm, _, nodes = islice(settings("nDCG@10", True, 0, 1), 4)
    assert ridge.least_seconds([(10_000, 30_000), (20_000, 10_000)]) == pytest.approx(600)
    assert svm.least_seconds([(10_000, 30_000)]) == 0
    assert nodes.least_seconds([(10, 20_000), (10, 20_000)]) == pytest.approx(4, rel=1e-3)
    assert nodes.least_seconds([(2000, 10), (2000, 10)]) == pytest.approx(0.302)
    monkeypatch.setattr(auto_trials, "_SECONDS_A_CUBE", 1e6)
    monkeypatch.setattr(auto_trials, "_SECONDS_A_WEIGHT", 1e6)
    given = {"cv": 2, "random_state": 0}
    ranker = AutoRanker(50.0, n_trials=4, **given).fit(NUMBERS, Y, qid=QID)
    assert [row["trial"] for row in ranker.history_] == ["rank_svm pair", "rank_svm document"]
    assert [row["trial"] for row in ranker.skipped_] == ["ridge", "pairwise_elm pair"]
    with pytest.raises(ValueError, match="The last error: time_budget is too short"):
        AutoRanker(50.0, n_trials=1, **given).fit(NUMBERS, Y, qid=QID)
    everything = AutoRanker(None, n_trials=4, **given).fit(NUMBERS, Y, qid=QID)
    assert len(everything.history_) == 4


def test_trials_share_the_time_that_is_left(monkeypatch):
    now = tick(monkeypatch)
    given = {"cv": 2, "random_state": 0, "clock": "cpu", "n_trials": 3}
    ranker = AutoRanker(2.0, **given).fit(NUMBERS, Y, qid=QID)
    ridge, *svms = ranker.history_
    assert not ridge["cut"]
    # A quarter of the seconds that are left, and what a fit asks of the clock after the last step.
    assert [row["cut"] for row in svms] == [True, True]
    assert [row["seconds"] <= 0.25 * 2.0 + 0.05 for row in svms] == [True, True]
    assert ranker.report().count("cut short") == 2
    now[0] = 0.0
    whole = AutoRanker(8.0, **given).fit(NUMBERS, Y, qid=QID)
    assert not any(row["cut"] for row in whole.history_)
    assert whole.seconds_ > ranker.seconds_


def test_trees_without_time_are_probed_once(monkeypatch):
    probed = []
    monkeypatch.setattr(TimeBudget, "probe", lambda *_: probed.append(1) or 1e6)
    ranker = AutoRanker(50.0, cv=2, n_trials=8, random_state=0).fit(NUMBERS, Y, qid=QID)
    assert [row["trial"] for row in ranker.skipped_] == [f"lambdamart {k}" for k in (1, 2, 3)]
    assert len(probed) == 1
