"""Acceleration of EM by squared extrapolation (SQUAREM) [1]_.

References
----------
.. [1] Varadhan and Roland, "Simple and globally convergent methods for accelerating the convergence
   of any EM algorithm", Scandinavian Journal of Statistics 35, 2008 (scheme S3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankwise.typing import Float64Array

# Parameters are probabilities; closer to 0 or 1, logarithms lose their digits.
LEAST = 1e-9
LONGEST = 1e6

# Maps a point to the next point of EM and the objective at the point.
Step = Callable[[Float64Array], tuple[Float64Array, float]]


class Maximum(NamedTuple):
    """Where EM stopped."""

    x: Float64Array
    value: float
    n_steps: int
    converged: bool


def maximize(
    step: Step,
    x: Float64Array,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    times: Float64Array | float = 1.0,
) -> Maximum:
    """Run EM until a step gains less than ``tol``, or ``max_iter`` steps.

    Without ``accelerate``, plain EM. Extrapolated points that lower the objective are given up, so
    the objective never falls. In the length of a step, a parameter that stands for ``times`` equal
    ones counts as often.
    """
    n_steps, before = 0, -np.inf
    value = before
    while n_steps < max_iter:
        first, value = step(x)
        n_steps += 1
        if value - before < tol:
            return Maximum(x, value, n_steps, True)
        before = value
        if not accelerate:
            x = first
            continue
        second, _ = step(first)
        n_steps += 1
        # In place: long logs have millions of parameters.
        bend = second - first
        change = first
        change -= x
        bend -= change
        # At least a plain double step; a straight path has no length at which it turns.
        ratio = _measure(change, times) / max(_measure(bend, times), 1e-300)
        length = min(max(ratio, 1.0), LONGEST)
        far = change
        far *= 2 * length
        far += x
        bend *= length**2
        far += bend
        del first, x, change, bend
        behind, far_value = step(np.clip(far, LEAST, 1.0 - LEAST, out=far))
        n_steps += 1
        # One EM step from the extrapolated point smooths it: its objective can only be higher.
        x = behind if far_value >= value else second
    return Maximum(x, value, n_steps, False)


def _measure(v: Float64Array, times: Float64Array | float) -> float:
    """Length of a vector whose entries stand for ``times`` equal ones each."""
    return math.sqrt(float(np.einsum("i,i,i", np.broadcast_to(times, v.shape), v, v)))
