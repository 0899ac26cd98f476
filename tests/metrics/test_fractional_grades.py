"""Grades with fractions, such as means of several judges, in judgements of every form."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import RankingData, evaluate
from rankwise.datasets import Qrels, write_qrels
from rankwise.fusion import as_run
from rankwise.selection import difference_bounds, evaluate_systems
from rankwise.text import read_judgements

GRADES = {"q1": {"d1": 2.5, "d2": 0.5, "d3": 0, "d4": -1}, "q2": {"d1": 1, "d5": 1 / 3}}
ROWS = [(query, doc, grade) for query, judged in GRADES.items() for doc, grade in judged.items()]
RUN = as_run({"q1": {"d2": 3.5, "d1": 2.5, "d9": 2.0, "d3": 1.0}, "q2": {"d5": 9.0, "d1": 8.0}})
# The same rows as arrays; d4 is unjudged and was not retrieved.
Y = [0.5, 2.5, 0, 0, 1 / 3, 1]
QID = ["q1"] * 4 + ["q2"] * 2


def _frame(*names):
    return pd.DataFrame(ROWS, columns=list(names))


def _text(template, head="", rows=ROWS):
    return head + "".join(f"{template.format(*row)}\n" for row in rows)


def _rows():
    qid, docs, y = (np.array(column) for column in zip(*ROWS, strict=True))
    return RankingData(np.ones((len(y), 1)), y, qid=qid, doc_ids=docs)


def _parquet(path):
    _frame("query-id", "corpus-id", "score").to_parquet(path)
    return path


FORMS = {
    "mapping": lambda path: read_judgements(GRADES),
    "JSON": lambda path: read_judgements(json.loads(json.dumps(GRADES))),
    "mapping of NumPy numbers": lambda path: read_judgements(
        {q: {d: np.float64(g) for d, g in judged.items()} for q, judged in GRADES.items()}
    ),
    "list": lambda path: read_judgements([{"q1": GRADES["q1"]}, {"q2": GRADES["q2"]}]),
    "pandas": lambda path: _frame("qid", "docno", "label"),
    "Polars": lambda path: pl.DataFrame(_frame("query_id", "doc_id", "relevance")),
    "lazy": lambda path: pl.LazyFrame(_frame("query_id", "doc_id", "rating")),
    "Arrow": lambda path: pl.DataFrame(_frame("query_id", "doc_id", "rel")).to_arrow(),
    "TREC": _text("{0} 0 {1} {2}"),
    "triples": _text("{0}\t{1}\t{2}"),
    "CSV": _text("{0},{1},{2}", "qid,doc_id,grade\n"),
    "BEIR": _text("{0}\t{1}\t{2}", "query-id\tcorpus-id\tscore\n"),
    "LETOR": _text("{2} qid:{0} 1:1 # docid = {1}"),
    "Parquet": _parquet,
    "Qrels": lambda path: read_judgements(GRADES),
    "RankingData": lambda path: _rows(),
}
# Negative grades are labels of judged rows.
AS_LABELS = ("LETOR", "RankingData")


def _make(form, path):
    maker = FORMS[form]
    if callable(maker):
        return maker(path)
    path.write_text(maker)
    return path


def _whole(lines):
    return lines.replace("0.3333333333333333", "1").replace("2.5", "2").replace("0.5", "0")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_judgements(form, tmp_path):
    made = _make(form, tmp_path / "qrels")
    qrels = read_judgements(made)
    assert qrels.relevance.dtype == np.float64
    found = (qrels.qid.tolist(), qrels.doc_ids.tolist(), qrels.relevance.tolist())
    assert list(zip(*found, strict=True)) == ROWS
    specs = ["nDCG", "nDCG(gain=linear)@2", "DCG", "AP", "AP(rel=0.5)", "P(rel=0.3)@2", "RR",
             "R(rel=0.5)@1", "ERR(max_grade=3)", "RBP(rel=0.5)", "Success@1"]  # fmt: skip
    result = evaluate(made, RUN, specs)
    assert dict(result) == pytest.approx(dict(evaluate(Y, [4, 3, 2, 1, 2, 1], QID, specs)))
    board = evaluate_systems(made, {"a": RUN}, measures="nDCG")
    assert board.rows()[0]["mean"] == pytest.approx(result["nDCG"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nDCG(gain=(0,1,3,7))", r"y must hold integers from 0 to 3 for nDCG"),
        ("ERR(max_grade=2)", r"y must be <= max_grade=2 for ERR.*, got 2\.5"),
    ],
)
def test_measures_that_need_other_grades_refuse_by_name(spec, message, form, tmp_path):
    for call in (
        lambda: evaluate(_make(form, tmp_path / "qrels"), RUN, spec),
        lambda: evaluate(Y, [4, 3, 2, 1, 2, 1], QID, spec),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("grade", ["-0.5", "nan", "inf", "0,5"])
@pytest.mark.parametrize("form", ["TREC", "triples", "CSV", "BEIR"])
def test_other_grades_are_refused_with_their_line(form, grade, tmp_path):
    path = tmp_path / "qrels"
    separator = ";" if form == "CSV" else None
    text = FORMS[form].replace("0.5", grade)
    path.write_text(text.replace(",", separator).replace(grade.replace(",", ";"), grade)
                    if separator else text)  # fmt: skip
    line = 2 + FORMS[form].startswith("q" + "id") + FORMS[form].startswith("query")
    with pytest.raises(ValueError, match=rf"line {line}: '{grade}' is not a grade"):
        read_judgements(path)


@pytest.mark.parametrize("grade", [-0.5, float("nan"), float("inf"), "0.5"])
def test_other_grades_of_mappings_and_frames_are_refused(grade):
    with pytest.raises(ValueError, match="grades must be whole numbers, or fractions above 0"):
        read_judgements({"q": {"d": grade}})
    with pytest.raises(ValueError, match="grades must be whole numbers, or fractions above 0"):
        read_judgements(pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": [grade]}))


def test_whole_grades_stay_integers(tmp_path):
    for form in ("TREC", "triples", "CSV", "BEIR", "LETOR"):
        path = tmp_path / form
        path.write_text(_whole(FORMS[form]))
        assert read_judgements(path).relevance.dtype == np.int64
    mapping = {q: {d: float(round(g)) for d, g in judged.items()} for q, judged in GRADES.items()}
    assert read_judgements(mapping).relevance.dtype == np.int64


def test_bounds_enclose_the_difference():
    other = as_run({"q1": {"d1": 2.0, "d7": 1.5}, "q2": {"d1": 9.0, "d8": 8.0}})
    (found,) = difference_bounds(GRADES, {"a": RUN, "b": other}, "nDCG(gain=linear)@2")
    assert found.low <= found.difference < found.high


def test_qrels_files_hold_whole_grades(tmp_path):
    with pytest.raises(ValueError, match=r"whole grades for qrels, got 2\.5 at row 0"):
        write_qrels(read_judgements(GRADES), tmp_path / "qrels")
    write_qrels(
        Qrels.from_data(RankingData(np.ones((1, 1)), np.ones(1), qid=np.ones(1))),
        tmp_path / "qrels",
    )
