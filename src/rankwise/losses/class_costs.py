"""Builders of costs of classes and of pairs of classes.

Builders of class costs; ordinal: :func:`rankwise.losses.ordinal_costs.cost_matrix`.

Transformed class costs for weighted all-pairs; their differences are weights of class pairs.

The transformation ``v_k = integral_0^{c_k} dt / #{j : c_j <= t}`` (with costs shifted so that the
smallest is 0) turns the costs of K classes into weights of the K (K - 1) / 2 questions "a or b?".
The right answer for a row is the class with the smaller v, and the question has the weight
``|v_a - v_b|`` [1]_. The weights of the questions that class a should lose sum to its excess cost:
``sum_{b : v_b < v_a} (v_a - v_b) = c_a - min c``. Hence the class with most votes costs at most
twice the weight of the questions answered wrongly.

References
----------
.. [1] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
   classification tasks", ICML 22 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise.checks.classes import order_labels
from rankwise.checks.cost_tables import ClassCosts, cost_numbers
from rankwise.losses.ordinal_costs import cost_matrix
from rankwise.metrics.measures.confusion_matrix import Confusion
from rankwise.typing import ArrayLike, Float64Array


def ordinal_costs(kind: str, classes: ArrayLike | int) -> ClassCosts:
    """Costs that depend on the number of ranks between true and predicted class.

    Parameters
    ----------
    kind : {"absolute", "squared", "zero_one"}
    classes : array-like of shape (n_classes,), or int >= 1
        Classes in ascending order, or their number if they are the sorted classes of y.

    Examples
    --------
    >>> from rankwise.labels import ordinal_costs
    >>> ordinal_costs("squared", ["bad", "fair", "good"]).costs
    array([[0., 1., 4.],
           [1., 0., 1.],
           [4., 1., 0.]])
    """
    if isinstance(classes, int | np.integer) and classes >= 1:
        return ClassCosts(cost_matrix(kind, int(classes)))
    named = np.asarray(classes)
    if named.ndim != 1 or not len(named):
        raise ValueError(
            f"classes must be a list of classes, or their number, at least 1, got {classes!r}."
        )
    return ClassCosts(cost_matrix(kind, len(named)), named)


def random_costs(y: ArrayLike, *, scale: float = 2000.0, random_state: Any = None) -> ClassCosts:
    """Random costs, as in the usual benchmark of cost-sensitive classifiers.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes and their frequencies: a rare class is expensive to misclassify.
    scale : float > 0, default=2000.0
    random_state : int, RandomState or None, default=None

    Returns
    -------
    ClassCosts
        ``C(y, y) = 0`` and ``C(y, k)`` uniform in ``[0, scale N_k / N_y]``, where class k has N_k
        rows.

    Notes
    -----
    The distribution is that of Lin (2010), quoted from memory.

    Examples
    --------
    >>> from rankwise.labels import random_costs
    >>> random_costs(["a", "a", "a", "b"], random_state=0).costs.round()
    array([[   0.,  477.],
           [3617.,    0.]])
    """
    if not scale > 0:
        raise ValueError(f"scale must be > 0, got {scale}.")
    labels = order_labels(y)
    counts = np.bincount(labels.codes, minlength=len(labels.classes)).astype(np.float64)
    if not counts.all():
        absent = labels.classes[counts == 0].tolist()
        raise ValueError(f"y must hold a row of every class, got none of {absent}.")
    most = scale * counts / counts[:, None]
    costs = check_random_state(random_state).uniform(size=most.shape) * most
    np.fill_diagonal(costs, 0.0)
    return ClassCosts(costs, labels.classes)


def confusion_costs(confusion: Confusion | ArrayLike, *, smoothing: float = 1.0) -> ClassCosts:
    """Costs from a confusion table: the rarer a confusion, the higher its cost.

    Parameters
    ----------
    confusion : Confusion, or array-like of shape (n_classes, n_classes)
        Result of :func:`rankwise.metrics.confusion`: how often people or another classifier confuse
        each pair of classes. An array holds the counts, finite and >= 0, by true (row) and
        predicted class, for the sorted classes of y.
    smoothing : float > 0, default=1.0
        Count added to every cell, so that an error that was never observed has a finite cost.

    Returns
    -------
    ClassCosts
        ``C(y, y) = 0`` and ``C(y, k) = -log P(k | y)``, the evidence of a prediction k against
        class y. P comes from the smoothed counts.

    Examples
    --------
    >>> from rankwise.labels import confusion_costs
    >>> from rankwise.metrics import confusion
    >>> seen = confusion(list("aaaabbbb"), list("aaabbbbb"), classes=["a", "b"])
    >>> confusion_costs(seen).costs.round(2)
    array([[0.  , 1.1 ],
           [1.79, 0.  ]])
    """
    if not smoothing > 0:
        raise ValueError(f"smoothing must be > 0, got {smoothing}.")
    known = isinstance(confusion, Confusion)
    counts = (confusion.counts if known else _counts(confusion)) + smoothing
    costs = -np.log(counts / counts.sum(axis=1, keepdims=True))
    np.fill_diagonal(costs, 0.0)
    return ClassCosts(costs, confusion.classes if known else None)


def _counts(confusion: ArrayLike) -> Float64Array:
    """Validated table of counts."""
    try:
        counts = np.asarray(confusion, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"confusion must hold numbers ({error}).") from None
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(
            "confusion must be the result of rankwise.metrics.confusion, or its counts, of shape "
            f"(n_classes, n_classes), got shape {counts.shape}."
        )
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError("confusion must hold finite counts >= 0.")
    return counts


_BLOCK = 4096  # rows


def all_pairs_costs(costs: ArrayLike) -> Float64Array:
    """Transform costs for weighted all-pairs: differences become weights of pairs of classes.

    Parameters
    ----------
    costs : array-like of shape (n_samples, n_classes) or (n_classes,)
        Finite and >= 0; only differences within a row matter.

    Returns
    -------
    ndarray of the shape of ``costs``, float64
        0 for the smallest cost of a row; then, in ascending order of the costs,
        ``v_(i) = v_(i-1) + (c_(i) - c_(i-1)) / (i - 1)``. Equal costs have equal values.

    Raises
    ------
    ValueError
        If costs are not numeric, are negative or not finite, or have the wrong number of
        dimensions.

    Notes
    -----
    O(N K log K). Source: the integral of Beygelzimer et al. (2005), which the recursion evaluates.

    Examples
    --------
    >>> from rankwise.labels import all_pairs_costs
    >>> all_pairs_costs([0, 1, 3, 3])
    array([0., 1., 2., 2.])
    >>> all_pairs_costs([[2, 1, 0], [0, 1, 1]])
    array([[1.5, 1. , 0. ],
           [0. , 1. , 1. ]])
    """
    c = cost_numbers(costs)
    if c.ndim not in (1, 2):
        raise ValueError(
            f"costs must have shape (n_samples, n_classes) or (n_classes,), got {c.shape}."
        )
    table = np.atleast_2d(c)
    v = np.empty_like(table)
    for start in range(0, len(table), _BLOCK):  # so that intermediate arrays stay in the cache
        v[start : start + _BLOCK] = _transform_costs(table[start : start + _BLOCK])
    return v.reshape(c.shape)


def _transform_costs(costs: Float64Array) -> Float64Array:
    """Transformed costs of a few rows."""
    n_rows, n_classes = costs.shape
    order = np.argsort(costs, axis=1, kind="stable")
    order += n_classes * np.arange(n_rows)[:, None]  # indices into the flat table
    steps = np.diff(costs.ravel()[order], axis=1)
    steps /= np.arange(1, max(n_classes, 1))
    ascending = np.zeros((n_rows, n_classes))
    np.cumsum(steps, axis=1, out=ascending[:, 1:])
    v = np.empty(costs.size)
    v[order] = ascending
    return v.reshape(costs.shape)
