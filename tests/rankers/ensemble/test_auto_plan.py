"""The plan of AutoRanker: fixed by sizes before the first fit, the same bits on any machine."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import rankwise
from rankwise import AutoRanker, compare
from rankwise.datasets import RankingData
from rankwise.rankers.ensemble import auto, auto_search
from rankwise.rankers.ensemble.auto_search import N_NODE_BAGS, N_TREE_BAGS, Plan, Size, settings

SETTINGS = [trial.name for trial in settings("nDCG@10", True, 0, 1)]


def made(seed=0, n_queries=24):
    """Rows of queries of ten, grades by two features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0.5, 1.5])
    return X, y, np.repeat(np.arange(n_queries), 10)


def planned(n_parts, n_rows, n_columns, measure="nDCG@10", rows_a_query=100):
    sizes = [Size(n_rows, n_columns, n_rows * n_columns, n_rows * rows_a_query)] * n_parts
    return Plan.of(settings(measure, True, 0, 1), sizes)


def jump(monkeypatch, seed):
    """Replace the clocks by ones that jump by up to an hour with every look."""
    rng, now = np.random.default_rng(seed), [0.0]

    def clock():
        now[0] += rng.choice([0.0, 1e-3, 5.0, 3600.0])
        return now[0]

    monkeypatch.setattr(auto, "CLOCKS", {"wall": clock, "cpu": clock})


def assert_same(first, again, X):
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    for one, other in zip(first.history_, again.history_, strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    assert (first.plan_, first.skipped_) == (again.plan_, again.skipped_)


@pytest.mark.parametrize(
    "options",
    [
        {"n_trials": 10},
        {"n_trials": 3, "clock": "cpu", "measure": "Misranking"},
        {"n_trials": 4, "query_weight": "query"},
    ],
)
def test_no_clock_changes_the_result(options, monkeypatch):
    X, y, qid = made()
    # Work that limits the paths of the SVMs and the trees.
    monkeypatch.setattr(auto_search, "_WORK", 0.8)
    given = {"cv": 2, "random_state": 0, **options}
    ranker = AutoRanker(**given).fit(X, y, qid=qid)
    assert not ranker.is_cut_
    jump(monkeypatch, 0)
    assert_same(ranker, AutoRanker(**given).fit(X, y, qid=qid), X)


def test_no_number_of_threads_changes_the_result(monkeypatch):
    X, y, qid = made(n_queries=40)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", str(n_threads))
        with threadpool_limits(n_threads):
            ranker = AutoRanker(cv=2, random_state=0, n_trials=7).fit(X, y, qid=qid)
        found.append(ranker)
    assert_same(*found, X)


# Plans -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "left_out", "n_bags"),
    [
        ((5, 300, 5), [], (N_NODE_BAGS, N_TREE_BAGS)),
        ((5, 1400, 6), [], (N_NODE_BAGS, N_TREE_BAGS)),  # a set of 1,728 cars
        ((5, 3000, 20), [], (N_NODE_BAGS, N_TREE_BAGS)),
        ((5, 13_000, 46), [], (N_NODE_BAGS, N_TREE_BAGS)),  # OHSUMED, MQ2008
        ((5, 16_000, 136), [], (3, 1)),
        ((1, 80_000, 136), [], (3, 2)),
        ((1, 570_000, 136), ["pairwise_elm pair", "pairwise_elm document",
                             *(f"lambdamart {k}" for k in (2, 3, 4, 5))], (0, 0)),
    ],
)  # fmt: skip
def test_plans_of_sizes(sizes, left_out, n_bags):
    plan = planned(*sizes)
    assert [name for name in SETTINGS if name not in plan.limits] == left_out
    assert (plan.n_node_bags, plan.n_tree_bags) == n_bags
    assert plan.limits["lambdamart 1"] >= 50
    assert plan.limits["rank_svm pair"] >= 50


@pytest.mark.parametrize("sizes", [(1, 5_000_000, 136), (1, 10**8, 1000), (1, 200_000, 10**6)])
def test_data_of_any_size_have_a_trial(sizes):
    plan = planned(*sizes)
    assert plan.limits
    assert (plan.n_node_bags, plan.n_tree_bags) == (0, 0)


