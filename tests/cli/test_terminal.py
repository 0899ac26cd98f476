"""Lines on a terminal of 80 columns: none is longer, and no word breaks."""

from __future__ import annotations

import csv
import json
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
import typer

from rankwise import LinearRegressionRanker, save
from rankwise.cli._console import print_table, wrap
from rankwise.cli.help_pages import example_of
from rankwise.cli.main import app
from rankwise.datasets import Qrels, Run, write_qrels, write_run

if sys.platform == "win32":  # pragma: no cover
    pytest.skip("pseudo-terminals need POSIX", allow_module_level=True)

from rich.cells import cell_len

from tests.cli.conftest import judged_data
from tests.cli.pseudo_terminal import run_in_terminal

GROUP = typer.main.get_command(app)


def find_commands():
    for name in GROUP.list_commands(None):
        yield from (
            [name, inner] for inner in getattr(GROUP.get_command(None, name), "commands", ())
        )
        yield [name]


def words(lines):
    """Words that consist of letters, and do not depend on the time of a run."""
    found = re.split(r"[\s│|,.:]+", "\n".join(lines))
    return {word for word in found if not any(c.isdigit() for c in word)}


def check_lines(monkeypatch, arguments, path=""):
    """Compare the lines at 80 columns with those at 600; return those at 80."""
    narrow, code = run_in_terminal(monkeypatch, arguments)
    wide, _ = run_in_terminal(monkeypatch, arguments, width=600)
    assert [x for x in narrow if cell_len(x) > 80 and len(x.split()) > 1] == []
    assert [x for x in narrow if cell_len(x) > 80 and not (path and path in x)] == []
    assert [x for x in narrow if x != x.rstrip()] == []
    return narrow, code, words(narrow) - words(wide)


COMMANDS = [*find_commands()]


@pytest.fixture
def table_file(tmp_path):
    """Judged rows with columns that are no features, so that notes are long."""
    data = judged_data(1)
    path = tmp_path / "judged.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["qid", "label", "title of the page", "clicks", "age", "price", "date"])
        for i, x in enumerate(data.X):
            date = f"2024-01-{i % 28 + 1:02}"
            rows.writerow([data.qid[i], int(data.y[i]), f"text {i}", *x[:3], date])
    return path


@pytest.mark.parametrize("command", [[], *COMMANDS], ids=" ".join)
def test_help_breaks_no_word(monkeypatch, command):
    lines, code, broken = check_lines(monkeypatch, [*command, "--help"])
    assert code == 0
    assert len(lines) <= 92  # with the two empty ones of the end
    assert not any("<bool>" in line for line in lines)
    assert sum(line.startswith("Example: rankwise ") for line in lines) == 1
    broken -= {"FORMAT"}  # stands for the choices of export, which are longer than a line
    assert {word for word in broken if not set(word) <= set("─╭╮╰╯")} == set()


@pytest.mark.parametrize("command", [[], *COMMANDS], ids=" ".join)
def test_a_bare_command_breaks_no_word(monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    if command in (["list"], ["warm-up"]):
        return
    lines, code, broken = check_lines(monkeypatch, command)
    assert code == 2
    assert any(line.lower().startswith("usage: rankwise ") for line in lines)
    assert any(line.lower().startswith("example: rankwise ") for line in lines)
    assert {word for word in broken if not set(word) <= set("─╭╮╰╯")} == set()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_that_parses(command):
    found = GROUP
    for name in command:
        found = found.get_command(None, name)
    example = shlex.split(example_of(found))
    assert example[: 1 + len(command)] == ["rankwise", *command]
    assert found.make_context(command[-1], example[1 + len(command) :])


def test_a_missing_argument_shows_usage_and_an_example(rankwise):
    run = rankwise("fit", "--ranker", "ridge", "--out", "m.rankwise")
    assert run.code == 2
    error, usage, example = run.err.splitlines()
    assert error == "error: Missing argument 'DATA'."
    assert usage == "usage: rankwise fit [OPTIONS] DATA..."
    assert example.startswith("example: rankwise fit judged.csv ")


def test_findings_on_a_narrow_terminal_are_paragraphs(monkeypatch, tmp_path):
    monkeypatch.setattr("rankwise.cli._console.QUIET_SECONDS", 3600.0)
    queries = ["red shoes", "garden hose", "coffee machine", "cordless drill"]
    frame = pd.DataFrame({"query": np.resize(queries, 40), "grade": np.resize([0, 1, 2], 40)})
    frame["price"] = np.where(frame.grade == 2, np.nan, np.arange(40) / 8)
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines, code, broken = check_lines(monkeypatch, ["lint", str(tmp_path / "t.csv")])
    assert code == 0 and not broken
    assert (
        "warning  data  1 of 1  features with NaN: 13 values; only trees, AutoRanker and" in lines
    )
    assert "  such as red shoes, garden hose, coffee machine, cordless drill" in lines


@pytest.mark.parametrize("what", ["rankers", "measures", "presets", "datasets", "labels"])
def test_lists_break_no_word(monkeypatch, what):
    _, code, broken = check_lines(monkeypatch, ["list", what])
    assert code == 0
    # A narrow list leaves two columns out and says so.
    left_out = words(["Left out for the width: kind, tags (all are in --json)."])
    assert {word for word in broken - left_out if not set(word) <= {"─"}} == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint"],
        ["lint", "--cv", "3"],
        ["list", "--ranker", "lambdamart"],
        ["compare", "--rankers", "linear_regression,rank_svm", "--cv", "3", "--wide"],
        ["cv", "--ranker", "linear_regression", "--measures", "nDCG@10,AP,P@5,RR,ERR"],
        ["compare", "--rankers", "linear_regresion"],
        ["compare", "--measures", "nDGC@10"],
    ],
    ids=" ".join,
)
def test_results_notes_and_errors_break_no_word(monkeypatch, table_file, arguments):
    monkeypatch.setattr("rankwise.cli._console.QUIET_SECONDS", 3600.0)
    given = (
        arguments if "--ranker" in arguments[1:2] else [arguments[0], table_file, *arguments[1:]]
    )
    _, _, broken = check_lines(monkeypatch, given, str(table_file))
    assert {word for word in broken if not set(word) <= {"─", "-"}} == set()


