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


@pytest.mark.parametrize(("command", "promise"), [("answer", "wrong_answers<=0.1"),
                                                  ("cut", "recall>=0.99")])  # fmt: skip
def test_a_promise_that_cannot_be_kept_leaves_files_as_they_are(
    rankwise, folder, tmp_path, command, promise
):
    out, code = tmp_path / "rule.json", tmp_path / "new" / "rule.py"
    out.write_text("the rule in use")
    run = rankwise("decide", command, folder / "few.run", folder / "qrels.txt", "--promise",
                   promise, "--out", out, "--python", code)  # fmt: skip
    assert run.code == 1 and "cannot keep it" in run.out
    assert f"{out} is not written" in run.err and f"{code} is not written" in run.err
    assert out.read_text() == "the rule in use" and not code.parent.exists()


def test_columns_by_name(rankwise, folder, tmp_path):
    """Options name the columns of the files that have them; other files have the usual names."""
    run, table, rule = read_run(folder / "a.run"), tmp_path / "own.csv", tmp_path / "rule.json"
    rows = list(zip(run.qid, run.doc_ids, run.scores.tolist(), strict=True))
    table.write_text("Frage;Dok;Güte\n" + "".join(f"{q};{d};{s!r}\n" for q, d, s in rows))
    names = ("--qid", "Frage", "--doc-id", "Dok", "--score", "Güte", "--sep", ";")
    found = rankwise("decide", "answer", table, folder / "qrels.txt", *names, "--promise",
                     "wrong_answers<=0.3", "--out", rule, "--json")  # fmt: skip
    expected = AnswerRule(at_most=0.3).fit(run, folder / "qrels.txt")
    assert found.json == json.loads(expected.report_.to_json()) | {"out": str(rule)}
    found = rankwise("decide", "apply", table, "--rule", rule, *names)
    first, *_, last = found.out.splitlines()
    assert "of 200 queries show" in first and last == "170 more rows: see --json"
    assert rankwise("decide", "apply", table, "--rule", rule, *names[:-2]).out == found.out

    table.write_text(table.read_text().replace(".", ","))
    found = rankwise("decide", "answer", table, folder / "qrels.txt", *names)
    assert found.code == 1 and "Write 0.5, not 0,5" in found.err
    table.write_text("qid,doc_id,score\n07,d1,1\n")
    found = rankwise("decide", "answer", table, folder / "qrels.txt")
    assert found.code == 1 and "the first ones are '07' and 'q0'" in found.err
    found = rankwise("decide", "answer", folder / "a.run", folder / "qrels.txt", "--qid", "x")
    assert found.code == 2 and "--qid must fit" in found.err


def test_scores_of_judged_rows(rankwise, tmp_path):
    """A column, a file of scores and a model give what the same scores give in Python."""
    scores, y, qid = draw_lists(200)
    table, file = tmp_path / "rows.csv", tmp_path / "scores.txt"
    rows = zip(qid.tolist(), y.tolist(), scores.tolist(), strict=True)
    table.write_text("qid,used,ours\n" + "".join(f"{q},{int(g)},{s!r}\n" for q, g, s in rows))
    file.write_text("".join(f"{s!r}\n" for s in scores.tolist()))
    expected = AnswerRule(at_most=0.3).fit(scores, y, qid).report_
    promise = ("--label", "used", "--promise", "wrong_answers<=0.3")
    for entry in ("column:ours", file):
        found = rankwise("decide", "answer", entry, table, *promise, "--json")
        assert found.code == 0, found.err
        assert found.json["n_wrong"] == expected.n_wrong
        assert found.json["threshold"] == pytest.approx(expected.threshold, rel=1e-6)
    model = tmp_path / "m.rankwise"
    words = ("fit", table, "--label", "used", "--ranker", "ridge", "--out", model)
    assert rankwise(*words).code == 0
    assert rankwise("decide", "cut", model, table, "--label", "used").code == 0


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
        (["--other", "b.run", "--policy", "top_score"], "--other is for the model"),
        (["--unanswerable-share", "0.2"], "--unanswerable-share is for lists made by removing"),
        (["--promise", "false_answers<=0.2", "--unanswerable-share", "0.2"], "does not change"),
        (["--other", "column:x"], "column:x is not a run"),
        (["--out", "."], "--out must name a file"),
    ],
)
def test_wrong_usage(rankwise, folder, arguments, message):
    run = rankwise("decide", "answer", folder / "a.run", folder / "qrels.txt", *arguments)
    assert run.code == 2 and message in run.err


def test_a_file_that_is_no_rule(rankwise, folder):
    run = rankwise("decide", "apply", folder / "a.run", "--rule", folder / "qrels.txt")
    assert run.code == 2 and "is not a decision rule" in run.err


def test_options_without_effect(rankwise, folder, tmp_path):
    rule, files = tmp_path / "rule.json", (folder / "a.run", folder / "qrels.txt")
    run = rankwise("decide", "cut", *files, "--on-average", "--confidence-level", "0.9")
    assert run.code == 2 and "without --confidence-level" in run.err
    AnswerRule(at_most=0.3).fit(*files).to_json(rule)
    words = ("decide", "apply", folder / "few.run", "--rule", rule)
    run = rankwise(*words, "--other", folder / "b.run")
    assert run.code == 0 and "does not look at other systems" in run.err
    run = rankwise("decide", "apply", "column:x", "--rule", rule)
    assert run.code == 2 and "column:x is not a run" in run.err
