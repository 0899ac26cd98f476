"""Blanks around the names of columns are named, since ids would keep theirs."""

from __future__ import annotations

import pytest

from rankwise.datasets import read_qrels, read_run


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
