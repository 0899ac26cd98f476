"""Columns of arrays and frames as numbers, categories and missing values among them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from rankwise import LambdaMART
from rankwise.ordinal import RankingForest
from rankwise.runtime.frames import convert_to_array
from rankwise.trees import column_table
from rankwise.trees.column_table import FROM_DTYPE, ColumnTable, dense_within_memory

COLOURS = ["red", None, "blue", "red", "blue"]
SIZES = ["small", "large", None, "medium", "large"]
ASCENDING = ["small", "medium", "large"]
FRAMES = ["pandas", "polars"]


def frame_of(library):
    """Text, unordered and ordered categories, whole numbers, booleans and floats, with holes."""
    if library == "polars":
        pl = pytest.importorskip("polars")
        return pl.DataFrame({
            "colour": COLOURS,
            "shade": pl.Series(COLOURS, dtype=pl.Categorical),
            "size": pl.Series(SIZES, dtype=pl.Enum(ASCENDING)),
            "count": [3, None, 1, 2, 2],
            "flag": [True, False, None, True, True],
            "weight": [0.5, None, 2.0, 1.0, 1.0],
        })  # fmt: skip
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({
        "colour": COLOURS,
        "shade": pd.Categorical(COLOURS),
        "size": pd.Categorical(SIZES, categories=ASCENDING, ordered=True),
        "count": pd.array([3, None, 1, 2, 2], dtype="Int64"),
        "flag": pd.array([True, False, None, True, True], dtype="boolean"),
        "weight": [0.5, None, 2.0, 1.0, 1.0],
    }, index=[7, 7, 2, 0, 1])  # fmt: skip


@pytest.mark.parametrize("library", FRAMES)
def test_types_of_a_frame_say_what_its_columns_hold(library):
    frame = frame_of(library)
    table = ColumnTable.of(frame)
    assert {j: c.tolist() for j, c in table.nominal.items()} == {
        0: ["blue", "red"],
        1: ["blue", "red"],
    }
    assert {j: c.tolist() for j, c in table.ordered.items()} == {2: ASCENDING}
    assert table.n_categories(6).tolist() == [2, 2, 0, 0, 0, 0]
    encoded = table.encode(frame).rows
    assert list(encoded.columns) == list(frame.columns)
    for name in ("colour", "shade"):
        np.testing.assert_array_equal(encoded[name].to_numpy(), [1, np.nan, 0, 1, 0])
    np.testing.assert_array_equal(encoded["size"].to_numpy(), [0, 2, np.nan, 1, 2])
    assert encoded["count"].to_list() == frame["count"].to_list()


@pytest.mark.parametrize("library", FRAMES)
def test_other_frames_are_read_by_the_first_one(library):
    frame = frame_of(library)
    table = ColumnTable.of(frame)
    native = pytest.importorskip(library)
    other = native.DataFrame(
        {
            "colour": ["blue", "green", "red"],
            "shade": ["mauve", "red", None],
            "size": ["large", "huge", "small"],  # plain text, read by the declared order
            "count": [1, 2, 3],
            "flag": [True, True, False],
            "weight": [0.0, 1.0, 2.0],
        }
    )
    encoded = table.encode(other).rows
    np.testing.assert_array_equal(encoded["colour"].to_numpy(), [0, np.nan, 1])
    np.testing.assert_array_equal(encoded["shade"].to_numpy(), [np.nan, 1, np.nan])
    np.testing.assert_array_equal(encoded["size"].to_numpy(), [2, np.nan, 0])


def test_order_of_the_rows_does_not_change_the_codes():
    pl = pytest.importorskip("polars")  # numbers its categories as they appear
    for values in (["b", "a", "c"], ["c", "b", "a"]):
        table = ColumnTable.of(pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)}))
        assert table.nominal[0].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("X", "chosen"),
    [
        (pd.DataFrame({"c": pd.Categorical(["a", "b", None, "c"])}), FROM_DTYPE),
        (pd.DataFrame({"c": [1, 2, 3, 4]}), ["c"]),
        (np.array([[1.0], [2.0], [np.nan], [4.0]]), [0]),
        ([["a"], ["b"], [None], ["c"]], [0]),
    ],
    ids=["text", "numbers", "array", "list"],
)
def test_categories_of_rows_without_weight_are_unknown(X, chosen):
    table = ColumnTable.of(X, chosen, [1, 0, 2.5, 0.1])
    assert len(table.nominal[0]) == len(ColumnTable.of(X, chosen).nominal[0]) - 1
    for refused_later in (None, [1, 0], "abcd", [[1, 0, 2, 1]]):
        assert len(ColumnTable.of(X, chosen, refused_later).nominal[0]) >= 3


def test_numbers_alone_pass_untouched():
    pd = pytest.importorskip("pandas")
    for X in (np.eye(3), [[1.0], [2.0]], pd.DataFrame(np.eye(3)), sparse.csr_array(np.eye(3))):
        assert ColumnTable.of(X).encode(X).rows is X
    text = frame_of("pandas")
    assert ColumnTable.of(text, None).encode(text).rows is text


@pytest.mark.parametrize("chosen", [[1], np.array([False, True, False]), (1,), np.array([1])])
def test_nominal_columns_of_arrays(chosen):
    X = np.array([[0.1, 30.0, 1.0], [0.2, np.nan, 2.0], [0.3, -1.0, 3.0]])
    for rows in (X, X.astype(np.float32), X.tolist(), X.astype(object)):
        table = ColumnTable.of(rows, chosen)
        assert table.nominal[1].tolist() == [-1.0, 30.0]
        assert table.n_categories(3).tolist() == [0, 2, 0]
        encoded = np.asarray(table.encode(rows).rows)
        np.testing.assert_array_equal(encoded[:, 1].astype(float), [1, np.nan, 0])
        np.testing.assert_array_equal(encoded[:, ::2], np.asarray(rows)[:, ::2])
    assert table.encode(X.astype(np.float32)).rows.dtype == np.float32
    assert X[0, 1] == 30.0


def test_text_in_arrays_and_lists():
    rows = [["red", 1.5], ["blue", 2.5], [None, None], ["", 0.0]]
    for X in (rows, np.array(rows, dtype=object)):
        table = ColumnTable.of(X, [0])
        assert table.nominal[0].tolist() == ["", "blue", "red"]
        encoded = table.encode(X).rows
        np.testing.assert_array_equal(encoded[:, 0].astype(float), [2, 1, np.nan, 0])
        assert encoded[:, 1].tolist() == [1.5, 2.5, None, 0.0]
    table = ColumnTable.of(np.array([["x"], ["long"]]), [0])
    with pytest.warns(UserWarning, match="knows no category of these columns: 0 holds 'longer'"):
        assert table.encode(np.array([["longer"], ["other"]])).rows.size == 2


@pytest.mark.parametrize("library", FRAMES)
def test_nominal_columns_by_name(library):
    table = ColumnTable.of(frame_of(library), ["count", "size"])
    # Text is nominal besides; an ordered dtype becomes nominal where it is asked for.
    assert table.nominal[3].tolist() == [1, 2, 3]
    assert table.nominal[2].tolist() == ["large", "medium", "small"]
    assert sorted(table.nominal) == [0, 1, 2, 3]
    assert not table.ordered


def test_mixed_objects_are_categories_where_one_is_text():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "mixed": pd.Series([2, "b", None, 1, "a"] * 2, dtype=object),
            "numbers": pd.Series([2, 1.5, None, True, np.nan] * 2, dtype=object),
        }
    )
    table = ColumnTable.of(frame)
    assert table.nominal[0].tolist() == [1, 2, "a", "b"]
    assert list(table.nominal) == [0]
    np.testing.assert_array_equal(table.encode(frame).rows["mixed"], [1, 3, np.nan, 0, 2] * 2)


LARGE = [2**60, 2**60 + 1, None, 2**60 + 2]
MERGED = {
    "nullable": lambda: pd.DataFrame({"id": pd.array(LARGE, dtype="Int64")}),
    "categories": lambda: pd.DataFrame({"id": pd.Series(LARGE, dtype="Int64").astype("category")}),
    "objects": lambda: pd.DataFrame({"id": pd.Series(LARGE, dtype=object)}),
    "floats": lambda: pd.DataFrame({"id": pd.Series(LARGE, dtype=float)}),
    "float32": lambda: pd.DataFrame({"id": np.float32([2**24, 2**24 + 1, np.nan, 3])}),
    "polars": lambda: pytest.importorskip("polars").DataFrame({"id": LARGE}),
    "arrow": lambda: pytest.importorskip("pyarrow").table({"id": LARGE}),
    "array": lambda: np.array(LARGE, dtype=float)[:, None],
}


@pytest.mark.parametrize("kind", MERGED)
def test_whole_numbers_that_floats_merge_are_refused(kind):
    """Libraries turn integers with a missing value into floats, which hold 53 bits."""
    chosen = [0] if kind == "array" else ["id"]
    with pytest.raises(ValueError, match=r"column ('id'|0) of X .* below .*text"):
        ColumnTable.of(MERGED[kind](), chosen)
    if kind != "float32":
        fitted = ColumnTable.of(pd.DataFrame({"id": [2**60, 2**60 + 1, 5]}), ["id"])
        with pytest.raises(ValueError, match=r"column ('id'|0) of X"):
            fitted.encode(MERGED[kind]())


def test_whole_numbers_of_any_size_are_categories():
    for values in (LARGE, [2**60, 2**60 + 1, np.nan, -(2**60)]):
        rows = np.array(values, dtype=object)[:, None]
        table = ColumnTable.of(rows, [0])
        assert len(table.nominal[0]) == 3
        assert len(np.unique(table.encode(rows).rows[[0, 1, 3], 0].astype(float))) == 3
    frame = pd.DataFrame({"id": [2**60, 2**60 + 1, 5]})
    found = ColumnTable.of(frame, ["id"]).encode(frame.astype("Int64")).rows
    assert found["id"].tolist() == [1, 2, 0]
    small = pd.DataFrame({"id": [0.5, np.inf, -np.inf, 2.0**52]})
    assert len(ColumnTable.of(small, ["id"]).nominal[0]) == 4


def test_objects_of_numpy_become_those_of_python():
    values = [np.int64(3), np.float32(0.5), np.bool_(True), np.str_("x"), "y", 7]
    for rows in (
        np.array([values], dtype=object).T,
        pd.DataFrame({"c": pd.Series(values, dtype=object)}),
    ):
        table = ColumnTable.of(rows, [0])
        assert [*map(type, table.nominal[0])] == [float, bool, int, int, str, str]
        np.testing.assert_array_equal(np.ravel(table.encode(rows).rows), [2, 0, 1, 4, 5, 3])


@pytest.mark.parametrize("chosen", [[3], [-1], ["x"], [0.5], [True, False], "first"])
def test_columns_that_are_not_there_are_named(chosen):
    with pytest.raises(ValueError, match="categorical_features"):
        ColumnTable.of(np.eye(3), chosen)
    with pytest.raises(ValueError, match="categorical_features"):
        ColumnTable.of(frame_of("pandas")[["colour", "size", "count"]], chosen)


def test_numbers_in_place_of_text_are_named():
    pd = pytest.importorskip("pandas")
    table = ColumnTable.of(pd.DataFrame({"colour": ["red", "blue"] * 2}))
    with pytest.raises(ValueError, match=r"column 0 of X must hold text .*'blue', got a number: 1"):
        table.encode(np.array([[1.0]]))
    numbers = ColumnTable.of(np.array([[1.0], [2.0]]), [0])
    with pytest.raises(ValueError, match="must hold numbers"):
        numbers.encode(pd.DataFrame({"colour": ["red"]}))
    np.testing.assert_array_equal(table.encode(pd.DataFrame({"colour": [None]})).rows, [[np.nan]])


def test_sparse_rows_become_dense_up_to_a_size(monkeypatch):
    X = sparse.random(5, 4, density=0.5, format="csr", random_state=0)
    np.testing.assert_array_equal(dense_within_memory(X), X.toarray())
    monkeypatch.setattr(column_table, "MAX_DENSE_BYTES", 8 * 5 * 4 - 1)
    with pytest.raises(ValueError, match=r"at most 159 bytes .* got 160 for shape \(5, 4\)"):
        dense_within_memory(X)


def look_up(values, categories):
    """Codes of the values, looked up one by one."""
    code_of = {value: code for code, value in enumerate(categories.tolist())}
    return [code_of.get(value, np.nan) for value in convert_to_array(values).tolist()]


NAN, BIG = float("nan"), 2**53
LISTS = {
    "text": ["b", "a", "", "c", "b ", "é", "a"],
    "text and missing": [None, "b", NAN, "a", pd.NA, pd.NaT, "c"],
    "text and numbers": ["1", 1, 1.5, None, "x", True, 2**70],
    "whole": [3.0, 0.0, -0.0, -2.0, 3.0, 17.0, 1.0],
    "whole and missing": [NAN, 3.0, NAN, 0.0, -2.0, 3.0, 5.0],
    "fractions": [0.5, 0.25, NAN, -0.5, 100.25, -np.inf, np.inf],
    "beyond doubles": [BIG, BIG + 1, BIG + 2, BIG, BIG + 3, -BIG, 0],
    "beyond int64": [2**63, 2**64 - 1, 2**63 + 1, 0, 1, 2**63, 5],
    "truth values": [True, False, True, True, False, True, True],
    "far whole": [BIG - 1.0, BIG - 4.0, 0.0, 1.0, 1.0 - BIG, 2.0**40, 5e-324],
}  # fmt: skip
ARRAYS = [
    *((name, "O") for name in LISTS),
    *((name, kind) for name in ("whole", "whole and missing", "fractions") for kind in "efdg"),
    ("whole", "i1"), ("truth values", "?"), ("beyond doubles", "i8"), ("beyond int64", "u8"),
    ("far whole", "d"), ("whole", ">f8"),
]  # fmt: skip
PAIRS = list(itertools.product((1, 80), (False, True)))


@pytest.mark.parametrize(("n_times", "is_continued"), PAIRS)
@pytest.mark.parametrize(("name", "dtype"), ARRAYS)
def test_codes_of_arrays_are_places_among_the_categories(name, dtype, n_times, is_continued):
    given = np.empty(len(LISTS[name]), dtype=object)
    given[:] = LISTS[name]
    with np.errstate(over="ignore"):
        column = given.astype(dtype) if dtype != "O" else given
    rows = np.column_stack([np.tile(column, n_times)[::-1], np.zeros(7 * n_times, dtype=dtype)])
    known = rows[rows[:, 0] != rows[0, 0]] if name != "text and missing" else rows[:2]
    table = ColumnTable.of(known, [0])
    if is_continued:
        table = ColumnTable.of(rows, [0]).continue_codes(table)
    encoded = table.encode(rows).rows[:, 0]
    np.testing.assert_array_equal(
        np.asarray(encoded, dtype=float), look_up(rows[:, 0], table.nominal[0])
    )
    assert np.isfinite(np.asarray(encoded, dtype=float)).any()


def categorical(values):
    return pd.Series(values, dtype="category")


def in_chunks(values, kind):
    """Two chunks whose dictionaries differ."""
    halves = [pa.array(part, from_pandas=True) for part in (values[:40], values[40:])]
    return pa.chunked_array([half.dictionary_encode() if kind else half for half in halves])


WORDS = ["b", None, "a", "c", "a", "", "b"] * 80
DICTIONARY = pa.dictionary(pa.int32(), pa.string())
COLUMNS = {
    "pandas objects": lambda: pd.DataFrame({"x": pd.Series(WORDS, dtype=object)}),
    "pandas text": lambda: pd.DataFrame({"x": WORDS}),
    "pandas joined": lambda: pd.concat(
        [pd.DataFrame({"x": WORDS}), pd.DataFrame({"x": ["d", "b"]})]
    ),
    "pandas dictionaries joined": lambda: pd.DataFrame(
        {"x": pd.Series(in_chunks(WORDS, kind=True), dtype=pd.ArrowDtype(DICTIONARY))}
    ),
    "pandas string": lambda: pd.DataFrame({"x": pd.Series(WORDS, dtype="string")}),
    "pandas of Arrow": lambda: pd.DataFrame(
        {"x": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string()))}
    ),
    "pandas dictionary": lambda: pd.DataFrame(
        {"x": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}
    ),
    "pandas categories": lambda: pd.DataFrame({"x": categorical(WORDS)}, index=[3] * 560),
    "pandas unused": lambda: pd.DataFrame(
        {"x": pd.Categorical(WORDS, categories=["z", "b", "a", "y", "c", ""])}
    ),
    "pandas whole": lambda: pd.DataFrame({"x": categorical([3, None, 1, BIG - 1, BIG - 2] * 140)}),
    "pandas all whole": lambda: pd.DataFrame({"x": categorical([3, 1, BIG + 1, BIG] * 140)}),
    "pandas truth values": lambda: pd.DataFrame({"x": categorical([True, None, False] * 180)}),
    "pandas mixed": lambda: pd.DataFrame({"x": categorical(["1", 1, None, 2.5, True] * 110)}),
    "pandas missing": lambda: pd.DataFrame({"x": categorical([None, "a"] * 600)[::2]}),
    "polars text": lambda: pl.DataFrame({"x": WORDS}),
    "polars categories": lambda: pl.DataFrame({"x": pl.Series(WORDS, dtype=pl.Categorical)}),
    "Arrow text": lambda: pa.table({"x": in_chunks(WORDS, kind=False)}),
    "Arrow dictionary": lambda: pa.table({"x": in_chunks(WORDS, kind=True)}),
    "Arrow whole": lambda: pa.table({"x": in_chunks([3, None, 1, 7] * 140, kind=True)}),
    "Arrow view": lambda: pa.table({"x": pa.array(WORDS, pa.string_view())}),
    "Arrow without chunks": lambda: pa.table({"x": in_chunks(WORDS, kind=True)}).slice(560),
}


@pytest.mark.parametrize("n_rows", [1000, 5, 1])
@pytest.mark.parametrize("name", COLUMNS)
def test_codes_of_frames_are_places_among_the_categories(name, n_rows):
    frame = COLUMNS[name]()
    table = ColumnTable.of(frame, ["x"])
    rows = frame.iloc[:n_rows] if hasattr(frame, "iloc") else frame[:n_rows]
    expected = look_up(rows["x"], table.nominal[0])
    np.testing.assert_array_equal(np.asarray(table.encode(rows).rows["x"]), expected)
    # Other places, statistics in their place, and one unknown category.
    dropped, categories = table.nominal[0][:1], table.nominal[0][:0:-1]
    table = ColumnTable({0: categories}, {}, {0: np.arange(len(categories)) + 0.0}, {0: 4.5})
    lost = look_up(rows["x"], dropped)
    expected = np.where(np.isnan(lost), look_up(rows["x"], categories), 4.5)
    np.testing.assert_array_equal(np.asarray(table.encode(rows).rows["x"]), expected)


@pytest.mark.parametrize(
    "known", [np.array(["q", "r"], dtype=object), np.array([1.0, 2.0])], ids=["text", "numbers"]
)
@pytest.mark.parametrize("name", ["pandas objects", "pandas unused", "polars text", "Arrow view"])
def test_values_that_are_all_unknown_are_named_in_the_order_of_the_rows(name, known):
    frame, table = COLUMNS[name](), ColumnTable({0: known}, {})
    if known.dtype == object:
        with pytest.warns(UserWarning, match="'x' holds 'b' and the like, not 'q'"):
            assert np.isnan(np.asarray(table.encode(frame).rows["x"])).all()
    else:
        with pytest.raises(ValueError, match=r"numbers as in fit, such as 1\.0, got text: 'b'"):
            table.encode(frame)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("make", [LambdaMART, RankingForest])
@pytest.mark.parametrize("rows", [[], (), {}, {"a": [1.0], "t": ["x"]}], ids=repr)
def test_rows_without_columns_are_refused_like_those_of_numbers(make, rows):
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "t": ["x", "y", "z", "w"] * 10})
    groups = {} if make is RankingForest else {"qid": np.repeat(np.arange(4), 10)}
    told = []
    for columns in (["a"], ["a", "t"]):
        model = make(n_estimators=1, min_samples_leaf=1).fit(
            frame[columns], np.arange(40) % 3, **groups
        )
        with pytest.raises((ValueError, TypeError)) as caught:
            model.predict(rows)
        told.append((caught.type, str(caught.value)))
    assert told[0] == told[1]
