"""Converters for skl2onnx, which then converts pipelines with our estimators."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from onnx import ModelProto, helper
from skl2onnx import convert_sklearn, get_model_alias, update_registered_converter
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.pipeline import Pipeline

from rankwise._registry import REGISTRY, Entry
from rankwise.export.chains import chain_of, is_exportable
from rankwise.export.feature_names import first_step
from rankwise.export.labels import class_chain, label_values
from rankwise.export.maps import Chain, ExportError, Trees
from rankwise.export.onnx_graph import DOUBLE, FLOAT, INT64, Graph
from rankwise.export.onnx_maps import write
from rankwise.export.onnx_trees import write_trees
from rankwise.rankers.imported.imported_booster import ImportedBooster

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


def convert(
    estimator: Any, last: Any, source: str, opsets: dict[str, int], *, label: bool, in_float64: bool
) -> ModelProto:
    """ONNX model of an estimator or of a pipeline, from float32 rows.

    ``last`` computes the scores, ``source`` names the input, and ``in_float64`` says whether rows
    become float64 before the first step. ExportError is raised if skl2onnx does not support a step.
    """
    register_onnx_converters(loaded_only=True)
    if hasattr(estimator, "steps"):  # skl2onnx does not support empty steps
        kept = [step for step in estimator.steps if step[1] not in (None, "passthrough")]
        estimator = Pipeline(kept)
    kind = DoubleTensorType if in_float64 else FloatTensorType
    try:
        model = convert_sklearn(
            estimator,
            initial_types=[(source, kind([None, first_step(estimator).n_features_in_]))],
            target_opset=opsets,
            options={id(last): {LABEL: True}} if label else None,
        )
    except RuntimeError as error:  # for a missing converter, or for columns by name
        said = str(error).strip().split("\n")[0]
        raise ExportError(f"skl2onnx does not convert a step of the pipeline: {said}") from error
    assert isinstance(model, ModelProto)
    if in_float64:
        _take_float32(model, source)
    return model


def _take_float32(model: ModelProto, source: str) -> None:
    """Insert a cast of the rows at the start of the model, in place."""
    inside = f"{source}_float64"
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name == source:
                node.input[place] = inside
    (given,) = model.graph.input
    given.type.tensor_type.elem_type = FLOAT
    cast = helper.make_node("Cast", [source], [inside], name="rows_in_float64", to=DOUBLE)
    model.graph.node.insert(0, cast)


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
    if _wants_label(scope, model):
        is_text = label_values(model.classes_).dtype == object
        kind = StringTensorType() if is_text else Int64TensorType()
        operator.outputs.append(scope.declare_local_variable(LABEL, kind))
    return operator.outputs


def _parse_features(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    is_double = type(inputs[0].type) is DoubleTensorType
    kind = DoubleTensorType() if is_double else FloatTensorType()
    operator.outputs.append(scope.declare_local_variable("features", kind))
    return operator.outputs


def _wants_label(scope: Any, model: Any) -> bool:
    if not hasattr(model, "classes_"):
        return False
    # A new dict: skl2onnx writes into it.
    return bool(scope.get_options(model, {LABEL: False}, fail=False)[LABEL])


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
    scores = _write(chain_of(model), graph, x, is_float32 and not more)
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
        counted = graph.sum(graph.cast(reached, INT64), 1, keep=False)
        return counted
    numbers = graph.cast(_write(chain, graph, x, False), INT64)
    return graph.node("Squeeze", numbers, graph.constant([1], np.int64))
