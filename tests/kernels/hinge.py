"""Hinge losses of pairs, one pair at a time."""

from __future__ import annotations

import numpy as np


def hinge(keys, pairs, margin, bend, curvature):
    """Value, gradient, second derivative and sum of plain hinges of pairs (weight, i, j)."""
    n = len(keys)
    value, plain, gradient, hessian = 0.0, 0.0, np.zeros(n), np.zeros((n, n))
    for weight, i, j in pairs:
        slack = margin - (keys[i] - keys[j])
        plain += weight * max(slack, 0.0)
        if slack <= 0:
            continue
        direction = np.zeros(n)
        direction[i], direction[j] = -1, 1
        if slack <= bend:
            value += weight * curvature * slack**2
            gradient += weight * 2 * curvature * slack * direction
            hessian += weight * 2 * curvature * np.outer(direction, direction)
        else:
            value += weight * curvature * bend * (2 * slack - bend)
            gradient += weight * 2 * curvature * bend * direction
    return value, gradient, hessian, plain
