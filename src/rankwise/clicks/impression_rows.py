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
    """One row per pair, place and outcome, with the number of its impressions as its weight.

    Parameters
    ----------
    data : RankingData
        With document ids.
    log : ClickLog
    per_list : bool
        Whether the weights of a query are divided by the number of its lists: that of the
        impressions at the place of the query that was shown most.

    Returns
    -------
    rows : RankingData
        y is 1 for impressions with a click, else 0.
    place : ndarray of shape (n_rows,), int64
        From 1.

    Warns
    -----
    UserWarning
        How many rows of ``data`` the log does not show.

    Raises
    ------
    ValueError
        If ``data`` has no document ids, the log has no click, or it shows no row of ``data``.
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
