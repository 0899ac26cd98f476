"""The pruning study: its parts, twins of random pairs, and what its tables compare."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankSVM
from rankwise.datasets import Fold, RankingData
from rankwise.datasets.catalog.ratings import Ratings
from rankwise.experiments import Cell
from rankwise.metrics import evaluate
from rankwise_papers.pruned_ranksvm import parts, plan
from rankwise_papers.pruned_ranksvm.experiment import PrunedPairs
from rankwise_papers.pruned_ranksvm.figures import figures

EXPERIMENT = PrunedPairs()


def judged(rng, n_queries):
    qid = np.repeat(np.arange(n_queries), 12)
    X = rng.normal(size=(len(qid), 3)) * [1.0, 50.0, 0.1] + 3.0
    y = np.clip(np.round(X[:, 0] - 2.0 + 0.3 * rng.normal(size=len(qid))), 0, 2)
    return RankingData(X, y, qid=qid)


@pytest.fixture
def fold(rng, monkeypatch):
    """A small fold in place of OHSUMED's."""
    made = Fold(judged(rng, 15), judged(rng, 8), judged(rng, 9), "fold1")
    monkeypatch.setattr(parts, "_letor", lambda source: [made])
    monkeypatch.setattr(parts, "N_LANDMARKS", 1000)  # all rows: the kernel itself
    clear()
    yield made
    clear()


def clear():
    parts.columns.cache_clear()
    parts._scaled.cache_clear()


def test_columns_are_scaled_by_what_the_name_says(fold):
    raw = parts.columns("ohsumed", 1, plan.NONE, "linear")
    assert raw.test is fold.test
    whole = parts.columns("ohsumed", 1, plan.GLOBAL, "linear")
    low, high = fold.train.X.min(axis=0), fold.train.X.max(axis=0)
    np.testing.assert_allclose(whole.test.X, (fold.test.X - low) / (high - low))
    within = parts.columns("ohsumed", 1, plan.QUERY, "linear")
    for of in (within.train, within.vali, within.test):
        rows = of.X[of.qid == 3]
        assert rows.min() == 0.0
        assert rows.max() == 1.0
    mapped = parts.columns("ohsumed", 1, plan.QUERY, "rbf")
    distances = np.square(within.train.X[:, None] - within.train.X).sum(axis=2)
    products = mapped.train.X @ mapped.train.X.T
    gamma = -np.log(products[0, 1]) / distances[0, 1]
    np.testing.assert_allclose(products, np.exp(-gamma * distances), atol=1e-6)


def cell(system, scaling=plan.QUERY, C=(0.01, 1.0)):
    params = {
        "set": "ohsumed", "part": 1, "scaling": scaling, "kernel": "linear", "system": system,
        "C": C,
    }  # fmt: skip
    return Cell(f"any/{system}", params, "ohsumed-min")


def test_the_best_c_of_the_validation_part_scores_the_test_part(fold):
    found = EXPERIMENT.run(cell(plan.ALL))["own"]
    of = parts.columns("ohsumed", 1, plan.QUERY, "linear")
    by_C = {}
    for C in (0.01, 1.0):
        ranker = RankSVM(C=C).fit(of.train.X, of.train.y, qid=of.train.qid)
        by_C[C] = [
            evaluate(part.y, ranker.predict(part.X), part.qid, [plan.NDCG])
            for part in (of.vali, of.test)
        ]
    best = max(by_C, key=lambda C: by_C[C][0][plan.NDCG])
    assert found["C"] == best
    np.testing.assert_allclose(found["test"], by_C[best][1].per_query[plan.NDCG], atol=1e-5)
    listed = EXPERIMENT.run(cell(plan.LISTED))["own"]
    assert listed["share"] == 1.0
    assert listed["test"] == found["test"]


def test_a_rule_has_a_twin_of_as_many_random_pairs(fold):
    found = EXPERIMENT.run(cell("nearest1"))
    own, twin = found["own"], found["random"]
    assert 0 < own["share"] < 0.5
    assert own["pairs"] <= twin["pairs"] <= own["pairs"] + fold.train.n_queries
    assert own["test"] != twin["test"]
    assert set(EXPERIMENT.run(cell(plan.SVR))) == {"own"}


def test_users_of_movielens_are_drawn_once_and_none_is_of_the_panel(monkeypatch):
    rng = np.random.default_rng(5)
    counts = np.concatenate([np.full(4, 40), np.full(30, 9)])
    items = np.concatenate([np.sort(rng.permutation(60)[:n]) for n in counts])
    values = rng.integers(1, 6, size=len(items)).astype(float)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    made = Ratings(indptr, items, values, np.arange(34), np.arange(60), (1.0, 5.0), "made")
    monkeypatch.setattr(parts, "load_movielens", lambda: made)
    for name, value in {"USERS": (4, 3, 5), "N_PANEL": 4, "MIN_FILMS": 5, "MAX_FILMS": 20}.items():
        monkeypatch.setattr(parts, name, value)
    parts._panel.cache_clear()
    panel, users = parts._panel()
    assert sorted(users) == list(range(4, 34))
    seen = []
    for part in (1, 2):
        of = parts._films(part)
        assert [data.n_queries for data in (of.train, of.vali, of.test)] == [4, 3, 5]
        first = users[(part - 1) * 12 :][:4].tolist()
        for query, user in enumerate(first):
            films, ratings = made.of_user(user)
            rows = of.train.qid == query
            np.testing.assert_array_equal(of.train.y[rows], ratings - 1)
            np.testing.assert_array_equal(of.train.X[rows], panel[films])
        seen += users[(part - 1) * 12 : part * 12].tolist()
    assert len(set(seen)) == 24
    films, ratings = made.of_user(0)
    column = int(np.flatnonzero(np.argsort(-counts, kind="stable")[:4] == 0)[0])
    np.testing.assert_array_equal(panel[films, column], ratings)
    other = np.setdiff1d(np.arange(60), films)
    assert (panel[other, column] == np.median(ratings)).all()
    parts._panel.cache_clear()


