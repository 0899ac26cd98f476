"""Lines on a terminal of 80 columns: none is longer, and no word breaks."""

from __future__ import annotations

import csv
import re
import shlex
import sys

import pytest
import typer

from rankwise.cli._console import print_table, wrap
from rankwise.cli.help_pages import example_of
from rankwise.cli.main import app

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
    found = re.split(r"[\s│|,.]+", "\n".join(lines))
    return {word for word in found if not any(c.isdigit() for c in word)}


def check_lines(monkeypatch, arguments, path=""):
    """Compare the lines at 80 columns with those at 600; return those at 80."""
    narrow, code = run_in_terminal(monkeypatch, arguments)
    wide, _ = run_in_terminal(monkeypatch, arguments, width=600)
    assert [x for x in narrow if cell_len(x) > 80 and len(x.split()) > 1] == []
    assert [x for x in narrow if cell_len(x) > 80 and not (path and path in x)] == []
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
