"""Rows of single impressions, summed over equal ones, for rankers that know of places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankwise.clicks.judgement import judgements, lists_of_queries
from rankwise.clicks.summary import count_cells
from rankwise.datasets.data import RankingData
from rankwise.typing import Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog


def group_impressions(
    data: RankingData, log: ClickLog, per_list: bool
) -> tuple[RankingData, Int64Array]:
    """Rows of clicks (y 1) and of impressions without one by pair and place, and places from 1.

    Weights are numbers of impressions; ``per_list`` divides them by the lists of the query.
    """
    cells = count_cells(log)
    rates = judgements(log)
    # Judgements find the rows of pairs; the grade of a pair is its number.
    shown = np.unique(cells.pair)
    found = replace(rates, grade=shown.astype(np.float64)).label(data, None)
    pair = found.y.astype(np.int64)
    first = np.searchsorted(cells.pair, pair)
    n_cells = np.searchsorted(cells.pair, pair, side="right") - first
    row = np.repeat(np.arange(len(pair)), n_cells)
    # Cells of a pair follow one another.
    cell = np.arange(len(row)) + np.repeat(first - np.cumsum(n_cells) + n_cells, n_cells)
    n, clicks = cells.n[cell], cells.clicks[cell]
    if per_list:
        lists = lists_of_queries(log, cells)[cells.pair[cell]]
        n, clicks = n / lists, clicks / lists
    weight = np.concatenate([clicks, n - clicks])
    label = np.repeat([1.0, 0.0], len(cell))
    kept = np.flatnonzero(weight > 0)
    rows = found.take(np.tile(row, 2)[kept])
    rows = replace(rows, y=label[kept], sample_weight=weight[kept])
    return rows, np.tile(cells.slot[cell] + 1, 2)[kept]
