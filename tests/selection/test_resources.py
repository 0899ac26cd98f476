"""Threads are limited and given back; the peak of memory is that of the context."""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rankwise.runtime.threads import available_threads
from rankwise.selection.cells import cell_runner as resources
from rankwise.selection.cells.cell_runner import THREADS_VARIABLE, PeakMemory, threads

MIB = 1 << 20


def pools(api):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api}


@pytest.mark.parametrize("before", [None, "7"])
def test_threads_are_limited_and_given_back(monkeypatch, before):
    if before is None:
        monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(THREADS_VARIABLE, before)
    with threadpool_limits({"blas": 2}):
        with pytest.raises(KeyError), threads(1):
            assert available_threads() == 1
            assert pools("blas") == {1}
            raise KeyError
        assert os.environ.get(THREADS_VARIABLE) == before
        assert pools("blas") == {2}


@pytest.mark.parametrize("size", [64, 128])
def test_each_context_has_its_own_peak(size):
    with PeakMemory() as large:
        np.ones(2 * size * MIB, dtype=np.uint8).sum()
    with PeakMemory() as small:
        np.ones(size * MIB, dtype=np.uint8).sum()
    with PeakMemory() as none:
        pass
    if large.extra_bytes is None:
        pytest.skip("the system does not tell the peak of memory")
    assert 1.9 * size * MIB < large.extra_bytes < 2.6 * size * MIB
    if small._resettable:
        assert 0.9 * size * MIB < small.extra_bytes < 1.6 * size * MIB
    assert none.extra_bytes < 4 * MIB


def test_without_a_reset_the_rise_of_the_process_peak_is_taken(monkeypatch):
    monkeypatch.setattr(resources, "_reset_peak", lambda: False)
    peaks = iter([100 * MIB, 164 * MIB, 164 * MIB, 164 * MIB])
    monkeypatch.setattr(resources, "max_rss", lambda: next(peaks))
    with PeakMemory() as first:
        pass
    with PeakMemory() as second:
        pass
    assert first.extra_bytes == 64 * MIB
    assert second.extra_bytes == 0


def test_max_rss_is_in_bytes():
    peak = resources.max_rss()
    if peak is None:
        pytest.skip("no resource module")
    assert 20 * MIB < peak < 1 << 40
