"""Transformed class costs for weighted all-pairs; their differences are weights of class pairs.

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

import numpy as np

from rankwise.checks.cost_tables import cost_numbers
from rankwise.typing import ArrayLike, Float64Array

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
