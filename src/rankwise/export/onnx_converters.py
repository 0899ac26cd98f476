"""Converters for skl2onnx, which then converts pipelines with our estimators.

Every map becomes nodes of an ONNX graph in float64; a sum of trees is one TreeEnsembleRegressor.
"""

from __future__ import annotations

import sys
from functools import singledispatch
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from skl2onnx import convert_sklearn, get_model_alias, update_registered_converter
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from rankwise._registry import REGISTRY, Entry
from rankwise.export.chains import (
    chain_of,
    class_chain,
    is_exportable,
    label_values,
    own_model,
)
from rankwise.export.column_steps import encode_one_hot, encoders_of
from rankwise.export.maps import (
    Affine,
    Chain,
    ExportError,
    HiddenNodes,
    KernelValues,
    MadeColumns,
    RunningSums,
    Scaled,
    Sum,
    Terms,
    Trees,
    VoteMean,
    steps_of,
)
from rankwise.export.parts import check_float32_keys, constant_tree, floor_float32
from rankwise.prediction import innermost
from rankwise.rankers.adapters.read_booster import ImportedBooster
from rankwise.trees.tree_ensemble import ScoreTree

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


class Graph:
    """Graph under construction, with the operations used by maps, all in float64.

    ``scope`` and ``container`` are the arguments that skl2onnx passes to a converter.
    """

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def node(
        self, operation: str, *inputs: str, out: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node, and return the name of its output."""
        out = out or self._scope.get_unique_variable_name(f"{operation.lower()}_out")
        name = self._scope.get_unique_operator_name(operation)
        self._container.add_node(
            operation, list(inputs), [out], op_domain=domain, name=name, **attributes
        )
        return out

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add an array of numbers or text, and return its name."""
        array = np.asarray(values)
        name = self._scope.get_unique_variable_name("constant")
        if array.dtype.kind in "OSU":
            text = [str(value) for value in array.ravel()]
            self._container.add_initializer(name, TensorProto.STRING, list(array.shape), text)
            return name
        array = np.ascontiguousarray(array, dtype=dtype)
        tensor = numpy_helper.from_array(array, name)
        self._container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
        return name

    def cast(self, name: str, to: int, out: str = "") -> str:
        """Cast to another type of numbers."""
        return self.node("Cast", name, out=out, to=to)

    def affine(self, name: str, weights: Any, offset: Any) -> str:
        """``x @ weights + offset``."""
        product = self.node("MatMul", name, self.constant(weights))
        if not np.any(offset):
            return product
        return self.node("Add", product, self.constant(offset))

    def sum(self, name: str, axis: int, *, keep: bool) -> str:
        """Sum over an axis."""
        axes = self.constant([axis], np.int64)
        return self.node("ReduceSum", name, axes, keepdims=int(keep))

    def padded(self, name: str, *, before: int, after: int, value: float) -> str:
        """Pad a matrix with columns of one value."""
        pads = self.constant([0, before, 0, after], np.int64)
        return self.node("Pad", name, pads, self.constant(value))

    def squared_distances(self, name: str, rows: Any) -> str:
        """``|x - z|_2^2`` for all rows z; both are centred first to keep precision."""
        middle = rows.mean(axis=0)
        rows = rows - middle
        centred = self.node("Sub", name, self.constant(middle))
        norms = self.sum(self.node("Mul", centred, centred), 1, keep=True)
        both = self.node("Add", norms, self.constant((rows**2).sum(axis=1)))
        products = self.node("MatMul", centred, self.constant(2.0 * rows.T))
        return self.node("Max", self.node("Sub", both, products), self.constant(0.0))

    def absolute_distances(self, name: str, rows: Any) -> str:
        """``|x - z|_1`` for all rows z, row by row of x, to avoid a three-dimensional array."""
        n, d = rows.shape
        known = numpy_helper.from_array(np.ascontiguousarray(rows), "rows")
        columns = numpy_helper.from_array(np.array([1]), "columns")
        body = helper.make_graph(
            [
                helper.make_node("Sub", ["rows", "row"], ["differences"]),
                helper.make_node("Abs", ["differences"], ["sizes"]),
                helper.make_node("ReduceSum", ["sizes", "columns"], ["distances"], keepdims=0),
            ],
            "distances_of_a_row",
            [helper.make_tensor_value_info("row", DOUBLE, [d])],
            [helper.make_tensor_value_info("distances", DOUBLE, [n])],
            [known, columns],
        )
        return self.node("Scan", name, body=body, num_scan_inputs=1)


def write_trees(step: Trees, graph: Graph, x: str, *, in_float64: bool) -> str:
    """Add the sum of the trees to a graph, and return the name of the scores, (n_rows, 1).

    ``x`` names the rows, in float64 or float32 by ``in_float64``; float32 thresholds decide
    equally. The scores have the type of ``x``.
    """
    step = step.with_float32_keys()
    # An ensemble needs a tree.
    trees = step.trees or (constant_tree(0.0),)
    tables = [_table(tree) for tree in trees]
    # Categories are compared as float32 numbers.
    columns = sorted(step.keys() if in_float64 else step.encoded)
    if columns:
        x = _prepend_values(step, columns, graph, x, in_float64=in_float64)
        first = {column: number for number, column in enumerate(columns)}
        for table in tables:
            tested = table["features"].tolist()
            table["features"] = np.array([first.get(j, len(first) + j) for j in tested])
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


def _prepend_values(
    step: Trees, columns: list[int], graph: Graph, x: str, *, in_float64: bool
) -> str:
    """Rows that begin with what trees compare of columns of categories: keys or their values."""
    found = []
    for column in columns:
        keys = graph.node("Gather", x, graph.constant([column], np.int64), axis=1)
        values = graph.cast(keys, FLOAT)
        if column in step.encoded:
            known = step.encoded[column]
            values = graph.node(
                "LabelEncoder", values, domain="ai.onnx.ml", op_version=2,
                keys_floats=known.keys.tolist(), values_floats=known.values.tolist(),
                default_float=known.prior,
            )  # fmt: skip
            # LabelEncoder takes NaN for an unknown key.
            missing = graph.constant(np.nan, np.float32)
            values = graph.node("Where", graph.node("IsNaN", keys), missing, values)
        found.append(graph.cast(values, DOUBLE) if in_float64 else values)
    return graph.node("Concat", *found, x, axis=1)


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


_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "sine": "Sin"}


