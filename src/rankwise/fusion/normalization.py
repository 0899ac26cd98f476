"""Normalisation of the scores of several systems to a common scale, list by list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.fusion.run_pool import RunPool
from rankwise.typing import Float64Array


def normalize(pool: RunPool, method: str = "min-max") -> Float64Array:
    """Normalise the scores of every list (one list per system and query).

    Parameters
    ----------
    pool : RunPool
    method : {"min-max", "max", "sum", "z", "rank", "borda", "none"}, default="min-max"
        For the scores x of a list of n documents, ranked r = 1, …, n, in a pool of m documents:

        - "min-max": ``(x - min) / (max - min)``, in [0, 1];
        - "max": ``x / max |x|``, in [-1, 1];
        - "sum": ``(x - min) / sum(x - min)``, in [0, 1];
        - "z": ``(x - mean) / sd``, with the standard deviation of the list, in
          [-sqrt(n - 1), sqrt(n - 1)];
        - "rank": ``1 - (r - 1) / n``, in (0, 1];
        - "borda": ``1 - (r - 1) / m``, and ``1/2 - (n - 1) / (2 m)`` for a document that the system
          did not return, in (0, 1];
        - "none": x.

        Equal scores share the mean of their ranks. Where the divisor is 0 (equal scores; for "max"
        scores of 0), the whole list becomes zeros.

    Returns
    -------
    ndarray of shape (n_rows, n_systems), float64
        NaN where the system did not return the document, except for "borda".

    Raises
    ------
    ValueError
        If ``method`` is none of these.

    References
    ----------
    .. [1] Renda & Straccia, "Web metasearch: rank vs. score based rank aggregation methods",
       SAC 2003.
    .. [2] Montague & Aslam, "Relevance score normalization for metasearch", CIKM 2001.

    Examples
    --------
    >>> from rankwise.fusion import normalize, pool_runs
    >>> pool = pool_runs({"a": {"q": {"d1": 5.0, "d2": 4.0, "d3": 1.0}}, "b": {"q": {"d1": 9.0}}})
    >>> normalize(pool)
    array([[1.  , 0.  ],
           [0.75,  nan],
           [0.  ,  nan]])
    """
    check_normalization("method", method)
    if not isinstance(pool, RunPool):
        raise TypeError(
            f"pool must be a RunPool, got {type(pool).__name__}. Pass pool_runs([run, …])."
        )
    if not len(pool):
        return pool.scores.copy()
    return NORMALIZATIONS[method](pool)


def check_normalization(name: str, method: Any) -> None:
    """Raise ValueError if an argument names no method of normalisation."""
    if not isinstance(method, str) or method not in NORMALIZATIONS:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, NORMALIZATIONS))}, got {method!r}."
        )


def _min_max(pool: RunPool) -> Float64Array:
    scores = _scale_lists(pool)
    low, high = (_reduce_lists(reduce, pool, scores) for reduce in (np.fmin, np.fmax))
    return _divide(scores - low, high - low)


def _max(pool: RunPool) -> Float64Array:
    scores = _scale_lists(pool)
    return _divide(scores, _reduce_lists(np.fmax, pool, np.abs(scores)))


# Sum and z do not change when a list is shifted and scaled. Min-max scores can be summed and
# squared without overflow, and are all 0 in a list of equal scores, whatever rounding does to its
# mean.
def _sum(pool: RunPool) -> Float64Array:
    above = _min_max(pool)
    return _divide(above, _reduce_lists(np.add, pool, np.nan_to_num(above)))


def _z(pool: RunPool) -> Float64Array:
    above, n = _min_max(pool), np.maximum(_lengths(pool), 1)
    distance = above - _reduce_lists(np.add, pool, np.nan_to_num(above)) / n
    return _divide(distance, np.sqrt(_reduce_lists(np.add, pool, np.nan_to_num(distance**2)) / n))


def _rank(pool: RunPool) -> Float64Array:
    share = 1.0 - (pool.ranks - 1) / np.maximum(_lengths(pool), 1)
    return np.where(pool.ranks > 0, share, np.nan)


def _borda(pool: RunPool) -> Float64Array:
    n_documents = np.repeat(pool.groups.sizes, pool.groups.sizes)[:, None]
    missing = 0.5 - (_lengths(pool) - 1) / (2 * n_documents)
    return np.where(pool.ranks > 0, 1.0 - (pool.ranks - 1) / n_documents, missing)


def _none(pool: RunPool) -> Float64Array:
    return pool.scores.copy()


NORMALIZATIONS: dict[str, Callable[[RunPool], Float64Array]] = {
    "min-max": _min_max,
    "max": _max,
    "sum": _sum,
    "z": _z,
    "rank": _rank,
    "borda": _borda,
    "none": _none,
}


def _reduce_lists(reduce: np.ufunc, pool: RunPool, values: Float64Array) -> Float64Array:
    """A reduction over each list, repeated for the rows of its query."""
    found = reduce.reduceat(values, pool.groups.indptr[:-1], axis=0)
    return np.repeat(found, pool.groups.sizes, axis=0)


def _lengths(pool: RunPool) -> Float64Array:
    return np.repeat(pool.n_returned, pool.groups.sizes, axis=0)


def _scale_lists(pool: RunPool) -> Float64Array:
    """Scores times the power of two that brings their list into [-1, 1].

    Powers of two cost no digit, and differences of scores near 1e308 stay finite.
    """
    _, exponent = np.frexp(np.nan_to_num(_reduce_lists(np.fmax, pool, np.abs(pool.scores))))
    return np.ldexp(pool.scores, -exponent)


def _divide(values: Float64Array, divisor: Float64Array) -> Float64Array:
    """Quotients, and 0 where the divisor is 0; NaN stays."""
    return values * (divisor > 0) / np.where(divisor > 0, divisor, 1.0)
