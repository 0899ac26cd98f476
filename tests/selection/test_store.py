"""The store gives back what was put in, and nothing of what is torn or damaged."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from rankwise.selection.cell import DONE, FAILED, Cell, plain
from rankwise.selection.store import ResultStore
from tests.selection.forking import Killable


def make_cell(key="k1", **changes):
    cell = Cell(
        "ridge", "fold1", DONE, fit_seconds=1.5, predict_seconds=0.25, evaluate_seconds=0.125,
        memory_bytes=4096, chosen={"alpha": 0.5},
        search=[{"params": {"alpha": 0.5}, "score": 0.75}], notes=["é 漢"], key=key,
        values={"AP": np.array([0.1, np.nan, 1 / 3]), "nDCG(gain='exp2')@10": np.arange(3.0)},
        scores=np.array([3.0, -1e-300, np.pi]),
    )  # fmt: skip
    return replace(cell, **changes)


def assert_same(a, b):
    assert a.record() == b.record()
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
    store.put(Cell("ridge", "fold1", FAILED, "ValueError: no", key="k1"))
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
from rankwise.selection.cell import Cell
from rankwise.selection.store import ResultStore

def main(path, name):
    store = ResultStore(path)
    with open(f"{path}/{name}.promised", "w") as promised:
        for i in range(100_000):
            values, scores = {"AP": np.full(50, float(i))}, np.full(500, float(i))
            store.put(Cell("r", "f", "done", key=f"{name}-{i}", values=values, scores=scores))
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


def test_plain_values():
    assert plain({"a": np.float32(0.5), 1: (np.int64(3), None, np.nan, np.inf)}) == {
        "a": 0.5, "1": [3, None, None, None],
    }  # fmt: skip
    assert plain(np.array([[1.0, np.nan]])) == [[1.0, None]]
    assert plain(np.array(["x"])) == ["x"]
    assert plain(len) == repr(len)
    assert plain(True) is True
