"""Positions at which rows were displayed when clicks were recorded as labels."""

from __future__ import annotations

import numpy as np

from rankwise.rows.fit_data import FitData
from rankwise.typing import ArrayLike, Int64Array


def check_positions(position: ArrayLike, data: FitData) -> Int64Array:
    """Positions (integers >= 0) at which the checked rows were displayed.

    ``position`` covers all rows that ``fit`` received; rows of zero weight are dropped.
    """
    n_samples = len(data.y) if data.kept is None else len(data.kept)
    positions = np.asarray(position)
    if positions.shape != (n_samples,):
        raise ValueError(
            f"position must have n_samples={n_samples} entries, got shape {positions.shape}. Pass "
            "the place at which each row was shown."
        )
    if positions.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):  # infinity has no remainder
            is_bad = ~((positions >= 0) & (positions % 1 == 0))
    else:
        is_bad = np.ones(n_samples, dtype=bool)
    if is_bad.any():
        row = int(is_bad.argmax())
        value = positions[row]
        raise ValueError(
            "position must hold integers >= 0, the place at which each row was shown, got "
            f"{value.item() if isinstance(value, np.generic) else value!r} at row {row}."
        )
    kept = slice(None) if data.kept is None else data.kept
    return positions[kept].astype(np.int64)
