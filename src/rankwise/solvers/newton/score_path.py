"""The path of a ranker whose loss is of scores: on columns or on a kernel, for rows or folds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.checks.rows import FitData
from rankwise.groups import QueryGroups
from rankwise.kernels.row_products import add_within
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import query_chunks
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.solvers.newton.merged_rows import merge_rows
from rankwise.solvers.newton.row_products import kernel_products
from rankwise.solvers.newton.score_newton import LinearRows, ScoreLoss, ScoreResult
from rankwise.tuning.folds import cv_splits
from rankwise.tuning.held_out import measure_refits, measure_rows
from rankwise.typing import Float64Array, Int64Array, Matrix, as_dense, is_sparse

_pstrf: Any = get_lapack_funcs("pstrf", dtype=np.float64)
# Rows are merged and put in an order of their own below so many numbers: the result then has the
# same bits for any order of the input. Beyond, rounding depends on it.
LARGEST_MERGED = 5e6
# A column whose values are so many times as large as its spread within queries, and so large at
# all, is centred: a Unix time, say.
FAR = 1e3
# Differences within queries beyond it have squares that overflow.
LARGEST_DIFFERENCE = 2.0**512


class Loss(Protocol):
    """A loss of the scores of whole queries, rows in group order."""

    def part(self, first: int, last: int) -> ScoreLoss: ...


class ScoreProblem(Protocol):
    """A loss before the rows are known, and its solver."""

    def loss(
        self, values: Matrix, indptr: Int64Array, y: Float64Array, weight: Float64Array
    ) -> Any: ...

    def path(
        self, loss: Any, rows: LinearRows, queries: Sequence[tuple[int, int]], Cs: Float64Array
    ) -> list[ScoreResult]: ...


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """Solutions for every C on all training rows, and the loss that they minimise."""

    design: Any
    coefs: Float64Array
    results: Sequence[ScoreResult]
    loss: Loss

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        result = self.results[index]
        return {
            **self.design.attributes([self.coefs[index]]),
            "objective_": result.objective,
            "dual_gap_": result.stop_value,
            "n_iter_": result.n_iter,
        }

    def path_coef(self) -> Float64Array:
        """All solutions, as ``path_["coef"]`` holds them."""
        return self.design.path_coef([self.coefs])


@dataclass(frozen=True, eq=False)
class ScorePath:
    """``|f|^2 / 2 + C L(f)`` for a grid of C.

    Attributes
    ----------
    rows : FitData
        Rows as the user gave them; equal ones are found in them, whatever the design.
    design : Design or KernelDesign
        Columns of every row, or kernel values between the rows.
    problem : ScoreProblem
        The loss and its solver.
    Cs : ndarray of shape (n_C,)
    """

    rows: FitData
    design: Any
    problem: ScoreProblem
    Cs: Float64Array

    def solve(self) -> ScoreFit:
        """Coefficients of the columns (or of the rows) for every C, from all rows."""
        if self.design.is_kernel:
            self.design.check_convex(self.rows.groups)
        else:
            check_squares(self._values, self.rows.groups)
        coefs, results, loss = self._solve(np.arange(len(self.rows.y)))
        design = replace(self.design, K=None) if self.design.is_kernel else self.design
        return ScoreFit(design, coefs, results, loss)

    def validate(self, measure: Measure, rows: FitData) -> tuple[ScoreFit, Float64Array]:
        """Solutions on all rows, measured on validation rows."""
        fit = self.solve()
        scores = self.design.scores(rows.X, self.design.read_out([fit.coefs]))
        return fit, measure_rows(measure, rows, scores)

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[ScoreFit, Float64Array]:
        """Solutions on all rows, measured by cross-validation, each split fitted anew."""
        fit, values = self.solve(), self._values

        def scores(train: Int64Array, test: Int64Array) -> Float64Array:
            return np.asarray(values[test] @ self._solve(train)[0].T)

        n_threads = None if len(self.rows.y) > 500 else 1
        splits = cv_splits(cv, self.rows)
        return fit, measure_refits(measure, self.rows, splits, scores, n_threads)

    @cached_property
    def _values(self) -> Matrix:
        return self.design.training_values(self.rows.X)

    def _solve(self, rows: Int64Array) -> tuple[Float64Array, list[ScoreResult], Loss]:
        taken, is_kernel = self._take(rows), self.design.is_kernel
        if is_kernel:
            K = as_dense(self._values)
            values = kernel_factor(kernel_products(K, taken.indptr, taken.rows).K)
        elif len(taken.rows) == len(self.rows.y) and (np.diff(taken.rows) == 1).all():
            values = self._values
        else:
            values = self._values[taken.rows]
        if not is_kernel:
            values = centre_far_columns(values, taken.indptr)
        loss: Loss = self.problem.loss(values, taken.indptr, self.rows.y[taken.rows], taken.weight)
        chunks = query_chunks(taken.indptr, CHUNK_ROWS)
        bounds = [(int(taken.indptr[a]), int(taken.indptr[b])) for a, b in chunks]
        linear = LinearRows(values, bounds, [loss.part(a, b) for a, b in chunks])
        results = self.problem.path(loss, linear, chunks, self.Cs)
        if not is_kernel:
            return np.stack([result.x for result in results]), results, loss
        coefs = np.zeros((len(self.Cs), len(self.rows.y)))
        dual = np.stack([result.dual for result in results])
        coefs[:, rows] = dual[:, taken.position] * taken.share
        return coefs, results, loss

    def _take(self, rows: Int64Array) -> Taken:
        groups = self.rows.groups if len(rows) == len(self.rows.y) else self.rows.groups.take(rows)
        weight = None if self.rows.sample_weight is None else self.rows.sample_weight[rows]
        size = self.rows.X.nnz if is_sparse(self.rows.X) else self.rows.X.size
        if size * (len(rows) / max(1, len(self.rows.y))) <= LARGEST_MERGED or self.design.is_kernel:
            merged = merge_rows(self.rows.X[rows], self.rows.y[rows], groups, weight)
            return Taken(
                rows[merged.rows], merged.indptr, merged.weight, merged.position, merged.share
            )
        order = groups.rows(np.arange(groups.n_queries))
        weight = np.ones(len(rows)) if weight is None else weight[order]
        return Taken(rows[order], groups.indptr, weight, np.argsort(order), np.ones(len(rows)))


@dataclass(frozen=True, eq=False)
class Taken:
    """Rows to solve for in group order, see :mod:`rankwise.solvers.newton.merged_rows`."""

    rows: Int64Array
    indptr: Int64Array
    weight: Float64Array
    position: Int64Array
    share: Float64Array


def check_squares(values: Matrix, groups: QueryGroups) -> None:
    """Raise FloatingPointError where squares of centred columns overflow.

    The solvers would find out, but only after their kernels have been compiled.
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
    """The rows with columns that are far from zero centred within each query.

    Losses of score differences within queries do not feel the shift. Products of such columns
    otherwise lose the digits of the differences, and Newton steps go astray. Sparse rows stay as
    they are, and so do rows without such a column.
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
    """U of as few columns as the rank with ``U U' = K``, by pivoted Cholesky; O(N r^2).

    K must be positive semidefinite; what is below rounding of its largest entry is left out.
    """
    if not len(K):
        return np.zeros((0, 0))
    tol = len(K) * np.finfo(np.float64).eps * max(float(K.diagonal().max()), 0.0)
    factor, pivots, rank, _ = _pstrf(K, tol=tol, lower=1)
    U = np.empty((len(K), rank))
    U[pivots - 1] = np.tril(factor)[:, :rank]
    return U
