"""Solutions along a penalty on columns or on a kernel, for all rows or for folds: two losses.

Losses of scores are solved by Newton steps on columns, into which a kernel is factored. Absolute
differences of residuals (SVRank) are solved by proximal Newton steps on either.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.groups import FitData, GroupedRows, QueryGroups
from rankwise.kernels.row_products import add_within
from rankwise.losses.absolute_loss import PairwiseAbsolute
from rankwise.losses.score_loss import AnyLoss, ScoreLoss
from rankwise.row_order import MergedRows, merge_rows, sort_rows
from rankwise.solvers.least_squares.design import AnyDesign, KernelDesign
from rankwise.solvers.least_squares.eigen_path import centre_kernel
from rankwise.solvers.newton.proximal_newton import ProximalNewton, column_products, kernel_products
from rankwise.solvers.newton.score_newton import LinearRows, ScoreResult
from rankwise.tuning import Penalties, RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

_pstrf: Any = get_lapack_funcs("pstrf", dtype=np.float64)
# Below this number of entries, rows are merged and put in a canonical order, so the result is
# bit-identical for any input order. Above it, rounding depends on the input order.
LARGEST_MERGED = 5e6
# A column is centred if its values are this large, both absolutely and relative to its spread
# within queries; a Unix time is an example.
FAR = 1e3
# Largest difference within queries whose square does not overflow.
LARGEST_DIFFERENCE = 2.0**512
SolvedLoss = TypeVar("SolvedLoss", bound=ScoreLoss, contravariant=True)


class ScoreSolver(Protocol[SolvedLoss]):
    """A solver of ``|w|^2 / 2 + C L(X w)``."""

    @property
    def tol(self) -> float:
        """Relative duality gap at which a solution is accepted."""
        ...

    def path(self, rows: LinearRows[SolvedLoss], Cs: Float64Array) -> list[ScoreResult]: ...


@dataclass(frozen=True, eq=False)
class ScoreFit(Generic[AnyLoss]):
    """Solutions for every C, and the loss that they minimise."""

    design: AnyDesign  # a kernel without its values, whose memory the next kernel width needs
    # (n_C, n_columns); with a kernel, (n_C, n_samples), with 0 for rows that were left out
    coefs: Float64Array
    results: Sequence[Any]
    loss: AnyLoss
    tol: float  # of the solver

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        result = self.results[index]
        return {
            "expansion_": self.design.expansion([self.coefs[index]]),
            "objective_": self._objective(index),
            "dual_gap_": result.stop_value,
            "n_iter_": result.n_iter,
        }

    def _objective(self, index: int) -> float:
        return self.results[index].objective

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {"coef": self.design.path_coef([self.coefs])}

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        result = self.results[index]
        if result.converged:
            return ""
        return (
            f"stopped after {result.n_iter} steps at {at}; the relative duality gap is "
            f"{result.stop_value:.2g}, above tol={self.tol:g}. Increase max_iter or tol, or scale "
            "the columns of X."
        )


AnyFit = TypeVar("AnyFit", bound=ScoreFit[Any])


@dataclass(frozen=True, eq=False)
class DesignPath(RefitPath[AnyFit]):
    """Base of the paths on columns or on a kernel; equal rows of a query are solved as one."""

    rows: FitData  # checked; their X, not the design, determines which rows are equal
    design: AnyDesign  # columns of every row, or kernel values between the rows

    def solve(self) -> AnyFit:
        """Solutions for every penalty, from all rows."""
        if isinstance(self.design, KernelDesign):
            self.design.check_convex(self.rows.groups)
        return super().solve()

    def _scores(self, fit: AnyFit, X: Matrix) -> Float64Array:
        read_out: Any = self.design.read_out([fit.coefs])  # in the form of the same design
        return self.design.scores(X, read_out)

    def _training_scores(self, fit: AnyFit, rows: Int64Array) -> Float64Array:
        return np.asarray(self._values[rows] @ fit.coefs.T)

    @cached_property
    def _values(self) -> Matrix:
        return self.design.training_values(self.rows.X)

    def _share(self, of_merged: Float64Array, merged: MergedRows, rows: Int64Array) -> Float64Array:
        """Coefficients of all rows: members of a merged row share its own by weight.

        A weight means repetition; rows that were left out have 0.
        """
        coefs = np.zeros((len(of_merged), len(self.rows.y)))
        coefs[:, rows] = of_merged[:, merged.position] * merged.share
        return coefs


@dataclass(frozen=True, eq=False)
class ScorePath(DesignPath[ScoreFit[Any]], Generic[AnyLoss]):
    """``|f|^2 / 2 + C L(f)`` for a grid of C."""

    make_loss: Callable[[GroupedRows], AnyLoss]  # maps rows of whole queries to their loss
    penalties: Penalties  # values of C
    solver: ScoreSolver[AnyLoss]

    def solve(self) -> ScoreFit[AnyLoss]:
        """Solutions for every C, from all rows."""
        if not isinstance(self.design, KernelDesign):
            check_squares(self._values, self.rows.groups)
        return super().solve()

    def _solve(self, rows: Int64Array) -> ScoreFit[AnyLoss]:
        merged, Cs = self._merge(rows), self.penalties.values
        taken, values, design = rows[merged.rows], self._values, self.design
        if isinstance(design, KernelDesign):
            # A kernel becomes columns, so that the solvers need to know columns only.
            values = kernel_factor(centre_kernel(densify(values), merged.indptr, taken))
        else:
            # All rows in their own order need no copy.
            if len(taken) < len(self.rows.y) or not (np.diff(taken) == 1).all():
                values = values[taken]
            values = centre_far_columns(values, merged.indptr)
        loss = self.make_loss(GroupedRows(values, self.rows.y[taken], merged.indptr, merged.weight))
        results = self.solver.path(LinearRows(values, loss), Cs)
        if isinstance(design, KernelDesign):
            # Weights of columns of the factor mean nothing to new rows: coefficients of rows do.
            coefs = self._share(np.stack([result.dual for result in results]), merged, rows)
            design = replace(design, K=None)
        else:
            coefs = np.stack([result.x for result in results])
        return ScoreFit(design, coefs, results, loss, self.solver.tol)

    def _merge(self, rows: Int64Array) -> MergedRows:
        groups = self.rows.groups if len(rows) == len(self.rows.y) else self.rows.groups.take(rows)
        weight = None if self.rows.sample_weight is None else self.rows.sample_weight[rows]
        size = self.rows.X.nnz if is_sparse(self.rows.X) else self.rows.X.size
        is_small = size * (len(rows) / max(1, len(self.rows.y))) <= LARGEST_MERGED
        if is_small or isinstance(self.design, KernelDesign):
            return merge_rows(self.rows.X[rows], self.rows.y[rows], groups, weight)
        return sort_rows(groups, weight)


@dataclass(frozen=True, eq=False)
class PairwiseAbsoluteFit(ScoreFit[Any]):
    """Solutions for every penalty on all training rows, and their path."""

    source: PairwiseAbsolutePath

    def _objective(self, index: int) -> float:
        """``g(y - f) + lam |f|^2`` on all rows, without merging any."""
        source, coef = self.source, self.coefs[index]
        groups, weight = source.rows.groups, source.rows.sample_weight
        order = groups.rows(np.arange(groups.n_queries))
        loss = source.loss(groups.indptr, None if weight is None else weight[order])
        scores = np.asarray(source._values @ coef)
        norm = float(coef @ (scores if isinstance(source.design, KernelDesign) else coef))
        lam = float(source.penalties.values[index])
        return loss.value((source.rows.y - scores)[order]) + lam * norm


@dataclass(frozen=True, eq=False)
class PairwiseAbsolutePath(DesignPath[PairwiseAbsoluteFit]):
    """Absolute differences of residuals over pairs, plus a squared norm, for a grid of penalties.

    ``loss`` maps queries and row weights to the loss of residuals, as
    :func:`rankwise.losses.absolute_loss.pairwise_absolute` does.
    """

    loss: Callable[[Int64Array, Float64Array | None], PairwiseAbsolute]
    penalties: Penalties  # values of lam
    solver: ProximalNewton

    def _solve(self, rows: Int64Array) -> PairwiseAbsoluteFit:
        X, y, weight = self.rows.X, self.rows.y, self.rows.sample_weight
        part = None if weight is None else weight[rows]
        merged = merge_rows(X[rows], y[rows], self.rows.groups.take(rows), part)
        kept = rows[merged.rows]
        loss, lams = self.loss(merged.indptr, merged.weight), self.penalties.values
        columns = None
        if isinstance(self.design, KernelDesign):
            products = kernel_products(densify(self._values), merged.indptr, kept)
        else:
            columns = products = column_products(self._values, merged.indptr, kept)
            # Fewer rows than columns: a Newton step solves the system of the rows.
            if len(kept) < self._values.shape[1]:
                K = columns.X @ columns.X.T
                products = kernel_products(densify(K), merged.indptr)
        results = self.solver.path(loss, y[kept], products, lams)
        dual = np.stack([result.x for result in results])
        if columns is None:
            coefs = self._share(dual, merged, rows)
        else:
            coefs = np.asarray(columns.X.T @ dual.T).T
        return PairwiseAbsoluteFit(self.design, coefs, results, loss, self.solver.tol, self)


def check_squares(values: Matrix, groups: QueryGroups) -> None:
    """Raise FloatingPointError if squares of centred columns overflow.

    The solvers would detect the overflow too, but only after their kernels have been compiled.
    """
    if is_sparse(values):
        overflows = float(np.abs(values.data).max(initial=0.0)) >= LARGEST_DIFFERENCE
    else:
        half = 0.5 * LARGEST_DIFFERENCE
        largest = np.maximum(values.max(axis=0), -values.min(axis=0)).astype(np.float64)
        large = np.flatnonzero(largest >= half)
        order = groups.rows(np.arange(groups.n_queries))
        rows = 0.5 * values[np.ix_(order, large)].astype(np.float64)
        highest, lowest = (
            part.reduceat(rows, groups.indptr[:-1]) for part in (np.maximum, np.minimum)
        )
        overflows = (highest - lowest >= half).any()
    if overflows:
        raise FloatingPointError("squares of the columns overflow")


def centre_far_columns(values: Matrix, indptr: Int64Array) -> Matrix:
    """The rows, with columns far from zero centred within each query.

    Losses of score differences within queries are invariant to this shift. Without it, products of
    such columns lose precision, and Newton steps go astray. Sparse rows and rows without such a
    column stay unchanged.
    """
    if is_sparse(values):
        return values
    squares, largest = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    add_within(values, indptr, squares, largest)
    spread = np.sqrt(squares / max(1, len(values)))
    far = np.flatnonzero((largest > FAR) & (largest > FAR * spread))
    if not len(far):
        return values
    centred = values.copy()
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            rows = values[lo:hi, far] - values[lo, far].astype(np.float64)
            centred[lo:hi, far] = rows - rows.mean(axis=0)
    return centred


def kernel_factor(K: Float64Array) -> Float64Array:
    """Factor U with ``U U' = K`` and rank(K) columns, by pivoted Cholesky; O(N r^2).

    K must be positive semidefinite; parts below the rounding error of its largest entry are left
    out.
    """
    if not len(K):
        return np.zeros((0, 0))
    tol = len(K) * np.finfo(np.float64).eps * max(float(K.diagonal().max()), 0.0)
    factor, pivots, rank, _ = _pstrf(K, tol=tol, lower=1)
    U = np.empty((len(K), rank))
    U[pivots - 1] = np.tril(factor)[:, :rank]
    return U
