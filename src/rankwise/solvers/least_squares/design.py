"""Designs: the columns of a closed-form ranker, explicit or of a kernel, and their scores.

A design holds its independent draws. Each draw gives its own least-squares problem, and the scores
of the draws are averaged. Linear designs share one Gram matrix of the raw columns between all
draws. A draw of ``n`` linear nodes ``H = [X 1] A`` is the metric ``A A'`` on this matrix. It needs
only a basis ``B`` of at most d + 1 columns with ``B B' = A A'``: the predictions are the same and
the work falls by (n/d)^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from rankwise.features.kernels import Kernel, KernelColumns
from rankwise.features.nystroem import NystroemMap
from rankwise.features.random_features import NodeMap, sum_outputs
from rankwise.features.score_expansions import (
    LandmarkExpansion,
    LinearExpansion,
    NodeExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)
from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import Problem
from rankwise.solvers.least_squares.eigen_path import (
    DualPath,
    centre_kernel,
    dual_path,
    is_semidefinite,
)
from rankwise.solvers.least_squares.gram import BlockMap, Gram, fold_grams
from rankwise.structure.state_rules import (
    Array,
    Instance,
    Many,
    Number,
    Optional,
    Rule,
    Sometimes,
    floats,
    require,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse

Coefs = Sequence[Float64Array]  # one array (n_C, n_columns) per draw


@dataclass(frozen=True, eq=False)
class ShiftedColumns:
    """``(X - shift) / scale`` in float64, followed by a column of ones on request.

    ``scale`` holds powers of two, None for 1.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "shift": floats("n_features_in_"),
        "ones": Number("b"),
        "scale": Sometimes(Optional(floats("n_features_in_"))),
    }

    shift: Float64Array
    ones: bool
    scale: Float64Array | None = None

    @property
    def n_features_out(self) -> int:
        return len(self.shift) + self.ones

    def __call__(self, X: Matrix) -> Float64Array:
        out = np.empty((X.shape[0], self.n_features_out))
        columns = out[:, : len(self.shift)]
        columns[:] = densify(X)
        if self.scale is None:
            columns -= self.shift
        else:
            columns /= self.scale
            # Divided first: X - shift may overflow where both are huge. The scale is a power of
            # two, so dividing rounds nothing.
            columns -= self.shift / self.scale
        out[:, len(self.shift) :] = 1.0
        return out

    def rows(self, X: Matrix) -> Any:
        """Columns for the dual; sparse rows stay sparse unless a shift or a column is added."""
        # Products of rows do not need dense columns; a shift or ones would fill in all zeros.
        if is_sparse(X) and not self.ones and not self.shift.any() and self.scale is None:
            return X.astype(np.float64)
        return self(X)

    def on_rows(self, coefs: Float64Array) -> Float64Array:
        """Weights on the columns of X for weights on these columns, shape (..., n_features)."""
        coefs = coefs[..., : len(self.shift)]
        return coefs if self.scale is None else coefs / self.scale


