"""Costs of predicting one class for another, and the weights of questions that follow from them.

The reduction of ordinal ranking to binary questions "is the class above k?" [1]_ weighs question k
of a row with costs c by ``|c_k - c_{k+1}|``. If costs are V-shaped, that is, if they do not fall
with the distance from the true class on either side, the weights of the questions that a prediction
answers wrongly sum to its cost. ERR-oriented costs [2]_ are
``c_k = ERR of the query's best order - ERR if only this row is taken for class k``. Class numbers
serve as grades, and the highest is the top of the scale.

For classes without an order, the transformation ``v_k = integral_0^{c_k} dt / #{j : c_j <= t}``
(with costs shifted so that the smallest is 0) turns the costs of K classes into weights of the
K (K - 1) / 2 questions "a or b?". The right answer for a row is the class with the smaller v, and
the question has the weight ``|v_a - v_b|`` [3]_. The weights of the questions that class a should
lose sum to its excess cost: ``sum_{b : v_b < v_a} (v_a - v_b) = c_a - min c``. Hence the class with
most votes costs at most twice the weight of the questions answered wrongly.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
.. [2] Tsai, Chen, Chen, Ferng, Wang, Wen & Lin, "An ensemble ranking solution to the Yahoo!
   Learning to Rank Challenge", technical report, National Taiwan University (2010), section 2.
.. [3] Beygelzimer, Dani, Hayes, Langford & Zadrozny, "Error limiting reductions between
   classification tasks", ICML 22 (2005).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rankwise.checks.classes import order_labels
from rankwise.checks.cost_tables import ClassCosts, cost_numbers
from rankwise.groups import FitData, QueryGroups
from rankwise.kernels.topk import err_costs
from rankwise.metrics.measures.confusion_matrix import Confusion
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.messages import check_choice
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

BY_CLASS = ("absolute", "squared", "zero_one")
COSTS = (*BY_CLASS, "err")
# A fall in the costs below this share of the largest cost is rounding.
_ROUNDING = 1e-12


def cost_matrix(kind: str, n_classes: int) -> Float64Array:
    """Costs by true class (row) and predicted class (column), (n_classes, n_classes).

    "absolute" is ``|y - k|``, "squared" ``(y - k)^2``, and "zero_one" 1 if y and k differ.
    """
    check_choice("kind", kind, BY_CLASS)
    distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(float)
    if kind == "squared":
        return distance**2
    return np.minimum(distance, 1.0) if kind == "zero_one" else distance


def row_costs(
    costs: str | ArrayLike,
    codes: Int64Array,
    n_classes: int,
    groups: QueryGroups,
    *,
    weight: Float64Array | None = None,
    kept: np.ndarray[Any, Any] | None = None,
) -> Float64Array:
    """Cost (n_samples, n_classes) of every class for every row, >= 0 and 0 for the true class.

    ``costs`` is "err", a name for :func:`cost_matrix` or an array: (n_classes, n_classes) by true
    and predicted class or (n_rows, n_classes) by row, of which the first applies if both shapes are
    equal. An array must be finite, >= 0 and V-shaped; the cost of the true class is subtracted.
    ``kept`` (n_rows,) masks the rows kept by ``fit``, as costs by row cover all rows. ``codes`` are
    class numbers, 0 to n_classes - 1, and ``weight`` > 0; both are (n_samples,).

    "err" needs ``groups`` and whole weights: a row of weight 2 counts as two rows. It takes O(m K)
    for a query of m rows and K classes. A misclassified row ties with the rows of its predicted
    class; its cost is the mean over its possible ranks among them.
    """
    codes = np.asarray(codes).astype(np.int64)
    if isinstance(costs, str):
        if costs == "err":
            return _err(codes, n_classes, groups, weight)
        if costs not in COSTS:
            raise ValueError(
                f"costs must be one of {', '.join(COSTS)}, or an array, got {costs!r}."
            )
        return cost_matrix(costs, n_classes)[codes]
    array, n_rows = cost_numbers(costs), len(codes) if kept is None else len(kept)
    if array.shape not in ((n_classes, n_classes), (n_rows, n_classes)):
        raise ValueError(
            f"costs must have shape (n_classes, n_classes)=({n_classes}, {n_classes}) or "
            f"(n_samples, n_classes)=({n_rows}, {n_classes}), got {array.shape}."
        )
    if array.shape == (n_classes, n_classes):
        table = array[codes]
    else:
        table = array if kept is None else array[kept]
    table = table - np.take_along_axis(table, codes[:, None], axis=1)
    _check_v_shape(table, codes)
    return np.maximum(table, 0.0)


def threshold_weights(costs: Float64Array) -> Float64Array:
    """Weights ``|c_k - c_{k+1}|`` of the thresholds, shape (n_samples, n_classes - 1)."""
    return np.abs(np.diff(costs, axis=1))


def query_setting(costs: str | ArrayLike) -> str | None:
    """Setting of the costs that requires query ids, as users write it; None if there is none."""
    return 'costs="err"' if isinstance(costs, str) and costs == "err" else None


def fit_threshold_weights(costs: str | ArrayLike, data: FitData) -> Float64Array:
    """Weights (n_samples, n_classes - 1) of the thresholds for the rows of a fit.

    Classes are ordered. The weights are not multiplied by row weights. For ``costs``, see
    :func:`row_costs`; they must not all be zero.
    """
    assert data.classes is not None
    table = row_costs(
        costs,
        data.y.astype(np.int64),
        len(data.classes),
        data.groups,
        weight=data.sample_weight,
        kept=data.kept,
    )
    weights = threshold_weights(table)
    if weights.size and not weights.any():
        got = repr(costs) if isinstance(costs, str) else f"an array of shape {np.shape(costs)}"
        raise ValueError(
            f"costs must cost something for some row and class, got {got}, which gives zeros alone "
            "(ERR-oriented costs are zero in queries of one row or class). Use other costs."
        )
    return weights


def costs_of_rows(costs: str | ArrayLike, data: FitData, rows: Int64Array) -> str | ArrayLike:
    """Costs for a subset of the checked rows; costs given by row are subset too."""
    assert data.classes is not None
    n_classes = len(data.classes)
    if isinstance(costs, str) or np.shape(costs) == (n_classes, n_classes):
        return costs
    array = np.asarray(costs)
    return (array if data.kept is None else array[data.kept])[rows]


def v_shaped(costs: ArrayLike, codes: ArrayLike) -> Float64Array:
    """Smallest V-shaped costs that are at least as large as the given costs (n_samples, n_classes).

    They are running maxima from the true class outwards. ``codes`` (n_samples,) are the class
    numbers of the rows; 0 to n_classes - 1 for a cost matrix by class.
    """
    costs = cost_numbers(costs)
    codes = np.asarray(codes)[:, None]
    columns = np.arange(costs.shape[1])
    above = np.maximum.accumulate(np.where(columns >= codes, costs, -np.inf), axis=1)
    below = np.where(columns <= codes, costs, -np.inf)[:, ::-1]
    below = np.maximum.accumulate(below, axis=1)[:, ::-1]
    return np.where(columns >= codes, above, below)


def _err(
    codes: Int64Array, n_classes: int, groups: QueryGroups, weight: Float64Array | None
) -> Float64Array:
    """ERR-oriented costs; equal for the rows of a query that share a class."""
    if weight is not None and (weight != np.rint(weight)).any():
        raise ValueError(
            'costs="err" needs whole sample_weight (a row of weight 2 is two rows of its query\'s '
            f"list), got {weight[weight != np.rint(weight)][0]:g}. Drop it, or use other costs."
        )
    query = groups.codes()
    cells = np.bincount(
        query * n_classes + codes, weights=weight, minlength=groups.n_queries * n_classes
    )
    counts = np.rint(cells).astype(np.int64).reshape(groups.n_queries, n_classes)
    # (2^y - 1) / 2^G, computed without overflow.
    grades = np.arange(n_classes, dtype=np.float64)
    stop = np.exp2(grades - (n_classes - 1)) - np.exp2(1.0 - n_classes)
    table = np.empty((groups.n_queries, n_classes, n_classes))
    err_costs(counts, stop, table)
    return table[query, codes]


def _check_v_shape(table: Float64Array, codes: Int64Array) -> None:
    rises = np.diff(table, axis=1) * np.where(
        np.arange(table.shape[1] - 1) >= codes[:, None], 1.0, -1.0
    )
    slack = _ROUNDING * np.abs(table).max(initial=0.0)
    if (rises < -slack).any():
        row = int(np.argmax((rises < -slack).any(axis=1)))
        raise ValueError(
            "costs must not fall with the distance from the true class, got "
            f"{table[row].tolist()} for class number {int(codes[row])} (its cost subtracted). "
            "Use rankwise.losses.class_costs.v_shaped(costs, class_numbers)."
        )


def ordinal_costs(
    kind: Literal["absolute", "squared", "zero_one"], classes: ArrayLike | int
) -> ClassCosts:
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


def random_costs(y: ArrayLike, *, scale: float = 2000.0, random_state: Seed = 0) -> ClassCosts:
    """Random costs, as in the usual benchmark of cost-sensitive classifiers.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes and their frequencies: a rare class is expensive to misclassify.
    scale : float > 0, default=2000.0
    random_state : int, RandomState, Generator or None, default=0

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
