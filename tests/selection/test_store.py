"""The store gives back what was put in, and nothing of what is torn or damaged."""

from __future__ import annotations

import errno
import io
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.selection.cells.result_store import DONE, FAILED, FoldResult, ResultStore
from rankwise.selection.comparison import compare
from tests.selection.forking import Killable
from tests.selection.helpers import Column, one_fold


def make_cell(key="k1", **changes):
    cell = FoldResult(
        "ridge", "fold1", DONE, fit_seconds=1.5, predict_seconds=0.25, evaluate_seconds=0.125,
        memory_bytes=4096, chosen={"alpha": 0.5},
        search=[{"params": {"alpha": 0.5}, "score": 0.75}], notes=["é 漢"], key=key,
        values={"AP": np.array([0.1, np.nan, 1 / 3]), "nDCG(gain='exp2')@10": np.arange(3.0)},
        scores=np.array([3.0, -1e-300, np.pi]),
    )  # fmt: skip
    return replace(cell, **changes)


def assert_same(a, b):
    assert a._record() == b._record()
    assert list(a.values) == list(b.values)
    for measure in a.values:
        np.testing.assert_array_equal(a.values[measure], b.values[measure])
    np.testing.assert_array_equal(a.scores, b.scores)


def load_all(store):
    return {key: store.load(record) for key, record in store.records().items()}


def test_round_trip_in_another_process_and_the_last_line_counts(tmp_path):
    store = ResultStore(tmp_path / "deep" / "store")
    assert store.records() == {}
    store.put(make_cell())
    store.put(make_cell("k2", ranker="elm"))
    store.put(make_cell(fit_seconds=9.0))
    found = load_all(ResultStore(store.path))
    assert list(found) == ["k1", "k2"]
    assert_same(found["k1"], make_cell(fit_seconds=9.0))
    assert_same(found["k2"], make_cell("k2", ranker="elm"))


def test_failed_cells_are_logged_but_not_found(tmp_path):
    store = ResultStore(tmp_path)
    store.put(FoldResult("ridge", "fold1", FAILED, "ValueError: no", key="k1"))
    assert store.records() == {}
    assert json.loads((tmp_path / "cells.jsonl").read_text())["message"] == "ValueError: no"


def test_a_line_torn_anywhere_loses_that_cell_only(tmp_path):
    store = ResultStore(tmp_path)
    lines = tmp_path / "cells.jsonl"
    store.put(make_cell("k1"))
    before = lines.read_bytes()
    store.put(make_cell("k2"))
    whole = lines.read_bytes()
    for end in [*range(len(before), len(whole), 11), len(whole) - 1]:
        lines.write_bytes(whole[:end])
        found = set(store.records())
        assert found == ({"k1", "k2"} if end == len(whole) - 1 else {"k1"})
        store.put(make_cell("k3"))  # what is written after a torn line is not lost with it
        assert set(store.records()) == found | {"k3"}


