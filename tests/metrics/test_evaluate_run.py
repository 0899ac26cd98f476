"""Runs that miss judged documents: unretrieved rows count for what could be found only."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, judge
from rankwise.metrics import evaluate

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
    rows = judge(run, qrels)
    assert not rows.retrieved.all()
    # The preset breaks ties by the reverse of the input; the rows are in trec_eval's order.
    ours = evaluate(
        rows.y[::-1],
        rows.scores[::-1],
        rows.qid[::-1],
        list(PEERS),
        preset="trec_eval",
        retrieved=rows.retrieved[::-1],
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
    y = [2, 0, 1, 3]
    alone = evaluate([2, 0, 1], [0.0, 0.0, 0.0], None, f"DCG(ties={ties})")
    found = evaluate(y, [0.0] * 4, None, f"DCG(ties={ties})", retrieved=[True] * 3 + [False])
    assert found[f"DCG(ties={ties})"] == pytest.approx(alone[f"DCG(ties={ties})"], abs=1e-15)
    assert evaluate(y, [0.0] * 4, None, spec, retrieved=[True] * 3 + [False])[spec] < 1


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
