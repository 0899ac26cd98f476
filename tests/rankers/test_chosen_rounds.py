"""Numbers of rounds chosen on validation rows or by folds, and then grown on all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import rankwise
from rankwise import AdaRank, FRank, LambdaMART, McRank, ORBoost, RankBoost, StackingRanker
from rankwise.datasets import RankingData
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.rankers import EarlyStopException
from rankwise.rankers.ensemble.members import Recipe
from rankwise.selection import tune
from rankwise.solvers.boosting import chosen_rounds
from rankwise.solvers.boosting.chosen_rounds import fit_recipe
from rankwise.tuning import fold_splits

STOP = {"early_stopping_rounds": 4}
TREES = {"n_estimators": 30, "random_state": 0}
BOOSTERS = {
    "lambdamart": lambda: LambdaMART(**TREES, **STOP, n_jobs=1),
    "lambdamart, drawn": lambda: LambdaMART(**TREES, **STOP, n_jobs=1, subsample=0.7),
    "lightgbm": lambda: rankwise.LightGBMRanker(**TREES, **STOP, n_jobs=1),
    "xgboost": lambda: rankwise.XGBoostRanker(**TREES, **STOP, n_jobs=1),
    "catboost": lambda: rankwise.CatBoostRanker(**TREES, **STOP, n_jobs=1),
    "rank_boost": lambda: RankBoost(30, **STOP),
    "frank": lambda: FRank(30, **STOP),
    "ada_rank": lambda: AdaRank(n_estimators=30, **STOP, tol=0.0),
    "mc_rank": lambda: McRank(n_estimators=5, max_leaf_nodes=4, random_state=0),
    "orboost": lambda: ORBoost(30, **STOP),
    "orboost, perceptron": lambda: ORBoost(6, estimator="perceptron", base_iter=5, random_state=0,
                                           **STOP),
}  # fmt: skip
OURS = ["lambdamart", "rank_boost", "frank", "orboost"]  # those with warm_start
ADAPTERS = ["lightgbm", "xgboost", "catboost"]
N_TRAIN, SIZE = 20, 12


@pytest.fixture(scope="module")
def rows():
    """X, y and qid of 30 queries."""
    rng = np.random.default_rng(3)
    n = 30 * SIZE
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 3, n)
    u = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, np.digitize(u, [0.0, 1.0, 2.0]).astype(float), np.arange(n) // SIZE


def make(name, **params):
    try:
        return BOOSTERS[name]().set_params(**params)
    except ImportError as error:
        pytest.skip(str(error))


def split(rows, cut=N_TRAIN * SIZE):
    """Arguments of fit: the first queries train, and the others validate, under ids of theirs."""
    X, y, qid = rows
    train = {"X": X[:cut], "y": y[:cut], "qid": qid[:cut]}
    held = {"X_val": X[cut:], "y_val": y[cut:], "qid_val": qid[cut:] - qid[cut]}
    return train, held


def kept_by(model):
    return getattr(model, "n_estimators_", None) or model.best_iteration_


def assert_grown_as(model, direct, X):
    """The model is one fit of its number of rounds."""
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))
    new = vars(model).keys() - vars(direct).keys()
    assert new == {"validation_scores_"}
    for name in ("n_estimators_", "best_iteration_", "n_rounds_"):
        assert getattr(model, name, None) == getattr(direct, name, None)


@pytest.mark.parametrize("name", BOOSTERS)
@pytest.mark.parametrize("stops", [True, False])
def test_refit_grows_the_kept_number_on_all_rows(name, stops, rows):
    params = {} if stops or "mc_rank" in name else {"early_stopping_rounds": None}
    train, held = split(rows)
    stopped = make(name, **params).fit(**train, **held)
    ranker = make(name, refit=True, **params).fit(**train, **held)
    X, y, qid = rows
    direct = make(name, n_estimators=kept_by(stopped), **params).fit(X, y, qid=qid)
    assert_grown_as(ranker, direct, X)
    np.testing.assert_array_equal(ranker.validation_scores_, stopped.validation_scores_)
    wanted = make(name, refit=True, **params).get_params()
    assert ranker.get_params() == wanted
    # Without validation rows there is nothing to refit.
    np.testing.assert_array_equal(
        make(name, refit=True, **params).fit(**train).predict(X),
        make(name, **params).fit(**train).predict(X),
    )


@pytest.mark.parametrize("name", ["lambdamart", "lightgbm", "xgboost", "catboost"])
def test_refit_joins_columns_of_text(name, rng):
    """From some hundred rows on, the parts are columns in chunks."""
    X = pd.DataFrame(
        {"a": rng.normal(size=800), "shop": [f"s{k}" for k in rng.integers(40, size=800)]}
    )
    y, qid = rng.integers(0, 3, 800), np.arange(800) // 20
    held = qid < 10
    given = {"X_val": X[held], "y_val": y[held], "qid_val": qid[held]}
    booster = (
        BOOSTERS[name]().set_params(refit=True).fit(X[~held], y[~held], qid=qid[~held], **given)
    )
    joined = pd.concat([X[~held], X[held]])
    direct = clone(booster).set_params(
        n_estimators=chosen_rounds.count_rounds(booster), early_stopping_rounds=None
    )
    direct.fit(joined, np.append(y[~held], y[held]), qid=np.append(qid[~held], qid[held]))
    np.testing.assert_array_equal(booster.predict(X), direct.predict(X))


@pytest.mark.parametrize("name", BOOSTERS)
def test_folds_choose_the_number_that_all_rows_grow(name, rows):
    X, y, qid = rows
    ranker = make(name, cv=3).fit(X, y, qid=qid)
    scores = ranker.validation_scores_
    greater = parse(ranker.measure).greater_is_better
    number = 1 + int(np.argmax(scores if greater else -scores))
    assert kept_by(ranker) == number or (name == "ada_rank" and kept_by(ranker) < number)
    direct = make(name, n_estimators=number).fit(X, y, qid=qid)
    assert_grown_as(ranker, direct, X)
    # Queries are whole, so the folds of a splitter of queries are folds of queries, too.
    order = np.random.default_rng(0).permutation(len(y))
    again = make(name, cv=3).fit(X[order], y[order], qid=qid[order])
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))


def test_the_curve_is_the_mean_over_the_folds(rows):
    X, y, qid = rows
    splits = list(GroupKFold(3).split(X, y, qid))
    for patience in (None, 2):
        plain = LambdaMART(12, n_jobs=1, random_state=0, early_stopping_rounds=patience)
        curves = []
        for train, test in splits:
            held = {"X_val": X[test], "y_val": y[test], "qid_val": qid[test]}
            found = clone(plain).fit(X[train], y[train], qid=qid[train], **held).validation_scores_
            curves.append([*found, *[found[-1]] * (12 - len(found))])
        expected = np.mean(curves, axis=0)
        for cv in (splits, GroupKFold(3)):
            ranker = clone(plain).set_params(cv=cv).fit(X, y, qid=qid)
            found = ranker.validation_scores_
            np.testing.assert_allclose(found, expected[: len(found)], rtol=1e-12)
            assert ranker.n_estimators_ == 1 + expected.argmax()


def test_folds_may_include_validation_rows(rows):
    X, y, qid = rows
    train, held = split(rows)
    ranker = make("lambdamart", refit=True, cv=4).fit(**train, **held)
    whole = make("lambdamart", cv=4).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))
    alone = make("lambdamart", cv=4).fit(**train)
    unused = make("lambdamart", cv=4).fit(**train, **held)
    np.testing.assert_array_equal(unused.predict(X), alone.predict(X))


@pytest.mark.parametrize("name", ["lambdamart", "rank_boost", "orboost", "lightgbm"])
def test_weights(name, rows):
    X, y, qid = rows
    train, held = split(rows)
    n = len(train["y"])
    weight = np.ones(n) if name == "lightgbm" else np.repeat([1, 2, 0, 1], n // 4).astype(float)
    stopped = make(name).fit(**train, **held, sample_weight=weight)
    ranker = make(name, refit=True).fit(**train, **held, sample_weight=weight)
    joined = np.concatenate([weight, np.ones(len(y) - n)])
    direct = make(name, n_estimators=kept_by(stopped)).fit(X, y, qid=qid, sample_weight=joined)
    np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))
    # Splits number the rows that fit receives, rows of weight 0 among them.
    halves = np.arange(n) < n // 2, np.arange(n) >= n // 2
    cv = [(np.flatnonzero(halves[0]), np.flatnonzero(halves[1])), halves]
    ranker = make(name, cv=cv).fit(**train, sample_weight=weight)
    kept = weight > 0
    places = np.cumsum(kept) - 1
    cv = [tuple(places[side & kept] for side in halves)] * 2
    without = {key: values[kept] for key, values in train.items()}
    expected = make(name, cv=cv).fit(**without, sample_weight=weight[kept])
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "list", "masked"])
@pytest.mark.parametrize("name", ["lambdamart", "lightgbm"])
def test_kinds_of_tables(kind, name, rows):
    X, y, qid = rows
    cut = N_TRAIN * SIZE

    def table(part):
        if kind == "sparse":
            return sparse.csr_array(part)
        if kind == "list":
            return part.tolist()
        if kind == "masked":
            return np.ma.masked_array(part, mask=part > 1.5)
        words = [f"c{int(value)}" for value in part[:, 3]]
        columns = {"a": part[:, 0], "b": part[:, 1], "c": part[:, 2], "d": words}
        if kind == "pandas":
            return pd.DataFrame(columns).astype({"d": "category"})
        return pytest.importorskip("polars").DataFrame(columns)

    X = X.copy()
    X[cut:, 3][:5] = 7.0  # a category that only validation rows hold
    given = {"y": y[:cut], "qid": qid[:cut], "y_val": y[cut:], "qid_val": qid[cut:]}
    ranker = make(name, refit=True).fit(table(X[:cut]), X_val=table(X[cut:]), **given)
    number = kept_by(make(name).fit(table(X[:cut]), X_val=table(X[cut:]), **given))
    direct = make(name, n_estimators=number).fit(table(X), y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(table(X)), direct.predict(table(X)))
    assert getattr(ranker, "feature_names_in_", None) is None or kind in ("pandas", "polars")
    chosen = make(name, cv=2).fit(table(X), y, qid=qid)
    direct = make(name, n_estimators=kept_by(chosen)).fit(table(X), y, qid=qid)
    np.testing.assert_array_equal(chosen.predict(table(X)), direct.predict(table(X)))


def test_ordered_labels(rows):
    X, y, qid = rows
    names = np.array(["low", "mid", "high", "top"])
    labels = pd.Categorical(names[y.astype(int)], categories=names, ordered=True)
    cut = N_TRAIN * SIZE
    settings = {"early_stopping_rounds": 3, "probability": True}
    held = {"X_val": X[cut:], "y_val": labels[cut:], "qid_val": qid[cut:]}
    ranker = ORBoost(20, refit=True, **settings).fit(X[:cut], labels[:cut], qid=qid[:cut], **held)
    direct = ORBoost(ranker.n_estimators_, **settings).fit(X, labels, qid=qid)
    np.testing.assert_array_equal(ranker.predict_proba(X), direct.predict_proba(X))
    assert ranker.classes is None
    chosen = ORBoost(20, cv=3, **settings).fit(X, labels, qid=qid)
    direct = ORBoost(chosen.n_estimators_, **settings).fit(X, labels, qid=qid)
    np.testing.assert_array_equal(chosen.predict(X), direct.predict(X))


@pytest.mark.parametrize("name", OURS)
def test_warm_start_continues_in_both_fits(name, rows):
    train, held = split(rows)
    X, y, qid = rows
    params = {"warm_start": True, "refit": True}
    ranker = make(name, n_estimators=3, **params).fit(**train)
    ranker.set_params(n_estimators=12).fit(**train, **held)
    number = kept_by(ranker)
    direct = make(name, n_estimators=3, warm_start=True).fit(**train)
    if number > 3:
        direct.set_params(n_estimators=number).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))
    with pytest.raises(ValueError, match=r"cv must be None in a fit that continues \d+ earlier"):
        ranker.set_params(cv=3).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))  # as it was


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_model_to_continue_from(name, rows):
    train, held = split(rows)
    X, y, qid = rows
    first = make(name, n_estimators=3).fit(**train)
    ranker = make(name, refit=True).fit(**train, **held, init_model=first)
    number = kept_by(ranker) - 3
    if number:
        direct = make(name, n_estimators=number).fit(X, y, qid=qid, init_model=first)
        np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))
    with pytest.raises(ValueError, match="cv must be None"):
        make(name, cv=3).fit(X, y, qid=qid, init_model=first)


def test_callbacks_follow_the_fit_with_validation_rows(rows, capsys):
    train, held = split(rows)
    seen = []

    def stop(env):
        seen.append(len(env.evaluation_result_list))
        if env.iteration == 4:
            raise EarlyStopException(2)

    ranker = make("lambdamart", refit=True, early_stopping_rounds=None)
    ranker.fit(**train, **held, callbacks=[stop], verbose=1)
    assert seen == [1] * 5
    assert ranker.n_estimators_ == 3
    assert capsys.readouterr().out.count("nDCG@10") == 4
    seen.clear()
    ranker = make("lambdamart", cv=3, n_estimators=6).fit(**train, callbacks=[stop])
    assert seen == [0] * min(5, len(seen))
    assert ranker.n_estimators_ <= len(ranker.validation_scores_)

    def fail(env):
        raise KeyError("a fault")

    with pytest.raises(KeyError):
        make("lambdamart", refit=True).fit(**train, **held, callbacks=[fail])


@pytest.mark.parametrize("name", ["lambdamart", "lightgbm", "frank", "mc_rank", "orboost"])
def test_saved_models(name, rows, tmp_path):
    train, held = split(rows)
    for params in ({"refit": True}, {"cv": 3}):
        model = make(name, **params).fit(**train, **held)
        again = rankwise.load(rankwise.save(model, tmp_path / "model"))
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.predict(train["X"]), model.predict(train["X"]))
        np.testing.assert_array_equal(again.validation_scores_, model.validation_scores_)


FRAMES = {
    "array": lambda X: X,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "low first": lambda X: pd.DataFrame(X, columns=list("abcd")).assign(
        d=pd.Categorical(X[:, 3].astype(int).astype(str), categories=list("012"), ordered=True)
    ),
    "high first": lambda X: pd.DataFrame(X, columns=list("abcd")).assign(
        d=pd.Categorical(X[:, 3].astype(int).astype(str), categories=list("210"), ordered=True)
    ),
}


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (("low first", "high first"), "refit needs the same ordered categories in column 'd'"),
        (("frame", "array"), "refit needs frames with the same columns, or arrays, as X and X_val"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_tables_that_cannot_be_joined(kinds, message, rows):
    train, held = split(rows)
    train["X"], held["X_val"] = FRAMES[kinds[0]](train["X"]), FRAMES[kinds[1]](held["X_val"])
    with pytest.raises(ValueError, match=message):
        make("lambdamart", refit=True).fit(**train, **held)


def test_invalid_input(rows):
    train, held = split(rows)
    n = len(train["y"])
    cases = [
        (LambdaMART(3, refit=True), {"position": np.arange(n) % 3, **held}, "refit must be False"),
        (LambdaMART(3, refit=1), held, "'refit' parameter of LambdaMART must be"),
        (LambdaMART(3, cv=1.5), {}, "'cv' parameter of LambdaMART must be"),
        (LambdaMART(3, cv=[(np.arange(9), np.arange(0))]), {}, "must give splits with training"),
        (LambdaMART(3, cv=3, measure="AP(rel=99)"), {}, "must leave out queries that the measure"),
        (LambdaMART(3, cv=3), {"sample_weight": [1.0]}, "sample_weight must have n_samples=240"),
        (LambdaMART(3, cv=3), {"y": train["y"][1:]}, "y must have n_samples=240 entries"),
        (LambdaMART(3, cv=3), {"qid": train["qid"][1:]}, "qid must have"),
        (McRank(RankBoostLike(), cv=3), {}, "refit and cv need estimator=None"),
    ]
    for ranker, changed, message in cases:
        before = dict(vars(ranker))
        with pytest.raises(ValueError, match=message):
            ranker.fit(**train | changed)
        assert vars(ranker) == before


class RankBoostLike:
    """A classifier in name."""

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.ones((len(X), 2)) / 2


def test_few_queries_are_split_by_rows(rows):
    X, y, _ = rows
    ranker = ORBoost(10, cv=3, early_stopping_rounds=2).fit(X, y)
    direct = ORBoost(ranker.n_estimators_).fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), direct.predict(X))


def test_nothing_to_learn(rows):
    """Trees that cannot split leave a model without trees, as a plain fit does."""
    train, held = split(rows)
    train["X"], held["X_val"] = train["X"] * 0, held["X_val"] * 0
    for params in ({"refit": True}, {"cv": 3}):
        ranker = make("lambdamart", **params).fit(**train, **held)
        assert ranker.n_estimators_ == 0
        assert not ranker.predict(train["X"]).any()


@pytest.mark.parametrize(
    ("name", "measure", "most", "rate", "is_clear"),
    [
        ("lambdamart", "nDCG@10", 30, 1.0, False),
        ("lambdamart", "misranking", 60, 0.3, True),
        ("lightgbm", "nDCG@10", 30, 1.0, True),
        ("lightgbm", "misranking", 25, 0.05, True),
        ("lightgbm", "nDCG@10", 25, 0.05, False),
    ],
)
def test_recipes_leave_the_default_number_for_one_that_is_clearly_better(
    name, measure, most, rate, is_clear
):
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(360, 4)), np.arange(360) // 12
    y = np.digitize(X[:, 0] + rng.normal(size=360), [0.0, 1.0]).astype(float)
    settings = {"n_estimators": most, "learning_rate": rate, "early_stopping_rounds": most}
    settings |= {"measure" if name in ADAPTERS else "validation_measure": measure}
    recipe = fit_recipe(make(name, **settings), lambda trial: trial.fit(X, y, qid=qid))
    assert recipe is not None
    fitted, told = recipe
    default, curves, folds = min(most, round(100 * 0.1 / rate)), [], []
    for train, test in fold_splits(X, y, QueryGroups.from_qid(qid, len(y)), 5):
        held = {"X_val": X[test], "y_val": y[test], "qid_val": qid[test]}
        stopped = make(name, **settings).fit(X[train], y[train], qid=qid[train], **held)
        curves.append(stopped.validation_scores_)
        folds.append((train, test))
    length = max(map(len, curves))
    means = np.mean([[*curve, *[curve[-1]] * (length - len(curve))] for curve in curves], axis=0)
    sign = 1 if parse(measure).greater_is_better else -1
    best = int(np.argmax(sign * means)) + 1
    leads = []
    for (train, test), curve in zip(folds, curves, strict=True):
        found = []
        for number in (best, default):
            params = settings | {"n_estimators": min(number, len(curve))}
            model = make(name, **params).fit(X[train], y[train], qid=qid[train])
            groups = QueryGroups.from_qid(qid[test], len(test))
            found.append(parse(measure).per_query(y[test], model.predict(X[test]), groups))
        leads += list(sign * (found[0] - found[1]))
    lead, error = np.nanmean(leads), np.nanstd(leads, ddof=1) / np.sqrt(np.isfinite(leads).sum())
    assert is_clear == (lead > 2 * error)
    number = best if is_clear else default
    direct = make(name, **settings | {"n_estimators": number}).fit(X, y, qid=qid)
    np.testing.assert_array_equal(fitted.predict(X), direct.predict(X))
    assert fitted.get_params() == direct.get_params()
    because = "because no other number was clearly better " * (not is_clear)
    unit = "tree" if number == 1 else "trees"
    word = f"chose {number} {unit} " if is_clear else f"kept {number} {unit}, "
    assert told == f"{word}{because}by 5 folds of 30 queries, then fitted all rows"


def test_settings_of_grids_grow_the_number_that_folds_prefer(rows):
    X, y, qid = rows
    data, space = RankingData(X, y, qid=qid), {"max_leaf_nodes": [3, 12]}
    tuned = tune(make("lambdamart"), data, None, "nDCG@10", space=space, refit=True)
    assert tuned.chosen.keys() == space.keys()
    given = make("lambdamart", **tuned.chosen)
    direct = tune(given, data, None, "nDCG@10")
    np.testing.assert_array_equal(tuned.estimator.predict(X), direct.estimator.predict(X))
    start = "no validation part: "
    told = direct.notes[0].removeprefix(start)
    assert tuned.notes == [f"{start}held out 7 of 30 queries", told]
    recipe = Recipe(given, {}, "nDCG@10").fit(X, y, qid, None, None, "estimators")
    expected = fit_recipe(given, lambda trial: trial.fit(X, y, qid=qid))
    assert expected is not None
    np.testing.assert_array_equal(recipe.predict(X), expected[0].predict(X))


@pytest.mark.parametrize("name", ["lambdamart", "rank_boost"])
def test_recipes_hold_out_a_quarter_of_many_queries(name, rows, monkeypatch):
    X, y, qid = rows
    monkeypatch.setattr(chosen_rounds, "MANY_QUERIES", 30)
    recipe = fit_recipe(make(name), lambda trial: trial.fit(X, y, qid=qid))
    assert recipe is not None
    (train, test), *_ = fold_splits(X, y, QueryGroups.from_qid(qid, len(y)), 4)
    held = {"X_val": X[test], "y_val": y[test], "qid_val": qid[test]}
    number = kept_by(make(name).fit(X[train], y[train], qid=qid[train], **held))
    direct = make(name, n_estimators=number).fit(X, y, qid=qid)
    np.testing.assert_array_equal(recipe[0].predict(X), direct.predict(X))
    unit = "trees" if name == "lambdamart" else "rounds"
    assert recipe[1] == f"chose {number} {unit} on 8 of 30 queries, then fitted all rows"


def test_recipes_choose_no_rounds_if_they_cannot(rows):
    X, y, qid = rows

    def fit(trial):
        return trial.fit(X, y, qid=qid)

    for ranker in (make("lambdamart", early_stopping_rounds=None), make("lambdamart", cv=3)):
        assert fit_recipe(ranker, fit) is None
    assert fit_recipe(rankwise.RidgeRanker(), fit) is None
    for values in ({"learning_rate": 0.0}, {"learning_rate": "x"}, {"n_estimators": None}):
        assert fit_recipe(make("lambdamart", **values), fit) is None
        data = RankingData(X, y, qid=qid)
        with pytest.raises(ValueError, match=f"'{next(iter(values))}' parameter of LambdaMART"):
            tune(make("lambdamart", **values), data, None, "nDCG@10")
    y = np.zeros(len(y))  # nothing to order
    assert fit_recipe(make("lambdamart"), fit) is None


def test_recipes_split_the_rows_of_few_queries(rows):
    X, y, _ = rows
    qid = np.arange(len(y)) % 3
    for ids in (qid, None):
        recipe = fit_recipe(make("rank_boost"), lambda trial, ids=ids: trial.fit(X, y, qid=ids))
        assert recipe is not None
        assert recipe[1].endswith("by 5 folds of the rows, then fitted all rows")
        direct = make("rank_boost", n_estimators=recipe[0].n_estimators).fit(X, y, qid=ids)
        np.testing.assert_array_equal(recipe[0].predict(X), direct.predict(X))


def test_grids_score_settings_on_rows_that_they_were_not_trained_on(rows):
    X, y, qid = rows
    data = RankingData(X, y, qid=qid)
    train, vali = data.queries(np.arange(N_TRAIN)), data.queries(np.arange(N_TRAIN, 30))
    space, found = {"max_leaf_nodes": [3, 12]}, {}
    for refit in (False, True):
        ranker = make("lambdamart", refit=refit)
        found[refit] = tune(ranker, train, vali, "nDCG@10", space=space)
    assert found[True].search == found[False].search
    assert found[True].chosen == found[False].chosen
    params = {key: found[True].chosen[key] for key in ("max_leaf_nodes", "n_estimators")}
    direct = make("lambdamart", **params, measure="nDCG@10").fit(X, y, qid=qid)
    np.testing.assert_array_equal(found[True].estimator.predict(X), direct.predict(X))


def test_a_stack_needs_validation_rows_that_no_member_trained_on(rows):
    train, held = split(rows)
    members = [("a", make("rank_boost", refit=True)), ("b", make("rank_boost"))]
    stack = StackingRanker(members, cv=2, random_state=0)
    with pytest.raises(ValueError, match="estimators: 'a' must have refit=False if X_val"):
        stack.fit(**train, **held)
    stack.fit(**train)
