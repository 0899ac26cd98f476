"""A comparison killed at any moment goes on where it was; what is finished is never run again."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
import zlib

import numpy as np
import pytest

from rankwise.selection import ResultStore, compare, query_folds
from rankwise.selection.cells import fingerprint as source_files
from rankwise.selection.cells import result_store as provenance
from tests.selection.forking import Killable
from tests.selection.helpers import Moody, graded_data

N_RANKERS, N_FOLDS, PAUSE = 6, 5, 0.06


def data():
    return graded_data(np.random.default_rng(3))


def run(store, log, n_jobs=1):
    rankers = {
        f"r{i}": Moody("fine", log=str(log), number=i, pause=PAUSE) for i in range(N_RANKERS)
    }
    n_jobs = int(n_jobs)
    return compare(rankers, data(), cv=N_FOLDS, store=store, n_jobs=n_jobs, isolate=n_jobs > 1)


def n_started(log):
    return len(log.read_text().splitlines()) if log.exists() else 0


def started(log):
    """(ranker, fold) of every fit that was begun, in order."""
    folds = {zlib.crc32(f.train.y.tobytes()): f.name for f in query_folds(data(), N_FOLDS)}
    assert len(folds) == N_FOLDS
    lines = log.read_text().splitlines() if log.exists() else []
    return [(f"r{number}", folds[int(crc)]) for number, crc in map(str.split, lines)]


def finished(store):
    return {(r["ranker"], r["fold"]) for r in ResultStore(store).records().values()}


@pytest.mark.parametrize(("n_jobs", "n_kills"), [(1, 4), (2, 1)])
def test_kills_lose_at_most_the_running_cells(tmp_path, n_jobs, n_kills):
    store, log = tmp_path / "store", tmp_path / "log"
    rng = np.random.default_rng(n_jobs)
    before = set()
    with Killable("from tests.selection.test_resume import run as main") as process:
        for _ in range(n_kills):
            n_before = n_started(log)
            wanted = n_before + int(rng.integers(2, 6))
            process.start(store, log, n_jobs)
            while n_started(log) < wanted:
                time.sleep(0.005)
            time.sleep(PAUSE * rng.random())
            process.kill()
            now, begun = finished(store), started(log)[n_before:]
            assert before <= now
            assert not before & set(begun)  # nothing finished was run again
            assert len(set(begun) - now) <= n_jobs  # at most the running cells are lost
            assert len(now) >= len(before) + wanted - n_before - n_jobs
            before = now
    assert 1 <= len(before) < N_RANKERS * N_FOLDS
    n_before = n_started(log)
    resumed = run(store, log)
    assert set(started(log)[n_before:]) == {(c.ranker, c.fold) for c in resumed.cells} - before

    whole = run(tmp_path / "other", tmp_path / "other log")
    for measure in whole.measures:
        np.testing.assert_equal(resumed.per_query(measure), whole.per_query(measure))

    def results(board):
        # "ran" names the file to which the rankers of this test write.
        other = {"fit_seconds", "predict_seconds", "memory_bytes", "ran"}
        return [{k: v for k, v in row.items() if k not in other} for row in board.rows()]

    assert results(resumed) == results(whole)


def test_only_what_changed_is_run_again(tmp_path, monkeypatch):
    log = tmp_path / "log"
    table = data()

    def n_fits(table=table, number=0, **arguments):
        before = len(started_lines())
        arguments = {"cv": 2, "measures": ["AP", "nDCG@5"]} | arguments
        board = compare({"r": Moody("fine", log=str(log), number=number)}, table,
                        store=tmp_path / "store", **arguments)  # fmt: skip
        assert [cell.status for cell in board.cells] == ["done"] * len(board.folds)
        return len(started_lines()) - before

    def started_lines():
        return log.read_text().splitlines() if log.exists() else []

    assert n_fits() == 2
    assert n_fits() == 0
    assert n_fits(measures=["nDCG@5", "AP"], select_by="AP") == 0  # another order, the same work
    assert n_fits(test="wilcoxon", confidence_level=0.9, n_jobs=2) == 0
    assert n_fits(number=1) == 2
    assert n_fits(measures=["AP"]) == 2
    assert n_fits(preset="letor3") == 2
    assert n_fits(select_by="nDCG@5") == 2
    assert n_fits(random_state=1) == 2
    assert n_fits(cv=3) == 3
    changed = table.take(np.arange(len(table)))
    changed.X[0, 0] += 1e-9
    assert n_fits(changed) == 2
    monkeypatch.setattr(provenance, "RELEASE", "0.0.0")
    with pytest.warns(UserWarning, match=r"2 finished cells of .* run again: r \(rankwise .*0\.0"):
        assert n_fits() == 2
    assert n_fits() == 0


def test_failed_cells_are_tried_anew(tmp_path):
    log = tmp_path / "log"
    for turn in (1, 2):
        board = compare({"r": Moody("error", log=str(log))}, data(), cv=2, store=tmp_path / "s")
        assert {cell.status for cell in board.cells} == {"failed"}
        assert len(log.read_text().splitlines()) == 2 * turn


def test_a_renamed_ranker_keeps_its_results(tmp_path):
    log = tmp_path / "log"
    for name in ("old", "new"):
        board = compare({name: Moody("fine", log=str(log))}, data(), cv=2, store=tmp_path / "s")
        assert {cell.ranker for cell in board.cells} == {name}
    assert len(log.read_text().splitlines()) == 2


RANKER = """
from sklearn.base import BaseEstimator

