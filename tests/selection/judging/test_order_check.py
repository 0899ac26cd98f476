"""Notes of leaderboards on systems whose order unjudged documents could change."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import Qrels, RankingData, Run, judge
from rankwise.metrics import parse
from rankwise.report import write_report
from rankwise.selection import Leaderboard, difference_bounds, evaluate_systems
from rankwise.selection.judging import difference_bounds as order_check
from rankwise.selection.judging.difference_bounds import OrderCheck


def random_case(rng, n_systems=4, share=0.6):
    documents = [f"d{d}" for d in range(40)]
    rows = [(f"q{q}", d) for q in range(15) for d in documents]
    judged = [row for row in rows if rng.random() < share]
    qrels = Qrels(*np.array(judged).T, (rng.random(len(judged)) < 0.3).astype(int))
    runs = {}
    for number in range(n_systems):
        found = [row for row in rows if rng.random() < 0.7]
        scores = rng.integers(0, 30, len(found)) / 2
        runs[f"s{number}"] = Run(*np.array(found).T, scores)
    return runs, qrels


def notes(board):
    return {row["ranker"]: row["notes"] for row in board.rows()}


@pytest.mark.parametrize("spec", ["nDCG@5", "P@3", "AP", "RBP"])
@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_notes_name_the_neighbours_that_are_not_settled(rng, spec, preset):
    runs, qrels = random_case(rng)
    found = notes(evaluate_systems(qrels, runs, measures=spec, preset=preset))
    bounds = difference_bounds(qrels, runs, spec, preset=preset)
    assert not all(b.is_settled for b in bounds)
    for system in runs:
        unsettled = [b for b in bounds if system in (b.first, b.second) and not b.is_settled]
        assert len(found[system]) == bool(unsettled)
        for b in unsettled:
            pair = f"{b.first} and {b.second} ({b.difference:+.4f}, between {b.low:+.4f} and "
            assert found[system][0].startswith(f"{spec}: unjudged documents")
            assert pair in found[system][0]


@pytest.mark.parametrize("preset", [None, "trec_eval"])
def test_the_share_of_unjudged_documents_stands_beside_every_measure(rng, preset, tmp_path):
    runs, qrels = random_case(rng)
    specs = ["nDCG@5", "AP", "Bpref", "unjudged@5", "Unjudged"]
    board = evaluate_systems(qrels, runs, measures=specs, preset=preset)
    means = {row["ranker"]: row["measures"] for row in board.rows()}
    for system in runs:
        for name, beside in (("nDCG@5", "unjudged@5"), ("AP", "Unjudged")):
            share = board.unjudged(system, name)
            assert share == pytest.approx(means[system][beside]["mean"]) and 0.2 < share < 0.6
            assert means[system][name]["unjudged"] == share
        assert board.unjudged(system, "Bpref") is None
    shares = [board.unjudged(system) for system in runs]
    line = (
        f"count as not relevant: nDCG@5 {min(shares):.1%} to {max(shares):.1%} of the first 5, AP"
    )
    assert line in str(board)
    report = write_report(board, tmp_path / "report.html").read_text("utf-8")
    assert line.partition(":")[0] in report and f"nDCG@5 {min(shares):.1%}" in report
    again = Leaderboard.from_dict(board.to_dict())
    assert [again.unjudged(system) for system in runs] == shares
    rows = judge(qrels, runs["s0"])
    table = RankingData(np.array(rows.y)[:, None], rows.y, qid=rows.qid, doc_ids=rows.doc_ids)
    of_rows = evaluate_systems(table, {"s0": rows.y})
    assert of_rows.unjudged("s0") is None and "Unjudged" not in str(of_rows)


def test_the_first_ranks_suffice_where_all_measures_have_a_cutoff(rng):
    runs, qrels = random_case(rng)
    measures = {spec: parse(spec) for spec in ("nDCG@5", "P@3")}
    check = OrderCheck(measures, qrels)
    for name, run in runs.items():
        check.add(name, judge(qrels, run, all_queries=True))
    assert max(map(len, check._runs.values())) < 15 * 12
    board = evaluate_systems(qrels, runs, measures=["nDCG@5", "P@3", "AP"])
    wanted = {n: [t for t in texts if "AP" not in t] for n, texts in notes(board).items()}
    assert check.notes() == wanted


def test_complete_judgements_and_single_systems_need_no_note(rng):
    runs, qrels = random_case(rng, share=2)
    assert not any(notes(evaluate_systems(qrels, runs, measures=["nDCG@5", "AP"])).values())
    runs, qrels = random_case(rng)
    alone = evaluate_systems(qrels, {"s0": runs["s0"]}, measures=["nDCG@5", "AP"])
    assert notes(alone) == {"s0": []}


def test_measures_that_read_judgements_need_no_note(rng):
    runs, qrels = random_case(rng)
    specs = ["Bpref", "infAP", "Judged@5", "nDCG(judged_only=True)@5", "MeanNDCG"]
    assert not any(notes(evaluate_systems(qrels, runs, measures=specs)).values())


def test_long_runs_say_what_was_not_checked(rng, monkeypatch):
    monkeypatch.setattr(order_check, "_MOST_DOCUMENTS", 1500)
    runs, qrels = random_case(rng)
    found = notes(evaluate_systems(qrels, runs, measures=["AP", "P@3"]))
    for texts in found.values():
        assert texts[-1].startswith("AP: not checked whether unjudged documents could change")
        assert not any(text.startswith("AP: unjudged") for text in texts)
    assert any(text.startswith("P@3: unjudged") for texts in found.values() for text in texts)


def test_many_pairs_are_counted(rng):
    runs, qrels = random_case(rng, n_systems=9, share=0.2)
    board = evaluate_systems(qrels, runs, measures="P@5")
    assert "and of 3 more pairs" in notes(board)["s0"][0]
    assert "note: all rankers: P@5: unjudged documents" in str(board)
    assert notes(Leaderboard.from_dict(board.to_dict())) == notes(board)
