"""The program itself: help, version, lists, completion, errors, start-up, progress."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from typing import Annotated
from unittest import mock

import pytest
import typer
from typer.testing import CliRunner

import rankwise as rw
from rankwise._registry import REGISTRY, parse_value
from rankwise.cli import _console as _progress
from rankwise.cli import compare
from rankwise.cli._console import OneLineGroup, OptionCommand, warnings_in_one_line
from rankwise.cli._options import (
    complete_data,
    complete_measures,
    complete_presets,
    complete_ranker,
    complete_rankers,
    split_list,
)
from rankwise.metrics import PRESETS, parse
from rankwise.metrics._table import ALIASES, MEASURES
from rankwise.runtime.files import replace_files
from rankwise.runtime.messages import ArgumentError
from rankwise.runtime.progress import listen_to_starts
from rankwise.selection import FoldResult
from rankwise.selection.cells.workers import Parcels
from tests.cli.conftest import judged_data

COMMANDS = (
    "compare", "cv", "fit", "predict", "evaluate", "reproduce", "convert", "lint", "info", "list",
)  # fmt: skip


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_help_names_every_command_and_the_exit_codes(rankwise):
    run = rankwise("--help")
    assert run.code == 0
    assert all(f" {command} " in run.out for command in COMMANDS)
    assert "0 done, 1 the job failed, 2 the command line is wrong" in " ".join(run.out.split())
    for command in COMMANDS:
        assert rankwise(command, "--help").code == 0


def test_help_fills_the_lines_of_a_narrow_terminal():
    """The line ends of a docstring end no line in the middle of a paragraph."""
    run = python("-m", "rankwise", "fit", "--help", COLUMNS="80", TERMINAL_WIDTH="80")
    lines = [line.strip() for line in run.stdout.splitlines()]
    first = lines.index("Fit a ranker and save it.") + 2
    paragraph = lines[first : lines.index("", first)]
    assert len(paragraph) > 2
    for line, after in pairwise(paragraph):
        assert len(line) + 1 + len(after.split()[0]) > 78


def test_fit_tells_its_own_tuning_metric(rankwise):
    """The option has no list of measures to take the first of, unlike that of compare."""
    told = {
        command: " ".join(rankwise(command, "--help").out.replace("│", "").split())
        for command in ("fit", "compare", "cv")
    }
    assert [command for command, out in told.items() if "the first of" in out] == ["compare", "cv"]
    assert "parameter 'measure'" in told["fit"]


def test_version_and_module():
    run = python("-m", "rankwise", "--version")
    assert (run.returncode, run.stdout) == (0, f"rankwise {rw.__version__}\n")


def test_a_terminal_without_unicode_gets_question_marks():
    run = python("-m", "rankwise", "list", "measures", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert run.returncode == 0, run.stderr
    assert "Name(key=value,?)@k" in run.stdout


def test_an_interrupt_is_exit_code_130(rankwise, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("rankwise.datasets.judged_source.known_datasets", interrupt)
    assert rankwise("lint", "lambdarank").code == 130


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def terminate_while_writing(folder):
    with replace_files([folder / "a", folder / "b"]) as files:
        files[0].write(b"x")
        terminate()


def terminate_while_packing(folder):
    with mock.patch.object(tempfile, "tempdir", str(folder)), Parcels() as parcels:
        parcels.pack(None)
        assert [*folder.iterdir()]
        terminate()


@pytest.mark.parametrize("work", [terminate_while_writing, terminate_while_packing])
def test_sigterm_removes_temporary_files(rankwise, monkeypatch, tmp_path, work):
    monkeypatch.setattr("rankwise.datasets.judged_source.known_datasets", lambda: work(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    assert rankwise("lint", "lambdarank").code == 143
    assert not [*tmp_path.iterdir()]
    assert signal.getsignal(signal.SIGTERM) is before


def test_no_command_shows_the_help_and_is_an_error(rankwise):
    run = rankwise()
    assert run.code == 2
    assert "Usage: rankwise" in run.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frobnicate",), "No such command 'frobnicate'"),
        (("--frobnicate",), "No such option: --frobnicate"),
        (("list", "colours"), "Invalid value for"),
    ],
)
def test_usage_errors_are_one_line_and_exit_code_two(rankwise, arguments, message):
    run = rankwise(*arguments)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("error: ")
    assert message in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "lambdarank", "--correction", "wrong"),
        ("compare", "lambdarank", "--test", "wrong"),
        ("export", "model", "out", "--format", "wrong"),
        ("predict", "model", "data", "--format", "wrong"),
        ("convert", "a.txt", "b.csv", "--to", "wrong"),
        ("list", "wrong"),
    ],
)
def test_a_value_that_is_no_choice_is_called_invalid_once(rankwise, arguments):
    run = rankwise(*arguments)
    assert run.code == 2
    assert re.fullmatch(r"error: Invalid value for '.+': 'wrong' is not one of '.+'\.\n", run.err)


def test_debug_shows_the_traceback(rankwise, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("x qid:1 1:0.5\n")
    quiet = rankwise("lint", bad)
    assert isinstance(quiet.exception, SystemExit)
    assert quiet.code == 1
    for arguments in (("--debug", "lint", bad), ("lint", bad, "--debug")):
        assert isinstance(rankwise(*arguments).exception, ValueError)
    shown = python("-m", "rankwise", "lint", str(bad), "--debug", RANKWISE_CACHE=str(tmp_path))
    assert shown.returncode == 1
    assert "Traceback" in shown.stderr


def test_list_shows_everything_that_other_commands_take(rankwise):
    listed = rankwise("list", "--json").json
    assert set(listed) == {"rankers", "measures", "presets", "datasets", "labels"}
    rankers = [key for key, entry in REGISTRY.items() if entry.kind in ("ranker", "ordinal")]
    assert [row["name"] for row in listed["rankers"]] == rankers
    assert [row["name"] for row in listed["measures"]] == list(MEASURES)
    assert [row["name"] for row in listed["presets"]] == list(PRESETS)
    assert "lambdarank" in [row["name"] for row in listed["datasets"]]
    shown = rankwise("list")
    assert shown.code == 0
    for rows in listed.values():
        assert all(row["name"] in shown.out for row in rows)
    assert list(rankwise("list", "presets", "--json").json) == ["presets"]


def test_parameters_of_a_ranker_are_listed(rankwise):
    shown = rankwise("list", "--ranker", "auto")
    assert shown.code == 0, shown.err
    assert (
        "n_trials=None: int >= 1, optional\n"
        "    Largest number of trials, out of 10 settings and 12 bags.\n"
    ) in shown.out
    trees = rankwise("list", "--ranker", "lambdamart")
    assert trees.out.startswith("lambdamart is LambdaMART(n_estimators=500, early_stopping_rounds=")
    assert "n_estimators=100 (recipe: 500): int >= 1" in trees.out
    assert rankwise("list", "--ranker", "atuo").err.startswith("error: 'atuo' is not a ranker. Did")
    both = rankwise("list", "rankers", "--ranker", "auto")
    assert both.code == 2
    assert both.err == "error: --ranker lists parameters, not rankers. Drop one of them.\n"


def test_completion_offers_what_fits():
    assert sorted(complete_ranker("pair")) == ["pair_ranker", "pairwise_elm"]
    assert complete_rankers("ridge,lig") == ["ridge,lightgbm"]
    assert complete_rankers("ridge,lin") == ["ridge,linear_regression"]
    assert complete_rankers("ridge,ri") == []
    assert complete_measures("AP,nd") == ["AP,nDCG"]
    assert complete_presets("letor") == ["letor3", "letor4"]


def test_completion_of_data_offers_sets_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lambda.txt").touch()
    assert complete_data("lambda") == ["lambdarank", "lambda.txt"]


def test_the_shell_can_ask_for_completion():
    run = python(
        "-m", "rankwise", _RANKWISE_COMPLETE="complete_bash", COMP_CWORD="4",
        COMP_WORDS="rankwise cv x --ranker pairw",
    )  # fmt: skip
    assert run.stdout.split() == ["pairwise_elm"]


def test_lists_respect_parentheses_and_quotes():
    assert split_list("nDCG(gain='exp2',empty=skip)@10, AP ,,P(rel=2)@5") == [
        "nDCG(gain='exp2',empty=skip)@10", "AP", "P(rel=2)@5",
    ]  # fmt: skip
    assert split_list("nDCG(gain=(0,1,3))@5,X(a=',)')") == ["nDCG(gain=(0,1,3))@5", "X(a=',)')"]
    for text in ("nDCG@10,AP", "P(rel=2)@5"):
        assert all(str(parse(spec)) for spec in split_list(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1e-3", 1e-3), ("[1, 2]", [1, 2]), ("None", None), ("val", "val"),
     ("True", True), ("true", True), ("FALSE", False), ("inf", float("inf")), ("'a b'", "a b")],
)  # fmt: skip
def test_parameters_are_python_literals_or_words(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_aliases_of_measures_name_measures():
    assert set(ALIASES.values()) <= set(MEASURES)


def test_warnings_are_one_line(capsys):
    with warnings.catch_warnings(), warnings_in_one_line():
        warnings.simplefilter("always")
        warnings.warn("two\nlines", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: two lines\n"


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["compare", "--help"]])
def test_starting_up_loads_little(arguments):
    code = f"""
