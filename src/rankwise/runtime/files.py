"""Atomic writing of files, temporary folders, and folders of data.

A file is written under a temporary name in the same folder, flushed to the disk and renamed; then
its folder is flushed. After an error, a full disk or a kill, the old file (or none) is unchanged. A
file survives a power failure once the writing function has returned. Temporary files of killed
writes are removed by a write into the same folder a day later.

A process that uses a temporary file or folder holds a lock on it, which the system releases at the
end of the process, also after a kill; a later run removes what is not locked. Process numbers would
not do: containers that share a folder count their own. Where a file system has no locks, nothing is
removed.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO

from rankwise.runtime.arrow import pa

# Suffixes by which writers compress. Readers go by the first bytes.
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_FULL = ". Free some space there and run the same again"
_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise if no file can be written at ``path``: the folder is missing or ``path`` is one."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path={str(path)!r}: the folder {str(target.parent)!r} does not exist. Create it, or "
            "name a file in another folder."
        )
    if target.is_dir():
        raise IsADirectoryError(f"path={str(path)!r} is a folder. Name the file to write in it.")


@contextmanager
def open_to_write(path: str | Path) -> Iterator[IO[bytes] | Any]:
    """Open a binary stream to ``path``, compressed according to its suffix.

    The same content gives the same bytes, since gzip stores neither a name nor a time.
    """
    with replace_files([path]) as (file,), compress(path, file) as stream:
        yield stream


@contextmanager
def compress(path: str | Path, file: BinaryIO) -> Iterator[IO[bytes] | Any]:
    """Open a stream that compresses into ``file`` according to the suffix of ``path``."""
    suffix = Path(path).suffix
    if suffix == ".gz":
        stream: Any = gzip.GzipFile("", "wb", 6, file, mtime=0)
    elif suffix == ".bz2":
        stream = bz2.BZ2File(file, "wb")
    elif suffix == ".xz":
        stream = lzma.LZMAFile(file, "wb")  # noqa: SIM115 (entered below)
    elif suffix == ".zst":
        stream = pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
    else:
        yield file
        return
    with stream:
        yield stream


def write_file(path: str | Path, content: bytes) -> None:
    """Replace ``path`` atomically; an OSError names the path."""
    with replace_files([path]) as (file,):
        file.write(content)


@contextmanager
def replace_files(
    paths: Sequence[str | Path], *, outdated: Sequence[Path] = ()
) -> Iterator[list[BinaryIO]]:
    """Open files that replace ``paths``, in this order, if the block ends without an error.

    Links are followed. Pipes, devices and other non-regular files are written directly.
    ``outdated`` files belong to the old ``paths``; they are deleted before the first replacement.
    If writing fails, the OSError names one of the files, even if the system's error does not (a
    full disk).
    """
    with ExitStack() as stack:
        places = [_Replacement(path) for path in paths]
        for place in places:
            stack.callback(place.discard)
        current = places[0]
        try:
            for current in places:
                current.create()
            yield [place.file for place in places]
            for current in places:
                current.finish()
            for path in outdated:
                path.unlink(missing_ok=True)
            for current in places:
                current.replace()
            for folder in dict.fromkeys(place.folder for place in places if place.is_replaced):
                sync_folder(folder)
        except OSError as error:
            is_other = error.filename is not None and error.filename != str(current.part)
            code = error_code(error)
            if is_other or code is None:
                raise
            raise OSError(code, error.strerror or os.strerror(code), str(current.path)) from error


def error_code(error: OSError) -> int | None:
    """Error number, also of a full disk that NumPy's ``tofile`` reports without one."""
    return errno.ENOSPC if _SHORT_WRITE.fullmatch(str(error)) else error.errno


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make OSErrors inside the block name the file and, on a full disk, what to do.

    An error that already names a file keeps that name.
    """
    try:
        yield
    except OSError as error:
        name = str(path) if error.filename is None else error.filename
        code = error_code(error)
        if code is None:
            if error.filename is not None:
                raise
            raise OSError(None, str(error), name) from error
        hint = _FULL if code in (errno.ENOSPC, errno.EDQUOT) else ""
        raise OSError(code, os.strerror(code) + hint, name) from error


def sync_folder(path: Path) -> None:
    """Make new and renamed files of a folder durable.

    Does nothing if the system does not support it: Windows, folders without read permission, some
    network file systems.
    """
    if os.name != "posix":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


class _Replacement:
    """Path with the temporary file that will replace it."""

    file: BinaryIO

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_replaced = False
        self._target = Path(os.path.realpath(path))
        self.part: Path | None = None  # the temporary file

    def create(self) -> None:
        try:
            known = self.path.stat()
            if not stat.S_ISREG(known.st_mode):
                self.file = self.path.open("wb")  # not the target: /dev/stdout has none
                return
            os.close(os.open(self.path, os.O_WRONLY))  # a read-only file must not be replaced
        except FileNotFoundError:  # also if another process has just removed it
            known = None
        target = self._target
        # 50 characters have at most 200 bytes; a name may have 255.
        part = target.with_name(f"{target.name[:50]}.{os.getpid()}-{secrets.token_hex(4)}.part")
        self.part = part
        remove_abandoned_parts(target.parent)
        self.file = part.open("xb")
        if sys.platform != "win32":  # there an open file cannot be removed anyway
            with suppress(OSError):  # no locks
                try_lock(self.file.fileno())
        if known is not None:
            if hasattr(os, "chown"):
                with suppress(PermissionError):  # only root may give a file away
                    os.chown(part, known.st_uid, known.st_gid)
            os.chmod(part, stat.S_IMODE(known.st_mode))

    @property
    def folder(self) -> Path:
        """Folder of the file, after following links."""
        return self._target.parent

    def finish(self) -> None:
        """Flush to the disk and close; compressing streams may have closed the file already."""
        self.file.close()
        if self.part is not None:
            with self.part.open("r+b") as file:
                os.fsync(file.fileno())

    def replace(self) -> None:
        if self.part is not None:
            os.replace(self.part, self._target)
            self.part, self.is_replaced = None, True

    def discard(self) -> None:
        """Delete the temporary file; does nothing after :meth:`replace`."""
        if hasattr(self, "file"):
            with suppress(OSError):  # the rest of the buffer is not needed
                self.file.close()
        if self.part is not None:
            with suppress(OSError):  # the original error is more informative
                self.part.unlink(missing_ok=True)


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
                is_abandoned = try_lock(lock)
                if is_abandoned:
                    # Some network file systems keep locks within each machine.
                    state, is_here = os.fstat(lock), os.read(lock, 1000) == _machine()
                    is_old = time.time() - state.st_mtime > _SECONDS_OF_DAY
                    is_abandoned = state.st_nlink > 0 and (is_here or is_old)
                if is_abandoned:  # under the lock: its process may have created it just now
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
            if is_abandoned and sys.platform == "win32":  # an open file stays there
                shutil.rmtree(folder, ignore_errors=True)


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


BUNDLED = Path(__file__).parents[1] / "datasets" / "catalog" / "bundled"


def cache_folder() -> Path:
    """``RANKWISE_CACHE``, or rankwise's folder in the user's cache; it may not exist."""
    named = os.environ.get("RANKWISE_CACHE", "")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "rankwise" / "rankwise" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rankwise"
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "rankwise"


def data_folders() -> list[Path]:
    """Folders to search for data sets, in order: ``RANKWISE_DATA``, bundled, downloaded."""
    named = os.environ.get("RANKWISE_DATA", "")
    own = [Path(named).expanduser()] if named else []
    return [*own, BUNDLED, cache_folder() / "data"]