@dataclass(frozen=True, eq=False)
class LinearDesign:
    """Columns of X; each draw is a basis (n_raw, r), or None for the columns themselves."""

    _structure: ClassVar[dict[str, Rule]] = {
        "columns": Instance((ShiftedColumns,)),
        "bases": Many(Optional(Array(None))),
    }

    columns: ShiftedColumns
    bases: Sequence[Float64Array | None] = (None,)

    @property
    def n_columns(self) -> int:
        return self.columns.n_features_out

    @property
    def maps(self) -> Sequence[BlockMap]:
        return [self.columns]

    def draws(self, gram: Gram) -> Iterator[Gram]:
        for basis in self.bases:
            yield gram if basis is None else gram.transformed(basis)

    def dual_paths(self, problem: Problem) -> Iterator[DualPath]:
        for basis in self.bases:
            if basis is None:
                yield dual_path(problem, self.columns.rows)
            else:
                yield dual_path(problem, lambda X, basis=basis: self.columns(X) @ basis)

    def read_out(self, coefs: Coefs, dtype: Any = np.float64) -> Float64Array:
        """Weights on the raw columns, averaged over draws, shape (n_C, n_raw)."""
        # The mean of scores is the score of mean weights: one product with X for all draws.
        raw = [
            coef if basis is None else coef @ basis.T
            for coef, basis in zip(coefs, self.bases, strict=True)
        ]
        return np.mean(raw, axis=0).astype(dtype, copy=False)

    def scores(self, X: Matrix, read_out: Float64Array) -> Float64Array:
        weights = self.columns.on_rows(read_out)
        # The shift moves into a constant, so that X is multiplied as it is, sparse or not.
        constant = -self.columns.shift @ weights.T
        if self.columns.ones:
            constant = constant + read_out[:, len(self.columns.shift)]
        return np.asarray(X @ weights.T, dtype=np.float64) + constant

    def block(self, X: Matrix, draw: int) -> FloatArray:
        basis = self.bases[draw]
        return self.columns(X) if basis is None else self.columns(X) @ basis

    def training_values(self, X: Matrix) -> Matrix:
        return X

    def expansion(self, coefs: Coefs) -> LinearExpansion:
        raw = self.read_out([coef[None, :] for coef in coefs])[0]
        constant = raw[len(self.columns.shift)] if self.columns.ones else 0.0
        weights = self.columns.on_rows(raw).copy()
        return LinearExpansion(weights, float(constant - self.columns.shift @ weights))

    def path_coef(self, coefs: Coefs) -> Float64Array:
        raw = self.read_out(coefs)
        return raw if self.columns.ones else self.columns.on_rows(raw)

    def _check_structure(self) -> None:
        n = self.columns.n_features_out
        for number, basis in enumerate(self.bases):
            shape = (n, 0) if basis is None else basis.shape
            require(len(shape) == 2 and shape[0] == n, f"bases[{number}]", f"have {n} rows", shape)


@dataclass(frozen=True, eq=False)
class MapDesign:
    """Columns that a map computes from blocks of rows, one map per draw."""

    # Their Gram statistics determine the solutions of all draws.
    maps: Sequence[Any]

    @property
    def n_columns(self) -> int:
        return self.maps[0].n_features_out

    def draws(self, gram: Gram) -> Iterator[Gram]:
        """Statistics of the draws that share the statistics of one block map."""
        yield gram

    def dual_paths(self, problem: Problem) -> Iterator[DualPath]:
        """For each draw, the path of the dual system."""
        for phi in self.maps:
            yield dual_path(problem, phi.rows)

    def read_out(self, coefs: Coefs, dtype: Any = np.float64) -> list[FloatArray]:
        """Output weights of each draw divided by the number of draws, shape (n_columns, n_C)."""
        # Draws have nodes of their own: divided here, their scores only have to be added.
        return [np.ascontiguousarray(coef.T / len(self.maps), dtype=dtype) for coef in coefs]

    def scores(self, X: Matrix, read_out: list[FloatArray]) -> Float64Array:
        """Scores averaged over draws, shape (n_rows, n_C)."""
        return sum_outputs(self.maps, read_out, X)

    def block(self, X: Matrix, draw: int) -> FloatArray:
        """The columns of one draw for the given rows."""
        return self.maps[draw].rows(X)

    def training_values(self, X: Matrix) -> FloatArray:
        """Training columns for iterative solvers: those of the first draw."""
        return self.block(X, 0)

    def expansion(self, coefs: Coefs) -> Any:
        """The fitted scores with these weights, one array (n_columns,) per draw."""
        raise TypeError(f"{type(self).__name__} must define expansion.")

    def path_coef(self, coefs: Coefs) -> Float64Array:
        """Solutions of all draws as ``path_["coef"]`` holds them."""
        return coefs[0]


@dataclass(frozen=True, eq=False)
class NodeDesign(MapDesign):
    """Random hidden nodes."""

    _structure: ClassVar[dict[str, Rule]] = {
        "maps": Many(Instance((NodeMap, NystroemMap))),
    }

    def expansion(self, coefs: Coefs) -> NodeExpansion:
        return NodeExpansion(
            np.stack([nodes.weights for nodes in self.maps]),
            np.stack([nodes.biases for nodes in self.maps]),
            np.stack(list(coefs)),
            self.maps[0].activation,
        )

    def path_coef(self, coefs: Coefs) -> Float64Array:
        return np.stack(list(coefs))

    def _check_structure(self) -> None:
        require(self.maps, "maps", "have an item", "none")