def test_long_queries_have_fewer_trees_if_gradients_compare_all_rows():
    n = 80_000
    assert planned(1, n, 6, "AP").limits["lambdamart 1"] == 500
    assert planned(1, n, 6, "nDCG@10", n).limits == planned(1, n, 6).limits
    one_query = planned(1, n, 6, "AP", n)
    assert one_query.limits["lambdamart 1"] == 50
    assert one_query.n_tree_bags == 0


def test_larger_data_never_have_more_trials():
    n_trials = [len(planned(5, n, 20).limits) + planned(5, n, 20).n_tree_bags
                for n in (10**3, 10**4, 10**5, 10**6, 10**7)]  # fmt: skip
    assert n_trials == sorted(n_trials, reverse=True)
    assert n_trials[0] > n_trials[-1]


def test_what_is_not_planned_is_listed(monkeypatch, capsys):
    X, y, qid = made()
    monkeypatch.setattr(auto_search, "_WORK", 0.5)
    ranker = AutoRanker(cv=2, random_state=0, verbose=True).fit(X, y, qid=qid)
    limits = {row["trial"]: row["limit"] for row in ranker.plan_}
    skipped = [row["trial"] for row in ranker.skipped_]
    assert {*SETTINGS} == {*limits, *skipped} - {"bags of nodes", "bags of trees"}
    assert skipped
    assert {row["reason"] for row in ranker.skipped_} == {auto.NOT_PLANNED}
    tried = {row["trial"]: row for row in ranker.history_}
    assert tried["lambdamart 1"]["params"]["n_estimators"] == limits["lambdamart 1"] < 500
    report = ranker.report()
    assert f"{skipped[0]} not tried: not planned for data of this size" in " ".join(report.split())
    assert "failed" not in report and "time_budget" not in report
    n_trials = len(tried)
    assert f"trial {n_trials} of {n_trials} (" in capsys.readouterr().err


def test_a_path_of_penalties_ends_after_the_planned_products(monkeypatch):
    X, y, qid = made()
    monkeypatch.setattr(
        Plan, "of", lambda trials, sizes: Plan({"ridge": None, "rank_svm pair": 12}, 0, 0)
    )
    ranker = AutoRanker(cv=2, random_state=0).fit(X, y, qid=qid)
    _, svm = ranker.history_
    assert svm["cut"] and not ranker.is_cut_
    assert "cut short" in ranker.report()
    jump(monkeypatch, 0)
    assert_same(ranker, AutoRanker(cv=2, random_state=0).fit(X, y, qid=qid), X)


# Time budgets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1e-6, 1e9, float("inf"), None])
def test_a_budget_that_cuts_says_so(budget, tmp_path):
    X, y, qid = made()
    ranker = AutoRanker(budget, cv=2, random_state=0, n_trials=2)
    board = compare(ranker, RankingData(X, y, qid=qid), cv=2, measures="nDCG@10", isolate=False)
    ranker.fit(X, y, qid=qid)
    is_cut = budget == 1e-6
    assert ranker.is_cut_ is is_cut
    assert ("note: time_budget cut the search" in ranker.report()) == is_cut
    (row,) = board.rows()
    assert any("time_budget=1e-06 cut the search" in note for note in row["notes"]) == is_cut
    assert bool(ranker.plan_) == (budget is None)
    rankwise.save(ranker, tmp_path / "m")
    again = rankwise.load(tmp_path / "m")
    assert (again.is_cut_, again.plan_) == (ranker.is_cut_, ranker.plan_)
    assert again.report() == ranker.report()


def test_fewer_trees_are_a_cut(monkeypatch):
    X, y, qid = made()
    now = [0.0]

    def clock():
        now[0] += 0.002
        return now[0]

    monkeypatch.setitem(auto.CLOCKS, "cpu", clock)
    monkeypatch.setattr(auto_search.TimeBudget, "probe", lambda *_: 0.01)
    ranker = AutoRanker(4.0, cv=2, clock="cpu", random_state=0, n_trials=6).fit(X, y, qid=qid)
    assert not ranker.skipped_
    assert ranker.is_cut_
