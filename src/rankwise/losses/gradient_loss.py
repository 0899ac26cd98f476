"""Losses for gradient boosting, given by their derivatives for each row; additive position bias.

Clicks depend on a score plus a bias for the row's position [1]_: the loss is evaluated at
``f_i + b_p``, where p is the position at which row i was shown, and the trees learn only f. After
every tree, each b takes a Newton step of the loss,

    ``b_p += learning_rate G / (H + 0.001)``,
    ``G = -sum_i g_i - n_p regularisation b_p``, ``H = sum_i h_i + n_p regularisation``,

over the n_p rows shown at p, as LightGBM does.

References
----------
.. [1] LightGBM's documentation, "Advanced Topics", on position bias in rankings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.losses.score_loss import QueryWeight, query_scale
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array

CHUNK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Labels of whole queries, one query after the other.

    ``query_weight`` multiplies the loss of a query by 1 ("pair"), 1 / W ("document") or 1 / W^2
    ("query"), where W is the sum of its weights.
    """

    y: Float64Array
    indptr: Int64Array  # query ``q`` holds the rows ``indptr[q]:indptr[q + 1]``
    weight: Float64Array | None  # > 0: a row of weight w stands for w equal rows; None: all 1
    query_weight: QueryWeight = "pair"

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    def weights(self, rows: slice = slice(None)) -> Float64Array:
        """Weights of some rows."""
        if self.weight is None:
            return np.ones(len(range(int(self.indptr[-1]))[rows]))
        return self.weight[rows]

    def query_codes(self) -> Int64Array:
        """Query number of every row."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.indptr))


class GradientLoss:
    """Base class of losses that compute derivatives at all scores, tree by tree.

    A subclass defines ``_write``. The derivatives do not depend on ``n_threads``.
    """

    rows: JudgedRows

    draws: bool = False  # whether the loss draws random numbers for every tree

    def __init__(self, rows: JudgedRows, n_threads: int) -> None:
        self.rows, self._n_threads = rows, n_threads
        self._chunks = query_chunks(rows.indptr, CHUNK_ROWS)
        self._scale = None
        if rows.query_weight != "pair":
            scale = query_scale(rows.indptr, rows.weights(), rows.query_weight)
            self._scale = scale[rows.query_codes()]

    @property
    def indptr(self) -> Int64Array:
        """First row of every query, and the number of rows."""
        return self.rows.indptr

    @property
    def has_pairs(self) -> bool:
        """Whether some query has rows with different targets."""
        return self.n_queries_with_pairs > 0

    @property
    def n_queries_with_pairs(self) -> int:
        """Number of queries that have rows with different targets."""
        count = 0
        for first, last in self._chunks:
            indptr = self.indptr[first : last + 1]
            targets = self._targets(slice(int(indptr[0]), int(indptr[-1])))
            indptr = indptr - indptr[0]
            # Any row unlike the first of its query makes a pair.
            unlike = targets != targets[np.repeat(indptr[:-1], np.diff(indptr))]
            queries = np.searchsorted(indptr, np.flatnonzero(unlike), side="right")
            count += len(np.unique(queries))
        return count

    def write(
        self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array, tree: int = 0
    ) -> None:
        """Write first and second derivatives at the scores; all arrays are (n_samples,).

        Derivatives are summed over the copies of a row; ``hessians`` are >= 0. ``tree`` is the
        number of the tree to be fitted, which determines the draws of losses that draw random
        numbers.
        """
        self._begin(tree)

        def chunk(queries: tuple[int, int]) -> None:
            first, last = queries
            indptr = self.indptr[first : last + 1]
            rows = slice(int(indptr[0]), int(indptr[-1]))
            indptr = indptr - indptr[0]
            self._write(queries, rows, indptr, scores[rows], gradients[rows], hessians[rows])

        thread_map(chunk, self._chunks, self._n_threads)
        self._scale_queries(gradients, hessians)

    def _scale_queries(self, gradients: Float64Array, hessians: Float64Array) -> None:
        """Multiply the derivatives by the weights of the queries, in place."""
        # Derivatives are scaled, not row weights, which measures read as numbers of ranks.
        if self._scale is not None:
            gradients *= self._scale
            hessians *= self._scale

    def _targets(self, rows: slice) -> Float64Array:
        """Targets of some rows; rows with equal targets have no preferred order."""
        return self.rows.y[rows]

    def _begin(self, tree: int) -> None:
        """Draw the random numbers for a tree, if the loss needs any."""

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        """Write the derivatives for ``queries``, a range from its first to before its last.

        ``rows`` is the range of their rows; ``indptr`` and the arrays start at the first of them.
        """
        raise NotImplementedError


# Keeps a position without second derivatives from dividing by 0; the value is LightGBM's.
RIDGE = 0.001


class PositionBias:
    """Wrap a loss so that it is evaluated at scores plus the bias of each row's position.

    ``position`` (n_samples,) is where each row was shown. ``before`` holds the initial biases of
    positions; all others start at 0. ``positions`` (n_positions,) are the distinct ones, ascending,
    and ``biases`` (n_positions,) theirs after the trees fitted so far.
    """

    positions: Int64Array

    draws: bool = True  # the biases differ from tree to tree

    def __init__(
        self,
        loss: GradientLoss,
        position: Int64Array,
        before: dict[int, float],
        learning_rate: float,
        regularisation: float,
    ) -> None:
        self._loss = loss
        self.positions, self._codes = np.unique(position, return_inverse=True)
        self._rate, self._penalty = learning_rate, regularisation
        self.biases = np.array([before.get(p, 0.0) for p in self.positions.tolist()])

    @property
    def indptr(self) -> Int64Array:
        """First row of every query, and the number of rows."""
        return self._loss.indptr

    def write(
        self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array, tree: int = 0
    ) -> None:
        """Write the derivatives at the biased scores, then update the biases."""
        self._loss.write(scores + self.biases[self._codes], gradients, hessians, tree)

        def sums(values: Float64Array) -> Float64Array:
            return np.bincount(self._codes, values, len(self.biases))

        # Weights count as rows, so that a weight equals repetition.
        penalty = self._penalty * sums(self._loss.rows.weights())
        step = -sums(gradients) - penalty * self.biases
        self.biases: NDArray[Any] = self.biases + self._rate * step / (
            sums(hessians) + penalty + RIDGE
        )


BoostedLoss: TypeAlias = GradientLoss | PositionBias
