"""What pointwise and pairwise ELM share: nodes, kernel, draws and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.features.random_nodes import ACTIVATIONS, NodeMap, draw_nodes
from rankwise.rankers.closed_form import (
    PENALTY_CONSTRAINT,
    SELECTION_CONSTRAINTS,
    ClosedFormRanker,
    linear_model,
)
from rankwise.solvers.design import Design, LinearDesign, NodeDesign, ShiftedColumns
from rankwise.solvers.path_selection import PathFit
from rankwise.typing import Float64Array, Matrix
from rankwise.validation import FitData

ELM_CONSTRAINTS: dict[str, Any] = {
    "n_nodes": [Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "kernel": [StrOptions({"linear"}), None],
    "C": PENALTY_CONSTRAINT,
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    **SELECTION_CONSTRAINTS,
}


class ELM(ClosedFormRanker):
    """Extreme learning machine: random nodes (or a linear kernel) and a closed form."""

    _penalty: ClassVar[str] = "C"
    n_nodes: int
    activation: str
    kernel: str | None
    n_draws: int
    random_state: Any

    def _design(self, data: FitData) -> Design:
        X = data.X
        d = X.shape[1]
        if self.kernel == "linear":
            return LinearDesign(ShiftedColumns(np.zeros(d), ones=False))
        random_state = check_random_state(self.random_state)
        maps = [
            draw_nodes(d, self.n_nodes, self.activation, random_state) for _ in range(self.n_draws)
        ]
        if self.activation == "linear" and d + 1 < self.n_nodes:
            return LinearDesign(
                ShiftedColumns(np.zeros(d), ones=True), [collapsed_basis(m) for m in maps]
            )
        return NodeDesign([nodes.astype(X.dtype) for nodes in maps])

    def _set_model(self, design: Design, coefs: Sequence[Float64Array]) -> None:
        if isinstance(design, LinearDesign):
            self.coef_, self.intercept_ = linear_model(design, coefs)
            return
        assert isinstance(design, NodeDesign)
        self.hidden_weights_ = np.stack([nodes.weights for nodes in design.maps])
        self.hidden_biases_ = np.stack([nodes.biases for nodes in design.maps])
        self.output_weights_ = np.stack(coefs)

    def _path_coef(self, design: Design, fit: PathFit) -> Float64Array:
        if isinstance(design, LinearDesign):
            return design.read_out(fit.coefs)
        return np.stack(list(fit.coefs))

    def _scores(self, X: Matrix) -> Float64Array:
        if not hasattr(self, "output_weights_"):
            return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_
        design = NodeDesign(
            [
                NodeMap(weights, biases, self.activation).astype(X.dtype)
                for weights, biases in zip(self.hidden_weights_, self.hidden_biases_, strict=True)
            ]
        )
        read_out = design.read_out([coef[None, :] for coef in self.output_weights_])
        return design.scores(X, read_out)[:, 0]


def collapsed_basis(nodes: NodeMap) -> Float64Array:
    """Basis ``B`` of at most d + 1 columns with ``B B' = A A'`` for linear nodes ``[X 1] A``."""
    A = np.vstack([nodes.weights, nodes.biases]).astype(np.float64)
    values, vectors = np.linalg.eigh(A @ A.T)
    kept = values > 1e-14 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
