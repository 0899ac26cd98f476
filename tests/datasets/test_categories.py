"""Columns of text as categories of judged rows."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from rankwise import RankingData
from rankwise.checks.text_categories import category_frame, join_coded
from rankwise.datasets import IgnoredColumnsWarning, read_table, write_letor
from rankwise.datasets.data import join_data
from rankwise.selection.cells.fingerprint import data_fingerprint
from rankwise.streams import stream

FRAME = pd.DataFrame({
    "label": [0, 1, 2, 0, 1, 2],
    "qid": [1, 1, 1, 2, 2, 2],
    "size": [1.5, np.nan, 2.0, 3.0, 4.0, 5.0],
    "colour": ["red", "blue", None, "red", "blue", "red"],
    "title": list("abcdef"),
})  # fmt: skip
SOURCES = {
    "pandas": lambda frame: frame,
    "categorical": lambda frame: frame.astype({"colour": "category"}),
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": pa.Table.from_pandas,
}


def texts_of(data):
    """Columns of categories as lists of text."""
    found = {}
    for j, known in data.categories.items():
        codes = data.X[:, j]
        found[data.feature_names[j]] = [
            None if np.isnan(code) else known[int(code)] for code in codes
        ]
    return found


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("kind", SOURCES)
def test_text_that_repeats_has_codes(kind):
    data = RankingData.from_frame(SOURCES[kind](FRAME), categories=True)
    assert data.feature_names == ["size", "colour"]
    assert data.categories[1].tolist() == ["blue", "red"]
    np.testing.assert_array_equal(data.X[:, 1], [1, 0, np.nan, 1, 0, 1])


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_files_have_the_same_codes(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    of_frame = RankingData.from_frame(FRAME, categories=True)
    data = read_table(path, categories=True)
    np.testing.assert_array_equal(data.X, of_frame.X)
    assert texts_of(data) == texts_of(of_frame)
    named = read_table(path, categories=True, features=["title", "colour"])
    assert set(named.categories) == {0, 1}  # also text that never repeats, since it is named
    chosen = read_table(path, categories=["colour"], features=["colour", "size"])
    assert list(chosen.categories) == [0]


@pytest.mark.parametrize(
    ("n_values", "n_rows", "is_kept"), [(255, 510, True), (400, 6000, True), (100, 199, False)]
)
def test_free_text_is_left_out_with_a_warning(n_values, n_rows, is_kept):
    text = [f"t{i % n_values}" for i in range(n_rows)]
    frame = pd.DataFrame({"label": 1, "qid": 1, "x": 0.5, "text": text})
    if is_kept:
        assert RankingData.from_frame(frame, categories=True).n_features == 2
        return
    with pytest.warns(IgnoredColumnsWarning, match=r"hardly repeat .* 'text'\. Name the columns"):
        data = RankingData.from_frame(frame, categories=True)
    assert (data.n_features, data.categories) == (1, None)


@pytest.mark.parametrize(
    ("roles", "ids", "advice"),
    [
        ({}, "P{}", r"'text'\. If they are ids, pass doc_id='text'\."),
        ({"doc_id": "doc"}, "P{}", r"'text'\. If they are ids, pass ignore=\['text'\]\."),
        ({}, "a red chair {}", r"hardly repeat .* 'text'\. Name the columns"),
        ({}, "same", r"hardly repeat .* 'text'\. Name the columns"),
    ],
)
def test_text_that_looks_like_ids_of_documents_is_not_advised_as_categories(roles, ids, advice):
    rows = range(90)
    frame = pd.DataFrame({"label": 1, "qid": [row // 9 for row in rows], "x": 0.5})
    frame["doc"] = [str(row) for row in rows]
    frame["text"] = [
        ids.format(row % 60) if "{}" in ids else f"t{row // 3 if row < 45 else row}" for row in rows
    ]
    if not roles:
        frame = frame.drop(columns="doc")
    with pytest.warns(IgnoredColumnsWarning, match=advice):
        data = RankingData.from_frame(frame, categories=True, **roles)
    assert data.feature_names == ["x"]


def test_dates_are_left_out_with_a_warning():
    frame = FRAME.drop(columns="title").assign(day=pd.Timestamp("2024-01-01"))
    with pytest.warns(IgnoredColumnsWarning, match=r"day \(dates\)"):
        data = RankingData.from_frame(frame, categories=True)
    assert data.feature_names == ["size", "colour"]


def test_without_a_word_text_is_no_feature():
    with pytest.warns(IgnoredColumnsWarning, match=r"colour \(text\), title \(text\)"):
        data = RankingData.from_frame(FRAME)
    assert (data.feature_names, data.categories) == (["size"], None)


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("suffix", [None, ".csv", ".parquet"])
def test_named_columns_are_categories_whatever_they_hold(suffix, tmp_path):
    frame = FRAME.assign(size=[10, 20, 10, 10, 20, 20], mixed=["1", "2", "x", "1", "2", "3"])
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix:
        frame.to_parquet(path)

    def read(**options):
        if suffix:
            return read_table(path, **options)
        return RankingData.from_frame(frame, **options)

    data = read(categories=["title", "mixed"])  # also text that never repeats
    assert data.feature_names == ["size", "title", "mixed"]
    assert texts_of(data) == {"title": list("abcdef"), "mixed": frame["mixed"].tolist()}
    (known,) = read(categories=["size"], features=["size"]).categories.values()
    assert [int(value) for value in known] == [10, 20]
    with pytest.raises(ValueError, match="categories must be columns, but 'colours' is not"):
        read(categories=["colours"])
    with pytest.raises(ValueError, match="categories must be a list of columns, got 'colour'"):
        read(categories="colour")


def test_dates_that_are_named_are_no_categories():
    frame = FRAME.drop(columns="title").assign(day=pd.Timestamp("2024-01-01"))
    with pytest.raises(ValueError, match=r"'day' .* dates"):
        RankingData.from_frame(frame, categories=["day"])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Categorical([1, "a", 1, 1, "a", None]), ["1", "a", "1", "1", "a", None]),
        (pd.Categorical([True, "a", "a", True, "a", "a"]), ["True", "a", "a", "True", "a", "a"]),
        (pd.Categorical([7, 5, 7, 5, 7, None]), [7, 5, 7, 5, 7, None]),
        (pd.cut([1, 3, 1, 3, 1, 3], [0, 2, 4]), ["(0, 2]", "(2, 4]"] * 3),
    ],
    ids=["numbers and text", "truth and text", "numbers", "intervals"],
)
def test_categories_of_any_type_become_one_type(column, expected):
    data = RankingData.from_frame(FRAME.assign(colour=column), features=["colour"], categories=True)
    assert texts_of(data)["colour"] == expected
    frame = category_frame(data.X, ["colour"], data.categories)
    assert frame["colour"].to_pylist() == expected


@pytest.mark.parametrize(
    ("X", "names", "column", "message"),
    [
        (sparse.csr_array([[1.0], [0.0]]), ["c"], 0, "need feature_names and an array X"),
        (np.array([[1.0], [0.0]]), None, 0, "need feature_names and an array X"),
        (np.array([[1.0], [0.0]]), ["c"], 1, "below n_features=1, got 1"),
        (
            np.array([[1.0], [2.0]]),
            ["c"],
            0,
            r"places in its 2 categories, or NaN, got 2\.0 at row 1",
        ),
        (np.array([[np.nan], [0.5]]), ["c"], 0, r"got 0\.5 at row 1"),
    ],
)
def test_codes_must_be_places(X, names, column, message):
    known = {column: np.array(["a", "b"], object)}
    with pytest.raises(ValueError, match=message):
        RankingData(X, np.zeros(2), qid=np.zeros(2), feature_names=names, categories=known)


def test_parts_with_other_categories_do_not_join():
    data = RankingData.from_frame(FRAME, features=["size", "colour"], categories=True)
    with pytest.raises(ValueError, match="same columns of categories"):
        join_data([data, replace(data, categories=None)], "both")


def test_parts_are_joined_by_their_text():
    data = RankingData.from_frame(FRAME, features=["size", "colour"], categories=True)
    first, second = data.take(np.arange(3)), FRAME[3:].assign(colour=["green", None, "red"])
    other = RankingData.from_frame(second, features=["size", "colour"], categories=True)
    joined = join_data([first, other], "both")
    assert texts_of(joined)["colour"] == ["red", "blue", None, "green", None, "red"]
    X, together = join_coded([(first.X, first.categories), (other.X, other.categories)])
    assert together[1].tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(X, joined.X)


def test_frames_hold_the_text():
    data = RankingData.from_frame(FRAME, features=["size", "colour"], categories=True)
    frame = category_frame(data.X, data.feature_names, data.categories)
    assert frame["colour"].to_pylist() == ["red", "blue", None, "red", "blue", "red"]
    assert frame["size"].to_pylist()[2:] == FRAME["size"].tolist()[2:]
    empty = category_frame(np.array([[np.nan]]), ["c"], {0: np.array([], dtype=object)})
    assert empty["c"].to_pylist() == [None]


def test_equal_codes_of_other_text_are_other_data():
    def data(colour):
        frame = FRAME.assign(colour=FRAME.colour.replace("red", colour))
        return RankingData.from_frame(frame, features=["size", "colour"], categories=True)

    np.testing.assert_array_equal(data("red").X, data("teal").X)
    assert data_fingerprint(data("red")) == data_fingerprint(data("red"))
    assert data_fingerprint(data("red")) != data_fingerprint(data("teal"))


def test_codes_are_not_taken_for_numbers():
    data = RankingData.from_frame(FRAME, features=["size", "colour"], categories=True)
    with pytest.raises(ValueError, match="LETOR text holds numbers, but columns colour hold categ"):
        write_letor(data, io.BytesIO())
    with pytest.raises(ValueError, match="streams hold columns of numbers, but the data have cat"):
        stream(data)
