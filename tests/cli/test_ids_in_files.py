"""Ids of queries and documents come back from every written format as they were, or are refused."""

import numpy as np
import pandas as pd
import pytest

from rankwise.cli import _scoring
from rankwise.datasets import read_letor, read_qrels, read_table

IDS = {
    "zeros": ["007", "07", "7"],
    "signs": ["+7", "-7", "7"],
    "minus zero": ["-0", "0", "00"],
    "no-break": ["a\xa0b", "a\u3000", "\x85b"],
    "line separators": ["a\u2028b", "a\x1cb", "\x1da"],
    "beyond 2^53": ["9007199254740993", "9007199254740992", "18446744073709551615"],
    "quotes": ['a"b', "'a'", '""'],
    "commas": ["a,b", "a;b", "a|b"],
    "long": ["1" * 30, "0" * 30, "1e5"],
    "words": ["nan", "None", "NULL"],
}
REFUSED = {"blank": "a b", "tab": "a\tb", "line feed": "a\nb", "vertical tab": "a\vb"}
FORMATS = ("letor", "csv", "tsv", "parquet", "qrels")


def source(folder, qid, doc_ids):
    frame = pd.DataFrame({"qid": qid, "label": [2, 1, 0], "doc_id": doc_ids, "f": [0.5, 1, 2]})
    frame.to_parquet(folder / "in.parquet")
    return folder / "in.parquet"


def ids_in(path, kind):
    if kind == "qrels":
        found = read_qrels(path)
    elif kind == "letor":
        found = read_letor(path, cache=False)
    else:
        found = read_table(path)
    return list(map(str, found.qid)), list(map(str, found.doc_ids))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_come_back(rankwise, tmp_path, kind, ids):
    out = tmp_path / f"out.{kind}"
    told = rankwise("convert", source(tmp_path, ids, ids), "-o", out, "--to", kind)
    assert told.code == 0, told.err
    assert ids_in(out, kind) == (ids, ids)


@pytest.mark.parametrize("kind", ["letor", "qrels"])
@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED)
def test_ids_that_a_format_cannot_hold_are_named(rankwise, tmp_path, kind, bad):
    good = ["a", "b", "c"]
    for qid, doc_ids in (([bad, "b", "c"], good), (good, [bad, "b", "c"])):
        out = tmp_path / f"out.{kind}"
        told = rankwise("convert", source(tmp_path, qid, doc_ids), "-o", out, "--to", kind)
        assert told.code == 1
        assert repr(bad) in told.err and "row 0" in told.err
        assert not out.exists()


@pytest.mark.parametrize(
    "qid",
    [
        np.array([1.0, 2.0, 3.0]),
        np.array([1, 2, 3], dtype=np.uint64),
        pd.array([1, 2, 3], dtype="Int64"),
        np.array([2**53 + 1, 2**63 - 1, -(2**63)]),
        np.array([2**64 - 1, 1, 0], dtype=np.uint64),
    ],
    ids=["float", "uint64", "nullable", "int64", "beyond int64"],
)
@pytest.mark.parametrize("kind", FORMATS)
def test_number_ids(rankwise, tmp_path, kind, qid):
    out = tmp_path / f"out.{kind}"
    told = rankwise("convert", source(tmp_path, qid, list("abc")), "-o", out, "--to", kind)
    assert told.code == 0, told.err
    wanted = [str(int(value)) for value in qid]
    assert [name.removesuffix(".0") for name in ids_in(out, kind)[0]] == wanted


@pytest.mark.parametrize(
    "doc_ids, said",
    [
        (["a", "b", "a"], "row 2: query '1' has document 'a' a second time"),
        (["a", "b", "c d"], "row 2: doc_ids must not be empty or hold white space, got 'c d'"),
    ],
)
def test_errors_of_predicted_runs_name_rows_of_the_input(rankwise, tmp_path, doc_ids, said):
    train = source(tmp_path, [1, 1, 2], list("abc"))
    model, rows = tmp_path / "model", tmp_path / "rows.parquet"
    assert rankwise("fit", train, "--ranker", "ridge", "--set", "alpha=1", "-o", model).code == 0
    frame = pd.DataFrame({"qid": [1, 1, 1], "doc_id": doc_ids, "f": [1.0, 0.0, 2.0]})
    for scores in ([1.0, 0.0, 2.0], [0.0, 1.0, -2.0]):
        frame.assign(f=scores).to_parquet(rows)
        told = rankwise("predict", model, rows, "--format", "trec")
        assert told.code == 1
        assert said in told.err


@pytest.mark.parametrize("column", ["qid", "doc_id"])
def test_ids_that_no_run_can_hold_are_found_before_scoring(rankwise, tmp_path, monkeypatch, column):
    train = source(tmp_path, [1, 1, 2], list("abc"))
    model, rows, out = tmp_path / "model", tmp_path / "rows.csv", tmp_path / "best.run"
    assert rankwise("fit", train, "--ranker", "ridge", "--set", "alpha=1", "-o", model).code == 0
    frame = pd.DataFrame({"qid": list("abc"), "doc_id": list("def"), "f": [1.0, 0.0, 2.0]})
    frame.loc[1, column] = "red shoes"
    frame.to_csv(rows, index=False)
    monkeypatch.setattr(_scoring, "scores_of", None)
    told = rankwise("predict", model, rows, "--out", out)
    assert told.code == 1 and "white space, got 'red shoes'" in told.err, told.err
    assert "rows.csv, line 3" in told.err and not out.exists()