FACTOR = {factor}


def scaled(x):
    return FACTOR * x


class Base(BaseEstimator):
    def scores(self, X):
        return {base}


class Mine(Base):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return scaled(self.scores(X)) + {own}
"""
EDITS = {
    "nothing": {},
    "its own method": {"own": "X[:, 2]"},
    "a base's method": {"base": "X[:, 1]"},
    "a constant that a function reads": {"factor": "-1.0"},
}


@pytest.mark.parametrize(("n_jobs", "edits"), [(1, [*EDITS]), (2, ["nothing", "a base's method"])])
def test_an_edited_ranker_runs_again(tmp_path, monkeypatch, n_jobs, edits):
    """Also in worker processes that have imported the class as it was before."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    whole = None
    for what in edits:
        parts = {"factor": "1.0", "base": "X[:, 0]", "own": "0.0"} | EDITS[what]
        (tmp_path / "my_rankers.py").write_text(RANKER.format(**parts))
        monkeypatch.delitem(sys.modules, "my_rankers", raising=False)
        importlib.invalidate_caches()
        ranker = importlib.import_module("my_rankers").Mine()
        arguments = {"cv": 2, "measures": ["AP"], "n_jobs": n_jobs, "isolate": n_jobs > 1}
        if what == "nothing":
            compare({"mine": ranker}, data(), store=tmp_path / what, **arguments)
            whole = (tmp_path / what).rename(tmp_path / "store")
        else:
            copied = shutil.copytree(whole, tmp_path / what)
            with pytest.warns(
                UserWarning, match=r"2 finished .*: mine \(source of my_rankers changed\)\."
            ):
                board = compare({"mine": ranker}, data(), store=copied, **arguments)
            fresh = compare({"mine": ranker}, data(), isolate=False, cv=2, measures=["AP"])
            np.testing.assert_array_equal(board.per_query()["mine"], fresh.per_query()["mine"])
            again = compare({"mine": ranker}, data(), store=copied, **arguments)
            assert [c.fit_seconds for c in again.cells] == [c.fit_seconds for c in board.cells]


def test_another_version_of_a_wrapped_library_runs_again(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm", reason="needs rankwise[gbdt]")
    installed = source_files.version("lightgbm")
    arguments = {"cv": 2, "measures": ["AP"], "store": tmp_path}
    before = compare(["lightgbm", "ridge"], data(), **arguments)
    real = source_files.version
    monkeypatch.setattr(
        source_files, "version", lambda name: "99" if name == "lightgbm" else real(name)
    )
    told = rf"2 finished cells of .* run again: lightgbm \(lightgbm {installed}, now 99\)"
    with pytest.warns(UserWarning, match=told):
        after = compare(["lightgbm", "ridge"], data(), **arguments)
    for one, other in zip(before.cells, after.cells, strict=True):
        assert (one.fit_seconds == other.fit_seconds) == (one.ranker == "ridge")
    assert after.cell("lightgbm", "fold1").origin["lightgbm"] == "99"
