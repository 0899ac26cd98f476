"""Boosting on Dask: whole queries, the measures of fit, and workers that die."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import rankwise
from rankwise import evaluate, load, save
from tests.distributed.conftest import cut
from tests.distributed.deaths import (
    armed,
    die_after_the_first_tree,
    die_before_the_first_tree,
    die_inside_a_tree,
)

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
from rankwise.distributed import (  # noqa: E402
    fit,
    processes,
)

EXTRAS = {"LightGBMRanker": "lightgbm", "XGBoostRanker": "xgboost"}


@pytest.fixture(params=EXTRAS)
def booster(request):
    """Makes a ranker. Once there are several workers, LightGBM takes the rows of a leaf from its
    share of the second derivatives: a fewest number of them stops other splits."""
    pytest.importorskip(EXTRAS[request.param])
    counts = {"min_child_samples": 1} if request.param == "LightGBMRanker" else {}
    return partial(getattr(rankwise, request.param), 2, random_state=0, **counts)


@pytest.fixture(scope="module")
def coarse(judged):
    """Columns of 16 values, of which every share has all: all workers cut the same bins."""
    return np.floor(16 * judged.X) / 16


def one_query_over_three(judged, X):
    """Partitions, the second of which lies in the middle of a query."""
    first = int(
        np.flatnonzero(judged.qid == judged.qid[np.bincount(judged.qid)[judged.qid].argmax()])[0]
    )
    bounds = [0, first + 100, first + 200, len(X)]
    rows = (X, judged.y, judged.qid)
    return [tuple(column[lo:hi] for column in rows) for lo, hi in itertools.pairwise(bounds)]


def delayed(parts):
    return [dask.delayed(part) for part in parts]


def test_a_query_over_three_partitions(judged, coarse, client, booster, tmp_path):
    ranker = booster()
    whole = ranker.fit(coarse, judged.y, qid=judged.qid)
    fitted = fit(booster(), delayed(one_query_over_three(judged, coarse)))
    expected = whole.predict(coarse)
    np.testing.assert_allclose(fitted.predict(coarse), expected, rtol=1e-6, atol=1e-6)
    for name in ("n_samples", "n_queries", "n_features", "dtype"):
        assert fitted.fit_fingerprint_[name] == whole.fit_fingerprint_[name]
    assert fitted.score_name_ == whole.score_name_
    assert fitted.best_iteration_ == whole.best_iteration_ == 2
    np.testing.assert_allclose(fitted.feature_importances_, whole.feature_importances_, atol=1e-6)
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(coarse), fitted.predict(coarse))
    margins = fitted._tree_ensemble().score(fitted._encoded_rows(coarse))
    np.testing.assert_allclose(margins, fitted.predict(coarse), rtol=1e-5, atol=1e-6)


def test_validation_rows_stop_early_by_the_measure(judged, coarse, client, booster):
    rng = np.random.default_rng(1)
    X_val = np.floor(16 * rng.random((200, 5))) / 16
    validation = {"X_val": X_val, "y_val": rng.integers(0, 3, 200).astype(float)}
    validation["qid_val"] = np.arange(200) // 20
    ranker = booster().set_params(n_estimators=30, measure="AP", early_stopping_rounds=3)
    fitted = fit(ranker, delayed(one_query_over_three(judged, coarse)), client=client, **validation)
    assert 3 < len(fitted.validation_scores_) < 30
    staged = evaluate(validation["y_val"], fitted.predict(X_val), validation["qid_val"], "AP")
    assert fitted.validation_scores_.max() == pytest.approx(staged["AP"], abs=1e-12)
    assert fitted.best_iteration_ == 1 + fitted.validation_scores_.argmax()
    assert fitted._tree_ensemble().n_trees == fitted.best_iteration_


def test_real_labels_are_mapped_by_those_of_all_partitions(judged, coarse, client, booster):
    y = judged.y + np.where(np.arange(len(judged.y)) == 3, 0.5, 0.0)
    rows = (coarse, y, judged.qid)
    parts = [
        tuple(column[rows_of] for column in rows) for rows_of in (slice(400), slice(400, None))
    ]
    ranker = booster().set_params(n_estimators=1)
    if "num_leaves" in ranker.get_params():
        ranker.set_params(num_leaves=3)  # in small leaves LightGBM's estimates decide
    fitted = fit(ranker, delayed(parts), client=client)
    whole = ranker.fit(coarse, y, qid=judged.qid)
    np.testing.assert_allclose(fitted.predict(coarse), whole.predict(coarse), rtol=1e-6)
    assert fitted.score_name_ == whole.score_name_


def test_arrays_with_query_weights(judged, coarse, client, booster):
    import dask.array as da

    heavy = np.arange(len(judged.qid)) < 500  # of the first worker
    weight = np.where(np.isin(judged.qid, judged.qid[heavy]), 9.0, 1.0) + judged.qid % 3
    X = da.from_array(coarse, chunks=(330, 2))
    columns = [da.from_array(column, chunks=300) for column in (judged.y, judged.qid, weight)]
    ranker = booster().set_params(n_estimators=1)
    if "num_leaves" in ranker.get_params():
        ranker.set_params(num_leaves=3)  # in small leaves LightGBM's estimates decide
    fitted = fit(ranker, X, columns[0], qid=columns[1], sample_weight=columns[2], client=client)
    whole = ranker.fit(coarse, judged.y, qid=judged.qid, sample_weight=weight)
    np.testing.assert_allclose(fitted.predict(coarse), whole.predict(coarse), rtol=1e-6, atol=1e-6)


@pytest.fixture(scope="module")
def on_one_machine(judged):
    """LambdaMART of three trees."""
    return rankwise.LambdaMART(3).fit(judged.X, judged.y, qid=judged.qid)


@pytest.fixture
def impatient(monkeypatch):
    """LightGBM's program beside a dead one may never end: restart its worker at once."""
    monkeypatch.setattr(processes, "SECONDS_TO_END", 0.5)


