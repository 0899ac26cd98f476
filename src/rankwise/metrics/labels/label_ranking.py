"""Measures of a ranking of labels, which depend on the ranks of the relevant labels of a row.

A query is a row of a label matrix, and the rows of the query are the labels, as
:func:`rankwise.metrics.evaluate_labels` builds them. Other queries with relevant rows work as well.
R of the K labels are relevant. c_j is the number of labels whose score is at least that of label j
(ties count against it); r_j is the number of relevant labels among them:

- LRAP: mean over relevant j of r_j / c_j;
- ranking loss: sum over relevant j of c_j - r_j, over R (K - R);
- coverage: the largest c_j, the depth to which the ranking must be read to find all;
- one-error: whether the first label is not relevant; the share of labels tied for the first rank.

O(K R) per row; one-error O(K).

References: Schapire & Singer 2000 (one-error, coverage, ranking loss, average precision);
Tsoumakas, Katakis & Vlahavas 2010. Coverage counts from 1 as in scikit-learn; the first paper
counts from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.label_ranks import relevant_ranks
from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty
from rankwise.metrics.ranking.top import BinaryMeasure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


class RelevantRanks(AgreementMeasure):
    """Base class of measures that read the ranks of all relevant labels."""

    rel: float

    @property
    def nanoseconds_per_row(self) -> float:
        """Approximate time for a few relevant labels per row."""
        return 10.0

    def ranks(self, scored: ScoredGroups) -> Float64Array:
        """R, sum of r / c, largest c and sum of c - r of each query, shape (n_queries, 4)."""
        out = np.empty((scored.n_queries, 4))
        relevant_ranks(scored.y, scored.scores, scored.indptr, float(self.rel), out)
        return out


@dataclass(frozen=True)
class LRAP(RelevantRanks):
    """Label ranking average precision, in [0, 1].

    Examples
    --------
    >>> from rankwise.metrics import evaluate_labels
    >>> evaluate_labels([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]], "LRAP")["LRAP"]
    0.41666666666666663
    """

    name: ClassVar[str] = "LRAP"
    rel: float = 1  # labels of at least this grade are relevant
    empty: Empty = 1  # value of a row without relevant labels, or without irrelevant ones

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        ranks = self.ranks(scored)
        n = ranks[:, 0]
        return self.fill_empty(ranks[:, 1] / np.maximum(n, 1), (n > 0) & (n < scored.sizes))


@dataclass(frozen=True)
class RankingLoss(RelevantRanks):
    """Share of misordered pairs of a relevant and an irrelevant label; smaller is better.

    Pairs with equal scores count as misordered.
    """

    name: ClassVar[str] = "RankingLoss"
    greater_is_better: ClassVar[bool] = False
    rel: float = 1
    empty: Empty = 0  # value of a row without relevant labels, or without irrelevant ones

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        ranks = self.ranks(scored)
        pairs = ranks[:, 0] * (scored.sizes - ranks[:, 0])
        return self.fill_empty(ranks[:, 3] / np.maximum(pairs, 1), pairs > 0)


@dataclass(frozen=True)
class Coverage(RelevantRanks):
    """Rank of the last relevant label, from 1; smaller is better."""

    name: ClassVar[str] = "Coverage"
    greater_is_better: ClassVar[bool] = False
    rel: float = 1
    empty: Empty = 0  # value of a row without relevant labels

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        ranks = self.ranks(scored)
        return self.fill_empty(ranks[:, 2], ranks[:, 0] > 0)


@dataclass(frozen=True)
class OneError(BinaryMeasure):
    """Whether the label with the largest score is irrelevant; smaller is better."""

    name: ClassVar[str] = "OneError"
    greater_is_better: ClassVar[bool] = False
    cutoff = None
    rel: float = 1
    empty: Empty = 1  # value of a row without relevant labels
    ties: str = "mean"

    def prepare(self, scored: ScoredGroups) -> None:
        """Announce that only the first rank will be read."""
        scored.need(self.ties, 1)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        sums = scored.relevance(self.ties, self.rel, 1)
        return self.fill_empty(1.0 - sums[:, 4], sums[:, 0])
