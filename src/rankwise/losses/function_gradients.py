"""Gradients that a function of the user computes, for gradient boosting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.typing import Float64Array, Int64Array

# Sums of so many rows fit into an array, and sums of derivatives of this size into float64.
MOST_ROWS, LARGEST_DERIVATIVE = 2**31, 1e200
# Labels, scores and rows per query to first and second derivatives.
GradientFunction: TypeAlias = Callable[[Float64Array, Float64Array, Int64Array], tuple[Any, Any]]


class FunctionGradients(GradientLoss):
    """Derivatives by a function of labels, scores and the numbers of rows of the queries.

    The function sees every copy of a row, so that it needs no weights: a row of weight w is passed
    w times, and the derivatives of its copies are summed. Weights must therefore be whole numbers,
    and their sum at most 2^31. The function is called once for a tree, on all rows.

    ``write`` raises ValueError for derivatives of a wrong shape, that are missing or no real
    numbers within +-1e200, or second derivatives below 0.
    """

    def __init__(self, rows: JudgedRows, function: GradientFunction, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        self._function, weight = function, rows.weights()
        copies = weight.astype(np.int64)
        if (copies != weight).any():
            row = float(weight[np.argmax(copies != weight)])
            raise ValueError(
                "sample_weight must hold whole numbers if objective is a function, which sees a "
                f"row of weight w as w rows; got {row:g}. Use a named objective, or whole weights."
            )
        if weight.sum() > MOST_ROWS:
            raise ValueError(
                f"sample_weight must sum to at most {MOST_ROWS:,} if objective is a function, "
                f"which sees a row of weight w as w rows; got {weight.sum():,.0f}. Use smaller "
                "weights, or a named objective."
            )
        self._copies = np.repeat(np.arange(len(copies)), copies)
        self._first = np.cumsum(copies) - copies
        self._sizes = np.add.reduceat(copies, rows.indptr[:-1])
        self._labels = rows.y[self._copies]

    def write(
        self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array, tree: int = 0
    ) -> None:
        # Copies, because the function may write to its arguments.
        given = self._labels.copy(), scores[self._copies], self._sizes.copy()
        returned = self._function(*given)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise ValueError(
                "objective must return two arrays, the first and the second derivatives, got "
                f"{type(returned).__name__}."
            )
        first = _check_derivatives("first", returned[0], len(self._labels))
        second = _check_derivatives("second", returned[1], len(self._labels))
        if (second < 0).any():
            raise ValueError(
                f"objective must return second derivatives >= 0, got {second.min():g}. Return an "
                "upper bound of them, or their absolute values."
            )
        np.add.reduceat(first, self._first, out=gradients)
        np.add.reduceat(second, self._first, out=hessians)
        self._scale_queries(gradients, hessians)


def _check_derivatives(which: str, values: Any, n_rows: int) -> Float64Array:
    """The derivatives as float64; ValueError if they are not finite numbers, one for each row."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of several lengths
        raise ValueError(
            f"objective must return {which} derivatives as an array: {error}"
        ) from None
    if np.ma.is_masked(values):
        raise ValueError(
            f"objective must return {which} derivatives for all rows, got a masked array. Fill it."
        )
    if array.dtype.kind not in "fiu":
        raise ValueError(
            f"objective must return {which} derivatives that are real numbers, got "
            f"{array.dtype.name}."
        )
    if array.shape != (n_rows,):
        raise ValueError(
            f"objective must return {which} derivatives of shape ({n_rows},), one for each label "
            f"that it receives, got shape {array.shape}."
        )
    is_usable = np.abs(array) <= LARGEST_DERIVATIVE  # False for NaN
    if not is_usable.all():
        row = int(np.argmin(is_usable))
        raise ValueError(
            f"objective must return {which} derivatives within +-{LARGEST_DERIVATIVE:g}, got "
            f"{array[row]} at position {row}."
        )
    return array.astype(np.float64)
