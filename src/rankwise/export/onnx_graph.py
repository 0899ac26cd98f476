"""Named nodes of an ONNX graph, for converters of skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

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
