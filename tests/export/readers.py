"""Scores of exported files, computed as the engines' own programs do: in float32, node by node.

Written from the sources of Solr's ltr module, RankLib, and the Elasticsearch plugin; nothing here
calls rankwise.
"""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np

F = np.float32
SLACK = F(1e-6)


def solr_scores(model, columns):
    """Scores by a Solr model; ``columns``: float32 values by feature name."""
    names = [feature["name"] for feature in model["features"]]
    values = [np.array(columns[name], dtype=F) for name in names]
    kind, params = model["class"].rpartition(".")[2], model["params"]
    nulls = params.get("isNullSameAsZero", True)
    if nulls:
        values = [np.nan_to_num(column, nan=0.0) for column in values]
    normed = [
        _solr_norm(feature, column)
        for feature, column in zip(model["features"], values, strict=True)
    ]
    return np.array([_SOLR[kind](params, names, row) for row in np.stack(normed, axis=1)])


def _solr_norm(feature, column):
    if "norm" not in feature:
        return column
    kind = feature["norm"]["class"].rpartition(".")[2]
    params = {key: F(value) for key, value in feature["norm"]["params"].items()}
    if kind == "MinMaxNormalizer":
        delta = params["max"] - params["min"]
        assert delta != 0
        return (column - params["min"]) / delta
    assert kind == "StandardNormalizer" and params["std"] > 0
    return (column - params["avg"]) / params["std"]


def _solr_linear(params, names, row):
    score = F(0)
    for name, value in zip(names, row, strict=True):
        score += value * F(params["weights"][name])
    return score


def _solr_trees(params, names, row):
    assert isinstance(params["trees"], list)
    score = F(0)
    for tree in params["trees"]:
        node = tree["root"]
        while "feature" in node:
            value = row[names.index(node["feature"])]
            if np.isnan(value):
                node = node[node["missing"]]
            else:
                node = node["left" if value <= F(node["threshold"]) + SLACK else "right"]
        assert set(node) == {"value"} and isinstance(node["value"], str)
        score += F(tree["weight"]) * F(node["value"])
    return score


def _solr_network(params, names, row):
    out = row
    for layer in params["layers"]:
        matrix, bias = np.array(layer["matrix"], dtype=F), np.array(layer["bias"], dtype=F)
        assert matrix.shape == (len(bias), len(out))
        out = _SOLR_ACTIVATIONS[layer["activation"]](bias + matrix @ out)
    assert out.shape == (1,)
    return out[0]


_SOLR = {
    "LinearModel": _solr_linear,
    "MultipleAdditiveTreesModel": _solr_trees,
    "NeuralNetworkModel": _solr_network,
}
_SOLR_ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.where(z < 0, F(0), z),
    "tanh": lambda z: np.tanh(z.astype(float)).astype(F),
    "sigmoid": lambda z: (1 / (1 + np.exp(-z.astype(float)))).astype(F),
}


def ranklib_scores(text, X):
    """Scores by a RankLib model file; feature 1 is the first column, NaN is 0."""
    name, *lines = text.split("\n")
    body = [line.strip() for line in lines if not line.startswith("##")]
    values = np.nan_to_num(np.asarray(X, dtype=F), nan=0.0)
    if name == "## Linear Regression":
        (line,) = [line for line in body if line]
        pairs = [entry.split(":") for entry in line.split(" ")]
        weights = {int(number): float(weight) for number, weight in pairs}
        return np.array([
            weights[0] + sum(weights[j] * float(row[j - 1]) for j in weights if j)
            for row in values
        ])  # fmt: skip
    assert name == "## LambdaMART"
    ensemble = ElementTree.fromstring("".join(body))
    scores = np.zeros(len(values), dtype=F)
    for i, row in enumerate(values):
        for tree in ensemble:
            scores[i] += F(_ranklib_leaf(tree[0], row)) * F(tree.get("weight"))
    return scores


