"""Kernel matrices centred by query.

Only score differences within a query count, and dual values sum to zero within a query. A kernel
matrix may therefore be centred by query on both sides. Scores (up to constants), norms and
solutions stay the same, and conditionally definite kernels become definite.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.solvers.least_squares.eigen_path import NEGATIVE_CUT
from rankwise.typing import Float64Array, Int64Array

_potrf: Any = get_lapack_funcs("potrf", dtype=np.float64)


def centre_kernel(
    K: Float64Array, indptr: Int64Array, rows: Int64Array | None = None
) -> Float64Array:
    """A kernel matrix, centred by query on both sides; K is not changed.

    ``indptr``, (n_queries + 1,), bounds the queries of consecutive ``rows``. These are the rows and
    columns of K to select, in group order; None takes all, unchanged.
    """
    K = np.array(K if rows is None else K[np.ix_(rows, rows)], dtype=np.float64, order="C")
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            K[lo:hi] -= K[lo:hi].mean(axis=0)
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            K[:, lo:hi] -= K[:, lo:hi].mean(axis=1)[:, None]
    return K


def is_semidefinite(K: Float64Array) -> bool:
    """Whether no eigenvalue of a symmetric matrix is below zero by more than ``NEGATIVE_CUT`` of
    its largest entry; one Cholesky factorisation."""
    shift = NEGATIVE_CUT * float(np.abs(K).max(initial=0.0)) + np.finfo(np.float64).tiny
    _, info = _potrf((K + shift * np.eye(len(K))).T, lower=1, overwrite_a=1)
    return info == 0
