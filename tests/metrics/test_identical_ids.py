"""Queries that are documents of the collection, as in BEIR's ArguAna and Quora."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from rankwise import RankingData, evaluate
from rankwise.datasets import judge
from rankwise.fusion import as_run
from rankwise.selection import evaluate_systems
from rankwise.text import read_judgements

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1, "d3": 0}}
CLEAN = {"q1": {"d4": 0.8, "d1": 0.7}, "q2": {"d2": 0.6}}
# The best match of a query that is a document is the query.
RUN = {"q1": {"q1": 1.5, "d4": 0.8, "d1": 0.7}, "q2": {"q2": 1.5, "d2": 0.6, "q1": 0.1}}


def _frame(lists):
    rows = [(q, d, s) for q, found in lists.items() for d, s in found.items()]
    return pd.DataFrame(rows, columns=["qid", "docno", "score"])


def _trec(lists, path):
    lines = (f"{q} Q0 {d} 0 {s} t\n" for q, d, s in _frame(lists).to_numpy().tolist())
    path.write_text("".join(lines))
    return path


FORMS = {
    "Run": lambda path: as_run(RUN),
    "mapping": lambda path: RUN,
    "frame": lambda path: _frame(RUN),
    "TREC": lambda path: _trec(RUN, path),
    "list": lambda path: [RUN],
}
# Machine and human judgements, for estimates by both.
MANY = {f"q{i}": {"d1": 1, "d2": i % 2} for i in range(8)}
HUMAN = {query: MANY[query] for query in ("q0", "q1", "q2", "q3")}
FOUND = {query: {query: 2.5, "d2": 1.0, "d1": 0.5} for query in MANY}


@pytest.mark.parametrize("form", FORMS)
def test_identical_ids_are_left_out_on_demand(form, tmp_path):
    run, specs = FORMS[form](tmp_path / "a.run"), ["RR", "nDCG@10"]
    expected = dict(evaluate(QRELS, CLEAN, specs))
    assert expected["RR"] == 0.75
    assert dict(evaluate(QRELS, run, specs, ignore_identical_ids=True)) == expected
    rows = judge(QRELS, run, ignore_identical_ids=True)
    assert not (rows.qid == rows.doc_ids).any()
    assert dict(evaluate(rows, specs)) == expected
    board = evaluate_systems(QRELS, {"a": run}, measures=specs, ignore_identical_ids=True)
    assert board.rows()[0]["mean"] == expected["RR"]
    assert not any("id of their query" in note for note in board.cells[0].notes)


@pytest.mark.parametrize("form", FORMS)
def test_a_note_counts_them(form, tmp_path):
    run = FORMS[form](tmp_path / "a.run")
    message = r"id of their query: 2\. .*ignore_identical_ids=True"
    for call in (
        lambda: evaluate(QRELS, run, "RR"),
        lambda: evaluate(judge(QRELS, run), "RR"),
    ):
        with pytest.warns(UserWarning, match=message) as caught:
            assert call()["RR"] == pytest.approx((1 / 3 + 1 / 2) / 2)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    board = evaluate_systems(QRELS, {"a": run, "b": CLEAN}, measures="RR")
    assert [sum("id of their query: 2" in note for note in c.notes) for c in board.cells] == [1, 0]


def test_judged_pairs_are_meant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate({"1": {"1": 1}}, {"1": {"1": 0.5, "2": 0.25}}, "RR")


def test_with_a_machine_judge():
    options = {"measures": "RR", "judge": MANY}
    clean = {query: {d: s for d, s in FOUND[query].items() if d != query} for query in FOUND}
    found = evaluate(HUMAN, as_run(FOUND), **options, ignore_identical_ids=True)
    assert found["RR"] == evaluate(HUMAN, as_run(clean), **options)["RR"]


def test_only_runs_have_them():
    y = np.array([1.0, 0.0])
    with pytest.raises(TypeError, match="needs a run"):
        evaluate(y, [0.5, 0.25], ignore_identical_ids=True)
    with pytest.raises(TypeError, match="ignore_identical_ids=True to judge"):
        evaluate(judge(QRELS, RUN), "RR", ignore_identical_ids=True)
    data = RankingData(np.ones((2, 1)), y, qid=np.array(["q", "q"]), doc_ids=np.array(["a", "b"]))
    with pytest.raises(ValueError, match="needs runs, but b is not one"):
        evaluate_systems(data, {"a": RUN, "b": y}, ignore_identical_ids=True)
    with pytest.raises(ValueError, match="so none is left"):
        judge(read_judgements({"q": {"q": 1}}), {"q": {"q": 0.5}}, ignore_identical_ids=True)