@dataclass(frozen=True, eq=False)
class LandmarkDesign(MapDesign):
    """Nystroem features; scores are computed directly from kernel values."""

    def scores(self, X: Matrix, read_out: list[FloatArray]) -> Float64Array:
        return self.maps[0].scores(X, read_out[0].astype(np.float64, copy=False))

    def expansion(self, coefs: Coefs) -> LandmarkExpansion:
        return LandmarkExpansion(self.maps[0], coefs[0], 0.0)


@dataclass(frozen=True, eq=False)
class KernelDesign:
    """Kernels at the training rows as basis functions."""

    kernel: Kernel
    # (N, n_features): training rows in float64 (precomputed kernel: the values between them)
    X: Matrix
    # (N, N): between the training rows; None if it is not held or was released
    K: Float64Array | None
    definite: bool = True  # whether the kernel is known to be (conditionally) positive semidefinite
    # Mask of the rows passed to `fit` that have non-zero weight; None: all. These are the columns
    # used of a precomputed kernel.
    kept: Any = None

    @property
    def given(self) -> Any:
        """The kernel as the user named it."""
        return self.kernel.name if self.kernel.function is None else self.kernel.function

    def read_out(self, coefs: Coefs) -> Float64Array:
        """Coefficients in the form that :meth:`scores` takes."""
        return coefs[0]

    def scores(self, X: Matrix, coefs: Float64Array) -> Float64Array:
        """``K(X, X_fit) @ coefs.T``, shape (n_rows, n_C); slices of X unless K is the user's."""
        X = X.astype(np.float64, copy=False)
        if self.kernel.name == "precomputed" and self.kept is not None:
            X = X[:, self.kept]
        return self.kernel.products(X, self.X, coefs.T)

    def training_values(self, X: Matrix) -> Float64Array:
        """The kernel between the training rows."""
        assert self.K is not None
        return self.K

    def expansion(self, coefs: Coefs) -> PrecomputedExpansion:
        """The fitted scores with these coefficients."""
        coef = coefs[0]
        if self.kernel.name != "precomputed":
            return SupportExpansion(self.kernel, coef, 0.0, self.X)
        if self.kept is not None:  # rows of zero weight still have columns
            coef = np.zeros(len(self.kept))
            coef[self.kept] = coefs[0]
        return PrecomputedExpansion(self.kernel, coef, 0.0)

    def path_coef(self, coefs: Coefs) -> Float64Array:
        """Solutions as ``path_["coef"]`` holds them."""
        return coefs[0]

    def check_convex(self, groups: QueryGroups) -> None:
        """Raise if a loss of score differences within queries has no minimum.

        That is so if the kernel has negative eigenvalues on coefficients that sum to 0 in each
        query.
        """
        assert self.K is not None
        order = groups.rows(np.arange(groups.n_queries))
        if self.definite or is_semidefinite(centre_kernel(self.K, groups.indptr, order)):
            return
        raise ValueError(
            "kernel must be positive semidefinite on coefficients that sum to 0 in each query, or "
            f"the problem is not convex; got kernel={self.given!r}, whose matrix has negative "
            "eigenvalues there. CLSRRank takes any kernel."
        )


@dataclass(frozen=True, eq=False)
class KernelColumnsDesign(MapDesign):
    """Kernels at landmarks as basis functions with separate weights; ``maps`` holds the columns."""

    def expansion(self, coefs: Coefs) -> SupportExpansion:
        """The fitted scores with these coefficients."""
        columns: KernelColumns = self.maps[0]
        X_fit = columns.landmarks.astype(np.float64, copy=False)
        return SupportExpansion(columns.kernel, coefs[0], 0.0, X_fit)


Design: TypeAlias = LinearDesign | MapDesign
# Weighted columns, or an expansion over the training rows.
AnyDesign: TypeAlias = Design | KernelDesign


def draw_grams(
    design: Design, problem: Problem, fold_queries: Sequence[Int64Array] | None
) -> Iterator[list[Gram]]:
    """For each draw, the Gram statistics of each fold; one pass over the rows per block map."""
    for phi in design.maps:
        folds = fold_grams(problem, phi, fold_queries)
        yield from (list(draw) for draw in zip(*map(design.draws, folds), strict=True))
