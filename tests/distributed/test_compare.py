"""compare on a Dask cluster: the numbers of one process, a store that resumes, failed cells."""

from __future__ import annotations

import threading

import joblib
import numpy as np
import pytest

from rankwise import compare
from rankwise.selection.cells import workers
from tests.selection.helpers import Moody, graded_data, one_fold

distributed = pytest.importorskip("distributed")


def test_cells_run_on_the_cluster_and_resume_from_the_store(client, rng, tmp_path):
    data = graded_data(rng)
    rankers = {"ridge": "ridge", "fails": Moody("error")}
    cells = []
    with joblib.parallel_config("dask"):
        board = compare(
            rankers, data, n_jobs=2, store=tmp_path, progress=lambda *a: cells.append(a)
        )
    assert [done for done, _, _ in cells] == list(range(1, 11))
    failed = [cell for cell in board.cells if cell.ranker == "fails"]
    assert {cell.message for cell in failed} == {"RuntimeError: no luck today"}
    here = compare(rankers, data, store=tmp_path, progress=lambda *a: cells.append(a))
    assert [row["mean"] for row in here.rows()] == [row["mean"] for row in board.rows()]
    # What is done is there; what has failed is tried anew.
    kept = {(cell.ranker, cell.fold): cell.fit_seconds for cell in board.cells}
    for cell in here.cells:
        if cell.ranker == "ridge":
            assert cell.fit_seconds == kept["ridge", cell.fold]
    alone = compare({"ridge": "ridge"}, data)
    for mine, theirs in zip(
        (cell for cell in board.cells if cell.ranker == "ridge"), alone.cells, strict=True
    ):
        np.testing.assert_array_equal(mine.scores, theirs.scores)


def test_a_cell_that_kills_its_worker_is_reported_and_the_rest_finishes(client, rng):
    # A nanny gives up on a process that dies while it starts: hence the pause.
    rankers = {"fine": Moody("fine"), "dies": Moody("die", pause=1.0), "ridge": "ridge"}
    with joblib.parallel_config("dask"):
        board = compare(rankers, one_fold(rng), n_jobs=2)
    cells = {cell.ranker: cell for cell in board.cells}
    assert {name: cell.status for name, cell in cells.items()} == {
        "fine": "done",
        "dies": "failed",
        "ridge": "done",
    }
    assert "its process was killed" in cells["dies"].message


RELEASED = threading.Event()


def close_its_worker(_):
    worker = distributed.get_worker()
    worker.loop.add_callback(worker.close)
    RELEASED.wait()


def test_a_cluster_that_loses_all_workers_ends_the_comparison(monkeypatch):
    """Otherwise compare would wait for ever."""
    monkeypatch.setattr(workers, "SECONDS_TO_RETURN", 0.1)
    monkeypatch.setattr(workers, "_LONGEST_WAIT", 0.05)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        tasks = workers.run_all(close_its_worker, lambda: iter([1]), 2, lambda *_: "lost")
        try:
            with pytest.raises(RuntimeError, match="the cluster has had no worker for"):
                list(tasks)
        finally:
            RELEASED.set()
