"""Interpreters of the files of Solr, RankLib and the Elasticsearch plugin, in float32."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rankwise.export.parity.engine_trees import (
    AS_ZERO,
    LEFT,
    RIGHT,
    EngineTree,
    Split,
    sum_trees,
)
from rankwise.export.parity.exported_file import ExportedFile
from rankwise.export.parity.file_checks import column_of
from rankwise.typing import Float64Array

F = np.float32
_SOLR_SLACK = F(1e-6)
_INTERPRETER = "interpreter"


def solr_file(model: dict[str, Any], names: list[str]) -> ExportedFile:
    """A model of Solr's ltr module."""
    kind, params = model["class"].rpartition(".")[2], model["params"]
    if kind == "DefaultWrapperModel":
        raise ValueError(
            "the file is a DefaultWrapperModel, which only names another file: verify that one "
            f"({params['resource']})."
        )
    used = [column_of(names, feature["name"]) for feature in model["features"]]
    if kind == "MultipleAdditiveTreesModel":
        nulls = not params.get("isNullSameAsZero", True)
        listed = [feature["name"] for feature in model["features"]]
        if any("norm" in feature for feature in model["features"]):
            raise ValueError("it normalizes features of trees, which the exporter never does.")
        trees = tuple(_solr_tree(tree, names, listed, nulls) for tree in params["trees"])
        # No sum with the slack equals some thresholds beside 0.
        return ExportedFile(
            "solr", _INTERPRETER, lambda X: sum_trees(trees, X), trees, F, takes_missing=nulls,
            smallest=float(_SOLR_SLACK), has_slack=True,
        )  # fmt: skip

    def normed(X: NDArray[Any]) -> Any:
        columns = [
            _solr_norm(feature.get("norm"), np.nan_to_num(X[:, j].astype(F), nan=0.0))
            for feature, j in zip(model["features"], used, strict=True)
        ]
        return np.stack(columns, axis=1)

    if kind == "LinearModel":
        weights = [F(params["weights"][names[j]]) for j in used]

        def linear(X: NDArray[Any]) -> Float64Array:
            return _weighted_sum(normed(X), weights)

        return ExportedFile(
            "solr", _INTERPRETER, linear, dtype=F, takes_missing=False, is_shifted=True
        )

    def network(X: NDArray[Any]) -> Float64Array:
        out = normed(X)
        for layer in params["layers"]:
            matrix, bias = np.array(layer["matrix"], dtype=F), np.array(layer["bias"], dtype=F)
            out = _ACTIVATIONS[layer["activation"]](out @ matrix.T + bias)
        return out[:, 0].astype(np.float64)

    return ExportedFile("solr", _INTERPRETER, network, dtype=F, takes_missing=False)


def _solr_tree(
    tree: dict[str, Any], names: list[str], listed: list[str], nulls: bool
) -> EngineTree:
    def read(node: dict[str, Any]) -> Split | float:
        if "feature" not in node:
            return float(F(tree["weight"]) * F(node["value"]))
        missing = (LEFT if node["missing"] == "left" else RIGHT) if nulls else AS_ZERO
        threshold = float(F(node["threshold"]) + _SOLR_SLACK)
        if node["feature"] not in listed:
            raise ValueError(f"a tree tests {node['feature']!r}, which 'features' does not list.")
        column = column_of(names, node["feature"])
        return Split(column, threshold, missing, node["left"], node["right"])

    return EngineTree.flatten(tree["root"], read, F, is_strict=False)


def _solr_norm(norm: dict[str, Any] | None, column: Any) -> Any:
    if norm is None:
        return column
    params = {key: F(value) for key, value in norm["params"].items()}
    if norm["class"].endswith("MinMaxNormalizer"):
        return (column - params["min"]) / (params["max"] - params["min"])
    return (column - params["avg"]) / params["std"]


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, F(0)),
    "tanh": np.tanh,
    "sigmoid": lambda z: (1.0 / (1.0 + np.exp(-z.astype(np.float64)))).astype(F),
}


def _weighted_sum(X: Any, weights: Any) -> Float64Array:
    out = np.zeros(len(X), dtype=F)
    for column, weight in zip(X.T, weights, strict=True):
        out += column * F(weight)
    return out.astype(np.float64)


def ranklib_file(text: str, format: str = "ranklib") -> ExportedFile:
    """A model of RankLib: trees in float32, or a linear model in float64."""
    first, *lines = text.split("\n")
    body = [line.strip() for line in lines if not line.startswith("##") and line.strip()]
    if first == "## Linear Regression":
        pairs = [entry.split(":") for entry in body[0].split(" ")]
        weights = np.array([float(weight) for _, weight in pairs])

        def linear(X: NDArray[Any]) -> Float64Array:
            return np.nan_to_num(X.astype(F).astype(np.float64)) @ weights[1:] + weights[0]

        return ExportedFile(format, _INTERPRETER, linear, takes_missing=False, dtype=F)
    ensemble = ElementTree.fromstring("".join(body))
    trees = tuple(_ranklib_tree(tree) for tree in ensemble)
    return ExportedFile(
        format, _INTERPRETER, lambda X: sum_trees(trees, X), trees, F, takes_missing=False
    )


def _ranklib_tree(tree: Any) -> EngineTree:
    weight = F(tree.get("weight"))

    def read(split: Any) -> Split | float:
        if split[0].tag == "output":
            return float(F(split[0].text) * weight)
        feature, threshold, left, right = split
        return Split(int(feature.text) - 1, float(F(threshold.text)), AS_ZERO, left, right)

    return EngineTree.flatten(tree[0], read, F, is_strict=False)


def plugin_file(body: dict[str, Any], names: list[str]) -> ExportedFile:
    """A "model/ranklib" or "model/linear" of the Elasticsearch plugin."""
    model = body["model"]["model"]
    if model["type"] == "model/ranklib":
        return ranklib_file(model["definition"], "elasticsearch")
    weights, norms = json.loads(model["definition"]), model.get("feature_normalizers", {})

    def linear(X: NDArray[Any]) -> Float64Array:
        columns = np.nan_to_num(X.astype(F), nan=0.0)
        for name, norm in norms.items():
            ((kind, params),) = norm.items()
            low = F(params["minimum" if kind == "min_max" else "mean"])
            if kind == "min_max":
                spread = F(params["maximum"]) - low
            else:
                spread = F(params["standard_deviation"])
            j = column_of(names, name)
            columns[:, j] = (columns[:, j] - low) / spread
        return _weighted_sum(columns, [weights[name] for name in names])

    return ExportedFile(
        "elasticsearch", _INTERPRETER, linear, dtype=F, takes_missing=False, is_shifted=True
    )