@singledispatch
def write(step: Any, graph: Graph, x: str) -> str:
    """Add the nodes of a map of ``x``, a float64 matrix, and return the name of the result."""
    raise TypeError(f"write takes the maps of rankwise.export.maps, got {type(step).__name__}.")


@write.register
def _(step: Affine, graph: Graph, x: str) -> str:
    return graph.affine(x, step.weights, step.offset)


@write.register
def _(step: MadeColumns, graph: Graph, x: str) -> str:
    sources, keys, fillings = map(np.array, zip(*step.numbers(), strict=True))
    x = graph.node("Gather", x, graph.constant(sources, np.int64), axis=1)
    is_key = graph.node("Equal", graph.cast(x, FLOAT), graph.constant(keys, np.float32))
    is_encoded = graph.constant(~np.isnan(keys), np.bool_)
    values = graph.node("Where", is_encoded, graph.cast(is_key, DOUBLE), x)
    is_filled = graph.node(
        "And", graph.node("IsNaN", x), graph.constant(~np.isnan(fillings), np.bool_)
    )
    return graph.node("Where", is_filled, graph.constant(fillings), values)


@write.register
def _(step: Scaled, graph: Graph, x: str) -> str:
    if step.factor is not None and step.shift is not None:
        product = graph.node("Mul", x, graph.constant(step.factor))
        return graph.node("Add", product, graph.constant(step.shift))
    above = graph.node("Sub", x, graph.constant(step.center)) if step.center.any() else x
    return graph.node("Div", above, graph.constant(step.spread))


@write.register
def _(step: HiddenNodes, graph: Graph, x: str) -> str:
    if step.activation == "gaussian":
        distances = graph.squared_distances(x, step.weights.T)
        return graph.node("Exp", graph.node("Mul", distances, graph.constant(-step.biases)))
    sums = graph.affine(x, step.weights, step.biases)
    if step.activation == "hardlimit":
        return graph.cast(graph.node("GreaterOrEqual", sums, graph.constant(0.0)), DOUBLE)
    return graph.node(_ACTIVATIONS[step.activation], sums)


