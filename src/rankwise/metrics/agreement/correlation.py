"""Correlation of labels and scores within a query: Pearson's r and Spearman's ρ.

Spearman's ρ is Pearson's r of the ranks; tied rows share their mean rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.query_sums import centre_by_query, largest_by_query, sum_by_query
from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class Pearson(AgreementMeasure):
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
        """One value per query; see :meth:`Measure.from_groups`."""
        y, y_varies = _unit_scale(scored.y, scored)
        f, f_varies = _unit_scale(scored.scores, scored)
        yy, ff, yf = (sum_by_query(a * b, scored.indptr) for a, b in ((y, y), (f, f), (y, f)))
        return self.fill_empty(_correlation(yf, yy, ff, y_varies & f_varies), y_varies)


@dataclass(frozen=True)
class Rho(AgreementMeasure):
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
        """One value per query; see :meth:`Measure.from_groups`."""
        from rankwise.kernels.inversions import multiply_ranks

        products = np.empty((scored.n_queries, 3))
        multiply_ranks(scored.y, scored.scores, scored.indptr, products)
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
