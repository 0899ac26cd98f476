"""Quotation marks in tables of text: no row is lost, and no id changes."""

import csv

import numpy as np
import pandas as pd
import pytest

from rankwise.datasets import read_qrels, read_run, read_table
from rankwise.streams import stream

HEADER = "qid\tdoc_id\tlabel\tx\n"


def read_both(path):
    """Document ids by read_table and by stream."""
    data = read_table(path)
    ids = np.concatenate([chunk.doc_ids for chunk in stream(path)])
    assert ids.tolist() == data.doc_ids.tolist()
    return ids.tolist()


@pytest.mark.parametrize(
    "ids",
    [
        ['"hello', "b", 'world"', "z"],
        ['"', "b", '"', "z"],
        ['5" tv', '"new york"', "new york", 'a"b"c'],
        ["a\u2028b", "c\u0085d", "e\x0bf", "g\x0ch"],
        ["NA", "null", "nan", "None"],
    ],
)
def test_marks_in_tsv_are_text(tmp_path, ids):
    rows = [f"{k // 2}\t{name}\t{k % 2}\t0.5\n" for k, name in enumerate(ids)]
    (tmp_path / "t.tsv").write_text(HEADER + "".join(rows), encoding="utf-8", newline="")
    assert read_both(tmp_path / "t.tsv") == ids


IDS = ['5"" tv', 'say "hi"', '"quoted"', "a b"]


@pytest.mark.parametrize(
    "sep, quoting, ids",
    [
        ("\t", csv.QUOTE_MINIMAL, IDS),
        ("\t", csv.QUOTE_ALL, [*IDS[:3], "a\tb"]),
        ("\t", csv.QUOTE_NONNUMERIC, [*IDS[:3], "a\nb"]),
        (",", csv.QUOTE_MINIMAL, [*IDS[:3], "a,b"]),
        (",", csv.QUOTE_ALL, [*IDS[:3], "a,b"]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_pandas_writes(tmp_path, sep, quoting, ids, end):
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "doc_id": ids, "label": [0, 1, 0, 1], "x": 0.5})
    path = tmp_path / ("t.tsv" if sep == "\t" else "t.csv")
    frame.to_csv(path, sep=sep, index=False, quoting=quoting, lineterminator=end)
    assert read_both(path) == ids


@pytest.mark.parametrize("name", ["a\tb", "a\nb"])
def test_tabs_and_line_ends_in_tsv_are_refused(tmp_path, name):
    frame = pd.DataFrame({"qid": [1, 1], "doc_id": [name, "c"], "label": [0, 1], "x": 0.5})
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    for read in (read_table, lambda path: list(stream(path))):
        with pytest.raises(ValueError, match=r"t\.tsv: .*Write such a table as CSV or Parquet"):
            read(tmp_path / "t.tsv")


def test_bytes_that_are_not_utf8_are_refused(tmp_path):
    text = "qid,doc_id,label,x\n1,caf\xe9,0,0.5\n1,b,1,0.5\n"
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    for read in (read_table, lambda path: list(stream(path))):
        with pytest.raises(ValueError, match=r"t\.csv, line 2: column 'doc_id' is not UTF-8 text"):
            read(tmp_path / "t.csv")


def test_lone_marks_of_csv_that_join_whole_lines_are_refused(tmp_path):
    text = 'qid,title,label,x\n1,"hello,1,0.5\n1,b,0,0.1\n2,world",2,0.25\n2,z,0,0.75\n'
    (tmp_path / "t.csv").write_text(text)
    for read in (read_table, stream):
        with pytest.raises(ValueError, match=r"line 2: a quotation mark .* ends in line 4"):
            read(tmp_path / "t.csv", features=["x"])


def test_fields_of_several_lines_in_large_csv_files(tmp_path):
    n = 30_000
    title = 'a "b"\nline two, and\nthree' + 30 * " "
    frame = pd.DataFrame({"qid": np.arange(n), "label": 1, "x": 0.5, "title": title})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv", features=["x"]).n_samples == n
    (tmp_path / "u.csv").write_text('qid,title,label,x\n1,5" tv,1,0.5\n1,3" pipe,0,0.1\n')
    assert read_table(tmp_path / "u.csv", features=["x"]).n_samples == 2


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL])
@pytest.mark.parametrize("sep", ["\t", ",", ";"])
def test_judgements_and_runs_that_pandas_writes(tmp_path, sep, quoting):
    ids = ["a", 'say "hi"', '"x', 'y"', "'z'"]
    frame = pd.DataFrame({"qid": list("11122"), "docno": ids, "score": [3, 2, 1, 2, 1]})
    frame.to_csv(tmp_path / "t", sep=sep, index=False, quoting=quoting)
    assert read_run(tmp_path / "t").doc_ids.tolist() == ids
    assert read_qrels(tmp_path / "t").doc_ids.tolist() == ids


@pytest.mark.parametrize(
    "read, text",
    [
        (read_table, 'qid\tlabel\tx\n"1"\t1\t.5\n"2"\t0\t.5\n'),
        (read_table, 'qid\tdoc_id\tlabel\tx\n1\t"a"\t1\t.5\n1\t"b"\t0\t.5\n'),
        (read_qrels, 'qid\tdocno\trel\n"1"\t"a"\t1\n'),
        (read_qrels, '1\t"a"\t1\n1\t"b"\t1\n'),
        (read_run, 'qid\tdocno\tscore\n"1"\t"a"\t1\n'),
    ],
)
def test_marks_around_all_ids_beside_plain_names_are_refused(tmp_path, read, text):
    path = tmp_path / "t.tsv"
    path.write_text(text)
    with pytest.raises(
        ValueError, match="quotation marks enclose all values of column '"
    ) as caught:
        read(path)
    assert str(path) in str(caught.value) and "Remove the marks" in str(caught.value)


def test_fields_of_several_lines_far_down(tmp_path):
    """Marks after the first megabytes, in fields that blocks of the parser cut."""
    plain = "".join(f"{i},1,0,d{i}\n" for i in range(400_000))
    quoted = "".join(f'{i},1,0,"a{i}\nb"\n' for i in range(400_000, 500_000))
    (tmp_path / "a.csv").write_text("qid,label,f,doc_id\n" + plain + quoted)
    data = read_table(tmp_path / "a.csv")
    assert data.n_samples == 500_000
    assert data.doc_ids[[0, 399_999, 400_000, -1]].tolist() == [
        "d0", "d399999", "a400000\nb", "a499999\nb",
    ]  # fmt: skip


@pytest.mark.parametrize("n_before", [0, 100_000])
def test_fields_of_many_megabytes(tmp_path, n_before):
    before = "".join(f"1,0,1,a{i}\n" for i in range(n_before))
    long = "b" * (9 << 20)
    (tmp_path / "a.csv").write_text(f"qid,label,f,doc_id\n{before}1,1,2,{long}\n1,0,3,c\n")
    data = read_table(tmp_path / "a.csv")
    assert data.n_samples == n_before + 2
    assert data.doc_ids[-2:].tolist() == [long, "c"]


def test_names_of_columns_are_utf8(tmp_path):
    (tmp_path / "a.csv").write_bytes("qid,label,né\n1,1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match="the names of the columns are not UTF-8 text"):
        read_table(tmp_path / "a.csv")
