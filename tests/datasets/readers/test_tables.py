"""Tables: the same rows out of CSV, TSV, Parquet, pandas, polars and pyarrow; clear refusals."""

import bz2
import gzip
import lzma
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankwise import RidgeRanker
from rankwise.datasets import IgnoredColumnsWarning, RankingData, from_frame, read_table
from rankwise.streams import stream

COLUMNS = {
    "f1": [0.5, 1.25, -3.0, 1e-7],
    "qid": [2, 2, 1, 2],
    "label": [0, 2, 1, 1],
    "f2": [1, 0, 4, 7],
    "doc_id": ["a", "b", "a", "c"],
    "sample_weight": [1.0, 0.5, 2.0, 1.0],
}


def check(data, name="", dtype=np.float32):
    assert isinstance(data, RankingData)
    assert data.X.dtype == dtype
    assert data.X.flags.c_contiguous
    expected = np.array([COLUMNS["f1"], COLUMNS["f2"]], dtype=dtype).T
    np.testing.assert_array_equal(data.X, expected)
    assert data.feature_names == ["f1", "f2"]
    assert data.y.dtype == np.float64
    assert data.y.tolist() == COLUMNS["label"]
    assert data.qid.tolist() == COLUMNS["qid"]
    assert data.n_queries == 2
    assert data.doc_ids.tolist() == COLUMNS["doc_id"]
    assert data.sample_weight.tolist() == COLUMNS["sample_weight"]
    assert data.name == name


def as_text(delimiter=",", end="\n"):
    lines = [COLUMNS, *zip(*COLUMNS.values(), strict=True)]
    return "".join(delimiter.join(map(str, line)) + end for line in lines)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames(make, dtype):
    check(from_frame(make(COLUMNS), dtype=dtype), dtype=dtype)


@pytest.mark.parametrize(
    "name, text, pack",
    [
        ("t.csv", as_text(), bytes),
        ("t.CSV", as_text(end="\r\n"), bytes),
        ("t.csv", "\ufeff" + as_text().rstrip("\n"), bytes),
        ("t.tsv", as_text("\t"), bytes),
        ("t.csv.gz", as_text(), gzip.compress),
        ("t.csv.bz2", as_text(), bz2.compress),
        ("t.tab.xz", as_text("\t"), lzma.compress),
    ],
)
def test_text_files(tmp_path, name, text, pack):
    (tmp_path / name).write_bytes(pack(text.encode()))
    check(read_table(tmp_path / name), "t")


def test_parquet(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "t.parquet")
    check(read_table(str(tmp_path / "t.parquet")), "t")


def test_a_nameless_index_of_pandas_is_no_feature(tmp_path):
    frame = pd.DataFrame({"label": [0, 1, 2, 1], "qid": [1, 1, 2, 2], "a": [0.1, 0.2, 0.0, 0.3]})
    path = tmp_path / "kept.parquet"
    kept = frame[frame.a > 0.05]
    kept.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    assert read_table(path).feature_names == ["a"]
    ranker = RidgeRanker().fit(stream(path))
    assert ranker.feature_names_in_.tolist() == ["a"]
    kept.rename_axis("row").to_parquet(path)  # a named one was meant to be there
    assert read_table(path, features=["a", "row"]).feature_names == ["a", "row"]


def test_columns_can_be_named():
    frame = pd.DataFrame(COLUMNS).rename(columns={"label": "grade", "qid": "who"})
    data = from_frame(frame, label="grade", qid="who", features=["f2", "grade"], doc_id="who")
    assert data.feature_names == ["f2", "grade"]
    np.testing.assert_array_equal(data.X, np.array([COLUMNS["f2"], COLUMNS["label"]]).T)
    assert data.doc_ids.tolist() == ["2", "2", "1", "2"]
    assert data.sample_weight.tolist() == COLUMNS["sample_weight"]


@pytest.mark.parametrize("label", ["label", "Relevance", "rel", "y", "TARGET"])
@pytest.mark.parametrize("qid", ["qid", "Query_ID", "query", "q"])
def test_usual_names(label, qid):
    data = from_frame(pl.DataFrame({"x": [1.0], label: [3], qid: ["a"]}))
    assert (data.y.tolist(), data.qid.tolist(), data.feature_names) == ([3.0], ["a"], ["x"])
    assert data.doc_ids is None
    assert data.sample_weight is None


