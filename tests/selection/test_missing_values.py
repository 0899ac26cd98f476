"""Rankers that do not accept NaN are fitted behind an imputer where values are missing."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline

import rankwise
from rankwise import (
    AdaRank,
    LambdaMART,
    LinearRegressionRanker,
    PairwiseELM,
    RankBoost,
    RankSVM,
    RidgeRanker,
    ScoreBlend,
    StackingRanker,
    SVRRanker,
    compare,
    export,
)
from rankwise.ordinal import ORBoost, ProportionalOdds
from rankwise.selection import learning_curve, tune
from rankwise.selection.cells.fold_tuning import FILLED, _hold_out
from tests.selection.helpers import one_fold

NAMES = ["bm25", "price", "age", "clicks"]


def fold_with_gaps(rng, *parts, column=1, share=0.3):
    """A fold whose parts of these names have gaps in a column."""
    fold = one_fold(rng)
    changed = {}
    for part in ("train", "vali", "test"):
        data = getattr(fold, part)
        X = data.X.copy()
        if part in parts:
            X[rng.random(len(X)) < share, column] = np.nan
            X[0, column] = np.nan
        changed[part] = replace(data, X=X, feature_names=NAMES)
    return replace(fold, **changed)


def scores_of_array(model, X):
    """Scores of an array by a pipeline that was fitted on named columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return rankwise.scores(model, X)


def by_hand(ranker, fold, **parameters):
    """Scores of the test part by a pipeline that is put together from its parts."""
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    X, X_val = imputer.fit_transform(fold.train.X), imputer.transform(fold.vali.X)
    if parameters:
        validation = {"X_val": X_val, "y_val": fold.vali.y, "qid_val": fold.vali.qid}
        ranker.set_params(**parameters).fit(X, fold.train.y, qid=fold.train.qid, **validation)
    else:
        ranker.fit(X, fold.train.y, qid=fold.train.qid)
    return ranker.predict(imputer.transform(fold.test.X))


@pytest.mark.parametrize("parts", [("train", "vali", "test"), ("train",), ("vali",)])
@pytest.mark.parametrize(
    ("ranker", "parameters"),
    [(LinearRegressionRanker(), {}), (RidgeRanker(), {"alpha": "val"}), (RankSVM(), {})],
)
def test_the_pipeline_is_that_by_hand(rng, ranker, parameters, parts):
    fold = fold_with_gaps(rng, *parts)
    tuned = tune(ranker.set_params(**parameters), fold.train, fold.vali, "nDCG@10")
    assert isinstance(tuned.estimator, Pipeline) and tuned.notes[0] == FILLED
    assert tuned.estimator.feature_names_in_.tolist() == NAMES
    found = scores_of_array(tuned.estimator, fold.test.X)
    np.testing.assert_array_equal(found, by_hand(ranker, fold, **parameters))


@pytest.mark.parametrize("parts", [("train", "vali", "test"), ("train",), ("vali",), ("test",)])
def test_every_part_may_have_gaps(rng, parts):
    fold = fold_with_gaps(rng, *parts)
    keys = ["linear_regression", "ridge()", "pointwise_elm", "ada_rank", ProportionalOdds()]
    board = compare(keys, fold, isolate=False)
    assert {cell.status for cell in board.cells} == {"done"}, [c.message for c in board.cells]
    assert all(cell.notes.count(FILLED) == 1 for cell in board.cells)
    assert not any("feature names" in note for cell in board.cells for note in cell.notes)


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_a_grid_and_a_column_without_a_value(rng, value):
    fold = fold_with_gaps(rng, "train", share=1.1)
    fold.test.X[:, 1] = value
    tuned = tune(RankSVM(), fold.train, fold.vali, "nDCG@10", space={"C": [0.01, 1.0]})
    assert tuned.chosen.keys() == {"C"}
    assert np.isfinite(scores_of_array(tuned.estimator, fold.test.X)).all()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("refit", [False, True])
def test_medians_do_not_see_queries_that_a_grid_holds_out(rng, refit, is_sparse):
    train = fold_with_gaps(rng, "train").train
    kept, held = _hold_out(train, 3)
    rows = np.isin(train.qid, held.qid)
    train.X[rows] += 10.0
    train = replace(train, X=sparse.csr_matrix(train.X)) if is_sparse else train
    space = {"alpha": [0.01, 100.0]}
    tuned = tune(
        RidgeRanker(), train, None, "nDCG@10", space=space, refit=refit, random_state=3
    )  # fmt: skip
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    imputer.fit(train.X[~rows])
    inner, outer = (
        replace(part, X=imputer.transform(X), feature_names=None)
        for part, X in ((kept, train.X[~rows]), (held, train.X[rows]))
    )
    expected = tune(RidgeRanker(), inner, outer, "nDCG@10", space=space, random_state=3)
    assert (tuned.search, tuned.chosen) == (expected.search, expected.chosen)
    assert tuned.notes[:2] == [FILLED, f"no validation part: held out {held.n_queries} of "
                               f"{train.n_queries} queries"]  # fmt: skip
    assert tuned.notes.count(FILLED) == 1
    filled, model = tuned.estimator
    medians = imputer.fit(train.X if refit else train.X[~rows]).statistics_
    np.testing.assert_array_equal(filled.statistics_, medians)
    assert filled.feature_names_in_.tolist() == NAMES and model.alpha == tuned.chosen["alpha"]


def test_sparse_gaps(rng):
    fold = fold_with_gaps(rng, "train", "test")
    parts = {
        name: replace(getattr(fold, name), X=sparse.csr_matrix(getattr(fold, name).X))
        for name in ("train", "vali", "test")
    }
    board = compare(["linear_regression", "rank_svm()"], replace(fold, **parts), isolate=False)
    assert {cell.status for cell in board.cells} == {"done"}, [c.message for c in board.cells]


