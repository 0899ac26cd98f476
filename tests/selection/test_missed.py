"""Judged documents that are no rows count as missed: comparison, systems, folds, records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from rankwise.datasets import Qrels, RankingData, Run
from rankwise.datasets.data import Fold
from rankwise.datasets.readers.judged_run import find_missed_documents
from rankwise.metrics import parse
from rankwise.report import write_report
from rankwise.selection import Leaderboard, compare, evaluate_systems
from rankwise.selection.cells.fingerprint import data_fingerprint
from rankwise.selection.cells.fold_tuning import tune
from tests.selection.helpers import Column, graded_data


@pytest.fixture
def data():
    """Two queries; a misses one relevant document of two and one that is not relevant, b two."""
    X = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    y = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    doc_ids = np.array(["d1", "d2", "d3", "d1", "d2"])
    missed = RankingData(
        np.empty((4, 0)), np.array([2.0, 0.0, 1.0, 1.0]), qid=np.array(list("aabb")),
        doc_ids=np.array(["d8", "d9", "d8", "d9"]),
    )  # fmt: skip
    return RankingData(X, y, qid=np.array(list("aaabb")), doc_ids=doc_ids, missed=missed)


def first_and_second(data, **options):
    return compare(
        {name: Column(number) for number, name in enumerate(("first", "second"))},
        Fold(data, None, data),
        isolate=False,
        **options,
    )


def test_values_by_hand(data):
    """The one relevant row of a stands second by either column; a misses one of grade 2."""
    measures = ["AP", "R@2", "P@2", "nDCG@2", "RR", "Tau"]
    board = first_and_second(data, measures=measures)
    found = {name: board.per_query(name)["first"].tolist() for name in measures}
    assert found["AP"] == [0.25, 0.0] and found["RR"] == [0.5, 0.0]
    assert found["R@2"] == [0.5, 0.0] and found["P@2"] == [0.5, 0.0]
    gain = (1 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert found["nDCG@2"] == pytest.approx([gain, 0.0])
    alone = first_and_second(replace(data, missed=None), measures=measures)
    assert alone.per_query("AP")["first"] == pytest.approx([0.5, np.nan], nan_ok=True)
    assert found["Tau"] == pytest.approx(alone.per_query("Tau")["first"], nan_ok=True)


def test_recall_is_printed_and_kept(data, tmp_path):
    board = first_and_second(data, measures=["AP"])
    assert board.recall == 0.25  # of a one of two, of b none of two
    line = "0.2500 of the relevant documents are among the rows (mean over queries)"
    assert line in str(board)
    assert Leaderboard.from_dict(board.to_dict()).recall == 0.25
    assert line in write_report(board, tmp_path / "report.html").read_text("utf-8")
    alone = first_and_second(replace(data, missed=None), measures=["AP"])
    assert alone.recall is None and "among the rows" not in str(alone)


def test_all_systems_miss_them(data):
    """Runs that hold a missed document too: all are measured on the same documents."""
    run = Run(
        np.array(list("aaaab")), np.array(["d8", "d1", "d2", "d3", "d1"]), np.arange(5, 0, -1.0)
    )
    systems = {
        "array": data.X[:, 0],
        "run": run,
        "model": FrozenEstimator(Column(0).fit(data.X, data.y, qid=data.qid)),
    }
    board = evaluate_systems(data, systems, measures=["AP"])
    values = board.per_query("AP")
    assert all(of.tolist() == [0.25, 0.0] for of in values.values())
    assert board.recall == 0.25
    fold = Fold(data, None, data)
    compared = compare({"run": run, "first": Column(0)}, fold, measures=["AP"], isolate=False)
    assert compared.per_query("AP")["run"].tolist() == [0.25, 0.0]


def test_equal_to_trec_eval(rng):
    """Candidates of a comparison, and the same lists as runs by pytrec_eval."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    whole = graded_data(rng, n_queries=12, docs=15, as_text=True)
    names = np.array([f"d{row}" for row in range(len(whole))])
    whole = replace(whole, doc_ids=names, X=whole.X.astype(np.float32))
    qrels = Qrels.from_data(whole)
    is_candidate = rng.random(len(whole)) < 0.6
    candidates = whole.take(np.flatnonzero(is_candidate))
    missed = find_missed_documents(qrels, candidates.qid, candidates.doc_ids)
    assert len(missed) == (~is_candidate).sum()
    table = replace(candidates, missed=missed)
    specs = {
        "map": "AP", "ndcg": "nDCG", "ndcg_cut_5": "nDCG@5", "recip_rank": "RR", "P_5": "P@5",
        "recall_5": "R@5", "Rprec": "Rprec",
    }  # fmt: skip
    board = compare(
        {"column": Column(0)}, table, cv=3, measures=[*specs.values()], preset="trec_eval",
    )  # fmt: skip
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q, d, grade in zip(qrels.qid.tolist(), names.tolist(), whole.y.tolist(), strict=True):
        judged.setdefault(q, {})[d] = int(grade)
    for row in range(len(candidates)):
        q, d = str(candidates.qid[row]), str(candidates.doc_ids[row])
        run.setdefault(q, {})[d] = float(candidates.X[row, 0])
    truth = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg", "ndcg_cut", "recip_rank", "P",
                                                    "recall", "Rprec"}).evaluate(run)  # fmt: skip
    for theirs, ours in specs.items():
        expected = [truth[q][theirs] for q in board.qids.tolist()]
        assert np.nan_to_num(board.per_query(ours)["column"]) == pytest.approx(expected, abs=1e-12)


def test_settings_are_chosen_with_missed_documents(data):
    """By recall over the rows alone both settings would be 1 on a, and nothing on b."""
    tuned = tune(
        Column(0), data, data, parse("R@2"), space={"column": [0, 1]}
    )  # fmt: skip
    assert [of["score"] for of in tuned.search] == [0.25, 0.25]


def test_parts_keep_the_missed_documents_of_their_queries(data):
    part = data.queries([1])
    assert part.missed is not None and part.missed.doc_ids is not None
    assert part.missed.qid.tolist() == ["b", "b"] and part.missed.y.tolist() == [1.0, 1.0]
    assert data.take(np.array([0])).missed.doc_ids.tolist() == ["d8", "d9"]
    with pytest.raises(ValueError, match="missed must hold documents of queries that have rows, "):
        replace(part, missed=data.missed)


def test_missed_documents_change_the_fingerprint(data):
    other = replace(data.missed, y=np.array([1.0, 0.0, 1.0, 1.0]))
    prints = {data_fingerprint(replace(data, missed=of)) for of in (None, data.missed, other)}
    assert len(prints) == 3


def test_several_processes_see_them(data):
    alone = first_and_second(data, measures=["AP"])
    fold = Fold(data, None, data)
    board = compare({"first": Column(0), "second": Column(1)}, fold, measures=["AP"], n_jobs=2)
    for name, values in board.per_query("AP").items():
        assert values.tolist() == alone.per_query("AP")[name].tolist()
