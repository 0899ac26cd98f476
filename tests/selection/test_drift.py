"""Summaries of training rows, and what moved since: rates by simulation, numbers by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from benchmarks.drift import sample as clustered
from scipy import sparse, stats

from rankwise import LambdaMART, RidgeRanker, load, save
from rankwise.datasets import RowSummary, summarize_rows
from rankwise.datasets.row_summary import bin_values, design_effect
from rankwise.persistence import describe
from rankwise.selection import find_drift


def test_rows_from_the_same_source_alarm_at_the_stated_rate(rng):
    repetitions = 150
    alarms = independent = 0
    for _ in range(repetitions):
        (X, qid), (new, new_qid) = clustered(rng, 120), clustered(rng, 80)
        alarms += not find_drift(summarize_rows(X, qid), new, new_qid).ok
        independent += not find_drift(summarize_rows(X), new).ok
    assert alarms / repetitions <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions)
    assert independent / repetitions > 0.5  # what the queries are for


def test_what_moves_is_found_and_first(rng):
    (X, qid), (new, new_qid) = clustered(rng, 300), clustered(rng, 300, shift=0.6)
    report = find_drift(summarize_rows(X, qid), new, new_qid)
    assert not report.ok
    first = report.columns[0]
    assert (first.name, first.has_moved) == ("0", True)
    assert 0 < first.low < first.psi < first.high
    assert [c.name for c in report.columns if c.has_moved] == ["0"]
    assert "1 of 6 columns have moved" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["ok"] is False


def index_of_normals(shift):
    """Stability index of a normal that moves by ``shift`` deviations, in bins between deciles."""
    cuts = np.concatenate([[-math.inf], stats.norm.ppf(np.arange(1, 10) / 10), [math.inf]])
    shares = np.diff(stats.norm.cdf(cuts - shift))
    return ((shares - 0.1) * np.log(shares / 0.1)).sum()


@pytest.mark.parametrize("shift", [0.2, 0.6])
@pytest.mark.parametrize("are_clustered", [False, True])
def test_intervals_hold_the_true_index(rng, shift, are_clustered):
    held, repetitions = 0, 100
    for _ in range(repetitions):
        if are_clustered:
            (X, qid), (new, new_qid) = clustered(rng, 150), clustered(rng, 150, shift)
            before = summarize_rows(X[:, :1], qid)
            (column,) = find_drift(before, new[:, :1], new_qid).columns
            truth = index_of_normals(shift / math.sqrt(2))
        else:
            before = summarize_rows(rng.normal(size=(2000, 1)))
            (column,) = find_drift(before, rng.normal(shift, size=(1500, 1))).columns
            truth = index_of_normals(shift)
        held += column.low <= truth <= column.high
    assert held / repetitions >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / repetitions)


SHOPS = np.array([f"shop{number:03}" for number in range(300)])


@pytest.mark.parametrize("kind", ["category", object])
@pytest.mark.parametrize("n_categories", [40, 200, 300])
def test_frequent_categories_of_one_sample_are_no_drift(rng, kind, n_categories):
    alarms = 0
    for _ in range(10):
        old, new = (
            pd.DataFrame({"shop": rng.choice(SHOPS[:n_categories], 2000)}).astype(kind)
            for _ in range(2)
        )
        before = summarize_rows(old)
        assert len(json.dumps(before.to_dict())) < 20 * n_categories + 1500
        alarms += not find_drift(before, new).ok
    assert alarms <= 2


def state_of_an_old_file(values, n_kept=40):
    """Summary as version 0.3 stored it: the most frequent categories have bins of their own."""
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:n_kept]
    shares = counts[order] / len(values)
    state = summarize_rows(pd.DataFrame({"shop": values})).to_dict()
    column = state["columns"]["shop"]
    column |= {"categories": found[order].tolist(), "shares": [*shares, 1 - sum(shares), 0.0]}
    del column["n_groups"]
    return state


def test_categories_of_an_old_file_are_tested_only_if_chance_did_not_choose_them(rng):
    alarms = 0
    for _ in range(10):
        old, new = (rng.choice(SHOPS[:200], 4000).astype(object) for _ in range(2))
        alarms += not find_drift(state_of_an_old_file(old), pd.DataFrame({"shop": new})).ok
    assert alarms <= 2
    shares = 1.0 / np.arange(1, 201) ** 1.5
    old = rng.choice(SHOPS[:200], 4000, p=shares / shares.sum()).astype(object)
    state = state_of_an_old_file(old)
    assert find_drift(state, pd.DataFrame({"shop": old})).ok
    assert not find_drift(state, pd.DataFrame({"shop": np.roll(SHOPS[:200], 1)[:100]})).ok


def test_shifts_among_categories_are_found(rng):
    shares = 1.0 / np.arange(1, 301)
    old, same = (rng.choice(SHOPS, 4000, p=shares / shares.sum()) for _ in range(2))
    before = summarize_rows(pd.DataFrame({"shop": old.astype(object)}))
    assert "shop000" in before.columns["shop"].categories
    assert find_drift(before, pd.DataFrame({"shop": same.astype(object)})).ok
    moved = np.where(rng.random(4000) < 0.1, "shop000", same)
    gone = same[same > "shop030"]  # the frequent ones are missing
    for new in (moved, gone):
        assert not find_drift(before, pd.DataFrame({"shop": new.astype(object)})).ok


def sales(rng, share, factor, n=20_000, zero=0.0):
    return np.where(rng.random(n) < share, factor * rng.gamma(2.0, 1.0, n), zero)[:, None]


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.5])
@pytest.mark.parametrize("factor", [0.5, 2.0, 1000.0, -1.0])
@pytest.mark.parametrize("qid", [None, np.repeat(np.arange(1000), 20)])
def test_values_that_are_not_zero_move(rng, share, factor, qid):
    before = summarize_rows(sales(rng, share, 1.0), qid)
    assert find_drift(before, sales(rng, share, 1.0), qid).ok
    assert not find_drift(before, sales(rng, share, factor), qid).ok


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (np.full(500, 7.0), np.full(500, 8.0)),
        (np.full(500, 7.0), np.full(500, 6.0)),
        (np.repeat([0.0, 1.0], [450, 50]), np.repeat([0.0, -1.0, 1.0], [400, 50, 50])),
        (np.repeat([0.0, 9.0], [50, 450]), np.repeat([0.0, 9.0, 10.0], [50, 400, 50])),
        (np.repeat([0.0, np.nan], [490, 10]), np.repeat([0.0, np.nan], [400, 100])),
    ],
)
def test_frequent_numbers_move(old, new):
    before = summarize_rows(old[:, None])
    assert find_drift(before, old[:, None]).ok
    assert not find_drift(before, new[:, None]).ok


def test_columns_constant_in_unequal_queries_alarm_at_the_stated_rate(rng):
    alarms = 0
    for _ in range(60):
        parts = []
        for n_queries in (150, 50):
            sizes = np.clip(np.exp(rng.normal(2, 0.8, n_queries)), 1, 40).astype(int)
            qid = np.repeat(np.arange(n_queries), sizes)
            parts.append((rng.normal(size=(n_queries, 2))[qid], qid))
        alarms += not find_drift(summarize_rows(*parts[0]), *parts[1]).ok
    assert alarms <= 8


def naive_design_effects(codes, n_bins, qid):
    """Eigenvalues of the covariance of shares, query by query, in the metric of independence."""
    queries = np.unique(qid)
    shares = np.array([(codes == b).mean() for b in range(n_bins)])
    used = np.flatnonzero((shares > 0) & (shares < 1))
    covariance = np.zeros((len(used), len(used)))
    for query in queries:
        mine = codes[qid == query]
        residual = np.array([(mine == b).sum() - len(mine) * shares[b] for b in used])
        covariance += np.outer(residual, residual)
    covariance *= len(queries) / (len(queries) - 1) / len(codes)
    metric = np.diag(1 / np.sqrt(shares[used]))
    return np.linalg.eigvalsh(metric @ covariance @ metric), len(used) - 1


def test_design_effects_are_those_of_the_definition(rng):
    qid = np.repeat(np.arange(40), rng.integers(3, 12, 40))
    codes = (rng.normal(size=40)[qid] + rng.normal(size=len(qid)) > 0).astype(int) + (
        rng.random(len(qid)) < 0.3
    )
    values, freedom = naive_design_effects(codes, 4, qid)
    mean = values.sum() / freedom
    expected = (mean, (values**2).sum() / freedom / mean**2 - 1, values.max())
    assert mean > 1
    assert design_effect(codes, 4, qid) == pytest.approx(expected)
    assert design_effect(codes, 4, np.arange(len(qid))) == (1.0, 0.0, 1.0)
    assert design_effect(np.zeros(len(qid), int), 2, qid) == (1.0, 0.0, 1.0)


def test_bins_hold_a_tenth_each_and_outer_ones_the_rest(rng):
    X = rng.random((1000, 1))
    (column,) = summarize_rows(X).columns.values()
    assert column.shares == pytest.approx([0.1] * 10 + [0.0], abs=0.002)
    codes, n_bins = bin_values(np.array([-5.0, 5.0, math.nan, math.inf, -math.inf]), column)
    assert codes.tolist() == [0, 9, 10, 9, 0]
    assert n_bins == 11
    (constant,) = summarize_rows(np.full((50, 1), 3.0)).columns.values()
    assert (constant.edges, constant.shares) == ([np.nextafter(3, 0), 3], [0, 1, 0, 0])
    (empty,) = summarize_rows(np.full((50, 1), math.nan)).columns.values()
    assert (empty.low, empty.shares) == (None, [0.0, 1.0])


def test_categories_missing_values_and_sizes_that_training_never_had():
    old = pd.DataFrame({"brand": ["a", "b"] * 200, "price": np.arange(400.0)})
    new = pd.DataFrame({"price": np.arange(400.0) + 390, "brand": ["a", "z"] * 200})
    new.loc[3, "price"] = math.nan
    qid = np.arange(400) // 4
    report = find_drift(summarize_rows(old, qid), new, np.arange(400) // 10)
    text = str(report)
    assert "missing values in price, of which training never had any" in text
    assert "categories of brand that training had none of: z" in text
    assert "40 of 40 queries have fewer rows than 4 or more than 4" in text
    assert "more than 1 % of the values lie beyond those of training in price" in text
    by_name = {column.name: column for column in report.columns}
    assert by_name["brand"].has_moved
    assert by_name["brand"].new_categories == ("z",)


def test_columns_that_are_not_there_or_of_another_kind():
    old = pd.DataFrame({"brand": ["a", "b"] * 20, "price": np.arange(40.0)})
    before = summarize_rows(old)
    with pytest.raises(ValueError, match="lack 1 of 2 columns of the model: 'price'"):
        find_drift(before, old[["brand"]])
    with pytest.raises(ValueError, match="'brand' held categories in training, and now numbers"):
        find_drift(before, old.assign(brand=1.0))
    with pytest.raises(ValueError, match="must have rows"):
        summarize_rows(old[:0])


def test_sparse_rows_are_those_of_dense_ones(rng):
    X, qid = clustered(rng, 40)
    X = np.nan_to_num(X) * (rng.random(X.shape) < 0.3)
    assert summarize_rows(sparse.csr_array(X), qid) == summarize_rows(X, qid)


def test_many_rows_are_a_sample_of_whole_queries(rng, monkeypatch):
    from rankwise.datasets import row_summary

    monkeypatch.setattr(row_summary, "MOST_ROWS", 500)
    X, qid = clustered(rng, 100)
    summary = summarize_rows(X, qid)
    sizes = np.bincount(qid)
    assert 300 < summary.n_rows <= 500
    assert summary.n_queries < 100
    assert {summary.smallest_query, summary.largest_query} <= set(sizes.tolist())
    assert summary == summarize_rows(X, qid)
    assert find_drift(summary, X, qid).ok


@pytest.mark.parametrize("kind", ["objects", "categories", "polars"])
def test_rare_categories_that_a_sample_misses_are_not_new(kind, monkeypatch):
    from rankwise.datasets import row_summary

    monkeypatch.setattr(row_summary, "MOST_ROWS", 500)
    shops = pd.Series([f"shop {k // 2}" if k % 5 else None for k in range(4000)], dtype=object)
    X = pd.DataFrame({"shop": shops, "price": np.arange(4000.0) % 7})
    if kind == "categories":
        X["shop"] = X["shop"].astype("category")
    if kind == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    summary, qid = summarize_rows(X, np.arange(4000) // 10), np.arange(400) // 10
    assert summary.n_rows == 500
    assert summary.columns["shop"].known == sorted(
        {shop for shop in shops if shop == shop and shop}
    )
    assert not any("had none of" in note for note in find_drift(summary, X[:400], qid).notes)
    other = X[:400].replace({"shop 3": "new"}) if kind == "objects" else X[:0]
    if len(other):
        assert "had none of: new" in str(find_drift(summary, other, qid))


@pytest.mark.parametrize("ranker", [RidgeRanker(), LambdaMART(10)])
def test_a_model_keeps_the_summary_of_its_rows(rng, tmp_path, ranker):
    X, qid = clustered(rng, 60)
    X = np.nan_to_num(X)
    y = np.clip(np.round(X[:, 0] + 1), 0, 3)
    model = ranker.fit(X, y, qid=qid)
    path = save(model, tmp_path / "m.rw", rows=summarize_rows(X, qid, estimator=model))
    before = RowSummary.from_dict(describe(path)["rows"])
    assert before == summarize_rows(X, qid, estimator=model)
    assert set(before.scores_at_rank) == {"1", "3", "10"}
    scores = model.predict(X)
    best = [scores[qid == query].max() for query in range(60)]
    assert before.scores_at_rank["1"][0] == pytest.approx(np.mean(best))
    report = find_drift(
        before, X[:, [0, 1, 2, 3, 4, 5]] + [0.8, 0, 0, 0, 0, 0], qid, estimator=load(path)
    )
    moved = {column.name for column in report.columns if column.has_moved}
    assert {"0", "scores of the model"} <= moved
    assert "the mean score at rank 1 is" in str(report)
    assert "rows" not in describe(save(model, tmp_path / "without.rw"))


@pytest.mark.parametrize("state", [{}, {"columns": 3}, {"columns": {"a": {"edges": []}}}])
def test_other_states_are_refused(state):
    with pytest.raises(ValueError, match="must be a result of"):
        RowSummary.from_dict(state)


@pytest.mark.parametrize("index", [-1, 2, "1", [1]])
def test_other_first_indices_are_refused(rng, index):
    state = summarize_rows(*clustered(rng, 60)).to_dict()
    with pytest.raises(ValueError, match="first_index must be 0, 1 or None"):
        RowSummary.from_dict({**state, "first_index": index})


def test_few_queries_are_not_tested(rng):
    (X, qid), (new, new_qid) = clustered(rng, 60), clustered(rng, 9, shift=3.0)
    report = find_drift(summarize_rows(X, qid), new, new_qid)
    assert report.ok
    assert "nothing is tested: 9 queries say too little" in str(report)
    assert find_drift(summarize_rows(X), new).columns[0].has_moved


def test_columns_have_names_and_other_things_are_refused(rng, tmp_path):
    X, qid = clustered(rng, 40)
    before = summarize_rows(X, qid, feature_names=list("abcdef"))
    assert list(before.columns) == list("abcdef")
    assert repr(before).startswith(f"RowSummary(n_rows={len(X)}, n_queries=40, columns=<6 items>")
    assert find_drift(before.to_dict(), X, qid).ok
    with pytest.raises(TypeError, match="must be a RowSummary"):
        find_drift(3, X)
    with pytest.raises(ValueError, match="two dimensions"):
        find_drift(before, "x")
    with pytest.raises(ValueError, match="X has 5 columns, but 6 are expected"):
        find_drift(before, X[:, :5], qid)
    with pytest.raises(ValueError, match="but 2 are expected"):
        summarize_rows(X, feature_names=["a", "b"])
