"""The same path from the N x N side, for fewer rows than columns.

With ``Omega = Phi Phi'`` and ``L = R'R`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b = Phi' R' (R Omega R' + I/C)^-1 R y``: a symmetric
positive semidefinite system, whose eigendecomposition gives every C.

Complexity: O(N^2 p + N^3) time, N^2 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.solvers.gram import BlockMap, Problem
from rankwise.solvers.path import inverse_shifted
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class DualPath:
    """Eigendecomposition of ``R Omega R'`` with what leads back to the columns.

    Attributes
    ----------
    values : ndarray of shape (r,)
    rows : ndarray or CSR of shape (N, p)
        ``Phi``.
    combination : ndarray of shape (N, r)
        ``R' U``: column ``v_j`` of the primal eigenbasis is ``Phi' (R' u_j) / sqrt(lambda_j)``.
    projected_target : ndarray of shape (r,)
        ``U' R y``.
    """

    values: Float64Array
    rows: Any
    combination: Float64Array
    projected_target: Float64Array

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C, shape (n_C, p)."""
        a = self.combination @ (self.projected_target * inverse_shifted(self.values, C)).T
        return np.asarray(self.rows.T @ a).T

    @property
    def projected_rhs(self) -> Float64Array:
        """``V' Phi' L y``, shape (r,)."""
        return np.sqrt(self.values) * self.projected_target

    @property
    def vectors(self) -> Float64Array:
        """Eigenvectors of ``Phi' L Phi``, shape (p, r)."""
        return np.asarray(self.rows.T @ (self.combination / np.sqrt(self.values)))


def dual_path(problem: Problem, phi: BlockMap) -> DualPath:
    """Decompose the dual system of ``problem``."""
    rows = problem.groups.rows(np.arange(problem.groups.n_queries))
    groups = QueryGroups(problem.groups.indptr, None, problem.groups.ids)
    factor = problem.factor(rows, groups)
    columns = phi.rows(problem.X[rows])
    omega = columns @ columns.T
    omega = omega.toarray() if sparse.issparse(omega) else omega
    half = factor.apply(omega.astype(np.float64), 0, groups.n_queries)
    system = factor.apply(np.ascontiguousarray(half.T), 0, groups.n_queries)
    target = factor.apply(problem.y[rows][:, None], 0, groups.n_queries)[:, 0]
    values, vectors = np.linalg.eigh((system + system.T) / 2)
    kept = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    vectors = vectors[:, kept]
    return DualPath(values[kept], columns, factor.apply_transposed(vectors), vectors.T @ target)
