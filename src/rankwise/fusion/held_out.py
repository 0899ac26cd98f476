"""Fusion of every query by a model that was fitted without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.datasets.readers.trec import Run
from rankwise.fusion.run_pool import RunPool
from rankwise.typing import Float64Array, Int64Array


def fuse_by_folds(
    judged: RunPool,
    folds: int | None,
    random_state: Any,
    tag: str,
    scores: Callable[[Int64Array, Int64Array], Float64Array],
) -> Run:
    """Fuse the judged queries fold by fold.

    Parameters
    ----------
    judged : RunPool
        The judged queries.
    folds : int >= 2, optional
        Number of folds of queries. None: leave one query out.
    random_state : int, RandomState or None
        Shuffles the queries before they are dealt to folds.
    tag : str
    scores : callable
        Function of the numbers of the training queries and the rows of the other queries. Returns
        the scores of these rows.

    Raises
    ------
    ValueError
        If there are fewer queries than folds, or only one.
    """
    groups = judged.groups
    n_folds = groups.n_queries if folds is None else folds
    if not 2 <= n_folds <= groups.n_queries:
        raise ValueError(
            f"folds must lie in [2, {groups.n_queries}], the number of judged queries, got "
            f"{n_folds}."
        )
    found = np.empty(len(judged))
    for fold in groups.split(n_folds, random_state=random_state):
        test = np.flatnonzero(np.isin(judged.qid, groups.ids[fold]))
        found[test] = scores(np.setdiff1d(np.arange(groups.n_queries), fold), test)
    return judged.run(found, tag)
