"""``rankwise decide``: promises on the command line, files of rules, and runs of what is shown."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise.datasets import Qrels, Run, read_run, write_qrels, write_run
from rankwise.decisions import AnswerRule
from tests.decisions.test_answer_rule import draw_lists


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of two systems on 200 queries, the first ten of them, and judgements."""
    folder = tmp_path_factory.mktemp("decide")
    scores, y, qid = draw_lists(200)
    queries, documents = (np.char.add(*pair) for pair in (("q", qid.astype(str)), ("d", ids(y))))
    write_run(Run(queries, documents, scores, "a"), folder / "a.run")
    write_run(Run(queries, documents, scores + np.sin(scores), "b"), folder / "b.run")
    write_run(Run(queries[:60], documents[:60], scores[:60], "a"), folder / "few.run")
    write_qrels(Qrels(queries, documents, y.astype(int)), folder / "qrels.txt")
    return folder


def ids(values):
    return np.arange(len(values)).astype(str)


def test_fit_store_and_apply(rankwise, folder, tmp_path):
    files = (folder / "a.run", folder / "qrels.txt")
    out, code = tmp_path / "new" / "rule.json", tmp_path / "rule.py"
    run = rankwise("decide", "answer", *files, "--promise", "wrong_answers <= 0.3", "--out", out,
                   "--python", code, "--json")  # fmt: skip
    assert run.code == 0, run.err
    rule = AnswerRule(at_most=0.3).fit(*files)
    assert run.json == json.loads(rule.report_.to_json()) | {"out": str(out)}
    assert code.read_text() == rule.to_python()

    shown = tmp_path / "shown.run"
    run = rankwise("decide", "apply", folder / "few.run", "--rule", out, "--out", shown)
    assert run.code == 0, run.err
    found = rule.decide(folder / "few.run")
    assert f"{found.answer.sum()} of 10 queries show {6 * found.answer.sum()} documents" in run.out
    assert {*read_run(shown).qid} == {*found.qid[found.answer]}
    run = rankwise("decide", "apply", folder / "few.run", "--rule", out, "--json")
    assert run.json == json.loads(found.to_json()) | {"out": None}


def test_a_promise_that_cannot_be_kept_exits_with_1(rankwise, folder, tmp_path):
    out = tmp_path / "rule.json"
    run = rankwise("decide", "answer", folder / "few.run", folder / "qrels.txt", "--out", out)
    assert run.code == 1 and "10 judged queries cannot keep it" in run.out
    shown = tmp_path / "shown.run"
    run = rankwise("decide", "apply", folder / "few.run", "--rule", out, "--out", shown)
    assert "0 of 10 queries show 0 documents" in run.out and shown.read_text() == ""


def test_other_systems(rankwise, folder, tmp_path):
    out, other = tmp_path / "rule.json", ("--other", folder / "b.run")
    files = (folder / "a.run", folder / "qrels.txt", "--promise", "false_answers<=0.3")
    run = rankwise("decide", "answer", *files, "--out", out, "--depth", "3", *other)
    assert run.code == 0, run.err
    assert "agreement" in json.loads(out.read_text())["coefficients"]
    assert rankwise("decide", "apply", folder / "few.run", "--rule", out, *other).code == 0
    run = rankwise("decide", "apply", folder / "few.run", "--rule", out)
    assert run.code == 1 and "Pass the same others" in run.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--promise", "wrong_answers"], "--promise must be NAME<=NUMBER"),
        (["--promise", "wrong_answers>=0.1"], "--promise must be NAME<=NUMBER"),
        (["--promise", "wrong_answers<=few"], "--promise must be NAME<=NUMBER, got 'few'"),
        (["--promise", "wrong_answers<=10"], "--promise must lie between 0 and 1, got 10.0"),
        (["--promise", "right<=0.1"], "--promise must be one of 'wrong_answers'"),
        (["--policy", "best"], "--policy must be one of"),
        (["--depth", "0"], "--depth must be a whole number"),
        (["--unanswerable-share", "2"], "--unanswerable-share must lie"),
        (["--other", "none.run"], "'none.run' is not a file"),
        (["--out", "."], "--out must name a file"),
    ],
)
def test_wrong_usage(rankwise, folder, arguments, message):
    run = rankwise("decide", "answer", folder / "a.run", folder / "qrels.txt", *arguments)
    assert run.code == 2 and message in run.err


def test_a_file_that_is_no_rule(rankwise, folder):
    run = rankwise("decide", "apply", folder / "a.run", "--rule", folder / "qrels.txt")
    assert run.code == 2 and "is not a decision rule" in run.err
