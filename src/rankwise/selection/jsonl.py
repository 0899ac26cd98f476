"""File of JSON records, one per line, that survives kills and several writers."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankwise.runtime.output import error_code, sync_folder

_ATTEMPTS = 2
_FULL = ". Free some space there and run the same again"


class JsonLines:
    """Records that are safely on disk when :meth:`append` returns.

    The first record creates the file; its folder must exist. Each record is a single write, so
    processes do not interleave. It starts with a line end, which closes a line that a killed writer
    left incomplete. Unreadable lines are skipped.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record and sync it; JSON must be able to represent it: no NaN, no infinity.

        If the record cannot be written, the OSError names the file, and earlier records stay
        readable.
        """
        line = json.dumps(record, allow_nan=False, separators=(",", ":"))
        with writing(self.path):
            is_new = not self.path.exists()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                _write_whole(descriptor, f"\n{line}\n".encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_folder(self.path.parent)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for line in self.path.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:  # empty or torn
                continue
            if isinstance(record, dict):
                yield record


def _write_whole(descriptor: int, line: bytes) -> None:
    """Append the line in one piece; readers skip the incomplete line of a short write."""
    for _ in range(_ATTEMPTS):
        if os.write(descriptor, line) == len(line):
            return
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
