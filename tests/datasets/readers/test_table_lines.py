"""Errors about text tables name the line of the file, as editors count it."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise.datasets import read_grouped, read_table

# What is wrong with a row, its text, and the message.
FAULTS = {
    "label": ("x,q,2", "label must hold numbers, column 'label' has 'x'"),
    "no label": (",q,2", "label must be finite, column 'label' has nan"),
    "no query": ("1,,2", "qid must not be missing, column 'qid' is empty"),
    "feature": ("1,q,x", "column 'a' has 'x', which is not a number"),
    "range": ("1,q,1e39", "features must fit float32, column 'a' has 1e+39"),
    "too large": ("1,q,1e999", "column 'a' has '1e999', too large for float64"),
    "width": ("1,q", "expected 3 columns, got 2"),
}
# Lines above the row, and its line in the file.
LAYOUTS = {
    "second line": (["label,qid,a"], 2),
    "blank lines": (["label,qid,a", "", "1,q,1", "", ""], 6),
    "quotes": (["label,qid,a", '1,"q",1', '1,"q ""x""",2'], 4),
    "line ends in ids": (["label,qid,a", '1,"q\nr\n\ns",1', "0,q,1"], 7),
    "marks within words": (["label,qid,a", '1,5" tv,1', '0,5" tv,1'], 4),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_line_is_that_of_the_file(tmp_path, fault, layout, end):
    row, message = FAULTS[fault]
    above, line = LAYOUTS[layout]
    lines = [*above, row, "1,q,2", "1,q,3"]
    data = end.join(text.replace("\n", end) for text in lines).encode()
    for path, text in ((tmp_path / "t.csv", data), (tmp_path / "t.csv.gz", gzip.compress(data))):
        path.write_bytes(text)
        said = re.escape(f"{path}, line {line}: {message}")
        with pytest.raises(ValueError, match=said):
            read_table(path)
        if fault == "too large":  # a stream makes it infinite
            continue
        with pytest.raises(ValueError, match=re.escape(f"{path.name}, line {line}: {message}")):
            for _ in rankwise.streams.stream(path, features=["a"]):
                pass


def test_the_file_and_line_of_several_files(tmp_path):
    for name, last in (("a", "1,q,1"), ("b", "1,,1"), ("c", "1,q,1")):
        (tmp_path / f"{name}.csv").write_text(f"label,qid,a\n1,q,1\n{last}\n")
    with pytest.raises(ValueError, match=r"b\.csv, line 3: qid must not be missing"):
        read_table(tmp_path)


def test_text_separated_by_tabs(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('label\tqid\ta\n1\t"q\t1\n0\tq"\t1\n1\t\t1\n')
    with pytest.raises(ValueError, match=r"t\.tsv, line 4: qid must not be missing"):
        read_table(path)


def test_numbers_without_a_header(tmp_path):
    path = tmp_path / "t.csv"
    (tmp_path / "t.csv.query").write_text("3\n")
    path.write_text("1,2\n0,3\n1,1e39\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 3: features must fit float32"):
        read_grouped(path)


def test_frames_and_parquet_have_rows(tmp_path):
    frame = pd.DataFrame({"label": [1.0, np.nan], "qid": ["q", "q"], "a": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    said = r"label must be finite, column 'label' has nan at row 1\. Drop"
    with pytest.raises(ValueError, match=rf"t\.parquet: {said}"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=rf"t\.parquet: {said}"):
        list(rankwise.streams.stream(tmp_path / "t.parquet", chunk_rows=1))
    with pytest.raises(ValueError, match=said):
        rankwise.RankingData.from_frame(frame)


def test_a_long_file_is_read_in_blocks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a\n" + "1,q,0.125\n" * 900_000 + "1,,0.125\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 900002: qid must not be missing"):
        read_table(path)


# Columns without a name, and whether pandas would have written them as its index.
UNNAMED = {
    "last": ("label,qid,a,", "1,q,2,7"),
    "last two": ("label,qid,a,,", "1,q,2,7,8"),
    "first": (",label,qid,a", "7,1,q,2"),
    "first and last": (",label,qid,a,", "7,1,q,2,8"),
    "between": ("label,,qid,,a", "1,7,q,8,2"),
}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("layout", UNNAMED)
def test_any_number_of_columns_without_a_name_is_left_out(tmp_path, layout, suffix):
    header, row = (text.split(",") for text in UNNAMED[layout])
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        columns = [pa.array([cell if cell == "q" else int(cell)] * 2) for cell in row]
        parquet.write_table(pa.table(columns, names=header), path)
    else:
        sep = {"csv": ",", "tsv": "\t"}[suffix]
        path.write_text("\n".join(sep.join(words) for words in (header, row, row)))
    with pytest.warns(rankwise.datasets.IgnoredColumnsWarning, match="left out"):
        data = read_table(path)
    assert data.feature_names == ["a"] and data.X.tolist() == [[2], [2]]
    with pytest.warns(rankwise.datasets.IgnoredColumnsWarning, match="left out"):
        (chunk,) = rankwise.streams.stream(path)
    assert chunk.feature_names == ["a"] and chunk.X.tolist() == [[2], [2]]


def test_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("label,qid,a,a,\n1,q,2,3,4\n")
    with pytest.raises(ValueError, match="columns must have different names, but 'a' occur"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".query", ".group"])
def test_a_parquet_table_has_no_file_of_sizes(tmp_path, suffix):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"label": [1, 0], "a": [1.0, 2.0]}).to_parquet(path)
    (tmp_path / f"t.parquet{suffix}").write_text("2\n")
    with pytest.raises(ValueError, match=r"qid needs a column.* Files of group sizes go with"):
        read_table(path)
    with pytest.raises(ValueError, match=r"t\.parquet is a Parquet table\. Files of group sizes"):
        read_grouped(path)


@pytest.mark.parametrize("above", [b"", b"\n", b"\r\n\r\n"])
def test_text_that_is_not_utf8_is_named_by_line_and_column(tmp_path, above):
    path = tmp_path / "t.csv"
    path.write_bytes(above + b"label,qid,a\n1,q,2\n0,caf\xe9,3\n")
    line = 3 + above.count(b"\n")
    with pytest.raises(ValueError, match=rf"t\.csv, line {line}: column 'qid' is not UTF-8 text"):
        read_table(path)


def test_features_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"label,qid,a,title\n1,q,2,x\n0,q,3,caf\xe9\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 3: column 'title' is not UTF-8 text"):
        read_table(path)


@pytest.mark.parametrize("above", ["\n", "\r\n\n"])
@pytest.mark.parametrize("header", ["label,qid,a", '"label","qid","a"'])
def test_blank_lines_may_stand_before_the_header(tmp_path, above, header):
    path = tmp_path / "t.csv"
    path.write_text(f"{above}{header}\n1,q,2\n0,q,3\n", newline="")
    for data in (read_table(path), next(iter(rankwise.streams.stream(path)))):
        assert data.X.tolist() == [[2], [3]] and data.feature_names == ["a"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_parquet_under_the_name_of_text_is_named(tmp_path, name):
    pd.DataFrame({"label": [1, 0], "qid": [1, 1]}).to_parquet(tmp_path / name)
    for read in (read_table, rankwise.streams.stream):
        with pytest.raises(ValueError, match=rf"{name}: it is a Parquet table, not text"):
            read(tmp_path / name)
