"""Temporary files and folders, which a later run removes if their process was killed.

The process that uses one holds a lock on a file, which the system releases at the end of the
process, also after a kill. Process numbers would not do: containers that share a folder count their
own. Where a file system has no locks, nothing is removed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_PREFIX = "rankwise-"
_LOCK = "lock"
_PART = re.compile(r".+\.\d+-[0-9a-f]{8}\.part", re.DOTALL)
_SECONDS_OF_DAY = 86400.0
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BOOT = Path("/proc/sys/kernel/random/boot_id")

# Descriptors of the locks of this process. A forked child must not keep them after a kill of it.
_held: set[int] = set()


def _release_all() -> None:
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_all)


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another opening of the file holds it.

    OSError is raised if the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder and remove it at the end, and those that killed processes left."""
    remove_abandoned_folders(Path(tempfile.gettempdir()))
    folder, lock = _create()
    process = os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == process:  # not in a forked child
            _held.remove(lock)
            os.close(lock)
            shutil.rmtree(folder, ignore_errors=True)


def _create() -> tuple[Path, int]:
    """A new folder, and the descriptor of its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            folder.rmdir()
            raise
        with suppress(OSError):  # without locks nobody removes it
            while not try_lock(lock):
                time.sleep(0.001)  # a process that removes folders looks at it
            if not (folder / _LOCK).exists():  # it was faster
                os.close(lock)
                continue
            os.write(lock, _machine())
        _held.add(lock)
        return folder, lock


def _machine() -> bytes:
    """Name of this start of this machine, the same in all its containers."""
    try:
        return _BOOT.read_bytes()
    except OSError:
        return platform.node().encode()


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the temporary folders of processes that ended without removing them."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if hasattr(os, "geteuid") and folder.lstat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | _NO_LINK)
            try:
                is_abandoned = try_lock(lock) and _is_of_ended(lock)
                if is_abandoned:  # under the lock: its process may have created it just now
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
            if is_abandoned and sys.platform == "win32":  # an open file stays there
                shutil.rmtree(folder, ignore_errors=True)


def _is_of_ended(lock: int) -> bool:
    """Whether a lock that is free means that its process has ended.

    Some network file systems keep locks within each machine.
    """
    state = os.fstat(lock)
    is_here = os.read(lock, 1000) == _machine()
    return state.st_nlink > 0 and (is_here or time.time() - state.st_mtime > _SECONDS_OF_DAY)


@cache
def remove_abandoned_parts(folder: Path) -> None:
    """Remove what killed writes left in a folder for more than a day; once per process."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PART.fullmatch(entry.name) is None or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > _SECONDS_OF_DAY:
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if sys.platform == "win32":  # an open file cannot be removed
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    try:
        if try_lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)
