"""Gradients of pairs, weighted by the change of a measure if the two rows swap ranks [1]_.

For a row i with a higher label than row j, scores f and ``p = 1 / (1 + exp(f_i - f_j))``:

    gradient of i -p D_ij, of j p D_ij; second derivative of both p (1 - p) D_ij,

where D_ij is the absolute change of the measure caused by the swap. The formulas are in
:mod:`rankwise.kernels.lambda_gradients`. Conventions of a measure that do not depend on the order
of the rows (``empty``, ``short``, ``ties``) have no effect.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
.. [2] Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of Yahoo!'s learning to
   rank challenge with YetiRank", JMLR W&CP 14, 2011.
.. [3] Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which tricks are important for learning to
   rank?", ICML 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.lambda_gradients import (
    AVERAGE_PRECISION,
    DISCOUNTED,
    EXPECTED_RANK,
    RECIPROCAL_RANK,
    measure_gradients,
    neighbour_gradients,
)
from rankwise.losses.gradient_loss import CHUNK_ROWS, GradientLoss, JudgedRows
from rankwise.metrics.measure import Measure, MeasureLike, TopMeasure
from rankwise.metrics.measures.ndcg import DCG, NDCG, ExpectedReciprocalRank, gain_table
from rankwise.metrics.measures.relevance import (
    AveragePrecision,
    Precision,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
)
from rankwise.metrics.scored import discounts
from rankwise.metrics.spec import parse
from rankwise.runtime.threads import query_chunks
from rankwise.typing import Float64Array, Int64Array

N_DRAWS = 10


class MeasureGradients(GradientLoss):
    """Base of the losses that follow the changes of a measure; labels are stored as coded gains."""

    rows: JudgedRows

    def __init__(self, rows: JudgedRows, changes: MeasureChanges, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        self.rows, self._gains = replace(rows, y=rows.y[:0].copy()), CodedValues.of(changes.gains)
        self._changes = replace(changes, gains=np.empty(0))

    def _targets(self, rows: slice) -> Float64Array:
        return self._gains[rows]


class LambdaGradients(MeasureGradients):
    """Gradients at the scores of whole queries; stores the order of the rows between calls.

    For ``measure``, see :func:`changes_of`, for ``normalised``
    :func:`rankwise.kernels.lambda_gradients.measure_gradients`. The gradients do not depend on
    ``n_threads``. O(m k) for a query of m rows and the cut-off k, with one exponential per row.
    """

    def __init__(
        self, rows: JudgedRows, measure: Measure, normalised: bool, n_threads: int
    ) -> None:
        changes = changes_of(measure, rows.y, rows.indptr, rows.weights())
        super().__init__(rows, changes, n_threads)
        self._normalised = normalised
        starts = np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        order = np.arange(len(rows.y)) - starts
        # Places within a query, in the fewest bytes.
        self._order = order.astype(np.min_scalar_type(order.max(initial=0)))

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        changes, weights = self._changes, None
        if changes.kind is not DISCOUNTED or self.rows.weight is not None:
            weights = self.rows.weights(rows)
        if len(scores) > CHUNK_ROWS:  # one query
            self._order[rows] = np.argsort(-scores, kind="stable")
        measure_gradients(
            scores, self._gains[rows], weights, indptr,
            changes.query_weight[slice(*queries)], changes.discounts, changes.kind,
            self._normalised, self._order[rows], gradients, hessians,
        )  # fmt: skip


class NeighbourGradients(MeasureGradients):
    """Gradients of neighbours in noisy rankings (YetiRank [2]_, for any measure [3]_).

    For every tree, T = 10 rankings are drawn by sorting ``f_i + log(u_i / (1 - u_i))`` with random
    u_i in (0, 1). The loss is ``sum_q c_q sum_t sum_(i, j) D_ij log(1 + exp(f_j - f_i)) / T`` over
    rows i and j that are neighbours in ranking t, where i has the higher label. D_ij is the change
    of the measure if i and j swap ranks there, see
    :func:`changes_of`. With a ``decay`` in (0, 1) it is
    ``(1 - decay) decay^r |y_i - y_j|`` instead if i and j are at ranks r and r + 1 from 0, as in
    CatBoost, where ``decay`` is 0.85.

    Equal rows of a query share a draw, so that repeating a row is equivalent to weighting it.
    O(T m log m) for a query of m rows.
    """

    draws: bool = True

    def __init__(
        self, rows: JudgedRows, measure: Measure, decay: float | None, seed: int, n_threads: int
    ) -> None:
        judged = rows.y, rows.indptr, rows.weights()
        changes = (
            changes_of(measure, *judged) if decay is None else weigh_neighbours(decay, *judged)
        )
        super().__init__(rows, changes, n_threads)
        self._seed, self._noise = seed, np.zeros((N_DRAWS, 0))

    def _begin(self, tree: int) -> None:
        # The 1 keeps these numbers apart from those that boosting draws from the seed and the tree.
        rng = np.random.default_rng([self._seed, tree, 1])
        self._noise = rng.logistic(size=(N_DRAWS, len(self._gains)))

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        changes = self._changes
        neighbour_gradients(
            scores, self._gains[rows], self.rows.weights(rows), self._noise[:, rows], indptr,
            changes.query_weight[slice(*queries)], changes.discounts, changes.kind,
            gradients, hessians,
        )  # fmt: skip


LARGEST_GRADE = 30  # of the exponential gain
MOST_RANKS = 2**24  # of a query
OPTIMISED = (
    NDCG,
    DCG,
    AveragePrecision,
    ReciprocalRank,
    ExpectedReciprocalRank,
    Precision,
    Recall,
    RankBiasedPrecision,
)
WHOLE = (AveragePrecision, ReciprocalRank, ExpectedReciprocalRank)  # for whole-number weights only


@dataclass(frozen=True, eq=False)
class MeasureChanges:
    """Changes of a measure caused by swaps of rows."""

    kind: int | None  # see :func:`rankwise.kernels.lambda_gradients.measure_gradients`
    gains: Float64Array  # (n_samples,)
    discounts: Float64Array  # (depth,): discounts of the ranks within the cut-off
    query_weight: Float64Array  # (n_queries,); 0 if no swap changes the measure


def check_objective(measure: Measure, estimator: str) -> None:
    """Raise ValueError if the measure cannot be optimised, or does not depend on the order."""
    if not isinstance(measure, OPTIMISED):
        names = ", ".join(cls.name for cls in OPTIMISED)
        raise ValueError(
            f"measure must be one that {estimator} optimises, got {str(measure)!r}. Use one of "
            f"{names}, with any convention and cut-off"
            + (", and validation_measure for this one." if estimator == "LambdaMART" else ".")
        )
    if isinstance(measure, Precision | Recall) and measure.cutoff is None:
        raise ValueError(
            f"measure {measure.name!r} needs a cut-off: without it, every order has the same "
            f"value. Use '{measure.name}@10', say."
        )


def follow_measure(params: Mapping[str, Any], measure: MeasureLike) -> dict[str, Any]:
    """Changes of parameters, nested ones too, that make estimators follow a measure.

    Trees that cannot optimise it keep their objective, and stop by it.
    """
    changes = {}
    for name in params:
        stem = name.removesuffix("measure")
        if stem == name or not (stem == "" or stem.endswith("__")):
            continue
        try:
            check_objective(parse(measure), "")
            watched = name
        except ValueError:
            watched = f"{stem}validation_measure"
        changes[watched if watched in params else name] = measure
    return changes


def changes_of(
    measure: Measure, y: Float64Array, indptr: Int64Array, weight: Float64Array
) -> MeasureChanges:
    """Prepare the changes of a measure that :func:`check_objective` accepts, for the labels.

    ``y`` and ``weight`` > 0 are (n_samples,), whole queries one after the other; a row of weight w
    occupies w ranks. Raises ValueError if labels are missing from a table of gains or exceed the
    scale of ERR, or if weights cannot be numbers of ranks.
    """
    assert isinstance(measure, TopMeasure)
    if isinstance(measure, WHOLE) and (weight % 1).any():
        raise ValueError(
            f"sample_weight must hold whole numbers for {measure}, got "
            f"{weight[np.argmax(weight % 1 > 0)]:g}: a row of weight w takes w ranks. Round the "
            "weights, or optimise nDCG."
        )
    sizes = _sums(weight, indptr)
    check_total(weight, sizes)
    longest = int(np.ceil(sizes.max(initial=1)))
    depth = longest if measure.cutoff is None else min(measure.cutoff, longest)
    ones = np.ones(len(sizes))
    if isinstance(measure, NDCG | DCG):
        gains, ranks = gains_of(measure, y), discounts(measure.discount, depth)[:depth]
        weight = ones if isinstance(measure, DCG) else _inverse_ideal(gains, weight, indptr, ranks)
        return MeasureChanges(DISCOUNTED, gains, ranks, weight)
    ranks = discounts("reciprocal", depth)[:depth]
    if isinstance(measure, ExpectedReciprocalRank):
        return MeasureChanges(EXPECTED_RANK, _stops(measure, y), ranks, ones)
    assert isinstance(measure, AveragePrecision | ReciprocalRank | Precision | Recall
                      | RankBiasedPrecision)  # fmt: skip
    gains = (y >= measure.rel).astype(np.float64)
    # A query without relevant rows has no swap that changes the measure; 1 avoids dividing by 0.
    n_relevant = np.maximum(_sums(gains * weight, indptr), 1.0)
    if isinstance(measure, AveragePrecision):
        limited = measure.norm == "cutoff" and measure.cutoff is not None
        most = np.minimum(n_relevant, measure.cutoff or 0) if limited else n_relevant
        return MeasureChanges(AVERAGE_PRECISION, gains, ranks, 1.0 / most)
    if isinstance(measure, ReciprocalRank):
        return MeasureChanges(RECIPROCAL_RANK, gains, ranks, ones)
    if isinstance(measure, RankBiasedPrecision):
        weights = (1.0 - measure.p) * measure.p ** np.arange(depth, dtype=np.float64)
        return MeasureChanges(DISCOUNTED, gains, weights, ones)
    share = n_relevant
    if isinstance(measure, Precision):
        cutoff = measure.cutoff or 1
        share = np.minimum(sizes, cutoff) if measure.short == "cut" else np.full(len(sizes), cutoff)
    return MeasureChanges(DISCOUNTED, gains, np.ones(depth), 1.0 / np.maximum(share, 1.0))


def weigh_neighbours(
    decay: float, y: Float64Array, indptr: Int64Array, weight: Float64Array
) -> MeasureChanges:
    """Changes of the sum of ``decay ** rank`` times the label, over ranks from 0.

    Neighbours at ranks r and r + 1 change it by ``(1 - decay) * decay ** r`` times the difference
    of their labels, which is the weight of their pair in CatBoost's YetiRank at 0.85. Whole grades
    from 0 to 30 count as they are; other labels are divided by the largest. ``decay`` is in (0, 1);
    for the arrays, see :func:`changes_of`.
    """
    sizes = _sums(weight, indptr)
    check_total(weight, sizes)
    depth = int(np.ceil(sizes.max(initial=1)))
    is_grade = (y >= 0).all() and (y % 1 == 0).all() and y.max(initial=0) <= LARGEST_GRADE
    gains = y if is_grade else y / (np.abs(y).max() or 1.0)  # the range of huge labels overflows
    ranks = decay ** np.arange(depth, dtype=np.float64)
    return MeasureChanges(DISCOUNTED, gains, ranks, np.ones(len(sizes)))


def gains_of(measure: NDCG | DCG, y: Float64Array) -> Float64Array:
    """Gain of every row under a measure; without gains, its label minus the smallest label."""
    if len(y) == 0:
        return y
    is_grade = bool((y >= 0).all() and (y % 1 == 0).all())
    if isinstance(measure.gain, tuple):
        table = gain_table(measure.gain, 0)
        if not is_grade or y.max() >= len(table):
            raise ValueError(
                f"y must hold whole grades from 0 to {len(table) - 1} for {measure}, got labels "
                f"from {y.min():g} to {y.max():g}. Give a gain per grade, or gain='linear'."
            )
        return table[y.astype(np.int64)]
    # 2^y - 1 of other labels would overflow, or be no gain; their own size is the gain below.
    if measure.gain == "exp2" and is_grade and y.max() <= LARGEST_GRADE:
        return np.exp2(y) - 1.0
    y = y / (np.abs(y).max() or 1.0)  # the range of huge labels would overflow
    return y if measure.gain == "linear" and y.min() >= 0 else y - y.min()


def _sums(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Sum of the values of every query."""
    codes = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.bincount(codes, values, len(indptr) - 1)


