"""Feature map of an extreme learning machine: random hidden nodes, or a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from rankwise.checks.dominant_columns import ColumnLimit, node_limit
from rankwise.checks.parameter_constraints import Interval, StrOptions
from rankwise.equation import Equation
from rankwise.features.kernels import warn_of_ignored_gamma
from rankwise.features.random_nodes import ACTIVATIONS, NodeMap, draw_nodes
from rankwise.losses.squared_loss import SquaredLoss
from rankwise.rankers.closed_form import C_OF_SUM, build_closed_form, least_squares_path
from rankwise.rankers.kernel.kernel_features import (
    KERNEL_CONSTRAINTS,
    KernelFeatures,
    KernelParameters,
)
from rankwise.rankers.kernel.kernel_least_squares import leaves_out
from rankwise.rankers.streamed import StreamedFeatures
from rankwise.rows.fit_data import FitData
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign, ShiftedColumns
from rankwise.typing import Float64Array

ELM_CONSTRAINTS: dict[str, Any] = {
    **KERNEL_CONSTRAINTS,
    "n_nodes": [Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "kernel": [*KERNEL_CONSTRAINTS["kernel"], None],
    "C": C_OF_SUM.constraint,
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True, eq=False)
class NodeFeatures(StreamedFeatures):
    """Hidden nodes before the rows are known; linear nodes are reduced to the space they span.

    The fields are parameters of the ranker. ``gamma`` and ``kernel_params`` belong to a kernel:
    ``gamma`` is ignored with a warning, and ``kernel_params`` must be empty.
    """

    n_nodes: int
    activation: str
    n_draws: int
    random_state: Any
    gamma: Any = None
    kernel_params: Mapping[str, Any] | None = None

    @property
    def column_limit(self) -> ColumnLimit | None:
        """Column limit of the activation."""
        return node_limit(self.activation)

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], Design]]:
        """The single design of the nodes."""
        warn_of_ignored_gamma(None, self.gamma)
        if self.kernel_params:
            raise ValueError(
                f"kernel_params needs a kernel, got {self.kernel_params!r} with kernel=None. "
                "Set kernel, or remove kernel_params."
            )
        d = rows.X.shape[1]
        random_state = check_random_state(self.random_state)
        maps = [
            draw_nodes(d, self.n_nodes, self.activation, random_state) for _ in range(self.n_draws)
        ]
        if self.activation == "linear" and d + 1 < self.n_nodes:
            columns = ShiftedColumns(np.zeros(d), ones=True)
            yield {}, LinearDesign(columns, [collapsed_basis(nodes) for nodes in maps])
        else:
            yield {}, NodeDesign([nodes.astype(rows.X.dtype) for nodes in maps])


class NodeParameters(KernelParameters, Protocol):
    """Parameters of an extreme learning machine."""

    n_nodes: int
    activation: Any
    n_draws: int
    random_state: Any


def build_elm(ranker: NodeParameters, loss: SquaredLoss) -> Equation:
    """Equation of an extreme learning machine: nodes or kernel x this loss x the path."""
    if ranker.kernel is not None:
        features = KernelFeatures.of(
            ranker, leaves_out=leaves_out(ranker, C_OF_SUM), takes_shift=loss.takes_shift
        )
        make_path = partial(least_squares_path, max_bytes=ranker.max_bytes)
        return build_closed_form(features, loss, C_OF_SUM, make_path=make_path)
    nodes = NodeFeatures(
        ranker.n_nodes,
        ranker.activation,
        ranker.n_draws,
        ranker.random_state,
        ranker.gamma,
        ranker.kernel_params,
    )
    return build_closed_form(nodes, loss, C_OF_SUM)


def collapsed_basis(nodes: NodeMap) -> Float64Array:
    """Basis ``B`` of at most d + 1 columns with ``B B' = A A'`` for linear nodes ``[X 1] A``."""
    A = np.vstack([nodes.weights, nodes.biases]).astype(np.float64)
    values, vectors = np.linalg.eigh(A @ A.T)
    kept = values > 1e-14 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
