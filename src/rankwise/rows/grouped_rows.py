"""Rows of whole queries, the input of losses and their solvers."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in group order: the rows of a query are consecutive.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_columns)
    y : ndarray of shape (n_samples,)
    indptr : ndarray of shape (n_queries + 1,), int64
        Query ``q`` holds rows ``indptr[q]:indptr[q + 1]``.
    weight : ndarray of shape (n_samples,)
    """

    X: Matrix
    y: Float64Array
    indptr: Int64Array
    weight: Float64Array
