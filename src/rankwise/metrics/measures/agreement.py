"""Agreement of labels and scores within a query: over its pairs, or over its values.

Whether a measure is defined on a query depends on its labels alone. Otherwise the means of two
rankers could be over different queries, and a ranker could drop its bad queries by tying them.

- Pairwise misranking, the share of a query's preferences that the scores violate:
  ``#{y_i > y_j, f_i < f_j} + ties · #{y_i > y_j, f_i = f_j}`` over ``#{y_i > y_j}``. With
  ``ties=0.5`` and two grades it is 1 - AUC.
- Ranking error, misordered pairs weighted by their label difference:
  ``mean over all m(m-1)/2 pairs of |y_i - y_j| · ([misordered] + ½ [f_i = f_j])``. The unit is that
  of the labels, without division by their spread (Agarwal & Niyogi 2009, JMLR 10:441-474).
- Kendall's τ: ``(concordant - discordant) / n0`` with ``n0 = m(m-1)/2`` (a), or with
  ``sqrt((n0 - ties in y)(n0 - ties in f))`` (b), by Knight's counting of inversions (1966, JASA
  61:436-439).
- Pearson's r, and Spearman's ρ, which is r of the ranks; tied rows share their mean rank.
- Magnitude-preserving measures: do score differences match label differences? With the residuals
  ``r = y - f``, MSD is the mean of ``(r_i - r_j)²`` over all m² ordered pairs, which is twice the
  variance of r. M1D is the mean of ``|r_i - r_j|``, Gini's mean difference, which requires sorting
  r. Adding a constant to all scores of a query changes neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.measure import Empty, QueryMeasure, check_choice
from rankwise.metrics.scored import ScoredGroups, count_sort_steps
from rankwise.typing import Float64Array, Int64Array

TIES = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Misranking(QueryMeasure):
    """Pairwise misranking, smaller is better.

    ``ties`` is the loss of a pair with different labels and equal scores: 1 (misordered), 0.5
    (ordered at random) or 0. O(m log m) for a query of m rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([2, 1, 0], [0.3, 0.7, 0.3], measures="Misranking")["Misranking"]
    0.6666666666666666
    """

    name: ClassVar[str] = "Misranking"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    greater_is_better: ClassVar[bool] = False
    ties: float = 1.0
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def __post_init__(self) -> None:
        check_choice(self.name, "ties", self.ties, TIES)
        super().__post_init__()
        object.__setattr__(self, "ties", float(self.ties))

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        pairs = scored.pairs
        wrong = pairs.misordered + self.ties * pairs.undecided
        share = wrong / np.maximum(pairs.ordered, 1)
        return self.fill_empty(share, pairs.ordered > 0)


@dataclass(frozen=True)
class RankingError(QueryMeasure):
    """Ranking error, smaller is better.

    If all labels of a query are equal, its error is 0. O(m log m) for a query of m rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([5.0, 2.0, 1.0], [0.1, 0.4, 0.1], measures="RankingError")["RankingError"]
    1.6666666666666667
    """

    name: ClassVar[str] = "RankingError"
    greater_is_better: ClassVar[bool] = False
    empty: Empty = "skip"  # value of a query with one row

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        pairs = scored.pairs
        error = (pairs.misordered_gap + 0.5 * pairs.tied_f_gap) / np.maximum(pairs.total, 1)
        return self.fill_empty(error, pairs.total > 0)


@dataclass(frozen=True)
class Tau(QueryMeasure):
    """Kendall's τ in [-1, 1].

    Variant "a" divides by the number of all pairs, so ties keep τ below 1; "b" corrects for ties.
    O(m log m) for a query of m rows. If all scores are equal, τ is 0, whereas
    ``scipy.stats.kendalltau`` returns NaN. Thus the labels alone decide which queries count, and
    no ranker can drop its bad queries by tying them.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 2, 1, 1], [0.9, 0.3, 0.5, 0.1], measures="Tau(variant=a)")["Tau(variant=a)"]
    0.5
    """

    name: ClassVar[str] = "Tau"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    variant: str = "b"
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def __post_init__(self) -> None:
        check_choice(self.name, "variant", self.variant, ("b", "a"))
        super().__post_init__()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        pairs = scored.pairs
        agreement = pairs.ordered - pairs.undecided - 2 * pairs.misordered
        if self.variant == "a":
            most = pairs.total.astype(np.float64)
        else:
            most = np.sqrt(pairs.ordered * (pairs.total - pairs.tied_f).astype(np.float64))
        tau = np.clip(agreement / np.where(most > 0, most, 1.0), -1.0, 1.0)
        return self.fill_empty(tau, pairs.ordered > 0)


@dataclass(frozen=True)
class Pearson(QueryMeasure):
    """Pearson's correlation coefficient r in [-1, 1].

    O(m) for a query of m rows. Rows are centred and scaled before they are multiplied, so neither
    a large offset nor a large scale costs digits. If all scores are equal, r is 0, whereas
    ``scipy.stats.pearsonr`` returns NaN. Thus the labels alone decide which queries count.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> round(evaluate([3, 2, 1], [0.9, 0.2, 0.1], measures="Pearson")["Pearson"], 4)
    0.9177
    """

    name: ClassVar[str] = "Pearson"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        y, y_varies = _unit_scale(scored.y, scored)
        f, f_varies = _unit_scale(scored.scores, scored)
        yy, ff, yf = (sum_by_query(a * b, scored.indptr) for a, b in ((y, y), (f, f), (y, f)))
        return self.fill_empty(_correlation(yf, yy, ff, y_varies & f_varies), y_varies)


@dataclass(frozen=True)
class Rho(QueryMeasure):
    """Spearman's rank correlation ρ in [-1, 1]; equal values share their mean rank.

    O(m log m) for a query of m rows. If all scores are equal, ρ is 0, whereas
    ``scipy.stats.spearmanr`` returns NaN. Thus the labels alone decide which queries count.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([4, 3, 2, 1], [0.9, 0.3, 0.5, 0.1], measures="Rho")["Rho"]
    0.8
    """

    name: ClassVar[str] = "Rho"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    empty: Empty = "skip"  # value of a query whose labels are all equal

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        from rankwise.kernels.ranking_agreement import multiply_ranks

        products = np.empty((scored.n_queries, 3))
        steps = count_sort_steps(scored.sizes)
        data = scored.y, scored.scores, scored.indptr
        scored.run(multiply_ranks, *data, products, cost=steps)
        yy, yf, ff = products.T
        return self.fill_empty(_correlation(yf, yy, ff, (yy > 0) & (ff > 0)), yy > 0)


def _unit_scale(values: Float64Array, scored: ScoredGroups) -> tuple[Float64Array, np.ndarray]:
    """Rows centred by query and divided by the largest, and whether they vary in each query."""
    indptr, sizes = scored.indptr, scored.sizes
    varies = largest_by_query(values, indptr) > -largest_by_query(-values, indptr)
    # A power of two, so that scaling is exact, keeps the differences from overflowing.
    exponent = np.frexp(largest_by_query(np.abs(values), indptr))[1]
    scale = np.exp2(-np.clip(exponent, -1000, 1000).astype(np.float64))
    centred = centre_by_query(values * np.repeat(scale, sizes), indptr)
    spread = largest_by_query(np.abs(centred), indptr)
    spread[spread == 0] = 1.0
    return centred / np.repeat(spread, sizes), varies


def _correlation(
    yf: Float64Array, yy: Float64Array, ff: Float64Array, both_vary: np.ndarray
) -> Float64Array:
    """Normalised product; 0 if one side does not vary."""
    length = np.sqrt(np.where(both_vary, yy * ff, 1.0))
    return np.where(both_vary, np.clip(yf / length, -1.0, 1.0), 0.0)


@dataclass(frozen=True)
class MSD(QueryMeasure):
    """Mean squared difference of the pairs, ``(1/m²) Σ_ij ((y_i - y_j) - (f_i - f_j))²``.

    Smaller is better; in squared units of the labels. O(m) for a query of m rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3.0, 1.0], [7.0, 6.0], measures="MSD")["MSD"]
    0.5
    """

    name: ClassVar[str] = "MSD"
    greater_is_better: ClassVar[bool] = False
    empty: Empty = "skip"  # value of a query of one row, which has no pair

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = centre_by_query(_residuals(scored), scored.indptr)
            msd = 2.0 * mean_by_query(residuals * residuals, scored.indptr)
        return self.fill_empty(_large(msd), scored.sizes > 1)


@dataclass(frozen=True)
class M1D(QueryMeasure):
    """Mean absolute difference of the pairs, ``(1/m²) Σ_ij |(y_i - y_j) - (f_i - f_j)|``.

    Smaller is better; in the unit of the labels. O(m log m) for a query of m rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3.0, 1.0], [7.0, 6.0], measures="M1D")["M1D"]
    0.5
    """

    name: ClassVar[str] = "M1D"
    greater_is_better: ClassVar[bool] = False
    empty: Empty = "skip"  # value of a query of one row, which has no pair

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        from rankwise.kernels.ranking_agreement import mean_absolute_gaps

        m1d = np.empty(scored.n_queries)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = count_sort_steps(scored.sizes)
            data = _residuals(scored), scored.indptr
            scored.run(mean_absolute_gaps, *data, m1d, cost=steps)
        return self.fill_empty(_large(m1d), scored.sizes > 1)


def _residuals(scored: ScoredGroups) -> Float64Array:
    """y - f up to a constant per query; offsets are removed before the subtraction."""
    y = subtract_first_by_query(scored.y, scored.indptr)
    return y - subtract_first_by_query(scored.scores, scored.indptr)


def _large(values: Float64Array) -> Float64Array:
    """Replace NaN (overflowed differences) by infinity, so that the query stays in the mean."""
    return np.where(np.isnan(values), np.inf, values)


def sum_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Sum of the rows of each query, shape (n_queries,); 0 for a query without rows."""
    sizes = np.diff(indptr)
    sums = np.zeros(len(sizes))
    if len(values):
        sums[sizes > 0] = np.add.reduceat(values, indptr[:-1][sizes > 0])
    return sums


def mean_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Mean of the rows of each query; 0 for a query without rows."""
    return sum_by_query(values, indptr) / np.maximum(np.diff(indptr), 1)


def centre_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Rows minus the mean of their query, in two steps to keep precision despite an offset."""
    centred = subtract_first_by_query(values, indptr)
    return centred - np.repeat(mean_by_query(centred, indptr), np.diff(indptr))


def subtract_first_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Rows minus the first row of their query: exact for values of similar size."""
    sizes = np.diff(indptr)
    return values - np.repeat(values[indptr[:-1][sizes > 0]], sizes[sizes > 0])


def largest_by_query(values: Float64Array, indptr: Int64Array) -> Float64Array:
    """Largest row of each query, shape (n_queries,); 0 for a query without rows."""
    sizes = np.diff(indptr)
    largest = np.zeros(len(sizes))
    if len(values):
        largest[sizes > 0] = np.maximum.reduceat(values, indptr[:-1][sizes > 0])
    return largest
