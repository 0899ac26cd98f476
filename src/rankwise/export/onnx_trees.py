"""Write sums of trees as one TreeEnsembleRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from rankwise.export.float32 import floor_float32
from rankwise.export.maps import Trees
from rankwise.export.onnx_graph import DOUBLE, Graph
from rankwise.trees.score_tree import ScoreTree


def write_trees(step: Trees, graph: Graph, x: str, *, in_float64: bool) -> str:
    """Add the sum of the trees to a graph, and return the name of the scores, (n_rows, 1).

    ``x`` names the rows, in float64 or float32 by ``in_float64``; float32 thresholds decide
    equally. The scores have the type of ``x``.
    """
    # An ensemble needs a tree.
    trees = step.trees or (_constant_tree(),)
    tables = [_table(tree) for tree in trees]
    sizes = [len(table["modes"]) for table in tables]
    joined = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    leaves = joined["modes"] == "LEAF"
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_modes": joined["modes"].tolist(),
        "nodes_featureids": joined["features"].tolist(),
        "nodes_truenodeids": joined["true"].tolist(),
        "nodes_falsenodeids": joined["false"].tolist(),
        "nodes_missing_value_tracks_true": joined["missing"].tolist(),
        "target_treeids": tree_ids[leaves].tolist(),
        "target_nodeids": node_ids[leaves].tolist(),
        "target_ids": [0] * int(leaves.sum()),
    }
    thresholds, values = joined["thresholds"], joined["values"][leaves]
    if in_float64:
        attributes |= {
            "nodes_values_as_tensor": numpy_helper.from_array(thresholds, "thresholds"),
            "target_weights_as_tensor": numpy_helper.from_array(values, "values"),
            "base_values_as_tensor": numpy_helper.from_array(np.array([step.constant]), "base"),
        }
    else:
        attributes |= {
            "nodes_values": floor_float32(thresholds).tolist(),
            "target_weights": values.astype(np.float32).tolist(),
            "base_values": [float(np.float32(step.constant))],
        }
    out = graph.node("TreeEnsembleRegressor", x, domain="ai.onnx.ml", op_version=3, **attributes)
    return graph.cast(out, DOUBLE) if in_float64 else out


def _table(tree: ScoreTree) -> dict[str, Any]:
    """Columns of the attributes; a node of categories becomes a chain of tests."""
    inner = tree.feature >= 0
    table = {
        "modes": np.where(inner, "BRANCH_LEQ", "LEAF"),
        "features": np.maximum(tree.feature, 0),
        "thresholds": np.where(inner, tree.threshold, 0.0),
        "true": np.maximum(tree.left, 0),
        "false": np.maximum(tree.right, 0),
        "missing": tree.missing_left.astype(np.int64),
        "values": np.where(inner, 0.0, tree.values),
    }
    chains = [table]
    n_nodes = len(inner)
    for node, (left, right) in tree.members.items():
        # Unknown and missing values fail every test.
        if tree.missing_left[node]:
            asked, yes, no = right, tree.right[node], tree.left[node]
        else:
            asked, yes, no = left, tree.left[node], tree.right[node]
        n_more = len(asked) - 1
        following = np.append(np.arange(n_nodes, n_nodes + n_more), no)
        table["modes"][node], table["missing"][node] = "BRANCH_EQ", 0
        table["thresholds"][node], table["true"][node] = asked[0], yes
        table["false"][node] = following[0]
        chains.append(
            {
                "modes": np.full(n_more, "BRANCH_EQ"),
                "features": np.full(n_more, tree.feature[node]),
                "thresholds": asked[1:],
                "true": np.full(n_more, yes),
                "false": following[1:],
                "missing": np.zeros(n_more, dtype=np.int64),
                "values": np.zeros(n_more),
            }
        )
        n_nodes += n_more
    return {key: np.concatenate([chain[key] for chain in chains]) for key in table}


def _constant_tree() -> ScoreTree:
    none = np.array([-1])
    return ScoreTree(none, np.array([np.nan]), none, none, np.array([False]), np.zeros(1))
