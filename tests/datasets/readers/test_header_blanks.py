"""Blanks around the names of columns are named, since ids would keep theirs."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_qrels, read_run
from rankwise.datasets.readers.file_formats import FormatName, file_format


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize(
    "text",
    [
        "query_id, doc_id, score\n1, d, 1\n",
        "query_id ;doc_id ;score\n1;d;1\n",
        " query_id\tdoc_id\t score\n1\td\t1\n",
    ],
)
def test_blanks_around_names_are_named(tmp_path, read, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=r"t\.csv, line 1: blanks stand around names of columns"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize("text", ["query_id doc_id score\n1 d 1\n", "query_id,doc_id,score\n1,d,1"])
def test_blanks_may_separate_columns(tmp_path, read, text):
    (tmp_path / "t.txt").write_text(text)
    assert read(tmp_path / "t.txt").doc_ids.tolist() == ["d"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a{}b", "a{}{}b", "b,{}", 'x""{}y'])
def test_names_of_several_lines_leave_the_format_a_table(tmp_path, name, end):
    name = name.replace("{}", end)
    (tmp_path / "t.csv").write_bytes(f'label,qid,"{name}",x{end}1,1,2,3{end}'.encode())
    found = file_format(tmp_path / "t.csv")
    assert (found.kind, found.separator, found.columns[-1]) == (FormatName.table, ",", "x")


def test_a_lone_quotation_mark_in_a_name_leaves_the_format_a_table(tmp_path):
    (tmp_path / "t.csv").write_text('label,qid,5" disk\n1,1,2\n')
    assert file_format(tmp_path / "t.csv").kind == FormatName.table
