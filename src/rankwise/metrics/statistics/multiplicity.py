"""Corrections of p-values for the number of tests in a family.

The corrections of Holm and Bonferroni keep the probability of any false rejection below the level
under any dependence between the tests. Holm's is never weaker (Holm 1979, Scand. J. Statist.
6:65-70). The correction of Benjamini and Hochberg keeps the expected share of false rejections
among all rejections below the level.
"""

from __future__ import annotations

import numpy as np

from rankwise.typing import ArrayLike, Float64Array


def holm(p_values: ArrayLike) -> Float64Array:
    """Holm's step-down adjusted p-values, in the order given.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        p-values in [0, 1]. NaN marks a test that could not be made; it is not counted.

    Returns
    -------
    ndarray of shape (n_tests,), float64
        Adjusted p-values; reject a hypothesis if its value is at most the level.

    Raises
    ------
    ValueError
        If a value lies outside [0, 1].

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p, made = _check_p_values(p_values)
    tested = p[made]
    order = np.argsort(tested, kind="stable")
    steps = len(tested) - np.arange(len(tested))
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.maximum.accumulate(tested[order] * steps), 1.0)
    p[made] = adjusted
    return p


def bonferroni(p_values: ArrayLike) -> Float64Array:
    """Bonferroni's p-values: times the number of tests, at most 1; NaN as in :func:`holm`.

    Examples
    --------
    >>> bonferroni([0.01, 0.4, 0.04]).tolist()
    [0.03, 1.0, 0.12]
    """
    p, made = _check_p_values(p_values)
    p[made] = np.minimum(p[made] * made.sum(), 1.0)
    return p


def benjamini_hochberg(p_values: ArrayLike) -> Float64Array:
    """Benjamini and Hochberg's adjusted p-values, in the order given; NaN as in :func:`holm`.

    Notes
    -----
    Controls the false discovery rate for independent or positively dependent tests (Benjamini &
    Hochberg 1995, J. R. Statist. Soc. B 57:289-300). O(n log n).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    p, made = _check_p_values(p_values)
    tested = p[made]
    order = np.argsort(-tested, kind="stable")
    steps = len(tested) / np.arange(len(tested), 0, -1)
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.minimum.accumulate(tested[order] * steps), 1.0)
    p[made] = adjusted
    return p


def _check_p_values(p_values: ArrayLike) -> tuple[Float64Array, np.ndarray]:
    """Copy of the p-values, and a mask of those that are not NaN."""
    p = np.array(p_values, dtype=np.float64, ndmin=1)
    made = ~np.isnan(p)
    if p.ndim != 1 or ((p[made] < 0) | (p[made] > 1)).any():
        raise ValueError(
            "p_values must be a 1-d array of numbers in [0, 1], "
            f"got {np.array2string(p, threshold=8)}. Pass one p-value per test."
        )
    return p, made
