"""Names and checks of a model archive, before any object in it is built."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

# Bound methods, partial objects, operators and constructors with arguments do not belong in a model
# file: they could call a trusted type with arguments chosen by the file.
_LOADERS = frozenset({
    "ObjectNode", "JsonNode", "DictNode", "DefaultDictNode", "ListNode", "TupleNode", "SetNode",
    "SliceNode", "BytesNode", "BytearrayNode", "NdArrayNode", "MaskedArrayNode", "DTypeNode",
    "SparseMatrixNode", "RandomStateNode", "RandomGeneratorNode", "TypeNode", "FunctionNode",
    "LossNode", "TreeNode", "CachedNode",
})  # fmt: skip
CHANGED = "The file is damaged or was changed: save the model again."
SCHEMA = "schema.json"  # the tree of objects, written by skops
_PACKAGE = "rankwise"


class ModelFileError(ValueError):
    """The file is not a model of this library, is damaged, or holds untrusted content."""


def use_stable_names(schema: Any, modules: Mapping[str, str]) -> None:
    """Name the classes of this library ``rankwise.NAME`` in a tree of objects, in place.

    ``modules`` holds the module that defines each class. A file thus does not depend on where the
    code of a class is: classes can move, and their names stay.
    """
    for entry in dicts_of(schema):
        if modules.get(entry.get("__class__", "")) == entry.get("__module__", ""):
            entry["__module__"] = _PACKAGE


def use_modules(schema: Any, modules: Mapping[str, str]) -> bool:
    """Replace stable names by the modules of today, in place; whether any entry changed.

    Files of format 1 name the module in which a class was then. Class names are unique within the
    library, so any module of the library stands for the class of that name; none is imported
    because a file names it.
    """
    changed = False
    for entry in dicts_of(schema):
        module, name = entry.get("__module__"), entry.get("__class__")
        is_ours = isinstance(module, str) and module.partition(".")[0] == _PACKAGE
        if is_ours and isinstance(name, str) and modules.get(name, module) != module:
            entry["__module__"] = modules[name]
            changed = True
    return changed


def replace_schema(data: bytes, schema: Any, header: tuple[str, str] | None = None) -> bytes:
    """Copy of an archive with another tree of objects, and a further entry (its name and text)."""
    target = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as old, ZipFile(target, "w", ZIP_STORED) as new:
        for entry in old.infolist():
            is_schema = entry.filename == SCHEMA
            new.writestr(entry.filename, json.dumps(schema) if is_schema else old.read(entry))
        if header is not None:
            new.writestr(*header)
    return target.getvalue()


def check_loaders(node: Any, path: str | os.PathLike[str]) -> None:
    """Refuse a tree of objects with entry types that ``save`` never writes."""
    for entry in dicts_of(node):
        loader = entry.get("__loader__", "ObjectNode")
        if isinstance(loader, str) and loader not in _LOADERS:
            raise ModelFileError(
                f"{path} holds a {loader} for {entry.get('__module__')}."
                f"{entry.get('__class__')}, which no model needs. Do not trust this file."
            )


def check_array_files(
    archive: ZipFile, schema: Any, path: str | os.PathLike[str], max_bytes: int
) -> None:
    """Refuse arrays whose header asks for more memory than their entry has bytes.

    The schema, not the name of an entry, determines how an entry is read. An entry read by several
    objects would take its memory several times.
    """
    unpacked, readers = 0, {}
    for node in dicts_of(schema):
        if not isinstance(name := node.get("file"), str):
            continue
        reader = node.get("__loader__"), node.get("__id__")
        if name in readers:
            if reader != readers[name] or reader[1] is None:
                raise ModelFileError(f"{path} has several objects read {name}. {CHANGED}")
            continue
        readers[name] = reader
        if reader[0] == "NdArrayNode":
            _check_array_size(archive, archive.getinfo(name))
        elif reader[0] == "SparseMatrixNode":
            with archive.open(name) as file, ZipFile(file) as parts:
                unpacked += sum(part.file_size for part in parts.infolist())
                if unpacked > max_bytes:
                    raise ModelFileError(
                        f"{path} holds sparse matrices of more than max_bytes={max_bytes} bytes. "
                        "Raise max_bytes if you trust the file."
                    )
                for part in parts.infolist():
                    _check_array_size(parts, part)


def _check_array_size(archive: ZipFile, entry: ZipInfo) -> None:
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read_header(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject or expected != entry.file_size:
        raise ValueError(
            f"{entry.filename} must have {expected} bytes for shape {shape} and dtype {dtype}, "
            f"got {entry.file_size}"
        )


def dicts_of(node: Any) -> Iterator[dict[str, Any]]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
