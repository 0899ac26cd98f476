"""Exported files scored as the programs that read them do: by the program, or by an interpreter.

Interpreters rebuild the arithmetic of a program from its sources: float32 or float64, ``<`` or
``<=``, and its rule for missing values. They read the files with code of their own, not with that
of the exporters, because they certify what these write.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rankwise._packages import missing_package
from rankwise.export.maps import LIGHTGBM_FORBIDDEN, NONE_FORBIDDEN, XGBOOST_FORBIDDEN
from rankwise.rankers.adapters.read_booster import library_of
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array, is_sparse

_ONNX_START = b"\x08"  # its first entry, the version
_INTERPRETER = "interpreter"
_PYTHON_START = '"""Scores of '


def holds_encoders(path: Path) -> bool:
    """Whether the format of a file has the encoders and imputers of a pipeline in it."""
    return path.suffix == ".onnx" or path.read_bytes().startswith(
        (_ONNX_START, _PYTHON_START.encode())
    )


def read_exported(path: Path, names: list[str]) -> ExportedFile:
    """File that rankwise exported; the format is recognised by the content.

    ``names`` are the names of the columns, for formats that refer to features by name. ValueError:
    the file has no known format, is damaged, or names other features. ImportError: it is ONNX and
    onnxruntime is not installed.
    """
    data = path.read_bytes()
    if path.suffix == ".onnx" or data.startswith(_ONNX_START):
        reader, score = onnx_score(path)
        return ExportedFile("onnx", reader, score, dtype=np.float32)
    try:
        text = data.decode()
        if text.startswith("tree\n"):
            return _read_lightgbm(path, text, names)
        if text.startswith("## "):
            return ranklib_file(text)
        if text.startswith(_PYTHON_START):
            module: dict[str, Any] = {"__name__": path.stem}
            exec(compile(text, str(path), "exec"), module)
            check_names(list(module["FEATURES"]), names, NONE_FORBIDDEN)
            return ExportedFile("python", f"NumPy {np.__version__}", module["score"])
        return _read_json(path, json.loads(text), names)
    except KeyError as error:
        raise ValueError(
            f"{path.name} cannot be verified: it is damaged or no export of rankwise, it lacks "
            f"{error}."
        ) from error
    except (IndexError, TypeError, AttributeError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path.name} cannot be verified: {error}") from error


def _read_lightgbm(path: Path, text: str, names: list[str]) -> ExportedFile:
    listed = re.search(r"^feature_names=(.*)$", text, re.MULTILINE)
    check_names(listed.group(1).split(" ") if listed else [], names)
    check_tree_sizes(text.encode())
    trees = lightgbm_trees(text)
    found = lightgbm_score(path)
    reader, score = found or (_INTERPRETER, lambda X: sum_trees(trees, X))
    return ExportedFile("lightgbm", reader, score, trees, smallest=1e-35)


def _read_json(path: Path, model: Any, names: list[str]) -> ExportedFile:
    if "learner" in model:
        listed = model["learner"].get("feature_names") or names
        check_names(listed, names, XGBOOST_FORBIDDEN)
        trees, constant = xgboost_trees(model)
        found = xgboost_score(path, listed)
        reader, score = found or (_INTERPRETER, lambda X: sum_trees(trees, X, constant))
        return ExportedFile("xgboost", reader, score, trees, np.float32)
    if model.get("class", "").startswith("org.apache.solr.ltr.model."):
        return solr_file(model, names)
    if model.get("model_type") == "tree_ensemble":
        return _interpret("elasticsearch native", native_trees(model, names))
    if "tree_info" in model:
        return _interpret("vespa", vespa_trees(model, names))
    if model["model"]["model"]["type"] == "model/xgboost+json":
        trees = opensearch_trees(model, names)
        return _interpret("opensearch", trees, dtype=np.float32, is_shifted=True)
    return plugin_file(model, names)


def _interpret(format: str, trees: tuple[EngineTree, ...], **traits: Any) -> ExportedFile:
    """A file whose trees are interpreted here."""
    return ExportedFile(format, _INTERPRETER, lambda X: sum_trees(trees, X), trees, **traits)


