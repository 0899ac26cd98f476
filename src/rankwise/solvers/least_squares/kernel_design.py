"""Kernel expansions over training rows: the basis functions of their solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rankwise.features.kernel import SLICE_ROWS, Kernel
from rankwise.features.kernel_columns import KernelColumns
from rankwise.features.score_expansions import PrecomputedExpansion, SupportExpansion
from rankwise.groups import QueryGroups
from rankwise.solvers.least_squares.centred_kernel import centre_kernel, is_semidefinite
from rankwise.solvers.least_squares.design import Coefs, Design, MapDesign
from rankwise.typing import Float64Array, Matrix


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
        # A user's callable is called once: it may be slow, or depend on all rows.
        size = SLICE_ROWS if self.kernel.function is None else max(1, X.shape[0])
        parts = [self._values(X[lo : lo + size]) @ coefs.T for lo in range(0, X.shape[0], size)]
        return np.concatenate(parts)

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

    def _values(self, X: Matrix) -> Float64Array:
        X = X.astype(np.float64, copy=False)
        if self.kernel.name == "precomputed" and self.kept is not None:
            X = X[:, self.kept]
        return np.asarray(self.kernel(X, self.X), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class KernelColumnsDesign(MapDesign):
    """Kernels at landmarks as basis functions with separate weights; ``maps`` holds the columns."""

    def expansion(self, coefs: Coefs) -> SupportExpansion:
        """The fitted scores with these coefficients."""
        columns: KernelColumns = self.maps[0]
        X_fit = columns.landmarks.astype(np.float64, copy=False)
        return SupportExpansion(columns.kernel, coefs[0], 0.0, X_fit)


# Weighted columns, or an expansion over the training rows.
AnyDesign: TypeAlias = Design | KernelDesign