@write.register
def _(step: KernelValues, graph: Graph, x: str) -> str:
    kernel, rows = step.kernel, step.rows
    if kernel.name in ("polynomial", "sigmoid"):
        assert kernel.gamma is not None
        inner = graph.affine(x, kernel.gamma * rows.T, kernel.coef0 * np.ones(len(rows)))
        if kernel.name == "sigmoid":
            return graph.node("Tanh", inner)
        return graph.node("Pow", inner, graph.constant(float(kernel.degree)))
    if kernel.name in ("rbf", "perceptron"):
        distances = graph.squared_distances(x, rows)
    else:
        distances = graph.absolute_distances(x, rows)
    if kernel.name in ("rbf", "laplacian"):
        assert kernel.gamma is not None
        return graph.node("Exp", graph.node("Mul", distances, graph.constant(-kernel.gamma)))
    if kernel.name == "perceptron":
        distances = graph.node("Sqrt", distances)
    return graph.node("Sub", graph.constant(kernel.delta), distances)


@write.register
def _(step: Terms, graph: Graph, x: str) -> str:
    with_one = graph.padded(x, before=0, after=1, value=1.0)  # column -1, of absent factors
    columns = [
        graph.node("Gather", with_one, graph.constant(place, np.int64), axis=1)
        for place in step.factors.T
    ]
    product, *others = columns
    for column in others:
        product = graph.node("Mul", product, column)
    return product


@write.register
def _(step: RunningSums, graph: Graph, x: str) -> str:
    steps = graph.node("Mul", x, graph.constant(step.steps))
    sums = graph.node("CumSum", steps, graph.constant(1, np.int64))
    return graph.padded(sums, before=1, after=0, value=0.0)


@write.register
def _(step: VoteMean, graph: Graph, x: str) -> str:
    scores = graph.node("Unsqueeze", x, graph.constant([2], np.int64))
    reached = graph.node("GreaterOrEqual", scores, graph.constant(step.thresholds))
    ranks = graph.sum(graph.cast(reached, DOUBLE), 2, keep=False)
    # Whole numbers until the division, so that halves are exact.
    total = graph.node("MatMul", ranks, graph.constant(step.voices[:, None]))
    return graph.node("Div", total, graph.constant(step.voices.sum()))


@write.register
def _(step: Trees, graph: Graph, x: str) -> str:
    return write_trees(step, graph, x, in_float64=True)


@write.register
def _(step: Sum, graph: Graph, x: str) -> str:
    columns = []
    for chain in step.chains:
        column = x
        for inner_step in chain:
            column = write(inner_step, graph, column)
        columns.append(column)
    joined = graph.node("Concat", *columns, axis=1)
    above = graph.node("Sub", joined, graph.constant(step.levels))
    return graph.affine(above, step.weights[:, None], 0.0)


SCORE, LABEL = "score", "label"


def register_onnx_converters(*, loaded_only: bool = False) -> None:
    """Register converters of all exportable estimators of the registry in skl2onnx.

    Estimators with a missing optional dependency are skipped. Rankers have the output "score".
    Ordinal estimators also have "label" with the option ``{"label": True}``. Transformers have
    their features as output.

    Parameters
    ----------
    loaded_only : bool, default=False
        Whether to register only estimators whose modules are already imported, which includes all
        parts of any existing estimator.
    """
    for entry in REGISTRY.values():
        is_loaded = entry.path.partition(":")[0] in sys.modules
        if not is_exportable(entry.path) or (loaded_only and not is_loaded):
            continue
        try:
            cls = entry.load()
        except ImportError:  # an optional dependency is missing
            continue
        _register(cls, is_transformer=entry.kind == "transformer", options=_options(entry))
    _register(MapStep, is_transformer=True, options={})
    # It is read from a file, not fitted, and so it is not in the registry.
    _register(ImportedBooster, is_transformer=False, options={})


def _register(cls: type, *, is_transformer: bool, options: dict[str, Any]) -> None:
    update_registered_converter(
        cls,
        f"Rankwise{cls.__name__}",
        _set_shapes,
        _convert,
        parser=_parse_features if is_transformer else _parse_scores,
        options=options,
    )


class MapStep(BaseEstimator):
    """Maps of steps of a pipeline, in the place of these steps, for the converter of this class.

    They make ``n_columns`` columns, in float64 if so asked, else in the type of the rows.
    """

    def __init__(self, chain: Chain, n_columns: int, in_float64: bool) -> None:
        self.chain = chain
        self.in_float64 = in_float64
        self._n_features_out = n_columns

    def transform(self, X: Any) -> Any:
        """Tells skl2onnx that this is no model."""
        raise NotImplementedError


