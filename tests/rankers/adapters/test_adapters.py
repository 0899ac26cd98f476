"""What the three adapters promise alike."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr

import rankwise
from rankwise import QueryGroups
from rankwise.metrics import parse
from rankwise.rankers.adapters.boosted_ranker import TrainingRows
from rankwise.row_order import canonical_order
from rankwise.trees.stored_boosters import BoosterError

LIBRARIES = {
    "LightGBMRanker": "lightgbm",
    "XGBoostRanker": "xgboost",
    "CatBoostRanker": "catboost",
}


@pytest.fixture(params=LIBRARIES)
def ranker_class(request):
    """Each adapter whose library is installed."""
    pytest.importorskip(LIBRARIES[request.param])
    return getattr(rankwise, request.param)


def quick(ranker_class, **params):
    return ranker_class(**{"n_estimators": 25, "random_state": 0, "n_jobs": 1, **params})


def pair_accuracy(ranker, X, y, qid):
    """Share of the pairs of one query with different labels that are ordered right."""
    scores, right, pairs = ranker.predict(X), 0, 0
    qid = np.zeros(len(y)) if qid is None else qid
    for query in np.unique(qid):
        rows = qid == query
        above = y[rows][:, None] > y[rows]
        right += (above & (scores[rows][:, None] > scores[rows])).sum()
        pairs += above.sum()
    return right / pairs


def correlation(ranker, X, y):
    return spearmanr(ranker.predict(X), y).statistic


def test_any_row_order_trains_the_same_model(ranker_class, judged):
    X, y, qid = judged
    shuffled = np.random.default_rng(1).permutation(len(y))
    by_query = np.argsort(qid, kind="stable")
    params = {"params": {"bagging_freq": 1}} if ranker_class.__name__ == "LightGBMRanker" else {}
    if ranker_class.__name__ != "CatBoostRanker":
        params |= {"subsample": 0.7}
    expected = quick(ranker_class, **params).fit(X, y, qid=qid).predict(X)
    for rows in (shuffled, by_query):
        got = quick(ranker_class, **params).fit(X[rows], y[rows], qid=qid[rows]).predict(X)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "relabel",
    [
        pytest.param(lambda y: y, id="grades"),
        pytest.param(lambda y: y - 2.0, id="negative"),
        pytest.param(lambda y: 25 * y, id="above-31"),
        pytest.param(lambda y: 1e9 + 1e-3 * y, id="offset"),
        pytest.param(lambda y: 1e300 * (y - 2.5), id="huge"),
        pytest.param(lambda y: 1e-300 * y, id="tiny"),
        pytest.param(lambda y: y + np.linspace(0, 0.1, len(y)), id="all-different"),
    ],
)
def test_learns_from_any_labels(ranker_class, judged, relabel):
    X, y, qid = judged
    ranker = quick(ranker_class).fit(X, relabel(y), qid=qid)
    assert pair_accuracy(ranker, X, y, qid) > 0.85


def test_learns_without_qid(ranker_class, judged):
    X, y, _ = judged
    ranker = quick(ranker_class).fit(X, y)
    assert pair_accuracy(ranker, X, y, None) > 0.8


def test_equal_rows_get_equal_scores(ranker_class, judged):
    X, _, _ = judged
    ranker = quick(ranker_class).fit(np.ones((6, 2)), [0, 1, 2, 0, 1, 2])
    assert len(np.unique(ranker.predict(X[:, :2]))) == 1


def test_gain_follows_the_labels(ranker_class, judged):
    X, y, qid = judged

    def scores(labels, gain):
        return quick(ranker_class, gain=gain).fit(X, labels, qid=qid).predict(X)

    natural = "linear" if ranker_class.__name__ == "CatBoostRanker" else "exp2"
    np.testing.assert_array_equal(scores(y, "auto"), scores(y, natural))
    assert (scores(y, "exp2") != scores(y, "linear")).any()
    np.testing.assert_array_equal(scores(y - 0.5, "auto"), scores(y - 0.5, "linear"))
    with pytest.raises(ValueError, match=r"gain='exp2' needs whole grades .* -0.5 to 3.5"):
        scores(y - 0.5, "exp2")


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "M1D"])
def test_early_stopping_follows_the_measure(ranker_class, judged, measure):
    X, y, qid = judged
    train, vali = slice(0, 400), slice(400, 600)
    ranker = quick(ranker_class, n_estimators=200, early_stopping_rounds=7, measure=measure)
    ranker.fit(X[train], y[train], qid=qid[train], X_val=X[vali], y_val=y[vali], qid_val=qid[vali])
    values, spec = ranker.validation_scores_, parse(measure)
    best = values.argmax() if spec.greater_is_better else values.argmin()
    assert ranker.best_iteration_ == best + 1
    assert len(values) == best + 1 + 7 < 200
    groups = QueryGroups.from_qid(qid[vali], 200)
    # XGBoost adds up trees in float32, so ties between rows may fall differently.
    assert spec.mean(y[vali], ranker.predict(X[vali]), groups) == pytest.approx(
        values[best], abs=1e-3
    )


def test_validation_without_early_stopping_keeps_all_trees(ranker_class, judged):
    X, y, qid = judged
    ranker = quick(ranker_class).fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert ranker.best_iteration_ == len(ranker.validation_scores_) == 25
    np.testing.assert_array_equal(
        ranker.predict(X), quick(ranker_class).fit(X, y, qid=qid).predict(X)
    )


def test_fewer_trees_where_no_split_is_left():
    pytest.importorskip("lightgbm")
    X = np.arange(60.0)[:, None] >= 30  # one split orders everything: gradients vanish
    ranker = quick(rankwise.LightGBMRanker, n_estimators=50, params={"min_gain_to_split": 1.0})
    ranker.fit(X.astype(float), X[:, 0])
    assert 1 <= ranker.best_iteration_ == ranker.booster_.num_trees() < 50


def test_validation_must_be_measurable(ranker_class, judged):
    X, y, qid = judged
    ranker = quick(ranker_class, measure="AP")
    with pytest.raises(ValueError, match="at least one query of X_val"):
        ranker.fit(X, y, qid=qid, X_val=X, y_val=np.zeros(len(y)), qid_val=qid)


def test_a_wrong_measure_is_an_error_without_validation_too(ranker_class, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="nDGC"):
        quick(ranker_class, measure="nDGC@10").fit(X, y, qid=qid)


def test_number_of_threads_changes_nothing(ranker_class, judged):
    X, y, qid = judged
    one, two = (quick(ranker_class, n_jobs=n).fit(X, y, qid=qid).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_pickled_model_keeps_bytes_and_scores(ranker_class, judged):
    X, y, qid = judged
    ranker = quick(ranker_class).fit(X, y, qid=qid)
    copy = pickle.loads(pickle.dumps(ranker))
    assert copy.model_ == ranker.model_
    assert "_booster" not in ranker.__getstate__()
    np.testing.assert_array_equal(copy.predict(X), ranker.predict(X))


def test_missing_values_and_sparse_rows(ranker_class, judged):
    X, y, qid = judged
    holes = np.random.default_rng(3).random(X.shape)
    X = np.where(holes < 0.2, np.nan, np.where(holes < 0.6, 0.0, X))
    dense = quick(ranker_class).fit(X, y, qid=qid)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        rows = kind(X)
        np.testing.assert_array_equal(dense.predict(rows), dense.predict(X))
        fitted = quick(ranker_class).fit(rows, y, qid=qid)
        np.testing.assert_array_equal(fitted.predict(X), dense.predict(X))


def test_importances_find_the_features(ranker_class, judged):
    X, y, qid = judged
    importances = quick(ranker_class).fit(X, y, qid=qid).feature_importances_
    assert importances.shape == (5,)
    assert importances.sum() == pytest.approx(1.0)
    assert list(np.argsort(-importances)[:2]) == [0, 1]


def test_extra_parameters_reach_the_library(ranker_class, judged):
    X, y, qid = judged
    extra = {
        "LightGBMRanker": {"min_gain_to_split": 1e9},
        "XGBoostRanker": {"max_delta_step": 1e-9},
        "CatBoostRanker": {"model_size_reg": 1.0, "bootstrap_type": "No", "max_ctr_complexity": 1},
    }[ranker_class.__name__]
    plain = quick(ranker_class).fit(X, y, qid=qid).predict(X)
    assert (quick(ranker_class, params=extra).fit(X, y, qid=qid).predict(X) != plain).any()
    with pytest.raises(ValueError, match=r"params must not hold \['learning_rate'\]"):
        quick(ranker_class, params={"learning_rate": 0.5}).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("name", "params", "own"),
    [
        ("LightGBMRanker", {"eta": 0.5}, "learning_rate"),
        ("LightGBMRanker", {"num_trees": 3}, "n_estimators"),
        ("LightGBMRanker", {"min_data": 3, "lambda": 1.0}, "min_child_samples, reg_lambda"),
        ("LightGBMRanker", {"min_data_in_leaf": 3}, "min_child_samples"),
        ("LightGBMRanker", {"sub_row": 0.5}, "subsample"),
        ("LightGBMRanker", {"cat_feature": "0"}, "categorical_features"),
        ("LightGBMRanker", {"application": "rank_xendcg"}, "objective"),
        ("LightGBMRanker", {"nthread": 1}, "n_jobs"),
        ("LightGBMRanker", {"early_stopping": 3}, "early_stopping_rounds"),
        ("LightGBMRanker", {"mc": [0] * 5}, "monotone_constraints"),
        ("XGBoostRanker", {"nthread": 1}, "n_jobs"),
        ("XGBoostRanker", {"seed": 1}, "random_state"),
        ("CatBoostRanker", {"l2_leaf_reg": 1.0}, "reg_lambda"),
        ("CatBoostRanker", {"iterations": 3}, "n_estimators"),
    ],
)
def test_other_names_of_own_parameters_are_refused(name, params, own, judged):
    pytest.importorskip(LIBRARIES[name])
    X, y, qid = judged
    message = rf"params must not hold .*, because {name} sets them\. Use .* instead: {own}\."
    with pytest.raises(ValueError, match=message):
        quick(getattr(rankwise, name), params=params).fit(X, y, qid=qid)


def test_bad_parameter_is_named(ranker_class, judged):
    X, y, qid = judged
    for name, value in {"n_estimators": 0, "gain": "square", "n_jobs": 0}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of {ranker_class.__name__}"):
            quick(ranker_class, **{name: value}).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("LightGBMRanker", {"linear_tree": True}, "linear trees are not stored"),
        ("LightGBMRanker", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
         "params must not hold"),
        ("XGBoostRanker", {"booster": "dart"}, "booster must be 'gbtree'"),
        ("CatBoostRanker", {"grow_policy": "Lossguide"}, "only symmetric trees are stored"),
    ],
)  # fmt: skip
def test_trees_of_another_kind_are_refused_at_fit(name, params, message, judged):
    pytest.importorskip(LIBRARIES[name])
    X, y, qid = judged
    with pytest.raises((BoosterError, ValueError), match=message):
        quick(getattr(rankwise, name), params=params).fit(X, y, qid=qid)


def test_missing_library_names_the_extra():
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({list(LIBRARIES.values())}))\n"
        "import rankwise\n"
        f"for name in {list(LIBRARIES)}:\n"
        "    try: getattr(rankwise, name)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    for name, line in zip(LIBRARIES, lines, strict=True):
        assert line.startswith(f"{name} needs")
        assert line.endswith('Run: pip install "rankwise[gbdt]"')


def training_rows(judged):
    order, sizes = canonical_order(judged.X, judged.y, QueryGroups.from_qid(judged.qid, 600))
    return TrainingRows(judged.X[order], judged.y[order], True, sizes)


def test_lightgbm_alone_trains_the_same_trees(judged):
    lightgbm = pytest.importorskip("lightgbm")
    rows = training_rows(judged)
    booster = lightgbm.LGBMRanker(
        n_estimators=25, num_leaves=15, reg_lambda=0.5, min_child_samples=5, force_col_wise=True,
        verbosity=-1,
    ).fit(rows.X, rows.y, group=rows.sizes)  # fmt: skip
    ranker = quick(rankwise.LightGBMRanker, num_leaves=15, reg_lambda=0.5, min_child_samples=5)
    ranker.fit(judged.X, judged.y, qid=judged.qid)
    np.testing.assert_array_equal(ranker.predict(judged.X), booster.booster_.predict(judged.X))


def test_xgboost_alone_trains_the_same_trees(judged):
    xgboost = pytest.importorskip("xgboost")
    rows = training_rows(judged)
    peer = xgboost.XGBRanker(
        n_estimators=25, max_depth=4, reg_lambda=2.0, tree_method="hist", learning_rate=0.1
    ).fit(rows.X, rows.y, qid=rows.qid())
    ranker = quick(rankwise.XGBoostRanker, max_depth=4, reg_lambda=2.0, learning_rate=0.1)
    ranker.fit(judged.X, judged.y, qid=judged.qid)
    np.testing.assert_array_equal(ranker.predict(judged.X), peer.predict(judged.X))


def test_catboost_alone_trains_the_same_trees(judged):
    catboost = pytest.importorskip("catboost")
    rows = training_rows(judged)
    peer = catboost.CatBoostRanker(
        iterations=25, depth=4, l2_leaf_reg=2.0, learning_rate=0.2, loss_function="YetiRank",
        random_seed=int(np.random.RandomState(0).randint(2**31 - 1)), allow_writing_files=False,
        logging_level="Silent",
    ).fit(catboost.Pool(rows.X, rows.y, group_id=rows.qid()))  # fmt: skip
    ranker = quick(rankwise.CatBoostRanker, depth=4, reg_lambda=2.0, learning_rate=0.2)
    ranker.fit(judged.X, judged.y, qid=judged.qid)
    # CatBoost's JSON holds 17 digits of every leaf: equal to the last bits of the sum.
    np.testing.assert_allclose(ranker.predict(judged.X), peer.predict(judged.X), rtol=0, atol=1e-14)


def test_lightgbm_deals_queries_above_its_limit():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(10_500, 3))
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    qid = np.repeat([0, 1], [10_001, 499])
    ranker = quick(rankwise.LightGBMRanker, n_estimators=10)
    with pytest.warns(UserWarning, match="at most 10000 rows, the largest has 10001"):
        ranker.fit(X, y, qid=qid)
    assert correlation(ranker, X[:10_001], y[:10_001]) > 0.9
    with pytest.warns(UserWarning, match="at most 10000 rows"):
        ranker.fit(X, y, X_val=X, y_val=y)  # validation has no such limit
    assert len(ranker.validation_scores_) == 10


@pytest.mark.parametrize("name", ["XGBoostRanker", "CatBoostRanker"])
def test_large_queries_need_no_care_elsewhere(name):
    pytest.importorskip(LIBRARIES[name])
    X = np.random.default_rng(5).normal(size=(10_500, 3))
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    ranker = quick(getattr(rankwise, name), n_estimators=4).fit(X, y)
    assert correlation(ranker, X, y) > 0.8


def test_no_pair_is_an_error(ranker_class, judged):
    X, y, qid = judged
    start = quick(ranker_class, n_estimators=2).fit(X, y, qid=qid)
    equal = np.searchsorted(np.unique(qid), qid)  # within each query
    one = qid == qid[0]
    cases = [
        ({"y": equal, "qid": qid}, "y must differ within some query"),
        ({"y": y, "qid": np.arange(len(y))}, "qid must give some query two rows"),
        ({"y": np.where(one, y, 1.0), "qid": qid, "sample_weight": 1.0 - one}, "y must differ"),
    ]
    for given, message in cases:
        for init_model in (None, start):
            with pytest.raises(ValueError, match=message):
                quick(ranker_class).fit(X, **given, init_model=init_model)


def test_a_single_row_leaves_nothing_to_learn(ranker_class, judged):
    X, y, qid = judged
    start = quick(ranker_class, n_estimators=2).fit(X, y, qid=qid)
    ranker = quick(ranker_class).fit(X[:1], y[:1], qid=0)
    assert ranker.booster_ is None and (ranker.predict(X) == 0).all()
    ranker.fit(X[:1], y[:1], qid=0, init_model=start)
    np.testing.assert_array_equal(ranker.predict(X), start.predict(X))


def test_catboost_learns_nothing_from_columns_that_do_not_vary(judged):
    pytest.importorskip("catboost")
    X, y, qid = judged
    ranker = quick(rankwise.CatBoostRanker).fit(np.ones_like(X), y, qid=qid)
    assert ranker.booster_ is None and (ranker.predict(X) == 0).all()


def test_lightgbm_bins_very_many_labels():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(6)
    X = rng.normal(size=(80_000, 2))
    qid = np.repeat(np.arange(800), 100)
    ranker = quick(rankwise.LightGBMRanker, n_estimators=5).fit(X, X[:, 0] ** 3, qid=qid)
    assert pair_accuracy(ranker, X, X[:, 0], qid) > 0.9


@pytest.mark.parametrize(
    "name", ["XGBoostRanker", "LightGBMRanker", "CatBoostRanker", "LambdaMART"]
)
def test_unseen_categories_score_between_the_known_ones(name):
    codes = np.random.default_rng(0).integers(4, size=400)
    X = pd.DataFrame({"x": np.zeros(400), "brand": pd.Categorical(np.array(list("abcd"))[codes])})
    y = np.array([0, 2, 1, 3])[codes]
    ranker = getattr(rankwise, name)(10).fit(X, y, qid=np.arange(400) // 10)
    scores = ranker.predict(pd.DataFrame({"x": [0.0] * 6, "brand": [*"abcd", "new", None]}))
    assert scores[:4].min() < scores[4] < scores[:4].max()
    assert scores[4] == scores[5]


@pytest.mark.parametrize("params", [{}, {"boosting": "dart"}, {"zero_as_missing": True}])
def test_own_trees_score_and_weigh_columns_as_lightgbm_does(params, judged):
    """LightGBMRanker asks the library neither for scores nor for importances."""
    pytest.importorskip("lightgbm")
    X = np.where(np.random.default_rng(0).random(judged.X.shape) < 0.3, 0.0, judged.X)
    X[::7, 1] = np.nan
    X[:, 0] = np.arange(len(X)) % 9
    ranker = rankwise.LightGBMRanker(n_estimators=20, params=params, categorical_features=[0])
    ranker.fit(X, judged.y, qid=judged.qid)
    codes = ranker._encoded_rows(X)
    expected = ranker.booster_.predict(codes, raw_score=True)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    gains = ranker.booster_.feature_importance("gain")
    np.testing.assert_array_equal(ranker.feature_importances_, gains / gains.sum())
    assert ranker.best_iteration_ == ranker.booster_.current_iteration()
