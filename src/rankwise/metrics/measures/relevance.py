"""Measures of relevant rows at the top: P, R, AP, RR, RBP; Bpref, infAP for incomplete judgements.

With h relevant rows among the first k, R relevant rows and m rows in the query:

- P@k = h / k, R@k = h / R, Success@k = [h > 0]; Rprec is P@R. O(m).
- AP@k = (1/N) Σ_{r ≤ k, relevant} (relevant rows down to r) / r, where N is R (trec_eval, LETOR) or
  min(k, R) (LightGBM, XGBoost, CatBoost): the mean, over relevant rows, of the precision at their
  ranks. O(m).
- RR = 1 / rank of the first relevant row; its mean over queries is MRR.
- RBP = (1 − p) Σ_r [relevant at r] p^(r−1): a reader continues to the next row with probability p.
  Its residual is what RBP could gain: the weight (1 − p) p^(r−1) of every unjudged row, and p^m for
  the ranks below the m that were read. With all judgements of a ranking of any length, RBP would
  lie between RBP and RBP + residual. O(m). Moffat and Zobel 2008.
- bpref = (1/R) Σ_{relevant} (1 − min(n, R) / min(R, N)) over the retrieved relevant rows, with N
  other judged rows, n of them above the row. Unjudged rows do not count. O(m). Buckley and Voorhees
  2004, with the divisor of trec_eval since version 8.
- infAP = (1/R) Σ_{relevant} E(precision at its rank) over the judged relevant rows, an estimate of
  AP from a judged sample of the pool. With k rows above, of which c are in the pool and r relevant
  and n otherwise judged, the expected precision is
  1 / (k + 1) + c / (k + 1) · (r + ε) / (r + n + 2 ε), ε = 0.00001: rows of the pool without a
  judgement are taken to be relevant as often as the judged ones, rows outside of the pool never.
  O(m) without ties. Yilmaz and Aslam 2006, with the smoothing of trec_eval.
- Judged@k = (rows with a judgement among the first k) / min(k, retrieved rows), and Unjudged@k =
  1 − Judged@k, say how far another measure at the same cut-off rests on judgements. O(m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.ranking_agreement import (
    MISSING,
    OTHER,
    OUTSIDE,
    POOLED,
    RELEVANT,
    add_inferred_precisions,
)
from rankwise.metrics.measure import (
    TIES,
    BinaryMeasure,
    Empty,
    Measure,
    TopMeasure,
    check_choice,
    check_number,
    make_judged_only_field,
)
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


class JudgementMeasure(TopMeasure):
    """Base class of measures that tell rows without a judgement from other irrelevant rows."""

    @property
    def reads_judgements(self) -> bool:
        return True


class HitMeasure(BinaryMeasure):
    """Base class of measures that count the hits within the cut-off."""

    def counts(self, scored: ScoredGroups) -> tuple[Float64Array, Float64Array]:
        """Number of relevant rows of each query, in total and within the cut-off."""
        sums = self.sums(scored)
        return sums[:, 0], sums[:, 1]


@dataclass(frozen=True)
class Precision(HitMeasure):
    """Share of relevant rows among the first k.

    ``short`` treats a query with m < k rows: divide by k ("pad"), set the value to 0 ("zero",
    LETOR 3), or divide by m ("cut", XGBoost and CatBoost).
    """

    name: ClassVar[str] = "P"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    short: str = "pad"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "short", self.short, ("pad", "zero", "cut"))

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant, hits = self.counts(scored)
        sizes = np.maximum(scored.retrieved_sizes, 1)
        if self.cutoff is None:
            values = hits / sizes
        elif self.short == "cut":
            values = hits / np.minimum(sizes, self.cutoff)
        else:
            values = hits / self.cutoff
            if self.short == "zero":
                values[scored.retrieved_sizes < self.cutoff] = 0.0
        return self.fill_empty(values, n_relevant)


@dataclass(frozen=True)
class Recall(HitMeasure):
    """Share of the relevant rows that are among the first k."""

    name: ClassVar[str] = "R"

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant, hits = self.counts(scored)
        return self.fill_empty(hits / np.maximum(n_relevant, 1.0), n_relevant)


@dataclass(frozen=True)
class RPrecision(BinaryMeasure):
    """Precision at rank R, the number of relevant rows of the query."""

    name: ClassVar[str] = "Rprec"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant = scored.count(self.rel)
        relevant = (scored.y >= self.rel).astype(np.float64)
        ranked = scored.rank(relevant, self.ties).values
        down_to = np.concatenate([[0.0], np.cumsum(ranked)])
        start = scored.indptr[:-1]
        hits = down_to[start + n_relevant] - down_to[start]
        return self.fill_empty(hits / np.maximum(n_relevant, 1), n_relevant)


@dataclass(frozen=True)
class Success(BinaryMeasure):
    """Whether any of the first k rows is relevant."""

    name: ClassVar[str] = "Success"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        sums = self.sums(scored)
        return self.fill_empty(sums[:, 4], sums[:, 0])


@dataclass(frozen=True)
class AveragePrecision(BinaryMeasure):
    """Average precision.

    ``norm`` divides by the number of relevant rows R ("all"), or by min(cutoff, R) ("cutoff"). With
    ties="block", tied rows share the last of their ranks (scikit-learn).
    """

    name: ClassVar[str] = "AP"
    tie_rules: ClassVar[tuple[str, ...]] = (*TIES, "block")

    rel: float = 1
    norm: str = "all"
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "norm", self.norm, ("all", "cutoff"))
        if self.ties == "block" and self.cutoff is not None:
            raise ValueError("AP: ties='block' has no cut-off. Drop '@k'.")

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        if self.ties == "block":
            n_relevant, precisions = self._block_sums(scored)
        else:
            sums = self.sums(scored)
            n_relevant, precisions = sums[:, 0], sums[:, 2]
        most = n_relevant
        if self.norm == "cutoff" and self.cutoff is not None:
            most = np.minimum(n_relevant, self.cutoff)
        return self.fill_empty(precisions / np.maximum(most, 1.0), n_relevant)

    def _block_sums(self, scored: ScoredGroups) -> tuple[Float64Array, Float64Array]:
        """Relevant rows per query, and sum of the precisions at the ends of their blocks."""
        relevant = scored.rank((scored.y >= self.rel).astype(np.float64)).values
        down_to = np.concatenate([[0.0], np.cumsum(relevant)])
        lengths = np.diff(scored.tie_starts)
        ends = np.repeat(scored.tie_starts[1:], lengths)
        query_start = np.repeat(scored.indptr[:-1], scored.sizes)
        precision = (down_to[ends] - down_to[query_start]) / (ends - query_start)
        total = np.concatenate([[0.0], np.cumsum(relevant * precision)])
        indptr = scored.indptr
        return scored.count(self.rel).astype(np.float64), np.diff(total[indptr])


@dataclass(frozen=True)
class ReciprocalRank(BinaryMeasure):
    """Reciprocal rank of the first relevant row; 0 if it lies beyond the cut-off."""

    name: ClassVar[str] = "RR"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        sums = self.sums(scored)
        return self.fill_empty(sums[:, 3], sums[:, 0])


@dataclass(frozen=True)
class RankBiasedPrecision(BinaryMeasure):
    """Rank-biased precision."""

    name: ClassVar[str] = "RBP"
    p: float = 0.8  # persistence of the reader, in (0, 1)
    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, 0, 1, open_ends=True)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        relevant = (scored.y >= self.rel).astype(np.float64)
        weights = weigh_ranks(self.p, scored.largest)
        values = scored.sum_ranked(relevant, self.ties, weights, self.depth)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(self.rel))


@dataclass(frozen=True)
class RankBiasedResidual(JudgementMeasure):
    """Residual of rank-biased precision: the most that further judgements could add to RBP.

    The residual holds the weight of all ranks below the cut-off.
    """

    name: ClassVar[str] = "RBPResidual"
    greater_is_better: ClassVar[bool] = False

    p: float = 0.8  # persistence of the reader, in (0, 1)
    empty: Empty = 1  # value if nothing was retrieved for a query; 1: nothing is known of it
    ties: str = "mean"
    cutoff: int | None = None  # number of ranks that are read

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, 0, 1, open_ends=True)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        unjudged = (~self.read_judged(scored)).astype(np.float64)
        weights = weigh_ranks(self.p, scored.largest)
        values = scored.sum_ranked(unjudged, self.ties, weights, self.depth)
        n_read = scored.retrieved_sizes
        if self.cutoff is not None:
            n_read = np.minimum(n_read, self.depth)
        return self.fill_empty(values + self.p**n_read, scored.retrieved_sizes)


def weigh_ranks(p: float, n: int) -> Float64Array:
    """Chance that the reader stops at rank 1 … n."""
    return (1.0 - p) * p ** np.arange(n, dtype=np.float64)


@dataclass(frozen=True)
class BinaryPreference(JudgementMeasure, BinaryMeasure):
    """Binary preference of the judged rows."""

    name: ClassVar[str] = "Bpref"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        judged = self.read_judged(scored)
        relevant = judged & (scored.y >= self.rel)
        other = judged & ~relevant
        n_relevant, n_other = scored.sum(relevant), scored.sum(other)
        rule = "stable" if self.ties == "mean" else self.ties
        # Rows that were not retrieved are neither.
        kinds = scored.rank(relevant.astype(np.float64) - other, rule).values
        is_relevant = kinds > 0
        query = np.repeat(np.arange(scored.n_queries), scored.sizes)
        down_to = np.append(0, np.cumsum(kinds < 0))
        first, last = np.arange(len(kinds)), np.arange(len(kinds))
        if self.ties == "mean":
            lengths = np.diff(scored.tie_starts)
            first = np.repeat(scored.tie_starts[:-1], lengths)
            last = np.repeat(scored.tie_starts[1:], lengths)
        above = (down_to[first] - down_to[scored.indptr[query]])[is_relevant]
        tied = (down_to[last] - down_to[first])[is_relevant]
        query = query[is_relevant]
        bound = n_relevant[query]
        # Mean of min(above + u, bound) over u = 0 … tied: a tied row is equally often at any place.
        free = np.clip(bound - above + 1, 0, tied + 1)  # values of u that the bound does not cut
        capped = free * above + free * (free - 1) / 2 + (tied + 1 - free) * bound
        lost = capped / (tied + 1) / np.maximum(np.minimum(bound, n_other[query]), 1)
        total = np.bincount(query, weights=1.0 - lost, minlength=scored.n_queries)
        return self.fill_empty(total / np.maximum(n_relevant, 1), n_relevant)


@dataclass(frozen=True)
class InferredAveragePrecision(JudgementMeasure, BinaryMeasure):
    """Inferred average precision.

    Rows of the pool without a judgement have a negative grade in TREC's judgements. If the pool is
    not known, it consists of the judged rows.
    """

    name: ClassVar[str] = "infAP"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        judged = self.read_judged(scored)
        pooled = judged if scored.pooled is None else scored.pooled
        relevant = judged & (scored.y >= self.rel)
        kinds = np.where(pooled, POOLED, OUTSIDE)
        kinds[judged] = OTHER
        kinds[relevant] = RELEVANT
        rule = "stable" if self.ties == "mean" else self.ties
        ranked = scored.rank(kinds, rule, missing=MISSING).values
        starts = scored.tie_starts if self.ties == "mean" else np.arange(len(ranked) + 1)
        total = np.empty(scored.n_queries)
        data = ranked, starts, scored.indptr
        scored.run(add_inferred_precisions, *data, total, cost=scored.squares)
        n_relevant = scored.sum(relevant)
        return self.fill_empty(total / np.maximum(n_relevant, 1), n_relevant)


@dataclass(frozen=True)
class Judged(JudgementMeasure):
    """Share of the first k rows that have a judgement; k is at most the number of retrieved rows.

    Differs from ir-measures: rows of a negative grade, which TREC gives to documents that were
    pooled but not judged, are unjudged, and ``ties`` decides the order of equal scores.
    """

    name: ClassVar[str] = "Judged"

    empty: Empty = "skip"  # value of a query for which nothing was retrieved
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all retrieved rows

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        return self.fill_empty(self.share(scored), scored.retrieved_sizes)

    def share(self, scored: ScoredGroups) -> Float64Array:
        """Share of the judged rows; 0 for a query for which nothing was retrieved."""
        judged = self.read_judged(scored).astype(np.float64)
        counts = scored.sum_ranked(judged, self.ties, np.ones(scored.largest), self.depth)
        sizes = scored.retrieved_sizes
        if self.cutoff is not None:
            sizes = np.minimum(sizes, self.depth)
        return counts / np.maximum(sizes, 1)


@dataclass(frozen=True)
class Unjudged(Judged):
    """Share of the first k rows that have no judgement: 1 − Judged@k."""

    name: ClassVar[str] = "Unjudged"
    greater_is_better: ClassVar[bool] = False

    def share(self, scored: ScoredGroups) -> Float64Array:
        return 1.0 - super().share(scored)


def find_unjudged_share(measure: Measure) -> Unjudged | None:
    """Share of unjudged rows among those that a measure reads and takes as not relevant.

    None if the measure reads no ranking from its top, or treats unjudged rows otherwise.
    """
    if not measure.reads_from_top or measure.reads_judgements:
        return None
    rule = getattr(measure, "ties", "mean")
    cutoff = getattr(measure, "cutoff", None)
    return Unjudged(ties=rule if rule in TIES else "mean", cutoff=cutoff)
