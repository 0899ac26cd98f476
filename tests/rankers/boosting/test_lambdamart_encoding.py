"""Numbers in place of categories in LambdaMART: what they see, and what may not change them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwise import LambdaMART, load
from rankwise.trees.boosted import growth_rules
from rankwise.trees.target_statistics import STRENGTH, CategoryEffects, encode_in_order

N_SHOPS = 300


@pytest.fixture
def judged(rng):
    """40 queries of 30 rows, with 300 shops and 40 colours, of which some are missing."""
    n = 1200
    shop, colour, number = rng.integers(0, N_SHOPS, n), rng.integers(0, 40, n), rng.normal(size=n)
    lift, tint = 2 * rng.normal(size=N_SHOPS), rng.normal(size=40)
    utility = lift[shop] + tint[colour] + number + rng.normal(size=n)
    frame = pd.DataFrame({
        "shop": np.char.add("s", shop.astype(str)).astype(object), "a": number,
        "colour": colour.astype(float),
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "shop"] = None
    return frame, np.digitize(utility, np.quantile(utility, [0.5, 0.8])), np.arange(n) % 40


def make(n_estimators=10, **given):
    given = {"categorical_features": ["colour"], "min_samples_leaf": 5} | given
    return LambdaMART(n_estimators, **given)


def in_queries(judged):
    """Codes, labels and the ends of the queries, query by query."""
    frame, y, qid = judged
    order = np.argsort(qid, kind="stable")
    codes = frame["shop"].str[1:].astype(float).to_numpy()
    both = np.column_stack([codes, frame["colour"]])[order]
    return both, y[order].astype(float), np.arange(0, 1201, 30)


def test_no_row_sees_its_own_query_or_later_ones(judged, rng):
    codes, y, indptr = in_queries(judged)
    before, _ = encode_in_order(codes, [N_SHOPS, 40], y, indptr, None, 0)
    n_seen = np.zeros(40, dtype=int)
    for query in range(40):
        rows = slice(indptr[query], indptr[query + 1])
        other = y.copy()
        other[rows] = rng.permutation(other[rows])
        after, _ = encode_in_order(codes, [N_SHOPS, 40], other, indptr, None, 0)
        changed = (np.nan_to_num(after) != np.nan_to_num(before)).any(axis=1)
        assert not changed[rows].any()
        n_seen[query] = changed.reshape(40, 30).any(axis=1).sum()
    # Queries of the first block are seen by those of all others, queries of the last one by none.
    assert n_seen.max() >= 36
    assert n_seen.min() == 0
    assert (np.isnan(before) == np.isnan(codes)).all()


def test_the_effects_are_those_of_ridge_regression(judged, rng):
    codes, y, indptr = in_queries(judged)
    weight = rng.uniform(0.5, 2.0, 1200)
    effects = CategoryEffects(codes, [N_SHOPS, 40], y, indptr[:-1], weight)
    effects.estimate(40, 3000)
    known = np.where(np.isnan(codes), -1, codes)
    columns = [(known[:, [0]] == range(N_SHOPS)), (known[:, [1]] == range(40))]
    design = np.hstack([*columns, np.repeat(np.arange(40), 30)[:, None] == range(40)]) * 1.0
    penalty = np.diag([STRENGTH] * (N_SHOPS + 40) + [0.0] * 40)
    gram = design.T @ (weight[:, None] * design) + penalty
    exact = np.linalg.solve(gram, design.T @ (weight * (y / 2)))
    found = np.concatenate([statistics[:-1] for statistics in effects.statistics])
    np.testing.assert_allclose(found, exact[: N_SHOPS + 40], atol=1e-8)


@pytest.mark.parametrize("change", ["labels", "equal labels", "one row"])
def test_what_carries_nothing_changes_nothing(change, judged):
    codes, y, indptr = in_queries(judged)
    values, statistics = encode_in_order(codes, [N_SHOPS, 40], y, indptr, None, 0)
    if change == "labels":
        other, more = encode_in_order(codes, [N_SHOPS, 40], 4 * y - 8, indptr, None, 0)
        np.testing.assert_allclose(other, values, atol=1e-6)
    else:
        n = 30 if change == "equal labels" else 1
        added = np.concatenate([codes, codes[:n]]), np.concatenate([y, np.full(n, 2.0)])
        ends = np.append(indptr, 1200 + n)
        more = encode_in_order(added[0], [N_SHOPS, 40], added[1], ends, None, 0)[1]
    for found, expected in zip(more, statistics, strict=True):
        np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_neither_order_nor_names_nor_kinds_of_rows_change_the_model(judged, rng, n_jobs):
    frame, y, qid = judged
    expected = make().fit(frame, y, qid=qid).predict(frame)
    order = rng.permutation(len(y))
    again = make(n_jobs=n_jobs).fit(frame.iloc[order], y[order], qid=100 - qid[order])
    np.testing.assert_array_equal(again.predict(frame), expected)
    array = frame.to_numpy(dtype=object)
    again = make(categorical_features=[0, 2], n_jobs=n_jobs).fit(array, y, qid=qid)
    np.testing.assert_array_equal(again.predict(array), expected)
    again = make(random_state=1).fit(frame, y, qid=qid)
    assert (again.predict(frame) != expected).any()


def test_weights_are_repetitions(judged, rng):
    frame, y, qid = judged
    weight = rng.integers(0, 3, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    weighted = make().fit(frame, y, qid=qid, sample_weight=weight)
    repeated = make().fit(frame.iloc[copies], y[copies], qid=qid[copies])
    for column, statistics in weighted.columns_.statistics.items():
        np.testing.assert_array_equal(statistics, repeated.columns_.statistics[column])
    np.testing.assert_array_equal(weighted.predict(frame), repeated.predict(frame))


def test_unknown_categories_are_average_and_missing_ones_missing(judged):
    frame, y, qid = judged
    ranker = make().fit(frame, y, qid=qid)
    table = ranker.columns_
    assert table.prior == {0: 0.0, 2: 0.0}
    rows = frame.assign(shop=["new"] * 599 + [None, *frame["shop"][:600]])
    coded = table.encode(rows).rows["shop"].to_numpy()
    assert (coded[:599] == 0).all()
    assert np.isnan(coded[599])
    assert set(table.statistics[0]) >= set(coded[600:][~np.isnan(coded[600:])])
    assert ranker.score(frame, y, qid=qid) > 0.8


def test_a_column_of_unique_names_is_never_split(judged):
    frame, y, qid = judged
    names = pd.Categorical([f"n{i}" for i in range(len(y))])
    ranker = make().fit(frame.assign(name=names), y, qid=qid)
    assert 3 not in ranker.trees_.feature


@pytest.mark.parametrize(
    ("encoding", "encoded", "subsets"),
    [("auto", {0, 2}, {3}), ("ordered", {0, 2, 3}, set())],
)
def test_the_encoding_chooses_columns(encoding, encoded, subsets, judged):
    frame, y, qid = judged
    frame = frame.assign(size=np.where(y == 1, "small", "large"))
    ranker = make(categorical_encoding=encoding, cat_l2=0.0).fit(frame, y, qid=qid)
    assert set(ranker.columns_.statistics) == encoded
    assert set(ranker.trees_.feature[ranker.trees_.nominal]) == subsets


def test_subsets_refuse_more_categories_than_a_byte_holds(judged):
    frame, y, qid = judged
    with pytest.raises(ValueError, match=r"at most 255 .* in column 'shop'.*encoding='ordered'"):
        make(categorical_encoding="subset").fit(frame, y, qid=qid)
    make(categorical_encoding="subset").fit(frame[["a", "colour"]], y, qid=qid)
    with pytest.raises(ValueError, match="monotonic_cst must be 0 for columns of categories"):
        make(monotonic_cst={"shop": 1}).fit(frame, y, qid=qid)


def test_warm_start_keeps_the_statistics(judged):
    frame, y, qid = judged
    whole = make(20).fit(frame, y, qid=qid)
    first = make(8, warm_start=True).fit(frame, y, qid=qid)
    kept = first.columns_
    first.set_params(n_estimators=20).fit(frame, y, qid=qid)
    np.testing.assert_array_equal(first.predict(frame), whole.predict(frame))
    later = frame.assign(shop=["new"] * 600 + [*frame["shop"][600:]])
    first.set_params(n_estimators=25).fit(later, y, qid=qid)
    for column in (0, 2):
        np.testing.assert_array_equal(first.columns_.statistics[column], kept.statistics[column])
        assert first.columns_.nominal[column].tolist() == kept.nominal[column].tolist()
    assert first.n_estimators_ == 25
    few = frame.assign(shop=frame["shop"].str[-1])
    subset = make(8, warm_start=True, categorical_encoding="subset").fit(few, y, qid=qid)
    for earlier, rows, other in ((first, frame, "subset"), (subset, few, "ordered")):
        earlier.set_params(n_estimators=30, categorical_encoding=other)
        with pytest.raises(ValueError, match="must be that of the fit that warm_start continues"):
            earlier.fit(rows, y, qid=qid)


def test_validation_rows_have_the_statistics_of_all_training_rows(judged):
    frame, y, qid = judged
    held = qid < 10
    given = {"X_val": frame[held], "y_val": y[held], "qid_val": qid[held]}
    ranker = make(early_stopping_rounds=30).fit(frame[~held], y[~held], qid=qid[~held], **given)
    reached = ranker.score(frame[held], y[held], qid=qid[held])
    assert reached == pytest.approx(ranker.validation_scores_[ranker.n_estimators_ - 1])


def test_files_keep_the_statistics(judged, tmp_path):
    frame, y, qid = judged
    ranker = make().fit(frame, y, qid=qid)
    loaded = load(ranker.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.statistics.update({0: np.zeros(3)}), r"statistics\[0\] must have shape"),
        (lambda t: t.statistics.update({1: np.zeros(0)}), "prior must have the columns"),
        (lambda t: t.prior.update({0: np.inf}), "must be finite"),
        (lambda t: t.statistics[0].__setitem__(0, np.nan), "must hold finite numbers"),
        (lambda t: t.nominal.pop(0), r"statistics\[0\] must have shape"),
    ],
)
def test_damaged_statistics_are_refused(change, message, judged, tmp_path):
    frame, y, qid = judged
    ranker = make(2).fit(frame, y, qid=qid)
    change(ranker.columns_)
    with pytest.raises(ValueError, match=message):
        ranker.save(tmp_path / "m")


@pytest.mark.parametrize(
    ("given", "queries", "rows", "growth"),
    [
        ({}, 40, 1201, "symmetric"),
        ({}, 41, 1201, "leaf"),
        ({}, 40, 1200, "leaf"),
        ({"max_leaf_nodes": 31}, 40, 1201, "leaf"),
        ({"max_depth": 6}, 40, 1201, "leaf"),
        ({"growth": "depth"}, 40, 1201, "depth"),
        ({"categorical_features": [], "categorical_encoding": "subset"}, 40, 1201, "leaf"),
        ({"random ids": True}, 40, 1201, "leaf"),
    ],
)
def test_effects_choose_symmetric_trees(given, queries, rows, growth, judged, rng, monkeypatch):
    monkeypatch.setattr(growth_rules, "FEW_QUERIES", queries)
    monkeypatch.setattr(growth_rules, "MANY_ROWS", rows)
    frame, y, qid = judged
    given = dict(given)
    if given.pop("random ids", False):
        frame = frame.assign(shop=rng.permutation(frame["shop"]), colour=rng.integers(0, 40, 1200))
    if "categorical_encoding" in given:
        frame = frame[["a", "colour"]]
    expected = make(**given | {"growth": growth}).fit(frame, y, qid=qid).predict(frame)
    np.testing.assert_array_equal(make(**given).fit(frame, y, qid=qid).predict(frame), expected)
    given["growth"] = "symmetric" if growth == "leaf" else "leaf"
    assert (make(**given).fit(frame, y, qid=qid).predict(frame) != expected).any()
