"""QueryGroups against a dictionary of lists, for every kind of query id."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.groups import QueryGroups


def naive_groups(qid):
    """Query id -> row numbers, in order of first appearance."""
    rows = {}
    for row, value in enumerate(qid):
        rows.setdefault(value, []).append(row)
    return rows


def assert_groups(groups, qid):
    expected = naive_groups(qid)
    order = np.arange(len(qid)) if groups.order is None else groups.order
    starts = groups.indptr.tolist()
    found = {value: order[starts[q] : starts[q + 1]].tolist() for q, value in enumerate(groups.ids)}
    assert found == expected
    assert list(groups.ids) == list(expected)
    assert groups.indptr.dtype == np.int64
    assert groups.n_queries == len(expected)
    assert groups.n_samples == len(qid)
    assert groups.sizes.tolist() == [len(rows) for rows in expected.values()]


DAYS = [datetime.date(2026, 1, day) for day in (3, 1, 3, 2, 1)]
TEXT = ["b", "a", "b", "long name", "a"]
NUMBERS = [7, 3, 7, 5, 3]


@pytest.mark.parametrize(
    "qid",
    [
        NUMBERS,
        tuple(NUMBERS),
        np.array(NUMBERS, dtype=np.int8),
        np.array(NUMBERS, dtype=np.uint64),
        np.array(NUMBERS, dtype=np.float32),
        np.array([0.5, -0.25, 0.5, np.inf, -0.25]),
        [True, False, True, True, False],
        TEXT,
        np.array(TEXT),
        np.array(TEXT, dtype=object),
        np.array(TEXT, dtype="S"),
        np.array(TEXT, dtype=np.dtypes.StringDType()),
        [1, "x", 1, 1.5, "x"],
        [(1, "x"), 3, (1, "x"), 3, 3],
        np.array([(1, "x"), (2, "y"), (1, "x")], dtype=[("a", int), ("b", "U1")]),
        DAYS,
        np.array(DAYS, dtype="datetime64[D]"),
        np.array([5, 4, 5], dtype="timedelta64[s]"),
        pd.Series(NUMBERS, index=[9, 8, 7, 6, 5]),
        pd.Series(NUMBERS, dtype="Int64"),
        pd.Series(TEXT),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype="category"),
        pd.Series(NUMBERS, dtype="category"),
        pd.Series(pd.to_datetime(DAYS, utc=True)),
        pl.Series(NUMBERS),
        pl.Series(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pl.Series(DAYS),
    ],
    ids=lambda qid: f"{type(qid).__module__.partition('.')[0]}-{getattr(qid, 'dtype', 'plain')}",
)
def test_any_kind_of_id(qid):
    plain = np.asarray(qid) if hasattr(qid, "dtype") else qid
    if getattr(plain, "dtype", np.dtype(int)).kind in "VT":
        plain = plain.tolist()
    assert_groups(QueryGroups.from_qid(qid, len(qid)), list(plain))


@pytest.mark.parametrize("column", [[[1], [2], [1]], pd.DataFrame({"qid": [1, 2, 1]})])
def test_single_column_is_accepted(column):
    assert_groups(QueryGroups.from_qid(column, 3), [1, 2, 1])


@pytest.mark.parametrize(
    "qid",
    [[2**63, -1, 2**63 + 1, -1], [2**53, 2**53 + 1, 2.0**53], [10**30, 1, 10**30]],
)
def test_large_integers_stay_distinct(qid):
    assert_groups(QueryGroups.from_qid(qid, len(qid)), qid)


@pytest.mark.parametrize(
    ("qid", "row"),
    [
        ([1, 1, "1"], 2),
        (np.array(["a", "2", 2], dtype=object), 2),
        (pd.Series(["7", 7.0, "b"], dtype=object), 1),
        ([b"3", 4, 3], 2),
        ([Decimal("1.0"), float("inf"), "1"], 2),
    ],
)
def test_an_id_as_number_and_as_text_is_refused(qid, row):
    with pytest.raises(ValueError, match=rf"qid must be of one type, .* row {row}\."):
        QueryGroups.from_qid(qid, 3)


@pytest.mark.parametrize(("dtype", "bits"), [("f2", 11), ("f4", 24), ("f8", 53), ("g", 53)])
def test_floats_that_merge_whole_numbers_are_refused(dtype, bits):
    largest = 2**bits - 1
    assert QueryGroups.from_qid(np.array([largest, 0.5, largest], dtype=dtype), 3).n_queries == 2
    ids = np.array([1, 2**bits, 2**bits + 1], dtype=dtype)
    with pytest.raises(ValueError, match=rf"floats beyond 2\^{bits}, .* at row 1\."):
        QueryGroups.from_qid(ids, 3)


def test_grouped_input_needs_no_order():
    groups = QueryGroups.from_qid([9, 9, 4, 5, 5, 5], 6)
    assert groups.order is None
    a = np.arange(6)
    assert groups.sort(a) is a
    assert groups.unsort(a) is a
    assert_groups(groups, [9, 9, 4, 5, 5, 5])


def test_none_is_one_group():
    groups = QueryGroups.from_qid(None, 4)
    assert groups.indptr.tolist() == [0, 4]
    assert groups.codes().tolist() == [0, 0, 0, 0]


def test_groups_pass_through():
    groups = QueryGroups.from_qid([1, 2, 1], 3)
    assert QueryGroups.from_qid(groups, 3) is groups
    with pytest.raises(ValueError, match="n_samples=4 entries, got 3"):
        QueryGroups.from_qid(groups, 4)


def test_no_rows():
    groups = QueryGroups.from_qid([], 0)
    assert groups.n_queries == 0
    assert groups.n_samples == 0
    assert groups.codes().tolist() == []
    assert groups.rows([]).tolist() == []


@pytest.mark.parametrize(
    "qid",
    [
        [1.0, float("nan"), 2.0],
        ["a", None, "b"],
        [1, None, 2],
        ["a", "", "b"],
        np.array(["a", "", "b"], dtype=object),
        np.array([b"a", b"", b"b"]),
        pd.Series(["a", "", "b"]),
        pl.Series(["a", "", "b"], dtype=pl.Categorical),
        np.array(["2026-01-01", "NaT", "2026-01-02"], dtype="datetime64[D]"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series(pd.to_datetime(["2026-01-01", None, "2026-01-02"], utc=True)),
        pl.Series(["a", None, "b"]),
        pl.Series([1, None, 2]),
    ],
    ids=lambda qid: f"{type(qid).__module__.partition('.')[0]}-{getattr(qid, 'dtype', 'plain')}",
)
def test_missing_id_names_its_row(qid):
    with pytest.raises(ValueError, match=r"qid must not be missing, got .* at row 1\. Give every"):
        QueryGroups.from_qid(qid, 3)


@pytest.mark.parametrize(
    ("qid", "error", "message"),
    [
        ([1, 2], ValueError, "qid must have n_samples=3 entries, got 2. Pass one query id per row"),
        (np.zeros((3, 2)), ValueError, r"qid must be one-dimensional, got shape \(3, 2\)"),
        (np.array("abc"), ValueError, r"qid must be one-dimensional, got shape \(\)"),
        ([1, {}, 2], TypeError, r"qid must hold hashable ids, got \{\} at row 1"),
        (pl.Series([[1], [2], [3]]), TypeError, r"hashable ids, got array\(\[1\]\) at row 0"),
    ],
)
def test_unusable_ids(qid, error, message):
    with pytest.raises(error, match=message):
        QueryGroups.from_qid(qid, 3)


def test_from_sizes():
    groups = QueryGroups.from_sizes([2, 0, 3], 5)
    assert groups.indptr.tolist() == [0, 2, 2, 5]
    assert groups.ids.tolist() == [0, 1, 2]
    assert groups.order is None
    assert groups.codes().tolist() == [0, 0, 2, 2, 2]
    assert groups.rows([1, 2]).tolist() == [2, 3, 4]
    assert QueryGroups.from_sizes([]).n_samples == 0
    assert QueryGroups.from_sizes(np.array([1, 1], dtype=np.uint8)).sizes.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("sizes", "n_samples", "message"),
    [
        ([2, -1], None, "sizes must be >= 0, got -1"),
        ([1.5, 2.0], None, "1-d array of integers, got shape"),
        ([[1, 2]], None, r"got shape \(1, 2\)"),
        ([True, False], None, "of dtype bool"),
        ([2, 2], 5, "sizes must sum to n_samples=5, got 4"),
    ],
)
def test_from_sizes_errors(sizes, n_samples, message):
    with pytest.raises(ValueError, match=message):
        QueryGroups.from_sizes(sizes, n_samples)


ids = st.lists(st.one_of(st.integers(-3, 3), st.sampled_from("abc")), max_size=30)


@given(ids)
def test_groups_equal_the_dictionary(qid):
    groups = QueryGroups.from_qid(qid, len(qid))
    assert_groups(groups, qid)
    a = np.arange(len(qid)) * 10
    assert np.array_equal(groups.unsort(groups.sort(a)), a)
    assert groups.row_ids().tolist() == qid
    names = list(groups.ids)
    assert groups.codes().tolist() == [names.index(value) for value in qid]


@given(ids.filter(len), st.data())
def test_rows_subset_and_take_equal_the_dictionary(qid, data):
    groups = QueryGroups.from_qid(qid, len(qid))
    expected = naive_groups(qid)
    n = groups.n_queries
    queries = data.draw(st.lists(st.integers(-n, n - 1), max_size=2 * n))
    chosen = [list(expected)[query] for query in queries]
    rows = groups.rows(queries)
    assert rows.tolist() == [row for value in chosen for row in expected[value]]

    subset_rows, subset = groups.subset(queries)
    assert np.array_equal(subset_rows, rows)
    assert list(subset.ids) == chosen
    assert subset.sizes.tolist() == [len(expected[value]) for value in chosen]

    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    assert np.array_equal(groups.rows(mask), groups.rows(np.flatnonzero(mask)))

    kept = np.array(data.draw(st.lists(st.integers(0, len(qid) - 1))), dtype=np.int64)
    assert_groups(groups.take(kept), [qid[row] for row in kept])
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(qid), max_size=len(qid))))
    assert_groups(groups.take(keep), [v for v, k in zip(qid, keep, strict=True) if k])


def test_query_numbers_are_checked():
    groups = QueryGroups.from_qid(["a", "b", "a"], 3)
    assert groups.rows(-1).tolist() == [1]
    with pytest.raises(IndexError):
        groups.rows([2])
    with pytest.raises(ValueError, match="mask of queries must have n_queries=2 entries, got 3"):
        groups.rows([True, False, True])
    with pytest.raises(TypeError, match="query numbers or a mask, got dtype float64"):
        groups.rows([0.0])
    with pytest.raises(TypeError, match="query numbers or a mask, got dtype <U1"):
        groups.subset(["a"])


@given(st.integers(2, 40), st.data())
def test_split_is_a_balanced_partition(n_queries, data):
    groups = QueryGroups.from_sizes(np.ones(n_queries, dtype=int))
    n_splits = data.draw(st.integers(2, n_queries))
    for random_state in (None, 0):
        folds = groups.split(n_splits, random_state=random_state)
        sizes = [len(fold) for fold in folds]
        assert len(folds) == n_splits
        assert max(sizes) - min(sizes) <= 1
        assert sorted(np.concatenate(folds).tolist()) == list(range(n_queries))
    assert np.concatenate(groups.split(n_splits)).tolist() == list(range(n_queries))


def test_split_follows_its_seed():
    groups = QueryGroups.from_sizes(np.ones(50, dtype=int))
    first, again, other = (groups.split(5, random_state=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("n_splits", [1, 4])
def test_split_needs_enough_queries(n_splits):
    groups = QueryGroups.from_sizes([1, 2, 3])
    with pytest.raises(ValueError, match=f"between 2 and n_queries=3, got {n_splits}"):
        groups.split(n_splits)


def test_ranks_start_at_one_in_every_query_and_ties_keep_their_order():
    groups = QueryGroups.from_qid(["b", "a", "b", "a", "b"], 5)
    assert groups.ranks(np.array([1.0, 5.0, 3.0, 9.0, 3.0])).tolist() == [3, 2, 1, 1, 2]
