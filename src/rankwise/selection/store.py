"""Result store: a folder in which every finished cell is on disk at once.

``cells/<key>.npz`` holds the arrays of a cell, one line of ``cells.jsonl`` the rest. The arrays
are written first, to a temporary name, synced and renamed; then the line is appended and synced.
So whatever line can be read has its arrays, and a process killed at any moment loses only what it
was computing. Several processes may write to one store.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.datasets.writers.output import replace_files
from rankwise.selection.fold_result import DONE, FoldResult
from rankwise.selection.lines import JsonLines, writing


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
        self.path = Path(path).absolute()  # workers may run in another folder
        self._arrays.mkdir(parents=True, exist_ok=True)

    @property
    def _arrays(self) -> Path:
        return self.path / "cells"

    @property
    def _lines(self) -> JsonLines:
        return JsonLines(self.path / "cells.jsonl")

    def records(self) -> dict[str, dict[str, Any]]:
        """The last readable line of every key, finished cells only."""
        found: dict[str, dict[str, Any]] = {}
        for record in self._lines:
            if record.get("status") == DONE:
                found[str(record.get("key"))] = record
        return found

    def load(self, record: dict[str, Any]) -> FoldResult | None:
        """The cell of one of :meth:`records`; None where its arrays are missing or damaged."""
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
            When it cannot be written, naming the file. Cells written before stay readable.
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