def check_total(weight: Float64Array, sizes: Float64Array) -> None:
    """Raise ValueError if the weights of a query cannot be numbers of ranks."""
    if (weight != 1).any() and not 1 < sizes.max() <= MOST_RANKS:
        raise ValueError(
            f"sample_weight must give some query a sum above 1 and none a sum above {MOST_RANKS}, "
            f"got at most {sizes.max():g}: a row of weight w takes w ranks. Scale the weights."
        )


IDEAL_ROWS = CHUNK_ROWS  # of whole queries, whose ideal order is found at a time


def _inverse_ideal(
    gains: Float64Array, weight: Float64Array, indptr: Int64Array, discount: Float64Array
) -> Float64Array:
    """1 / ideal DCG of every query; 0 if the ideal DCG is 0."""
    sums = np.concatenate([[0.0], np.cumsum(discount)])
    ranks, ideal = np.arange(len(sums)), np.empty(len(indptr) - 1)
    total = 0.0
    # A dozen arrays as long as all rows would need more memory than the fit itself.
    for first, last in query_chunks(indptr, IDEAL_ROWS):
        rows = slice(int(indptr[first]), int(indptr[last]))
        codes = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        # The ideal order: the largest gains of each query first.
        order = np.lexsort((-gains[rows], codes))
        copies = weight[rows][order]
        # Sums continue those of the chunks before: fractions are rounded as in one sum of all rows.
        ends = np.cumsum(np.concatenate([[total], copies]))
        total = float(ends[-1])
        before = ends[indptr[first:last] - rows.start][codes]  # codes ascend
        ends = ends[1:]
        starts = ends - copies
        # A row of weight w takes the ranks from start to end; of a rank that it takes in part, it
        # gets that share of the discount.
        shares = np.interp(ends - before, ranks, sums) - np.interp(starts - before, ranks, sums)
        ideal[first:last] = np.bincount(codes, gains[rows][order] * shares, last - first)
    return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=ideal > 0)


