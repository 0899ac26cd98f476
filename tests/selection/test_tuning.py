"""Parameters are chosen on the validation part, by the selection measure, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import ELMRank, LambdaMART, RankingData, RidgeRanker
from rankwise.metrics import parse
from rankwise.prediction import scores_of
from rankwise.selection.cells.fold_tuning import fit, prepare, tune
from tests.selection.helpers import Column, Moody, Validated, graded_data, one_fold

NDCG, MISRANKING = parse("nDCG@5"), parse("misranking")


@pytest.mark.parametrize("select", [NDCG, MISRANKING])
def test_a_grid_is_searched_on_the_validation_part(rng, select):
    fold = one_fold(rng)
    tuned = tune(Column(), fold.train, fold.vali, select, space={"column": [2, 0, 1, 3]})
    vali = fold.vali
    expected = [select.mean(vali.y, vali.X[:, j], vali.groups) for j in (2, 0, 1, 3)]
    assert [s["score"] for s in tuned.search] == expected
    assert [s["params"] for s in tuned.search] == [{"column": j} for j in (2, 0, 1, 3)]
    best = np.argmax(expected) if select.greater_is_better else np.argmin(expected)
    assert tuned.chosen == {"column": (2, 0, 1, 3)[best]} == {"column": 0}
    assert tuned.estimator.received_["qid"] is fold.train.qid


def test_the_first_of_the_best_wins_also_where_nothing_counts(rng):
    fold = one_fold(rng)
    tied = tune(Column(), fold.train, fold.vali, NDCG, space={"noise": [0.0, 0], "column": [1]})
    assert tied.chosen == {"noise": 0.0, "column": 1}
    assert isinstance(tied.chosen["noise"], float)
    blank = replace(fold.vali, y=np.zeros(fold.vali.n_samples))
    tuned = tune(Column(), fold.train, blank, NDCG, space={"column": [3, 0]})
    assert np.isnan([s["score"] for s in tuned.search]).all()
    assert tuned.chosen == {"column": 3}


def test_without_a_validation_part_a_grid_holds_out_training_queries(rng):
    fold = one_fold(rng)
    tuned = tune(Column(), fold.train, None, NDCG, space={"column": [0, 1]})
    fitted_on = set(tuned.estimator.received_["qid"])
    assert len(fitted_on) == 8  # of 10
    assert fitted_on < set(fold.train.qid)
    assert tuned.notes == ["no validation part: held out 2 of 10 queries"]
    again = tune(Column(), fold.train, None, NDCG, space={"column": [0, 1]})
    assert set(again.estimator.received_["qid"]) == fitted_on
    with pytest.raises(ValueError, match="at least 2 training queries"):
        tune(Column(), fold.train.queries([0]), None, NDCG, space={"column": [0, 1]})


def test_without_a_validation_part_all_rows_grow_the_number_of_trees(rng):
    fold = one_fold(rng)
    train, given = fold.train, LambdaMART(200, early_stopping_rounds=5, min_samples_leaf=2)
    tuned = tune(given, train, None, NDCG, random_state=3)
    told = [
        "no validation part: kept 100 trees, because no other number was clearly better by 5 folds "
        "of 10 queries, then fitted all rows"
    ]
    assert tuned.notes == told
    assert tuned.chosen == {}
    direct = clone(given).set_params(measure=str(NDCG), random_state=3, n_estimators=100)
    assert tuned.estimator.get_params() == direct.get_params()
    direct.fit(train.X, train.y, qid=train.qid)
    np.testing.assert_array_equal(tuned.estimator.predict(train.X), direct.predict(train.X))
    few = tune(given, train, fold.vali, NDCG).notes
    assert few == [
        "fewer than 100 validation queries chose the number of rounds and were not trained on. "
        "refit=True with cv=5 also trains on them, and chooses by folds of all queries"
    ]
    for params, note in (
        ({"refit": True}, "chose {} rounds on 5 validation queries, then fitted all rows"),
        ({"cv": 5}, "chose {} rounds by 5 folds of 10 queries, then fitted all rows"),
        (
            {"cv": 5, "refit": True},
            "chose {} rounds by 5 folds of 15 queries, then fitted all rows",
        ),
        ({"early_stopping_rounds": None}, None),
    ):
        tuned = tune(clone(given).set_params(**params), train, fold.vali, NDCG)
        number = tuned.estimator.n_estimators_
        assert tuned.notes == ([] if note is None else [note.format(number)])
    assert few[0] in tune(given, train, fold.vali, NDCG, space={"max_leaf_nodes": [2, 3]}).notes
    # Those who ask for early stopping get it, whatever else is chosen.
    assert tune(given, train, None, NDCG, early_stopping=False).notes == told
    assert tune(LambdaMART(7), train, None, NDCG).estimator.n_estimators == 7


def test_an_estimator_with_a_path_gets_the_validation_part(rng):
    fold = one_fold(rng)
    tuned = tune(Validated(), fold.train, fold.vali, NDCG)
    assert tuned.estimator.n_val_ == fold.vali.n_samples
    assert tuned.chosen == {"C": 0.0}
    assert [s["params"] for s in tuned.search] == [{"C": j} for j in range(4)]
    assert np.argmax([s["score"] for s in tuned.search]) == 0
    assert tuned.estimator.measure == str(NDCG)
    alone = tune(Validated(), fold.train, None, NDCG)
    assert (alone.estimator.C, alone.estimator.n_val_, alone.chosen) == ("cv", 0, {"C": 0.0})
    assert alone.notes == ["no validation part: C by cross-validation over training queries"]
    assert tune(Validated(C="cv"), fold.train, None, NDCG).notes == []


def test_given_estimators_stay_as_they_are(rng):
    fold = one_fold(rng)
    given = Validated()
    tune(given, fold.train, fold.vali, NDCG)
    assert given.get_params() == {"C": "val", "measure": "none"}
    assert not hasattr(given, "C_")


def test_seeds_that_are_open_are_set_and_measures_are_the_selection_measure():
    pipeline = make_pipeline(StandardScaler(), Column())
    assert prepare(pipeline, NDCG, 7).get_params()["column__random_state"] == 7
    assert prepare(Column(random_state=3), NDCG, 7).random_state == 3
    search = GridSearchCV(Validated(), {"C": [1.0]})
    assert prepare(search, NDCG, 7).estimator.measure == str(NDCG)
    assert search.estimator.measure == "none"


def test_metadata_reach_those_who_take_them(rng):
    data = replace(graded_data(rng, as_text=True), sample_weight=rng.random(160))
    ranker = Column()
    assert fit(ranker, data) == []
    np.testing.assert_array_equal(ranker.received_["qid"], data.qid)
    np.testing.assert_array_equal(ranker.received_["sample_weight"], data.sample_weight)
    assert fit(HistGradientBoostingRegressor(max_iter=2), data) == []
    assert fit(Moody("fine"), data) == [
        "fitted without sample_weight, which its fit does not accept"
    ]


def test_pipelines_and_searches_are_routed(rng):
    data = replace(graded_data(rng, as_text=True), sample_weight=rng.random(160) + 0.1)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = make_pipeline(scaler, RidgeRanker())
    assert fit(pipeline, data) == []
    scaled = StandardScaler().fit_transform(data.X)
    alone = RidgeRanker().fit(scaled, data.y, qid=data.qid, sample_weight=data.sample_weight)
    np.testing.assert_allclose(pipeline.predict(data.X), alone.predict(scaled))
    grid = {"ridgeranker__alpha": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(4), error_score="raise")
    assert fit(search, data) == []
    assert search.n_splits_ == 4
    assert tune(search, data, None, NDCG).chosen == search.best_params_
    assert len(tune(search, data, None, NDCG).search) == 3
    # A step that has not said whether it wants the weights: scikit-learn asks, nothing is dropped.
    with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
        fit(make_pipeline(StandardScaler(), RidgeRanker()), data)
    plain = make_pipeline(StandardScaler(), Ridge())
    assert fit(plain, data) == ["fitted without sample_weight, which its fit does not accept"]


def test_sparse_rows_are_passed_on(rng):
    data = graded_data(rng)
    data = replace(data, X=sparse.csr_array(data.X))
    model = Ridge()
    fit(model, data)
    assert scores_of(model, data.X).shape == (160,)


@pytest.mark.parametrize(
    ("mood", "message"), [("nan", "finite scores, got nan at row 0"), ("short", r"shape \(160,\)")]
)
def test_scores_must_be_one_finite_number_per_row(rng, mood, message):
    data = graded_data(rng)
    with pytest.raises(ValueError, match=message):
        scores_of(Moody(mood).fit(data.X, data.y), data.X)


def test_an_ordinal_estimator_is_ranked_by_its_rank_score(rng):
    class Ordinal(Column):
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

        def rank_score(self, X):
            return X[:, [1]]

    X = graded_data(rng).X
    np.testing.assert_array_equal(scores_of(Ordinal(), X), X[:, 1])


def test_what_every_draw_chose_is_a_number_where_they_agree(rng):
    fold = one_fold(rng)
    tuned = tune(ELMRank(20, lam="val", alpha=[0.5, 0.25], n_draws=3), fold.train, fold.vali, NDCG)
    assert set(tuned.chosen) == {"lam", "alpha"}
    for name, values in (("lam", tuned.estimator.lam_), ("alpha", tuned.estimator.alpha_)):
        agree = len(set(values)) == 1
        assert tuned.chosen[name] == (values[0] if agree else values.tolist())
    assert tune(ELMRank(20, lam=0.5, n_draws=3), fold.train, None, NDCG).chosen == {}
    assert tune(RidgeRanker(alpha=np.array([1.0, 2.0])), fold.train, fold.vali, NDCG).chosen


def test_a_chosen_number_of_trees_is_that_of_the_model(rng):
    X = rng.normal(size=(480, 4))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=480)), 0, 2)
    data = RankingData(X, y, qid=np.repeat(np.arange(60), 8))
    train, vali = data.queries(np.arange(30)), data.queries(np.arange(30, 60))
    whole = tune(LambdaMART(n_estimators=40, learning_rate=0.5), train, vali, "AP")
    assert whole.estimator.best_iteration_ < whole.estimator.n_estimators_ == 40
    assert whole.chosen == {}
    cut = tune(whole.estimator.set_params(early_stopping_rounds=3), train, vali, "AP")
    assert cut.chosen == {"n_estimators": cut.estimator.n_estimators_} != {"n_estimators": 40}
