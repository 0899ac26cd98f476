"""A run killed at any moment goes on where it was; what is finished is never computed again."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from rankwise.experiments import Cell, reproduce
from rankwise.selection.cells.result_store import JsonLines
from rankwise_papers.framework import runner
from tests.experiments import slow
from tests.experiments import toy as toy_module
from tests.selection.forking import Killable

N_CELLS, PAUSE = slow.N_CELLS, slow.PAUSE


def started(log):
    return log.read_text().split() if log.exists() else []


def finished(store):
    return {record["name"] for record in JsonLines(store / "slow.jsonl")}


@pytest.mark.parametrize(("n_jobs", "n_kills"), [(1, 3), (2, 1)])
def test_kills_lose_at_most_the_running_cells(tmp_path, n_jobs, n_kills):
    store, log = tmp_path / "store", tmp_path / "log"
    rng = np.random.default_rng(n_jobs)
    before = set()
    with Killable("from tests.experiments.slow import run_any as main") as process:
        for _ in range(n_kills):
            n_before = len(started(log))
            wanted = n_before + int(rng.integers(2, 5))
            process.start(store, log, n_jobs)
            while len(started(log)) < wanted:
                time.sleep(0.005)
            time.sleep(PAUSE * rng.random())
            process.kill()
            now, begun = finished(store), started(log)[n_before:]
            assert before <= now
            assert not before & set(begun)
            assert len(set(begun) - now) <= n_jobs
            before = now
    assert 1 <= len(before) < N_CELLS
    n_before = len(started(log))
    resumed = slow.run(str(store), str(log), any_code=True)
    assert set(started(log)[n_before:]) == {str(i) for i in range(N_CELLS)} - before
    assert [value.ours for value in resumed.tables[0].values] == [i**2 for i in range(N_CELLS)]
    assert {one.name for one in resumed.outcomes if one.is_stored} == before


def test_a_torn_line_is_computed_again(tmp_path):
    store, log = tmp_path / "store", tmp_path / "log"
    slow.run(str(store), str(log))
    path = store / "slow.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    n_before = len(started(log))
    assert len(slow.run(str(store), str(log)).with_status("done")) == N_CELLS
    assert started(log)[n_before:] == [str(N_CELLS - 1)]


def test_only_the_same_settings_are_taken_up(tmp_path, monkeypatch):
    store, log = tmp_path / "store", tmp_path / "log"

    def n_runs(**settings):
        n_before = len(started(log))
        outcomes = slow.run(str(store), str(log), **settings).outcomes
        assert {one.status for one in outcomes} == {"done"}
        return len(started(log)) - n_before

    monkeypatch.setattr(slow, "N_CELLS", 2)
    assert [n_runs(), n_runs(), n_runs(quick=True), n_runs(n_jobs=2)] == [2, 0, 0, 0]
    monkeypatch.setattr(slow, "N_CELLS", 3)
    assert n_runs() == 1
    monkeypatch.setattr(slow, "PAUSE", 0.01)
    assert n_runs() == 3
    monkeypatch.setattr(runner, "code_key", lambda experiment: "another code")
    assert n_runs(any_code=True) == 0
    other = slow.run(str(store), str(log), any_code=True).outcomes
    assert all(one.is_of_other_code and one.is_stored for one in other)
    assert n_runs() == 3
    assert not any(one.is_of_other_code for one in slow.run(str(store), str(log)).outcomes)


def test_failed_cells_are_reported_and_tried_anew(tmp_path, monkeypatch):
    store, log = tmp_path / "store", tmp_path / "log"
    monkeypatch.setenv("RANKWISE_TEST_CELLS", "1,bad,2")
    for turn in (1, 2):
        reproduction = slow.run(str(store), str(log))
        assert [one.status for one in reproduction.outcomes] == ["done", "failed", "done"]
        assert reproduction.outcomes[1].message == "RuntimeError: this cell always fails"
        assert started(log).count("bad") == turn
    assert [value.row for value in reproduction.tables[0].values] == ["1", "2"]


def test_a_cell_whose_process_was_killed_is_a_failed_one(toy, monkeypatch):
    """That the others finish is tested with compare, which runs on the same workers."""

    def killing(run, due, n_jobs, lost):
        for task in list(due()):
            yield lost(task, "killed") if task.cell.name == "small/seed1" else run(task)

    monkeypatch.setattr(runner, "run_all", killing)
    (failed,) = reproduce(toy, quick=True).with_status("failed")
    assert (failed.name, failed.message) == ("small/seed1", "killed")


def test_values_are_the_same_for_any_number_of_jobs_and_from_the_store(toy, tmp_path):
    whole = reproduce(toy, n_jobs=1)
    parallel = reproduce(toy, n_jobs=2, store=tmp_path)
    stored = reproduce(toy, store=tmp_path)
    assert all(one.is_stored for one in stored.with_status("done"))
    for other in (parallel, stored):
        assert other.tables == whole.tables
        assert [one.value for one in other.outcomes] == [one.value for one in whole.outcomes]
    assert whole.outcomes[0].value["nothing"] is None


def test_missing_data_leave_their_cells_out(toy):
    seen = []
    reproduction = reproduce(toy, quick=True, progress=lambda *step: seen.append(step))
    assert seen[0] == (1, 5, "") and [done for done, _, _ in seen] == [1, 2, 3, 4, 5]
    (left_out,) = reproduction.with_status("left out")
    assert left_out.name == "absent/seed0"
    assert reproduction.missing == {"absent": left_out.message}
    assert "Get it from https://example.org" in left_out.message
    assert reproduction.counts() == {"met": 1, "missed": 1, "no published value": 1, "not run": 1}
    assert json.loads(json.dumps(reproduction.to_dict()))["counts"] == reproduction.counts()


def test_a_found_file_is_a_part_of_the_identity(toy, tmp_path, monkeypatch):
    found = tmp_path / "absent.csv"
    found.write_text("1\n")
    monkeypatch.setattr(toy_module, "find_absent", lambda: [found])
    assert reproduce(toy, quick=True, store=tmp_path).missing == {}
    again = {one.name: one.is_stored for one in reproduce(toy, quick=True, store=tmp_path).outcomes}
    assert all(again.values())
    found.write_text("2\n")
    changed = reproduce(toy, quick=True, store=tmp_path).outcomes
    assert [one.name for one in changed if not one.is_stored] == ["absent/seed0"]


def test_the_code_of_a_cell_is_the_package_and_what_its_module_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    own, shared = tmp_path / "published" / "own", tmp_path / "published" / "shared"
    own.mkdir(parents=True), shared.mkdir()
    toy = type("Toy", (toy_module.Toy,), {"__module__": "published.own.cells"})()

    def key_after(path, text):
        path.write_text(text)
        return runner.code_key(toy)

    cells = "from published.own import tables\nimport numpy\n"
    (shared / "__init__.py").touch()
    first = key_after(own / "cells.py", cells)
    assert key_after(own / "tables.py", "b = 1\n") == first
    assert key_after(shared / "rows.py", "c = 1\n") == first
    second = key_after(own / "cells.py", f"{cells}from published.shared.rows import c\n")
    third = key_after(shared / "rows.py", "c = 2\n")
    fourth = key_after(shared / "rows.py", "from ..sources import d\n")
    fifth = key_after(tmp_path / "published" / "sources.py", "d = 1\n")
    sixth = key_after(shared / "__init__.py", "e = 1\n")
    assert len({first, second, third, fourth, fifth, sixth}) == 6
    monkeypatch.setattr(runner, "package_hash", lambda: "edited")
    assert runner.code_key(toy) != sixth


@pytest.mark.parametrize("change", [{"name": "b"}, {"params": {"seed": 1}}, {"data": "other"}])
def test_the_key_of_a_cell_names_everything(change):
    settings = {"name": "a", "params": {"seed": 0}, "data": "set"}
    key = runner.cell_key("toy", Cell(**settings), "hash")
    assert key == runner.cell_key("toy", Cell(**settings), "hash")
    assert key != runner.cell_key("toy", Cell(**(settings | change)), "hash")
    assert key != runner.cell_key("toy", Cell(**settings), "other hash")
    assert key != runner.cell_key("tor", Cell(**settings), "hash")


def test_an_unknown_experiment_names_the_known_ones(toy):
    with pytest.raises(ValueError, match="must be one of toy, got 'nope'"):
        reproduce("nope")
