"""What a killed process leaves is removed by a later one, and nothing that is in use."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rankwise.runtime import files as temporary_files
from rankwise.runtime.files import (
    open_to_write,
    remove_abandoned_folders,
    remove_abandoned_parts,
    temporary_folder,
    write_file,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
TWO_DAYS = 2 * 86400.0
HOLD = """
import sys
from pathlib import Path
from rankwise.runtime.files import temporary_folder
with temporary_folder() as folder:
    (folder / "0").mkdir()
    (folder / "0" / "0.npy").write_bytes(bytes(1000))
    child = 0
    {then}
    print(child, folder, flush=True)
    sys.stdin.read()
"""
SAVE = """
import sys
from rankwise.runtime.files import open_to_write
with open_to_write({path!r}) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""
# The child lives on after a kill of its parent, as a forked worker may. It says when it runs: until
# then it holds the locks that it inherited.
FORK = """import os, time
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(1)
        os.write(done, b".")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)"""


@contextmanager
def running(script, **environment):
    """A process and the last line that it printed; it waits for the end of its input."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remove_abandoned_parts.cache_clear()
    yield tmp_path
    remove_abandoned_parts.cache_clear()


def age(path, seconds=TWO_DAYS):
    os.utime(path, (time.time() - seconds,) * 2)


def test_a_folder_is_removed_at_its_end(folder):
    with temporary_folder() as made:
        assert made.parent == folder
        remove_abandoned_folders(folder)
        assert made.exists()
    with pytest.raises(KeyError), temporary_folder():
        raise KeyError
    assert not [*folder.iterdir()]


@pytest.mark.parametrize("then", ["", FORK], ids=["alone", "forked"])
def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(folder, then):
    with running(HOLD.format(then=then), TMPDIR=str(folder)) as process:
        child, left = process.stdout.readline().split()
        age(os.path.join(left, "lock"))
        try:
            remove_abandoned_folders(folder)
            assert os.path.exists(os.path.join(left, "0", "0.npy"))
            process.kill()
            process.wait()
            assert os.path.exists(left)
            with temporary_folder() as made:
                assert [*folder.iterdir()] == [made]
        finally:
            if child != "0":
                os.kill(int(child), signal.SIGKILL)


def test_processes_that_remove_at_once_do_not_disturb_each_other(folder):
    """Nor those that create folders meanwhile."""
    for number in range(30):
        left = folder / f"rankwise-{number}"
        left.mkdir()
        (left / "lock").write_bytes(temporary_files._machine())

    def use(_):
        with temporary_folder() as made:
            (made / "file").write_bytes(b"")
            time.sleep(0.002)
            return (made / "file").exists()

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(100)))
    assert not [*folder.iterdir()]


def test_what_others_left_is_not_touched(folder):
    """Folders without a lock, files, links, and folders of a machine that may still run."""
    (folder / "rankwise-old").mkdir()
    (folder / "rankwise-file").write_bytes(b"")
    (folder / "kept").mkdir()
    (folder / "kept" / "lock").write_bytes(b"")
    (folder / "rankwise-link").symlink_to(folder / "kept")
    elsewhere = folder / "rankwise-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").write_bytes(b"another machine")
    linked = folder / "rankwise-linked"
    linked.mkdir()
    (linked / "lock").symlink_to(folder / "kept" / "lock")
    before = sorted(folder.rglob("*"))
    age(folder / "kept" / "lock")
    remove_abandoned_folders(folder)
    assert sorted(folder.rglob("*")) == before
    age(elsewhere / "lock")
    remove_abandoned_folders(folder)
    assert sorted({*before} - {*folder.rglob("*")}) == [elsewhere, elsewhere / "lock"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root")
def test_folders_of_other_users_are_not_touched(folder):
    left = folder / "rankwise-theirs"
    left.mkdir()
    (left / "lock").write_bytes(temporary_files._machine())
    os.chown(left, 1234, 1234)
    remove_abandoned_folders(folder)
    assert left.exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_nothing_is_removed_where_there_are_no_locks(folder, monkeypatch, code):
    import fcntl

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    left, part = folder / "rankwise-left", folder / "model.rw.1-0123abcd.part"
    left.mkdir()
    (left / "lock").write_bytes(temporary_files._machine())
    part.write_bytes(b"")
    age(part)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with temporary_folder():
        write_file(folder / "model.rw", b"new")
    assert left.exists()
    assert part.exists()


def test_temporary_files_of_killed_writes_are_removed_a_day_later(folder):
    path, other = folder / "model.rw", folder / "other.rw"
    path.write_bytes(b"old")
    with running(SAVE.format(path=str(path))) as process:
        process.stdout.readline()
        (part,) = folder.glob("*.part")
        age(part)
        write_file(other, b"new")
        assert part.exists()  # its writer lives, however old it is
    assert part.exists()
    remove_abandoned_parts.cache_clear()
    age(part, 3600.0)
    write_file(other, b"new")
    assert part.exists()
    remove_abandoned_parts.cache_clear()
    age(part)
    mine = [folder / name for name in ("film.part", "x.1-0123abcd.part.txt", "1-0123abcd.part")]
    for file in mine:
        file.write_bytes(b"")
        age(file)
    with open_to_write(other) as file:
        file.write(b"newer")
        assert not part.exists()
    assert path.read_bytes() == b"old"
    assert sorted(folder.iterdir()) == sorted([*mine, path, other])