def test_text_beside_gaps(rng):
    fold = fold_with_gaps(rng, "train", "test")
    brands = {3: np.array(["a", "b"], dtype=object)}
    for part in (fold.train, fold.vali, fold.test):
        part.X[:, 3] = rng.integers(2, size=len(part.X))
        part.X[1, 3] = np.nan
    parts = {name: replace(getattr(fold, name), categories=brands) for name in
             ("train", "vali", "test")}  # fmt: skip
    board = compare(["ridge", "lambdamart()"], replace(fold, **parts), isolate=False)
    assert {cell.status for cell in board.cells} == {"done"}, [c.message for c in board.cells]
    assert [FILLED in cell.notes for cell in board.cells] == [True, False]


@pytest.mark.parametrize("estimator", [LambdaMART(n_estimators=3), make_pipeline(SimpleImputer(),
                                       Ridge())])  # fmt: skip
def test_estimators_that_accept_gaps_or_are_not_ours_run_unchanged(rng, estimator):
    fold = fold_with_gaps(rng, "train", "vali", "test")
    tuned = tune(estimator, fold.train, fold.vali, "nDCG@10")
    assert type(tuned.estimator) is type(estimator) and FILLED not in tuned.notes
    (cell,) = compare({"other": Ridge()}, fold, isolate=False).cells
    assert cell.status == "failed" and "contains NaN" in cell.message


@pytest.mark.parametrize(
    ("members", "is_filled"),
    [([LambdaMART(3), RankBoost(3)], False), ([LambdaMART(3), RidgeRanker()], True)],
)
@pytest.mark.parametrize("ensemble", [StackingRanker, ScoreBlend])
def test_ensembles_are_filled_if_a_member_does_not_accept_gaps(rng, ensemble, members, is_filled):
    fold = fold_with_gaps(rng, "train", "test")
    found = tune(ensemble(members), fold.train, None, "nDCG@10", random_state=0)
    assert (FILLED in found.notes) == isinstance(found.estimator, Pipeline) == is_filled
    assert np.isfinite(scores_of_array(found.estimator, fold.test.X)).all()


def test_learning_curves_say_it_once_a_board(rng):
    fold = fold_with_gaps(rng, "train", "test")
    curve = learning_curve(["ridge", "rank_svm()"], fold, [5, 10], isolate=False)
    for board in curve.boards:
        assert {cell.status for cell in board.cells} == {"done"}
        assert str(board).count(FILLED) == 1


def test_a_model_of_complete_rows_names_the_column_of_a_gap(rng):
    model = tune(RidgeRanker(), fold_with_gaps(rng).train, None, "nDCG@10").estimator
    with (
        pytest.raises(ValueError, match=r"NaN at row 1, column 2 \('age'\)\. Impute or drop"),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        model.predict(np.array([[0.0] * 4, [0.0, 0.0, np.nan, 0.0]]))


@pytest.mark.parametrize(("part", "name"), [("train", "X"), ("vali", "X_val")])
def test_infinity_is_named_not_filled(rng, part, name):
    fold = fold_with_gaps(rng, "train", "vali")
    getattr(fold, part).X[4, 2] = np.inf
    with pytest.raises(ValueError, match=rf"{name} contains infinity at row 4, column 2 \('age'\)"):
        tune(RidgeRanker(), fold.train, fold.vali, "nDCG@10")


def test_saved_models_fill_other_tables(rng, tmp_path):
    fold = fold_with_gaps(rng, "train", "test")
    tuned = tune(ProportionalOdds(), fold.train, None, "MAE")
    loaded = rankwise.load(rankwise.save(tuned.estimator, tmp_path / "m.rankwise"))
    for rows in (fold.test.X, np.full_like(fold.test.X, np.nan)):
        expected = scores_of_array(tuned.estimator, rows)
        np.testing.assert_array_equal(scores_of_array(loaded, rows), expected)


LINEAR = ["onnx", "python", "solr", "elasticsearch", "ranklib"]
LEAVE = {
    "ridge": (RidgeRanker(), LINEAR),
    "ada_rank": (AdaRank(), LINEAR),
    "ordinal": (ProportionalOdds(), LINEAR),
    "network": (PairwiseELM(n_nodes=20, random_state=0), ["onnx", "python", "solr"]),
    "kernel": (SVRRanker(), ["onnx"]),
    "trees": (ORBoost(n_estimators=5), [*LINEAR, "lightgbm", "xgboost", "vespa", "opensearch"]),
}


@pytest.mark.filterwarnings("ignore:.*missing values:UserWarning")
@pytest.mark.parametrize("ranker", LEAVE)
def test_they_leave_as_the_ranker_itself_does(rng, ranker, tmp_path):
    estimator, formats = LEAVE[ranker]
    fold = fold_with_gaps(rng, "train")
    model = tune(estimator, fold.train, None, "nDCG@10", random_state=0).estimator
    rows = pd.DataFrame(fold.test.X, columns=NAMES)
    rows[rng.random(rows.shape) < 0.2] = np.nan  # also columns without gaps in training
    assert export.export_formats(model) == formats
    for name in formats:
        path = tmp_path / f"model.{name}"
        given = {"features": ["f1", "f2", "f3", "f4", "f5"]} if name == "vespa" else {}
        getattr(export, f"to_{name}")(model, path, **given)
        certificate = export.verify(model, path, rows, qid=fold.test.qid, **given)
        assert certificate.holds and certificate.n_rows == len(rows), f"{name}: {certificate}"