def _ranklib_leaf(split, row):
    while split[0].tag == "feature":
        feature, threshold, left, right = split  # in this order, as RankLib takes them
        assert (left.get("pos"), right.get("pos")) == ("left", "right")
        split = left if row[int(feature.text) - 1] <= F(threshold.text) else right
    assert split[0].tag == "output"
    return F(split[0].text)


def elasticsearch_scores(body, feature_set, X):
    """Scores by the body of a ``_createmodel`` request; columns are the feature set in order."""
    assert set(body) == {"model"} and set(body["model"]) == {"name", "model"}
    model = body["model"]["model"]
    values = np.nan_to_num(np.asarray(X, dtype=F), nan=0.0).copy()
    for name, norm in model.get("feature_normalizers", {}).items():
        column = values[:, feature_set.index(name)]
        ((kind, params),) = norm.items()
        if kind == "min_max":
            low, high = F(params["minimum"]), F(params["maximum"])
            assert 0 <= low < high
            column[:] = (column - low) / (high - low)
        else:
            assert kind == "standard" and params["standard_deviation"] > 0
            column[:] = (column - F(params["mean"])) / F(params["standard_deviation"])
    if model["type"] == "model/ranklib":
        return ranklib_scores(model["definition"], values)
    assert model["type"] == "model/linear"
    weights = np.zeros(len(feature_set), dtype=F)
    for name, weight in json.loads(model["definition"]).items():
        weights[feature_set.index(name)] = weight
    scores = np.zeros(len(values), dtype=F)
    for j, weight in enumerate(weights):
        scores += weight * values[:, j]
    return scores


def opensearch_scores(body, names, X):
    """Scores by the plugin's parser of XGBoost's dumps, of versions that follow ``missing``."""
    model = body["model"]["model"]
    assert model["type"] == "model/xgboost+json"
    columns = {name: X[:, column].astype(F) for column, name in enumerate(names)}
    splits = json.loads(model["definition"])["splits"]
    return np.array([_dump_sum(splits, columns, row) for row in range(len(X))])


def _dump_sum(splits, columns, row):
    total = F(0)
    for node in splits:
        while "leaf" not in node:
            value = columns[node["split"]][row]
            if np.isnan(value):
                chosen = node["missing"]
            else:
                chosen = node["yes"] if F(node["split_condition"]) > value else node["no"]
            (node,) = (child for child in node["children"] if child["nodeid"] == chosen)
        total = F(total + F(node["leaf"]))
    return total


def native_scores(body, names, X):
    """Scores by Elasticsearch's inference ensemble, in float64."""
    ensemble = body["definition"]["trained_model"]["ensemble"]
    trees = [model["tree"] for model in ensemble["trained_models"]]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    assert len(weights) == len(trees) and ensemble["feature_names"] == list(names)
    out = np.zeros(len(X))
    for weight, tree in zip(weights, trees, strict=True):
        nodes = tree["tree_structure"]
        assert [node["node_index"] for node in nodes] == list(range(len(nodes)))
        out += [weight * _native_leaf(nodes, row) for row in X]
    return out


def _native_leaf(nodes, row):
    node = nodes[0]
    while "leaf_value" not in node:
        value = row[node["split_feature"]]
        if not np.isfinite(value):
            left = node["default_left"]
        else:
            assert node["decision_type"] == "lte"
            left = value <= node["threshold"]
        node = nodes[node["left_child" if left else "right_child"]]
    return node["leaf_value"]


def vespa_scores(model, names, X):
    """Scores by Vespa's importer of LightGBM's dump: if (feature < threshold, ..., ...)."""
    assert model["feature_names"] == list(names)
    return np.array(
        [sum(_vespa_leaf(tree["tree_structure"], row) for tree in model["tree_info"]) for row in X]
    )


def _vespa_leaf(node, row):
    while "leaf_value" not in node:
        value, threshold = row[node["split_feature"]], node["threshold"]
        assert node["decision_type"] == "<="
        # default_left is written as !(feature >= threshold), which NaN fulfils.
        left = not (value >= threshold) if node["default_left"] else value < threshold
        node = node["left_child" if left else "right_child"]
    return node["leaf_value"]
