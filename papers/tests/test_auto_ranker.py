"""AutoRanker against boosting libraries: the search in time, the sets, the tables' tests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel

from rankwise.datasets import Fold, RankingData
from rankwise.metrics import parse
from rankwise_papers.auto_ranker import contestants, tables
from rankwise_papers.auto_ranker.contestants import (
    AUTO,
    CONTESTANTS,
    SPACES,
    fit_contestant,
    single_changes,
)
from rankwise_papers.auto_ranker.sets import SETS, load


@pytest.fixture
def fold():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 3)), np.arange(600) // 20
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=600), [0.5, 1.5]).astype(float)
    rows = RankingData(X, y, qid=qid)
    train, vali, test = (rows.queries(range(start, start + 10)) for start in (0, 10, 20))
    return Fold(train, vali, test)


def test_a_search_stops_before_the_setting_that_would_end_later(fold, monkeypatch):
    pytest.importorskip("lightgbm")
    seconds = itertools.count()
    monkeypatch.setattr(contestants.time, "process_time", lambda: float(next(seconds)))
    # After n settings it has spent n + 1, and asks whether (n + 1)(1 + 1 / n) is within the time.
    ranker, told = fit_contestant("LightGBM", fold, parse("nDCG@10"), 6.5)
    assert told["trials"] == 5
    found = parse("nDCG@10").per_query(fold.vali.y, ranker.predict(fold.vali.X), fold.vali.groups)
    assert told["validation"] == pytest.approx(np.nanmean(found), abs=1e-12)
    _, told = fit_contestant("LightGBM", fold, parse("nDCG@10"), 1e-9)
    assert told["trials"] == 1
    assert told["chosen"].startswith("learning_rate=0.05, num_leaves=31")


@pytest.mark.parametrize("name", SPACES)
def test_every_value_of_a_space_is_a_setting(name, fold):
    if name != "LambdaMART":
        pytest.importorskip(name.lower())
    cls, space = SPACES[name]
    settings = list(single_changes(space))
    assert len(settings) == 1 + sum(len(values) - 1 for values in space.values())
    for setting in settings:
        ranker = cls(2, random_state=0).set_params(**setting)
        assert ranker.fit(fold.train.X, fold.train.y, qid=fold.train.qid).n_estimators == 2


def test_settings_are_shown_by_parameter():
    drawn = {"learning_rate": 0.05, "loss": {"objective": "x", "params": {"flag": False}}}
    assert contestants._joined(drawn) == {
        "learning_rate": 0.05, "objective": "x", "params": {"flag": False},
    }  # fmt: skip
    shown = contestants._shown(contestants._joined(drawn))
    assert shown == "learning_rate=0.05, objective=x, flag=False"


def test_auto_has_the_validation_part(fold):
    ranker, told = fit_contestant(AUTO, fold, parse("nDCG@10"), 1.0)
    value = np.nanmean(
        parse("nDCG@10").per_query(fold.vali.y, ranker.predict(fold.vali.X), fold.vali.groups)
    )
    assert told["validation"] == pytest.approx(value, abs=1e-9)


def test_searches_are_dealt_whole(data_root):
    fold = load("expedia", 1)
    assert fold.vali is not None
    ids = [set(part.qid) for part in (fold.train, fold.vali, fold.test)]
    assert sum(map(len, ids)) == len(set.union(*ids)) == 411
    assert set(fold.train.y) == {0.0, 1.0, 5.0}
    names = fold.train.feature_names or []
    assert len(names) == 46
    assert not {"position", "booking_bool", "click_bool"} & set(names)


def made(rng):
    """Results of every set but MovieLens."""
    return {
        tables.cell_name(name, number, contestant): {
            "seconds": 9.0,
            "trials": 3,
            "validation": 0.5,
            "chosen": "a",
            "test": {measure: rng.random(12).tolist() for measure in tables.MEASURES},
        }
        for name, data in SETS.items()
        if name != "movielens"
        for number in range(1, data.n_folds + 1)
        for contestant in CONTESTANTS
    }


def test_tests_are_by_query_and_over_sets():
    results = made(np.random.default_rng(1))
    of_ndcg, _, over, work = tables.make(results)
    cells = {(value.row, value.column): value for value in of_ndcg.values}

    def queries(name, contestant):
        folds = range(1, SETS[name].n_folds + 1)
        of = [results[tables.cell_name(name, n, contestant)]["test"]["nDCG@10"] for n in folds]
        return np.concatenate(of)

    ours, other = queries("ohsumed", AUTO), queries("ohsumed", "XGBoost")
    assert len(ours) == 60
    assert cells["OHSUMED", AUTO].ours == pytest.approx(ours.mean())
    assert cells["OHSUMED", "p XGBoost"].ours == pytest.approx(ttest_rel(ours, other).pvalue)
    assert cells["MovieLens task", AUTO].ours is None
    names = [name for name in SETS if name != "movielens"]
    z = [
        norm.isf(ttest_rel(queries(n, AUTO), queries(n, "XGBoost"), alternative="greater").pvalue)
        for n in names
    ]
    row = {value.column: value.ours for value in over.values if value.row == "nDCG@10, XGBoost"}
    assert row["p"] == pytest.approx(norm.sf(np.sum(z) / np.sqrt(5)))
    assert row["sets"] == 5
    assert any(value.ours == 9.0 for value in work.values)