def write_files(folder):
    """Files for every command, with names and texts that are long enough to wrap."""
    rng = np.random.default_rng(0)
    data = judged_data(0)
    names = [f"mean_of_the_clicks_of_the_last_{days}_days" for days in (1, 7, 30, 90)]
    head = ["qid", "label", "doc_id", *names]
    rows = zip(data.qid, data.y.astype(int), data.doc_ids, *data.X.T, strict=True)
    write_rows(folder / "judged.csv", head, rows)
    X = pd.DataFrame(data.X, columns=names)
    ranker = LinearRegressionRanker().fit(X, data.y, qid=data.qid)
    save(ranker, folder / "model.rankwise")
    systems = ("production_of_last_year", "candidate_with_popularity", "candidate_with_text")
    for number, system in enumerate(systems):
        scores = data.X[:, 0] + rng.normal(0, 0.2 * number + 0.1, len(data.y))
        write_run(Run(data.qid.astype(str), data.doc_ids, scores, system), folder / f"{system}.run")
    write_qrels(Qrels(data.qid.astype(str), data.doc_ids, data.y.astype(int)), folder / "qrels.txt")
    rows = [
        (system, f"task{task:02}", rng.normal(number, 1))
        for number, system in enumerate(systems) for task in range(30)
    ]  # fmt: skip
    write_rows(folder / "scores.csv", ["system", "task", "score"], rows)
    rows = [(*rng.permutation(systems)[:2], winner) for winner in ["model_a", "model_b"] * 30]
    write_rows(folder / "games.csv", ["model_a", "model_b", "winner"], rows)
    documents = [
        json.dumps({"doc_id": f"d{n}", "text": f"tea pot number {n} " + "with a long text " * n})
        for n in range(9)
    ]
    (folder / "documents.jsonl").write_text("\n".join(documents))
    rows = [
        ("tea", f"d{(n + k) % 3}", k, n, int(rng.random() < 1 / (1 + k)), "xy"[k % 2], 1 / 3)
        for n in range(300) for k in (1, 2)
    ]  # fmt: skip
    head = ["qid", "doc_id", "position", "session", "clicked", "team", "propensity"]
    write_rows(folder / "log.csv", head, rows)
    names = np.array(["d0", "d1", "d2"])
    write_run(Run(np.full(3, "tea"), names, np.arange(3.0), "new"), folder / "new.run")


