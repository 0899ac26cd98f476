"""Reader of model files that hold only plain values, arrays and trusted classes.

Importing skops takes seconds: to learn the names of estimators, it imports all of scikit-learn, and
with it PyTorch and Dask if they are installed. Most models of this library consist of a few entry
types, which this module reads with the same meaning as skops [1]_. skops reads files with any other
entry type.

References
----------
.. [1] https://skops.readthedocs.io/en/stable/persistence.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any
from zipfile import ZipFile

import numpy as np

from rankwise.structure.archives import dicts_of

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
    if schema.get("protocol") != PROTOCOL or not all(
        map(partial(_is_plain, trusted), _entries(schema))
    ):
        return None
    return _Reader(archive).read(schema)


def _entries(schema: Any) -> list[dict[str, Any]]:
    return [node for node in dicts_of(schema) if "__loader__" in node]


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
