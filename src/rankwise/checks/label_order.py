"""Whether rows come in the order of their labels, which chance does not do.

Rows in the order of their labels look well ranked wherever ties keep the order of the rows, and
learners that see one row after another see one class after another.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from rankwise.typing import Float64Array, Int64Array

RARE = np.log(1e-3)  # orders that are more likely by chance say nothing


def label_orders(y: Float64Array, indptr: Int64Array) -> tuple[Int64Array, Float64Array]:
    """Direction of the labels in every query, and how likely it is by chance, both (n_queries,).

    Direction 1: labels ascend; -1: they descend; 0: neither, or all labels are equal. The chance is
    the log of the probability that shuffled rows come in one given direction. y is (n_samples,),
    query by query, and indptr (n_queries + 1,). O(n_samples log n_samples).
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    inside = query[1:] == query[:-1]
    step = np.diff(y)
    rises = np.bincount(query[1:][inside & (step > 0)], minlength=len(sizes)) > 0
    falls = np.bincount(query[1:][inside & (step < 0)], minlength=len(sizes)) > 0
    direction = np.where(rises == falls, 0, np.where(rises, 1, -1))
    order = np.lexsort((y, query))
    y, query = y[order], query[order]
    new = np.ones(len(y), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (y[1:] != y[:-1])
    starts = np.flatnonzero(new)
    orders = gammaln(np.diff(starts, append=len(y)) + 1.0)  # of the rows of one label
    log_chance = np.bincount(query[starts], orders, len(sizes)) - gammaln(sizes + 1.0)
    return direction, log_chance


def order_of_labels(y: Float64Array) -> str:
    """ "ascending" or "descending", or "" if the rows are not sorted by label, or by chance."""
    if len(y) < 2:
        return ""
    (direction,), (log_chance,) = label_orders(y, np.array([0, len(y)]))
    if direction == 0 or log_chance > RARE:
        return ""
    return "ascending" if direction > 0 else "descending"


def are_whole(y: Float64Array) -> bool:
    """Whether all labels are integers from 0 on."""
    return bool((y >= 0).all() and (y == np.floor(y)).all())


def middle_label(y: Float64Array) -> float | None:
    """Label from which on rows may be called relevant if all are at rel=1; None for one label."""
    labels = np.unique(y)
    return None if len(labels) < 2 else float(labels[len(labels) // 2])
