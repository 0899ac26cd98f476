"""Classes that a stream of rows declares before it shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.classes import checked_classes, declared_classes
from rankwise.checks.rows import FitData
from rankwise.typing import ArrayLike, Int64Array


def declare(
    classes: ArrayLike | None,
    parameter: ArrayLike | None,
    y: ArrayLike,
    known: NDArray[Any] | None,
) -> NDArray[Any]:
    """All classes in ascending order, from the call, the estimator, the type of y or calls before.

    Parameters
    ----------
    classes : array-like of shape (n_classes,) or None
        What the call names.
    parameter : array-like of shape (n_classes,) or None
        What the estimator's parameter ``classes`` names.
    y : array-like
    known : ndarray of shape (n_classes,) or None
        Classes of the calls before; None in the first.

    Raises
    ------
    ValueError
        When there are none, they do not ascend or repeat, or they are others than before.
    """
    of_y = declared_classes(y)
    named = [checked_classes(each) for each in (classes, parameter) if each is not None]
    given = named[0] if named else of_y
    if given is None and known is None:
        raise ValueError(
            "classes must be given in the first call of partial_fit, got None. Pass all classes in "
            "ascending order, or y as an ordered categorical."
        )
    if given is None:
        assert known is not None
        return known
    for other in (*named, of_y, known):
        if other is not None and other.tolist() != given.tolist():
            raise ValueError(
                f"classes must stay {other.tolist()}, got {given.tolist()}. Other classes need a "
                "new estimator."
            )
    return given


def numbers_of(data: FitData, classes: NDArray[Any]) -> Int64Array:
    """Number of every row's class among the declared ones.

    Raises
    ------
    ValueError
        Where a row is of another class.
    """
    assert data.classes is not None
    number_of = {value: number for number, value in enumerate(classes.tolist())}
    present = data.y.astype(np.int64)
    numbers = np.array([number_of.get(value, -1) for value in data.classes.tolist()])
    codes = numbers[present]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y must hold declared classes, got {data.classes.tolist()[present[row]]!r} at row "
            f"{row}. Classes: {classes.tolist()}. Declare all of them in the first call of "
            "partial_fit."
        )
    return codes
