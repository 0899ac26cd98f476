"""Chunks of work on threads: order, errors, nesting, forks."""

from __future__ import annotations

import os
import threading
import time
from contextvars import ContextVar

import joblib
import numpy as np
import pytest

from rankwise.runtime import threads
from rankwise.runtime.threads import (
    available_threads,
    query_chunks,
    thread_imap,
    thread_map,
    threads_asked,
)


@pytest.mark.parametrize("n_threads", [None, 1, 2, 5])
def test_results_keep_the_order_of_the_items(n_threads):
    def late_first(i):
        time.sleep(0.002 * (i == 0))
        return i * i

    assert thread_map(late_first, list(range(9)), n_threads) == [i * i for i in range(9)]


def test_several_threads_work():
    seen = set()
    both = threading.Barrier(2, timeout=300)

    def meet(_):
        both.wait()
        seen.add(threading.get_ident())

    thread_map(meet, [0, 1], 2)
    assert len(seen) == 2


@pytest.mark.parametrize("n_threads", [1, 3])
def test_raises_what_the_loop_would_raise(n_threads):
    def fail(i):
        if i in (2, 5):
            raise ValueError(f"item {i}")

    with pytest.raises(ValueError, match="item 2"):
        thread_map(fail, list(range(8)), n_threads)


def test_nested_calls_do_not_wait_for_each_other():
    def row(i):
        return sum(thread_map(lambda j: i * j, list(range(40)), 8))

    assert thread_map(row, list(range(40)), 8) == [i * 780 for i in range(40)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_works_in_a_forked_process():
    thread_map(str, [1, 2], 2)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if thread_map(str, [1, 2, 3], 2) == ["1", "2", "3"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_chunks_hold_whole_queries():
    indptr = np.array([0, 3, 3, 20, 21, 22])
    chunks = query_chunks(indptr, 4)
    assert chunks[0] == (0, 2)
    assert [q for first, last in chunks for q in range(first, last)] == list(range(5))
    assert query_chunks(np.zeros(1, dtype=np.int64), 4) == []
    # Queries that fill a chunk exactly belong to it.
    assert query_chunks(np.array([0, 1, 4, 5]), 4) == [(0, 2), (2, 3)]


def test_negative_numbers_of_jobs_count_from_all_threads(monkeypatch):
    monkeypatch.setattr(threads, "available_threads", lambda: 4)
    assert [threads_asked(n) for n in (None, -1, -2, -4, -9, 1, 7)] == [4, 4, 3, 1, 1, 1, 4]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("run", [thread_map, lambda *given: [*thread_imap(*given)]])
def test_nested_threads_share_the_cores_of_the_outer_ones(run, n_threads, monkeypatch):
    """The product of the threads of a fit and of the fits inside of it is at most the cores."""
    monkeypatch.setattr(threads, "_SHARE", ContextVar("share", default=8))

    def inner(number):
        found = thread_map(lambda _: available_threads(), range(2), 2)
        return available_threads(), threads_asked(None), threads_asked(99), max(found)

    for here, of_fit, by_number, nested in run(inner, range(9), n_threads):
        assert here == of_fit == by_number == max(1, 8 // n_threads)
        assert nested == max(1, here // 2)
    assert available_threads() == 8


def ask_worker():
    return available_threads()


def test_workers_of_joblib_keep_to_their_share(monkeypatch):
    monkeypatch.delenv("RANKWISE_NUM_THREADS", raising=False)
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        assert joblib.Parallel()(joblib.delayed(ask_worker)() for _ in range(2)) == [1, 1]
