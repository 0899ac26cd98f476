"""Hinge loss over listed pairs of rows; O(pairs)."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def evaluate_listed_pairs(keys, upper, lower, weight, margin, bend, curvature, out):
    """Return the loss and the trace of its second derivative; add the gradient to ``out``.

    The loss for a slack ``s = margin - (key_upper - key_lower)`` is ``curvature s^2`` up to
    ``bend``, then a straight line. ``keys`` and ``out`` are (n,), float64; ``upper`` and ``lower``,
    int64, are the rows of each pair and ``weight`` its weight, float64, all (n_pairs,).
    """
    value, trace = 0.0, 0.0
    for pair in range(len(upper)):
        i, j = upper[pair], lower[pair]
        slack = margin - (keys[i] - keys[j])
        if slack <= 0.0:
            continue
        if slack <= bend:
            value += weight[pair] * curvature * slack * slack
            slope = 2.0 * weight[pair] * curvature * slack
            # 2 w c at both rows of the pair.
            trace += 4.0 * weight[pair] * curvature
        else:
            # The straight line continues the parabola with its slope at `bend`.
            slope = 2.0 * weight[pair] * curvature * bend
            value += slope * (slack - 0.5 * bend)
        out[i] -= slope
        out[j] += slope
    return value, trace


@njit
def apply_listed_curvature(values, keys, upper, lower, weight, margin, bend, curvature, out):
    """Add the second derivative at the keys, times ``values``, to ``out``."""
    for pair in range(len(upper)):
        i, j = upper[pair], lower[pair]
        slack = margin - (keys[i] - keys[j])
        if 0.0 < slack <= bend:
            push = 2.0 * weight[pair] * curvature * (values[i] - values[j])
            out[i] += push
            out[j] -= push


@njit
def sum_listed_pairs(keys, upper, lower, weight, margin):
    """Sum of ``weight max(0, margin - (key_upper - key_lower))``."""
    value = 0.0
    for pair in range(len(upper)):
        value += weight[pair] * max(0.0, margin - (keys[upper[pair]] - keys[lower[pair]]))
    return value
