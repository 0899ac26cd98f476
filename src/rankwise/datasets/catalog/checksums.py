"""sha256 of the text of a file, remembered until the file changes.

The text is decompressed, and CRLF becomes LF, so the hash does not depend on the compression.
Results are stored by path, size and modification time in ``checksums.json`` of the cache folder. If
that folder is not writable, they are computed each time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rankwise.datasets.readers.textfiles import read_text
from rankwise.runtime.folders import cache_folder
from rankwise.runtime.output import write_file


def text_sha256(path: Path) -> str:
    """sha256 of the text of ``path``; remembered if the file has not changed."""
    state = path.stat()
    key, now = str(path.resolve()), [state.st_size, state.st_mtime_ns]
    memory = cache_folder() / "checksums.json"
    known = _load(memory).get(key)
    if isinstance(known, list) and known[:2] == now and len(known) == 3:
        return str(known[2])
    digest = compute_text_sha256(path)
    _store(memory, _load(memory) | {key: [*now, digest]})
    return digest


def compute_text_sha256(path: Path) -> str:
    """Compute the sha256 of the text of ``path``."""
    text = read_text(path)
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()


def _load(memory: Path) -> dict[str, Any]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _store(memory: Path, known: dict[str, Any]) -> None:
    """Replace the stored results atomically; other processes see the old or the new file."""
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_file(memory, json.dumps(known).encode())
    except OSError:
        return
