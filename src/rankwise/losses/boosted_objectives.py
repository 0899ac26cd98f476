"""Losses that boosted trees minimise, by name: of pairs, of lists, of users.

With row weights w and query weights c_q, see :class:`rankwise.losses.gradient_loss.JudgedRows`, the
losses of pairs are

    logistic: ``sum_q c_q sum_{y_i > y_j} w_i w_j log(1 + exp(f_j - f_i))`` [1]_;
    squared: ``sum_q c_q sum_{i < j} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 / 2``, the loss of
    LSRRank and of PairwiseELM: the quadratic form of the Laplacian of the query's graph [2]_.

The cross entropy that bounds nDCG (XE-nDCG) [3]_ is ``sum_q c_q sum_i -t_i log p_i`` with
``p_i = w_i exp(f_i) / sum_j w_j exp(f_j)`` and
``t_i = w_i (g_i + 1 - u_i) / sum_j w_j (g_j + 1 - u_j)`` over the rows of a query. Here g is the
gain of nDCG, 2**y - 1, and u is drawn from [0, 1) for every row and tree.

References
----------
.. [1] Burges et al., "Learning to rank using gradient descent", ICML 2005.
.. [2] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
   Machine Learning 75, 2009.
.. [3] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.groups import count_copies
from rankwise.kernels.lambda_gradients import (
    cross_entropy,
    differentiate_squared_pairs,
    logistic_pairs,
)
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.losses.lambda_gradients import LambdaGradients, NeighbourGradients, gains_of
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.metrics.measures.ndcg import DCG, NDCG
from rankwise.typing import Float64Array, Int64Array

Objective: TypeAlias = Literal["lambdarank", "yetirank", "xendcg", "logistic", "squared"]


def follows_measure(objective: Objective | GradientFunction, decay: float | None) -> bool:
    """Whether the loss weights pairs by the change of a measure."""
    return objective == "lambdarank" or (objective == "yetirank" and decay is None)


def make_loss(
    objective: Objective | GradientFunction,
    rows: JudgedRows,
    measure: Measure,
    truncation_level: int | None,
    normalised: bool,
    decay: float | None,
    seed: int,
    n_threads: int,
) -> GradientLoss:
    """Create a loss on rows, by name or from a function that computes its derivatives.

    lambdarank and yetirank optimise ``measure``; xendcg uses the gains of nDCG or DCG. lambdarank
    follows nDCG@k and DCG@k down to rank ``max(k, truncation_level)``. For ``normalised``, see
    :class:`rankwise.losses.lambda_gradients.LambdaGradients`, for ``decay``
    :class:`rankwise.losses.lambda_gradients.NeighbourGradients`. Only xendcg and yetirank draw
    random numbers, from ``seed``.
    """
    if not isinstance(objective, str):
        return FunctionGradients(rows, objective, n_threads)
    if objective == "lambdarank":
        if isinstance(measure, NDCG | DCG) and measure.cutoff and truncation_level:
            measure = replace(measure, cutoff=max(measure.cutoff, truncation_level))
        return LambdaGradients(rows, measure, normalised, n_threads)
    if objective == "yetirank":
        return NeighbourGradients(rows, measure, decay, seed, n_threads)
    if objective == "xendcg":
        gains = measure if isinstance(measure, NDCG | DCG) else parse("nDCG")
        assert isinstance(gains, NDCG | DCG)
        return CrossEntropyGradients(rows, gains, seed, n_threads)
    return (LogisticGradients if objective == "logistic" else SquaredGradients)(rows, n_threads)


# Squares of 1e200 leave room for their sums over any number of pairs.
LARGEST_LABEL = 1e100


class LogisticGradients(GradientLoss):
    """Logistic loss of the pairs of different labels; O(m^2) for m rows of a query."""

    def __init__(self, rows: JudgedRows, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        order = np.lexsort((rows.y, rows.query_codes()))
        starts = np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        self._order = (order - starts).astype(np.int32)

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        logistic_pairs(
            scores, self.rows.y[rows], self.rows.weights(rows), self._order[rows], indptr,
            gradients, hessians,
        )  # fmt: skip


class SquaredGradients(GradientLoss):
    """Squared loss of all pairs; O(m) for m rows of a query.

    Raises ValueError if labels are so large that their squares overflow.
    """

    def __init__(self, rows: JudgedRows, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        largest = np.abs(rows.y).max(initial=0)
        if largest > LARGEST_LABEL:
            raise ValueError(
                f"y must lie within +-{LARGEST_LABEL:g} for objective='squared', got a label of "
                f"size {largest:g}. Scale the labels."
            )

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        differentiate_squared_pairs(
            scores, self.rows.y[rows], self.rows.weights(rows), indptr, gradients, hessians
        )


class CrossEntropyGradients(GradientLoss):
    """Cross entropy with targets drawn anew for every tree; O(m) for m rows of a query.

    ``measure`` supplies the gains. Equal rows of a query share a draw, so that repeating a row is
    equivalent to weighting it.
    """

    draws: bool = True

    def __init__(self, rows: JudgedRows, measure: NDCG | DCG, seed: int, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        self._gains, self._seed = gains_of(measure, rows.y), seed
        self._codes = rows.query_codes()
        # A query of equal gains has nothing to order; the noise in its targets would only be
        # followed.
        differs = self._gains != self._gains[rows.indptr[self._codes]]
        self._counts = np.bincount(self._codes, differs, rows.n_queries) > 0
        self._aims = np.zeros(len(rows.y))

    def _targets(self) -> Float64Array:
        return self._gains

    def _begin(self, tree: int) -> None:
        # The 1 keeps these numbers apart from those that boosting draws from the seed and the tree.
        draws = np.random.default_rng([self._seed, tree, 1]).random(len(self._gains))
        aims = self.rows.weights() * (self._gains + 1.0 - draws)
        totals = np.bincount(self._codes, aims, self.rows.n_queries)
        self._aims = np.where(self._counts[self._codes], aims / totals[self._codes], 0.0)

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        weight = self.rows.weights(rows)
        cross_entropy(scores, self._aims[rows], weight, indptr, gradients, hessians)


# Sums of so many rows fit into an array, and sums of derivatives of this size into float64.
LARGEST_DERIVATIVE = 1e200
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
        fix = "Use a named objective, or whole weights."
        copies = count_copies(weight, "if objective is a function", fix)
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
