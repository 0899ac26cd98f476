"""A cache of kernels that cannot be written or read stops no computation."""

from __future__ import annotations

import builtins
import errno
import os
import tempfile

import numba
import numpy as np
import pytest

from rankwise.runtime import jit
from rankwise.runtime.jit import njit


@njit
def doubled(x):
    return 2 * x


@njit
def sum_of_doubles(values):
    total = 0.0
    for value in values:
        total += doubled(value)
    return total


@njit
def first_above(values, bound):
    for i in range(len(values)):
        if values[i] > bound:
            return i
    raise ValueError("there is none")


KERNELS = (doubled, sum_of_doubles)
VALUES = np.array([1.0, 2.0, 5.0])


def start_anew():
    """Forget all compiled code, as a new process."""
    jit._uses_cache = True
    for kernel in (*KERNELS, first_above):
        vars(kernel).pop("dispatcher", None)
        jit._started[:] = [other for other in jit._started if other is not kernel]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    others = jit._started.copy()  # of other tests: their files stay as they are
    jit._started.clear()
    start_anew()
    yield tmp_path
    start_anew()
    jit._started[:] = others


def check_next_runs():
    """The next process computes and stores, and the one after that reads what was stored."""
    for _ in range(2):
        start_anew()
        assert sum_of_doubles(VALUES) == 16.0
    assert sum(sum_of_doubles.dispatcher.stats.cache_hits.values()) == 1


class Full:
    """A file that takes nothing."""

    def __init__(self, file, code):
        self.file, self.code = file, code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, _):
        raise OSError(self.code, os.strerror(self.code))


WRITES = [
    ("open", ".nbi", errno.EROFS),
    ("write", ".nbi", errno.ENOSPC),
    ("replace", ".nbi", errno.EACCES),
    ("open", ".nbc", errno.EDQUOT),
    ("write", ".nbc", errno.ENOSPC),
    ("write", ".nbc", errno.EFBIG),
    ("replace", ".nbc", errno.EIO),
]


@pytest.mark.parametrize("step, suffix, code", WRITES)
def test_a_cache_that_cannot_be_written_is_done_without(folder, monkeypatch, step, suffix, code):
    tries, opened, replace = [], builtins.open, os.replace

    def is_meant(path):
        return str(path).startswith(str(folder)) and f"{suffix}.tmp" in str(path)

    def fail(path):
        tries.append(path)
        raise OSError(code, os.strerror(code), str(path))

    def open_full(path, mode="r", *args, **kwargs):
        if step == "replace" or mode != "wb" or not is_meant(path):
            return opened(path, mode, *args, **kwargs)
        if step == "open":
            fail(path)
        tries.append(path)
        return Full(opened(path, mode), code)

    def replace_full(source, target):
        if step == "replace" and is_meant(source):
            fail(source)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", open_full)
        patch.setattr(os, "replace", replace_full)
        assert sum_of_doubles(VALUES) == 16.0
        assert len(tries) == len(KERNELS)  # each is compiled once, although none is stored
        assert sum_of_doubles(VALUES) == 16.0
        assert len(tries) == len(KERNELS)
    assert not list(folder.rglob("*.tmp.*"))
    check_next_runs()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
def test_a_cache_that_may_not_be_read_is_done_without(folder, monkeypatch, code):
    assert sum_of_doubles(VALUES) == 16.0
    stored = sorted(folder.rglob("*.nb?"))
    assert len(stored) == 2 * len(KERNELS)
    start_anew()
    opened = builtins.open

    def open_unreadable(path, mode="r", *args, **kwargs):
        if str(path).startswith(str(folder)) and mode == "rb":
            raise OSError(code, os.strerror(code), str(path))
        return opened(path, mode, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", open_unreadable)
        assert sum_of_doubles(VALUES) == 16.0
        assert sum_of_doubles(VALUES.astype(np.float32)) == 16.0
    assert sorted(folder.rglob("*.nb?")) == stored  # they may be sound, and of another user
    check_next_runs()


DAMAGES = {
    "half": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "empty": lambda content: b"",
    "other": lambda content: b"cnowhere\nnothing\n.",
}


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_stored_anew(folder, suffix, damage):
    """As a power failure or a fault of the disk leaves it."""
    assert sum_of_doubles(VALUES) == 16.0
    for path in folder.rglob(f"*{suffix}"):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    start_anew()
    assert sum_of_doubles(VALUES) == 16.0
    check_next_runs()


def test_errors_of_kernels_are_raised_and_leave_the_cache(folder):
    assert first_above(VALUES, 1.5) == 1
    stored = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}
    for _ in range(2):
        with pytest.raises(ValueError, match="there is none"):
            first_above(VALUES, 9.0)
        with pytest.raises(numba.errors.TypingError):
            first_above("text", 9.0)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")} == stored
    assert jit._uses_cache


def test_a_read_only_cache_is_read(folder, monkeypatch, tmp_path_factory):
    """As in a container whose image was warmed up; Numba itself takes writable folders only."""
    assert sum_of_doubles(VALUES) == 16.0
    stored = sorted(folder.rglob("*"))
    start_anew()
    jit._link_read_only_cache.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("links")))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert sum_of_doubles(VALUES) == 16.0
    assert sum(sum_of_doubles.dispatcher.stats.cache_hits.values()) == 1
    assert (
        sum_of_doubles(VALUES.astype(np.float32)) == 16.0
    )  # compiled, and stored for this process
    assert sorted(folder.rglob("*")) == stored
    jit._at_exit.close()
    assert not os.listdir(tempfile.gettempdir())