def test_a_quick_run_is_part_of_the_full_one():
    full = {one.name: one for one in EXPERIMENT.cells(quick=False)}
    quick = {one.name: one for one in EXPERIMENT.cells(quick=True)}
    assert all(full[name] == one for name, one in quick.items())
    assert len(quick) == 3 * len(plan.SYSTEMS)
    assert {one.data for one in full.values()} == set(EXPERIMENT.data())


def made_up(rng, quick=False):
    """Every rule is 0.1 above its random twin, which is 0.05 below all pairs."""
    results = {}
    for one in EXPERIMENT.cells(quick):
        sign = -1.0 if plan.SETS[one.params["set"]].is_ordinal else 1.0
        n = 1 if sign < 0 else 20
        base = np.random.default_rng(one.params["part"]).uniform(0.4, 0.5, size=n)
        if one.params["scaling"] == plan.NONE:
            base = base - sign * 0.2

        def outcome(above, share, base=base, sign=sign):
            return {
                "C": 1.0, "share": share, "pairs": 10, "seconds": 0.5, "unfinished": 0,
                "test": (base + sign * above + 1e-3 * rng.normal(size=len(base))).tolist(),
            }  # fmt: skip

        system = plan.SYSTEMS[one.params["system"]]
        share = rng.uniform(0.1, 0.9) if system.has_twin else 1.0
        results[one.name] = {"own": outcome(0.05 if system.has_twin else 0.0, share)}
        if system.has_twin:
            results[one.name]["random"] = outcome(-0.05, share)
    return results


def test_tables_compare_with_all_pairs_and_with_as_many_random_ones(rng):
    results = made_up(rng)
    found = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    assert len(found) == 2 * 4 + 2
    for name in ("ohsumed-linear", "movielens-rbf", "ordinal-linear"):
        values = {(v.row, v.column): v for v in found[name].values}
        assert values["nearest 3", "minus all pairs"].ours == pytest.approx(0.05, abs=3e-3)
        assert values["nearest 3", "minus random pairs"].ours == pytest.approx(0.1, abs=3e-3)
        assert values["nearest 3", "random minus all"].ours == pytest.approx(-0.05, abs=3e-3)
        assert 0 < values["nearest 3", "minus all pairs"].error < 5e-3
        assert ("SVR", "minus random pairs") not in values
        assert values["SVR", "share kept"].ours == 1.0
    values = {(v.row, v.column): v.ours for v in found["ordinal-sets"].values}
    assert values["bank, rbf", "nearest 1"] > values["bank, rbf", "all pairs"] > 0.5
    values = {(v.row, v.column): v.ours for v in found["normalisation"].values}
    lead = values["OHSUMED, linear, all pairs", "within queries minus none"]
    assert lead == pytest.approx(0.2, abs=3e-3)
    assert ("ordinal regression, rbf, SVR", "within queries") not in values
    assert values["ordinal regression, rbf, SVR", "global minus none"] > 0.19
    drawn = figures(results, quick=False)
    assert len(drawn) == 8
    assert [len(line.x) for line in drawn[0].series] == [4, 6, 2, 2]


def test_tables_of_what_is_there(rng):
    results = made_up(rng)
    del results[plan.cell_name("mq2008", 2, plan.QUERY, "rbf", plan.ALL)]
    found = {table.name: table for table in EXPERIMENT.tables(results, quick=False)}
    values = {(v.row, v.column): v for v in found["mq2008-rbf"].values}
    assert values["all pairs", "nDCG@10"].ours is None
    assert ("nearest 3", "minus all pairs") not in values
    assert values["nearest 3", "minus random pairs"].ours == pytest.approx(0.1, abs=3e-3)
    quick = EXPERIMENT.tables(made_up(rng, quick=True), quick=True)
    assert [table.name for table in quick] == ["ohsumed-linear", "ohsumed-rbf", "ordinal-linear"]
    of_one = {(v.row, v.column): v for v in quick[2].values}
    assert of_one["nearest 3", "minus all pairs"].error is None
    assert EXPERIMENT.tables({}, quick=False)[0].values[0].ours is None


def test_ordinal_parts_are_three_groups_of_different_rows(monkeypatch):
    monkeypatch.setattr(parts, "ROWS", (20, 10, 30))

    class Known:
        X = np.column_stack([np.arange(80.0), np.arange(80) % 2])
        y = np.arange(80) % 10
        categories = ((), ("a", "b"))

    monkeypatch.setattr(parts, "_table", lambda data: Known)
    of = parts._ordinal("abalone", 2)
    assert [data.n_samples for data in (of.train, of.vali, of.test)] == [20, 10, 30]
    rows = np.concatenate([data.X[:, 0] for data in (of.train, of.vali, of.test)])
    assert len(set(rows)) == 60
    np.testing.assert_array_equal(of.test.y, of.test.X[:, 0] % 10)
    np.testing.assert_array_equal(of.test.X[:, 2], of.test.X[:, 0] % 2)
    assert of.test.n_queries == 1
