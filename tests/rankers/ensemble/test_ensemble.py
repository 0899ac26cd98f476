"""Stacking and blends: held-out scores, parts, names of parameters, scores within the query."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline

import rankwise
from rankwise import (
    BordaBlend,
    LinearRegressionRanker,
    ORBoost,
    PointwiseELM,
    RankLR,
    RankSVM,
    ReciprocalRankBlend,
    RidgeRanker,
    ScoreBlend,
    StackingRanker,
)
from rankwise.base import Ranker
from rankwise.checks.rows import check_fit
from rankwise.features import QueryScaler
from rankwise.features.score_expansions import ProductsMap
from rankwise.metrics import make_scorer
from rankwise.rankers.ensemble.members import name_members, parts, query_numbers, score_held_out

MEMBERS = (LinearRegressionRanker(), RidgeRanker(alpha=100.0), PointwiseELM(20, random_state=0))
BLENDS = [ScoreBlend, BordaBlend, ReciprocalRankBlend]


@pytest.fixture
def judged(rng):
    """240 rows of 24 interleaved queries, labels from one feature and a square."""
    X, qid = rng.normal(size=(240, 4)), rng.permutation(np.arange(240) % 24)
    y = np.clip(np.round(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=240)), 0, 3)
    return X, y, qid


def data_of(X, y, qid):
    return check_fit(RidgeRanker(), X, y, qid)


def standardised(values, qid):
    """Per query, by loop."""
    out = np.empty(len(values))
    for query in np.unique(qid):
        rows = qid == query
        of = values[rows]
        out[rows] = (of - of.mean()) / of.std()
    return out


# Held-out scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2])
def test_a_stack_is_what_a_loop_over_folds_makes(degree, judged):
    X, y, qid = judged
    stack = StackingRanker(list(MEMBERS), RankLR(C=0.1), cv=4, degree=degree).fit(X, y, qid=qid)
    data = data_of(X, y, qid)
    columns, labels, queries = [], [], []
    for train, test in parts(4, None, data, query_numbers(data)):
        models = [clone(m).fit(X[train], y[train], qid=qid[train]) for m in MEMBERS]
        columns.append(
            np.column_stack([standardised(m.predict(X[test]), qid[test]) for m in models])
        )
        labels.append(y[test])
        queries.append(qid[test])
    Z = np.concatenate(columns)
    Z = ProductsMap(3)(Z) if degree == 2 else Z
    final = RankLR(C=0.1).fit(Z, np.concatenate(labels), qid=np.concatenate(queries))
    np.testing.assert_allclose(stack.final_estimator_.coef_, final.coef_, rtol=1e-6, atol=1e-9)

    full = [clone(m).fit(X, y, qid=qid) for m in MEMBERS]
    rows = np.column_stack([standardised(m.predict(X), qid) for m in full])
    rows = ProductsMap(3)(rows) if degree == 2 else rows
    np.testing.assert_allclose(stack.predict(X, qid=qid), final.predict(rows), atol=1e-6)


class Heart(Ranker):
    """Knows the rows of fit by heart and nothing else."""

    def fit(self, X, y, *, qid=None, sample_weight=None):
        self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(row.tobytes(), -1.0) for row in X])


@pytest.mark.parametrize(("cv", "share"), [(5, None), (GroupKFold(3), None), (None, 0.8)])
def test_no_member_sees_the_rows_it_scores(cv, share, judged):
    X, y, qid = judged
    data = data_of(X, y, qid)
    numbers = query_numbers(data)
    splits = parts(cv, share, data, numbers)
    for train, test in splits:
        assert not set(qid[train]) & set(qid[test])
    held = score_held_out({"heart": Heart()}, data, splits, numbers, True, None)
    assert (held.scores == -1.0).all()
    stack = StackingRanker([Heart()], RankLR(), cv=cv, share=share).fit(X, y, qid=qid)
    assert not stack.final_estimator_.coef_.any()
    assert (stack.models_[0]["heart"].predict(X) == y).all()  # fitted on all rows again


def test_a_share_leaves_whole_queries_to_the_final_ranker(judged):
    X, y, qid = judged
    data = data_of(X, y, qid)
    ((train, test),) = parts(None, 0.75, data, query_numbers(data))
    assert not set(qid[train]) & set(qid[test])
    assert len(set(qid[test])) == 6
    assert len(train) + len(test) == 240
    stack = StackingRanker([RidgeRanker()], RankLR(), share=0.75, refit=False, degree=1)
    stack.fit(X, y, qid=qid)
    (models,) = stack.models_
    alone = RidgeRanker().fit(X[train], y[train], qid=qid[train])
    np.testing.assert_allclose(models["ridge"].predict(X), alone.predict(X), rtol=1e-10)


def test_without_refit_the_fold_models_are_averaged(judged):
    X, y, qid = judged
    stack = StackingRanker([RidgeRanker()], RankLR(), cv=3, refit=False, degree=1)
    stack.fit(X, y, qid=qid)
    assert len(stack.models_) == 3
    mean = np.mean([standardised(m["ridge"].predict(X), qid) for m in stack.models_], axis=0)
    np.testing.assert_allclose(
        stack.predict(X, qid=qid), mean * stack.final_estimator_.coef_, atol=1e-12
    )


def test_only_the_best_rankers_may_be_kept(judged):
    X, _, qid = judged
    columns = [("c", Column(2)), ("a", Column(0)), ("b", Column(1))]
    for n_best, names in ((1, ["a"]), (2, ["a", "b"]), (9, ["c", "a", "b"])):
        for refit in (True, False):
            stack = StackingRanker(columns, n_best=n_best, cv=3, refit=refit)
            stack.fit(X, np.clip(np.round(2 * X[:, 0] + X[:, 1]), 0, 3), qid=qid)
            assert [list(models) for models in stack.models_] == [names] * (1 if refit else 3)
            assert np.isfinite(stack.predict(X, qid=qid)).all()


def test_the_mean_of_the_best_is_a_blend(judged):
    """Of columns whose quality is known."""
    X, _, qid = judged
    y = np.clip(np.round(2 * X[:, 0] + X[:, 1]), 0, 3)
    columns = [("c", Column(2)), ("a", Column(0)), ("b", Column(1))]
    stack = StackingRanker(columns, "mean", n_best=2, cv=3).fit(X, y, qid=qid)
    blend = ScoreBlend(columns[1:]).fit(X, y, qid=qid)
    np.testing.assert_allclose(stack.predict(X, qid=qid), blend.predict(X, qid=qid), rtol=1e-12)
    assert stack.final_estimator_ is None


def test_parts_do_not_depend_on_ids_or_order(judged, rng):
    X, y, qid = judged
    order = rng.permutation(240)
    of = [query_numbers(data_of(X, y, qid)),
          query_numbers(data_of(X, y, (qid * -7).astype(str)))]  # fmt: skip
    np.testing.assert_array_equal(of[0], of[1])
    np.testing.assert_array_equal(
        query_numbers(data_of(X[order], y[order], qid[order])), of[0][order]
    )


def test_fewer_queries_than_folds_are_parts_of_rows(judged):
    X, y, _ = judged
    for qid in (None, np.arange(240) % 2):
        stack = StackingRanker([RidgeRanker()], RankLR(), degree=1).fit(X, y, qid=qid)
        assert np.isfinite(stack.predict(X)).all()
        shared = StackingRanker([RidgeRanker()], RankLR(), share=0.5, degree=1)
        assert np.isfinite(shared.fit(X, y, qid=qid).predict(X)).all()


def test_splitters_may_score_a_query_twice(judged):
    X, y, qid = judged
    splits = GroupShuffleSplit(3, test_size=0.5, random_state=0)
    stack = StackingRanker([RidgeRanker()], RankLR(), cv=splits).fit(X, y, qid=qid)
    assert stack.score(X, y, qid=qid) > 0.5
    with pytest.raises(ValueError, match="must give splits with training rows"):
        StackingRanker([RidgeRanker()], cv=[(np.arange(9), [])]).fit(X, y, qid=qid)


def test_a_stack_learns_what_no_member_can_say(judged):
    """Labels are linear in one member and quadratic in the other."""
    X, y, qid = judged
    stack = StackingRanker([("a", Column(0)), ("b", Column(1))]).fit(X, y, qid=qid)
    best = max(m.fit(X, y).score(X, y, qid=qid) for m in (Column(0), Column(1)))
    assert stack.score(X, y, qid=qid) > best + 0.03


class Column(LinearRegressionRanker):
    """Scores are one column."""

    def __init__(self, column=0):
        super().__init__()
        self.column = column

    def predict(self, X):
        return np.asarray(X)[:, self.column]


# Kinds of members --------------------------------------------------------------------------------


def test_members_of_every_kind(judged):
    X, y, qid = judged
    stack = StackingRanker(
        [
            "ridge",
            ORBoost(n_estimators=20, random_state=0),
            ("trees", ExtraTreesRegressor(5, random_state=0)),
            ("scaled", make_pipeline(QueryScaler(), RankSVM(C=0.1))),
        ],
        cv=3,
    ).fit(X, y, qid=qid)
    assert list(stack.models_[0]) == ["ridge", "orboost", "trees", "scaled"]
    assert stack.score(X, y, qid=qid) > 0.8
    scaled = stack.models_[0]["scaled"]
    alone = RankSVM(C=0.1).fit(QueryScaler().fit_transform(X, qid=qid), y, qid=qid)
    np.testing.assert_allclose(scaled[-1].coef_, alone.coef_, rtol=1e-6)


@pytest.mark.parametrize("final", ["ridge", PointwiseELM(20), ORBoost(n_estimators=20)])
def test_any_ranker_may_be_final(final, judged):
    X, y, qid = judged
    stack = StackingRanker([RidgeRanker(), LinearRegressionRanker()], final, random_state=0)
    assert stack.fit(X, y, qid=qid).score(X, y, qid=qid) > 0.6


def test_validation_rows_reach_members_and_the_final_ranker(judged):
    X, y, qid = judged
    train, vali = qid < 18, qid >= 18
    stack = StackingRanker(
        [RidgeRanker(alpha="val"), ("fixed", RidgeRanker())], RankLR(C="val"), cv=3
    )
    stack.fit(X[train], y[train], qid=qid[train], X_val=X[vali], y_val=y[vali], qid_val=qid[vali])
    (models,) = stack.models_
    assert models["ridge"].cv_results_["alpha"].size > 1
    assert models["ridge"].cv_results_["fold_test_scores"].shape[0] == 1
    assert stack.final_estimator_.cv_results_["fold_test_scores"].shape[0] == 1
    with pytest.raises(ValueError, match='alpha="val" needs validation data'):
        StackingRanker([RidgeRanker(alpha="val")]).fit(X, y, qid=qid)


# Blends ------------------------------------------------------------------------------------------


def test_blends_are_what_loops_make(judged):
    X, y, qid = judged
    members, weights = list(MEMBERS), np.array([0.5, 0.3, 0.2])
    scores = [clone(m).fit(X, y, qid=qid).predict(X) for m in members]
    descending = np.empty((3, 240))
    for of, values in zip(descending, scores, strict=True):
        for query in np.unique(qid):
            rows = np.flatnonzero(qid == query)
            of[rows[np.argsort(-values[rows])]] = np.arange(1, len(rows) + 1)
    sizes = np.bincount(qid)[qid]
    expected = {
        ScoreBlend: weights @ [standardised(s, qid) for s in scores],
        BordaBlend: weights @ ((sizes + 1) / 2 - descending) / sizes,
        ReciprocalRankBlend: weights @ (1 / (60 + descending)),
    }
    for cls, values in expected.items():
        blend = cls(members, 2 * weights).fit(X, y, qid=qid)
        np.testing.assert_allclose(blend.predict(X, qid=qid), values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", BLENDS)
def test_bad_weights_are_named(cls, judged):
    X, y, qid = judged
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="weights must hold one number >= 0"):
            cls(["ridge", "linear_regression"], weights).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="must not be all zero"):
        cls(["ridge", "linear_regression"], [0, 0]).fit(X, y, qid=qid)


@pytest.mark.parametrize("cls", [StackingRanker, *BLENDS])
def test_scores_depend_on_the_query_where_it_is_given_and_only_there(cls, judged):
    X, y, qid = judged
    ranker = cls([LinearRegressionRanker(), RidgeRanker()]).fit(X, y, qid=qid)
    one = qid == 3
    np.testing.assert_allclose(
        ranker.predict(X[one], qid=qid[one]), ranker.predict(X, qid=qid)[one], rtol=1e-9
    )
    np.testing.assert_allclose(ranker.predict(X[one]), ranker.predict(X)[one], rtol=1e-6)
    assert not np.allclose(ranker.predict(X, qid=qid), ranker.predict(X, qid=np.zeros(240)))
    within = ranker.predict(X, qid=qid)
    for query in np.unique(qid):
        rows = qid == query
        np.testing.assert_array_equal(
            np.argsort(-within[rows], kind="stable"),
            np.argsort(ranker.rank(X, qid)[rows], kind="stable"),
        )


# Names and errors --------------------------------------------------------------------------------


def test_members_have_names():
    named = name_members([RidgeRanker(), "rank_svm", ("mine", RankLR()), RidgeRanker(),
                           ExtraTreesRegressor()])  # fmt: skip
    assert [name for name, _ in named] == [
        "ridge-1", "rank_svm", "mine", "ridge-2", "extratreesregressor"
    ]  # fmt: skip


def test_nested_parameters_are_those_of_the_members(judged):
    X, y, qid = judged
    stack = StackingRanker([("svm", RankSVM()), RidgeRanker()], RankLR(C=2.0))
    params = stack.get_params()
    assert (params["svm__C"], params["ridge__alpha"], params["final_estimator__C"]) == (
        1.0,
        1.0,
        2.0,
    )
    stack.set_params(svm__C=3.0, ridge=LinearRegressionRanker(), final_estimator__C=4.0, cv=2)
    assert stack.get_params()["svm"].C == 3.0
    assert isinstance(stack.get_params()["ridge"], LinearRegressionRanker)
    assert (stack.final_estimator.C, stack.cv) == (4.0, 2)
    assert "estimators" in stack.get_params(deep=False)
    assert "svm" not in stack.get_params(deep=False)
    with pytest.raises(ValueError, match="Invalid parameter 'other'"):
        stack.set_params(other__C=1.0)
    copy = clone(stack)
    assert copy.get_params()["svm"] is not stack.get_params()["svm"]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            stack, {"svm__C": [0.01, 1.0]}, cv=GroupKFold(2), scoring=make_scorer("AP"),
            error_score="raise",
        ).fit(X, y, qid=qid, groups=qid)  # fmt: skip
    assert 0.3 < search.best_score_ <= 1.0


@pytest.mark.parametrize(
    ("rankers", "error", "message"),
    [
        ([], ValueError, "estimators must hold at least one ranker"),
        (["rank_svn"], ValueError, "Did you mean 'rank_svm'?"),
        (["nystroem"], ValueError, "'nystroem' is not a ranker of the registry"),
        ([RankSVM], TypeError, "or an estimator object, got .*Call the class to make an object"),
        ([3], TypeError, "must be a registry key or an estimator object, got 3, which has no fit"),
        ([("a", RankSVM()), ("a", RankLR())], ValueError, "the name 'a' is used twice"),
        ([("a__b", RankSVM())], ValueError, "has two underscores"),
        ([("cv", RankSVM())], ValueError, "the name 'cv' is taken"),
        ([("a", RankSVM(), 1)], ValueError, "keys, estimators or .* pairs"),
    ],
)
def test_bad_rankers_are_named(rankers, error, message, judged):
    X, y, qid = judged
    with pytest.raises(error, match=message):
        StackingRanker(rankers).fit(X, y, qid=qid)


def test_a_saved_stack_scores_the_same(judged, tmp_path):
    X, y, qid = judged
    for cls in (StackingRanker, *BLENDS):
        ranker = cls(["ridge", ("elm", PointwiseELM(20, random_state=0))]).fit(X, y, qid=qid)
        again = rankwise.load(ranker.save(tmp_path / "model"))
        np.testing.assert_array_equal(again.predict(X, qid=qid), ranker.predict(X, qid=qid))
        assert list(again.models_[0]) == ["ridge", "elm"]


def test_keys_follow_the_measure_and_the_seed(judged):
    X, y, qid = judged

    def member(y, **params):
        stack = StackingRanker(["pairwise_elm"], RidgeRanker(), cv=2, **params)
        return stack.fit(X, y, qid=qid).models_[0]["pairwise_elm"]

    found = member(y, measure="AP", random_state=3)
    assert (found.measure, found.C) == ("AP", "cv")
    assert member(y, measure="AP", random_state=4).random_state != found.random_state
    assert member(y - 0.5).measure == "Misranking"


def test_an_unknown_final_ranker_is_named(judged):
    X, y, qid = judged
    stack = StackingRanker([RidgeRanker()], final_estimator="rigde")
    with pytest.raises(ValueError, match=r"^final_estimator: .* Did you mean 'ridge'"):
        stack.fit(X, y, qid=qid)