def _stops(measure: ExpectedReciprocalRank, y: Float64Array) -> Float64Array:
    """Probability of stopping at each row."""
    if y.min(initial=0) < 0 or y.max(initial=0) > measure.max_grade:
        raise ValueError(
            f"y must lie in 0..{measure.max_grade:g} for {measure}, got labels from {y.min():g} to "
            f"{y.max():g}. Set the scale's highest grade: ERR(max_grade=...)."
        )
    if measure.gain == "linear":
        return y / measure.max_grade
    return (np.exp2(y) - 1.0) / np.exp2(measure.max_grade)


CHUNK = 65_536
MOST = 256  # number of distinct values that fit in a byte


@dataclass(frozen=True, eq=False)
class CodedValues:
    """An array whose slices are decoded on access: one byte a value if few are distinct."""

    # indices into ``levels``, or the values themselves if ``levels`` is None
    codes: NDArray[np.uint8] | Float64Array
    levels: Float64Array | None  # distinct values, ascending

    @classmethod
    def of(cls, values: Float64Array) -> CodedValues:
        """Encode an array of at most 256 distinct values; leave other arrays unchanged."""
        levels = np.empty(0)
        starts = range(0, len(values), CHUNK)
        for start in starts:
            # Chunk by chunk: sorting all values at once would need as much memory as the encoding
            # saves.
            levels = np.union1d(levels, values[start : start + CHUNK])
            if len(levels) > MOST:
                return cls(values, None)
        codes = np.empty(len(values), dtype=np.uint8)
        for start in starts:
            rows = slice(start, start + CHUNK)
            codes[rows] = np.searchsorted(levels, values[rows])
        return cls(codes, levels)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Float64Array:
        return self.codes[rows] if self.levels is None else self.levels.take(self.codes[rows])
