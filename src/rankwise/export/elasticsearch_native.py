"""Inference ensembles of Elasticsearch's own learning to rank (``learning_to_rank`` rescorer).

Elasticsearch computes in float64. ``lte`` sends a value left if it is at most the threshold;
missing values follow ``default_left``.
"""

from __future__ import annotations

from typing import Any

from rankwise.export.maps import ExportError, Trees
from rankwise.export.tree_part import level_order, node_weights
from rankwise.trees.score_tree import ScoreTree

# Infinite thresholds, which part missing values from all others, have no JSON number.
_LARGEST = 1.7976931348623157e308


def native_body(trees: Trees, names: list[str]) -> dict[str, Any]:
    """Body of ``PUT _ml/trained_models/NAME``.

    Raises
    ------
    ExportError
        If a tree splits unordered categories.
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
    for node in tree.members:
        raise ExportError(
            f"column {tree.feature[node]} has unordered categories, which ensembles of "
            "Elasticsearch cannot split. Encode them as columns of 0 and 1, or use to_lightgbm."
        )
    inner, leaves = level_order(tree)
    place = {node: number for number, node in enumerate([*inner, *leaves])}
    weights = node_weights(tree)
    nodes: list[dict[str, Any]] = []
    for node in inner:
        nodes.append(
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
        )
    for node in leaves:
        nodes.append(
            {
                "node_index": place[node],
                "leaf_value": float(tree.values[node]),
                "number_samples": round(float(weights[node])),
            }
        )
    return nodes
