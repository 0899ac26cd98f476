"""Judgements in place of a run, and a run in place of judgements.

Sources that say what they are raise in every function. Nothing is guessed of the others: two that
can be read both ways raise, too, unless they are passed by name.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise import RankingData, evaluate
from rankwise.datasets import Qrels, judge
from rankwise.fusion import as_run, fuse, fusion_table
from rankwise.selection import (
    bias_by_rank,
    compare,
    difference_bounds,
    evaluate_systems,
    evaluate_with_judge,
    next_judgements,
)
from rankwise.text import read_judgements

SWAPPED = (
    "judgements and the run swapped|pass (the judgements first|them as the run)|read both ways"
)
BOTH_WAYS = r"can be read both ways.*The judgements come first here"
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
    return RankingData(np.zeros((4, 1)), y.astype(float), qid=qid, doc_ids=doc_ids)


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

OPEN = ("mapping", "real frame", "real.csv", "part")


def _make(name, makers, folder):
    maker = makers[name]
    if callable(maker):
        return maker(folder)
    (folder / name).write_text(maker)
    return folder / name


def _calls(first, second):
    """Every function that takes judgements and a run, with the two in these places."""
    return {
        "evaluate": lambda: evaluate(first, second, measures="AP"),
        "judge": lambda: judge(first, second),
        "evaluate_systems": lambda: evaluate_systems(first, {"a": second}, measures="AP"),
    }


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("judgements", JUDGEMENTS)
def test_a_swap_is_refused_and_the_right_order_is_not(judgements, run, tmp_path):
    judged, found = _make(judgements, JUDGEMENTS, tmp_path), _make(run, RUNS, tmp_path)
    for call in _calls(judged, found).values():
        call()
    for name, call in _calls(found, judged).items():
        with pytest.raises((TypeError, ValueError), match=SWAPPED) as caught:
            call()
        assert type(caught.value) in (TypeError, ValueError), name


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_not_taken_for_judgements(run, tmp_path):
    found = _make(run, RUNS, tmp_path)
    calls = [*_calls(found, found).values()]
    if run in OPEN:  # its fractions may be grades, until there is a run
        assert read_judgements(found).relevance.dtype == np.float64
    else:
        calls.append(lambda: read_judgements(found))
    for call in calls:
        with pytest.raises((TypeError, ValueError), match=SWAPPED):
            call()


@pytest.mark.parametrize("judgements", JUDGEMENTS)
def test_judgements_are_not_taken_for_a_run(judgements, tmp_path):
    judged = _make(judgements, JUDGEMENTS, tmp_path)
    systems = {"a": judged, "b": _mapping(REAL)}
    for call in (lambda: as_run(judged), lambda: fuse(systems), lambda: fusion_table(systems)):
        with pytest.raises((TypeError, ValueError), match=SWAPPED):
            call()
    with pytest.raises((TypeError, ValueError), match=rf"{SWAPPED}|must be a registry key"):
        compare({"a": judged}, _judged_rows(), cv=2)


def test_a_run_with_its_grades_beside_it_is_both():
    ranked = _frame(JUDGED, "relevance", "rank", "score")
    assert isinstance(read_judgements(ranked), Qrels)
    assert as_run(ranked).scores.tolist() == [0, 1, 2, 3]


# Whole numbers of which nothing says whether they are grades -------------------------------------

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
RUN = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d3": 3.0, "d4": 1.0}}
FRACTIONS = {"q1": {"d1": 1.5, "d2": 2.0}, "q2": {"d3": 3.0, "d4": 1.0}}
MEANS = {"q1": {"d1": 2.5, "d2": 0.0}, "q2": {"d3": 0.5, "d4": 1.0}}
LARGE = {"q1": {"d1": 1500, "d2": 2000}, "q2": {"d3": 3000, "d4": 10}}


def frame_of(lists, values="score"):
    return _frame([(q, d, s) for q, answer in lists.items() for d, s in answer.items()], values)


def file_of(lists, path, values="score"):
    frame_of(lists, values).to_csv(path, sep="\t", index=False)
    return path


FORMS = {
    "mappings": lambda lists, path: lists,
    "integers": lambda lists, path: {
        q: {d: int(s) for d, s in a.items()} for q, a in lists.items()
    },
    "pandas": lambda lists, path: frame_of(lists),
    "polars": lambda lists, path: pl.DataFrame(frame_of(lists)),
    "file": file_of,
    "path as text": lambda lists, path: str(file_of(lists, path)),
    "list": lambda lists, path: [{q: a} for q, a in lists.items()],
    "JSON": lambda lists, path: json.loads(json.dumps(lists)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [evaluate, judge, partial(evaluate, judge=QRELS)])
def test_whole_numbers_can_be_read_both_ways(function, form, tmp_path):
    make = FORMS[form]
    run, qrels = make(RUN, tmp_path / "run.tsv"), make(QRELS, tmp_path / "qrels.tsv")
    for first, second in ((qrels, run), (run, qrels)):
        with pytest.raises(ValueError, match=BOTH_WAYS):
            function(first, second)


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (FRACTIONS, QRELS),
        (LARGE, QRELS),  # no grades
        (as_run(RUN), QRELS),
        (RUN, read_judgements(QRELS)),
        (RUN, frame_of(QRELS, "relevance")),
        ({q: {"hits": {"hits": [{"_id": d, "_score": s} for d, s in a.items()]}}
          for q, a in RUN.items()}, QRELS),
    ],
)  # fmt: skip
def test_one_way_is_read_as_before(run, qrels):
    expected = evaluate(read_judgements(qrels), as_run(run), "AP")["AP"]
    assert evaluate(qrels, run, "AP")["AP"] == expected
    assert len(judge(qrels, run)) == 4


@pytest.mark.parametrize("form", [form for form in FORMS if form != "integers"])
@pytest.mark.parametrize("function", [evaluate, judge, partial(evaluate, judge=QRELS)])
@pytest.mark.parametrize("run", [RUN, FRACTIONS])
def test_grades_with_fractions_can_be_read_both_ways(run, function, form, tmp_path):
    make = FORMS[form]
    first, second = make(run, tmp_path / "run.tsv"), make(MEANS, tmp_path / "qrels.tsv")
    calls = [(first, second)] if run is RUN else [(first, second), (second, first)]
    for found, judged in calls:
        with pytest.raises(ValueError, match=BOTH_WAYS):
            function(judged, found)
    several = {"a": first, "b": first}
    for systems in (evaluate_systems, difference_bounds, next_judgements):
        with pytest.raises(ValueError, match=BOTH_WAYS):
            systems(second, several)
        systems(qrels=second, systems=several)
        systems(second, systems=several)
        systems(read_judgements(second), several)


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (as_run(FRACTIONS), lambda: MEANS),
        (FRACTIONS, lambda: read_judgements(MEANS)),
        (FRACTIONS, lambda: frame_of(MEANS, "relevance")),
        ({q: {d: s + 1000 for d, s in a.items()} for q, a in FRACTIONS.items()}, lambda: MEANS),
        ({q: {d: s - 10.25 for d, s in a.items()} for q, a in FRACTIONS.items()}, lambda: MEANS),
    ],
)
def test_grades_with_fractions_beside_a_known_run(run, qrels):
    expected = evaluate([2.5, 0, 0.5, 1], [1.5, 2, 3, 1], [1, 1, 2, 2], "nDCG")["nDCG"]
    assert evaluate(qrels(), run, "nDCG")["nDCG"] == pytest.approx(expected)
    board = evaluate_systems(qrels(), {"a": run}, measures="nDCG")
    assert board.rows()[0]["mean"] == pytest.approx(expected)


def test_names_of_arguments_decide():
    for run in (RUN, frame_of(RUN), [RUN], as_run(RUN)):
        for qrels in (QRELS, frame_of(QRELS), [QRELS], read_judgements(QRELS)):
            assert evaluate(qrels=qrels, run=run, measures="AP")["AP"] == 0.75
            assert evaluate(qrels, run=run, measures="AP")["AP"] == 0.75
            assert len(judge(run=run, qrels=qrels)) == 4
    assert evaluate(y=QRELS, scores=RUN, measures="AP")["AP"] == 0.75
    words = {"measures": "P@1", "judge": {f"q{i}": {"d1": 1} for i in range(9)}}
    human = {query: {"d1": 1, "d2": 0} for query in words["judge"]}
    run = {query: {"d1": 1.0, "d2": 2.0} for query in human}
    assert evaluate(qrels=human, run=run, **words) == evaluate(human, as_run(run), **words)


@pytest.mark.parametrize(
    ("args", "words", "message"),
    [
        ((RUN,), {"qrels": QRELS}, "passed twice"),
        ((QRELS, FRACTIONS), {"run": RUN}, "passed twice"),
        ((), {"qrels": QRELS}, "go together"),
        ((), {"run": RUN}, "go together"),
        ((), {}, "scores are missing"),
    ],
)
def test_half_a_pair_by_name(args, words, message):
    with pytest.raises(TypeError, match=message):
        evaluate(*args, **words)


def test_files_of_known_formats(tmp_path):
    trec_run, trec_qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    trec_run.write_text(_text(FOUND, "{0} Q0 {1} {3} {2} t"))
    trec_qrels.write_text(_text(JUDGED, "{0} 0 {1} {2}"))
    table = tmp_path / "qrels.tsv"
    _frame(JUDGED, "score").to_csv(table, sep="\t", index=False)
    for run in (trec_run, _mapping(FOUND)):
        assert evaluate(trec_qrels, run, "AP")["AP"] == 0.75
    assert evaluate(table, trec_run, "AP")["AP"] == 0.75
    with pytest.raises(ValueError, match=SWAPPED):
        evaluate(trec_run, trec_qrels, "AP")


def test_systems_have_names():
    """A mapping of systems is one level deeper than judgements."""
    systems = {"a": RUN, "b": FRACTIONS}
    for function in (evaluate_systems, difference_bounds, next_judgements):
        function(qrels=QRELS, systems=systems)
        function(QRELS, systems)
        for judged in (QRELS, read_judgements(QRELS), frame_of(QRELS, "relevance")):
            with pytest.raises((TypeError, ValueError), match=rf"{SWAPPED}|first|after the judge"):
                function(systems, judged)
    for function in (bias_by_rank, evaluate_with_judge):
        with pytest.raises((TypeError, ValueError), match=SWAPPED):
            function(systems, QRELS, QRELS)
    with pytest.raises(TypeError, match=r"evaluate_systems takes .* data is now qrels"):
        evaluate_systems(data=QRELS, systems=systems)
    bias_by_rank(QRELS, QRELS, systems)
    bias_by_rank(human=QRELS, machine=QRELS, systems=systems)


def test_rows_are_not_runs():
    frame = pd.DataFrame({"y": [1, 0]})
    assert evaluate(frame["y"], [2, 1], None, "AP")["AP"] == 1
    assert evaluate(frame, [2, 1], None, "AP")["AP"] == 1
    assert evaluate([1, 0], [2, 1], None, "AP")["AP"] == 1
    data = RankingData(
        np.zeros((2, 1)), np.array([1.0, 0.0]), qid=["q1", "q1"], doc_ids=["d1", "d2"]
    )
    assert evaluate(data, {"q1": {"d1": 1, "d2": 2}}, "AP")["AP"] == 0.5
    assert evaluate(data, frame_of({"q1": {"d1": 1, "d2": 2}}), "AP")["AP"] == 0.5
    assert evaluate(data, frame, measures="AP")["AP"] == 1
    with pytest.raises(ValueError, match="pass the judgements first"):
        evaluate({"q1": {"d1": 1, "d2": 2}}, data, "AP")
