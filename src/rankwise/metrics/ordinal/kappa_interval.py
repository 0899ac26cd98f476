"""Interval of a weighted kappa, for rows that are independent or come in clusters.

kappa = 1 − A / B with the mean distance A = Σ d_ij p_ij of label and prediction and that of chance
B = Σ d_ij p_i. p_.j. A row of classes (i, j) moves it by

    −(d_ij − A) / B + A (Σ_l d_il p_.l + Σ_l d_lj p_l. − 2 B) / B²,

whose variance over rows is that of Fleiss, Cohen and Everitt [1]_. Sums over clusters replace rows
that are not independent, such as the documents of a query. The interval is symmetric in
atanh(kappa), with Student's t: near 1, kappa itself is skewed. If few rows or clusters decide, the
spread of their terms shows few degrees of freedom.

References
----------
.. [1] Fleiss, Cohen and Everitt 1969, Large sample standard errors of kappa and weighted kappa.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rankwise.groups import QueryGroups
from rankwise.metrics.ordinal.confusion_matrix import Confusion, confusion, encode_classes
from rankwise.metrics.statistics.stratified import FEW, spread_freedom
from rankwise.runtime.column_values import convert_to_values
from rankwise.typing import Float64Array

# Degrees of freedom below which a note doubts the interval.
_FEWEST = 8.0


@dataclass(frozen=True, eq=False)
class KappaInterval:
    """Agreement of two judges beyond chance.

    Attributes
    ----------
    kappa, low, high : float
        Weighted kappa and its interval; NaN if all labels are equal.
    standard_error : float
    n_rows, n_clusters : int
    confusion : Confusion
        Counts of rows by the classes of both judges, in rank order.
    notes : tuple of str
        Reasons why the interval cannot be relied on: few rows or clusters decide.
    """

    kappa: float
    low: float
    high: float
    standard_error: float
    n_rows: int
    n_clusters: int
    confusion: Confusion
    notes: tuple[str, ...] = ()


def kappa_interval(
    y: ArrayLike,
    predicted: ArrayLike,
    *,
    weights: str = "quadratic",
    qid: ArrayLike | QueryGroups | None = None,
    classes: ArrayLike | None = None,
    confidence: float = 0.95,
) -> KappaInterval:
    """Weighted kappa of two judges with an interval.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        Classes by the two judges, for example people and a machine: numbers, strings, or an
        ordered categorical dtype.
    weights : {"linear", "quadratic", "none"}
        Distance of two classes: ``|i - j|`` of their ranks, its square, or 1 if they differ.
    qid : array-like of shape (n_samples,) or QueryGroups, optional
        Cluster of every row, such as its query; None: rows are independent.
    classes : array-like of shape (n_classes,), optional
        All classes in rank order; see :func:`confusion`.
    confidence : float in (0, 1)

    Returns
    -------
    KappaInterval

    Raises
    ------
    ValueError
        As :func:`confusion`, or if there are fewer than two clusters.

    Notes
    -----
    O(n log n). If all rows agree, the standard error is 0 and says nothing: the lower end is then
    that of a disagreement by one rank in a share ``1 - ((1 - confidence) / 2) ** (1 / n)`` of the
    rows, which n clusters without any disagreement do not exclude.

    Examples
    --------
    >>> found = kappa_interval([0, 0, 1, 1, 2, 2, 2, 0], [0, 1, 1, 1, 2, 2, 1, 0])
    >>> round(found.kappa, 3), round(found.low, 3), round(found.high, 3)
    (0.8, 0.125, 0.969)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    found = confusion(y, predicted, classes)
    kappa, n_rows = found.kappa(weights), int(found.counts.sum())
    groups = None if qid is None else QueryGroups.from_qid(qid, n_rows)
    n_clusters = n_rows if groups is None else groups.n_queries
    if n_clusters < 2:
        raise ValueError(
            f"an interval needs at least 2 {'rows' if groups is None else 'clusters'}, got "
            f"{n_clusters}. Pass more, or qid=None if rows are independent."
        )
    if math.isnan(kappa):
        return KappaInterval(kappa, kappa, kappa, kappa, n_rows, n_clusters, found)
    codes = [
        encode_classes(name, convert_to_values(judge), found.classes)
        for name, judge in (("y", y), ("predicted", predicted))
    ]
    influence = _influences(found, weights)[codes[0], codes[1]]
    sums = influence if groups is None else np.bincount(groups.codes(), influence)
    error = math.sqrt(float((sums**2).sum()) * n_clusters / (n_clusters - 1)) / n_rows
    freedom = spread_freedom(sums)
    quantile = float(stdtrit(freedom, 0.5 + confidence / 2))
    notes = ()
    if freedom < max(FEW * n_clusters, _FEWEST):
        unit = "rows" if groups is None else "clusters"
        notes = (
            f"few {unit} decide (they count as {freedom + 1:.1f} of {n_clusters}); the interval "
            "cannot be relied on",
        )
    if kappa == 1:
        share = 1 - ((1 - confidence) / 2) ** (1 / n_clusters)
        low, high = max(1 - share / _chance_distance(found, weights), -1.0), 1.0
    elif kappa <= -1:
        low, high = kappa - quantile * error, kappa + quantile * error
    else:
        half = quantile * error / (1 - kappa**2)
        low, high = (math.tanh(math.atanh(kappa) + side * half) for side in (-1, 1))
    return KappaInterval(kappa, low, high, error, n_rows, n_clusters, found, notes)


def _distances(n_classes: int, weights: str) -> Float64Array:
    ranks = np.arange(n_classes, dtype=np.float64)
    distance = np.abs(ranks[:, None] - ranks)
    return {"linear": distance, "quadratic": distance**2, "none": np.sign(distance)}[weights]


def _chance_distance(found: Confusion, weights: str) -> float:
    shares = found.counts / found.counts.sum()
    distance = _distances(len(shares), weights)
    return float(shares.sum(axis=1) @ distance @ shares.sum(axis=0))


def _influences(found: Confusion, weights: str) -> Float64Array:
    """Influence of one row on kappa, by its two classes."""
    shares = found.counts / found.counts.sum()
    distance = _distances(len(shares), weights)
    of_labels, of_predicted = shares.sum(axis=1), shares.sum(axis=0)
    observed = float((distance * shares).sum())
    chance = float(of_labels @ distance @ of_predicted)
    moved = (distance @ of_predicted)[:, None] + (of_labels @ distance)[None, :]
    return -(distance - observed) / chance + observed * (moved - 2 * chance) / chance**2
