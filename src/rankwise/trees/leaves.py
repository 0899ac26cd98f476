"""Predictions of a leaf from its class weights, and distances between ranks.

With class weights ``n_j`` in a leaf, the rules predict

- median: the smallest ``k`` that minimises ``sum_j n_j |k - j|``;
- mode: the smallest ``k`` that maximises ``n_k``;
- mean: the number of thresholds 0.5, 1.5, ... that the mean class number reaches;
- probabilities: the smallest ``k`` that minimises ``sum_j n_j d(k, j)`` for the tree's distance d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from rankwise.losses.ordinal_costs import BY_CLASS, cost_matrix
from rankwise.typing import ArrayLike, Float64Array

LeafRule = Literal["median", "mode", "mean", "probabilities"]
LEAF_RULES = ("median", "mode", "mean", "probabilities")


def distance_matrix(
    rank_distance: str | ArrayLike | Callable[[int, int], float] | None, n_classes: int
) -> Float64Array:
    """Matrix (n_classes, n_classes) of distances between ranks, from "absolute" (None) on.

    ``rank_distance`` is "absolute", ``|i - j|``; "squared"; "zero_one"; an array of the distances
    of ranks i and j, from 0 on; or a function, which is called with every two of them. Distances
    must be finite, symmetric, 0 on the diagonal, and not fall as ranks move apart.

    Examples
    --------
    >>> from rankwise.trees.leaves import distance_matrix
    >>> distance_matrix(lambda i, j: min(abs(i - j), 2), 4)
    array([[0., 1., 2., 2.],
           [1., 0., 1., 2.],
           [2., 1., 0., 1.],
           [2., 2., 1., 0.]])
    """
    if rank_distance is None:
        return cost_matrix("absolute", n_classes)
    if isinstance(rank_distance, str):
        if rank_distance not in BY_CLASS:
            raise ValueError(
                f"rank_distance must be one of {', '.join(BY_CLASS)}, an array or a callable, "
                f"got {rank_distance!r}."
            )
        return cost_matrix(rank_distance, n_classes)
    values: Any = rank_distance
    if callable(rank_distance):
        values = [[rank_distance(i, j) for j in range(n_classes)] for i in range(n_classes)]
    distance = np.array(values, dtype=np.float64)
    if distance.shape != (n_classes, n_classes):
        raise ValueError(
            f"rank_distance must have shape (n_classes, n_classes) = {(n_classes, n_classes)}, got "
            f"{distance.shape}. Pass one row and column per class, declared ones among them."
        )
    steps = np.diff(np.where(np.isfinite(distance), distance, 0.0), axis=1)
    if (
        not np.isfinite(distance).all()
        or (distance != distance.T).any()
        or np.diagonal(distance).any()
        or (np.triu(steps) < 0).any()  # away from the diagonal to the right,
        or (np.tril(steps, -1) > 0).any()  # and to the left
    ):
        raise ValueError(
            "rank_distance must be finite, symmetric, 0 for equal ranks, and must not fall as "
            f"ranks move apart, got {distance.tolist()}."
        )
    return distance


def mean_ranks(weights: Float64Array) -> Float64Array:
    """Mean class number of every row of class weights, shape (n,)."""
    return (weights * np.arange(weights.shape[1])).sum(axis=1) / weights.sum(axis=1)


def leaf_margins(weights: Float64Array, rule: LeafRule, distance: Float64Array) -> Float64Array:
    """Fit of each class; a leaf predicts the first of the classes with the largest value.

    ``weights`` and the result are (n, n_classes): counts or shares, not all 0 in a row.
    ``distance`` is (n_classes, n_classes), for "probabilities". Values are class shares for "mode",
    otherwise minus the mean distance to the leaf's classes.

    O(n n_classes^2). Sums of whole weights are exact, so that ties are detected.
    """
    total = weights.sum(axis=1, keepdims=True)
    if rule == "mode":
        return weights / total
    costs = distance if rule == "probabilities" else cost_matrix("absolute", weights.shape[1])
    # Sums by row, not a matrix product, whose rounding depends on the processor and the number of
    # rows: ties must be the same everywhere.
    return -np.stack([(weights * row).sum(axis=1) for row in costs], axis=1) / total


def leaf_classes(weights: Float64Array, rule: LeafRule, distance: Float64Array) -> Any:
    """Class number predicted by the rule for every row of class weights, shape (n,), int64."""
    if rule == "mean":
        thresholds = np.arange(weights.shape[1] - 1) + 0.5
        return np.searchsorted(thresholds, mean_ranks(weights), side="right")
    return leaf_margins(weights, rule, distance).argmax(axis=1)