Score = Callable[[NDArray[Any]], Float64Array]


def lightgbm_score(path: Path) -> tuple[str, Score] | None:
    """Name and score function of LightGBM; None if it is not installed.

    The file must have passed :func:`check_tree_sizes`.
    """
    if find_spec("lightgbm") is None:
        return None
    import lightgbm

    booster = lightgbm.Booster(model_file=path)

    def score(X: NDArray[Any]) -> Float64Array:
        return np.asarray(booster.predict(X, raw_score=True, num_threads=1), dtype=np.float64)

    return f"LightGBM {lightgbm.__version__}", score


def xgboost_score(path: Path, names: Sequence[str] = ()) -> tuple[str, Score] | None:
    """Name and score function of XGBoost; None if it is not installed.

    ValueError is raised if XGBoost reads other feature names than ``names``.
    """
    if find_spec("xgboost") is None:
        return None
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(path.read_bytes()))  # a path would need the suffix .json
    if booster.feature_names and names and booster.feature_names != list(names):
        raise ValueError(f"XGBoost reads its feature names as {booster.feature_names}.")

    def score(X: NDArray[Any]) -> Float64Array:
        rows = X.astype(np.float32)
        return np.asarray(booster.inplace_predict(rows, predict_type="margin"), dtype=np.float64)

    return f"XGBoost {xgboost.__version__}", score


