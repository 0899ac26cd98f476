"""Comparing and tuning ordinal estimators: scores for rankings, classes for label measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import ORBoost, RankingTree, RidgeRanker, compare, evaluate
from rankwise._registry import REGISTRY
from rankwise.metrics import confusion, make_scorer, parse
from rankwise.prediction import predictions, scores_of
from rankwise.selection import Leaderboard
from rankwise.selection.cells.fold_tuning import tune
from tests.ordinal_column import OrdinalColumn
from tests.selection.helpers import Column, graded_data, one_fold

SPECS = ["nDCG@5", "MAE", "ZeroOne", "Kappa", "Kappa(weights='quadratic')", "MacroMAE", "Within"]


def measured(data, scores, specs=SPECS):
    return list(evaluate(data.y, scores, data.qid, specs).values())


def test_rankings_are_measured_by_the_score_and_ranks_by_the_class(rng):
    fold = one_fold(rng)
    board = compare({"ordinal": OrdinalColumn()}, fold, measures=SPECS)
    model = OrdinalColumn().fit(fold.train.X, fold.train.y)
    row = board.rows()[0]["measures"]
    got = [row[name]["mean"] for name in board.measures]
    by_score, by_class = (
        measured(fold.test, said)
        for said in (model.rank_score(fold.test.X), model.predict(fold.test.X))
    )
    assert got == pytest.approx([by_score[0], *by_class[1:]])
    assert by_score[0] != pytest.approx(by_class[0])  # ties among classes would cost
    assert board.rows()[0]["notes"] == []


def test_measures_of_ranks_say_that_a_ranker_predicts_none(rng):
    fold = one_fold(rng)
    board = compare({"plain": Column()}, fold, measures=["nDCG@5", "MAE", "Kappa"])
    assert board.rows()[0]["notes"] == [
        "it predicts no classes: MAE, Kappa of its scores as they are"
    ]
    wanted = measured(fold.test, fold.test.X[:, 0], ["nDCG@5", "MAE", "Kappa"])
    assert [board.rows()[0]["measures"][m]["mean"] for m in board.measures] == pytest.approx(wanted)
    assert board.cells[0].ranks == {}


def test_a_plain_classifier_has_its_classes_measured(rng):
    fold = one_fold(rng)
    board = compare({"logistic": LogisticRegression()}, fold, measures=["MAE"])
    model = LogisticRegression().fit(fold.train.X, fold.train.y)
    assert board.rows()[0]["mean"] == pytest.approx(
        measured(fold.test, model.predict(fold.test.X), ["MAE"])[0]
    )
    assert board.rows()[0]["notes"] == []


@pytest.mark.parametrize("wrap", ["pipeline", "search", "search in pipeline"])
def test_pipelines_and_searches_rank_by_the_score_inside(rng, wrap):
    data = graded_data(rng)
    search = GridSearchCV(OrdinalColumn(), {"column": [0, 1]}, cv=3)
    model = {
        "pipeline": make_pipeline(StandardScaler(), OrdinalColumn()),
        "search": search,
        "search in pipeline": make_pipeline(StandardScaler(), search),
    }[wrap].fit(data.X, data.y)
    told = predictions(model, data.X)
    X = data.X if wrap == "search" else StandardScaler().fit_transform(data.X)
    np.testing.assert_allclose(told.scores, X[:, 0])
    np.testing.assert_array_equal(told.labels, model.predict(data.X))
    assert len(np.unique(told.labels)) == 3
    alone = make_pipeline(OrdinalColumn()).fit(data.X, data.y)
    np.testing.assert_array_equal(scores_of(alone, data.X), data.X[:, 0])


@pytest.mark.parametrize(("measure", "wanted"), [("MAE", 0.0), ("nDCG@5", 0.0), ("Kappa", 0.0)])
def test_a_grid_is_searched_by_labels_or_scores_as_the_measure_reads_them(rng, measure, wanted):
    """Both settings rank alike for nDCG and the first wins; only one has the right thresholds."""
    fold = one_fold(rng)
    space = {"shift": [5.0, 0.0]}
    tuned = tune(OrdinalColumn(), fold.train, fold.vali, parse(measure), space=space)
    by_setting = {s["params"]["shift"]: s["score"] for s in tuned.search}
    if measure == "nDCG@5":
        assert by_setting[5.0] == by_setting[0.0]
        assert tuned.chosen == {"shift": 5.0}
        return
    assert tuned.chosen == {"shift": wanted}
    model = OrdinalColumn(shift=5.0).fit(fold.train.X, fold.train.y)
    labels = model.predict(fold.vali.X)
    assert by_setting[5.0] == pytest.approx(measured(fold.vali, labels, [measure])[0])


def test_grades_from_two_on_and_a_class_that_only_the_test_part_has(rng):
    fold = one_fold(rng)
    few = replace(fold.train, y=np.minimum(fold.train.y, 1.0) + 2)
    fold = replace(fold, train=few, test=replace(fold.test, y=fold.test.y + 2))
    cell = compare({"ordinal": OrdinalColumn()}, fold, measures=["MAE"]).cells[0]
    assert cell.status == "done"
    assert cell.ranks["classes"] == [2.0, 3.0, 4.0]
    assert np.array(cell.ranks["counts"])[:, 2].sum() == 0


def test_a_cell_keeps_its_confusion_and_how_scores_lie_about_thresholds(rng, tmp_path):
    fold = one_fold(rng)
    board = compare({"ordinal": OrdinalColumn()}, fold, measures=["MAE"], store=tmp_path / "store")
    ranks = board.cells[0].ranks
    model = OrdinalColumn().fit(fold.train.X, fold.train.y)
    found = confusion(fold.test.y, model.predict(fold.test.X))
    np.testing.assert_array_equal(ranks["counts"], found.counts)
    np.testing.assert_allclose(ranks["thresholds"], model.thresholds_)
    edges, heights = np.array(ranks["edges"]), np.array(ranks["heights"])
    assert heights.shape == (3, len(edges) - 1)
    scores, y = model.rank_score(fold.test.X), fold.test.y
    shown = (scores >= edges[0]) & (scores <= edges[-1])
    assert 0.9 < shown.mean() <= 1
    np.testing.assert_array_equal(heights.sum(axis=1), np.bincount(y[shown].astype(int)))
    assert edges[0] < model.thresholds_[0] < model.thresholds_[-1] < edges[-1]
    again = compare({"ordinal": OrdinalColumn()}, fold, measures=["MAE"], store=tmp_path / "store")
    assert again.cells[0].ranks == ranks
    board.to_json(tmp_path / "b.json")
    assert Leaderboard.from_json(tmp_path / "b.json").cells[0].ranks == ranks


def test_scorers_rank_by_the_score_and_measure_ranks_by_the_class(rng):
    data = graded_data(rng)
    X, y, qid = data.X, data.y, data.qid
    for model in (OrdinalColumn(), make_pipeline(StandardScaler(), OrdinalColumn())):
        model.fit(X, y)
        inner = OrdinalColumn().fit(X, y)
        ranking = evaluate(y, inner.rank_score(X), qid, ["nDCG@5"])["nDCG@5"]
        assert make_scorer("nDCG@5")(model, X, y, qid=qid) == pytest.approx(ranking)
        loss = evaluate(y, model.predict(X), qid, ["MAE"])["MAE"]
        assert make_scorer("MAE")(model, X, y, qid=qid) == -loss
    labels = evaluate(y, inner.predict(X), qid, ["nDCG@5"])["nDCG@5"]
    assert ranking > labels


def test_a_search_with_a_scorer_of_ranks_is_kept_in_a_file(rng, tmp_path):
    data = graded_data(rng)
    search = GridSearchCV(
        Ridge(), {"alpha": [1.0, 10.0]}, scoring=make_scorer("Kappa(weights=quadratic)"), cv=3
    ).fit(data.X, data.y)
    again = rankwise.load(rankwise.save(search, tmp_path / "search"), trusted=[KFold])
    assert again.scoring.measure == search.scoring.measure
    assert again.score(data.X, data.y) == search.score(data.X, data.y)


def test_a_path_by_a_criterion_of_its_own_is_told(rng):
    fold = one_fold(rng)
    tuned = tune(RankingTree(max_depth="val"), fold.train, fold.vali, parse("nDCG@5"))
    losses = [-setting["score"] for setting in tuned.search]
    assert tuned.chosen == {
        "max_depth": tuned.search[int(np.argmin(losses))]["params"]["max_depth"]
    }
    assert tuned.notes == ["max_depth chosen by its own criterion, not by nDCG"]
    assert tune(RankingTree(max_depth=2), fold.train, fold.vali, parse("MAE")).notes == []
    within = tune(RankingTree(max_depth="val"), fold.train, None, parse("MAE"))
    assert within.notes[0].startswith("no validation part: max_depth by cross-validation")


@pytest.mark.parametrize("measure", ["nDCG@5", "MAE"])
def test_early_stopping_follows_the_measure(rng, measure):
    fold = one_fold(rng)
    booster = ORBoost(n_estimators=60, early_stopping_rounds=10)
    tuned = tune(booster, fold.train, fold.vali, parse(measure))
    told = parse(measure).read(predictions(tuned.estimator, fold.vali.X))
    best = tuned.estimator.validation_scores_[tuned.estimator.n_estimators_ - 1]
    assert best == pytest.approx(measured(fold.vali, told, [measure])[0])
    assert tuned.chosen == {"n_estimators": tuned.estimator.n_estimators_}
    (note,) = tuned.notes
    assert note.startswith("fewer than 100 validation queries chose the number of rounds")


@pytest.mark.parametrize("key", [k for k, entry in REGISTRY.items() if entry.kind == "ordinal"])
def test_every_ordinal_estimator_is_compared_by_its_key(rng, key):
    """Float grades are classes; what ``compare`` tunes is chosen; the cell has its ranks."""
    fold = one_fold(rng)
    board = compare(key, fold, measures=["MAE", "nDCG@5"])
    cell = board.cells[0]
    assert cell.status == "done", cell.message
    assert cell.ranks["classes"] == [0.0, 1.0, 2.0]
    assert np.sum(cell.ranks["counts"]) == fold.test.n_samples
    majority = np.abs(fold.test.y - np.median(fold.train.y)).mean()
    assert board.rows()[0]["mean"] < majority
    assert (cell.chosen != {}) == bool(cell.search) or key == "orboost"


@pytest.mark.parametrize("measure", ["MAE", "Kappa"])
def test_a_path_of_scores_without_classes_follows_m1d(rng, measure):
    """Its held-out scores lack the intercept, so that the rank loss would choose at random."""
    fold = one_fold(rng)
    tuned = tune(RidgeRanker(alpha="val"), fold.train, fold.vali, parse(measure))
    alone = tune(RidgeRanker(alpha="val"), fold.train, fold.vali, parse("M1D"))
    assert (tuned.chosen, tuned.search) == (alone.chosen, alone.search)
    assert f"alpha chosen by M1D, not by {measure}" in tuned.notes
    assert set(tuned.notes) - set(alone.notes) == {f"alpha chosen by M1D, not by {measure}"}
    pipeline = make_pipeline(StandardScaler(), ORBoost(n_estimators=5))
    assert tune(pipeline, fold.train, fold.vali, parse(measure)).notes == []
    params = tune(pipeline, fold.train, None, parse(measure)).estimator.get_params()
    assert params["orboost__measure"] == str(parse(measure))