@pytest.mark.parametrize(
    "ids, expected",
    [
        (["1", "20", "-3"], [1, 20, -3]),
        (["1", "02", "3"], ["1", "02", "3"]),
        (["1", "2", "x"], ["1", "2", "x"]),
        (["1", "2.5", "3"], ["1", "2.5", "3"]),
        (["1", "9" * 30, "3"], ["1", "9" * 30, "3"]),
    ],
)
def test_query_ids_of_text_files(tmp_path, ids, expected):
    rows = "".join(f"{qid},0,1\n" for qid in ids)
    (tmp_path / "t.csv").write_text("qid,label,x\n" + rows)
    assert read_table(tmp_path / "t.csv").qid.tolist() == expected


def test_types_do_not_depend_on_the_first_rows(tmp_path):
    """Whole numbers for a megabyte, then a decimal, a missing value and an id that is text."""
    n = 200_000
    text = "qid,label,x\n" + "1,0,7\n" * n + "b,0.5,0.25\n2,1,\n"
    (tmp_path / "t.csv").write_text(text)
    data = read_table(tmp_path / "t.csv")
    assert data.n_samples == n + 2
    assert data.qid[[0, -2, -1]].tolist() == ["1", "b", "2"]
    assert data.y[-2:].tolist() == [0.5, 1.0]
    assert data.X[-2, 0] == 0.25
    assert np.isnan(data.X[-1, 0])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"qid": [1, 1, 1], "y": [1, 0, 0], "x": pd.array([1, None, 3], "Int64")}),
        pd.DataFrame({"qid": [1, 1, 1], "y": [1, 0, 0], "x": [1.0, np.nan, 3.0]}),
        pl.DataFrame({"qid": [1, 1, 1], "y": [1, 0, 0], "x": [1, None, 3]}),
        pa.table({"qid": [1, 1, 1], "y": [1, 0, 0], "x": [1, None, 3]}),
    ],
)
def test_missing_features_are_nan(frame):
    np.testing.assert_array_equal(from_frame(frame).X[:, 0], [1.0, np.nan, 3.0])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_booleans_and_categories(make):
    data = from_frame(make({"qid": ["b", "a", "b"], "y": [True, False, True], "x": [True] * 3}))
    assert data.y.tolist() == [1.0, 0.0, 1.0]
    assert data.X[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert data.groups.ids.tolist() == ["b", "a"]
    frame = pd.DataFrame({"qid": pd.Categorical(["b", "a"]), "y": [1, 0], "x": [1, 2]})
    assert from_frame(frame).groups.ids.tolist() == ["b", "a"]


def test_no_rows_and_no_features(tmp_path):
    (tmp_path / "t.csv").write_text("qid,label,x\n")
    assert read_table(tmp_path / "t.csv").X.shape == (0, 1)
    assert from_frame(pd.DataFrame({"qid": [1], "y": [1]})).X.shape == (1, 0)


GOOD = {"qid": [1, 2], "y": [0, 1], "x": [0.5, 1.5]}


@pytest.mark.parametrize(
    "change, kwargs, message",
    [
        (
            {"y": None},
            {},
            "label needs a column, but none is called relevance, label, .*; there are 'qid'",
        ),
        ({"qid": None}, {}, "qid needs a column"),
        ({"rel": [1, 2]}, {}, "label could be any of the columns 'y', 'rel'. Pass label="),
        ({"q": [1, 2]}, {}, "qid could be any of the columns 'qid', 'q'"),
        ({}, {"label": "grade"}, "label='grade' is not a column; there are 'qid', 'y', 'x'"),
        ({}, {"features": ["x", "z"]}, "features must be columns, but 'z' is not"),
        ({"x": ["a", "b"]}, {"features": ["x"]}, "features must hold numbers, .* 'x' holds text"),
        ({}, {"features": "x"}, "features must be a list of columns, got 'x'"),
        ({"y": ["a", "b"]}, {}, "label must hold numbers, column 'y' holds text"),
        ({"y": [0.0, np.nan]}, {}, "label must be finite, column 'y' has nan at row 1"),
        ({"y": [np.inf, 0.0]}, {}, "label must be finite, column 'y' has inf at row 0"),
        ({"sample_weight": [1.0, np.nan]}, {}, "sample_weight must be finite"),
        ({"qid": ["a", None]}, {}, "qid must not be missing, column 'qid' is empty at row 1"),
        ({"qid": ["", "a"]}, {}, "qid must not be missing, column 'qid' is empty at row 0"),
        ({}, {"dtype": np.int64}, "dtype must be float32 or float64, got int64"),
    ],
)
def test_refused_frames(change, kwargs, message):
    columns = {k: v for k, v in (GOOD | change).items() if v is not None}
    for make in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(ValueError, match=message):
            from_frame(make(columns), **kwargs)


def test_two_columns_of_one_name():
    frame = pd.DataFrame([[1, 0, 1.0, 2.0]], columns=["qid", "y", "x", "x"])
    with pytest.raises(ValueError, match=r"more than once|unique"):
        from_frame(frame)


@pytest.mark.parametrize(
    "roles, both",
    [
        ({"label": "qid"}, "label and qid"),
        ({"qid": "y"}, "label and qid"),
        ({"doc_id": "y"}, "label and doc_id"),
        ({"label": "x", "sample_weight": "x"}, "label and sample_weight"),
    ],
)
def test_the_column_of_labels_has_one_role(tmp_path, roles, both):
    message = f"{both} must be different columns, got '[a-z]+' for both"
    with pytest.raises(ValueError, match=message):
        from_frame(pd.DataFrame({"qid": [1, 1], "y": [0, 1], "x": [0.5, 2.0]}), **roles)
    (tmp_path / "t.csv").write_text("qid,y,x\n1,0,0.5\n1,1,2\n")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.csv", **roles)


@pytest.mark.parametrize("frame", [np.ones((2, 3)), [[1, 2]], "t.csv"])
def test_what_is_no_frame(frame):
    with pytest.raises(TypeError, match="frame must be a data frame, got"):
        from_frame(frame)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "qid,y,x\n1,0,0.5\n1,0,abc\n",
            "t.csv, line 3: column 'x' has 'abc', which is not a number",
        ),
        ("qid,y,x\n1,0,0.5\n1,0\n", "t.csv, line 3: expected 3 columns, got 2"),
        ("qid,y,x\n1,,0.5\n", "t.csv, line 2: label must be finite, column 'y' has nan"),
        ("qid,y,x\n,1,0.5\n", "t.csv, line 2: qid must not be missing, column 'qid' is empty"),
        ("qid,y,x,x\n1,1,1,1\n", "but 'x' occur more than once"),
        ("1,2,3\n4,5,6\n", "label and qid need columns, but none has a usual name"),
        ("qid;y;x\n1;0;2\n", "one column, 'qid;y;x'. Pass the column separator: sep=';'"),
        ("", "the file is empty"),
    ],
)
def test_refused_files(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


def test_unneeded_text_columns_may_be_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("query_id,query,y,x,note\n7,cheap hats,1,0.5,hm\n")
    data = read_table(tmp_path / "t.csv", qid="query_id", features=["x"])
    assert (data.qid.tolist(), data.X.tolist()) == ([7], [[0.5]])


@pytest.mark.parametrize("name", ["t.txt", "t", "t.csv.zip", "t.gz"])
def test_unknown_suffix(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"path must end in one of \.csv, .*read_letor"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv.gz", "rows.parquet"])
def test_a_missing_file_is_named_with_the_fix(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"{name}: no such file in .*Check the path"):
        read_table(name)
    (tmp_path / name).mkdir()
    with pytest.raises(FileNotFoundError, match=f"{name} contains no file that ends in"):
        read_table(tmp_path / name)


MIXED = {
    "session": ["s2", "s1", "s2", "s1"],
    "clicks": [1, 0, 3, 2],
    "sku": ["a", "b", "c", "d"],
    "title": ["red hat", "blue hat", "1984", "boots"],
    "price": [1.5, None, 2.5, 3.0],
    "stock": [3, 1, 2, 4],
}
ROLES = {"label": "clicks", "qid": "session", "doc_id": "sku"}


def check_mixed(data):
    assert data.feature_names == ["price", "stock"]
    np.testing.assert_array_equal(data.X, [[1.5, 3], [np.nan, 1], [2.5, 2], [3, 4]])
    assert data.y.tolist() == MIXED["clicks"]
    assert data.qid.tolist() == MIXED["session"]
    assert data.doc_ids.tolist() == MIXED["sku"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_text_that_is_not_named_as_a_feature_is_left_out(make):
    with pytest.warns(IgnoredColumnsWarning, match=r"not used as features: title \(text\)"):
        check_mixed(RankingData.from_frame(make(MIXED), **ROLES))
    check_mixed(RankingData.from_frame(make(MIXED), features=["price", "stock"], **ROLES))


def test_categories_and_lists_are_left_out():
    frame = pd.DataFrame(GOOD).assign(kind=pd.Categorical(["b", "a"]), tags=[["a"], ["b"]])
    with pytest.warns(IgnoredColumnsWarning) as caught:
        assert RankingData.from_frame(frame).feature_names == ["x"]
    assert [name in str(caught[0].message) for name in ("kind", "tags")] == [True] * 2


@pytest.mark.parametrize(
    "name, sep", [("t.csv", ";"), ("t.txt", "|"), ("t.tsv", None), ("t.csv.gz", None)]
)
def test_text_columns_of_text_files(tmp_path, name, sep):
    text = pd.DataFrame(MIXED).to_csv(index=False, sep=sep or ("\t" if "tsv" in name else ","))
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if "gz" in name else text.encode())
    with pytest.warns(IgnoredColumnsWarning, match=r"title \(text\)"):
        check_mixed(read_table(tmp_path / name, sep=sep, **ROLES))


def test_a_bad_cell_in_a_column_of_numbers_is_no_text_column(tmp_path):
    frame = pd.DataFrame(MIXED).drop(columns="title").astype({"stock": object})
    frame.loc[2, "stock"] = "many"
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"t\.csv, line 4: column 'stock' has 'many'"):
        read_table(tmp_path / "t.csv", **ROLES)


def test_flags_and_the_index_of_pandas_in_text_files(tmp_path):
    frame = pd.DataFrame(MIXED).assign(new=[True, False, False, True], old=["true", None, "", "no"])
    frame.to_csv(tmp_path / "t.csv")
    with (
        pytest.warns(IgnoredColumnsWarning, match="columns '' are left out"),
        pytest.warns(IgnoredColumnsWarning, match=r"title \(text\), old \(text\)"),
    ):
        data = read_table(tmp_path / "t.csv", **ROLES)
    assert data.feature_names == ["price", "stock", "new"]
    assert data.X[:, 2].tolist() == [1, 0, 0, 1]
    only = read_table(tmp_path / "t.csv", features=["new"], **ROLES)
    assert only.X[:, 0].tolist() == [1, 0, 0, 1]
    chunk = next(iter(stream(tmp_path / "t.csv", features=["new", "price"], **ROLES)))
    assert chunk.X[:, 0].tolist() == [1, 0, 0, 1]


def test_decimal_commas_are_no_text(tmp_path):
    (tmp_path / "t.csv").write_text("qid;y;x;z\n1;0;1,5;2\n1;1;2,5;3\n1;1;2;3\n")
    said = r"x \(numbers with decimal commas, such as '1,5'\)\. Write decimal points"
    with pytest.warns(IgnoredColumnsWarning, match=said):
        assert read_table(tmp_path / "t.csv", sep=";").feature_names == ["z"]
    with pytest.raises(ValueError, match=r"column 'x' has decimal commas. Write .* points"):
        read_table(tmp_path / "t.csv", sep=";", features=["x"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_patterns_and_lists(tmp_path, kind):
    frame = pd.DataFrame(COLUMNS)
    folder = tmp_path / f"rows.{kind}"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for number, part in enumerate((frame[:1], frame[1:3][frame.columns[::-1]], frame[3:])):
        write = part.to_csv if kind == "csv" else part.to_parquet
        write(folder / f"part-{number}.{kind}", index=False)
    parts = [folder / f"part-{number}.{kind}" for number in range(3)]
    check(read_table(folder), "rows")
    check(read_table(f"{folder}/part-*.{kind}"), "part-0 and 2 more")
    check(read_table(parts), "part-0 and 2 more")
    frame.drop(columns="f2").to_parquet(folder / "part-3.parquet")
    with pytest.raises(ValueError, match=r"columns 'f2' are missing, but part-0|files of one"):
        read_table(folder)


def test_all_rows_are_one_query_where_that_is_said():
    data = RankingData.from_frame(pd.DataFrame(GOOD), qid=False, features=["x"])
    assert (data.n_queries, data.qid.tolist()) == (1, [0, 0])


def test_a_text_column_is_one_in_all_files_or_none(tmp_path):
    """Three cells of four are no numbers, whatever the first file holds."""
    (tmp_path / "a.csv").write_text("qid,y,x,code\n1,0,1,7\n")
    (tmp_path / "b.csv").write_text("qid,y,x,code\n1,0,1,A\n1,0,1,B\n1,0,1,C\n")
    with pytest.warns(IgnoredColumnsWarning, match="code"):
        assert read_table(f"{tmp_path}/*.csv").feature_names == ["x"]


@pytest.mark.parametrize("name", ["rating", "grade", "Judgement", "judgment", "rel", "relevance"])
def test_common_names_of_labels(name):
    table = pd.DataFrame({"qid": [1, 1], name: [0, 2], "x": [0.5, 0.1]})
    data = RankingData.from_frame(table)
    assert data.y.tolist() == [0.0, 2.0] and data.feature_names == ["x"]
    with pytest.raises(ValueError, match=f"label could be any of the columns .*{name}"):
        RankingData.from_frame(table.assign(label=1))
    both = RankingData.from_frame(table.assign(label=1), label="label", features=["x", name])
    assert both.feature_names == ["x", name]


BIG = 2**53 + 1


@pytest.mark.parametrize("text", [str(BIG), f"-{BIG}", f"{BIG}.0"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_scores_in_text_that_float64_changes_are_refused(tmp_path, name, text):
    sep = "," if name == "t.csv" else "\t"
    rows = [["qid", "label", "f", "s"], ["1", "0", "2", "5"], ["1", "1", "3", text]]
    (tmp_path / name).write_text("".join(f"{sep.join(row)}\n" for row in rows))
    said = rf"{name}: scores in column 's' must hold numbers that float64 keeps, got .* at line 3"
    with pytest.raises(ValueError, match=said):
        read_table(tmp_path / name, score_columns=["s"])
    assert read_table(tmp_path / name, dtype=np.float64).X[1, 1] == float(text)  # features round


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([5, BIG]),
        pd.Series([5, BIG], dtype="Int64"),
        pd.Series([5, BIG], dtype="int64[pyarrow]"),
        pd.Series([Decimal(5), Decimal(BIG)]),
        pd.Series([5, BIG], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_scores_in_frames_that_float64_changes_are_refused(column):
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "s": column})
    with pytest.raises(ValueError, match=r"scores in column 's' must hold .* at row 1"):
        RankingData.from_frame(frame, score_columns=["s"])
    small = RankingData.from_frame(frame.assign(s=column - 1), score_columns=["s"])
    assert small.score_columns["s"].tolist() == [4.0, 2.0**53]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,1,0.5,2\n0,1,\\N,3\n", r"column 'a' has '\\N', which is not a number"),
        (
            '1,1,0.5,2\n0,1,3,"1,234.5"\n',
            "column 'b' has '1,234.5', which is not a number",
        ),
        ("1,1,0.5,2\n0,1,3\n", r"expected 4 columns, got 3: 0,1,3\."),
        ("1,1,0.5,2\n0,1,3,4,5\n", "expected 4 columns, got 5"),
    ],
)
def test_cells_that_are_no_numbers_are_named(tmp_path, rows, said):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a,b\n" + rows)
    with pytest.raises(ValueError, match=rf"t\.csv, line 3: {said}"):
        read_table(path)
    with pytest.raises(ValueError, match=rf"t\.csv, line 3: {said}"):
        list(stream(path, features=["a", "b"]))


@pytest.mark.parametrize(
    "width",
    [lambda path: read_table(path).n_features, lambda path: next(iter(stream(path))).X.shape[1]],
)
def test_columns_without_a_name_are_left_out_with_a_note(tmp_path, width):
    path = tmp_path / "t.csv"
    path.write_text(",label,qid,a\n0,1,1,2\n1,0,1,3\n")
    with pytest.warns(IgnoredColumnsWarning, match=r"columns '' are left out: pandas"):
        assert width(path) == 1
    path.write_text("label,qid,a,\n1,1,2,7\n0,1,3,8\n")
    with pytest.warns(
        IgnoredColumnsWarning,
        match=r"t\.csv: columns without a name are left out: column 4\.",
    ):
        assert width(path) == 1


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_the_index_of_pandas_is_no_feature(tmp_path, name):
    frame = pd.DataFrame({name: [0, 1], "qid": [1, 1], "label": [0, 1], "f": [0.5, 1.0]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    pq.write_table(pa.table(frame.to_dict("list")), tmp_path / "a.parquet")
    readers = {
        "frame": lambda: RankingData.from_frame(frame).feature_names,
        "csv": lambda: read_table(tmp_path / "a.csv").feature_names,
        "parquet": lambda: read_table(tmp_path / "a.parquet").feature_names,
        "stream": lambda: next(iter(stream(tmp_path / "a.csv"))).feature_names,
    }
    for read in readers.values():
        with pytest.warns(IgnoredColumnsWarning, match=rf"columns '{name}' are left out: pandas"):
            assert read() == ["f"]
    assert read_table(tmp_path / "a.csv", features=[name, "f"]).feature_names == [name, "f"]
