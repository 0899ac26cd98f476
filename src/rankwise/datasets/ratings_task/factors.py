"""Predict residuals by factors: alternating least squares and truncated SVD.

References
----------
.. [1] Zhou, Wilkinson, Schreiber & Pan, "Large-scale parallel collaborative filtering for the
   Netflix prize", AAIM 2008: a penalty times the number of ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from rankwise.datasets.ratings_task.context import Context
from rankwise.datasets.ratings_task.split import splitmix64
from rankwise.typing import Float64Array, Int64Array

SINGULAR_RANK = 20
PENALTIES = (0.05, 0.1, 0.2)
_ROUNDS, _ROUNDS_TRIED = 8, 4
_HELD_OUT = 10  # every tenth rating chooses the penalty
Factors = tuple[Float64Array, Float64Array]


def choose_penalty(context: Context, rank: int, penalties: Sequence[float] = PENALTIES) -> float:
    """Choose the penalty with the least squared error on a tenth of the context ratings."""
    keys = splitmix64(context.users * context.n_items + context.items)
    held = keys % np.uint64(_HELD_OUT) == 0
    if not held.any() or held.all():  # so few ratings that none can choose
        return penalties[len(penalties) // 2]
    kept = Context(
        context.users[~held], context.items[~held], context.values[~held], context.n_users,
        context.n_items, context.scale,
    )  # fmt: skip
    users, items = context.users[held], context.items[held]
    rest = context.values[held] - kept.baseline(users, items)
    errors = []
    for penalty in penalties:
        P, Q = fit_factors(kept, rank, penalty, _ROUNDS_TRIED)
        errors.append(float(((rest - (P[users] * Q[items]).sum(axis=1)) ** 2).mean()))
    return penalties[int(np.argmin(errors))]


def fit_factors(context: Context, rank: int, penalty: float, n_rounds: int = _ROUNDS) -> Factors:
    """Factors P of users and Q of items, of shapes (n_users, rank) and (n_items, rank).

    They minimise, over ratings with residuals r,
    ``sum (r - p_u q_i)^2 + penalty (sum_u n_u |p_u|^2 + sum_i n_i |q_i|^2)``.
    """
    residuals: Any = context.matrix(context.residuals.astype(np.float32))
    rated = context.matrix(np.ones(len(context.residuals), dtype=np.float32))
    Q = np.random.RandomState(0).normal(size=(context.n_items, rank)) / np.sqrt(rank)
    P = np.zeros((context.n_users, rank))
    by_item: Any = sparse.csr_array(residuals.T)
    rated_by: Any = sparse.csr_array(rated.T)
    for _ in range(n_rounds):
        P = _solve_rows(residuals, rated, Q, penalty)
        Q = _solve_rows(by_item, rated_by, P, penalty)
    return P, Q


def rotate_factors(factors: Factors) -> Factors:
    """Rotate factors without changing the products of pairs, so that the largest comes first.

    The shapes are kept; zeros are added if there are fewer users or items than factors.
    """
    (left, upper), (right, lower) = (np.linalg.qr(matrix) for matrix in factors)
    U, S, Vt = np.linalg.svd(upper @ lower.T, full_matrices=False)
    found = left @ U * np.sqrt(S), right @ Vt.T * np.sqrt(S)
    missing = factors[0].shape[1] - len(S)
    return np.pad(found[0], ((0, 0), (0, missing))), np.pad(found[1], ((0, 0), (0, missing)))


def singular(matrix: Any) -> Factors:
    """Factors of the best low-rank approximation of a matrix, including its zeros."""
    rank = min(SINGULAR_RANK, min(matrix.shape) - 1)
    if rank < 1 or not matrix.data.any():  # ARPACK takes neither
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    start = np.random.RandomState(0).normal(size=min(matrix.shape))
    found: Any = svds(matrix.astype(np.float64), k=rank, v0=start)
    U, S, Vt = found
    return U * np.sqrt(S), Vt.T * np.sqrt(S)


def products(factors: Factors, users: Int64Array, items: Int64Array) -> Float64Array:
    """Products of the factors of pairs, shape (n_pairs, rank); their sum is the prediction."""
    P, Q = factors
    return P[users] * Q[items]


def _solve_rows(targets: Any, rated: Any, Q: Float64Array, penalty: float) -> Float64Array:
    """Solve least squares for every row, with normal equations from one matrix product."""
    rank = Q.shape[1]
    first, second = np.triu_indices(rank)
    outer = (Q[:, first] * Q[:, second]).astype(np.float32)
    upper = rated @ outer
    grams = np.empty((rated.shape[0], rank, rank))
    grams[:, first, second] = upper
    grams[:, second, first] = upper
    counts = np.diff(rated.indptr)
    diagonal = np.arange(rank)
    grams[:, diagonal, diagonal] += penalty * np.maximum(counts, 1)[:, None]
    sums = (targets @ Q.astype(np.float32)).astype(np.float64)
    return np.linalg.solve(grams, sums[:, :, None])[:, :, 0]
