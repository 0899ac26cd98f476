"""Thresholds for engines that compare in float32, such that rows take the same branches.

A tree tests ``x <= T`` in float64. Let t be the largest float32 number that is not above T. For
every float32 number x, ``x <= t`` holds if and only if ``x <= T``. If a scaler g precedes the tree,
t is the largest float32 number with ``g(t) <= T``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.maps import Scaled
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array

Float32Array = NDArray[np.float32]
DOWN, UP = np.float32(-np.inf), np.float32(np.inf)
# Solr adds this slack to every threshold that it reads.
SOLR_SLACK = np.float32(1e-6)
_NEIGHBOURS = 3
_INFINITE = np.int64(0x7F800000)  # number of inf if float32 numbers are counted from 0.0


def move_before(scaled: tuple[Scaled, ...], tree: ScoreTree) -> ScoreTree:
    """The tree with thresholds for the features before scaling, in float32."""
    inner = np.flatnonzero(tree.feature >= 0)
    threshold = tree.threshold.copy()
    threshold[inner] = floor_before(scaled, threshold[inner], tree.feature[inner])
    return replace(tree, threshold=threshold)


def floor_float32(values: Any) -> Float32Array:
    """Largest float32 numbers that are not above the values."""
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
    return np.where(near > exact, _next(near, DOWN), near).astype(np.float32)


def floor_before(
    scaled: tuple[Scaled, ...], thresholds: Float64Array, features: Int64Array
) -> Float32Array:
    """Largest float32 numbers (n,) whose scaled values are not above the thresholds (n,).

    The scalers are applied one after the other; ``features`` (n,) are the columns of the
    thresholds.
    """

    def within(x: Float32Array) -> NDArray[np.bool_]:
        values = x.astype(np.float64)
        for step in scaled:
            values = step.scale(values, features)
        return values <= thresholds

    # Bisect the float32 numbers between -inf, which is below everything, and inf.
    low, high = np.full(len(thresholds), -_INFINITE), np.full(len(thresholds), _INFINITE)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = within(_number_to_float32(middle))
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _number_to_float32(low)


def subtract_slack(thresholds: Any) -> Float32Array:
    """Float32 numbers that become the given thresholds when Solr adds its slack of 1e-6.

    The sum is the float32 floor of the threshold, with exceptions that no sum in float32 can give:
    5 in a million thresholds between -1 and 1, 1 in 100 between -1e-4 and 1e-4, and most within
    1e-6 of 0. In these cases, the sum is on the same side of 0, a value of many rows. It is the
    next larger possible sum if the threshold is a float32 number itself, which may be the value of
    a row, and otherwise the nearest one: a unit in the last place, or 1.2e-13, away.
    """
    exact = np.asarray(thresholds, dtype=np.float64)
    wanted = floor_float32(exact)
    middle = (wanted - SOLR_SLACK).astype(np.float32)
    tried = [middle]
    for way in (DOWN, UP):
        step = middle
        for _ in range(_NEIGHBOURS):
            step = _next(step, way)
            tried.append(step)
    candidates = np.stack(tried)
    sums = candidates + SOLR_SLACK
    with np.errstate(invalid="ignore"):  # infinite thresholds stay infinite
        distance = np.abs(sums.astype(np.float64) - exact)
    faults = (sums != wanted).astype(np.int64)
    faults += (sums < wanted) & (wanted == exact)
    faults += 2 * ((sums < 0) != (wanted < 0))
    best = np.lexsort((distance, faults), axis=0)[0]
    chosen = np.take_along_axis(candidates, best[None], axis=0)[0]
    return np.where(np.isinf(wanted), wanted, chosen).astype(np.float32)


def _next(values: Float32Array, way: np.float32) -> Float32Array:
    """Float32 neighbours on one side; infinity beyond the last number."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, way)


def _number_to_float32(numbers: Int64Array) -> Float32Array:
    """Float32 numbers by their position in ascending order, counted from 0.0."""
    sizes = np.abs(numbers).astype(np.uint32).view(np.float32)
    return np.where(numbers < 0, -sizes, sizes).astype(np.float32)
