"""``board``, ``plan``, and the gate of ``evaluate``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import leaderboard
from rankwise.datasets import Qrels, Run, write_qrels, write_run
from rankwise.integrations.results import read_results
from rankwise.metrics.significance import detectable_difference, queries_needed
from rankwise.selection import evaluate_systems
from tests.integrations.result_folders import mteb


@pytest.fixture
def scores(tmp_path, rng):
    """Long table of three systems, two seeds and thirty tasks in three suites."""
    rows = []
    base = rng.random(30)
    for system, shift in (("new", 0.1), ("old", 0.0), ("bad", -0.5)):
        for seed in range(2):
            for task, value in enumerate(base + shift + 0.02 * rng.random(30)):
                rows.append((system, f"t{task:02}", f"suite{task % 3}", seed, value))
    path = tmp_path / "scores.csv"
    names = ["agent", "task", "suite", "seed", "score"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return path


def test_board_is_that_of_the_function(rankwise, scores):
    words = ["--run", "seed", "--stratum", "suite", "--baseline", "old"]
    run = rankwise("board", scores, *words, "--json")
    assert run.code == 0, run.err
    board = leaderboard(scores, run="seed", stratum="suite", baseline="old")
    assert run.json["rows"] == json.loads(json.dumps(board.to_dict()["rows"]))
    text = rankwise("board", scores, *words, "--wide").out
    assert text.strip() == str(board)
    repeats = rankwise("board", scores, "--average-repeats", "--lower-is-better", "--json")
    assert repeats.json["rows"][0]["ranker"] == "bad"


def test_board_writes_tables_and_a_report(rankwise, scores, tmp_path):
    for name, start in (("t.tex", r"\begin{table}"), ("t.md", "|  | system"), ("t.csv", "rank,")):
        target = tmp_path / "new" / name
        run = rankwise("board", scores, "--average-repeats", "--table", target)
        assert run.code == 0, run.err
        assert target.read_text("utf-8").startswith(start)
        assert run.out.rstrip().endswith(str(target))
    page = tmp_path / "new" / "r.html"
    run = rankwise("board", scores, "--average-repeats", "--report", page)
    assert run.code == 0, run.err
    html = page.read_text("utf-8")
    assert "3 systems compared" in html
    assert "Means and differences" in html
    assert "ranker" not in html.split("<main")[1].split('id="reproduce"')[0].lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--run", "seed", "--average-repeats"], "exclude each other"),
        (["--fail-if", "worse"], "Name it with --baseline"),
        (["--baseline", "old", "--margin", "1"], "--margin needs --fail-if"),
        (["--baseline", "old", "--fail-if", "worse", "--margin", "-1"], "must be a number >= 0"),
        (["--missing", "some"], "--missing must be"),
        (["--table", "t.doc"], "--table must end in"),
    ],
)
def test_wrong_options_exit_with_2(rankwise, scores, words, message):
    run = rankwise("board", scores, *words)
    assert run.code == 2
    assert message in run.err


def test_messages_name_options(rankwise, scores):
    run = rankwise("board", scores)
    assert run.code == 1
    assert "with --run NAME" in run.err
    assert "--average-repeats averages" in run.err
    run = rankwise("board", scores, "--average-repeats", "--baseline", "nobody")
    assert run.code == 2
    assert "--baseline must name one of the systems, got 'nobody'" in run.err
    assert "new, old, bad" in run.err
    assert rankwise("board", scores.with_name("no.csv")).code == 2


def test_the_gate_stops_what_is_worse(rankwise, scores):
    gate = ["--average-repeats", "--baseline", "old", "--fail-if", "worse"]
    run = rankwise("board", scores, *gate)
    assert run.code == 3
    assert "worse: bad: score is 0.4994 worse than that of old" in run.err
    assert "new" not in run.err
    run = rankwise("board", scores, *gate, "--margin", "0.6")
    assert run.code == 0, run.err
    assert rankwise("board", scores, *gate, "--margin", "0.4").code == 3


def runs_and_judgements(folder):
    """Judgements of 30 queries; a run in production, one that is worse, and an equal one."""
    queries = np.repeat([f"q{q}" for q in range(30)], 4)
    docs = np.tile(["d1", "d2", "d3", "d4"], 30)
    write_qrels(Qrels(queries, docs, np.tile([1, 0, 0, 0], 30)), folder / "qrels.txt")
    for name, scores in (("prod", [4, 3, 2, 1]), ("worse", [1, 2, 3, 4]), ("same", [5, 3, 2, 1])):
        write_run(Run(queries, docs, np.tile(np.array(scores, float), 30)), folder / f"{name}.run")


def test_evaluate_is_a_gate_for_pipelines(rankwise, tmp_path):
    runs_and_judgements(tmp_path)
    prod, qrels = tmp_path / "prod.run", tmp_path / "qrels.txt"
    run = rankwise("evaluate", tmp_path / "worse.run", qrels, "--baseline", prod, "--fail-if",
                   "worse", "--table", tmp_path / "t.md")  # fmt: skip
    assert run.code == 3
    assert "worse: worse: nDCG@10 is 0.5" in run.err
    assert (tmp_path / "t.md").read_text("utf-8").startswith("|  | ranker | nDCG@10 | AP | ranks")
    run = rankwise("evaluate", tmp_path / "same.run", qrels, "--baseline", prod, "--fail-if",
                   "worse", "--margin", "0.01")  # fmt: skip
    assert run.code == 0, run.err
    board = evaluate_systems(qrels, {"worse": tmp_path / "worse.run", "prod": prod})
    shown = rankwise("evaluate", tmp_path / "worse.run", qrels, "--systems", prod, "--wide").out
    assert shown.strip() == str(board)
    assert rankwise("evaluate", prod, qrels, "--fail-if", "worse").code == 2
    assert rankwise("evaluate", prod, qrels, "--table", "t.tex").code == 2


def test_plan(rankwise, scores):
    values = leaderboard(scores, run=False).per_query()
    run = rankwise("plan", scores, "--average-repeats", "--difference", "0.01", "--json")
    assert run.code == 0, run.err
    assert run.json["units"] == queries_needed(values, 0.01)
    run = rankwise("plan", scores, "--average-repeats", "--units", "50", "--power", "0.9", "--json")
    assert run.json["difference"] == detectable_difference(values, 50, power=0.9)
    shown = rankwise("plan", scores, "--average-repeats").out
    assert f"30 units find a difference of {detectable_difference(values):.4g}" in shown
    assert rankwise("plan", scores, "--difference", "1", "--units", "3").code == 2


def test_a_baseline_that_is_a_file_is_read(rankwise, tmp_path, monkeypatch):
    """Also where its path is the name of another system: the gate must not compare nothing."""
    runs_and_judgements(tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "prod.run").rename(tmp_path / "bm25")
    (tmp_path / "worse.run").rename(tmp_path / "new/bm25")
    monkeypatch.chdir(tmp_path)
    gate = ["--baseline", "bm25", "--fail-if", "worse"]
    run = rankwise("evaluate", "new/bm25", "qrels.txt", *gate)
    assert run.code == 2
    assert "Write NAME=bm25" in run.err
    run = rankwise("evaluate", "change=new/bm25", "qrels.txt", *gate)
    assert run.code == 3, run.err
    run = rankwise("evaluate", "bm25", "qrels.txt", *gate)
    assert run.code == 2
    assert "is the only one" in run.err


def test_a_board_of_the_baseline_alone_is_no_gate(rankwise, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("task,old\nx,1\ny,2\nz,4\n")
    run = rankwise("board", path, "--baseline", "old", "--fail-if", "worse")
    assert run.code == 2
    assert "is the only one" in run.err


def test_decimal_marks(rankwise, tmp_path):
    path = tmp_path / "scores.tsv"
    rows = [(f"t{t}", f"0,{t}", f"0,{9 - t % 4}") for t in range(1, 9)]
    path.write_text("\n".join(map("\t".join, [("task", "a", "b"), *rows])))
    refused = rankwise("board", path)
    assert refused.code != 0 and "pass --decimal ','" in refused.err
    found = rankwise("board", path, "--decimal", ",", "--json")
    assert [row["mean"] for row in found.json["rows"]] == pytest.approx([0.75, 0.45])
    planned = rankwise("plan", path, "--decimal", ",")
    assert planned.code == 0, planned.err
    wrong = rankwise("board", path, "--decimal", ";")
    assert wrong.code == 2 and "--decimal must be one of '.', ',', got ';'" in wrong.err


@pytest.mark.parametrize("command", ["board", "plan"])
@pytest.mark.parametrize(
    "text, said",
    [
        ("system,query,score\ra,1,1\rb,1,2\r", "carriage returns end the lines"),
        ('{"a": {"1": 0.5}, "b": {"1": 0.2}}', "holds JSON, not a table"),
        ('[{"system": "a", "score": 0.5}]', "holds JSON, not a table"),
        (
            "system,query,score\na,1,1_0\nb,1,.2\n",
            "line 2: '1_0' in column 'score' is not a finite",
        ),
        ("system,query,score\na,1,1\nb,1,\u0662\n", "line 3: '\u0662' in column 'score' is not a"),
    ],
)
def test_texts_that_are_no_tables_of_scores_are_named(rankwise, tmp_path, command, text, said):
    path = tmp_path / "scores.csv"
    path.write_bytes(text.encode())
    found = rankwise(command, path)
    assert found.code == 1
    assert str(path) in found.err and said in found.err


def test_the_command_takes_folders(tmp_path, rankwise):
    mteb(tmp_path / "results")
    run = rankwise("board", tmp_path / "results", "--baseline", "org/bad", "--json")
    assert run.code == 0, run.err
    assert "2 systems, main_score on 6 units" in run.err
    assert (
        run.json["rows"]
        == json.loads(
            json.dumps(
                leaderboard(read_results(tmp_path / "results").scores, baseline="org/bad").to_dict()
            )
        )["rows"]
    )
    for words, said in (
        (["--unit", "task"], "--unit is for tables"),
        (["--samples"], "no results are left"),
        (["--measures", "x"], "--measures"),
    ):
        run = rankwise("board", tmp_path / "results", *words)
        assert run.code in (1, 2)
        assert said in run.err
    table = tmp_path / "t.csv"
    table.write_text("task,a,b\nx,1,2\ny,2,3\n")
    run = rankwise("board", table, "--split", "test")
    assert (run.code, "--split chooses results in a folder" in run.err) == (2, True)
