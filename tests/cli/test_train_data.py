"""``evaluate --train-data`` and ``lint --test-data``: what training knew of the test documents."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def parts(tmp_path):
    """Qrels of training and test, and two runs; half of the relevant documents are known."""
    (tmp_path / "train.qrels").write_text("".join(f"t{i} 0 d{i} 1\n" for i in range(20)))
    (tmp_path / "test.qrels").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(40)))
    for name in ("new", "old"):
        lines = []
        for i in range(40):
            found = 2 if name == "new" and i < 20 else 0.5 + i % 3 % 2
            lines += [f"q{i} Q0 d{i} 1 {found} x", f"q{i} Q0 other 2 1 x"]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_gain_on_known_documents(rankwise, parts):
    words = ("evaluate", parts / "new.run", parts / "test.qrels", "--measures", "AP")
    learnt = ("--train-data", parts / "train.qrels")
    done = rankwise(*words, "--baseline", parts / "old.run", *learnt)
    text = " ".join(done.out.split())
    assert done.code == 0
    assert "Memory: 20 of 40 queries (50.0%), and 50.0% of the relevant pairs, have" in text
    assert "new - old, AP: seen queries +0.3" in text and "unseen +0.0000" in text
    assert "warning: new gains in AP mainly on seen queries" in text
    found = json.loads(rankwise(*words, "--baseline", parts / "old.run", *learnt, "--json").out)
    assert found["memory"]["rows"][0]["verdict"] == "memory"
    alone = rankwise(*words, *learnt)
    assert "note: Memory: 20 of 40 queries" in " ".join(alone.out.split())
    assert json.loads(rankwise(*words, *learnt, "--json").out)["memory"]["n_seen"] == 20


def test_training_without_document_ids(rankwise, parts):
    (parts / "train.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.2\n")
    words = ("evaluate", parts / "new.run", parts / "test.qrels")
    done = rankwise(*words, "--train-data", parts / "train.txt")
    assert done.code == 1 and "LETOR text without document ids" in done.err
    done = rankwise(
        *words, "--systems", parts / "old.run", "--judge-next", "3", "--train-data", "x"
    )
    assert done.code == 2 and "--judge-next compares TREC runs, not --train-data" in done.err


def test_two_files_of_judgements(rankwise, parts):
    done = rankwise("lint", parts / "train.qrels", "--test-data", parts / "test.qrels")
    assert done.code == 0 and done.out.startswith("Memory: 20 of 40 queries (50.0%)")
    done = rankwise("lint", parts / "train.qrels", "--test-data", parts / "old.run")
    assert done.code != 0 and "holds judgements, not judged rows" in done.err
