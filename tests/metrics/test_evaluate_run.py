"""Runs that miss judged documents: unretrieved rows count for what could be found only."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, judge
from rankwise.metrics import TiedScoresWarning, evaluate

PEERS = {
    "AP": "map",
    "nDCG": "ndcg",
    "nDCG@5": "ndcg_cut_5",
    "P@10": "P_10",
    "R@10": "recall_10",
    "Rprec": "Rprec",
    "RR": "recip_rank",
    "AP@5": "map_cut_5",
    "Success@5": "success_5",
}


def random_run_and_qrels(rng):
    rows = [(f"q{q}", f"d{d}") for q in range(40) for d in range(25)]
    judged = rng.permutation([row for row in rows if rng.random() < 0.5 and row[0] != "q3"])
    retrieved = rng.permutation([row for row in rows if rng.random() < 0.4 and row[0] != "q5"])
    grades = np.where(judged[:, 0] == "q4", 0, rng.integers(0, 4, len(judged)))
    scores = rng.integers(0, 6, len(retrieved)) - 3.0
    return Run(retrieved[:, 0], retrieved[:, 1], scores), Qrels(judged[:, 0], judged[:, 1], grades)


def nested(entries, values):
    tree = {}
    for q, d, value in zip(entries.qid.tolist(), entries.doc_ids.tolist(), values, strict=True):
        tree.setdefault(q, {})[d] = value.item()
    return tree


def test_runs_are_measured_as_trec_eval_does(rng):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = random_run_and_qrels(rng)
    peer = pytrec_eval.RelevanceEvaluator(
        nested(qrels, qrels.relevance),
        {"map", "ndcg", "ndcg_cut.5", "P.10", "recall.10", "Rprec", "recip_rank", "map_cut.5",
         "success.5"},
    ).evaluate(nested(run, run.scores))  # fmt: skip
    rows = judge(qrels, run)
    assert not rows.retrieved.all()
    order = rng.permutation(len(rows))
    ours = evaluate(
        rows.y[order],
        rows.scores[order],
        rows.qid[order],
        list(PEERS),
        preset="trec_eval",
        doc_ids=rows.doc_ids[order],
        retrieved=rows.retrieved[order],
    )
    assert set(ours.qids) == set(peer)
    for spec, name in PEERS.items():
        expected = [peer[qid][name] for qid in ours.qids]
        np.testing.assert_allclose(ours.per_query[spec], expected, rtol=0, atol=1e-12)


def test_a_row_that_was_not_retrieved_is_never_found():
    y, scores, qid = [0, 2, 1], [0.0, 5.0, -1.0], ["a", "a", "a"]
    measures = ["AP", "nDCG", "RR", "ERR", "RBP", "P@3", "R@3", "Success@3", "DCG"]
    found = evaluate(y, scores, qid, measures, retrieved=[True, False, False])
    assert {spec: found[spec] for spec in measures} == dict.fromkeys(measures, 0.0)
    half = evaluate(y, scores, qid, ["AP", "R@3", "RR"], retrieved=[True, True, False])
    assert dict(half) == {"AP": 0.5, "R@3": 0.5, "RR": 1.0}
    # Real-valued grades go another way through the kernels.
    real = evaluate([0, 2.5, 1], scores, qid, ["nDCG", "ERR"], retrieved=[True, False, False])
    assert dict(real) == {"nDCG": 0.0, "ERR": 0.0}


@pytest.mark.parametrize("ties", ["stable", "docid", "worst", "best", "mean"])
def test_ties_with_a_score_of_zero_stay_apart_from_missing_rows(ties):
    spec = f"nDCG(ties={ties})"
    y, ids = [2, 0, 1, 3], ["a", "b", "c", "d"]
    alone = evaluate([2, 0, 1], [0.0, 0.0, 0.0], None, f"DCG(ties={ties})", doc_ids=ids[:3])
    words = {"retrieved": [True] * 3 + [False], "doc_ids": ids}
    found = evaluate(y, [0.0] * 4, None, f"DCG(ties={ties})", **words)
    assert found[f"DCG(ties={ties})"] == pytest.approx(alone[f"DCG(ties={ties})"], abs=1e-15)
    assert evaluate(y, [0.0] * 4, None, spec, **words)[spec] < 1


def test_all_retrieved_changes_nothing(rng):
    y, scores, qid = rng.integers(0, 3, 60), rng.normal(size=60), rng.integers(0, 9, 60)
    measures = ["AP", "nDCG@5", "ERR"]
    assert dict(evaluate(y, scores, qid, measures)) == dict(
        evaluate(y, scores, qid, measures, retrieved=np.ones(60, dtype=bool))
    )


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="retrieved must hold n_samples=2 truth values"):
        evaluate([1, 0], [0.1, 0.2], retrieved=[1, 0])
    with pytest.raises(ValueError, match=r"'Tau' compares the scores of all rows, but 1 rows"):
        evaluate([1, 0], [0.1, 0.2], None, "Tau", retrieved=[True, False])
    with pytest.raises(ValueError, match="scores must be finite"):
        evaluate([1, 0], [-np.inf, 0.2], retrieved=[True, False])
    with pytest.raises(ValueError, match="scores must be finite"):
        evaluate([1, 0], [np.inf, 0.2], retrieved=[True, False])


@pytest.mark.parametrize("empty", [{}, {"q": {}}])
def test_empty_runs_and_judgements_are_refused(empty):
    for pair in (({"q": {"d": 1}}, empty), (empty, {"q": {"d": 1.0}})):
        with pytest.raises(ValueError, match=r"of a query in common.* neither is empty"):
            evaluate(*pair, "AP")


TIED = {"y": [1, 0, 1, 0], "scores": [0.5, 0.5, 0.5, 0.9], "qid": ["a", "a", "b", "b"]}


@pytest.mark.parametrize(
    ("doc_ids", "expected"),
    [
        (["d2", "d1", "d1", "d2"], 1.0),
        (["d1", "d2", "d1", "d2"], 0.5),
        (["10", "9", "1", "2"], 0.5),  # ids are text: 9 comes after 10
        ([10, 9, 1, 2], 0.5),
        (np.array([9, 10, 1, 2], dtype=np.uint64), 1.0),
        (np.array(["é", "z", "1", "2"], dtype=object), 1.0),
    ],
)
def test_document_ids_break_ties(doc_ids, expected):
    order = [3, 1, 2, 0]
    for rows in (range(4), order):
        y, scores, qid, ids = (
            np.array([part[row] for row in rows]) for part in (*TIED.values(), doc_ids)
        )
        for words in ({"preset": "trec_eval"}, {"preset": "gdeval"}, {}):
            spec = "RR" if words else "RR(ties=docid)"
            found = evaluate(y, scores, qid, spec, doc_ids=ids, **words)
            assert dict(zip(found.qids.tolist(), found.per_query[spec], strict=True)) == {
                "a": expected,
                "b": 0.5,
            }


def test_without_ids_ties_are_refused_if_their_order_could_change_a_value():
    y, scores, qid = TIED.values()
    with pytest.raises(
        ValueError,
        match=r"'RR' breaks ties by document id \(preset='trec_eval'\), and the order of rows with "
        r"equal scores decides 1 of 2 queries: its mean is between 0.5000 and 0.7500. Pass doc_ids",
    ):
        evaluate(y, scores, qid, "RR", preset="trec_eval")
    with pytest.raises(ValueError, match="'AP\\(ties=docid\\)' breaks ties by document id, and"):
        evaluate(y, scores, qid, "AP(ties=docid)")
    # Ties between equal labels, or below the cut-off, change nothing.
    assert evaluate([1, 1, 0], [2.0, 2.0, 1.0], 0, "AP", preset="trec_eval")["AP"] == 1.0
    assert evaluate([1, 1, 0], [2.0, 1.0, 1.0], 0, "P@1", preset="trec_eval")["P@1"] == 1.0
    assert evaluate(y, scores, qid, "RR(ties=mean)", preset="trec_eval")["RR(ties=mean)"] == 0.625


@pytest.mark.parametrize(
    ("doc_ids", "message"),
    [
        (["d1"], r"doc_ids must have n_samples=4 entries, got shape \(1,\)"),
        (["d1", None, "d1", "d2"], "doc_ids must not be missing, got None at row 1"),
        ([1.0, 2.0, 1.0, float("nan")], "doc_ids must not be missing, got nan at row 3"),
        (["d1", "d2", "d1", "d1"], "must not repeat within a query, got 'd1' of query b again at"),
    ],
)
def test_bad_document_ids_are_named(doc_ids, message):
    with pytest.raises(ValueError, match=message):
        evaluate(*TIED.values(), "AP", preset="trec_eval", doc_ids=doc_ids)


def test_a_preset_that_ranks_ties_by_row_says_where_they_decide():
    y, scores, qid = TIED.values()
    message = (
        r"RR: rows with equal scores rank in the order of the rows \(ties='stable'\), which "
        r"decides 1 of 2 queries: the mean is 0.7500, and between 0.5000 and 0.7500 in other orders"
    )
    with pytest.warns(TiedScoresWarning, match=message):
        evaluate(y, scores, qid, "RR", preset="lightgbm")
    # Where nothing is left to the preset, or the order changes nothing, there is no warning.
    evaluate(y, scores, qid, ["RR(ties=stable)", "RR(ties=mean)"], preset="lightgbm")
    evaluate(y, scores, qid, "RR")
    evaluate([1, 1, 0], [2.0, 2.0, 1.0], 0, "AP", preset="lightgbm")
