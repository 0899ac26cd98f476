"""Content of model archives: names of classes, checks before any object is built, and a reader.

Importing skops takes seconds: to learn the names of estimators, it imports all of scikit-learn, and
with it PyTorch and Dask if they are installed. Most models of this library consist of a few entry
types, which this module reads with the same meaning as skops [1]_. skops reads files with any other
entry type.

References
----------
.. [1] https://skops.readthedocs.io/en/stable/persistence.html
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
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


PROTOCOL = 2  # of skops; entries of other protocols may mean something else
_BUILTINS = {f"builtins.{kind.__name__}": kind for kind in (str, int, float, bool)}
_SCALARS = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "float32", "float64", "int8", "int16", "int32", "int64", "uint64")
)
# Packages of scikit-learn with public classes that precede a ranker in a pipeline.
_STEPS = frozenset({"compose", "feature_selection", "impute", "pipeline", "preprocessing"})


def read_plain(archive: ZipFile, schema: Any, trusted: Collection[str]) -> Any:
    """The estimator of a model file, or None if the file needs skops.

    ``schema`` is the tree of entries, checked by :mod:`rankwise.structure.archives`. ``trusted``
    has the full names of the classes that may be built. No other module is imported.
    """
    entries = [node for node in dicts_of(schema) if "__loader__" in node]
    if schema.get("protocol") != PROTOCOL or not all(_is_plain(trusted, e) for e in entries):
        return None
    return _Reader(archive).read(schema)


def _name(entry: dict[str, Any]) -> str:
    return f"{entry['__module__']}.{entry['__class__']}"


def _is_plain(trusted: Collection[str], entry: dict[str, Any]) -> bool:
    name = _name(entry)
    match entry["__loader__"]:
        case "JsonNode":
            return True
        case "DictNode" | "ListNode" | "TupleNode" | "BytesNode":
            kind = entry["__loader__"].removesuffix("Node").lower()
            return name == f"builtins.{kind}"
        case "TypeNode":
            return name in _BUILTINS
        case "NdArrayNode":
            return name == "numpy.ndarray" or (entry["type"] == "numpy" and name in _SCALARS)
        case "ObjectNode":
            ours = name.startswith("rankwise.") and name in trusted
            return ours or _step(entry) is not None
    return False


def _step(entry: dict[str, Any]) -> type | None:
    """The public class of scikit-learn that an entry names; None for any other class."""
    root, package, *_ = [*entry["__module__"].split("."), ""]
    if root != "sklearn" or package not in _STEPS:
        return None
    found = getattr(import_module(f"sklearn.{package}"), entry["__class__"], None)
    is_public = isinstance(found, type) and not entry["__class__"].startswith("_")
    return found if is_public and found.__module__ == entry["__module__"] else None


class _Reader:
    """Builds the objects of an archive; an object referenced twice is built once."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._built: dict[Any, Any] = {}
        self._readers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "JsonNode": lambda entry: json.loads(entry["content"]),
            "TypeNode": lambda entry: _BUILTINS[_name(entry)],
            "BytesNode": lambda entry: archive.read(entry["file"]),
            "ListNode": lambda entry: [self.read(item) for item in entry["content"]],
            "TupleNode": lambda entry: tuple(self.read(item) for item in entry["content"]),
            "DictNode": self._dict,
            "NdArrayNode": self._array,
            "ObjectNode": self._object,
        }

    def read(self, entry: dict[str, Any]) -> Any:
        """The object of an entry."""
        number = entry.get("__id__")
        if number in self._built:
            return self._built[number]
        value = self._readers[entry["__loader__"]](entry)
        if number:
            self._built[number] = value
        return value

    def _dict(self, entry: dict[str, Any]) -> dict[Any, Any]:
        kinds = self.read(entry["key_types"])
        items = zip(kinds, entry["content"].items(), strict=True)
        return {kind(key): self.read(value) for kind, (key, value) in items}

    def _array(self, entry: dict[str, Any]) -> Any:
        if entry["type"] == "numpy":
            with self._archive.open(entry["file"]) as file:
                values = np.lib.format.read_array(file, allow_pickle=False)
            is_array = entry["__class__"] == "ndarray"
            return values if is_array else getattr(np, entry["__class__"])(values)
        items = [self.read(item) for item in entry["content"]]
        if len(self.read(entry["shape"])) != 1:
            return np.array(items, dtype=object)
        values = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            values[place] = item
        return values

    def _object(self, entry: dict[str, Any]) -> Any:
        cls: Any = _step(entry) or getattr(import_module(entry["__module__"]), entry["__class__"])
        built = cls.__new__(cls)
        state = None if entry.get("content") is None else self.read(entry["content"])
        if state is not None and hasattr(built, "__setstate__"):
            built.__setstate__(state)
        elif state is not None:
            built.__dict__.update(state)
        return built
