"""Losses of predicted ranks: how far, and how often, a prediction misses the label.

The scores are read as predicted labels, as ordinal rankers give them. With query ids the loss is
averaged within each query first; over all rows alike it is the value without query ids, where all
rows are one query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.agreement import AgreementMeasure
from rankwise.metrics.conventions import Empty
from rankwise.metrics.scored import ScoredGroups
from rankwise.metrics.segments import mean_by_query
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class MAE(AgreementMeasure):
    """Mean absolute rank loss, the mean of ``|y - f|``; smaller is better.

    Parameters
    ----------
    empty : {"skip", "nan", 0, 1}
        Value of a query without rows.

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
    greater_is_better: ClassVar[bool] = False
    empty: Empty = "skip"

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        loss = mean_by_query(np.abs(scored.y - scored.scores), scored.indptr)
        return self.fill_empty(loss, scored.sizes > 0)


@dataclass(frozen=True)
class ZeroOne(AgreementMeasure):
    """Zero-one loss, the share of rows whose predicted rank is not the label; smaller is better.

    Parameters
    ----------
    empty : {"skip", "nan", 0, 1}
        Value of a query without rows.

    Examples
    --------
    >>> from rankwise.metrics import evaluate
    >>> evaluate([3, 1, 2, 2], [1, 1, 2, 3], measures="ZeroOne")["ZeroOne"]
    0.5
    """

    name: ClassVar[str] = "ZeroOne"
    greater_is_better: ClassVar[bool] = False
    empty: Empty = "skip"

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        """One value per query; see :meth:`Measure.from_groups`."""
        missed = (scored.y != scored.scores).astype(np.float64)
        loss = mean_by_query(missed, scored.indptr)
        return self.fill_empty(loss, scored.sizes > 0)
