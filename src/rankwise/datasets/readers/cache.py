"""Cache of parsed files on disk, so that the second read is a memory map.

A cache file consists of a prefix (magic, length and SHA-256 of the header), a JSON header, and the
arrays as raw sections, each at a multiple of 64 bytes. It is written under a temporary name and
renamed, so readers see all of it or nothing, and concurrent writers do no harm. Checks:

- At every open: the prefix, the header's SHA-256 and the type of every field in it; format,
  library version and reading options; of every source file its size, ``mtime_ns`` and a SHA-256
  of its first, last and 16 evenly spaced blocks of 64 kB; the length of the file; position, length
  and dtype of every section, which must be of numbers or of fixed-width text; the SHA-256 of
  blocks of 1 MB, drawn at random from all sections until they have 4 MB; consistency of the
  arrays, and bounds of the indices of sparse rows. A cache that fails is rebuilt.
- With ``verify=True``, and by :func:`verify_cache`: SHA-256 of every block of every section and
  of the whole sources. Only this check detects every edit of a source that keeps its size, its
  ``mtime_ns`` and all sampled blocks (files up to 1.1 MB are sampled completely), and all damage in
  the sections of a cache larger than 4 MB.

Opening a cache reads and hashes 1.1 MB per source file and 4 MB of the cache, regardless of their
sizes, and makes one pass over the indices of sparse rows.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise._version import __version__
from rankwise.datasets.readers.textfiles import PathLike, find_files
from rankwise.runtime.folders import cache_folder
from rankwise.runtime.output import replace_files
from rankwise.runtime.threads import thread_map

SUFFIX = ".rankwise-cache"
_FORMAT = 4
_MAGIC = b"RANKWISE"
_PREFIX = struct.Struct("<8sQ32s")
_ALIGNMENT = 64
_SAMPLE_BYTES, _N_SAMPLES = 1 << 16, 18
_DIGEST_BYTES = 1 << 20
_DRAWN_BYTES = 1 << 22  # total size of the blocks that are hashed at every open
_DTYPE = re.compile(r"[<>|](?:f[48]|[iu][1248]|U[0-9]{1,9})")
_LAST_CODE_POINT = 0x10FFFF

Json = dict[str, Any]


T = TypeVar("T")


class _UnusableError(Exception):
    """Reason why a cache file cannot be used."""


@dataclass(frozen=True)
class CacheSlot:
    """Location of one read (files and options) in the caches, and values that must agree.

    Attributes
    ----------
    paths : tuple of Path
        Absolute paths of the source files.
    options : dict
        JSON values that determine the result.
    stamps : list of dict
        Size, ``mtime_ns`` and sampled hash of each file when this object was made.
    folders : tuple of Path
        Folders to search and to write to, in order.
    """

    paths: tuple[Path, ...]
    options: Json
    stamps: list[Json]
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, files: Sequence[Path], options: Json, *, beside: bool = False) -> CacheSlot:
        """Slot of ``files``, in the cache folder or preferably beside the first file."""
        paths = tuple(file.resolve() for file in files)
        folders = (paths[0].parent, parsed_folder()) if beside else (parsed_folder(),)
        return cls(paths, options, [_stamp(path) for path in paths], folders)

    @property
    def file_name(self) -> str:
        """Name of the cache file: source, hash of the paths, hash of the options."""
        options = json.dumps(self.options, sort_keys=True).encode()
        return f"{_source_name(self.paths)}-{hashlib.sha256(options).hexdigest()[:8]}{SUFFIX}"

    def load(
        self, build: Callable[[dict[str, NDArray[Any]], Json], T], *, verify: bool = False
    ) -> T | None:
        """Return ``build(arrays, extra)`` of a usable cache; None if there is none.

        Parameters
        ----------
        build : callable
            Function of the arrays, memory-mapped copy-on-write, and the extra values. If it raises
            ``KeyError``, ``TypeError`` or ``ValueError``, the arrays are inconsistent and the cache
            is not used.
        verify : bool
            Whether to compare all checksums.
        """
        for folder in self.folders:
            try:
                arrays, header = _open(folder / self.file_name)
                self._check(header)
                _check_sections(arrays, header, sys.maxsize if verify else _DRAWN_BYTES)
                if verify:
                    _check_sources(header, self.paths)
                return build(arrays, header["extra"])
            except (OSError, _UnusableError, KeyError, TypeError, ValueError):
                continue
        return None

    def store(self, arrays: Mapping[str, NDArray[Any]], extra: Json) -> Path | None:
        """Write the cache file; if that is impossible, warn and return None.

        Nothing is written if a source has changed since the slot was created.
        """
        if [_stamp(path) for path in self.paths] != self.stamps:
            return None
        header = {
            "format": _FORMAT,
            "version": __version__,
            "options": self.options,
            "stamps": self.stamps,
            "sha256": [_digest_file(path) for path in self.paths],
            "extra": extra,
        }
        reasons = []
        for folder in self.folders:
            try:
                return _write(folder / self.file_name, arrays, header)
            except OSError as error:
                reasons.append(f"{folder}: {error.strerror or error}")
        warnings.warn(
            f"{self.paths[0].name} could not be cached ({'; '.join(reasons)}). Set RANKWISE_CACHE "
            "to a writable folder, or pass cache=False.",
            stacklevel=3,  # the caller of read_letor
        )
        return None

    def _check(self, header: Json) -> None:
        current = {"format": _FORMAT, "version": __version__, "options": self.options,
                   "stamps": self.stamps}  # fmt: skip
        for name, value in current.items():
            if header.get(name) != value:
                raise _UnusableError(f"made with other {name}")


def parsed_folder() -> Path:
    """Folder of parsed files in the cache folder; it may not exist yet."""
    return cache_folder() / "parsed"


def clear_cache() -> int:
    """Delete every parsed file in the cache folder, and return their number.

    Cache files beside their sources are kept.
    """
    n = 0
    if parsed_folder().is_dir():
        for file in sorted(parsed_folder().glob(f"*{SUFFIX}*")):
            file.unlink(missing_ok=True)
            n += file.name.endswith(SUFFIX)
    return n


def verify_cache(path: PathLike | Sequence[PathLike]) -> list[str]:
    """Check all caches of these files by full checksums.

    Parameters
    ----------
    path : path, glob pattern or list of these
        As given to :func:`read_letor`.

    Returns
    -------
    problems : list of str
        One line for each unusable cache file, with its path and the reason; empty if all are intact
        or there are none. The next read with ``verify=True`` rebuilds them.
    """
    paths = tuple(file.resolve() for file in find_files(path))
    problems = []
    for folder in (paths[0].parent, parsed_folder()):
        for file in sorted(folder.glob(f"*{_source_hash(paths)}-*{SUFFIX}")):
            try:
                arrays, header = _open(file)
                if header["stamps"] != [_stamp(path) for path in paths]:
                    raise _UnusableError("older than its source")
                _check_sections(arrays, header, sys.maxsize)
                _check_sources(header, paths)
            except (OSError, _UnusableError, ValueError) as error:
                problems.append(f"{file}: {error}")
    return problems


def _source_hash(paths: Iterable[Path]) -> str:
    return hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()[:16]


def _source_name(paths: Sequence[Path]) -> str:
    return f"{paths[0].name[:60]}-{_source_hash(paths)}"


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
    start = block * _DIGEST_BYTES
    return hashlib.sha256(_raw(array)[start : start + _DIGEST_BYTES].data).hexdigest()


def _raw(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


def _write(path: Path, arrays: Mapping[str, NDArray[Any]], header: Json) -> Path:
    """Write under a unique name, flush to the disk, and rename."""
    sections, position = {}, 0
    for name, array in arrays.items():
        sections[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": position,
            "nbytes": array.nbytes,
            "sha256": _digest_blocks(array),
        }
        position = _aligned(position + array.nbytes)
    text = json.dumps({**header, "sections": sections, "nbytes": position}).encode()
    prefix = _PREFIX.pack(_MAGIC, len(text), hashlib.sha256(text).digest())
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_files([path]) as (file,):
        file.write(prefix + text)
        start = _aligned(file.tell())
        for name, array in arrays.items():
            file.seek(start + sections[name]["offset"])
            file.write(_raw(array).data)
        file.truncate(start + position)
    return path


def _open(path: Path) -> tuple[dict[str, NDArray[Any]], Json]:
    """Map the sections of a cache file through one open file, so a rename cannot mix two."""
    with open(path, "rb") as file:
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size or not prefix.startswith(_MAGIC):
            raise _UnusableError("not a cache file")
        _, length, checksum = _PREFIX.unpack(prefix)
        size = os.fstat(file.fileno()).st_size
        if length > size:
            raise _UnusableError("cut off in its header")
        text = file.read(length)
        if hashlib.sha256(text).digest() != checksum:
            raise _UnusableError("its header is damaged")
        try:
            header = json.loads(text)
            start, nbytes = _aligned(_PREFIX.size + length), header["nbytes"]
            if size != start + nbytes:
                raise _UnusableError(f"{size} bytes long, not {start + nbytes}")
            _check_header(header)
            arrays = {
                name: _map(file, start, nbytes, section)
                for name, section in header["sections"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _UnusableError(f"its header cannot be used ({error!r})") from None
        return arrays, header


def _check_header(header: Json) -> None:
    """Raise TypeError if a field is missing or has the wrong type."""
    fields = {"format": int, "version": str, "options": dict, "stamps": list, "sha256": list,
              "extra": dict, "sections": dict}  # fmt: skip
    for name, kind in fields.items():
        if not isinstance(header.get(name), kind):
            raise TypeError(f"{name} is not of type {kind.__name__}")


def _map(file: Any, start: int, end: int, section: Json) -> NDArray[Any]:
    """Map one section; nothing outside the file is read, and no Python objects are created."""
    shape, offset, nbytes = section["shape"], section["offset"], section["nbytes"]
    if not all(type(n) is int and n >= 0 for n in (*shape, offset, nbytes)):
        raise _UnusableError("the position or shape of a section is not of whole numbers")
    if not _DTYPE.fullmatch(section["dtype"]):
        raise _UnusableError(f"a section has the dtype {section['dtype']!r:.40}")
    dtype = np.dtype(section["dtype"])
    if math.prod(shape) * dtype.itemsize != nbytes:
        raise _UnusableError("the length of a section does not match its shape")
    if offset % _ALIGNMENT or offset + nbytes > end:
        raise _UnusableError("a section is outside the file")
    if len(section["sha256"]) != -(-nbytes // _DIGEST_BYTES):
        raise _UnusableError("the number of checksums of a section does not match its length")
    if nbytes == 0:
        return np.empty(shape, dtype=dtype)
    array = np.memmap(file, dtype=dtype, mode="c", offset=start + offset, shape=tuple(shape))
    if dtype.kind == "U" and array.view(f"{dtype.str[0]}u4").max() > _LAST_CODE_POINT:
        raise _UnusableError("a section of text holds something else")
    return array


def _check_sections(arrays: Mapping[str, NDArray[Any]], header: Json, most_bytes: int) -> None:
    """Compare the checksums of random blocks with a total of ``most_bytes``, or of all blocks."""
    sections = header["sections"]
    every = [(name, k) for name in arrays for k in range(len(sections[name]["sha256"]))]
    random.SystemRandom().shuffle(every)  # not the generator that users seed
    blocks, n_bytes = [], 0
    for name, k in every:
        if n_bytes >= most_bytes:
            break
        blocks.append((name, k))
        n_bytes += min(_DIGEST_BYTES, arrays[name].nbytes - k * _DIGEST_BYTES)
    digests = thread_map(lambda block: _digest_block(arrays[block[0]], block[1]), blocks)
    for (name, k), digest in zip(blocks, digests, strict=True):
        if digest != sections[name]["sha256"][k]:
            raise _UnusableError(f"its section {name} is damaged")


def _check_sources(header: Json, paths: Sequence[Path]) -> None:
    for path, expected in zip(paths, header["sha256"], strict=True):
        if _digest_file(path) != expected:
            raise _UnusableError(f"{path} has changed, although size, time and samples agree")
