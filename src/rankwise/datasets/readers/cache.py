"""Cache of parsed files on disk, so that the second read is a memory map.

A cache is a folder of arrays (:mod:`rankwise.runtime.array_folder`), so readers see all of it or
nothing, and concurrent writers do no harm. Checks:

- At every open: the header's SHA-256 and the type of every field in it; format, library version
  and reading options; of every source file its size, ``mtime_ns`` and a SHA-256 of its first, last
  and 16 evenly spaced blocks of 64 kB; length, dtype and shape of every array, which must be of
  numbers or of fixed-width text; the SHA-256 of blocks of 1 MB, drawn at random from all arrays
  until they have 4 MB; consistency of the arrays, and bounds of the indices of sparse rows. A cache
  that fails is rebuilt.
- With ``verify=True``, and by :func:`verify_cache`: SHA-256 of every block of every array and of
  the whole sources. Only this check detects every edit of a source that keeps its size, its
  ``mtime_ns`` and all sampled blocks (files up to 1.1 MB are sampled completely), and all damage in
  the arrays of a cache larger than 4 MB.

Opening a cache reads and hashes 1.1 MB per source file and 4 MB of the cache, regardless of their
sizes, and makes one pass over the indices of sparse rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise._version import RELEASE
from rankwise.datasets.readers.textfiles import PathLike, find_files
from rankwise.runtime.array_folder import Arrays, Json, read_arrays, write_arrays
from rankwise.runtime.files import cache_folder
from rankwise.runtime.threads import thread_map
from rankwise.structure.state_rules import StructureError

SUFFIX = ".rankwise-cache"
_FORMAT = 5
_SAMPLE_BYTES, _N_SAMPLES = 1 << 16, 18
_DIGEST_BYTES = 1 << 20
_DRAWN_BYTES = 1 << 22  # total size of the blocks that are hashed at every open
_DTYPE = re.compile(r"[<>|](?:f[48]|[iu][1248]|U[0-9]{1,9})")
_LAST_CODE_POINT = 0x10FFFF

T = TypeVar("T")


@dataclass(frozen=True)
class CacheSlot:
    """Location of one read (files and options) in the caches, and values that must agree."""

    paths: tuple[Path, ...]  # absolute paths of the source files
    options: Json  # JSON values that determine the result
    stamps: list[Json]  # size, ``mtime_ns`` and sampled hash of each file when this object was made
    folders: tuple[Path, ...]  # folders to search and to write to, in order

    @classmethod
    def of(cls, files: Sequence[Path], options: Json, *, beside: bool = False) -> CacheSlot:
        """Slot of ``files``, in the cache folder or preferably beside the first file."""
        paths = tuple(file.resolve() for file in files)
        folders = (paths[0].parent, parsed_folder()) if beside else (parsed_folder(),)
        return cls(paths, options, [_stamp(path) for path in paths], folders)

    @property
    def folder_name(self) -> str:
        """Name of the cache: source, hash of the paths, hash of the options."""
        options = json.dumps(self.options, sort_keys=True).encode()
        name, source = self.paths[0].name[:60], _source_hash(self.paths)
        return f"{name}-{source}-{hashlib.sha256(options).hexdigest()[:8]}{SUFFIX}"

    def load(
        self, build: Callable[[dict[str, NDArray[Any]], Json], T], *, verify: bool = False
    ) -> T | None:
        """Return ``build(arrays, extra)`` of a usable cache; None if there is none.

        The arrays are memory-mapped copy-on-write. If ``build`` raises ``KeyError``, ``TypeError``
        or ``ValueError``, the arrays are inconsistent and the cache is not used. ``verify``
        compares all checksums.
        """
        for folder in self.folders:
            try:
                arrays, header = _open(folder / self.folder_name)
                self._check(header)
                _check_blocks(arrays, header, sys.maxsize if verify else _DRAWN_BYTES)
                if verify:
                    _check_sources(header, self.paths)
                return build(arrays, header["extra"])
            except (OSError, KeyError, TypeError, ValueError, RecursionError):
                continue
        return None

    def store(self, arrays: Mapping[str, NDArray[Any]], extra: Json) -> Path | None:
        """Write the cache; if that is impossible, warn and return None.

        Nothing is written if a source has changed since the slot was created.
        """
        if [_stamp(path) for path in self.paths] != self.stamps:
            return None
        header = {
            "format": _FORMAT,
            "version": RELEASE,
            "options": self.options,
            "stamps": self.stamps,
            "sha256": [_digest_file(path) for path in self.paths],
            "extra": extra,
            "blocks": {name: _digest_blocks(array) for name, array in arrays.items()},
        }
        reasons = []
        for folder in self.folders:
            path = folder / self.folder_name
            with suppress(OSError):
                path.unlink()  # a file in the place of the folder
            try:
                write_arrays(path, arrays, header)
                return path
            except OSError as error:
                with suppress(OSError):
                    path.rmdir()  # if it is new, and so empty
                reasons.append(f"{folder}: {error.strerror or error}")
        warnings.warn(
            f"{self.paths[0].name} could not be cached ({'; '.join(reasons)}). Set RANKWISE_CACHE "
            "to a writable folder, or pass cache=False.",
            stacklevel=3,  # the caller of read_letor
        )
        return None

    def _check(self, header: Json) -> None:
        current = {"format": _FORMAT, "version": RELEASE, "options": self.options,
                   "stamps": self.stamps}  # fmt: skip
        for name, value in current.items():
            if header.get(name) != value:
                raise StructureError(f"made with other {name}")


def parsed_folder() -> Path:
    """Folder of parsed files in the cache folder; it may not exist yet."""
    return cache_folder() / "parsed"


def clear_cache() -> int:
    """Delete every parsed file in the cache folder, and return their number.

    Caches beside their sources are kept.
    """
    caches = list(parsed_folder().glob(f"*{SUFFIX}"))
    for cache in caches:
        if cache.is_dir() and not cache.is_symlink():
            shutil.rmtree(cache)
        else:  # a file, as earlier versions wrote them
            cache.unlink()
    return len(caches)


def verify_cache(path: PathLike | Sequence[PathLike]) -> list[str]:
    """Check all caches of these files by full checksums.

    Parameters
    ----------
    path : path, glob pattern or list of these
        As given to :func:`read_letor`.

    Returns
    -------
    problems : list of str
        One line for each unusable cache, with its path and the reason; empty if all are intact
        or there are none. The next read with ``verify=True`` rebuilds them.
    """
    paths = tuple(file.resolve() for file in find_files(path))
    problems = []
    for folder in (paths[0].parent, parsed_folder()):
        for file in sorted(folder.glob(f"*{_source_hash(paths)}-*{SUFFIX}")):
            try:
                arrays, header = _open(file)
                if header["stamps"] != [_stamp(path) for path in paths]:
                    raise StructureError("older than its source")
                _check_blocks(arrays, header, sys.maxsize)
                _check_sources(header, paths)
            except (OSError, ValueError, RecursionError) as error:
                problems.append(f"{file}: {error}")
    return problems


def _source_hash(paths: Iterable[Path]) -> str:
    return hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()[:16]


def _stamp(path: Path) -> Json:
    """Size, modification time and a hash of the sampled blocks."""
    hashed = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        starts = np.linspace(0, max(size - _SAMPLE_BYTES, 0), _N_SAMPLES).astype(int).tolist()
        if size <= _N_SAMPLES * _SAMPLE_BYTES:
            starts = range(0, size, _SAMPLE_BYTES)
        for start in starts:
            file.seek(start)
            hashed.update(file.read(_SAMPLE_BYTES))
    return {"size": size, "mtime_ns": status.st_mtime_ns, "sample": hashed.hexdigest()}


def _digest_file(path: Path) -> str:
    """SHA-256 of the SHA-256 of all blocks, which are hashed on threads."""

    def part(start: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(start)
            return hashlib.sha256(file.read(_DIGEST_BYTES)).digest()

    starts = range(0, path.stat().st_size, _DIGEST_BYTES)
    return hashlib.sha256(b"".join(thread_map(part, starts))).hexdigest()


def _digest_blocks(array: NDArray[Any]) -> list[str]:
    """SHA-256 of each block of an array's bytes."""
    n_blocks = -(-array.nbytes // _DIGEST_BYTES)
    return thread_map(lambda block: _digest_block(array, block), range(n_blocks))


def _digest_block(array: NDArray[Any], block: int) -> str:
    raw, start = np.ascontiguousarray(array).reshape(-1).view(np.uint8), block * _DIGEST_BYTES
    return hashlib.sha256(raw[start : start + _DIGEST_BYTES].data).hexdigest()


def _open(folder: Path) -> tuple[Arrays, Json]:
    """Map the arrays of a cache, and check its header and the types of the arrays."""
    arrays, header = read_arrays(folder, mode="c")
    fields = {"format": int, "version": str, "options": dict, "stamps": list, "sha256": list,
              "extra": dict, "blocks": dict}  # fmt: skip
    for name, kind in fields.items():
        if not isinstance(header.get(name), kind):
            raise StructureError(f"{name} is not of type {kind.__name__}")
    for name, array in arrays.items():
        blocks = header["blocks"].get(name)
        if not isinstance(blocks, list) or len(blocks) != -(-array.nbytes // _DIGEST_BYTES):
            raise StructureError(f"the number of checksums of {name} does not match its length")
        if not _DTYPE.fullmatch(array.dtype.str):
            raise StructureError(f"its array {name} has the dtype {array.dtype.str!r:.40}")
        is_text = array.dtype.kind == "U" and array.size > 0
        if is_text and array.view(f"{array.dtype.str[0]}u4").max() > _LAST_CODE_POINT:
            raise StructureError(f"its array {name} holds something else than text")
    return arrays, header


def _check_blocks(arrays: Arrays, header: Json, most_bytes: int) -> None:
    """Compare the checksums of random blocks with a total of ``most_bytes``, or of all blocks."""
    every = [(name, k) for name in arrays for k in range(len(header["blocks"][name]))]
    random.SystemRandom().shuffle(every)  # not the generator that users seed
    blocks, n_bytes = [], 0
    for name, k in every:
        if n_bytes >= most_bytes:
            break
        blocks.append((name, k))
        n_bytes += min(_DIGEST_BYTES, arrays[name].nbytes - k * _DIGEST_BYTES)
    digests = thread_map(lambda block: _digest_block(arrays[block[0]], block[1]), blocks)
    for (name, k), digest in zip(blocks, digests, strict=True):
        if digest != header["blocks"][name][k]:
            raise StructureError(f"its array {name} is damaged")


def _check_sources(header: Json, paths: Sequence[Path]) -> None:
    for path, expected in zip(paths, header["sha256"], strict=True):
        if _digest_file(path) != expected:
            raise StructureError(f"{path} has changed, although size, time and samples agree")
