"""Result store: a folder in which every finished cell is on disk at once.

``cells/<key>.npz`` holds the arrays of a cell, one line of ``cells.jsonl`` the rest. The arrays
are written first, to a temporary name, synced and renamed; then the line is appended and synced.
So whatever line can be read has its arrays, and a process killed at any moment loses only what it
was computing. Several processes may write to one store.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.selection.cell import DONE, Cell


class ResultStore:
    """Finished cells by their fingerprint.

    Parameters
    ----------
    path : path-like
        Folder, made where it does not exist.

    Notes
    -----
    Failed cells are logged, but never found again: they are tried anew in the next run. A line
    that cannot be read (torn by a kill) and a missing or damaged npz count as not finished.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._arrays.mkdir(parents=True, exist_ok=True)

    @property
    def _arrays(self) -> Path:
        return self.path / "cells"

    @property
    def _lines(self) -> Path:
        return self.path / "cells.jsonl"

    def records(self) -> dict[str, dict[str, Any]]:
        """The last readable line of every key, finished cells only."""
        found: dict[str, dict[str, Any]] = {}
        if not self._lines.exists():
            return found
        for line in self._lines.read_bytes().split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:  # empty or torn
                continue
            if isinstance(record, dict) and record.get("status") == DONE:
                found[str(record.get("key"))] = record
        return found

    def load(self, record: dict[str, Any]) -> Cell | None:
        """The cell of one of :meth:`records`; None where its arrays are missing or damaged."""
        try:
            with (
                self._npz(str(record["key"])).open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                table, measures = arrays["values"], arrays["measures"].tolist()
                values = dict(zip(measures, table, strict=True))
                return Cell.from_record(record, values, arrays["scores"])
        except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, cell: Cell) -> None:
        """Write a cell; on return it is on disk."""
        if cell.status == DONE:
            assert cell.scores is not None
            self._write_arrays(cell.key, cell)
        line = json.dumps(cell.record(), allow_nan=False, separators=(",", ":"))
        is_new = not self._lines.exists()
        descriptor = os.open(self._lines, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            # One write, so that processes do not interleave; the leading line end closes a line
            # that a killed writer has left torn.
            os.write(descriptor, f"\n{line}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            _sync_folder(self.path)

    def _npz(self, key: str) -> Path:
        return self._arrays / f"{key}.npz"

    def _write_arrays(self, key: str, cell: Cell) -> None:
        temporary = self._arrays / f".{key}.{os.getpid()}.tmp"
        with temporary.open("wb") as file:
            np.savez(
                file,
                measures=np.array(list(cell.values)),
                values=np.array(list(cell.values.values())),
                scores=np.asarray(cell.scores),
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._npz(key))
        _sync_folder(self._arrays)


def _sync_folder(path: Path) -> None:
    """Make a rename durable; a folder cannot be opened for that on Windows."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