import sys
from rankwise.cli.main import main
sys.argv = ["rankwise", *{arguments!r}]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
heavy = {{"numpy", "numba", "sklearn", "pyarrow", "matplotlib", "jinja2"}} & set(sys.modules)
sys.stderr.write(" ".join(sorted(heavy)))
"""
    run = python("-c", code)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.02)
    monkeypatch.setattr(_progress, "_LINE_EVERY_SECONDS", 0.02)


@pytest.fixture
def stderr(capsys):
    """What stderr has got so far."""
    parts = []

    def so_far():
        parts.append(capsys.readouterr().err)
        return "".join(parts)

    return so_far


def wait_for(condition):
    """Return once the condition holds, however busy the machine is; pytest's timeout bounds it."""
    while not condition():
        time.sleep(0.005)


def test_quick_jobs_are_silent(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 3600.0)
    with _progress.Progress("Comparing") as progress:
        progress.update(1, 2)
    with _progress.waiting("Reading"):
        pass
    assert capsys.readouterr().err == ""


def test_long_jobs_say_what_is_left(impatient, stderr):
    with _progress.Progress("Comparing") as progress:
        progress.update(2, 4, "ridge", left=90.0)
        wait_for(lambda: stderr().count("\n") > 1)
    line = r"Comparing: 2 of 4 in \d+:\d\d, ~\d+:\d\d left, ridge\n"
    assert re.match(line, stderr())


