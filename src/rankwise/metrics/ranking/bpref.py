"""Binary preference: how many judged rows that are not relevant rank above the relevant ones.

bpref = (1/R) Σ_{relevant} (1 − min(n, R) / min(R, N)) over the retrieved relevant rows, where R and
N are the numbers of relevant and of other judged rows of the query, and n is the number of the
latter above the row. Unjudged rows do not count. O(m) per query of m rows.

Reference: Buckley and Voorhees 2004, with the divisor of trec_eval since version 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.conventions import Empty
from rankwise.metrics.ranking.top import BinaryMeasure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class BinaryPreference(BinaryMeasure):
    """Binary preference of the judged rows."""

    name: ClassVar[str] = "Bpref"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"

    @property
    def reads_judgements(self) -> bool:
        return True

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
        lost = _mean_capped(above, tied, bound) / np.maximum(np.minimum(bound, n_other[query]), 1)
        total = np.bincount(query, weights=1.0 - lost, minlength=scored.n_queries)
        return self.fill_empty(total / np.maximum(n_relevant, 1), n_relevant)


def _mean_capped(above: Float64Array, tied: Float64Array, bound: Float64Array) -> Float64Array:
    """Mean of min(above + u, bound) over u = 0 … tied: a tied row is equally often at any place."""
    free = np.clip(bound - above + 1, 0, tied + 1)  # values of u that the bound does not cut
    total = free * above + free * (free - 1) / 2 + (tied + 1 - free) * bound
    return total / (tied + 1)
