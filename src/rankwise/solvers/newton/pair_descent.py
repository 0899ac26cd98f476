"""Stochastic gradient steps on drawn pairs, for the logistic loss of pairs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rankwise.kernels.pair_logistic import descend_pairs
from rankwise.losses.pairwise_logistic import PairwiseLogistic
from rankwise.solvers.newton.score_newton import LinearRows, ScoreResult
from rankwise.typing import Float64Array, Int64Array, Matrix

BLOCK = 65536  # pairs drawn at a time


@dataclass(frozen=True)
class PairDescent:
    """Solver of ``|w|^2 / 2 + C L(X w)`` for the logistic loss L of pairs.

    Each step draws one pair.
    """

    n_steps: int  # pairs drawn for each C
    seed: int
    tol: float = np.inf  # drawn steps reach no tolerance

    def path(self, rows: LinearRows[PairwiseLogistic], Cs: Float64Array) -> list[ScoreResult]:
        """Mean of the iterates of the second half of the steps, for every C."""
        pairs = PairDraw.of(rows.loss)
        results = []
        for C in Cs.tolist():
            w = np.zeros(rows.n_features)
            if pairs.total > 0:
                # P / (C total) is the mean loss of a drawn pair plus decay |w|^2 / 2.
                w = self._descend(pairs, rows.X, 1.0 / (C * pairs.total))
            scores = rows.scores(w)
            value, slopes = rows.value_grad(scores)
            objective = 0.5 * float(w @ w) + C * value
            gradient = w + C * rows.transposed(slopes)
            gap = 0.5 * float(gradient @ gradient) / objective if objective > 0 else 0.0
            results.append(ScoreResult(w, self.n_steps, True, gap, -C * slopes, objective))
        return results

    def _descend(self, pairs: PairDraw, X: Matrix, decay: float) -> Float64Array:
        draw = np.random.RandomState(self.seed)
        w, mean = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        averaged = 0
        for start in range(0, self.n_steps, BLOCK):
            n = min(BLOCK, self.n_steps - start)
            if start * 2 < self.n_steps:  # the mean restarts until half of the steps are done
                mean[:], averaged = 0.0, 0
            upper, lower = pairs.draw(draw, n)
            descend_pairs(X, upper, lower, start + 1, decay, w, mean)
            averaged += n
        return mean / averaged


@dataclass(frozen=True, eq=False)
class PairDraw:
    """Draws pairs of distinct grades by weight, each in O(log).

    First it draws two grades of a query, then a row of each.
    """

    order: Int64Array  # (n_samples,): rows by query and grade
    mass: Float64Array  # (n_samples + 1,): cumulative weights in that order
    upper: Int64Array  # (n_couples, 2): first place and end of the rows of the higher grade
    lower: Int64Array  # (n_couples, 2): of the lower one
    couples: Float64Array  # (n_couples,): cumulative weights of the couples

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        return float(self.couples[-1]) if len(self.couples) else 0.0

    @classmethod
    def of(cls, loss: PairwiseLogistic) -> PairDraw:
        """The pairs of a loss with their weights in it."""
        query = np.repeat(np.arange(len(loss.scale)), np.diff(loss.indptr))
        # By grade within queries, so that a grade's rows are a range of places.
        order = np.lexsort((loss.grades, query))
        mass = np.concatenate([[0.0], np.cumsum(loss.weight[order])])
        grades, query = loss.grades[order], query[order]
        new = np.flatnonzero((np.diff(grades) != 0) | (np.diff(query) != 0)) + 1
        bounds = np.concatenate([[0], new, [len(order)]])
        first, end = bounds[:-1], bounds[1:]
        sums = mass[end] - mass[first]
        upper, lower, weights = [], [], []
        by_query = np.searchsorted(query[first], np.arange(len(loss.scale) + 1))
        for number, (lo, hi) in enumerate(itertools.pairwise(by_query)):
            above, below = np.tril_indices(hi - lo, -1)
            above, below = above + lo, below + lo
            last = len(loss.table) - 1
            pair = loss.table[
                np.minimum(grades[first[above]], last), np.minimum(grades[first[below]], last)
            ]
            upper.append(np.stack([first[above], end[above]], axis=1))
            lower.append(np.stack([first[below], end[below]], axis=1))
            weights.append(loss.scale[number] * pair * sums[above] * sums[below])
        couples = np.cumsum(np.concatenate(weights))
        return cls(order, mass, np.concatenate(upper), np.concatenate(lower), couples)

    def draw(self, random: np.random.RandomState, n: int) -> tuple[Int64Array, Int64Array]:
        """Upper and lower rows of ``n`` pairs, with replacement."""
        uniform = random.random_sample((3, n))
        couple = np.searchsorted(self.couples, uniform[0] * self.total, side="right")
        # The product may round up to the total, beyond the last couple.
        couple = np.minimum(couple, len(self.couples) - 1)
        return self._row(self.upper[couple], uniform[1]), self._row(self.lower[couple], uniform[2])

    def _row(self, places: Int64Array, uniform: Float64Array) -> Int64Array:
        first, end = places.T
        wanted = self.mass[first] + uniform * (self.mass[end] - self.mass[first])
        found = np.searchsorted(self.mass, wanted, side="right") - 1
        return self.order[np.clip(found, first, end - 1)]