def assert_same_trees(fitted, whole):
    for name in ("feature", "threshold", "left", "right", "values", "cover", "missing_left"):
        np.testing.assert_array_equal(getattr(fitted.trees_, name), getattr(whole.trees_, name))


def test_lambdamart_is_that_of_one_machine(judged, client, on_one_machine):
    parts = delayed(one_query_over_three(judged, judged.X))
    fitted = fit(rankwise.LambdaMART(3), parts, client=client)
    assert_same_trees(fitted, on_one_machine)
    np.testing.assert_array_equal(fitted.predict(judged.X), on_one_machine.predict(judged.X))
    for name in ("n_samples", "n_queries"):
        assert fitted.fit_fingerprint_[name] == on_one_machine.fit_fingerprint_[name]


@pytest.mark.parametrize(
    ("number", "death"),
    [(0, die_inside_a_tree), (1, die_inside_a_tree), (1, die_before_the_first_tree)],
)
def test_lambdamart_after_a_worker_died(judged, client, on_one_machine, impatient, number, death):
    parts = delayed(one_query_over_three(judged, judged.X))
    dead = armed(client, number, death)
    fitted = fit(rankwise.LambdaMART(3), parts, client=client)
    assert dead not in client.nthreads()
    assert_same_trees(fitted, on_one_machine)


def test_libraries_after_a_worker_died(judged, coarse, client, booster, impatient):
    parts = delayed(one_query_over_three(judged, coarse))
    others = {"X_val": coarse[:200], "y_val": judged.y[:200], "qid_val": judged.qid[:200]}
    calm = fit(booster(), parts, client=client, **others)
    dead = armed(client, 0, die_after_the_first_tree)
    fitted = fit(booster(), parts, client=client, **others)
    assert dead not in client.nthreads()
    assert fitted.model_ == calm.model_


def test_errors_name_argument_and_fix(judged, client):
    pytest.importorskip("lightgbm")
    parts = delayed(cut(judged, [500]))
    ranker = rankwise.LightGBMRanker(5)
    with pytest.raises(ValueError, match="y must differ within some query"):
        fit(ranker, delayed([(judged.X, np.ones(len(judged)), judged.qid)]), client=client)
    with pytest.raises(ValueError, match="categorical_features must be None on a cluster"):
        fit(rankwise.LightGBMRanker(categorical_features=[0]), parts, client=client)
    with pytest.raises(ValueError, match="qid must be given in every partition or in none"):
        fit(
            ranker,
            delayed([judged_part[: 2 + i] for i, judged_part in enumerate(cut(judged, [500]))]),
            client=client,
        )
    with pytest.raises(TypeError, match="X_val is for boosters"):
        fit(rankwise.RidgeRanker(), parts, X_val=judged.X, client=client)
    with pytest.raises(ValueError, match="none in any partition"):
        fit(ranker, delayed([(judged.X[:0], judged.y[:0], judged.qid[:0])]), client=client)
