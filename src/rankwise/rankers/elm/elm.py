"""What pointwise and pairwise ELM share: nodes, kernel, draws and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.checks.dominant_columns import ColumnLimit, node_limit
from rankwise.checks.rows import FitData
from rankwise.features.random_nodes import ACTIVATIONS, NodeMap, draw_nodes
from rankwise.rankers.closed_form import PENALTY_CONSTRAINT
from rankwise.rankers.kernel.kernel_model import KERNEL_CONSTRAINTS, KernelModel
from rankwise.solvers.least_squares.design import Design, LinearDesign, NodeDesign, ShiftedColumns
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.structure.rules import Rule, Sometimes, floats, require, require_attributes
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Matrix

ELM_CONSTRAINTS: dict[str, Any] = {
    **KERNEL_CONSTRAINTS,
    "n_nodes": [Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "kernel": [*KERNEL_CONSTRAINTS["kernel"], None],
    "C": PENALTY_CONSTRAINT,
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


class ELM(KernelModel):
    """Extreme learning machine: random nodes (or a kernel) and a closed form."""

    _structure: ClassVar[dict[str, Rule]] = {
        "hidden_weights_": Sometimes(floats("n_draws", "n_features_in_", "n_nodes")),
        "hidden_biases_": Sometimes(floats("n_draws", "n_nodes")),
        "output_weights_": Sometimes(floats("n_draws", "n_nodes")),
    }

    _penalty: ClassVar[str] = "C"
    n_nodes: int
    activation: str
    n_draws: int
    random_state: Any

    def _column_limit(self) -> ColumnLimit | None:
        return node_limit(self.activation) if self.kernel is None else super()._column_limit()

    def _check_expansion(self) -> None:
        if hasattr(self, "output_weights_"):
            require_attributes(self, "hidden_weights_", "hidden_biases_")
            require(len(self.output_weights_), "output_weights_", "have a draw", "none")
        else:
            super()._check_expansion()

    def _kernel_design(self, data: FitData, gamma: float | None) -> Any:
        if self.kernel is not None:
            return super()._kernel_design(data, gamma)
        if gamma is not None or self.kernel_params:
            raise ValueError(
                f"gamma and kernel_params belong to a kernel, got kernel=None, gamma={gamma!r} and "
                f"kernel_params={self.kernel_params!r}. Name a kernel, or drop them."
            )
        X = data.X
        d = X.shape[1]
        random_state = check_random_state(self.random_state)
        maps = [
            draw_nodes(d, self.n_nodes, self.activation, random_state) for _ in range(self.n_draws)
        ]
        if self.activation == "linear" and d + 1 < self.n_nodes:
            return LinearDesign(
                ShiftedColumns(np.zeros(d), ones=True), [collapsed_basis(m) for m in maps]
            )
        return NodeDesign([nodes.astype(X.dtype) for nodes in maps])

    def _set_fitted(
        self, design: Any, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        for name in ("hidden_weights_", "hidden_biases_", "output_weights_"):
            vars(self).pop(name, None)
        super()._set_fitted(design, problem, fit, penalties, chosen)

    def _set_model(self, design: Design, coefs: Sequence[Float64Array]) -> None:
        if not isinstance(design, NodeDesign):
            super()._set_model(design, coefs)
            return
        nodes: Sequence[Any] = design.maps
        self.hidden_weights_ = np.stack([draw.weights for draw in nodes])
        self.hidden_biases_ = np.stack([draw.biases for draw in nodes])
        self.output_weights_ = np.stack(coefs)

    def _path_coef(self, design: Design, fit: PathFit) -> Float64Array:
        if isinstance(design, NodeDesign):
            return np.stack(list(fit.coefs))
        return super()._path_coef(design, fit)

    def _scores(self, X: Matrix) -> Float64Array:
        if not hasattr(self, "output_weights_"):
            return super()._scores(X)
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
