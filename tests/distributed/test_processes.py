"""Programs that run on several workers at once end in bounded time, whatever becomes of one."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

distributed = pytest.importorskip("distributed")
from rankwise.distributed import dask_partitions as tasks  # noqa: E402
from rankwise.distributed import (  # noqa: E402
    processes,
)
from rankwise.distributed.processes import run_ranks  # noqa: E402
from rankwise.selection.cells import workers  # noqa: E402
from tests.distributed.deaths import armed  # noqa: E402


@pytest.fixture
def threads(monkeypatch):
    """Two workers that are threads of this process, and so without a nanny."""
    monkeypatch.setattr(processes, "SECONDS_TO_NOTICE", 0.0)
    monkeypatch.setattr(processes, "SECONDS_TO_END", 60.0)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def numbers(hosts, ports, here):
    return list(range(len(hosts)))


def run(client, program, *args):
    shares = [[client.submit(str, n, pure=False)] for n in range(2)]
    return run_ranks(client, shares, program, numbers, *args)


CALLS: list[int] = []
RELEASED = threading.Event()


def lose_each_other(number, at_most, parts):
    CALLS.append(number)
    if CALLS.count(number) <= at_most:
        raise ConnectionError("gone")
    return number, parts


def test_programs_that_lost_each_other_begin_again(threads):
    CALLS.clear()
    assert run(threads, lose_each_other, 2) == [(0, ("0",)), (1, ("1",))]
    CALLS.clear()
    with pytest.raises(RuntimeError, match=r"failed in each of 4 attempts.*ConnectionError"):
        run(threads, lose_each_other, 99)


def fail_beside_one_that_waits(number, parts):
    if number == 0:
        raise ValueError("these rows are wrong")
    RELEASED.wait()


def test_the_error_of_a_program_is_raised_while_others_wait(threads, monkeypatch):
    monkeypatch.setattr(processes, "SECONDS_TO_END", 0.0)
    RELEASED.clear()
    try:
        with pytest.raises(ValueError, match="these rows are wrong"):
            run(threads, fail_beside_one_that_waits)
    finally:
        RELEASED.set()


def die_beside_one_that_waits(number, parts):
    if number == 0:
        worker = distributed.get_worker()
        worker.loop.add_callback(worker.close)
    RELEASED.wait()


def test_without_a_nanny_the_error_says_so(threads, monkeypatch):
    monkeypatch.setattr(processes, "SECONDS_TO_END", 0.0)
    RELEASED.clear()
    try:
        with pytest.raises(RuntimeError, match="no nanny that could restart it"):
            run(threads, die_beside_one_that_waits)
    finally:
        RELEASED.set()


def answer(number, parts):
    return number, parts


@pytest.mark.parametrize("moment", [1, 2], ids=["ports", "results"])
def test_workers_that_die_between_a_task_and_its_gathering(client, monkeypatch, moment):
    """Both at once, after Dask has said that their tasks are finished."""
    calls = []

    def gather_from_dead(client, futures, check):
        calls.append(futures)
        if len(calls) == moment:
            assert all(future.status == "finished" for future in futures)
            before = client.run(os.getpid, nanny=False)
            for pid in before.values():
                os.kill(pid, signal.SIGKILL)
        return tasks.gather(client, futures, check)

    armed(client, 0, str)  # wait for workers that died in an earlier test
    monkeypatch.setattr(processes, "gather", gather_from_dead)
    monkeypatch.setattr(tasks, "SECONDS_BETWEEN_CHECKS", 0.05)
    before = client.nthreads().keys()
    assert run(client, answer) == [(0, ("0",)), (1, ("1",))]
    assert not before & client.nthreads().keys()
    assert len(calls) == moment + 2


def test_a_cluster_without_workers_is_an_error(threads, monkeypatch):
    monkeypatch.setattr(tasks, "SECONDS_BETWEEN_CHECKS", 0.01)
    monkeypatch.setattr(workers, "SECONDS_TO_RETURN", 0.1)
    handles = tasks.Tasks(threads)
    assert handles.results([handles.call(str, 1)]) == ["1"]
    threads.cluster.scale(0)
    while threads.nthreads():
        time.sleep(0.01)
    with pytest.raises(RuntimeError, match="the cluster has had no worker for 0 s"):
        handles.results([handles.call(str, 2)])


def time_out():
    raise TimeoutError("of the task")


def test_errors_of_tasks_are_raised_as_they_are(threads):
    handles = tasks.Tasks(threads)
    with pytest.raises(TimeoutError, match="of the task"):
        handles.results([handles.call(time_out)])
