"""Training on some of the pairs: rules that keep the informative ones, and steps on drawn ones.

Each rule takes the rows (in feature or kernel space) and grades of one query. It returns the pairs
to keep among all pairs of distinct grades. Rules are deterministic for a given generator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.groups import GroupedRows
from rankwise.kernels.pair_losses import descend_pairs
from rankwise.losses.pair_loss import PairwiseLogistic
from rankwise.losses.pairwise_hinge import ListedHinge, PairwiseHinge
from rankwise.losses.score_loss import PairWeight, QueryWeight, pair_weights, query_scale
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.score_newton import LinearRows, ScoreNewton, ScoreResult
from rankwise.typing import Float64Array, Int64Array, Matrix, densify

SELECTORS = ("adjacent", "nearest", "pilot", "random")
SLICE_ROWS = 512
PILOT_C = 1.0
Pairs = tuple[Int64Array, Int64Array]


@dataclass(frozen=True)
class PairSelector:
    """A rule and its parameters.

    "adjacent": pairs of neighbouring grades of the query. "nearest": for every row, its
    ``n_opponents`` nearest rows of another grade. "pilot": pairs within the margin under the scores
    of a pilot model. "random": a ``share`` of all pairs.
    """

    rule: str
    n_opponents: int
    share: float
    seed: int

    def select(
        self,
        values: Matrix,
        indptr: Int64Array,
        grades: Int64Array,
        slack: Callable[[Int64Array, Int64Array], Float64Array] | None,
    ) -> tuple[Int64Array, Int64Array, Int64Array, int]:
        """Kept pairs of all queries, and the number of all pairs of distinct grades.

        ``values`` is (n_samples, n_columns), ``indptr`` (n_queries + 1,) and ``grades``
        (n_samples,). ``slack`` gives the slack of pairs (upper rows, lower rows) under the pilot;
        "pilot" needs it. Returns upper and lower rows, (n_pairs,) each and query by query, the
        bounds of the queries in them, (n_queries + 1,), and the number.
        """
        random = np.random.RandomState(self.seed)
        uppers, lowers, sizes, n_all = [], [], [0], 0
        for lo, hi in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
            g = grades[lo:hi]
            counts = np.unique(g, return_counts=True)[1]
            # Ordered pairs less those within grades, halved.
            n_pairs = ((hi - lo) ** 2 - int((counts**2).sum())) // 2
            n_all += n_pairs
            if self.rule == "adjacent":
                level = np.unique(g, return_inverse=True)[1]
                upper, lower = np.nonzero(level[:, None] == level + 1)
            elif self.rule == "nearest":
                upper, lower = _nearest(values[lo:hi], g, self.n_opponents)
            elif self.rule == "random":
                n_kept = int(np.ceil(self.share * n_pairs))
                # By number: forming all pairs to keep a share of them would take the memory that is
                # saved.
                upper, lower = numbered_pairs(g, np.sort(random.permutation(n_pairs)[:n_kept]))
            else:
                assert slack is not None
                upper, lower = _every(g)
                within = slack(upper + lo, lower + lo) > 0
                upper, lower = upper[within], lower[within]
            uppers.append(upper + lo)
            lowers.append(lower + lo)
            sizes.append(len(upper))
        ptr = np.cumsum(sizes).astype(np.int64)
        return _join(uppers), _join(lowers), ptr, n_all


@dataclass(frozen=True, eq=False)
class PrunedHinge(ListedHinge):
    """Hinge over the kept pairs, with the number of all pairs."""

    n_all: int = 0

    @classmethod
    def of(
        cls,
        rows: GroupedRows,
        *,
        selector: PairSelector,
        tol: float,
        pair_weight: PairWeight,
        by_difference: bool,
        query_weight: QueryWeight,
    ) -> PrunedHinge:
        """The squared hinge over the pairs that a selector keeps, as :meth:`PairwiseHinge.of`."""
        y, slack = rows.y, None
        if selector.rule == "pilot":
            every = PairwiseHinge.of(
                rows,
                pair_weight=pair_weight,
                by_difference=by_difference,
                query_weight=query_weight,
            )
            slack = _pilot(rows, every, tol)
        codes = np.unique(y, return_inverse=True)[1]
        upper, lower, pair_ptr, n_all = selector.select(rows.X, rows.indptr, codes, slack)
        scale = np.repeat(query_scale(rows.indptr, rows.weight, query_weight), np.diff(pair_ptr))
        pairs = scale * rows.weight[upper] * rows.weight[lower]
        pairs *= pair_weights(pair_weight, y[upper], y[lower])
        offset, margin = (y, 0.0) if by_difference else (np.zeros(len(y)), 1.0)
        return cls(rows.indptr, upper, lower, pairs, pair_ptr, offset, margin, n_all=n_all)


def _pilot(
    rows: GroupedRows, every: PairwiseHinge, tol: float
) -> Callable[[Int64Array, Int64Array], Float64Array]:
    """Slacks under the first Newton step on all pairs: pairwise least squares."""
    linear = LinearRows(rows.X, every)
    with single_threaded_blas():
        # At scores of 0 all pairs are within the margin, so the step is that of the squared loss.
        w = ScoreNewton(tol, 1).solve(linear, PILOT_C, np.zeros(linear.n_features)).x
        keys = linear.scores(w) - every.offset
    return lambda upper, lower: every.margin - (keys[upper] - keys[lower])


def _every(grades: Int64Array) -> Pairs:
    """All pairs of distinct grades, the upper row first."""
    upper, lower = np.nonzero(grades[:, None] > grades)
    return upper, lower


def numbered_pairs(grades: Int64Array, numbers: Int64Array) -> Pairs:
    """Pairs of :func:`_every` at ascending positions, without forming the full list."""
    levels, level, sizes = np.unique(grades, return_inverse=True, return_counts=True)
    below = (np.cumsum(sizes) - sizes)[level]
    ends = np.cumsum(below)
    upper = np.searchsorted(ends, numbers, side="right")
    rank = numbers - (ends - below)[upper]
    lower = np.empty_like(upper)
    order = np.argsort(level[upper], kind="stable")
    starts = np.searchsorted(level[upper][order], np.arange(len(levels) + 1))
    for grade, (start, end) in enumerate(pairwise(starts.tolist())):
        if end > start:
            pairs = order[start:end]
            lower[pairs] = np.flatnonzero(level < grade)[rank[pairs]]
    return upper, lower


def _nearest(values: Matrix, grades: Int64Array, n_opponents: int) -> Pairs:
    """Pairs of every row with its nearest rows of other grades; ties go by position."""
    rows: Any = densify(values)
    rows = rows.astype(np.float64, copy=False)
    norms = np.einsum("ij,ij->i", rows, rows)
    found = []
    for start in range(0, len(rows), SLICE_ROWS):
        part = slice(start, start + SLICE_ROWS)
        distances = norms[part, None] - 2.0 * (rows[part] @ rows.T) + norms
        # No pair; sorted last and dropped below if there are too few opponents.
        distances[grades[part, None] == grades] = np.inf
        order = np.argsort(distances, axis=1, kind="stable")[:, :n_opponents]
        near = np.take_along_axis(distances, order, axis=1) < np.inf
        place = np.broadcast_to(np.arange(start, start + len(order))[:, None], order.shape)
        found.append(np.stack([place[near], order[near]], axis=1))
    pairs = np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)
    # Two rows may name each other: in one order, the pair is counted once.
    swap = grades[pairs[:, 0]] < grades[pairs[:, 1]]
    pairs[swap] = pairs[swap][:, ::-1]
    pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1]


def _join(parts: list[Int64Array]) -> Int64Array:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)


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
