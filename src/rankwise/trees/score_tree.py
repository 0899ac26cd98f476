"""Tree with node values, grown by this library or another one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class ScoreTree:
    """A tree whose nodes have values; a row gets that of its leaf. Arrays are (n_nodes,)."""

    feature: Int64Array  # -1 at leaves
    # Rows with at most that value go left; inf separates missing values from all others.
    threshold: Float64Array
    left: Int64Array  # children; node 0 is the root
    right: Int64Array
    missing_left: NDArray[np.bool_]
    values: Float64Array
    # By node that splits a column without order: values that go left, and that go right. Any other
    # one goes the way of missing values.
    members: dict[int, tuple[Float64Array, Float64Array]] = field(default_factory=dict)
    # weight of the training rows; None if the model does not keep it
    cover: Float64Array | None = None
    # nodes that take 0 for a missing value; None: no node does
    zero_missing: NDArray[np.bool_] | None = None
    # Decrease of the training loss by each split, in the units of its library; 0 at leaves. None if
    # the model does not keep it.
    gain: Float64Array | None = None
