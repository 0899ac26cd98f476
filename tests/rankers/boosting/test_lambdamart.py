"""LambdaMART: LightGBM's trees on small data, missing values, early stopping, stored models."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankwise import LambdaMART, LightGBMRanker, evaluate, load
from rankwise.losses.lambda_gradients import gains_of
from rankwise.metrics import parse
from tests.oracles import ragged_groups


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = rng.normal(size=(len(y), 6)).round(1) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0, 0]
    return X, y.astype(float), qid


def predictions(ranker, rows, X):
    return ranker.fit(*rows[:2], qid=rows[2]).predict(X)


@pytest.mark.parametrize("n_trees", [1, 2, 8])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("normalize", [True, False])
def test_trees_are_those_of_lightgbm(n_trees, holes, normalize):
    """Not with every seed: LightGBM tries no column in a child that its parent could not split."""
    rng = np.random.default_rng(1)
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = (rng.normal(size=(len(y), 6)) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0, 0]).round(1)
    X[rng.random(X.shape) < holes] = np.nan
    ours = LambdaMART(
        n_trees, max_leaf_nodes=8, measure="nDCG", min_samples_leaf=1, min_hessian_leaf=1.0,
        reg_lambda=1.0, normalize=normalize,
    )  # fmt: skip
    exact = {"min_data_in_bin": 1, "feature_pre_filter": False, "lambdarank_norm": normalize}
    theirs = LightGBMRanker(
        n_trees, num_leaves=8, min_child_samples=0, min_child_weight=1.0, reg_lambda=1.0,
        params=exact, random_state=0,
    )  # fmt: skip
    np.testing.assert_allclose(
        predictions(ours, (X, y, qid), X), predictions(theirs, (X, y, qid), X), atol=2e-4
    )


def test_any_order_and_number_of_threads_give_the_same_bits(judged, rng, monkeypatch):
    X, y, qid = judged
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.SMALL", 1)
    monkeypatch.setattr("rankwise.losses.gradient_loss.CHUNK_ROWS", 50)
    alone = LambdaMART(12, n_jobs=1).fit(X, y, qid=qid).predict(X)
    order = rng.permutation(len(y))
    for n_jobs in (2, 5):
        ranker = LambdaMART(12, n_jobs=n_jobs)
        np.testing.assert_array_equal(ranker.fit(X, y, qid=qid).predict(X), alone)
        ranker.fit(X[order], y[order], qid=qid[order])
        np.testing.assert_array_equal(ranker.predict(X), alone)


@pytest.mark.parametrize("spec", ["nDCG@5", "AP", "RR", "ERR"])
def test_weights_are_repetition_to_the_bit(spec, judged, rng):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    ranker = LambdaMART(12, measure=spec, subsample=0.7, random_state=0, query_weight="document")
    repeated = ranker.fit(X[rows], y[rows], qid=qid[rows]).predict(X)
    covers = ranker.trees_.cover
    ranker.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(ranker.predict(X), repeated)
    np.testing.assert_array_equal(ranker.trees_.cover, covers)
    ones = ranker.fit(X, y, qid=qid, sample_weight=np.ones(len(y))).predict(X)
    np.testing.assert_array_equal(ranker.fit(X, y, qid=qid).predict(X), ones)
    assert (ones != repeated).any()


def test_query_weight_multiplies_derivatives(rng):
    """Two queries that disagree: the longer one decides unless rows or pairs count less there."""
    X = np.concatenate([np.linspace(0, 1, 4), np.linspace(0, 1, 40)])[:, None]
    y = np.concatenate([np.linspace(0, 1, 4) > 0.5, np.linspace(0, 1, 40) < 0.5]).astype(int)
    qid = np.repeat([0, 1], [4, 40])
    slopes = {}
    for by in ("pair", "document", "query"):
        ranker = LambdaMART(
            1, measure="P@3", min_samples_leaf=1, max_leaf_nodes=2, query_weight=by,
            min_hessian_leaf=0, normalize=False,
        )  # fmt: skip
        low, high = ranker.fit(X, y, qid=qid).predict([[0.0], [1.0]])
        slopes[by] = high - low
    assert slopes["pair"] < slopes["document"] < slopes["query"]


def test_missing_values_may_decide(rng):
    X = rng.normal(size=(400, 2))
    y, qid = rng.integers(0, 2, 400), np.arange(400) % 20
    X[y == 1, 0] = np.nan
    ranker = LambdaMART(5).fit(X, y, qid=qid)
    assert ranker.score(X, y, qid=qid) == 1.0
    assert ranker.feature_importances_[0] > 0.99


def test_stops_early_and_keeps_the_best(judged):
    X, y, qid = judged
    val = np.isin(qid, np.unique(qid)[:20])
    ranker = LambdaMART(300, early_stopping_rounds=5, measure="nDCG@5", min_samples_leaf=5)
    ranker.fit(X[~val], y[~val], qid=qid[~val], X_val=X[val], y_val=y[val], qid_val=qid[val])
    values = ranker.validation_scores_
    assert ranker.n_estimators_ == np.argmax(values) + 1 == len(values) - 5
    result = evaluate(y[val], ranker.predict(X[val]), qid[val], ["nDCG@5"])
    np.testing.assert_allclose(result["nDCG@5"], values.max())


def test_without_early_stopping_all_trees_stay(judged):
    X, y, qid = judged
    ranker = LambdaMART(30).fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert ranker.n_estimators_ == len(ranker.validation_scores_) == 30


def test_bounds_of_the_trees(judged):
    X, y, qid = judged
    trees = LambdaMART(4, max_depth=2, min_samples_leaf=1).fit(X, y, qid=qid).trees_
    assert (np.diff(trees.indptr) <= 7).all()
    trees = LambdaMART(4, max_leaf_nodes=5, min_samples_leaf=1).fit(X, y, qid=qid).trees_
    assert (np.diff(trees.indptr) == 9).all()
    assert trees.cover[trees.indptr[:-1]].tolist() == [len(y)] * 4


def test_few_bins_are_few_thresholds(judged):
    X, y, qid = judged
    trees = LambdaMART(20, max_bins=3).fit(X, y, qid=qid).trees_
    for j in range(6):
        assert len(np.unique(trees.threshold[trees.feature == j])) <= 2


def test_labels_of_equal_gain_give_scores_of_zero(rng):
    X, y, qid = rng.normal(size=(30, 2)), np.arange(30) % 2 + 1, np.arange(30) // 6
    ranker = LambdaMART(3, measure="nDCG(gain=(0,1,1))").fit(X, y, qid=qid)
    assert not ranker.predict(X).any() and ranker.n_estimators_ == 0


def test_one_query_of_many_rows(rng):
    X = rng.normal(size=(100_000, 2)).astype(np.float32)
    y = (X[:, 0] > 1).astype(int)
    assert LambdaMART(3).fit(X, y).score(X, y) == 1.0


def test_sparse_rows_and_labels_of_any_size(judged):
    X, y, qid = judged
    X = np.where(X > 0.5, X, 0)
    dense = LambdaMART(5).fit(X, y, qid=qid).predict(X)
    ranker = LambdaMART(5).fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(sparse.csr_array(X)), dense)
    for labels in (y - 1.5, 1e300 * (y - 1), y + 40):
        gains = gains_of(parse("nDCG"), labels)
        np.testing.assert_allclose(gains / np.ptp(gains), y / np.ptp(y), atol=1e-12)


@pytest.mark.parametrize("draw", [{}, {"subsample": 0.5, "colsample_bytree": 0.7}])
def test_warm_start_grows_the_trees_of_one_call(draw, judged):
    X, y, qid = judged
    whole = LambdaMART(12, random_state=3, **draw).fit(X, y, qid=qid)
    ranker = LambdaMART(5, random_state=3, warm_start=True, **draw).fit(X, y, qid=qid)
    ranker.set_params(n_estimators=12).fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))
    np.testing.assert_allclose(ranker.feature_importances_, whole.feature_importances_)
    with pytest.raises(ValueError, match="n_estimators must be at least the 12 rounds"):
        ranker.set_params(n_estimators=5).fit(X, y, qid=qid)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({}, lambda X, y, qid: {"X": np.where(X > 0.9, np.inf, X)}),
        ({}, lambda X, y, qid: {"X": X[:, :2], "y": np.append(np.nan, y[1:])}),
        ({}, lambda X, y, qid: {"y": y[1:]}),
        ({}, lambda X, y, qid: {"position": np.full(len(y), -1)}),
        ({}, lambda X, y, qid: {"X_val": X[:, :2], "y_val": y, "qid_val": qid}),
        ({"monotonic_cst": [1, 1]}, lambda X, y, qid: {}),
    ],
    ids=["infinite", "narrow", "short", "position", "validation", "constraints"],
)
def test_a_refused_fit_keeps_the_earlier_trees(warm_start, options, change, judged):
    X, y, qid = judged
    position = np.arange(len(y)) % 5
    ranker = LambdaMART(3, warm_start=warm_start).fit(X, y, qid=qid, position=position)
    before, scores = dict(vars(ranker)), ranker.predict(X)
    ranker.set_params(n_estimators=5, **options)
    with pytest.raises(ValueError, match=r"X|y|position|monotonic_cst"):
        ranker.fit(**{"X": X, "y": y, "qid": qid} | change(X, y, qid))
    ranker.set_params(n_estimators=3, monotonic_cst=None)
    assert vars(ranker).keys() == before.keys()
    assert all(vars(ranker)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(ranker.predict(X), scores)


def test_warm_start_continues_models_of_version_0_2(judged):
    """They lack the number of rounds: each of these had given a tree."""
    X, y, qid = judged
    whole = LambdaMART(8, subsample=0.5, random_state=3).fit(X, y, qid=qid)
    ranker = LambdaMART(5, subsample=0.5, random_state=3, warm_start=True).fit(X, y, qid=qid)
    del ranker.n_rounds_
    ranker.set_params(n_estimators=8).fit(X, y, qid=qid)
    assert ranker.n_rounds_ == 8
    np.testing.assert_array_equal(ranker.predict(X), whole.predict(X))


@pytest.mark.parametrize("n_first", [1, 4, 5, 11])
@pytest.mark.parametrize("draw", [{}, {"objective": "yetirank"}, {"drop_rate": 0.3}])
def test_warm_start_continues_after_rounds_without_a_tree(draw, n_first, judged):
    X, y, qid = judged
    X = np.column_stack([X[:, 0], np.zeros((len(X), 3))])  # three of four draws find no split
    draw = {"colsample_bytree": 0.25, "random_state": 3, **draw}
    whole = LambdaMART(12, **draw).fit(X, y, qid=qid)
    assert 0 < whole.n_estimators_ < whole.n_rounds_ == 12
    ranker = LambdaMART(n_first, warm_start=True, **draw).fit(X, y, qid=qid)
    assert ranker.n_rounds_ == n_first
    ranker.set_params(n_estimators=12).fit(X, y, qid=qid)
    assert ranker.n_rounds_ == 12
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), rtol=1e-12)
    with pytest.warns(UserWarning, match="warm_start adds no round to the 12"):
        ranker.fit(X, y, qid=qid)


def test_warm_start_keeps_what_early_stopping_finds_best(judged):
    X, y, qid = judged
    val = np.isin(qid, np.unique(qid)[:20])
    rows = {"X_val": X[val], "y_val": y[val], "qid_val": qid[val]}
    ranker = LambdaMART(3, warm_start=True).fit(X[~val], y[~val], qid=qid[~val], **rows)
    first = ranker.validation_scores_
    ranker.set_params(n_estimators=200, early_stopping_rounds=4)
    ranker.fit(X[~val], y[~val], qid=qid[~val], **rows)
    np.testing.assert_array_equal(ranker.validation_scores_[:3], first)
    assert ranker.n_estimators_ == max(3, 1 + np.argmax(ranker.validation_scores_))
    with pytest.raises(
        ValueError, match=r"warm_start continues a fit on 6 features, but X has \d\. Set"
    ):
        ranker.fit(X[:, :2], y, qid=qid)


def test_scores_after_every_tree(judged):
    X, y, qid = judged
    ranker = LambdaMART(4).fit(X, y, qid=qid)
    stages = list(ranker.staged_predict(X))
    np.testing.assert_array_equal(stages[3], ranker.predict(X))
    np.testing.assert_array_equal(stages[1], LambdaMART(2).fit(X, y, qid=qid).predict(X))


def test_drawn_queries_and_columns(judged, rng):
    X, y, qid = judged
    ranker = LambdaMART(30, subsample=0.4, colsample_bytree=0.34, random_state=0).fit(X, y, qid=qid)
    trees = ranker.trees_
    for start, end in pairwise(trees.indptr):
        assert len(set(trees.feature[start:end]) - {-1}) <= 2
        assert trees.cover[start] < 0.7 * len(y)
    order = rng.permutation(len(y))
    again = LambdaMART(30, subsample=0.4, colsample_bytree=0.34, random_state=0, n_jobs=3)
    again.fit(X[order], y[order], qid=qid[order])
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert ranker.score(X, y, qid=qid) > 0.8
    other = LambdaMART(30, subsample=0.4, colsample_bytree=0.34, random_state=1)
    assert (other.fit(X, y, qid=qid).predict(X) != ranker.predict(X)).any()


@pytest.mark.parametrize("spec", ["AP", "RR", "ERR", "P@3", "R@5", "RBP", "DCG@5"])
def test_every_objective_learns(spec, judged):
    X, y, qid = judged
    ranker = LambdaMART(20, measure=spec, min_samples_leaf=5).fit(X, y, qid=qid)
    before, after = (evaluate(y, f, qid, [spec])[spec] for f in (0 * y, ranker.predict(X)))
    highest = evaluate(y, y, qid, [spec])[spec]
    assert highest - after < 0.5 * (highest - before)


def test_objectives_that_are_none_are_named(judged):
    X, y, qid = judged
    with pytest.raises(
        ValueError, match=r"measure must be one that LambdaMART optimises, got .Tau"
    ):
        LambdaMART(measure="Tau").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="measure 'P' needs a cut-off"):
        LambdaMART(measure="P").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="whole grades from 0 to 1 for nDCG"):
        LambdaMART(measure="nDCG(gain=(0,1))").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.2 for ERR"):
        LambdaMART(measure="ERR(max_grade=2)").fit(X, y, qid=qid)


def test_a_changed_tree_is_refused(judged, tmp_path):
    X, y, qid = judged
    ranker = LambdaMART(3).fit(X, y, qid=qid)
    ranker.save(tmp_path / "good.skops")
    np.testing.assert_array_equal(load(tmp_path / "good.skops").predict(X), ranker.predict(X))
    ranker.trees_.left[0] = 0
    with pytest.raises(ValueError, match=r"trees_.left and right must name every node"):
        ranker.save(tmp_path / "bad.skops")


OPTIONS = [
    {"reg_alpha": 0.5, "min_split_gain": 0.1},
    {"growth": "depth", "max_depth": 3},
    {"growth": "symmetric"},
    {"colsample_bytree": 0.6, "random_state": 1},
    {"colsample_bylevel": 0.6, "random_state": 1},
    {"colsample_bynode": 0.6, "random_state": 1},
    {"extra_trees": True, "random_state": 1},
    {"growth": "symmetric", "extra_trees": True, "colsample_bynode": 0.5, "random_state": 1},
    {"monotonic_cst": [1, -1, 0, 0, 1, 0]},
    {"interaction_cst": [[0, 1], [1, 2, 3]]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_bits_of_each_option(options, judged, rng, monkeypatch):
    X, y, qid = judged
    X[rng.random(X.shape) < 0.1] = np.nan
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.SMALL", 1)
    ranker = LambdaMART(8, n_jobs=1, min_samples_leaf=5, **options).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    order = rng.permutation(len(y))
    for n_jobs in (2, 3):
        again = LambdaMART(8, n_jobs=n_jobs, min_samples_leaf=5, **options)
        again.fit(X[order], y[order], qid=qid[order])
        np.testing.assert_array_equal(again.predict(X), scores)
    first = LambdaMART(3, min_samples_leaf=5, warm_start=True, **options).fit(X, y, qid=qid)
    first.set_params(n_estimators=8).fit(X, y, qid=qid)
    np.testing.assert_array_equal(first.predict(X), scores)
    plain = LambdaMART(8, min_samples_leaf=5).fit(X, y, qid=qid)
    assert (plain.predict(X) != scores).any()
    assert ranker.score(X, y, qid=qid) > 0.8


def test_scores_are_monotone(judged):
    X, y, qid = judged
    frame = pd.DataFrame(X, columns=list("abcdef"))
    given = {"b": -1, "c": 1, "f": 1}
    ranker = LambdaMART(40, monotonic_cst=given, min_samples_leaf=3).fit(frame, y, qid=qid)
    array = LambdaMART(40, monotonic_cst=[0, -1, 1, 0, 0, 1], min_samples_leaf=3)
    np.testing.assert_array_equal(array.fit(X, y, qid=qid).predict(X), ranker.predict(frame))
    for column, sign in ((1, -1), (2, 1), (5, 1)):
        grid = np.repeat(X[:100, None], 50, axis=1)
        grid[:, :, column] = np.linspace(X[:, column].min(), X[:, column].max(), 50)
        steps = np.diff(array.predict(grid.reshape(-1, 6)).reshape(100, 50), axis=1)
        assert (sign * steps >= -1e-12).all() and steps.any()


def paths(trees):
    """Sets of features on the way to the leaves."""
    for start, end in pairwise(trees.indptr):
        feature, left, right = (
            getattr(trees, name)[start:end] for name in ("feature", "left", "right")
        )
        waiting = [(0, frozenset())]
        while waiting:
            node, path = waiting.pop()
            if feature[node] < 0:
                yield path
            else:
                path = path | {feature[node]}
                waiting += [(left[node], path), (right[node], path)]


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ([["a", "b"], [1, 2]], [{0, 1}, {1, 2}, {3, 4, 5}]),
        ("no_interactions", [{j} for j in range(6)]),
        ("pairwise", [{i, j} for i in range(6) for j in range(i)]),
    ],
)
def test_paths_stay_in_a_group(given, groups, growth, judged):
    X, y, qid = judged
    words = {"min_samples_leaf": 3, "max_leaf_nodes": 31 if growth == "symmetric" else 7}
    frame = pd.DataFrame(X, columns=list("abcdef"))
    ranker = LambdaMART(20, interaction_cst=given, growth=growth, **words)
    ranker.fit(frame, y, qid=qid)
    found = set(paths(ranker.trees_))
    assert all(any(path <= group for group in groups) for path in found)
    assert max(len(path) for path in found) >= min(max(len(group) for group in groups), 2)
    free = LambdaMART(20, growth=growth, **words).fit(frame, y, qid=qid)
    assert not all(any(path <= group for group in groups) for path in paths(free.trees_))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"monotonic_cst": [1, 0]}, "a sign for each of the 6 columns of X, got shape .2,."),
        ({"monotonic_cst": [2, 0, 0, 0, 0, 0]}, "-1 .decreasing. and 0 .free., got 2. Set"),
        ({"monotonic_cst": {"a": 1}}, "does not have: a; X has no names"),
        ({"interaction_cst": [[0, 6]]}, "numbers of columns from 0 to 5, as X has no names, got 6"),
        ({"interaction_cst": [["a"]]}, "as X has no names, got 'a'"),
        ({"interaction_cst": [0, 1]}, "must hold sequences of columns, got 0"),
        ({"interaction_cst": [[]]}, "groups with columns"),
        ({"growth": "level"}, "'growth' parameter of LambdaMART must be"),
    ],
)
def test_wrong_rules_of_growth(wrong, message, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=message):
        LambdaMART(2, **wrong).fit(X, y, qid=qid)


def test_too_many_cells_of_histograms(monkeypatch, judged):
    X, y, qid = judged
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.MOST_CELLS", 100_000)
    with pytest.raises(
        ValueError, match=r"max_leaf_nodes must be such .* 64 leaves of 2,048 cells"
    ):
        LambdaMART(2, max_leaf_nodes=64).fit(X, y, qid=qid)
    LambdaMART(2, max_leaf_nodes=64, max_depth=2).fit(X, y, qid=qid)


def test_more_leaves_than_rows_take_no_memory(judged):
    X, y, qid = judged
    many = LambdaMART(2, max_leaf_nodes=2**40, min_samples_leaf=5).fit(X, y, qid=qid)
    few = LambdaMART(2, max_leaf_nodes=len(y), min_samples_leaf=5).fit(X, y, qid=qid)
    np.testing.assert_array_equal(many.predict(X), few.predict(X))


def test_columns_and_queries_that_tell_nothing(judged):
    X, y, qid = judged
    ranker = LambdaMART(5, min_samples_leaf=5).fit(X, y, qid=qid)
    wider = np.hstack([X, np.full((len(y), 1), 7.0), np.full((len(y), 1), np.nan)])
    again = LambdaMART(5, min_samples_leaf=5).fit(wider, y, qid=qid)
    assert not again.feature_importances_[6:].any()
    np.testing.assert_allclose(again.feature_importances_[:6].sum(), 1)
    assert abs(again.score(wider, y, qid=qid) - ranker.score(X, y, qid=qid)) < 0.05
    alone = LambdaMART(5).fit(np.ones((40, 2)), np.arange(40) % 2, qid=np.arange(40) // 4)
    assert alone.n_estimators_ == 0 and not alone.predict(np.ones((3, 2))).any()
    with pytest.raises(ValueError, match="y contains NaN at row"):
        LambdaMART(2).fit(X, np.where(y == 1, np.nan, y), qid=qid)
    with pytest.raises(ValueError, match="qid must give some query two rows or more"):
        LambdaMART(2).fit(X, y, qid=np.arange(len(y)))
