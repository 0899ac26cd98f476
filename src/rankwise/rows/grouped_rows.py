"""Rows of whole queries, the input of losses and their solvers."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in group order: query ``q`` holds the rows ``indptr[q]:indptr[q + 1]``.

    X is (n_samples, n_columns), y and weight are (n_samples,).
    """

    X: Matrix
    y: Float64Array
    indptr: Int64Array
    weight: Float64Array
