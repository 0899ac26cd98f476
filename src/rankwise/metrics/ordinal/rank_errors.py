"""Losses of predicted ranks: distance from the label, and frequency of errors.

Scores are read as predicted labels, which ordinal rankers return. With query ids, the loss is
averaged within each query first. Without query ids, all rows form one query, so all rows have the
same weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement.query_sums import mean_by_query
from rankwise.metrics.agreement.undefined import AgreementMeasure
from rankwise.metrics.conventions import Empty, check_number
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class RankLoss(AgreementMeasure):
    """Base class of the losses of predicted labels; smaller is better."""

    greater_is_better: ClassVar[bool] = False
    reads_labels: ClassVar[bool] = True
    empty: Empty = "skip"  # value of a query without rows

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        return self.fill_empty(self._loss(scored), scored.sizes > 0)

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        """Loss of every query; any number for a query without rows."""
        raise NotImplementedError(f"{type(self).__name__} must define _loss.")


@dataclass(frozen=True)
class MAE(RankLoss):
    """Mean absolute rank loss, the mean of ``|y - f|``; smaller is better.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> y, ranks, qid = [3, 1, 2, 2], [1, 1, 2, 3], ["a", "b", "b", "b"]
    >>> round(evaluate(y, ranks, qid, "MAE")["MAE"], 4)  # (2 + 1/3) / 2
    1.1667
    >>> evaluate(y, ranks, measures="MAE")["MAE"]  # pooled over all rows
    0.75
    """

    name: ClassVar[str] = "MAE"
    averages_rows: ClassVar[bool] = True

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        return mean_by_query(np.abs(scored.y - scored.scores), scored.indptr)


@dataclass(frozen=True)
class ZeroOne(RankLoss):
    """Zero-one loss: share of rows whose predicted rank differs from the label; smaller is better.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 1, 2, 2], [1, 1, 2, 3], measures="ZeroOne")["ZeroOne"]
    0.5
    """

    name: ClassVar[str] = "ZeroOne"
    averages_rows: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        missed = (scored.y != scored.scores).astype(np.float64)
        return mean_by_query(missed, scored.indptr)


@dataclass(frozen=True)
class MacroMAE(RankLoss):
    """Macro-averaged MAE: mean of ``|y - f|`` per class, averaged over classes.

    Every class has the same weight, even with few rows (Baccianella, Esuli & Sebastiani 2009,
    ISDA, p. 283); smaller is better. The classes are those among the labels of a query, or of all
    rows without query ids. O(m log m).

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([1, 1, 1, 2], [1, 1, 1, 1], None, ["MAE", "MacroMAE"]).means
    {'MAE': 0.25, 'MacroMAE': 0.5}
    """

    name: ClassVar[str] = "MacroMAE"

    def _loss(self, scored: ScoredGroups) -> Float64Array:
        query = np.repeat(np.arange(scored.n_queries), scored.sizes)
        order = np.lexsort((scored.y, query))
        y = scored.y[order]
        new = np.ones(len(y), dtype=bool)
        np.not_equal(y[1:], y[:-1], out=new[1:])
        new[scored.indptr[:-1][scored.sizes > 0]] = True
        starts = np.flatnonzero(new)
        by_class = mean_by_query(np.abs(y - scored.scores[order]), np.append(starts, len(y)))
        return mean_by_query(by_class, np.searchsorted(starts, scored.indptr))


@dataclass(frozen=True)
class Within(AgreementMeasure):
    """Share of rows whose predicted rank is off by at most ``ranks``; larger is better.

    ``ranks`` is >= 0; 0 gives the accuracy, which is 1 minus the zero-one loss.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 1, 2, 2], [1, 1, 2, 3], measures="Within(ranks=1)")["Within(ranks=1)"]
    0.75
    """

    name: ClassVar[str] = "Within"
    averages_rows: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reads_labels: ClassVar[bool] = True
    ranks: float = 1
    empty: Empty = "skip"  # value of a query without rows

    def __post_init__(self) -> None:
        check_number(self.name, "ranks", self.ranks, 0, np.inf)
        super().__post_init__()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        near = (np.abs(scored.y - scored.scores) <= self.ranks).astype(np.float64)
        return self.fill_empty(mean_by_query(near, scored.indptr), scored.sizes > 0)
