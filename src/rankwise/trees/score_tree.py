"""Tree with node values, grown by this library or another one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class ScoreTree:
    """A tree whose nodes have values; a row gets that of its leaf.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), int64
        -1 at leaves.
    threshold : ndarray of shape (n_nodes,), float64
        Rows with at most that value go left; inf parts missing values from all others.
    left, right : ndarray of shape (n_nodes,), int64
        Children; node 0 is the root.
    missing_left : ndarray of shape (n_nodes,), bool
    values : ndarray of shape (n_nodes,), float64
    members : dict of int to pair of ndarrays
        By node that splits a column without order: values that go left, and that go right. Any
        other one goes the way of missing values.
    cover : ndarray of shape (n_nodes,), float64, or None
        Weight of the training rows in each node; None where the model does not keep it.
    zero_missing : ndarray of shape (n_nodes,), bool, or None
        Nodes that take 0 for a missing value; None: no node does.
    gain : ndarray of shape (n_nodes,), float64, or None
        Decrease of the training loss by each split, in the units of its library; 0 at leaves.
        None where the model does not keep it.
    """

    feature: Int64Array
    threshold: Float64Array
    left: Int64Array
    right: Int64Array
    missing_left: NDArray[np.bool_]
    values: Float64Array
    members: dict[int, tuple[Float64Array, Float64Array]] = field(default_factory=dict)
    cover: Float64Array | None = None
    zero_missing: NDArray[np.bool_] | None = None
    gain: Float64Array | None = None
