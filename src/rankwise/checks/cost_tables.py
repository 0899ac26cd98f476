"""Costs of classes: by true class or by row, typed so that cross-validation slices them correctly.

Costs travel as metadata of ``fit`` and ``score``. scikit-learn slices an array that has as many
rows as X and passes any other array on unchanged. The kind of a plain array therefore follows from
its shape, unless there are as many rows as classes. In that case, pass :class:`ClassCosts` (never
sliced) or :class:`RowCosts` (always sliced).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import ArrayLike, Float64Array, Int64Array, is_sparse


class ClassCosts:
    """Costs by true and predicted class, never sliced by cross-validation.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes)
        Row: true class, column: predicted class. Finite and >= 0.
    classes : array-like of shape (n_classes,), optional
        The classes of rows and columns. None: the sorted classes of y. Required if some rows, such
        as the training part of a fold, may lack a class.

    Examples
    --------
    >>> from rankwise.labels import ClassCosts
    >>> ClassCosts([[0, 5], [1, 0]], classes=["ham", "spam"])
    ClassCosts of 2 classes, named
    """

    def __init__(self, costs: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.costs: Float64Array = _matrix(costs, classes)
        self.classes: NDArray[Any] | None = (
            None if classes is None else _check_class_names(classes, self.costs.shape[1])
        )
        if self.costs.shape[0] != self.costs.shape[1]:
            raise ValueError(
                "costs by class must have shape (n_classes, n_classes), got "
                f"{self.costs.shape}. Costs of every row are RowCosts(costs)."
            )

    def __repr__(self) -> str:
        named = "" if self.classes is None else ", named"
        return f"ClassCosts of {len(self.costs)} classes{named}"


class RowCosts:
    """Costs of every class for every row, which cross-validation slices like X.

    Parameters
    ----------
    costs : array-like of shape (n_samples, n_classes)
        Finite and >= 0.
    classes : array-like of shape (n_classes,), optional
        Classes of the columns; as for :class:`ClassCosts`.

    Examples
    --------
    >>> from rankwise.labels import RowCosts
    >>> RowCosts([[0.0, 2.0], [1.0, 0.0], [0.5, 0.0]])[[0, 2]].costs
    array([[0. , 2. ],
           [0.5, 0. ]])
    """

    def __init__(self, costs: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.costs: Float64Array = _matrix(costs, classes)
        self.classes: NDArray[Any] | None = (
            None if classes is None else _check_class_names(classes, self.costs.shape[1])
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_classes)."""
        return self.costs.shape[0], self.costs.shape[1]

    def __len__(self) -> int:
        return len(self.costs)

    def __getitem__(self, rows: Any) -> RowCosts:
        return RowCosts(self.costs[rows], self.classes)

    def __repr__(self) -> str:
        named = "" if self.classes is None else ", named"
        return f"RowCosts of {self.shape[0]} rows and {self.shape[1]} classes{named}"


@dataclass(frozen=True, eq=False)
class CostTable:
    """Costs of checked rows, for the classes (n_classes,) of the columns."""

    classes: NDArray[Any]
    codes: Int64Array  # (n_samples,), column of every row's own class
    by_row: Float64Array  # (n_samples, n_classes)
    # (n_classes, n_classes) if costs depend on the class only: ``by_row == by_class[codes]``
    by_class: Float64Array | None


def cost_table(
    costs: Any,
    codes: Int64Array,
    classes: NDArray[Any],
    kept: NDArray[np.bool_] | None = None,
) -> CostTable:
    """Costs of rows with known class numbers.

    An array of shape (n_rows, n_classes) holds costs by row, one of shape (n_classes, n_classes)
    costs by class; None: 1 for every class but the row's own. A shape that fits neither or both
    raises ValueError. ``codes`` are the class numbers of the rows; -1, an unknown class, is allowed
    only with costs by row. Classes that the costs name replace ``classes``. ``kept`` is the mask of
    the user's rows that were kept, (n_rows,); costs by row cover the dropped rows too.
    """
    named = getattr(costs, "classes", None)
    if named is not None:
        codes = np.append(class_numbers(classes, named), -1)[codes]  # -1 stays -1
        classes = named
    n_rows, n_classes = len(codes) if kept is None else len(kept), len(classes)
    if costs is None:
        costs = ClassCosts(1.0 - np.eye(n_classes))
    elif not isinstance(costs, ClassCosts | RowCosts):
        costs = _kind_of(_matrix(costs, classes), codes, n_rows, n_classes)
    expected = (n_classes if isinstance(costs, ClassCosts) else n_rows, n_classes)
    if costs.costs.shape != expected:
        raise _wrong_shape(costs.costs.shape, n_rows, classes)
    if isinstance(costs, RowCosts):
        return CostTable(classes, codes, costs.costs if kept is None else costs.costs[kept], None)
    if (codes < 0).any():
        raise ValueError(
            f"costs by class must have a row for every class of y. Classes: {classes.tolist()}; "
            f"none of them is that of row {int(np.argmax(codes < 0))}."
        )
    return CostTable(classes, codes, costs.costs[codes], costs.costs)


