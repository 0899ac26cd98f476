"""Queries on which no ranking can differ: the header counts them, and an option leaves them out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise import RidgeRanker, compare
from rankwise.datasets import Qrels, RankingData, Run
from rankwise.ordinal import PRank
from rankwise.selection import Leaderboard, evaluate_systems, learning_curve


def make(sizes, grades):
    """Queries of some sizes; the rows of each have the grade, or 0 and 1 in turn if it is None."""
    pairs = zip(sizes, grades, strict=True)
    y = [row % 2 if grade is None else grade for size, grade in pairs for row in range(size)]
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    return RankingData(X, np.array(y, dtype=float), qid=np.repeat(np.arange(len(sizes)), sizes))


def counted(board):
    """Ids of the queries that count for the first measure."""
    return board.qids[~np.isnan(board.values(board.rankers[0]))].tolist()


SINGLE = make([1, 1, 1, 3, 3, 3, 3, 3], [1, 0, 1, *[None] * 5])
MEASURES = {"measures": ["nDCG@10", "P@5"]}


@pytest.mark.parametrize(
    ("data", "measures", "n_differing"),
    [
        (make([3] * 8, [None] * 8), "nDCG@10", None),
        (SINGLE, "nDCG@10", 5),
        (make([3] * 8, [2, 2, *[None] * 6]), "nDCG@10", 6),
        # No relevant row: the measure does not count them, and the header says so already.
        (make([3] * 8, [0, 0, *[None] * 6]), "nDCG@10", None),
        (make([3] * 8, [0, 0, *[None] * 6]), "P@5", 6),
        (make([3] * 8, [0, 2, *[None] * 6]), "nDCG@10", 6),
        (SINGLE, "MAE", None),  # predicted classes differ on any row
    ],
)
def test_the_header_counts_queries_that_can_differ(data, measures, n_differing):
    ranker = PRank() if measures == "MAE" else RidgeRanker()
    board = compare({"ridge": ranker}, data, cv=2, measures=measures, isolate=False)
    given = evaluate_systems(data, {"a": data.X[:, 0], "b": data.X[:, 1]}, measures=[measures])
    for found in [board] if measures == "MAE" else [board, given]:
        heading = str(found).splitlines()[0]
        assert ("can differ" in heading) == (n_differing is not None), heading
        assert n_differing is None or f"(rankers can differ on {n_differing}), " in heading
        again = Leaderboard.from_dict(json.loads(json.dumps(found.to_dict())))
        assert str(again) == str(found)


def test_differing_queries_are_those_that_the_means_are_over(tmp_path):
    words = {"cv": 2, "isolate": False, "store": tmp_path / "store"} | MEASURES
    every = compare({"ridge": RidgeRanker()}, SINGLE, **words)
    done = []
    board = compare(
        {"ridge": RidgeRanker()}, SINGLE, **words, differing_queries=True,
        progress=lambda *cell: done.append(cell),
    )  # fmt: skip
    assert len(done) == 2  # both from the store: fits and values are the same
    kept = np.isin(every.qids, [3, 4, 5, 6, 7])
    for measure in board.measures:
        values = np.where(kept, every.values("ridge", measure), np.nan)
        np.testing.assert_array_equal(board.values("ridge", measure), values)
    heading = str(board).splitlines()[0]
    assert "8 queries (5 count for nDCG@10, 5 for P@5) in 2 folds (left out: 3 with on" in heading
    assert str(Leaderboard.from_dict(board.to_dict())) == str(board)
    curve = learning_curve(RidgeRanker(), SINGLE, [2], cv=2, isolate=False, differing_queries=True)
    assert curve.boards[0].n_counted() == 5


def test_a_fold_may_have_no_query_that_differs():
    folds = [np.isin(SINGLE.qid, queries) for queries in ([0, 1], range(2, 8))]
    splits = [(np.flatnonzero(~test), np.flatnonzero(test)) for test in folds]
    board = compare(RidgeRanker(), SINGLE, cv=splits, isolate=False, differing_queries=True)
    assert counted(board) == [3, 4, 5, 6, 7]
    assert "8 queries (5 count for nDCG@10, 5 for AP) in 2 folds (left out: 3" in str(board)
    assert np.isfinite(board.rows()[0]["mean"])


def _run(documents):
    pairs = [(query, name, -place) for query, names in documents.items()
             for place, name in enumerate(names)]  # fmt: skip
    qids, names, scores = zip(*pairs, strict=True)
    return Run(np.array(qids), np.array(names), np.array(scores, dtype=float))


QRELS = Qrels(
    np.array(["1", "2", "2", "3", "3"]), np.array(["a", "a", "b", "a", "b"]),
    np.array([1, 1, 1, 0, 1]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ([{"1": "a", "2": "ab", "3": "ab"}], "3"),
        ([{"1": "a", "2": "ab", "3": "ab"}, {"1": "a", "2": "ba", "3": "ba"}], "3"),
        ([{"1": "a", "2": "ab", "3": "ab"}, {"1": "ca", "2": "ba", "3": "ba"}], "13"),
        ([{"1": "a", "2": "a", "3": "ab"}], "23"),  # others may find b
        ([{"1": "c", "2": "ab", "3": "ab"}], "13"),
    ],
)
def test_runs_can_differ_by_documents_that_they_lack(runs, kept):
    systems = {f"run{i}": _run(run) for i, run in enumerate(runs)}
    board = evaluate_systems(QRELS, systems, differing_queries=True)
    assert "".join(counted(board)) == kept
    every = evaluate_systems(QRELS, systems)
    assert every.fold_infos[0].n_uniform == 3 - len(kept)


def test_a_run_in_compare_can_lack_the_only_row():
    data = RankingData(SINGLE.X, SINGLE.y, qid=SINGLE.qid, doc_ids=np.arange(len(SINGLE)))
    rows = np.arange(len(data)) > 0
    run = Run(data.qid[rows].astype(str), data.doc_ids[rows].astype(str), data.X[rows, 0])
    words = {"cv": 2, "isolate": False, "differing_queries": True}
    board = compare({"run": run, "ridge": RidgeRanker()}, data, **words)
    assert sorted(counted(board)) == [0, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("data", "measures", "problem"),
    [
        (make([1, 1, 1, 1], [1, 0, 1, 1]), "P@5", "needs a query with rows of different grades"),
        (SINGLE, "MAE", "needs measures of rankings, but MAE reads predicted classes"),
    ],
)
def test_an_option_that_leaves_nothing_is_refused(data, measures, problem):
    words = {"measures": [measures], "differing_queries": True}
    with pytest.raises(ValueError, match=f"differing_queries {problem}"):
        compare("ridge", data, cv=2, **words)
    with pytest.raises(ValueError, match=f"differing_queries {problem}"):
        evaluate_systems(data, {"a": data.X[:, 0]}, **words)