def test_jobs_without_steps_say_how_long_they_last(impatient, stderr):
    with _progress.waiting("Reading"):
        wait_for(stderr)
    assert re.match(r"Reading: \d+:\d\d so far\n", stderr())


def test_a_terminal_gets_a_line_that_vanishes(impatient, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with _progress.Progress("Comparing") as progress:
        progress.update(1, 4, "ridge fold1")
        wait_for(lambda: "ridge fold1" in stream.getvalue())
        progress.update(2, 4, "ridge fold2")
        wait_for(lambda: "ridge fold2" in stream.getvalue())
        progress.begin("x" * 90)
        wait_for(lambda: "x… for" in stream.getvalue())
    shown = stream.getvalue()
    assert "Comparing" in shown
    assert "2 of 4" in shown
    frames = re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    assert max(map(len, frames)) <= 80


def test_time_left_runs_down(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    progress = _progress.Progress("Comparing", 10)
    now[0] += 7265
    assert progress.line() == "Comparing: 0 of 10 in 2:01:05"
    progress.update(4, 10, left=100.0)
    now[0] += 40
    assert progress.line() == "Comparing: 4 of 10 in 2:01:45, ~1:00 left"
    now[0] += 100
    assert progress.line() == "Comparing: 4 of 10 in 2:03:25, ~0:00 left"


def test_the_estimate_of_a_comparison_does_not_climb(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(compare.time, "monotonic", lambda: now[0])
    ahead, left = compare._Ahead(["quick", "slow"], n_jobs=1), []
    for fold, slow in enumerate([9.0, 9.0, 30.0, 5.0]):
        for ranker, seconds in (("quick", 1.0), ("slow", slow)):
            now[0] += seconds
            cell = FoldResult(ranker, f"fold{fold}", "done", fit_seconds=seconds)
            left.append((now[0], ahead.after(8, cell)))
    assert left[0] == (1.0, None)
    assert left[1] == (10.0, 30.0)
    ends = [when + rest for when, rest in left[1:]]
    assert all(later <= earlier or rest == 0 for earlier, later, (_, rest)
               in zip(ends, ends[1:], left[2:], strict=False))  # fmt: skip
    assert left[-1][1] == 0
    cell = FoldResult("quick", "fold1", "done", fit_seconds=4.0)
    assert compare._Ahead(["quick"], n_jobs=2).after(2, cell) == 2.0


def test_a_line_names_the_cell_that_has_run_longest(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    progress = _progress.Progress("Comparing", 10)
    progress.begin("ridge on fold1")
    now[0] += 5
    progress.begin("auto on fold1")
    now[0] += 60
    text = "Comparing: 0 of 10 in 1:05, ridge on fold1 for 1:05 +1"
    assert progress.line() == text
    assert progress.line(len(text) - 1) == text.replace("ridge on fold1", "ridge on fol…")
    progress.update(1, 10, left=30.0, ended="ridge on fold1")
    text = "Comparing: 1 of 10 in 1:05, ~0:30 left, auto on fold1 for 1:00"
    assert progress.line() == text


@pytest.mark.parametrize("isolate", [True, False])
def test_a_comparison_announces_its_cells(isolate):
    order = []
    with listen_to_starts(lambda cell: order.append(("start", cell))):
        board = rw.compare(
            ["linear_regression", "ridge"],
            judged_data(0),
            cv=2,
            isolate=isolate,
            progress=lambda done, total, cell: order.append(
                ("end", f"{cell.ranker} on {cell.fold}")
            ),
        )
    names = [info.name for info in board.fold_infos]
    cells = [f"{ranker} on {name}" for name in names for ranker in board.rankers]
    assert order == [(what, cell) for cell in cells for what in ("start", "end")]


@pytest.mark.parametrize(
    ("name", "code", "option"),
    [
        ("sizes", 2, "--learning-curve"), ("n_jobs", 2, "--n-jobs"), ("qid", 2, "--qid"),
        ("query", 2, "--query"), ("name", 1, "name"), ("alpha", 1, "alpha"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_by_the_option_of_the_command(name, code, option):
    app = typer.Typer(cls=OneLineGroup)

    @app.command("refuse", cls=OptionCommand)
    def refuse(
        name: str,
        learning_curve: str = "",
        jobs: Annotated[int, typer.Option("-j", "--n-jobs")] = 1,
        qid: Annotated[str, typer.Option("--qid", "--query")] = "",
    ) -> None:
        raise ArgumentError(name, "must be\nanother, got 1. Change it.")

    app.command("other", cls=OptionCommand)(print)
    result = CliRunner().invoke(app, ["refuse", name])
    assert result.exit_code == code
    assert result.stderr == f"error: {option} must be another, got 1. Change it.\n"
