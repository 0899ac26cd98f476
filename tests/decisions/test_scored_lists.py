"""Scores and judgements of any form as lists: the order, what is missed, and clear errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwise import RidgeRanker
from rankwise.datasets import RankingData
from rankwise.decisions import list_scores
from rankwise.groups import QueryGroups
from rankwise.runtime.messages import ArgumentError

RUN = {"q2": {"a": 1.0, "b": 3.0}, "q1": {"c": 2.0, "a": 2.0}, "q3": {"a": 5.0}}
QRELS = {"q1": {"a": 2, "x": 1, "y": 0}, "q2": {"b": 0}, "q9": {"a": 1}}


def test_runs_have_the_order_of_trec_eval():
    lists = list_scores(RUN)
    found = [(q, lists.doc_ids[rows].tolist()) for q, rows in zip(lists.qids, lists, strict=True)]
    assert sorted(found) == [("q1", ["c", "a"]), ("q2", ["b", "a"]), ("q3", ["a"])]
    assert lists.y is None and len(lists) == 3


def test_judged_queries_of_a_run_and_what_it_misses():
    lists = list_scores(RUN, QRELS)
    assert dict(zip(lists.qids.tolist(), lists.sizes.tolist(), strict=True)) == {"q1": 2, "q2": 2}
    first = [*lists][lists.qids.tolist().index("q1")]
    assert lists.doc_ids[first].tolist() == ["c", "a"] and lists.y[first].tolist() == [0, 2]
    at = lists.qids.tolist().index("q1")
    assert sorted(lists.missed.tolist()) == [[at, 0.0], [at, 1.0]]


def test_judged_queries_without_a_list_are_counted():
    note = "1 of 3 judged queries are not in the run and do not count"
    assert list_scores(RUN, QRELS).notes == [note]
    assert list_scores({**RUN, "q9": {"z": 1.0}}, QRELS).notes == []


@pytest.mark.parametrize("sizes", [[3, 0, 2], [0, 3, 2], [3, 2, 0, 0]])
def test_empty_lists_do_not_count_if_they_are_judged(sizes):
    groups = QueryGroups.from_sizes(sizes)
    scores, y = [1.0, 3.0, 2.0, 5.0, 4.0], [0, 1, 0, 0, 2]
    lists = list_scores(scores, y, groups)
    assert lists.sizes.tolist() == [3, 2] and lists.qids.tolist() == np.flatnonzero(sizes).tolist()
    assert [lists.y[rows].tolist() for rows in lists] == [[1, 0, 0], [0, 2]]
    n = len(sizes)
    assert lists.notes == [f"{n - 2} of {n} judged queries have no documents and do not count"]
    assert list_scores(scores, qid=groups).sizes.tolist() == sizes


def test_a_frame_is_a_run():
    frame = pd.DataFrame({"qid": ["a", "a"], "doc_id": ["x", "y"], "score": [1.0, 2.0]})
    assert list_scores(frame).doc_ids.tolist() == ["y", "x"]


def test_scores_keep_the_order_of_ties_and_know_their_rows():
    scores, qid = [1.0, 3.0, 3.0, 2.0, 5.0], ["b", "a", "a", "b", "a"]
    assert list_scores(scores, qid=qid).order.tolist() == [3, 0, 4, 1, 2]
    lists = list_scores([1.0, 3.1, 3.0, 2.0, 5.0], [0, 1, np.nan, 2, 0], qid)
    assert lists.qids.tolist() == ["b", "a"]
    assert lists.order.tolist() == [3, 0, 4, 1, 2]
    assert lists.scores.tolist() == [2, 1, 5, 3.1, 3] and lists.y.tolist() == [2, 0, 0, 1, 0]


def test_a_ranker_scores_judged_rows():
    X, y, qid = np.arange(6.0)[:, None], np.arange(6) % 3, np.repeat([1, 2], 3)
    model, data = RidgeRanker().fit(X, y, qid=qid), RankingData(X, y, qid=qid)
    lists = list_scores(model, data)
    np.testing.assert_allclose(lists.scores, model.predict(X)[lists.order])
    np.testing.assert_array_equal(lists.y, y[lists.order])
    frame = pd.DataFrame({"qid": qid, "relevance": y, "x": X[:, 0], "old": model.predict(X)})
    for scores, rows in ((model.predict(X), data), ("column:old", frame), (frame["old"], frame)):
        again = list_scores(scores, rows)
        np.testing.assert_array_equal(again.order, lists.order)
        np.testing.assert_array_equal(again.y, lists.y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0],), "qid must name the query of each score"),
        (([1.0, np.inf], None, [1, 1]), "scores must be finite, got inf at row 1"),
        (([1.0, 2.0], [1], [1, 1]), "y must have one grade per score, got 1 for 2"),
        (([[1.0], [2.0]], None, [1, 1]), "scores must be one column"),
        (([1.0, 2.0], [[1], [0]], [1, 1]), r"one grade per score, got shape \(2, 1\)"),
        (([1.0, 1e200], None, [1, 2]), r"scores must be at most 1e\+150 in size"),
        (("column:x", [1, 0], [1, 1]), "y must hold the rows that are scored"),
        ((RidgeRanker(), [1, 0], [1, 1]), "y must hold the rows that are scored"),
    ],
)
def test_wrong_scores(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        list_scores(*arguments)


def test_runs_and_judgements_without_a_common_query():
    with pytest.raises(ValueError, match="no query in common"):
        list_scores(RUN, {"other": {"a": 1}})