def convert(
    estimator: Any, before: Chain | None, source: str, opsets: dict[str, int], *, label: bool
) -> ModelProto:
    """ONNX model of an estimator or of a pipeline, from float32 rows.

    ``before`` are the maps of the steps before the model; None: skl2onnx has to convert these.
    ``source`` names the input. ExportError is raised if skl2onnx does not support a step.
    """
    register_onnx_converters(loaded_only=True)
    first, *others = steps_of(estimator)
    last = own_model(innermost(estimator))
    # skl2onnx does not support empty steps, and leaves the indicators of imputers out.
    if before is None:
        for encoder in (found for step in (first, *others) for found in encoders_of(step)):
            check_float32_keys(encode_one_hot(encoder), None)
        listed = [_own_step(step) for step in (first, *others[:-1])]
    else:
        listed = [MapStep(before, last.n_features_in_, True)] if before else []
    try:
        model = convert_sklearn(
            make_pipeline(*listed, last) if listed else last,
            initial_types=[(source, FloatTensorType([None, first.n_features_in_]))],
            target_opset=opsets,
            options={id(last): {LABEL: True}} if label else None,
        )
    except ExportError:
        raise
    except Exception as error:  # RuntimeError for a missing converter, or for columns by name
        said = str(error).strip().split("\n")[0]
        raise ExportError(f"skl2onnx does not convert a step of the pipeline: {said}") from error
    assert isinstance(model, ModelProto)
    return model


def _own_step(step: Any) -> Any:
    """The step, or one that is converted here in place of one of skl2onnx for single columns."""
    try:
        chain = chain_of(step)
    except ExportError:
        return step
    made = [inner for inner in chain if isinstance(inner, MadeColumns)]
    return MapStep(chain, len(made[-1].columns), False) if made else step


def _options(entry: Entry) -> dict[str, Any]:
    # skl2onnx sets zipmap for every classifier at the end of a pipeline.
    return (
        {LABEL: [False, True], "zipmap": [False, True, "columns"]}
        if entry.kind == "ordinal"
        else {}
    )


def _parse_scores(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable(SCORE, FloatTensorType()))
    # A new dict: skl2onnx writes into it.
    if hasattr(model, "classes_") and scope.get_options(model, {LABEL: False}, fail=False)[LABEL]:
        is_text = label_values(model.classes_).dtype == object
        kind = StringTensorType() if is_text else Int64TensorType()
        operator.outputs.append(scope.declare_local_variable(LABEL, kind))
    return operator.outputs


def _parse_features(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    is_double = type(inputs[0].type) is DoubleTensorType or getattr(model, "in_float64", False)
    kind = DoubleTensorType() if is_double else FloatTensorType()
    operator.outputs.append(scope.declare_local_variable("features", kind))
    return operator.outputs


def _set_shapes(operator: Any) -> None:
    n_rows = operator.inputs[0].get_first_dimension()
    model = operator.raw_operator
    columns = getattr(model, "_n_features_out", None) if hasattr(model, "transform") else 1
    operator.outputs[0].type.shape = [n_rows, columns]
    if len(operator.outputs) > 1:
        operator.outputs[1].type.shape = [n_rows]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    graph, model = Graph(scope, container), operator.raw_operator
    (source,) = operator.inputs
    x, is_float32 = source.full_name, type(source.type) is FloatTensorType
    first, *more = operator.outputs
    chain = getattr(model, "chain", None) or chain_of(model)
    check_float32_keys(chain, None)
    scores = _write(chain, graph, x, is_float32 and not more)
    to = DOUBLE if type(first.type) is DoubleTensorType else FLOAT
    graph.cast(scores, to, out=first.full_name)
    for output in more:
        numbers = _class_numbers(model, graph, x, scores)
        values = graph.constant(label_values(model.classes_), np.int64)
        graph.node("Gather", values, numbers, out=output.full_name, axis=0)


def _write(chain: Chain, graph: Graph, x: str, in_float32: bool) -> str:
    """Write the nodes of a chain, in float64 except for trees alone on float32 rows."""
    match chain:
        case (Trees() as trees,) if in_float32:
            return write_trees(trees, graph, x, in_float64=False)
        case _:
            out = graph.cast(x, DOUBLE)
            for step in chain:
                out = write(step, graph, out)
            return out


def _class_numbers(model: Any, graph: Graph, x: str, scores: str) -> str:
    chain = class_chain(model)
    if chain is None:
        reached = graph.node("GreaterOrEqual", scores, graph.constant(model.thresholds_))
        return graph.sum(graph.cast(reached, INT64), 1, keep=False)
    numbers = graph.cast(_write(chain, graph, x, False), INT64)
    return graph.node("Squeeze", numbers, graph.constant([1], np.int64))