def class_numbers(labels: NDArray[Any], classes: NDArray[Any]) -> Int64Array:
    """Position of every label among the classes; -1 for other labels."""
    place = {value: number for number, value in enumerate(classes.tolist())}
    return np.array([place.get(value, -1) for value in labels.tolist()], dtype=np.int64)


def _kind_of(
    costs: Float64Array, codes: Int64Array, n_rows: int, n_classes: int
) -> ClassCosts | RowCosts:
    """Kind of a plain array; if its shape fits both kinds, both must give the same costs."""
    square = costs.shape == (n_classes, n_classes)
    if not square or n_rows != n_classes:
        return ClassCosts(costs) if square else RowCosts(costs)
    if len(codes) == n_rows and (codes >= 0).all() and np.array_equal(costs[codes], costs):
        return ClassCosts(costs)
    raise ValueError(
        f"costs of shape {costs.shape} for {n_rows} rows and {n_classes} classes may be by row or "
        "by class. Pass rankwise.labels.RowCosts(costs) or rankwise.labels.ClassCosts(costs)."
    )


def _wrong_shape(shape: tuple[int, ...], n_rows: int, classes: NDArray[Any]) -> ValueError:
    n_classes = len(classes)
    shown = classes.tolist() if n_classes <= 20 else f"{n_classes} of them"
    return ValueError(
        f"costs must have shape (n_samples, n_classes)=({n_rows}, {n_classes}) or (n_classes, "
        f"n_classes)=({n_classes}, {n_classes}), got {shape}. Classes: {shown}. If rows lack a "
        "class of the costs, name the classes: RowCosts(costs, classes) or ClassCosts(costs, "
        "classes) of rankwise.labels."
    )


def _matrix(costs: ArrayLike, classes: ArrayLike | None = None) -> Float64Array:
    array = cost_numbers(costs, classes)
    if array.ndim != 2:
        raise ValueError(
            f"costs must be two-dimensional, got shape {array.shape}. Pass a row of costs for "
            "every row of X, or for every class."
        )
    return array


def cost_numbers(costs: ArrayLike, classes: ArrayLike | None = None) -> Float64Array:
    """Finite costs >= 0 as float64, with classes (named in messages) along the last axis."""
    if is_sparse(costs):
        raise ValueError("costs must be dense, got a sparse matrix. Pass costs.toarray().")
    try:
        array = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must hold numbers ({error}).") from None
    if not np.isfinite(array).all():
        raise ValueError("costs must be finite, got NaN or infinity.")
    if (array < 0).any():
        *rows, column = (int(place) for place in np.argwhere(array < 0)[0])
        names = [] if classes is None else np.asarray(classes).tolist()
        of_class = repr(names[column]) if column < len(names) else f"number {column}"
        at = "".join(f"row {row}, " for row in rows)
        raise ValueError(
            f"costs must be >= 0, got {array[(*rows, column)]:g} at {at}class {of_class}. Subtract "
            "each row's smallest cost; turn gains into costs by subtracting them from the row's "
            "largest gain."
        )
    return array


def _check_class_names(classes: ArrayLike, n_classes: int) -> NDArray[Any]:
    named = np.asarray(classes)
    if named.shape != (n_classes,) or len(set(named.tolist())) < n_classes:
        raise ValueError(
            f"classes must name every column of the costs once, {n_classes} in all, got "
            f"{named.tolist()}."
        )
    return named
