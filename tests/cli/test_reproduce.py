"""``rankwise reproduce``: what is printed, written, kept, and said about what is missing."""

from __future__ import annotations

import csv
import importlib
import sys
from importlib.metadata import EntryPoints

import pytest

from rankwise.experiments import reproduce
from rankwise_papers.framework.command import complete_experiments
from rankwise_papers.framework.experiment import HOW_TO_GET, ExperimentEntry, experiments
from tests.experiments import slow
from tests.experiments.conftest import toy  # noqa: F401


@pytest.fixture
def rankwise_toy(rankwise, toy):  # noqa: F811
    """The command line with the toy experiment as the only one."""
    return rankwise


@pytest.fixture
def both(rankwise_toy, monkeypatch, tmp_path):
    """A second experiment, one of whose cells fails."""
    monkeypatch.setitem(
        experiments(), "slow", ExperimentEntry("tests.experiments.slow:Slow", "Squares", "")
    )
    monkeypatch.setenv(slow.LOG, str(tmp_path / "log"))
    monkeypatch.setenv("RANKWISE_TEST_CELLS", "1,bad")
    return rankwise_toy


def test_list_names_experiments_and_their_data(rankwise_toy):
    run = rankwise_toy("reproduce", "list")
    assert run.code == 0
    assert "toy" in run.out and "Means of numbers" in run.out and "absent" in run.out
    assert rankwise_toy("reproduce", "list", "--json").json == [
        {
            "key": "toy",
            "title": "Means of numbers",
            "paper": "Nobody, 1 (2000)",
            "data": ["absent"],
        }
    ]


def test_tables_verdicts_and_missing_data_are_printed(rankwise_toy, tmp_path):
    run = rankwise_toy("reproduce", "toy", "--quick", "--out", tmp_path / "out")
    assert run.code == 0, run.err
    assert "4 of 5 cells (quick run)" in run.out
    assert "1 met, 1 missed, 1 no published value, 1 not run" in run.out
    assert "absent: 1 cell left out. absent.csv is not on this machine. Get it from" in run.out
    lines = run.out.splitlines()
    assert lines[-2:] == [str(tmp_path / "out" / "toy.csv"), str(tmp_path / "out" / "toy.html")]
    with (tmp_path / "out" / "toy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["met", "missed", "not run", "no published value"]
    assert rows[1]["source"] == "Table 1, p. 2" and rows[1]["note"]
    page = (tmp_path / "out" / "toy.html").read_text()
    assert "rankwise reproduce toy --quick --out" in page


def test_the_same_call_resumes_from_the_users_cache_or_a_folder(rankwise_toy, tmp_path):
    assert "earlier run" not in rankwise_toy("reproduce", "toy").out
    assert "10 of them in an earlier run" in rankwise_toy("reproduce", "toy").out
    assert "4 of them in an earlier run" in rankwise_toy("reproduce", "toy", "--quick").out
    assert "earlier run" not in rankwise_toy("reproduce", "toy", "--fresh").out
    store = ("--store", tmp_path / "store")
    assert "earlier run" not in rankwise_toy("reproduce", "toy", *store).out
    assert "10 of them in an earlier run" in rankwise_toy("reproduce", "toy", *store).out
    assert (tmp_path / "store" / "toy.jsonl").is_file()


def test_json_holds_values_and_cells(rankwise_toy):
    (one,) = rankwise_toy("reproduce", "toy", "--quick", "--json").json["experiments"]
    assert one["counts"] == {"met": 1, "missed": 1, "no published value": 1, "not run": 1}
    assert [cell["status"] for cell in one["cells"]] == ["done"] * 4 + ["left out"]
    assert one["values"][0]["ours"] == pytest.approx(0.5, abs=0.05)
    assert one["missing"]["absent"].startswith("absent.csv is not on this machine")
    assert one["figures"][0]["series"][0]["x"] == [100, 10_000]


def test_all_goes_on_after_a_failure_and_ends_with_a_summary(both):
    run = both("reproduce", "all", "--quick")
    assert run.code == 1
    assert "1 cells failed: bad: RuntimeError: this cell always fails" in run.err
    summary = [line.split() for line in run.out.splitlines()[-4:]]
    assert ["toy", "1", "0", "1", "0", "1", "4/5", "0"] in summary
    assert ["slow", "0", "0", "0", "0", "0", "1/2", "0"] in summary


def test_an_experiment_that_cannot_even_start_does_not_stop_all(both, monkeypatch):
    monkeypatch.setitem(
        experiments(), "slow", ExperimentEntry("tests.experiments.nothing:N", "", "")
    )
    run = both("reproduce", "all", "--quick")
    assert run.code == 1
    assert "error: slow: ModuleNotFoundError" in run.err
    assert "4 of 5 cells" in run.out


def test_without_any_data_it_says_what_to_get(both, monkeypatch):
    monkeypatch.setattr("tests.experiments.toy.SIZES", {})
    run = both("reproduce", "toy")
    assert run.code == 2
    assert "no cell has its data. absent.csv is not on this machine. Get it from" in run.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nope"], "'nope' is not an experiment. Experiments: toy, or all."), ([], "KEY|all|list")],
)
def test_wrong_calls_are_exit_code_2(rankwise_toy, arguments, message):
    run = rankwise_toy("reproduce", *arguments)
    assert run.code == 2
    assert message in run.err


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["all"], ["rankelm-ohsumed"]])
def test_without_a_package_of_experiments_it_names_one(rankwise, toy, monkeypatch, arguments):  # noqa: F811
    monkeypatch.delitem(experiments(), "toy")
    run = rankwise("reproduce", *arguments)
    assert run.code == 2
    assert "pip install rankwise-papers" in run.err and HOW_TO_GET in run.err
    assert complete_experiments("") == ["all", "list"]
    with pytest.raises(ValueError, match=r"'x' was not found.*pip install rankwise-papers"):
        reproduce("x")


@pytest.mark.parametrize("arguments", [["list"], ["--help"], []])
def test_without_the_papers_it_says_what_to_install(rankwise, monkeypatch, arguments):
    monkeypatch.setattr("rankwise.cli.main.entry_points", lambda **_: EntryPoints())
    run = rankwise("reproduce", *arguments)
    assert run.code == 2
    assert run.err == (
        "error: the command reproduce needs rankwise-papers, which is not installed. "
        "Run: pip install rankwise-papers\n"
    )
    assert " reproduce " not in rankwise("--help").out
    assert "No such command 'reproduces'" in rankwise("reproduces").err


def test_importing_experiments_without_the_papers_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "rankwise.experiments", raising=False)
    monkeypatch.setitem(sys.modules, "rankwise_papers.framework", None)
    with pytest.raises(ImportError, match=r"pip install rankwise-papers"):
        importlib.import_module("rankwise.experiments")


def test_out_must_be_a_folder(rankwise_toy, tmp_path):
    (tmp_path / "file").write_text("")
    run = rankwise_toy("reproduce", "toy", "--out", tmp_path / "file")
    assert run.code == 2
    assert "--out must name a folder" in run.err


def test_completion_offers_experiments(toy):  # noqa: F811
    assert complete_experiments("") == ["toy", "all", "list"]
    assert complete_experiments("t") == ["toy"]
