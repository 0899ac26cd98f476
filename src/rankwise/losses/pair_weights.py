"""Weights of pairs that depend on their two grades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankwise.losses.laplacian import QueryWeight
from rankwise.typing import Float64Array, Int64Array

PAIR_WEIGHTS = ("difference", "gain", "power", "product")
PairWeight: TypeAlias = str | Callable[[Float64Array, Float64Array], Any] | None


def pair_table(pair_weight: PairWeight, grades: Float64Array) -> Float64Array:
    """Weight of every pair of grades, the upper one first; 0 where it is not the upper one.

    Parameters
    ----------
    pair_weight : str, callable or None
        None: 1. With a > b the grades: "difference" ``a - b``; "gain" ``2^a - 2^b``; "power"
        ``a^(a - b)`` and "product" ``a (a - b)`` [1]_; or a function of the arrays of upper and
        lower grades that returns as many weights >= 0.
    grades : ndarray of shape (n_grades,)
        Distinct labels, ascending.

    Returns
    -------
    ndarray of shape (n_grades, n_grades)

    Raises
    ------
    ValueError
        When weights are negative or not finite.

    References
    ----------
    .. [1] Tsai et al., "Ranking algorithms of the Yahoo learning to rank challenge", 2010: the
       weight ``max(y_i, y_j)^|y_i - y_j|``, read as a power; the product is another reading.
    """
    upper, lower = np.tril_indices(len(grades), -1)
    a, b = grades[upper], grades[lower]
    with np.errstate(over="ignore", invalid="ignore"):
        if callable(pair_weight):
            weights = np.asarray(pair_weight(a, b), dtype=np.float64)
        elif pair_weight is None:
            weights = np.ones(len(a))
        else:
            weights = {
                "difference": lambda: a - b,
                "gain": lambda: 2.0**a - 2.0**b,
                "power": lambda: np.power(a, a - b),
                "product": lambda: a * (a - b),
            }[pair_weight]()
    if weights.shape != a.shape:
        raise ValueError(
            f"pair_weight must return one weight per pair of grades, shape {a.shape}, got "
            f"{weights.shape}."
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        pair = int(np.argmax(bad))
        raise ValueError(
            f"pair_weight must be finite and >= 0, got {weights[pair]:g} for the labels "
            f"{a[pair]:g} and {b[pair]:g} (pair_weight={pair_weight!r}). Use another weight, or "
            "labels from 0."
        )
    table = np.zeros((len(grades), len(grades)))
    table[upper, lower] = weights
    return table


def query_scale(
    indptr: Int64Array, weight: Float64Array, query_weight: QueryWeight
) -> Float64Array:
    """Weight ``c_q`` of every query: 1, one over its weight, or one over its square."""
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(query, weights=weight, minlength=len(sizes))
    power = {"pair": 0.0, "document": -1.0, "query": -2.0}[query_weight]
    return np.where(totals > 0, np.where(totals > 0, totals, 1.0) ** power, 0.0)