@pytest.mark.parametrize("damage", ["missing", "empty", "half", "flipped", "foreign"])
def test_a_damaged_npz_counts_as_unfinished(tmp_path, damage):
    store = ResultStore(tmp_path)
    store.put(make_cell())
    npz = tmp_path / "cells" / "k1.npz"
    content = bytearray(npz.read_bytes())
    if damage == "missing":
        npz.unlink()
    elif damage == "flipped":
        content[content.index(np.float64(np.pi).tobytes())] ^= 1
        npz.write_bytes(content)
    else:
        npz.write_bytes(
            {"empty": b"", "half": content[: len(content) // 2], "foreign": b"x"}[damage]
        )
    assert list(store.records()) == ["k1"]
    assert store.load(store.records()["k1"]) is None


def test_no_pickle_is_read(tmp_path):
    store = ResultStore(tmp_path)
    store.put(make_cell())
    np.savez(tmp_path / "cells" / "k1.npz", values=np.array([object()]), measures=np.array(["AP"]),
             scores=np.zeros(1))  # fmt: skip
    assert store.load(store.records()["k1"]) is None


WRITER = """
import numpy as np
from rankwise.selection.cells.result_store import FoldResult
from rankwise.selection.cells.result_store import ResultStore

def main(path, name):
    store = ResultStore(path)
    with open(f"{path}/{name}.promised", "w") as promised:
        for i in range(100_000):
            values, scores = {"AP": np.full(50, float(i))}, np.full(500, float(i))
            store.put(FoldResult("r", "f", "done", key=f"{name}-{i}", values=values, scores=scores))
            print(i, file=promised, flush=True)
"""


def lines_in(path):
    return path.read_text().count("\n") if path.exists() else 0


def test_writers_killed_at_random_moments_leave_whole_cells_only(tmp_path):
    rng = np.random.default_rng(0)
    promised = set()
    with Killable(WRITER) as one, Killable(WRITER) as two:
        for turn in range(5):
            names = f"a{turn}", f"b{turn}"
            for writer, name in zip((one, two), names, strict=True):
                writer.start(tmp_path, name)
            for name in names:
                while lines_in(tmp_path / f"{name}.promised") < 3:
                    time.sleep(0.005)
            time.sleep(0.1 * rng.random())
            for writer, name in zip((one, two), names, strict=True):
                writer.kill()
                lines = (tmp_path / f"{name}.promised").read_text().split("\n")
                promised |= {f"{name}-{i}" for i in lines[:-1]}  # the last may be torn itself
    found = load_all(ResultStore(tmp_path))
    assert len(promised) > 20
    assert promised <= set(found)
    for key, cell in found.items():
        number = float(key.partition("-")[2])
        assert cell is not None
        assert (cell.values["AP"] == number).all()
        assert (cell.scores == number).all()


class Disk:
    """Calls of the system as a store makes them, which fail or kill at the ``number``-th."""

    def __init__(self, monkeypatch, number, fault):
        self.number, self.fault, self.calls = number, fault, 0
        for name in ("write", "fsync", "replace", "open", "close"):
            monkeypatch.setattr(os, name, self.wrapped(getattr(os, name)))
        monkeypatch.setattr(Path, "open", self.opening(Path.open))

    def count(self):
        self.calls += 1
        return self.calls == self.number

    def wrapped(self, call):
        def faulty(*arguments, **keywords):
            if self.count():
                return self.fault(call, *arguments, **keywords)
            return call(*arguments, **keywords)

        return faulty

    def opening(self, call):
        disk = self

        def faulty(path, mode="r", *arguments, **keywords):
            file = call(path, mode, *arguments, **keywords)
            return io.BufferedWriter(_Raw(file.detach(), disk), 512) if mode == "xb" else file

        return faulty


class _Raw(io.RawIOBase):
    """A file whose writes are counted as calls of the system."""

    def __init__(self, file, disk):
        self._file, self._disk = file, disk
        self._write = disk.wrapped(lambda _, data: file.write(data))

    def write(self, data):
        return self._write(self._file, bytes(data))

    def writable(self):
        return True

    def seekable(self):
        return True

    def seek(self, *arguments):
        return self._file.seek(*arguments)

    def tell(self):
        return self._file.tell()

    def fileno(self):
        return self._file.fileno()

    def close(self):
        if not self.closed:
            super().close()
            self._file.close()


def full(call, *arguments, **keywords):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken(call, *arguments, **keywords):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def short(call, target, data=None, *arguments, **keywords):
    """Writes half of the data; other calls find the disk full."""
    if not isinstance(data, bytes):
        full(call)
    return call(target, data[: len(data) // 2], *arguments, **keywords)


def killed(call, target=None, data=None, *arguments, **keywords):
    """Writes half of the data, and then the process is gone."""
    if isinstance(data, bytes):
        call(target, data[: len(data) // 2])
    os._exit(9)


def n_calls(monkeypatch, path):
    store = ResultStore(path)
    store.put(make_cell("k1"))
    with monkeypatch.context() as patched:
        disk = Disk(patched, -1, full)
        store.put(make_cell("k2"))
    return disk.calls


@pytest.mark.skipif(os.name != "posix", reason="counts calls of POSIX")
@pytest.mark.parametrize("fault", [full, broken, short])
def test_a_fault_at_any_call_names_the_file_and_loses_that_cell_only(tmp_path, monkeypatch, fault):
    number_of_calls = n_calls(monkeypatch, tmp_path / "counted")
    assert number_of_calls > 15
    for number in range(1, number_of_calls + 1):
        store = ResultStore(tmp_path / f"at{number}")
        store.put(make_cell("k1"))
        raised = None
        with monkeypatch.context() as patched:
            Disk(patched, number, fault)
            try:
                store.put(make_cell("k2"))
            except OSError as error:
                raised = error
        if raised is not None:
            assert str(store.path) in str(raised.filename)
            assert raised.errno == (errno.EIO if fault is broken else errno.ENOSPC)
            assert ("Free some space there and run the same again" in str(raised)) == (
                fault is not broken
            )
            assert not list(store.path.rglob("*.part"))
        found = load_all(store)
        assert_same(found["k1"], make_cell("k1"))
        if raised is None or "k2" in found:
            assert_same(found["k2"], make_cell("k2"))
        store.put(make_cell("k3"))
        store.put(make_cell("k2"))
        found = load_all(ResultStore(store.path))
        assert list(found) >= ["k1", "k2", "k3"]
        assert all(cell is not None for cell in found.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_kill_at_any_call_loses_that_cell_only(tmp_path, monkeypatch):
    for number in range(1, n_calls(monkeypatch, tmp_path / "counted") + 1):
        store = ResultStore(tmp_path / f"at{number}")
        store.put(make_cell("k1"))
        pid = os.fork()
        if pid == 0:
            Disk(monkeypatch, number, killed)
            store.put(make_cell("k2"))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        found = load_all(store)
        assert_same(found["k1"], make_cell("k1"))
        if "k2" in found:
            assert_same(found["k2"], make_cell("k2"))
        store.put(make_cell("k2"))
        assert_same(load_all(ResultStore(store.path))["k2"], make_cell("k2"))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_store_that_cannot_be_written_ends_the_comparison_with_its_path(tmp_path, rng, n_jobs):
    """The error is one of the store, not of a cell, also if a worker process meets it."""
    store = ResultStore(tmp_path / "store")
    (store.path / "cells.jsonl").symlink_to(tmp_path / "missing" / "cells.jsonl")
    with pytest.raises(OSError, match=r"No such file or directory: .*store/cells\.jsonl"):
        compare({"a": Column(0), "b": Column(1)}, one_fold(rng), store=store.path, n_jobs=n_jobs)
