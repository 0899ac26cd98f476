"""Exact bounds on rates of wrong decisions, and the number of judged queries that they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

from rankwise.runtime.messages import ArgumentError, check_share
from rankwise.typing import Float64Array


def queries_needed(at_most: float, confidence_level: float = 0.95, *, risk: float = 0.0) -> int:
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
    >>> queries_needed(0.1), queries_needed(0.1, risk=0.05), queries_needed(0.05)
    (29, 116, 59)
    """
    check_share("at_most", at_most)
    check_share("confidence_level", confidence_level, "Write 0.95 for 95 %.")
    if not 0 <= risk < at_most:
        raise ArgumentError(
            "risk", f"must lie in [0, {at_most:g}), got {risk!r}. A larger risk breaks the promise."
        )

    most = 64
    while True:
        n = np.arange(1, most + 1)
        passed = risk_p_value(np.ceil(risk * n - 1e-9), n, at_most) <= 1 - confidence_level
        if passed.any():
            return int(n[np.argmax(passed)])
        most *= 4


def risk_p_value(wrong: Any, n: Any, at_most: float) -> Any:
    """Exact p-values of "the risk is above ``at_most``" for ``wrong`` of ``n`` decisions."""
    wrong, n = np.asarray(wrong, dtype=np.float64), np.asarray(n, dtype=np.float64)
    right = np.maximum(n - wrong, 1.0)
    return np.where(wrong < n, betainc(right, wrong + 1.0, 1.0 - at_most), 1.0)


def bound_risk(wrong: Any, n: Any, confidence_level: float) -> Float64Array:
    """Exact upper confidence bounds of a rate (Clopper and Pearson), 1 without decisions."""
    wrong, n = np.asarray(wrong), np.asarray(n)
    bound = betaincinv(wrong + 1.0, np.maximum(n - wrong, 1.0), confidence_level)
    return np.where(wrong < n, bound, 1.0)
