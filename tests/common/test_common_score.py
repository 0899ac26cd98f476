"""``score`` of every estimator is the measure that the fit chose, as evaluate computes it."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import RankSVM, RidgeRanker, evaluate
from rankwise._registry import REGISTRY
from rankwise.metrics import UndefinedMeasureWarning, make_scorer, mean_cost, parse
from rankwise.prediction import scores_of
from tests.common.estimators import ORDINAL, RANKERS, small

KINDS = {key: entry.kind for key, entry in REGISTRY.items() if entry.kind != "transformer"}


def scored(model, X, y, qid):
    """Value of the measure in score_name_ by the public functions."""
    name = model.score_name_
    if hasattr(model, "rank_score"):
        f = model.predict(X) if parse(name).reads_labels else model.rank_score(X)
    else:
        f = scores_of(model, X, qid)
    return evaluate(y, f, qid, name)[name]


@pytest.mark.parametrize("key", [*RANKERS, *ORDINAL])
def test_score_is_the_measure_that_it_names(key, judged, tmp_path):
    X, y, qid = judged
    measures, model = [None], small(key)
    if "measure" in model.get_params():
        measures = ["AP", "ZeroOne"] if key in ORDINAL else ["AP", "nDCG@3"]
    for measure in measures:
        model = small(key, **({} if measure is None else {"measure": measure}))
        model.fit(X, y, qid=qid)
        if measure is not None:
            assert model.score_name_ == (f"-{measure}" if measure == "ZeroOne" else measure)
        assert model.score(X, y, qid=qid) == scored(model, X, y, qid)
        assert model.score(X, y, qid=np.zeros(len(y))) == scored(model, X, y, np.zeros(len(y)))
        # Labels of other rows do not choose another measure.
        few = np.flatnonzero(np.isin(qid, qid[y == y.max()][:1]))
        assert model.score(X[few], y[few], qid=qid[few]) == scored(model, X[few], y[few], qid[few])
        for bad in (y + 0.5, y - 1):
            with pytest.raises(ValueError, match=r"y must hold whole grades from 0 on.*, got -?\d"):
                model.score(X, bad, qid=qid)
    again = rankwise.load(model.save(tmp_path / "model"))
    assert again.score(X, y, qid=qid) == model.score(X, y, qid=qid)
    with pytest.raises(ValueError, match="y must hold whole grades"):
        again.score(X, y + 0.5, qid=qid)


@pytest.mark.parametrize("key", RANKERS)
def test_a_fold_without_relevant_rows_has_no_score(key, judged):
    X, y, qid = judged
    model = small(key).fit(X, y, qid=qid)
    with pytest.warns(UndefinedMeasureWarning, match="score is NaN: no query counts for nDCG@10"):
        assert np.isnan(model.score(X, np.zeros(len(y)), qid=qid))


@pytest.mark.parametrize(
    "key", [k for k, kind in KINDS.items() if kind not in ("ranker", "ordinal")]
)
def test_scores_of_other_estimators(key, rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    model = small(key).fit(X, y)
    predicted = model.predict(X)
    if model.score_name_ == "-cost":
        assert model.score(X, y) == -mean_cost(
            y, predicted, model._default_costs(3), classes=[0, 1, 2]
        )
    else:
        assert model.score_name_ == "accuracy"
        assert model.score(X, y) == np.mean(y == predicted)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.score(X, y + 0.5)


# scikit-learn's tools ----------------------------------------------------------------------------


@pytest.fixture
def folds():
    """Eight queries of five rows; the last has no relevant row."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y, qid = np.clip(np.round(X[:, 0] + rng.normal(size=40) + 1), 0, 2), np.arange(40) // 5
    y[35:] = 0
    return X, y, qid


def test_cross_validation_leaves_out_nothing_in_silence(folds):
    X, y, qid = folds
    params = {"qid": qid, "groups": qid}
    with sklearn.config_context(enable_metadata_routing=True):
        for model in (RidgeRanker(), make_pipeline(StandardScaler(), RidgeRanker())):
            with pytest.warns(UserWarning) as caught:
                got = cross_validate(model, X, y, cv=LeaveOneGroupOut(), params=params)
            assert sum(issubclass(w.category, UndefinedMeasureWarning) for w in caught) == 1
            with pytest.warns(UndefinedMeasureWarning):
                wanted = cross_validate(
                    model,
                    X,
                    y,
                    cv=LeaveOneGroupOut(),
                    params=params,
                    scoring=make_scorer("nDCG@10"),
                )
            np.testing.assert_array_equal(got["test_score"], wanted["test_score"])
            assert np.isnan(got["test_score"]).tolist() == [False] * 7 + [True]


def test_a_label_of_another_kind_fails_its_fold(folds):
    X, y, qid = folds
    y[0] = 1.5
    words: dict = {"params": {"qid": qid, "groups": qid}, "error_score": "raise"}
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="y must hold whole grades"),
    ):
        cross_validate(RidgeRanker(), X, y, cv=LeaveOneGroupOut(), **words)


def test_a_search_tunes_by_the_measure_of_the_ranker(folds):
    X, y, qid = (part[:35] for part in folds)
    with sklearn.config_context(enable_metadata_routing=True):
        found = [
            GridSearchCV(RankSVM(measure="AP"), {"C": [1e-4, 1, 100]}, cv=3, scoring=scoring).fit(
                X, y, qid=qid
            )
            for scoring in (None, make_scorer("AP"))
        ]
        assert found[0].score(X, y, qid=qid) == found[1].score(X, y, qid=qid)
    for name in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(found[0].cv_results_[name], found[1].cv_results_[name])
    assert found[0].best_params_ == found[1].best_params_


def test_older_model_files_keep_their_measure(folds):
    X, y, qid = folds
    model = RidgeRanker(measure="AP").fit(X, y, qid=qid)
    del model._fit_on_grades
    model.score_name_ = "nDCG@10"  # as version 0.3 stored it
    assert model.score(X, y, qid=qid) == evaluate(y, model.predict(X), qid)["nDCG@10"]
    with pytest.raises(ValueError, match="y must hold whole grades"):
        model.score(X, y + 0.5, qid=qid)


def test_real_targets_may_be_whole_in_a_fold(folds):
    X, y, qid = folds
    model = RidgeRanker().fit(X, y + 0.5, qid=qid)
    wanted = 1 - evaluate(y, model.predict(X), qid, "Misranking")["Misranking"]
    assert model.score(X, y, qid=qid) == wanted
