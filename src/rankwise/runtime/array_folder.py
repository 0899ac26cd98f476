"""Folder of named arrays: ``.npy`` files that are memory-mapped, and ``arrays.json``.

``arrays.json`` holds the caller's JSON values and, for each array, its file, dtype and shape, and a
checksum of all of this. A write makes files of new names and then replaces ``arrays.json``, so that
a reader sees the old content or the new one, and a reader that opened the folder keeps the files
that it mapped. A write that is killed leaves the old content. Files that no ``arrays.json`` names
are removed by a later write.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.files import replace_files
from rankwise.structure.state_rules import StructureError

HEADER = "arrays.json"
DAMAGED = "the file does not match its checksum"
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
# As np.save begins files. Other versions may claim a header of up to 4 GiB, which NumPy allocates.
_MAGIC = b"\x93NUMPY\x01\x00"
# Files of writes that may still be under way are kept; a write takes less than this.
_SECONDS = 86400.0

Arrays = dict[str, NDArray[Any]]
Json = dict[str, Any]


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]], header: Json) -> None:
    """Replace the content of a folder, which is created if it is missing.

    The arrays hold no Python objects, and their names are parts of file names. The header holds
    JSON values; its keys "arrays" and "signature" are taken. If writing fails (OSError), the old
    content stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    end = secrets.token_hex(4)
    files = {name: f"{name}-{end}.npy" for name in arrays}
    entries = {
        name: {"file": files[name], "dtype": array.dtype.str, "shape": array.shape}
        for name, array in arrays.items()
    }
    header = {**header, "arrays": entries}
    text = json.dumps({**header, "signature": sign_header(header)}, indent=1)
    # The header comes last: replacing it puts the new files in the place of the old ones.
    with replace_files([folder / name for name in (*files.values(), HEADER)]) as streams:
        for stream, array in zip(streams, arrays.values(), strict=False):
            np.save(stream, array, allow_pickle=False)
        streams[-1].write(text.encode())
        outdated: Json = {}
        with suppress(OSError, StructureError):
            outdated = _parse_header(folder)["arrays"]
    _remove(folder, outdated, files)


def read_arrays(
    folder: Path, mode: Literal["r", "c"] = "r", names: Collection[str] | None = None
) -> tuple[Arrays, Json]:
    """Map the arrays of a folder; also returns its header, which holds JSON values.

    They are read-only, or with mode "c" may be changed in memory (copy on write). If only some are
    read (``names``), the others may be damaged. Raises FileNotFoundError if the folder has no
    header, and StructureError, which names the file, if a file is missing or damaged.
    """
    while True:
        header = read_header(folder)
        try:
            entries = header["arrays"].items()
            arrays = {
                name: _map(folder / entry["file"], entry, mode)
                for name, entry in entries
                if names is None or name in names
            }
            return arrays, header
        except StructureError:
            # Another process may have replaced the content between two opens.
            if read_header(folder) == header:
                raise


def read_header(folder: Path) -> Json:
    """Read the JSON values of a folder, without its arrays; raises as :func:`read_arrays`."""
    header = _parse_header(folder)
    if header.get("signature") != sign_header(header):
        raise StructureError(f"{folder / HEADER}: {DAMAGED}")
    return header


def sign_header(header: Json) -> str:
    """SHA-256 of the JSON values of a header."""
    signed = {name: header[name] for name in header if name != "signature"}
    return hashlib.sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()


def _parse_header(folder: Path) -> Json:
    path = folder / HEADER
    try:
        header = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise StructureError(f"{path}: not JSON ({error})") from None
    entries = header.get("arrays") if isinstance(header, dict) else None
    if not isinstance(entries, dict):
        raise StructureError(f"{path}: arrays must be a dict, got {entries!r:.60}")
    for name, entry in entries.items():
        file = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(file, str) or not _FILE_NAME.fullmatch(file):  # within the folder
            raise StructureError(f"{path}: arrays[{name!r}] must name a file, got {entry!r:.60}")
    return header


def _map(path: Path, entry: Json, mode: Literal["r", "c"]) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError("the file does not start as written")
        array: Any = np.lib.format.open_memmap(path, mode=mode)
        size = path.stat().st_size
    except FileNotFoundError:
        raise StructureError(f"{path}: the file is missing") from None
    except (PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # NumPy parses the header of the file as Python literals
        raise StructureError(f"{path}: not an array of NumPy ({error})") from None
    found, wanted = [array.dtype.str, [*array.shape]], [entry.get("dtype"), entry.get("shape")]
    if found != wanted:
        raise StructureError(f"{path}: the array must have dtype and shape {wanted}, got {found}")
    if size != array.offset + array.nbytes:
        raise StructureError(f"{path}: {size} bytes long, not {array.offset + array.nbytes}")
    return array


def _remove(folder: Path, outdated: Json, files: Mapping[str, str]) -> None:
    """Delete the files that were replaced, and those that killed writes left."""
    names = "|".join(map(re.escape, {*outdated, *files}))
    ours = re.compile(rf"(?:{names})-[0-9a-f]{{8}}\.npy")
    replaced = {entry["file"] for entry in outdated.values()}
    for path in folder.iterdir():
        if not ours.fullmatch(path.name) or path.name in files.values():
            continue
        with suppress(OSError):  # of another write; on Windows, a file that a process has mapped
            if path.name in replaced or time.time() - path.stat().st_mtime > _SECONDS:
                path.unlink()
