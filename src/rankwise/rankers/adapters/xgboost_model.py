"""XGBoost's JSON model, or the same content as UBJSON [1]_.

Since version 3.1 a model lists the categories of data frames: ``cats.enc`` has the texts or the
numbers of each column. Earlier models only have codes.

References
----------
.. [1] https://ubjson.org, Draft 12.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.trees.stored_boosters import (
    BoosterError,
    StoredModel,
    StoredTrees,
    xgboost_learner_trees,
)

# Objectives by the function that makes a margin of base_score.
_IDENTITY = (
    "rank:", "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror",
    "reg:squaredlogerror", "reg:quantileerror",
)  # fmt: skip
_LOGIT = ("binary:logistic", "reg:logistic")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie")


def xgboost_model(model: dict[str, Any]) -> StoredModel:
    """Read the description of a model.

    Linear boosters, several scores per row and unknown objectives are not supported.
    """
    learner = model["learner"]
    booster, shape = learner["gradient_booster"], learner["learner_model_param"]
    kind = booster["name"]
    if kind not in ("gbtree", "dart"):
        raise BoosterError(f"the XGBoost model is a {kind!r} booster; only trees are supported.")
    if int(shape["num_class"]) > 1 or int(shape.get("num_target", "1")) > 1:
        raise BoosterError(
            f"the XGBoost model has num_class={shape['num_class']} and "
            f"num_target={shape.get('num_target', '1')}. Only models with one score per row are "
            "supported."
        )
    n_features = int(shape["num_feature"])
    forest = (booster["gbtree"] if kind == "dart" else booster)["model"]
    enc = (forest.get("cats") or {}).get("enc") or []
    listed = {
        column: _list_categories(entry) for column, entry in enumerate(enc) if entry["values"]
    }
    nominal = set(listed)
    for tree in forest["trees"]:
        nominal.update(tree["split_indices"][node] for node in tree.get("categories_nodes", []))
    names = learner.get("feature_names") or None
    weights = booster["weight_drop"] if kind == "dart" else None
    constant = _margin(shape["base_score"], learner["objective"]["name"])
    return StoredModel(
        "XGBoost",
        n_features,
        names,
        nominal,
        {column: values for column, values in listed.items() if values is not None},
        lambda n_categories: _trees(forest, constant, weights, n_categories),
        in_float32=True,
    )


def _trees(forest: Any, constant: float, weights: Any, n_categories: Any) -> StoredTrees:
    for number, tree in enumerate(forest["trees"]):
        if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
            raise BoosterError(f"tree {number} of the XGBoost model has several scores per leaf.")
        if "split_type" not in tree:  # before categories were known
            tree["split_type"] = [0] * len(tree["left_children"])
            tree["categories_nodes"] = []
    stored = xgboost_learner_trees(forest["trees"], constant, n_categories)
    if weights is None:
        return stored
    # XGBoost multiplies in float32.
    scaled = [
        replace(tree, values=(np.float32(weight) * tree.values.astype(np.float32)).astype("f8"))
        for tree, weight in zip(stored.trees, weights, strict=True)
    ]
    return replace(stored, trees=tuple(scaled))


def _margin(base_score: Any, objective: str) -> float:
    """Constant of the scores before the link function, in float32."""
    text = str(base_score).strip("[]")
    base = np.float32(text)
    if objective.startswith(_IDENTITY):
        return float(base)
    if objective in _LOGIT and 0 < base < 1:
        return float(-np.log(np.float32(1.0) / base - np.float32(1.0)))
    if objective in _LOG and base > 0:
        return float(np.log(base))
    raise BoosterError(
        f"objective {objective!r} of the XGBoost model is not supported: what base_score={text} "
        "adds to the scores is not known. Use a ranking, regression or logistic objective."
    )


def _list_categories(entry: dict[str, Any]) -> list[Any] | None:
    """Categories of a column; None if their text cannot be read.

    XGBoost counts the characters of text that is not ASCII where it should count bytes, so that
    names are cut at wrong places and the last ones are lost.
    """
    values = entry["values"]
    if "offsets" not in entry:
        return list(values)
    if not all(0 <= value < 128 for value in values):
        return None
    raw = bytes(values)
    return [raw[start:end].decode("ascii") for start, end in pairwise(entry["offsets"])]


_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4",
            b"D": ">f8"}  # fmt: skip
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}
_MAX_DEPTH = 64


def read_ubjson(data: bytes) -> Any:
    """Value of a document; arrays of one number type become lists of Python numbers.

    At most 64 levels may be nested.
    """
    reader = _DocumentReader(data)
    value = reader.value(reader.take(1), 0)
    if reader.place != len(data):
        raise ValueError(f"UBJSON ends at byte {reader.place} of {len(data)}.")
    return value


class _DocumentReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.place + size > len(self.data):
            raise ValueError(f"UBJSON is cut off at byte {self.place}.")
        taken = self.data[self.place : self.place + size]
        self.place += size
        return taken

    def value(self, kind: bytes, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"UBJSON nests more than {_MAX_DEPTH} levels.")
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.take(self.size()).decode()
        if kind == b"C":
            return self.take(1).decode()
        if kind == b"[":
            return self._array(depth)
        if kind == b"{":
            return self._object(depth)
        raise ValueError(f"UBJSON has an unknown type {kind!r} at byte {self.place - 1}.")

    def size(self) -> int:
        kind = self.take(1)
        size = self.value(kind, 0) if kind in _NUMBERS else -1
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"UBJSON has no size at byte {self.place}.")
        return size

    def _header(self) -> tuple[bytes | None, int | None]:
        """Type and number of the items, where the container states them."""
        kind = None
        if self.data[self.place : self.place + 1] == b"$":
            self.take(1)
            kind = self.take(1)
            if kind in _CONSTANTS:  # items without bytes: any number of them fits into a file
                raise ValueError("UBJSON has a list of constants, which is not supported.")
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            return kind, self.size()
        return kind, None

    def _array(self, depth: int) -> list[Any]:
        kind, size = self._header()
        if kind in _NUMBERS and size is not None:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype).tolist()
        items = []
        while size is None or len(items) < size:
            marker = self.take(1) if kind is None else kind
            if size is None and marker == b"]":
                break
            items.append(self.value(marker, depth + 1))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        kind, size = self._header()
        items: dict[str, Any] = {}
        while size is None or len(items) < size:
            if size is None and self.data[self.place : self.place + 1] == b"}":
                self.take(1)
                break
            name = self.take(self.size()).decode()
            items[name] = self.value(self.take(1) if kind is None else kind, depth + 1)
        return items
