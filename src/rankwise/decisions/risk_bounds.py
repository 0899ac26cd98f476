"""Exact bounds on rates of wrong decisions, and the number of judged queries that they need."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from scipy.special import bdtrin, betainc

from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_share


@names_its_class
def fewest_queries(at_most: float, confidence_level: float = 0.95, *, risk: float = 0.0) -> int:
    """Fewest independent queries that show a rate of wrong decisions to be at most a number.

    Parameters
    ----------
    at_most : float in (0, 1)
        Rate that is promised.
    confidence_level : float in (0, 1)
    risk : float in [0, at_most)
        Share of the queries with wrong decisions. 0: none of them.

    Returns
    -------
    int
        Queries that the promise is about: those with nothing relevant for ``"false_answers"``, the
        answered ones for ``"wrong_answers"``.

    Raises
    ------
    ValueError
        If ``risk`` is not smaller than ``at_most``: no number of queries would do.

    Notes
    -----
    The smallest n with ``P(Binomial(n, at_most) <= risk * n) <= 1 - confidence_level``. Without
    wrong decisions this is ``log(1 - confidence_level) / log(1 - at_most)``, rounded up.

    Examples
    --------
    >>> fewest_queries(0.1), fewest_queries(0.1, risk=0.05), fewest_queries(0.05)
    (29, 116, 59)
    """
    check_share("at_most", at_most)
    check_level(confidence_level)
    if not 0 <= risk < at_most:
        raise ArgumentError(
            "risk", f"must lie in [0, {at_most:g}), got {risk!r}. A larger risk breaks the promise."
        )

    level = 1 - confidence_level
    first = bisect_left(
        range(10**9), True, key=lambda wrong: risk * bdtrin(wrong, level, at_most) <= wrong
    )
    while True:  # the first number of wrong decisions that is whole for a whole n
        wrong = np.arange(first, first + 64)
        n = smallest_sample(wrong, at_most, level)
        passed = np.ceil(risk * n - 1e-9) <= wrong
        if passed.any():
            return int(n[np.argmax(passed)])
        first += 64


def smallest_sample(wrong: Any, at_most: float, level: float) -> Any:
    """Fewest decisions, ``wrong`` of which are wrong, with a p-value of at most ``level``."""
    return np.ceil(bdtrin(wrong, level, at_most) - 1e-9)


def risk_p_value(wrong: Any, n: Any, at_most: float) -> Any:
    """Exact p-values of "the risk is above ``at_most``" for ``wrong`` of ``n`` decisions."""
    wrong, n = np.asarray(wrong, dtype=np.float64), np.asarray(n, dtype=np.float64)
    right = np.maximum(n - wrong, 1.0)
    return np.where(wrong < n, betainc(right, wrong + 1.0, 1.0 - at_most), 1.0)


def mean_risk_p_value(losses: Any, at_most: float, repeat: float = 1.0) -> float:
    """P-value of "the mean loss is above ``at_most``" for losses in [0, 1].

    ``P(sum_i E_i (x_i - at_most) >= 0)`` for independent exponential ``E_i``, the losses ``x_i``
    and one more loss of 1: the posterior of a Bayesian bootstrap with the worst loss added (Gaffke
    2005; Learned-Miller and Thomas 2019). For losses of 0 and 1 it is the exact binomial one. As if
    every loss had been seen ``repeat`` times.

    The sum has the characteristic function ``prod_i (1 - i u a_i)^-w_i``, with weights ``w_i`` of
    distinct values ``a_i``, and is inverted by the trapezoidal rule in ``log u`` (Imhof 1961).
    """
    a, weights = np.unique(np.append(losses, 1.0), return_counts=True)
    a, weights = a - at_most, repeat * weights
    weights[-1] += 1.0 - repeat  # the added loss is one, however often the others are repeated
    mean, spread = a @ weights, np.sqrt(a * a @ weights)
    if abs(mean) > 12 * spread:
        return float(mean > 0)
    log_u = np.linspace(-18.0, 4.0, 400)
    x = a * (np.exp(log_u) / spread)[:, None]
    heights = np.sin(np.arctan(x) @ weights) * np.exp(-0.5 * (np.log1p(x * x) @ weights))
    return float(np.clip(0.5 + heights.sum() * (log_u[1] - log_u[0]) / np.pi, 0.0, 1.0))


def conformal_risk(losses: Any, repeat: float = 1.0) -> float:
    """Bound on the expected loss of the next query: the mean with one more loss of 1."""
    n = repeat * len(losses)
    return float((repeat * np.sum(losses) + 1.0) / (n + 1.0))
