"""Judgements in the place of a run, and a run in the place of judgements.

What says of itself what it is is refused by every function; of the rest nothing is guessed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import RankingData, evaluate
from rankwise.datasets import Qrels, judge
from rankwise.fusion import as_run, fuse, fusion_table
from rankwise.selection import compare, evaluate_systems
from rankwise.text import read_judgements

JUDGED = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d1", 1), ("q2", "d3", 0)]
# Whole scores, which could be grades; a run says what it is by more than its numbers.
FOUND = [("q1", "d1", 3), ("q1", "d2", 2), ("q2", "d3", 2), ("q2", "d1", 1)]
REAL = [(*row[:2], row[2] + 0.5) for row in FOUND]


def _mapping(rows):
    found = {}
    for query, document, value in rows:
        found.setdefault(query, {})[document] = value
    return found


def _frame(rows, *names):
    frame = pd.DataFrame(rows, columns=["qid", "docno", names[0]])
    for name in names[1:]:
        frame[name] = range(len(frame))
    return frame


def _text(rows, form, head=""):
    lines = (form.format(*row, number) for number, row in enumerate(rows))
    return head + "".join(f"{line}\n" for line in lines)


def _judged_rows():
    qid, doc_ids, y = (np.array(column) for column in zip(*JUDGED, strict=True))
    return RankingData(np.zeros((4, 1)), y.astype(float), qid, doc_ids)


JUDGEMENTS = {
    "Qrels": lambda folder: read_judgements(_mapping(JUDGED)),
    "RankingData": lambda folder: _judged_rows(),
    "frame": lambda folder: _frame(JUDGED, "relevance"),
    "polars": lambda folder: pl.DataFrame(_frame(JUDGED, "label")),
    "a.txt": _text(JUDGED, "{0} 0 {1} {2}"),
    "a.run": _text(JUDGED, "{0}\t0\t{1}\t{2}"),
    "a.tsv": _text(JUDGED, "{0}\t{1}\t{2}"),
    "a.csv": _text(JUDGED, "{0},{1},{2}", "qid,doc_id,grade\n"),
    "letor.txt": _text(JUDGED, "{2} qid:{0} 1:2 # docid = {1}"),
    "part": lambda folder: [_frame(JUDGED, "rel")],
}
RUNS = {
    "Run": lambda folder: as_run(_mapping(FOUND)),
    "ranked frame": lambda folder: _frame(FOUND, "score", "rank"),
    "ranked polars": lambda folder: pl.DataFrame(_frame(FOUND, "score", "Rank")),
    "r.run": _text(FOUND, "{0} Q0 {1} {3} {2} t"),
    "r.qrels": _text(FOUND, "{0}\tQ0\t{1}\t{3}\t{2}\tt"),
    "r.csv": _text(FOUND, "{0},{1},{3},{2}", "qid,doc_id,rank,score\n"),
    "r.tsv": _text(FOUND, "{0}\tt\t{1}\t{2}", "query-id\ttag\tcorpus-id\tscore\n"),
    "mapping": lambda folder: _mapping(REAL),
    "real frame": lambda folder: _frame(REAL, "score"),
    "real.csv": _text(REAL, "{0},{1},{2}", "qid,doc_id,score\n"),
    "part": lambda folder: [_mapping(REAL)],
}


def _make(name, makers, folder):
    maker = makers[name]
    if callable(maker):
        return maker(folder)
    (folder / name).write_text(maker)
    return folder / name


def _calls(first, second):
    """Every function that takes a run and judgements, with the two in these places."""
    return {
        "evaluate": lambda: evaluate(first, second, measures="AP"),
        "judge": lambda: judge(first, second),
        "evaluate_systems": lambda: evaluate_systems({"a": first}, second, measures="AP"),
    }


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("judgements", JUDGEMENTS)
def test_a_swap_is_refused_and_the_right_order_is_not(judgements, run, tmp_path):
    judged, found = _make(judgements, JUDGEMENTS, tmp_path), _make(run, RUNS, tmp_path)
    for call in _calls(found, judged).values():
        call()
    for name, call in _calls(judged, found).items():
        with pytest.raises((TypeError, ValueError), match=r"run first") as caught:
            call()
        assert type(caught.value) in (TypeError, ValueError), name


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_not_taken_for_judgements(run, tmp_path):
    found = _make(run, RUNS, tmp_path)
    for call in (*_calls(found, found).values(), lambda: read_judgements(found)):
        with pytest.raises((TypeError, ValueError), match="run first"):
            call()


@pytest.mark.parametrize("judgements", JUDGEMENTS)
def test_judgements_are_not_taken_for_a_run(judgements, tmp_path):
    judged = _make(judgements, JUDGEMENTS, tmp_path)
    systems = {"a": judged, "b": _mapping(REAL)}
    for call in (lambda: as_run(judged), lambda: fuse(systems), lambda: fusion_table(systems)):
        with pytest.raises((TypeError, ValueError), match="run first"):
            call()
    with pytest.raises((TypeError, ValueError), match=r"run first|must be a registry key"):
        compare({"a": judged}, _judged_rows(), cv=2)


def test_what_cannot_be_told_is_taken_as_it_stands():
    """Whole numbers under a name that both use: grades as BEIR names them, or scores."""
    assert evaluate(_frame(JUDGED, "score"), _frame(FOUND, "score"), "AP")["AP"] == 1.0
    assert evaluate(_mapping(JUDGED), _mapping(FOUND), "AP")["AP"] == 1.0
    ranked = _frame(JUDGED, "relevance", "rank", "score")  # a run with its grades beside it
    assert isinstance(read_judgements(ranked), Qrels)
    assert as_run(ranked).scores.tolist() == [0, 1, 2, 3]
