"""Transfer of folds to worker processes: large arrays become files that workers map read-only."""

from __future__ import annotations

import pickle
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from rankwise.datasets.data import Fold
from rankwise.runtime.temporary_files import temporary_folder

_LARGE = 1 << 20  # bytes


@dataclass(frozen=True)
class Parcel:
    """Fold stored in files."""

    folder: Path

    def open(self) -> Fold:
        """Load the fold; a process caches the last one that it opened."""
        return _open(self.folder)

    def remove(self) -> None:
        """Delete the files; processes that opened them keep their arrays."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Parcels:
    """Context manager that packs folds into a temporary folder and removes it at the end."""

    def __enter__(self) -> Self:
        self._stack, self._folder, self._n_packed = ExitStack(), None, 0
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def pack(self, fold: Fold) -> Parcel | Fold:
        """Write a fold; if that is impossible (a full disk), return it as it is."""
        try:
            return self._write(fold)
        except OSError:
            return fold

    def _write(self, fold: Fold) -> Parcel:
        if self._folder is None:
            self._folder = self._stack.enter_context(temporary_folder())
        parcel = Parcel(self._folder / str(self._n_packed))
        self._n_packed += 1
        try:
            parcel.folder.mkdir()
            with (parcel.folder / "fold").open("wb") as file:
                _Pickler(file, parcel.folder).dump(fold)
        except BaseException:
            parcel.remove()
            raise
        return parcel


class _Pickler(pickle.Pickler):
    """Pickler that writes arrays of a megabyte or more to separate files."""

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._folder = folder
        self._names: dict[int, str] = {}

    def persistent_id(self, value: Any) -> str | None:
        """Name of the file for a large array."""
        is_large = isinstance(value, np.ndarray) and value.nbytes >= _LARGE
        if not is_large or value.dtype.hasobject:
            return None
        if id(value) not in self._names:
            name = f"{len(self._names)}.npy"
            np.save(self._folder / name, value, allow_pickle=False)
            self._names[id(value)] = name
        return self._names[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file)
        self._folder = folder

    def persistent_load(self, name: str) -> Any:
        """Array in a file, as a plain read-only array."""
        return np.asarray(np.load(self._folder / name, mmap_mode="r", allow_pickle=False))


@lru_cache(maxsize=1)
def _open(folder: Path) -> Fold:
    with (folder / "fold").open("rb") as file:
        return _Unpickler(file, folder).load()
