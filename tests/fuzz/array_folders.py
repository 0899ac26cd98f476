"""Folders of arrays as dicts from file name to bytes, the same in every run."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.runtime.array_folder import HEADER, sign_header


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder, with names of arrays that do not end at random."""
    ends = re.compile(r"-[0-9a-f]{8}\.npy")
    files = {
        ends.sub("-00000000.npy", path.name): path.read_bytes() for path in sorted(folder.iterdir())
    }
    header = json.loads(ends.sub("-00000000.npy", files[HEADER].decode()))
    header["signature"] = sign_header(header)
    files[HEADER] = json.dumps(header).encode()
    return files


def as_npy(array: Any) -> bytes:
    """The bytes of a file of an array."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def agree(files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let the header state the arrays as they are, and sign it; return both."""
    header, arrays = json.loads(files[HEADER]), {}
    for name, entry in header["arrays"].items():
        arrays[name] = array = np.load(io.BytesIO(files[entry["file"]]))
        entry |= {"dtype": array.dtype.str, "shape": array.shape}
    if "texts" in arrays:  # of an index
        for name in header["sha256"]:
            header["sha256"][name] = hashlib.sha256(arrays[name].tobytes()).hexdigest()
    header["signature"] = sign_header(header)
    files[HEADER] = json.dumps(header).encode()
    return header, arrays
