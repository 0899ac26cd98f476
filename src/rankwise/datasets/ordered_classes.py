"""Cut numbers into ordered classes, by frequency or by length."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from rankwise.typing import ArrayLike, Int64Array

By: TypeAlias = Literal["frequency", "length"]


def cut_into_classes(
    target: ArrayLike, bins: int, *, by: By = "frequency"
) -> tuple[Int64Array, tuple[str, ...]]:
    """Cut numbers into ordered classes.

    Parameters
    ----------
    target : array-like of shape (n_samples,)
        Finite numbers.
    bins : int >= 2
        Number of classes.
    by : {"frequency", "length"}, default="frequency"
        "frequency": classes of about equally many rows, where equal numbers share a class; class k
        begins at the number of rank floor(k n / bins). "length": classes between equally spaced
        borders from the smallest to the largest number; a number on a border belongs to the class
        below.

    Returns
    -------
    codes : ndarray of shape (n_samples,), int64
        Class numbers from 0 without gaps.
    names : tuple of str
        Number of each class's bin, from 1; bins without rows are skipped.

    Raises
    ------
    ValueError
        If ``bins`` or ``by`` is invalid, or a number is not finite.

    Examples
    --------
    >>> cut_into_classes([1, 2, 3, 4, 5, 60], 3)
    (array([0, 0, 1, 1, 2, 2]), ('1', '2', '3'))
    >>> cut_into_classes([1, 2, 3, 4, 5, 60], 3, by="length")
    (array([0, 0, 0, 0, 0, 1]), ('1', '3'))
    """
    if by not in ("frequency", "length"):
        raise ValueError(f'by must be "frequency" or "length", got {by!r}.')
    if bins < 2:
        raise ValueError(f"bins must be 2 or more, got {bins}.")
    values = np.asarray(target, dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"target must be finite, got {values[row]} at row {row}. Drop such rows.")
    n = len(values)
    if by == "frequency":
        borders = np.sort(values)[[k * n // bins for k in range(1, bins)]]
        number = np.searchsorted(borders, values, side="right")
    else:
        borders = np.linspace(values.min(), values.max(), bins + 1)[1:-1]
        number = np.searchsorted(borders, values, side="left")
    present, codes = np.unique(number, return_inverse=True)
    return codes.astype(np.int64), tuple(str(k + 1) for k in present)