def onnx_score(path: Path) -> tuple[str, Score]:
    """Name and score function of onnxruntime.

    ImportError is raised if it is not installed: ONNX files have no interpreter here.
    """
    if find_spec("onnxruntime") is None:
        raise missing_package("Scoring an ONNX file", "onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def score(X: NDArray[Any]) -> Float64Array:
        (found,) = session.run(["score"], {"X": X.astype(np.float32)})
        return np.asarray(found, dtype=np.float64)[:, 0]

    return f"onnxruntime {version('onnxruntime')}", score


def library_scores(model: Any, X: Any) -> Float64Array:
    """Scores (n_samples,) before the link function, by the library that trained a model.

    Absent entries of CSR are zeros, as in exported files.
    """
    rows = X.toarray() if is_sparse(X) else X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = _SCORES[str(library_of(model))](model, rows)
    return np.asarray(found, dtype=np.float64).reshape(-1)


def _score_with_lightgbm(model: Any, X: Any) -> Any:
    scores = model.predict(X, raw_score=True)
    booster = getattr(model, "booster_", model)
    # Raw scores of random forests are sums, of which their files are means.
    text = booster.model_to_string()
    is_mean = "\naverage_output\n" in text.partition("\nTree=")[0]
    return scores / max(text.count("\nTree="), 1) if is_mean else scores


_SCORES: dict[str, Callable[[Any, Any], Any]] = {
    "lightgbm": _score_with_lightgbm,
    "xgboost": lambda model, X: (
        model.predict(X, output_margin=True, validate_features=False)
        if hasattr(model, "get_booster")
        else model.inplace_predict(X, predict_type="margin", validate_features=False)
    ),
    "catboost": lambda model, X: model.predict(X, prediction_type="RawFormulaVal"),
}

RIGHT, LEFT, AS_ZERO = 0, 1, 2  # ways of missing values


@dataclass(frozen=True)
class Split:
    """A node of a nested tree."""

    column: int
    threshold: float
    missing: int
    left: Any
    right: Any


@dataclass(frozen=True, eq=False)
class EngineTree:
    """One tree; node 0 is the root, and all arrays are (n_nodes,).

    ``sets`` maps nodes to the categories that go left and to those that go right, of which one may
    be None for all others. With both, unknown ones go the way of missing values.
    """

    feature: Int64Array  # column of the test; -1 at leaves
    # Float32 or float64; rows are converted to this type before they are compared
    threshold: NDArray[Any]
    left: Int64Array
    right: Int64Array
    missing: Int64Array  # RIGHT, LEFT or AS_ZERO
    values: NDArray[Any]  # of the type of the thresholds
    is_strict: bool = False  # whether a value goes left if it is below the threshold, not at most
    sets: dict[int, tuple[Float64Array | None, Float64Array | None]] = field(default_factory=dict)

    def goes_left(self, nodes: Int64Array, x: NDArray[Any]) -> NDArray[np.bool_]:
        """Side of each value at its node."""
        x = x.astype(self.threshold.dtype)
        missing, threshold = self.missing[nodes], self.threshold[nodes]
        absent = np.isnan(x)
        x = np.where(absent & (missing == AS_ZERO), x.dtype.type(0), x)
        with np.errstate(invalid="ignore"):
            left = x < threshold if self.is_strict else x <= threshold
        left = np.where(absent & (missing != AS_ZERO), missing == LEFT, left)
        for node in np.unique(nodes).tolist() if self.sets else ():
            if node in self.sets:
                here = (nodes == node) & ~absent
                to_left, to_right = self.sets[node]
                is_left = to_left is not None and np.isin(x[here], to_left)
                is_right = to_right is not None and np.isin(x[here], to_right)
                others_left = to_left is None or (
                    to_right is not None and self.missing[node] == LEFT
                )
                left[here] = is_left | (~is_right & others_left)
        return left

    def leaves(self, X: NDArray[Any]) -> Int64Array:
        """Leaf of every row."""
        nodes = np.zeros(len(X), dtype=np.int64)
        active = np.flatnonzero(self.feature[nodes] >= 0)
        while len(active):
            at = nodes[active]
            left = self.goes_left(at, X[active, self.feature[at]])
            nodes[active] = np.where(left, self.left[at], self.right[at])
            active = active[self.feature[nodes[active]] >= 0]
        return nodes

    @classmethod
    def of(cls, tree: ScoreTree) -> EngineTree:
        """A tree of a model, in float64."""
        return cls(
            tree.feature,
            tree.threshold,
            tree.left,
            tree.right,
            tree.missing_left.astype(np.int64),
            tree.values,
            sets=dict(tree.members),
        )

    @classmethod
    def flatten(
        cls, root: Any, read: Callable[[Any], Split | float], dtype: Any, *, is_strict: bool
    ) -> EngineTree:
        """A tree of nested nodes, which ``read`` turns into splits and values of leaves."""
        nodes: list[Any] = [root]
        rows: list[tuple[int, float, int, int, int, float]] = []
        for node in nodes:
            match read(node):
                case Split(column, threshold, missing, left, right):
                    rows.append((column, threshold, len(nodes), len(nodes) + 1, missing, 0.0))
                    nodes += [left, right]
                case value:
                    rows.append((-1, np.nan, -1, -1, RIGHT, float(value)))
        feature, threshold, left, right, missing, values = map(np.array, zip(*rows, strict=True))
        return cls(
            feature, threshold.astype(dtype), left, right, missing, values.astype(dtype),
            is_strict,
        )  # fmt: skip


def sum_trees(trees: tuple[EngineTree, ...], X: NDArray[Any], constant: float = 0.0) -> Any:
    """Sum of the leaves of every row, in the arithmetic of the trees."""
    dtype = trees[0].values.dtype if trees else np.dtype(np.float64)
    out = np.full(len(X), constant, dtype=dtype)
    for tree in trees:
        out += tree.values[tree.leaves(X)]
    return out.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ExportedFile:
    """A file that can score rows."""

    format: str
    reader: str  # program that computes the scores, with its version; or "interpreter"
    score: Callable[[NDArray[Any]], Float64Array]  # scores (n,) of float64 rows
    trees: tuple[EngineTree, ...] = ()  # empty if the file has none or they are not interpreted
    dtype: Any = np.float64  # type in which the program adds
    takes_missing: bool = True  # whether missing values have sides; else they are 0
    # Whether the program has no constant, so that all scores differ by one number
    is_shifted: bool = False
    smallest: float = 0.0  # values of at most this size may count as 0
    # Whether Solr's slack is added to thresholds, so that some cannot be represented
    has_slack: bool = False


def column_of(names: Sequence[str], name: str) -> int:
    """Number of the column that a file calls by its name; ValueError if the model has none."""
    if name not in names:
        raise ValueError(
            f"it asks for the feature {name!r}, which is not among those of the model: "
            f"{list(names)}. Pass the features=[...] of the export."
        )
    return list(names).index(name)


def check_names(
    found: Sequence[str], names: Sequence[str], forbidden: re.Pattern[str] = LIGHTGBM_FORBIDDEN
) -> None:
    """Check that a file has the features of the model in their order.

    ``forbidden`` matches the characters that the format replaces by "_".
    """
    if len(found) != len(names):
        raise ValueError(f"it has {len(found)} features, and the model {len(names)}.")
    for column, (there, here) in enumerate(zip(found, names, strict=True)):
        default = (f"f{column + 1}", f"Column_{column}")
        same = there.rstrip("_") == forbidden.sub("_", here).rstrip("_")
        if not same and not (there in default and here in default):
            raise ValueError(
                f"its feature {column} is {there!r}, but that of the model is {here!r}. Pass the "
                "features=[...] of the export in the order of the columns."
            )


def require_value(where: str, found: Any, *allowed: Any) -> None:
    """Check that an entry has a value that the exporter writes and that is interpreted here."""
    if found not in allowed:
        raise ValueError(f"{where} must be {' or '.join(map(repr, allowed))}, got {found!r}.")


def check_tree_sizes(data: bytes) -> None:
    """Check that the trees of LightGBM's text have the sizes of its header.

    LightGBM ends the whole process if they have not.
    """
    head, _, _ = data.partition(b"\nTree=")
    sizes = re.search(rb"^tree_sizes=(.*)$", head, re.MULTILINE)
    if sizes is None:
        return
    start = len(head) + 1
    for number, word in enumerate(sizes.group(1).split()):
        end = start + int(word)
        if not data[start:].startswith(b"Tree=%d\n" % number) or data[end - 1 : end] != b"\n":
            break
        start = end
    if not data[start:].startswith(b"end of trees"):
        raise ValueError(
            "its trees have other sizes than tree_sizes in its header says, so LightGBM cannot "
            "load it. It was changed after it was written; export again."
        )


_CATEGORICAL, _DEFAULT_LEFT, _MISSING_KIND, _NAN = 1, 2, 12, 8


def lightgbm_trees(text: str) -> tuple[EngineTree, ...]:
    """Trees of LightGBM's text: float64, at most, sets of categories go left."""
    body = text.partition("\nend of trees")[0]
    return tuple(_lightgbm_tree(block) for block in body.split("\nTree=")[1:])


def _lightgbm_tree(block: str) -> EngineTree:
    lines = [line.partition("=") for line in block.split("\n")]
    words = {key: value.split() for key, _, value in lines}
    values = np.array(words["leaf_value"], dtype=np.float64)
    n_inner, n_leaves = len(values) - 1, len(values)

    def inner(key: str, dtype: Any) -> Any:
        return np.array(words.get(key, [])[:n_inner], dtype=dtype)

    kinds = inner("decision_type", np.int64)
    threshold = inner("threshold", np.float64)
    children = [inner(key, np.int64) for key in ("left_child", "right_child")]
    left, right = (np.where(side < 0, n_inner - 1 - side, side) for side in children)
    sides = np.where(kinds & _DEFAULT_LEFT, LEFT, RIGHT)
    missing = np.where((kinds & _MISSING_KIND) == _NAN, sides, AS_ZERO)
    sets = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL).tolist():
        ends, place = words["cat_boundaries"], int(threshold[node])
        numbers = [int(word) for word in words["cat_threshold"]]
        chosen = numbers[int(ends[place]) : int(ends[place + 1])]
        members = [32 * k + bit for k, word in enumerate(chosen) for bit in range(32)
                   if word >> bit & 1]  # fmt: skip
        sets[node] = (np.array(members, dtype=np.float64), None)
        missing[node] = RIGHT
    none = np.full(n_leaves, -1)
    return EngineTree(
        np.concatenate([inner("split_feature", np.int64), none]),
        np.concatenate([threshold, np.full(n_leaves, np.nan)]),
        np.concatenate([left, none]).astype(np.int64),
        np.concatenate([right, none]).astype(np.int64),
        np.concatenate([missing, np.zeros(n_leaves, dtype=np.int64)]).astype(np.int64),
        np.concatenate([np.zeros(n_inner), values]),
        sets=sets,
    )


