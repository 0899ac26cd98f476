"""Write every map as ONNX nodes, in float64."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from rankwise.export.maps import (
    Affine,
    Filled,
    HiddenNodes,
    KernelValues,
    RunningSums,
    Scaled,
    Sum,
    Terms,
    Trees,
    VoteMean,
)
from rankwise.export.onnx_graph import DOUBLE, Graph
from rankwise.export.onnx_trees import write_trees

_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "sine": "Sin"}


@singledispatch
def write(step: Any, graph: Graph, x: str) -> str:
    """Add the nodes of a map of ``x``, a float64 matrix, and return the name of the result."""
    raise TypeError(f"write takes the maps of rankwise.export.maps, got {type(step).__name__}.")


@write.register
def _(step: Affine, graph: Graph, x: str) -> str:
    return graph.affine(x, step.weights, step.offset)


@write.register
def _(step: Scaled, graph: Graph, x: str) -> str:
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
def _(step: Filled, graph: Graph, x: str) -> str:
    return graph.node("Where", graph.node("IsNaN", x), graph.constant(0.0), x)


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
