"""Checked rows, as estimators receive them from their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Matrix


@dataclass(frozen=True)
class FitData:
    """Checked rows.

    Training rows are in input order, without the rows of zero weight. Validation rows are in an
    order that their content determines, see :func:`rankwise.checks.rows.check_validation`.

    ``kept`` marks the input rows that were kept; None: all of them. ``classes`` holds the ordered
    classes whose numbers 0, 1, … are ``y``; None if y holds the targets themselves.
    """

    X: Matrix
    y: Float64Array
    groups: QueryGroups
    sample_weight: Float64Array | None
    kept: NDArray[np.bool_] | None = None
    classes: NDArray[Any] | None = None
