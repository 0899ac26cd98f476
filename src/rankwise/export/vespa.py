"""Export of sums of trees to Vespa: a model file of LightGBM's dump and a rank profile.

Vespa computes in float64 and sends a value left if it is below the threshold, although LightGBM
means at most; the next float64 number above each threshold is therefore written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.chains import prepare_export
from rankwise.export.maps import ExportError, Trees
from rankwise.export.parts import level_order, mean_values, node_weights, trees_of
from rankwise.runtime.files import write_file
from rankwise.trees.tree_ensemble import ScoreTree

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A rank feature, such as bm25(title) or fieldMatch(title,0.5).completeness, or a function.
_FEATURE = re.compile(r"[A-Za-z_][\w.]*(\([^(){}\"\\\s]*\))?(\.\w+)*", re.ASCII)
_LARGEST = 1.7976931348623157e308
_BELOW_LARGEST = float(np.nextafter(_LARGEST, 0.0))


def to_vespa(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
) -> dict[str, Any]:
    """Write a sum of trees as a model file and a rank profile of Vespa.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        LambdaMART, ranking tree or forest, boosted stumps, an adapter of a boosting library, or a
        blend of trees; or a pipeline of scalers and such a model.
    path : path-like, optional
        Model file to write in addition, to be stored as ``models/NAME.json`` in the application
        package. The profile is written beside it, with the suffix ``.profile``.
    features : sequence of str, optional
        Rank features or functions in the order of the columns, such as "bm25(title)" (default:
        names from the fit, or f1, f2, ...).
    name : str, default="rankwise"
        Name of the profile and of the model file, without ".json".

    Returns
    -------
    dict
        "model": content of the model file, as LightGBM dumps it. "profile": text of the profile,
        which ranks by the model in the first phase.

    Raises
    ------
    ExportError
        If the model is no sum of trees, or splits unordered categories.
    ValueError
        If the names do not match the columns, or cannot be rank features or names of Vespa.

    Notes
    -----
    Scores are sums of float64 leaves on the branches of the model, of all float64 rows. Thresholds
    are moved to the next float64 number, because Vespa tests ``<``. Vespa's missing values are NaN,
    which not all rank features return: give attributes a default of NaN where training had one.

    Composition: sum of trees x LightGBM's dump x a rank profile.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_vespa
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> written = to_vespa(tree, features=["bm25(title)"], name="tree")
    >>> print(written["profile"])
    rank-profile tree inherits default {
        first-phase {
            expression: lightgbm("tree.json")
        }
        match-features {
            bm25(title)
        }
    }
    <BLANKLINE>
    """
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"name must be letters, digits and _ for Vespa, got {name!r}.")
    estimator, names = prepare_export(estimator, path, features)
    odd = [feature for feature in names if not _FEATURE.fullmatch(feature)]
    if odd:
        raise ValueError(
            f"features must be rank features or functions of Vespa, such as bm25(title), got "
            f"{odd[0]!r}. Pass features=[...]."
        )
    trees = trees_of(estimator, "to_vespa")
    model = _dump(trees, names)
    used = sorted({int(column) for tree in trees.trees for column in tree.feature if column >= 0})
    listed = "".join(f"        {names[column]}\n" for column in used)
    shown = f"    match-features {{\n{listed}    }}\n" if used else ""
    profile = (
        f"rank-profile {name} inherits default {{\n    first-phase {{\n"
        f'        expression: lightgbm("{name}.json")\n    }}\n{shown}}}\n'
    )
    if path is not None:
        write_file(path, json.dumps(model, indent=1).encode())
        write_file(Path(path).with_suffix(".profile"), profile.encode())
    return {"model": model, "profile": profile}


def _dump(trees: Trees, names: list[str]) -> dict[str, Any]:
    """Model in the shape of LightGBM's ``dump_model``."""
    roots = [_root(tree) for tree in trees.trees]
    if trees.constant or not roots:
        roots.insert(0, {"leaf_value": float(trees.constant)})
    infos = [
        {"tree_index": number, "num_cat": 0, "shrinkage": 1, "tree_structure": root}
        for number, root in enumerate(roots)
    ]
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": names,
        "tree_info": infos,
        "pandas_categorical": [],
    }


def _root(tree: ScoreTree) -> dict[str, Any]:
    for node in tree.members:
        raise ExportError(
            f"column {tree.feature[node]} has unordered categories, which to_vespa does not write. "
            "Encode them as columns of 0 and 1, or use to_onnx, which Vespa reads too."
        )
    inner, leaves = level_order(tree)
    weights = node_weights(tree)
    means = mean_values(tree, weights)
    # x < nextafter(T) holds for the same float64 numbers x as x <= T.
    thresholds = np.nextafter(np.clip(tree.threshold, -_LARGEST, _BELOW_LARGEST), np.inf)
    nodes: dict[int, dict[str, Any]] = {node: {} for node in (*inner, *leaves)}
    for number, node in enumerate(inner):
        nodes[node] |= {
            "split_index": number,
            "split_feature": int(tree.feature[node]),
            "split_gain": 0.0 if tree.gain is None else float(tree.gain[node]),
            "threshold": float(thresholds[node]),
            "decision_type": "<=",
            "default_left": bool(tree.missing_left[node]),
            "missing_type": "NaN",
            "internal_value": float(means[node]),
            "internal_weight": float(weights[node]),
            "internal_count": round(float(weights[node])),
            "left_child": nodes[int(tree.left[node])],
            "right_child": nodes[int(tree.right[node])],
        }
    for number, node in enumerate(leaves):
        nodes[node] |= {
            "leaf_index": number,
            "leaf_value": float(tree.values[node]),
            "leaf_weight": float(weights[node]),
            "leaf_count": round(float(weights[node])),
        }
    return nodes[0]