def xgboost_trees(model: dict[str, Any]) -> tuple[tuple[EngineTree, ...], float]:
    """Trees of XGBoost's JSON and the constant: float32, below."""
    learner = model["learner"]
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        left = np.array(tree["left_children"], dtype=np.int64)
        inner = left >= 0
        numbers = np.array(tree["split_conditions"], dtype=np.float32)
        sets: dict[int, tuple[Any, Any]] = {}
        for place, node in enumerate(tree["categories_nodes"]):
            first, size = tree["categories_segments"][place], tree["categories_sizes"][place]
            # Listed categories go right, any other one left.
            sets[node] = (None, np.array(tree["categories"][first : first + size], "f8"))
        trees.append(
            EngineTree(
                np.where(inner, tree["split_indices"], -1).astype(np.int64),
                numbers,
                left,
                np.array(tree["right_children"], dtype=np.int64),
                np.array(tree["default_left"], dtype=np.int64),
                np.where(inner, np.float32(0), numbers),
                is_strict=True,
                sets=sets,
            )
        )
    base = learner["learner_model_param"]["base_score"].strip("[]")
    return tuple(trees), float(np.float32(base))


def opensearch_trees(body: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of a dump in the plugin: float32, below, by the names of the features."""

    def read(node: dict[str, Any]) -> Split | float:
        if "leaf" in node:
            return node["leaf"]
        children = {child["nodeid"]: child for child in node["children"]}
        side = LEFT if node["missing"] == node["yes"] else RIGHT
        left, right = children[node["yes"]], children[node["no"]]
        column = column_of(names, node["split"])
        return Split(column, node["split_condition"], side, left, right)

    splits = json.loads(body["model"]["model"]["definition"])["splits"]
    return tuple(EngineTree.flatten(root, read, np.float32, is_strict=True) for root in splits)


def native_trees(body: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of an ensemble of Elasticsearch: float64, at most."""
    ensemble = body["definition"]["trained_model"]["ensemble"]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    trees = []
    for model, weight in zip(ensemble["trained_models"], weights, strict=True):
        nodes = {node["node_index"]: node for node in model["tree"]["tree_structure"]}
        require_value("a tree's feature_names", model["tree"]["feature_names"],
                      ensemble["feature_names"])  # fmt: skip
        columns = [column_of(names, name) for name in ensemble["feature_names"]]

        def read(
            node: dict[str, Any], nodes: Any = nodes, columns: Any = columns, weight: Any = weight
        ) -> Split | float:
            if "leaf_value" in node:
                return weight * node["leaf_value"]
            require_value("decision_type", node["decision_type"], "lte")
            left, right = nodes[node["left_child"]], nodes[node["right_child"]]
            side = LEFT if node["default_left"] else RIGHT
            return Split(columns[node["split_feature"]], node["threshold"], side, left, right)

        trees.append(EngineTree.flatten(nodes[0], read, np.float64, is_strict=False))
    return tuple(trees)


def vespa_trees(model: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of LightGBM's dump in Vespa: float64, below."""
    columns = [column_of(names, name) for name in model["feature_names"]]

    def read(node: dict[str, Any]) -> Split | float:
        if "leaf_value" in node:
            return node["leaf_value"]
        require_value("decision_type", node["decision_type"], "<=")
        require_value("missing_type", node["missing_type"], "NaN")
        side = LEFT if node["default_left"] else RIGHT
        left, right = node["left_child"], node["right_child"]
        return Split(columns[node["split_feature"]], node["threshold"], side, left, right)

    roots = [tree["tree_structure"] for tree in model["tree_info"]]
    return tuple(EngineTree.flatten(root, read, np.float64, is_strict=True) for root in roots)


F = np.float32
_SOLR_SLACK = F(1e-6)


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
        return _interpret(
            "solr", trees, dtype=F, takes_missing=nulls, smallest=float(_SOLR_SLACK), has_slack=True
        )

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
    return _interpret(format, trees, dtype=F, takes_missing=False)


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
