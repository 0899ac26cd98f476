"""Magnitude-preserving measures: do score differences match label differences?

A query of m rows has the residuals ``r = y - f``. MSD is the mean of ``(r_i - r_j)²`` over all m²
ordered pairs, which is twice the variance of r. M1D is the mean of ``|r_i - r_j|``, Gini's mean
difference, which requires sorting r. Adding a constant to all scores of a query changes neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.query_sums import (
    centre_by_query,
    mean_by_query,
    subtract_first_by_query,
)
from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class MSD(AgreementMeasure):
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
        """One value per query; see :meth:`Measure.from_groups`."""
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = centre_by_query(_residuals(scored), scored.indptr)
            msd = 2.0 * mean_by_query(residuals * residuals, scored.indptr)
        return self.fill_empty(_large(msd), scored.sizes > 1)


@dataclass(frozen=True)
class M1D(AgreementMeasure):
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
        """One value per query; see :meth:`Measure.from_groups`."""
        from rankwise.kernels.inversions import mean_absolute_gaps

        m1d = np.empty(scored.n_queries)
        with np.errstate(over="ignore", invalid="ignore"):
            mean_absolute_gaps(_residuals(scored), scored.indptr, m1d)
        return self.fill_empty(_large(m1d), scored.sizes > 1)


def _residuals(scored: ScoredGroups) -> Float64Array:
    """y - f up to a constant per query; offsets are removed before the subtraction."""
    y = subtract_first_by_query(scored.y, scored.indptr)
    return y - subtract_first_by_query(scored.scores, scored.indptr)


def _large(values: Float64Array) -> Float64Array:
    """Replace NaN (overflowed differences) by infinity, so that the query stays in the mean."""
    return np.where(np.isnan(values), np.inf, values)
