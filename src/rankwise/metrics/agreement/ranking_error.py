"""Ranking error of Agarwal and Niyogi: misordered pairs weighted by their label difference.

``mean over all m(m-1)/2 pairs of |y_i - y_j| · ([misordered] + ½ [f_i = f_j])``. The unit is that
of the labels, without division by their spread (Agarwal & Niyogi 2009, JMLR 10:441-474).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class RankingError(AgreementMeasure):
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
        """One value per query; see :meth:`Measure.from_groups`."""
        pairs = scored.pairs
        error = (pairs.misordered_gap + 0.5 * pairs.tied_f_gap) / np.maximum(pairs.total, 1)
        return self.fill_empty(error, pairs.total > 0)
