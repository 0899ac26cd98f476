"""Fitted scores ``f(x) = sum_j w_j phi_j(x) + b``, one class per basis.

The basis consists of the columns of X, their products, random hidden nodes, Nystroem features, or
kernels at training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from rankwise.features.kernels import Kernel
from rankwise.features.nystroem import NystroemMap
from rankwise.features.random_features import ACTIVATIONS, NodeMap, sum_outputs
from rankwise.structure.state_rules import Instance, MatrixRows, Number, Rule, Word, floats, require
from rankwise.typing import Float64Array, FloatArray, Matrix, densify

Value = TypeVar("Value")


class Expansion(Protocol):
    """A weighted sum of basis functions."""

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row, float64."""
        ...


class ExpansionAttribute(Generic[Value]):
    """Public attribute of an estimator that its ``expansion_`` holds, without the underscore.

    It exists if the expansion has it: ``coef_`` only if columns are weighted, for example.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.rstrip("_")

    def __get__(self, model: Any, owner: type | None = None) -> Value:
        if model is None:
            return self  # type: ignore[return-value]  # of the class, not of a model
        try:
            return getattr(model.expansion_, self._name)
        except AttributeError:
            message = f"{type(model).__name__!r} object has no attribute '{self._name}_'"
            raise AttributeError(message) from None

    def __set__(self, model: Any, value: Value) -> None:
        model.expansion_ = replace(model.expansion_, **{self._name: value})


class KernelBased:
    """Mixin of expansions that a kernel gives."""

    kernel: Any

    @property
    def gamma(self) -> float | None:
        """Width of the kernel."""
        return self.kernel.gamma


@dataclass(frozen=True, eq=False)
class LinearExpansion:
    """Weighted columns of X."""

    _structure: ClassVar[dict[str, Rule]] = {
        "coef": floats("n_features_in_"),
        "intercept": Number(),
    }

    coef: Float64Array
    intercept: float

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row."""
        return np.asarray(X @ self.coef, dtype=np.float64) + self.intercept


@dataclass(frozen=True, eq=False)
class LinearKernelExpansion(KernelBased, LinearExpansion):
    """Weighted columns of X as the solution with a linear kernel."""

    _structure: ClassVar[dict[str, Rule]] = {"kernel": Instance((Kernel,))}

    kernel: Kernel


@dataclass(frozen=True, eq=False)
class ProductsExpansion:
    """Weighted columns of X and products of every two of them."""

    _structure: ClassVar[dict[str, Rule]] = {
        "n_features": Number("i", low=1, size="n_features_in_"),
        "coef": floats("n_coefficients"),
    }

    n_features: int
    coef: Float64Array  # (n_features (n_features + 3) / 2,)
    intercept: ClassVar[float] = 0.0

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row."""
        return ProductsMap(self.n_features).rows(X) @ self.coef

    def _check_structure(self) -> None:
        n = ProductsMap(self.n_features).n_features_out
        require(len(self.coef) == n, "coef", f"have {n} entries", len(self.coef))


@dataclass(frozen=True, eq=False)
class NodeExpansion:
    """Random hidden nodes; scores are averaged over draws."""

    _structure: ClassVar[dict[str, Rule]] = {
        "hidden_weights": floats("n_draws", "n_features_in_", "n_nodes"),
        "hidden_biases": floats("n_draws", "n_nodes"),
        "output_weights": floats("n_draws", "n_nodes"),
        "activation": Word(ACTIVATIONS),
    }

    hidden_weights: Float64Array
    hidden_biases: Float64Array
    output_weights: Float64Array
    activation: str

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row."""
        draws = zip(self.hidden_weights, self.hidden_biases, strict=True)
        maps = [NodeMap(*draw, self.activation).astype(X.dtype) for draw in draws]
        weights = [coef[:, None] / len(maps) for coef in self.output_weights]
        return sum_outputs(maps, weights, X)[:, 0]

    def _check_structure(self) -> None:
        require(len(self.output_weights), "output_weights", "have a draw", "none")


@dataclass(frozen=True, eq=False)
class LandmarkExpansion(KernelBased):
    """Nystroem features."""

    _structure: ClassVar[dict[str, Rule]] = {
        "nystroem": Instance((NystroemMap,)),
        "output_weights": floats("n_outputs"),
        "intercept": Number(),
    }

    nystroem: NystroemMap
    output_weights: Float64Array  # (n_landmarks,)
    intercept: float

    @property
    def kernel(self) -> Kernel:
        """The kernel between landmarks."""
        return self.nystroem.kernel

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row."""
        return self.nystroem.scores(X, self.output_weights[:, None])[:, 0] + self.intercept


@dataclass(frozen=True, eq=False)
class PrecomputedExpansion(KernelBased):
    """Weighted values of a precomputed kernel with all rows of the fit."""

    _structure: ClassVar[dict[str, Rule]] = {
        "kernel": Instance((Kernel,)),
        "dual_coef": floats("n_features_in_"),
        "intercept": Number(),
    }

    kernel: Kernel
    dual_coef: Float64Array  # (n_samples,)
    intercept: float

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row."""
        return np.asarray(X.astype(np.float64, copy=False) @ self.dual_coef) + self.intercept


@dataclass(frozen=True, eq=False)
class SupportExpansion(PrecomputedExpansion):
    """Weighted kernels at known rows."""

    _structure: ClassVar[dict[str, Rule]] = {
        "dual_coef": floats("n_support"),
        "X_fit": MatrixRows("n_support", "n_features_in_"),
    }

    X_fit: Matrix  # known rows (n_support, n_features), float64

    def scores(self, X: Matrix) -> Float64Array:
        """Score of every row; a kernel of the user is called once."""
        X = X.astype(np.float64, copy=False)
        return self.kernel.products(X, self.X_fit, self.dual_coef) + self.intercept


EXPANSIONS = (
    LinearExpansion,
    LinearKernelExpansion,
    ProductsExpansion,
    NodeExpansion,
    LandmarkExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)


@dataclass(frozen=True)
class ProductsMap:
    """``x_1, ..., x_d, x_1 x_1, x_1 x_2, ..., x_d x_d``, callable on blocks of rows."""

    n_features: int  # d

    @property
    def n_features_out(self) -> int:
        """``d (d + 3) / 2``."""
        return self.n_features * (self.n_features + 3) // 2

    def astype(self, dtype: Any) -> ProductsMap:
        """Return the map unchanged: the columns have the precision of the rows."""
        return self

    def __call__(self, X: Matrix) -> FloatArray:
        """Dense columns for a block of rows, shape (n_rows, n_features_out)."""
        X = densify(X)
        out = np.empty((X.shape[0], self.n_features_out), dtype=X.dtype)
        out[:, : self.n_features] = X
        place = self.n_features
        for feature in range(self.n_features):
            width = self.n_features - feature
            np.multiply(X[:, feature:], X[:, [feature]], out=out[:, place : place + width])
            place += width
        return out

    def rows(self, X: Matrix) -> Float64Array:
        """Columns in float64."""
        return self(X.astype(np.float64, copy=False))
