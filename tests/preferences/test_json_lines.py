"""Votes as JSON lines, as FastChat writes them, and winners as True and False."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest

from rankwise.preferences import read_comparisons

VOTES = [
    {"question_id": "q1", "model_a": "x", "model_b": "y", "winner": "model_a", "judge": "m1",
     "conversation_a": [{"role": "user", "content": "Hi"}], "turn": 1, "tstamp": 1.5},
    {"question_id": "q2", "model_a": "y", "model_b": "z", "winner": "tie (bothbad)", "turn": "2"},
    {"question_id": "q3", "model_a": "z", "model_b": "x", "winner": "model_b", "anony": True},
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_votes_as_json_lines_are_those_of_the_csv(tmp_path, suffix):
    text = "".join(json.dumps(vote, ensure_ascii=False) + "\n" for vote in VOTES).encode()
    path = tmp_path / f"votes{suffix}"
    path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    table = tmp_path / "votes.csv"
    pd.DataFrame(VOTES)[["model_a", "model_b", "winner"]].to_csv(table, index=False)
    found, wanted = read_comparisons(path), read_comparisons(table)
    assert found.items.tolist() == wanted.items.tolist()
    assert found.outcome.tolist() == wanted.outcome.tolist()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2: must be a JSON object"),
        ("{", "line 2: not a JSON object"),
        ("", "line 2: an empty line"),
    ],
)
def test_wrong_lines_are_named(tmp_path, line, message):
    path = tmp_path / "votes.jsonl"
    path.write_text(f"{json.dumps(VOTES[0])}\n{line}\n{json.dumps(VOTES[1])}\n")
    with pytest.raises(ValueError, match=message):
        read_comparisons(path)


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_winners_may_be_true_and_false(tmp_path, words):
    frame = pd.DataFrame(
        {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "winner": [True, False, True]}
    )
    path = tmp_path / "votes.csv"
    frame.assign(winner=[words[0], words[1], words[0]]).to_csv(path, index=False)
    assert read_comparisons(path).outcome.tolist() == read_comparisons(frame).outcome.tolist()
