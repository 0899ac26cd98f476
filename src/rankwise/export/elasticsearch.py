"""Export of models to Elasticsearch: its own ensembles, its Learning to Rank plugin, and RankLib.

The plugins of Elasticsearch and OpenSearch read RankLib's text format, which numbers features from
1 and stores thresholds and leaf values in float32. A value goes left if it is at most the
threshold. Missing values are read as 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.chains import own_model, prepare_export
from rankwise.export.maps import Affine, Trees
from rankwise.export.parts import (
    ModelPart,
    compose_scalers,
    constant_tree,
    drop_missing_tests,
    level_order,
    node_weights,
    part_of,
    trees_of,
    warn_of_missing,
)
from rankwise.runtime.files import write_file
from rankwise.runtime.messages import setting
from rankwise.trees.tree_ensemble import ScoreTree

# Infinite thresholds, which part missing values from all others, have no JSON number.
_LARGEST = 1.7976931348623157e308


def to_elasticsearch(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
    native: bool = False,
) -> dict[str, Any]:
    """Write a fitted model for Elasticsearch: the Learning to Rank plugin's, or its own ensemble.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, or sum of trees or stumps; or a pipeline of scalers, encoders, imputers and
        such a model.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names in the feature set, in the order of the columns (default: names from the fit, or f1,
        f2, ...).
    name : str, default="rankwise"
        Name of the model in the plugin.
    native : bool, default=False
        Whether to write an ensemble for Elasticsearch's own ``learning_to_rank`` rescorer, which
        takes sums of trees only.

    Returns
    -------
    dict
        False: body of ``POST _ltr/_featureset/SET/_createmodel``, a "model/linear", with
        ``feature_normalizers`` for a scaler, or a "model/ranklib" of trees, which refers to
        features by their numbers in the feature set. True: body of
        ``PUT _ml/trained_models/NAME``; add the queries of the features to its
        ``feature_extractors``.

    Raises
    ------
    ExportError
        If the model is neither, or splits categories.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If trees had missing values in training, or are of XGBoost, which does not tell, and
        ``native`` is False, since a feature that does not match is 0.

    Notes
    -----
    Native ensembles compute in float64 with the thresholds of the model, and follow missing values
    as in training. The plugins compute in float32. Their linear models have no constant, so all
    scores are shifted by a constant, which keeps the order. Every float32 value takes the same path
    through the trees.

    Composition: chain of maps x the plugins' JSON.

    Examples
    --------
    >>> from rankwise import RidgeRanker
    >>> from rankwise.export import to_elasticsearch
    >>> ranker = RidgeRanker(alpha=0.0).fit([[0.0], [2.0], [4.0]], [0, 1, 2], qid=0)
    >>> model = to_elasticsearch(ranker, features=["title_query"])["model"]["model"]
    >>> model["type"], model["definition"]
    ('model/linear', '{"title_query": 0.5}')
    """
    estimator, names = prepare_export(estimator, path, features)
    if native:
        body = native_body(trees_of(estimator, "to_elasticsearch(native=True)"), names)
    else:
        model = _plugin_model(part_of(estimator, "to_elasticsearch"), names)
        body = {"model": {"name": name, "model": model}}
    if path is not None:
        write_file(path, json.dumps(body, indent=1).encode())
    return body


def _plugin_model(part: ModelPart, names: list[str]) -> dict[str, Any]:
    scalers, (last,) = part
    if not isinstance(last, Affine):
        text = ranklib_text(part, "Elasticsearch", setting("native", True))
        return {"type": "model/ranklib", "definition": text}
    weights = dict(zip(names, last.weights[:, 0].tolist(), strict=True))
    model: dict[str, Any] = {"type": "model/linear", "definition": json.dumps(weights)}
    if scalers:
        scaled = compose_scalers(scalers)
        columns = zip(names, scaled.center.tolist(), scaled.spread.tolist(), strict=True)
        model["feature_normalizers"] = {
            # The plugins accept no minimum below 0.
            name: {"min_max": {"minimum": center, "maximum": center + spread}}
            if scaled.to_unit and center >= 0
            else {"standard": {"mean": center, "standard_deviation": spread}}
            for name, center, spread in columns
        }
    return model


def native_body(trees: Trees, names: list[str]) -> dict[str, Any]:
    """Body of ``PUT _ml/trained_models/NAME``.

    Elasticsearch computes in float64. ``lte`` sends a value left if it is at most the threshold;
    missing values follow ``default_left``.
    """
    grown: list[list[dict[str, Any]]] = [_nodes(tree) for tree in trees.trees]
    if trees.constant or not grown:
        grown.append([{"node_index": 0, "leaf_value": trees.constant}])
    models = [
        {
            "tree": {
                "feature_names": names,
                "tree_structure": nodes,
                "target_type": "regression",
            }
        }
        for nodes in grown
    ]
    ensemble = {
        "feature_names": names,
        "trained_models": models,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(models)}},
        "target_type": "regression",
    }
    return {
        "model_type": "tree_ensemble",
        "input": {"field_names": names},
        "inference_config": {"learning_to_rank": {"feature_extractors": []}},
        "definition": {"preprocessors": [], "trained_model": {"ensemble": ensemble}},
    }


def _nodes(tree: ScoreTree) -> list[dict[str, Any]]:
    inner, leaves = level_order(tree)
    place = {node: number for number, node in enumerate([*inner, *leaves])}
    weights = node_weights(tree)
    splits: list[dict[str, Any]] = [
        {
            "node_index": place[node],
            "split_feature": int(tree.feature[node]),
            "threshold": min(max(float(tree.threshold[node]), -_LARGEST), _LARGEST),
            "decision_type": "lte",
            "default_left": bool(tree.missing_left[node]),
            "left_child": place[int(tree.left[node])],
            "right_child": place[int(tree.right[node])],
            "number_samples": round(float(weights[node])),
            "split_gain": 0.0 if tree.gain is None else float(tree.gain[node]),
        }
        for node in inner
    ]
    return splits + [
        {
            "node_index": place[node],
            "leaf_value": float(tree.values[node]),
            "number_samples": round(float(weights[node])),
        }
        for node in leaves
    ]


def to_ranklib(estimator: Any, path: str | Path | None = None) -> str:
    """Write a fitted model in RankLib's format.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        Linear model, or sum of trees or stumps; or a pipeline of scalers, encoders, imputers and
        such a model.
    path : path-like, optional
        File to write in addition.

    Returns
    -------
    str
        "## Linear Regression" with a constant and weights, or "## LambdaMART" with an ensemble of
        trees. The first column is feature 1.

    Raises
    ------
    ExportError
        If the model is neither, or splits categories.

    Warns
    -----
    UserWarning
        If trees had missing values in training, or are of XGBoost, which does not tell.

    Notes
    -----
    Linear models are exact in float64; scalers and constants are part of the weights. Every float32
    value takes the same path through the trees; scores are sums of float32 numbers.

    Composition: chain of maps x RankLib's text.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_ranklib
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> print(to_ranklib(tree))
    ## LambdaMART
    ## No. of trees = 1
    <BLANKLINE>
    <ensemble>
      <tree id="1" weight="1.0">
        <split>
          <feature> 1 </feature>
          <threshold> 2.0 </threshold>
          <split pos="left">
            <output> 0.0 </output>
          </split>
          <split pos="right">
            <output> 1.0 </output>
          </split>
        </split>
      </tree>
    </ensemble>
    <BLANKLINE>
    """
    text = ranklib_text(part_of(own_model(estimator), "to_ranklib"), "RankLib")
    if path is not None:
        write_file(path, text.encode("ascii"))
    return text


def ranklib_text(part: ModelPart, format: str, instead: str = "") -> str:
    """Text of a linear model or of trees; ``format`` and ``instead`` are used in warnings."""
    scalers, (last,) = part
    if isinstance(last, Affine):
        weights, constant = last.weights[:, 0], float(last.offset[0])
        for step in reversed(scalers):  # weights for the features before scaling
            weights = weights / step.spread
            constant -= float(weights @ step.center)
        entries = [f"{number}:{weight!r}" for number, weight in enumerate(weights.tolist(), 1)]
        line = " ".join([f"0:{constant!r}", *entries])
        return f"## Linear Regression\n## Lambda = 0.0\n{line}\n"
    assert isinstance(last, Trees)
    warn_of_missing(last, format, instead)
    grown = [drop_missing_tests(tree) for tree in last.trees]
    if last.constant or not grown:
        grown.append(constant_tree(last.constant))
    roots = [_split(tree, 0, 2) for tree in grown]
    lines = ["## LambdaMART", f"## No. of trees = {len(roots)}", "", "<ensemble>"]
    for number, root in enumerate(roots, 1):
        lines += [f'  <tree id="{number}" weight="1.0">', *root, "  </tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _split(tree: ScoreTree, root: int, depth: int) -> list[str]:
    """Lines of a tree, with a stack instead of recursion, for trees of any depth."""
    lines: list[str] = []
    waiting: list[tuple[int, int, str] | str] = [(root, depth, "")]
    while waiting:
        now = waiting.pop()
        if isinstance(now, str):
            lines.append(now)
            continue
        node, level, side = now
        indent = "  " * level
        lines.append(f"{indent}<split{side}>")
        waiting.append(f"{indent}</split>")
        if tree.feature[node] < 0:
            lines.append(f"{indent}  <output> {_number(tree.values[node])} </output>")
            continue
        lines.append(f"{indent}  <feature> {int(tree.feature[node]) + 1} </feature>")
        lines.append(f"{indent}  <threshold> {_number(tree.threshold[node])} </threshold>")
        waiting.append((int(tree.right[node]), level + 1, ' pos="right"'))
        waiting.append((int(tree.left[node]), level + 1, ' pos="left"'))
    return lines


def _number(value: Any) -> str:
    """Shortest text of a float32 number."""
    return str(np.float32(value))
