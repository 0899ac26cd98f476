"""Export of models to the Learning to Rank module of Solr.

Solr computes in float32. In a tree, a value goes left if it is at most the threshold. Solr adds
1e-6 to every threshold that it reads; thresholds are written such that the sum is correct.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.chains import prepare_export
from rankwise.export.maps import Affine, Scaled, Trees
from rankwise.export.parts import (
    compose_scalers,
    drop_missing_tests,
    level_order,
    part_of,
    subtract_slack,
    warn_of_missing,
)
from rankwise.runtime.files import write_file
from rankwise.runtime.messages import setting
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Int64Array

_PACKAGE = "org.apache.solr.ltr"
# Largest node of ZooKeeper by default, which stores the models of SolrCloud.
LARGEST_NODE = 0xFFFFF
ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}


def to_solr(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
    store: str | None = None,
    nulls: bool = False,
    resource: str | None = None,
) -> dict[str, Any]:
    """Write a fitted model as JSON for Solr's model store.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, sum of trees or stumps, or network of sigmoid, tanh, relu or linear nodes; or
        a pipeline of scalers, encoders, imputers and such a model.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names in Solr's feature store, in the order of the columns (default: names from the fit, or
        f1, f2, ...).
    name : str, default="rankwise"
        Name of the model.
    store : str, optional
        Feature store of the names (default: Solr's default store).
    nulls : bool, default=False
        Whether Solr (9.2 or later) distinguishes missing values, of features with
        ``"defaultValue": "NaN"``, from 0. Trees then treat them as in training. False: missing
        values are 0.
    resource : str, optional
        Where Solr finds the file, such as "models/big.json" in the configuration of the
        collection, for models above the 1 MB that ZooKeeper stores. The returned model is then a
        small DefaultWrapperModel to upload. The file at ``path`` holds the model itself, and the
        wrapper is written to the same folder, with the suffix ``.wrapper.json``.

    Returns
    -------
    dict
        Model whose "class" is LinearModel, MultipleAdditiveTreesModel or NeuralNetworkModel; or a
        DefaultWrapperModel.

    Raises
    ------
    ExportError
        If the model is none of these, or splits categories.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If trees had missing values in training, or are of XGBoost, which does not tell, and
        ``nulls`` is False; or if the model is larger than the 1 MB that ZooKeeper, and so
        SolrCloud, stores by default and ``resource`` is None.

    Notes
    -----
    Scores agree with the estimator in float32. A LinearModel has no constant, so its scores are
    shifted by a constant, which keeps the order. Features that a linear model or trees do not use
    are left out, so Solr does not compute them. Scalers become normalizers of linear models and
    networks; in trees, they become part of the thresholds.

    Every float32 value takes the same path through the trees; see
    ``rankwise.export.parts.subtract_slack`` for thresholds within 1e-6 of 0.

    Composition: chain of maps x Solr's JSON.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.export import to_solr
    >>> X = [[0.0, 1.0], [2.0, 1.0], [4.0, 0.0]]
    >>> ranker = RidgeRanker(alpha=0.0).fit(X, [0, 1, 3], qid=0)
    >>> model = to_solr(ranker, features=["bm25", "isBook"], name="ridge")
    >>> model["class"], model["features"]
    ('org.apache.solr.ltr.model.LinearModel', [{'name': 'bm25'}, {'name': 'isBook'}])
    >>> {feature: round(weight, 3) for feature, weight in model["params"]["weights"].items()}
    {'bm25': 0.5, 'isBook': -1.0}
    """
    estimator, names = prepare_export(estimator, path, features)
    scalers, maps = part_of(estimator, "to_solr", tuple(ACTIVATIONS))
    match maps:
        case (Affine() as weighted,):
            kind, used, params = _linear(weighted, names)
        case (Trees() as trees,):
            kind, used, params = _trees(trees, names, nulls)
        case _:
            kind, used = "NeuralNetworkModel", np.arange(len(names))
            params = {"layers": [_layer(layer) for layer in maps]}
    scaled = compose_scalers(scalers) if scalers else None
    model: dict[str, Any] = {"class": f"{_PACKAGE}.model.{kind}", "name": name}
    if store is not None:
        model["store"] = store
    model["features"] = [{"name": names[j], **_norm(scaled, j)} for j in used.tolist()]
    model["params"] = params
    size = len(json.dumps(model))
    if size > LARGEST_NODE and resource is None:
        warnings.warn(
            f"the model is {size / 1e6:.2f} MB of JSON, more than the 1 MB that ZooKeeper stores "
            "by default: SolrCloud rejects it. Pass resource= to keep the file next to Solr and "
            "upload a DefaultWrapperModel that names it, or fit fewer or smaller trees.",
            stacklevel=2,
        )
    if path is not None:
        write_file(path, json.dumps(model, indent=1).encode())
    return model if resource is None else _wrapper(model, path, resource)


def _wrapper(model: dict[str, Any], path: str | Path | None, resource: str) -> dict[str, Any]:
    """Model that names the file of another one."""
    if not resource.strip() or resource != resource.strip():
        raise ValueError(f"resource must name the file of the model for Solr, got {resource!r}.")
    wrapper = {
        "class": f"{_PACKAGE}.model.DefaultWrapperModel",
        "name": model["name"],
        "params": {"resource": resource},
    }
    if "store" in model:
        wrapper["store"] = model["store"]
    if path is not None:
        beside = Path(path).with_suffix(".wrapper.json")
        write_file(beside, json.dumps(wrapper, indent=1).encode())
    return wrapper


def _linear(weighted: Affine, names: list[str]) -> tuple[str, Int64Array, dict[str, Any]]:
    weights = weighted.weights[:, 0]
    used = np.flatnonzero(weights)
    if not len(used):  # Solr requires a weight
        used = np.arange(len(weights))
    return "LinearModel", used, {"weights": {names[j]: float(weights[j]) for j in used}}


def _layer(layer: Any) -> dict[str, Any]:
    if isinstance(layer, Affine):
        bias, activation = layer.offset, "identity"
    else:
        bias, activation = layer.biases, ACTIVATIONS[layer.activation]
    return {"matrix": layer.weights.T.tolist(), "bias": bias.tolist(), "activation": activation}


def _trees(trees: Trees, names: list[str], nulls: bool) -> tuple[str, Int64Array, dict[str, Any]]:
    grown = list(trees.trees)
    if not nulls:
        warn_of_missing(trees, "Solr", setting("nulls", True))
        grown = [drop_missing_tests(tree) for tree in grown]
    roots = [_root(tree, names, nulls) for tree in grown]
    if trees.constant or not roots:
        roots.append({"value": _number(trees.constant)})
    params: dict[str, Any] = {} if not nulls else {"isNullSameAsZero": False}
    params["trees"] = [{"weight": "1", "root": root} for root in roots]
    asked = [tree.feature[level_order(tree)[0]] for tree in grown]
    used = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *asked]))
    return "MultipleAdditiveTreesModel", used if len(used) else np.arange(len(names)), params


def _root(tree: ScoreTree, names: list[str], nulls: bool) -> dict[str, Any]:
    thresholds = subtract_slack(tree.threshold)
    nodes: list[dict[str, Any]] = [{} for _ in tree.feature]
    for number, node in enumerate(nodes):
        feature = int(tree.feature[number])
        if feature < 0:
            node["value"] = _number(tree.values[number])
            continue
        node |= {"feature": names[feature], "threshold": _number(thresholds[number])}
        if nulls:
            node["missing"] = "left" if tree.missing_left[number] else "right"
        node |= {"left": nodes[tree.left[number]], "right": nodes[tree.right[number]]}
    return nodes[0]


def _norm(scaled: Scaled | None, column: int) -> dict[str, Any]:
    """Normalizer of a column."""
    if scaled is None:
        return {}
    center, spread = scaled.center[column], scaled.spread[column]
    if scaled.to_unit:
        kind, params = "MinMaxNormalizer", {"min": center, "max": center + spread}
    else:
        kind, params = "StandardNormalizer", {"avg": center, "std": spread}
    texts = {key: _number(value) for key, value in params.items()}
    return {"norm": {"class": f"{_PACKAGE}.norm.{kind}", "params": texts}}


def _number(value: Any) -> str:
    """Shortest text of a float32 number that Java reads."""
    number = np.float32(value)
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(number)
