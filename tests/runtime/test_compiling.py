"""Progress says so while kernels are compiled, here or in a worker, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from rankwise.cli import _console as _progress
from rankwise.runtime import progress as compiling
from rankwise.runtime.progress import announce_compilation, watch_compilation


def compile_events():
    """Start and end a compilation, as Numba does."""
    event = pytest.importorskip("numba.core.event")
    announce_compilation()
    return event.trigger_event("numba:compile", data={})


def test_nothing_is_compiled():
    with watch_compilation() as is_compiling:
        assert not is_compiling()
        folder = os.environ["RANKWISE_COMPILING"]
    assert "RANKWISE_COMPILING" not in os.environ
    assert not os.path.exists(folder)


def test_a_compilation_is_seen_until_shortly_after_its_end(monkeypatch):
    with watch_compilation() as is_compiling:
        with compile_events():
            monkeypatch.setattr(compiling, "_BREAK_SECONDS", 0.0)
            assert is_compiling()
            with compile_events():  # a kernel that the first one calls
                assert is_compiling()
            assert is_compiling()
        assert not is_compiling()
        monkeypatch.setattr(compiling, "_BREAK_SECONDS", 3600.0)
        assert is_compiling()
    with compile_events():  # nobody watches
        pass


@pytest.mark.skipif(os.name != "posix", reason="other systems do not tell whether a process lives")
def test_workers_are_seen_and_those_that_died_are_not(monkeypatch):
    monkeypatch.setattr(compiling, "_BREAK_SECONDS", 0.0)
    code = (
        "from rankwise.runtime.progress import _file; _file().touch(); print(flush=True); input()"
    )
    with watch_compilation() as is_compiling:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], **pipes) as worker:
            worker.stdout.readline()
            assert is_compiling()
            worker.kill()
            worker.wait()
        assert not is_compiling()


def test_a_kernel_that_is_cached_is_not_compiled(tmp_path):
    (tmp_path / "one.py").write_text(
        "from rankwise.runtime.progress import watch_compilation\n"
        "from rankwise.runtime.jit import njit\n"
        "@njit\n"
        "def one(x):\n"
        "    return x + 1\n"
        "with watch_compilation() as is_compiling:\n"
        "    one(1)\n"
        "    print(is_compiling())\n"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for expected in ("True", "False"):
        run = [sys.executable, str(tmp_path / "one.py")]
        done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_progress_says_compiling(monkeypatch):
    progress = _progress.Progress("Fitting")
    monkeypatch.setattr(_progress.time, "monotonic", lambda: progress._start + 3)
    with progress:
        assert progress.line() == "Fitting: 0:03 so far"
        with compile_events():
            assert progress.line() == "Fitting: 0:03 so far, compiling …"
            progress.update(1, 4, "ridge")
            assert progress.line() == "Fitting: 1 of 4 in 0:03, compiling …, ridge"
        folder = os.environ["RANKWISE_COMPILING"]
        os.utime(folder, (time.time() + 60 - 3600,) * 2)  # an hour ago
        assert progress.line() == "Fitting: 1 of 4 in 0:03, ridge"
