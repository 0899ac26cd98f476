"""RankSVM's two problems: squared hinges by Newton steps, hinges by ever sharper bends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.listed_hinge import ListedHinge
from rankwise.losses.pair_weights import (
    PairWeight,
    label_codes,
    pair_weights,
    query_scale,
    table_of_few,
)
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.runtime.threads import query_chunks, single_threaded_blas
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.solvers.newton.pair_selectors import PairSelector
from rankwise.solvers.newton.score_newton import LinearRows, ScoreNewton, ScoreResult
from rankwise.typing import Float64Array, Int64Array, Matrix

PILOT_C = 1.0
FIRST_BEND = 0.5  # of the margin (or the spread of the labels)
SHARPER = 0.2  # next bend
MOST_BENDS = 30


@dataclass(frozen=True, eq=False)
class PrunedHinge(ListedHinge):
    """Kept pairs, and how many there are in all."""

    n_all: int = 0


@dataclass(frozen=True)
class HingeProblem:
    """Pairs of distinct grades and the hinge of their score difference.

    Attributes
    ----------
    squared : bool
        Squared hinge, or the hinge itself.
    pair_weight : see :func:`rankwise.losses.pair_weights.pair_weights`
    by_difference : bool
        Whether the margin of a pair is the difference of its labels, or 1.
    query_weight : {"pair", "document", "query"}
    tol, max_iter
        As in :class:`ScoreNewton`; for the hinge ``tol`` is the duality gap's share.
    """

    squared: bool
    pair_weight: PairWeight
    by_difference: bool
    query_weight: QueryWeight
    tol: float
    max_iter: int

    def loss(
        self, values: Matrix, indptr: Int64Array, y: Float64Array, weight: Float64Array
    ) -> Any:
        """The loss of whole queries; squared, or with the first bend."""
        grades = np.unique(y)
        table = table_of_few(self.pair_weight, grades)
        loss = PairwiseHinge(
            indptr,
            label_codes(y, indptr, table),
            weight,
            query_scale(indptr, weight, self.query_weight),
            table,
            y if self.by_difference else np.zeros(len(y)),
            0.0 if self.by_difference else 1.0,
        )
        return self._first(loss, grades)

    def _first(self, loss: Any, grades: Float64Array) -> Any:
        if self.squared:
            return loss
        reach = float(np.ptp(grades)) if self.by_difference and len(grades) else 1.0
        return _bent(loss, FIRST_BEND * (reach or 1.0))

    def path(
        self,
        loss: Any,
        rows: LinearRows,
        queries: Sequence[tuple[int, int]],
        Cs: Float64Array,
    ) -> list[ScoreResult]:
        """Solutions for every C, each from that of the next smaller one."""
        newton = ScoreNewton(self.tol, self.max_iter)
        if self.squared:
            return newton.path(rows, Cs)
        results: dict[int, ScoreResult] = {}
        w = np.zeros(rows.n_features)
        with single_threaded_blas():
            for index in np.argsort(Cs, kind="stable"):
                results[int(index)] = self._sharpen(loss, rows, queries, float(Cs[index]), w)
                w = results[int(index)].x
        return [results[index] for index in range(len(Cs))]

    def _sharpen(
        self,
        loss: Any,
        rows: LinearRows,
        queries: Sequence[tuple[int, int]],
        C: float,
        w: Float64Array,
    ) -> ScoreResult:
        """The hinge's minimum: its value above the bent one's, and that one's gap, bound the gap.

        The dual variables of the bent hinge are some of the hinge, whose dual value is larger.
        """
        history: list[float] = []
        n_iter = 0
        best: ScoreResult | None = None
        while True:
            bent = rows.with_losses([loss.part(a, b) for a, b in queries])
            # Half of the tolerance for the bent problem, half for the bend.
            solved = ScoreNewton(0.5 * self.tol, self.max_iter - n_iter).solve(bent, C, w)
            w, n_iter = solved.x, n_iter + solved.n_iter
            scores = bent.scores(w)
            value = 0.5 * float(w @ w) + C * sum(
                loss.part(a, b).hinge(scores[lo:hi])
                for (a, b), (lo, hi) in zip(queries, rows.bounds, strict=True)
            )
            gap = value - solved.objective + solved.stop_value * solved.objective
            history.append(max(gap, 0.0) / value if value > 0 else 0.0)
            done = history[-1] <= self.tol
            # Bends too sharp for float64 lead away from the minimum again.
            if best is None or done or value < best.objective:
                best = ScoreResult(w, n_iter, done, history[-1], history, solved.dual, value)
            if done or n_iter >= self.max_iter or len(history) == MOST_BENDS:
                return replace(best, n_iter=n_iter)
            loss = _bent(loss, SHARPER * loss.bend)


@dataclass(frozen=True)
class PrunedProblem(HingeProblem):
    """The same over the pairs that a selector keeps.

    Attributes
    ----------
    selector : PairSelector
    """

    selector: PairSelector

    def loss(
        self, values: Matrix, indptr: Int64Array, y: Float64Array, weight: Float64Array
    ) -> PrunedHinge:
        """The loss of the kept pairs; squared, or with the first bend."""
        grades, codes = np.unique(y, return_inverse=True)
        slack = self._pilot(values, indptr, y, weight) if self.selector.rule == "pilot" else None
        upper, lower, pair_ptr, n_all = self.selector.select(values, indptr, codes, slack)
        scale = np.repeat(query_scale(indptr, weight, self.query_weight), np.diff(pair_ptr))
        pairs = scale * weight[upper] * weight[lower]
        pairs *= pair_weights(self.pair_weight, y[upper], y[lower])
        loss = PrunedHinge(
            indptr,
            upper,
            lower,
            pairs,
            pair_ptr,
            y if self.by_difference else np.zeros(len(y)),
            0.0 if self.by_difference else 1.0,
            n_all=n_all,
        )
        return self._first(loss, grades)

    def _pilot(
        self, values: Matrix, indptr: Int64Array, y: Float64Array, weight: Float64Array
    ) -> Callable[[Int64Array, Int64Array], Float64Array]:
        """Slacks under the first Newton step on all pairs: pairwise least squares."""
        every = replace(
            HingeProblem(*[getattr(self, f.name) for f in fields(HingeProblem)]), squared=True
        )
        loss = every.loss(values, indptr, y, weight)
        chunks = query_chunks(indptr, CHUNK_ROWS)
        bounds = [(int(indptr[a]), int(indptr[b])) for a, b in chunks]
        rows = LinearRows(values, bounds, [loss.part(a, b) for a, b in chunks])
        with single_threaded_blas():
            w = ScoreNewton(self.tol, 1).solve(rows, PILOT_C, np.zeros(rows.n_features)).x
            keys = rows.scores(w) - loss.offset
        return lambda upper, lower: loss.margin - (keys[upper] - keys[lower])


def _bent(loss: Any, bend: float) -> PairwiseHinge:
    return replace(loss, bend=bend, curvature=0.5 / bend)
