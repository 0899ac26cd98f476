"""ELMRank tuned and fitted for many draws of its nodes, on few rows and many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.features.random_features import NodeMap
from rankwise.solvers.least_squares.stabilised import (
    C_GRID,
    LAM_GRID,
    FoldPlan,
    complex_paths,
    complex_penalties,
    plan_folds,
)
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Matrix, densify, is_sparse

# Number of draws that are decomposed together.
TOGETHER = 8
# Rows whose median is the common row, and the share of deviations up to which they are sparse.
FEW_ROWS, SPARSE_SHARE = 9, 0.2


@dataclass(frozen=True, eq=False)
class TunedDraws:
    """Result of node draws, each with its own choice of (lam, C).

    Attributes
    ----------
    scores : ndarray of shape (n_test,)
        Mean of the draws' scores.
    draw_scores : ndarray of shape (n_draws, n_test)
    lam, C : ndarray of shape (n_draws,)
    errors : ndarray of shape (n_draws, n_lam, n_C)
        Squared error of all held-out rows after subtracting each fold's own intercept.
    """

    scores: Float64Array
    draw_scores: Float64Array
    lam: Float64Array
    C: Float64Array
    errors: Float64Array


def tune_draws(
    X_train: Matrix,
    y_train: Float64Array,
    X_test: Matrix,
    maps: Sequence[NodeMap],
    folds: Int64Array,
    lam: ArrayLike = LAM_GRID,
    C: ArrayLike = C_GRID,
    sample_weight: Float64Array | None = None,
) -> TunedDraws:
    """Tune and fit ELMRank for each draw of the nodes on one group of rows; average the scores.

    Intended for few rows and many calls (450,000 fits in minutes). Input is not checked and no
    estimator is built. The caller must set one BLAS thread
    (``rankwise.runtime.threads.single_threaded_blas``).

    Parameters
    ----------
    X_train, y_train : (m, d), (m,)
        Training rows, dense float64 or CSR, and targets.
    X_test : (t, d)
        Rows to predict.
    maps : sequence of NodeMap
        The draws, all of the same size.
    folds : int array of shape (m,) or (n_draws, m)
        Fold 0 ... k-1 of each training row, the same for all draws or one row for each draw.
        Every fold needs at least one row, and k >= 2.
    lam, C : array-like of shape (n_lam,), (n_C,)
        Grids; ``lam >= 0``, and > 0 if ``C`` contains ``np.inf``. The smallest error is chosen;
        ties go to the first in (lam, C) order.
    sample_weight : ndarray of shape (m,), optional
        Repetitions of each training row, > 0.

    Returns
    -------
    TunedDraws
    """
    lam = np.asarray(lam, dtype=np.float64)
    C = np.asarray(C, dtype=np.float64)
    penalty = complex_penalties(lam, C)
    m, n_draws = X_train.shape[0], len(maps)
    plans = _plans(np.atleast_2d(folds), np.ones(m) if sample_weight is None else sample_weight)
    chosen = np.empty(n_draws, dtype=np.int64)
    errors = np.empty((n_draws, penalty.shape[1]))
    draw_scores = np.empty((n_draws, X_test.shape[0]))
    rows = _StackedRows.stacked(X_train, X_test)
    for start in range(0, n_draws, TOGETHER):
        hidden = np.stack([rows.hidden(nodes) for nodes in maps[start : start + TOGETHER]])
        paths = complex_paths(hidden[:, :m], y_train, sample_weight)
        for draw, path in enumerate(paths, start):
            errors[draw] = path.held_out(plans[draw % len(plans)], penalty)
            best = chosen[draw] = errors[draw].argmin()
            draw_scores[draw] = hidden[draw - start, m:] @ path.coef(penalty[:, best, None])[0]
    return TunedDraws(
        draw_scores.mean(axis=0),
        draw_scores,
        lam[chosen // len(C)],
        C[chosen % len(C)],
        errors.reshape(n_draws, len(lam), len(C)),
    )


@dataclass(frozen=True, eq=False)
class _StackedRows:
    """Rows; also stored as a common row plus sparse deviations if most entries are equal."""

    rows: Matrix
    common: Float64Array | None
    deviations: Matrix

    @classmethod
    def stacked(cls, X_train: Matrix, X_test: Matrix) -> _StackedRows:
        """Training rows, then test rows."""
        if is_sparse(X_train):
            rows: Any = sparse.vstack([X_train, X_test], format="csr")
            return cls(rows, None, rows)
        rows = np.concatenate([X_train, densify(X_test)])
        common = np.median(rows[:FEW_ROWS], axis=0)
        deviations = rows - common
        if np.count_nonzero(deviations) > SPARSE_SHARE * rows.size:
            return cls(rows, None, rows)
        return cls(rows, common, sparse.csr_array(deviations))

    def hidden(self, nodes: NodeMap) -> Float64Array:
        """Node outputs of all rows."""
        if self.common is None or nodes.activation == "gaussian":
            return nodes.rows(self.rows)
        moved = nodes.biases + self.common @ nodes.weights
        return replace(nodes, biases=moved).rows(self.deviations)


def _plans(folds: Int64Array, weight: Float64Array) -> list[FoldPlan]:
    """The plan of each row of ``folds``."""
    counts = np.array([np.bincount(row, minlength=folds.max() + 1) for row in folds])
    first = plan_folds(_members(folds[0]), weight)
    if len(folds) == 1:
        return [first]
    if (weight != 1.0).any() or (counts != counts[0]).any():
        return [plan_folds(_members(row), weight) for row in folds]
    position = np.empty(counts.shape[1], dtype=np.int64)
    position[folds[0][first.order]] = np.arange(len(first.order))  # the last row of each fold
    orders = np.argsort(position[folds], axis=1, kind="stable")
    return [replace(first, order=order) for order in orders]


def _members(fold: Int64Array) -> list[Int64Array]:
    order = np.argsort(fold, kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold))[:-1])
