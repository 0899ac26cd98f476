"""Result store: a folder in which every finished cell is saved immediately.

``cells/<key>.npz`` holds the arrays of a cell, and one line of ``cells.jsonl`` holds the rest. The
arrays are first written under a temporary name, synced and renamed; then the line is appended and
synced. Thus every readable line has its arrays, and a killed process loses only the cell that it
was computing. Several processes may write to one store.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.runtime.output import replace_files
from rankwise.selection.fold_result import DONE, FoldResult
from rankwise.selection.jsonl import JsonLines, writing


class ResultStore:
    """Finished cells by their fingerprint.

    Parameters
    ----------
    path : path-like
        Folder; created if missing.

    Notes
    -----
    Failed cells are logged but not reused; the next run computes them again. An unreadable line
    (incomplete after a kill) and a missing or damaged npz count as not finished.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()  # workers may run in another folder
        self._arrays.mkdir(parents=True, exist_ok=True)

    @property
    def _arrays(self) -> Path:
        return self.path / "cells"

    @property
    def _lines(self) -> JsonLines:
        return JsonLines(self.path / "cells.jsonl")

    def records(self) -> dict[str, dict[str, Any]]:
        """Last readable line of every key, of finished cells only."""
        found: dict[str, dict[str, Any]] = {}
        for record in self._lines:
            if record.get("status") == DONE:
                found[str(record.get("key"))] = record
        return found

    def load(self, record: dict[str, Any]) -> FoldResult | None:
        """Cell of one of :meth:`records`; None if its arrays are missing or damaged."""
        try:
            with (
                self._npz(str(record["key"])).open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                table, measures = arrays["values"], arrays["measures"].tolist()
                values = dict(zip(measures, table, strict=True))
                return FoldResult.from_record(record, values, arrays["scores"])
        except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, cell: FoldResult) -> None:
        """Write a cell; on return it is on disk.

        Raises
        ------
        OSError
            If the cell cannot be written; the message names the file. Earlier cells stay readable.
        """
        if cell.status == DONE:
            assert cell.scores is not None
            self._write_arrays(cell.key, cell)
        self._lines.append(cell.record())

    def _npz(self, key: str) -> Path:
        return self._arrays / f"{key}.npz"

    def _write_arrays(self, key: str, cell: FoldResult) -> None:
        with writing(self._npz(key)), replace_files([self._npz(key)]) as (file,):
            np.savez(
                file,
                measures=np.array(list(cell.values)),
                values=np.array(list(cell.values.values())),
                scores=np.asarray(cell.scores),
            )
