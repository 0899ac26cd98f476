"""Positions at which rows were displayed when clicks were recorded as labels."""

from __future__ import annotations

import numpy as np

from rankwise.rows.fit_data import FitData
from rankwise.typing import ArrayLike, Int64Array


def check_positions(position: ArrayLike, data: FitData) -> Int64Array:
    """Positions at which the checked rows were displayed.

    Parameters
    ----------
    position : array-like of shape (n_samples,)
        Positions of all rows that ``fit`` received; rows of zero weight are dropped.
    data : FitData

    Raises
    ------
    ValueError
        If they are not one integer >= 0 per row.
    """
    n_samples = len(data.y) if data.kept is None else len(data.kept)
    positions = np.asarray(position)
    if positions.shape != (n_samples,):
        raise ValueError(
            f"position must have n_samples={n_samples} entries, got shape {positions.shape}. Pass "
            "the place at which each row was shown."
        )
    if positions.dtype.kind not in "iuf" or not (positions >= 0).all() or (positions % 1).any():
        raise ValueError(
            "position must hold integers >= 0, the place at which each row was shown, got "
            f"{positions.dtype} such as {positions[0]!r}."
        )
    kept = slice(None) if data.kept is None else data.kept
    return positions[kept].astype(np.int64)