def write_rows(path, head, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


RUNS = [
    "lint judged.csv --cv 3",
    "fit judged.csv --ranker linear_regression --out m.rankwise",
    "predict m.rankwise judged.csv --format csv",
    "predict m.rankwise judged.csv --out scores.txt",
    "evaluate m.rankwise judged.csv",
    "evaluate production_of_last_year.run qrels.txt -q",
    "evaluate production_of_last_year.run qrels.txt --judge-next 5"
    " --systems candidate_with_popularity.run,candidate_with_text.run",
    "evaluate candidate_with_text.run judged.csv --measures nDCG@10,AP,P@5,RR,ERR"
    " --baseline production_of_last_year.run --report evaluated.html",
    "compare judged.csv --cv 3 --rankers"
    " candidate_with_popularity.run,linear_regression,old=model.rankwise --table t.md",
    "cv judged.csv --cv 3 --ranker linear_regression --measures nDCG@10,AP,P@5,RR,ERR",
    "board scores.csv --baseline production_of_last_year",
    "plan scores.csv",
    "plan scores.csv --difference 0.1",
    "fuse production_of_last_year.run candidate_with_text.run --out fused.run",
    "fuse production_of_last_year.run candidate_with_text.run --out fused.run --qrels qrels.txt",
    "prefer games.csv",
    "budget production_of_last_year.run candidate_with_text.run qrels.txt --price 0.001",
    "budget column:mean_of_the_clicks_of_the_last_1_days"
    " column:mean_of_the_clicks_of_the_last_7_days judged.csv --labels",
    "weights judged.csv --current"
    " 0.5*mean_of_the_clicks_of_the_last_1_days+0.5*mean_of_the_clicks_of_the_last_90_days",
    "decide answer production_of_last_year.run qrels.txt --promise wrong_answers<=0.9",
    "decide cut production_of_last_year.run qrels.txt --promise recall>=0.1 --out cut.json",
    "decide apply production_of_last_year.run --rule cut.json --out shown.run",
    "index documents.jsonl --out index",
    "search index tea",
    "search index tea --out found.run",
    "info model.rankwise",
    "info model.rankwise --importances",
    "export model.rankwise model.py --verify judged.csv",
    "convert judged.csv --out judged.txt",
    "list --ranker lambdamart",
    "clicks summary log.csv --report clicks.html",
    "clicks judge log.csv --out grades.csv",
    "clicks interleave production_of_last_year.run candidate_with_text.run --out lists.csv",
    "clicks test log.csv",
    "clicks off-policy log.csv new.run --method item_position --measure DCG@1",
    "reproduce list",
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.mark.parametrize("arguments", RUNS)
def test_commands_break_no_word(monkeypatch, files, arguments):
    monkeypatch.setattr("rankwise.cli._console.QUIET_SECONDS", 3600.0)
    monkeypatch.chdir(files)
    lines, code, broken = check_lines(monkeypatch, arguments.split())
    assert code == 0, lines
    allowed = words([line for line in lines if line.startswith("Left out for the width:")])
    assert {word for word in broken - allowed if not set(word) <= set("─-")} == set()


def test_further_judgements_may_change_nothing(rankwise, files, monkeypatch):
    monkeypatch.chdir(files)
    [run] = [run for run in RUNS if "--judge-next" in run]
    first, *_ = rankwise(*run.split()).out.splitlines()
    assert first == "Further judgements cannot change any difference."


def test_a_legend_names_the_columns_that_are_shown(monkeypatch, files):
    monkeypatch.chdir(files)
    lines, _ = run_in_terminal(
        monkeypatch, ["board", "scores.csv", "--baseline", "candidate_with_text"]
    )
    [head] = [line.split() for line in lines if line.startswith("system ")]
    legend = " ".join(" ".join(lines).split()).partition("with the baseline. ")[2].partition(":")[0]
    assert legend.split(", ") == [name for name in ("better", "equal", "worse") if name in head]


def test_lists_in_docstrings_have_no_marks(rankwise):
    text = rankwise("list", "--ranker", "lambdamart").out
    assert re.search(r"[:;,]\s+-\s", text) is None
    assert 'nominal features: "subset": splits send' in " ".join(text.split())


def test_every_command_runs_on_the_terminal():
    names = {tuple(run.split()[: 1 + run.startswith(("clicks", "decide"))]) for run in RUNS}
    assert {*map(tuple, COMMANDS)} - names == {("clicks",), ("decide",), ("warm-up",)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("note: one two three", ["note: one two", "  three"]),
        ("  name: one two", ["  name: one", "    two"]),
        ("a-very-long-word-stays-whole", ["a-very-long-word-stays-whole"]),
        ("see a-very-long-word", ["see", "  a-very-long-word"]),
        ("query\tdocument\t0.1234", ["query\tdocument\t0.1234"]),
        ("日本 日本 日本 日", ["日本 日本", "  日本 日"]),
        ("a  b    c          d", ["a  b    c", "  d"]),
        ("", [""]),
    ],
)
def test_wrap(line, expected):
    assert wrap(line, 13).split("\n") == expected
    assert wrap(line, None) == line


def test_a_piped_table_has_no_trailing_blanks(capsys):
    print_table(["name", "empty", "text"], [["a", "", "b"], ["longer", "", ""]], title="t")
    lines = capsys.readouterr().out.split("\n")
    assert lines == [line.rstrip() for line in lines]
    assert "empty" not in lines[1]
