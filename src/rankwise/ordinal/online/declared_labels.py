"""Classes that are declared before a stream of rows contains them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.classes import check_classes, list_declared_classes
from rankwise.rows.fit_data import FitData
from rankwise.typing import ArrayLike, Int64Array


def declare(
    classes: ArrayLike | None,
    parameter: ArrayLike | None,
    y: ArrayLike,
    known: NDArray[Any] | None,
) -> NDArray[Any]:
    """Classes in ascending order: from the call, the estimator, the dtype of y or earlier calls.

    ``classes`` was passed to the call, ``parameter`` is the estimator's parameter ``classes``, and
    ``known`` holds the classes of earlier calls (None in the first call); all are (n_classes,). An
    ordered categorical y declares classes. Classes must be declared, be strictly ascending, and
    equal those of earlier calls.
    """
    of_y = list_declared_classes(y)
    named = [check_classes(each) for each in (classes, parameter) if each is not None]
    given = named[0] if named else of_y
    if given is None and known is None:
        raise ValueError(
            "classes must be given in the first call of partial_fit, got None. Pass all classes in "
            "ascending order, or pass y as an ordered categorical."
        )
    if given is None:
        assert known is not None
        return known
    for other in (*named, of_y, known):
        if other is not None and other.tolist() != given.tolist():
            raise ValueError(
                f"classes must stay {other.tolist()}, got {given.tolist()}. Use a new estimator "
                "for other classes."
            )
    return given


def numbers_of(data: FitData, classes: NDArray[Any]) -> Int64Array:
    """Class number of every row; a class that is not declared raises ValueError."""
    assert data.classes is not None
    number_of = {value: number for number, value in enumerate(classes.tolist())}
    present = data.y.astype(np.int64)
    numbers = np.array([number_of.get(value, -1) for value in data.classes.tolist()])
    codes = numbers[present]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y must contain declared classes only, got {data.classes.tolist()[present[row]]!r} at "
            f"row {row}. Declared classes: {classes.tolist()}. Declare all classes in the first "
            "call of partial_fit."
        )
    return codes
