"""Labels of ordered classes: the classes, their order, and the code of every row.

Rows in the order of their labels look well ranked wherever ties keep the order of the rows, and
learners that see one row after another see one class after another: :func:`order_of_labels` tells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from rankwise.runtime.frames import convert_to_values, is_missing
from rankwise.typing import ArrayLike, Float64Array, Int64Array

# Largest number of distinct fractional values that may be grades, such as half stars.
MOST_FRACTIONS = 50


@dataclass(frozen=True, eq=False)
class OrderedLabels:
    """Classes in ascending order, (n_classes,), and the class number of every row."""

    classes: NDArray[Any]  # all categories, seen or not, if the dtype declares an order
    codes: Int64Array  # (n_samples,), positions in ``classes``
    declared: bool  # whether the dtype declared classes and order

    def take(self, rows: NDArray[Any]) -> OrderedLabels:
        """Labels of selected rows; undeclared classes without rows are dropped."""
        codes = self.codes[rows]
        if self.declared:
            return OrderedLabels(self.classes, codes, True)
        present, codes = np.unique(codes, return_inverse=True)
        return OrderedLabels(self.classes[present], codes.astype(np.int64), False)


def order_labels(
    y: ArrayLike,
    n_samples: int | None = None,
    classes: ArrayLike | None = None,
    *,
    name: str = "y",
) -> OrderedLabels:
    """Classes of ``y`` in their order, from its values, its dtype or ``classes``, lowest first.

    y holds n_samples integers, strings, booleans or whole floats, in sorted order; or it is a
    pandas ordered categorical or polars Enum, in declared order. Labels that are missing,
    continuous or none of ``classes`` raise ValueError.
    """
    declared = list_declared_classes(y)
    if classes is not None:
        declared = _check_agreement(check_classes(classes), declared, name)
    labels = _present_labels(y, n_samples, name, warn=True)
    if declared is None:
        _check_whole(labels)
        classes, codes = _sort_classes(labels)
        return OrderedLabels(classes, codes, False)
    code_of = {value: code for code, value in enumerate(declared.tolist())}
    found = (code_of.get(value, -1) for value in labels.tolist())
    codes = np.fromiter(found, np.int64, len(labels))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"{name} must hold the given classes, got {labels.tolist()[row]!r} at row {row}. "
            f"Classes: {declared.tolist()}."
        )
    return OrderedLabels(declared, codes, True)


def ordinal_labels(
    y: ArrayLike,
    n_samples: int | None = None,
    classes: ArrayLike | None = None,
    *,
    name: str = "y",
) -> OrderedLabels:
    """Like :func:`order_labels`, but text labels need a declared order.

    Without one they would be sorted alphabetically, so ValueError is raised.
    """
    labels = order_labels(y, n_samples, classes, name=name)
    found = labels.classes.tolist()
    if not labels.declared and any(isinstance(value, str) for value in found):
        shown = ", ".join(repr(value) for value in found[:5]) + (", ..." if found[5:] else "")
        raise ValueError(
            f"{name} must have an order, got text classes without one: {shown}. Alphabetical order "
            "may not be the order of the classes. Pass classes=[...], lowest class first, or make "
            f"{name} an ordered categorical, such as pandas.Categorical({name}, categories=[...], "
            "ordered=True) or a polars Enum."
        )
    return labels


def check_classes(classes: ArrayLike) -> NDArray[Any]:
    """Check the classes that a user passed: distinct, and ascending if they are numbers."""
    named = np.asarray(classes)
    if named.ndim != 1 or len(named) == 0 or len(set(named.tolist())) < len(named):
        raise ValueError(
            f"classes must be one-dimensional, distinct and not empty, got {named.tolist()}."
        )
    if named.dtype.kind in "biuf" and (named[1:] <= named[:-1]).any():
        raise ValueError(f"classes must ascend if they are numbers, got {named.tolist()}.")
    return named


def _check_agreement(
    classes: NDArray[Any], of_dtype: NDArray[Any] | None, name: str
) -> NDArray[Any]:
    """The passed classes; they must equal those declared by the dtype of y, if any."""
    if of_dtype is not None and of_dtype.tolist() != classes.tolist():
        raise ValueError(
            f"classes must be those of the ordered categorical {name}, {of_dtype.tolist()}, got "
            f"{classes.tolist()}. Drop classes, or reorder the categories."
        )
    return classes


def class_positions(
    y: ArrayLike, classes: NDArray[Any], n_samples: int, *, name: str = "y"
) -> Float64Array:
    """Class number of every label, for rows other than the training rows.

    A number that is not a class is placed half-way between its neighbouring classes. A number
    beyond all classes is placed at the nearest end. Labels that cannot be placed, such as text or
    those of a categorical, raise ValueError unless they are classes.
    """
    labels = _present_labels(y, n_samples, name)
    position_of: dict[Any, float] = {value: code for code, value in enumerate(classes.tolist())}
    known = list(position_of)
    new = {value for value in labels.tolist() if value not in position_of}
    if new and not (_sort(known, new) and list_declared_classes(y) is None):
        raise ValueError(
            f"{name} must hold classes of the fit, got {min(new, key=str)!r}. Classes: {known}."
        )
    for value in new:
        place = bisect_left(known, value)
        position_of[value] = {0: -1.0, len(known): float(len(known))}.get(place, place - 0.5)
    return np.fromiter((position_of[value] for value in labels.tolist()), np.float64, len(labels))


def _sort(known: list[Any], new: Collection[Any]) -> bool:
    """Whether values are numbers and the known ones ascend, so that new ones can be placed."""
    return not any(isinstance(value, str) for value in (*known, *new)) and known == sorted(known)


def list_declared_classes(y: Any) -> NDArray[Any] | None:
    """Categories of an ordered categorical or Enum, None for anything else."""
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    is_enum = type(dtype).__name__ == "Enum" and type(dtype).__module__.startswith("polars")
    if categories is None or not (is_enum or getattr(dtype, "ordered", False)):
        return None
    return np.asarray(categories)


def _sort_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], Int64Array]:
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"y must hold labels that sort, got dtype {labels.dtype} ({error}). Use numbers, "
            "strings or an ordered categorical."
        ) from None
    return classes, codes.astype(np.int64)


def _check_whole(labels: NDArray[Any]) -> None:
    """Raise if numbers are not whole; the message has a fix for few distinct values."""
    if labels.dtype.kind in "mMcV":
        raise ValueError(
            "y must hold ordered classes: whole numbers, text, booleans or an ordered "
            f"categorical, got dtype {labels.dtype}. Cut y into numbered classes, for instance by "
            "np.digitize(y, edges)."
        )
    if labels.dtype.kind == "f":  # whole, and beyond the integers that scikit-learn casts to
        labels = np.where(np.abs(labels) >= 2.0**63, 0.0, labels)
    try:
        check_classification_targets(labels)
    except ValueError as error:
        values = np.unique(labels) if labels.dtype.kind == "f" else labels
        if not 1 < len(values) <= MOST_FRACTIONS:
            odd = f"dtype {labels.dtype}"
            if labels.dtype.kind == "f":
                row = int(np.argmax(labels != np.floor(labels)))  # the first fraction
                odd = f"y[{row}]={labels[row]:g}"
            raise ValueError(
                f"{error} y must hold ordered classes: whole numbers, text, booleans or an "
                f"ordered categorical, got {odd}. Cut y into classes, for instance "
                "by np.digitize(y, edges), or use a ranker, whose y may be any numbers."
            ) from None
        raise ValueError(
            f"{error} y has {len(values)} distinct values, some of them fractions: pass an ordered "
            "categorical, or their ranks, np.unique(y, return_inverse=True)[1]."
        ) from None


def check_length(
    name: str, n: int, n_samples: int | None, what: str = "one label per row of X"
) -> None:
    """Raise ValueError if ``n``, the number of entries of an argument, is another one than X has.

    ``n_samples=None``: there is no X. ``what``: what to pass.
    """
    if n_samples is not None and n != n_samples:
        raise ValueError(
            f"{name} must have n_samples={n_samples} entries, got {n} (inconsistent numbers of "
            f"samples). Pass {what}."
        )


def _present_labels(
    y: ArrayLike, n_samples: int | None, name: str, *, warn: bool = False
) -> NDArray[Any]:
    """One label per row, none of which is None, NaN or infinite."""
    labels = column_or_1d(convert_to_values(y), warn=warn)
    check_length(name, len(labels), n_samples)
    bad = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "f":
        bad = ~np.isfinite(labels)
    elif labels.dtype.kind == "O":
        bad[:] = [is_missing(value) for value in labels.tolist()]
    if bad.any():
        row = int(np.argmax(bad))
        what = "infinity" if labels.dtype.kind == "f" and np.isinf(labels[row]) else "NaN"
        raise ValueError(
            f"Input {name} contains {what} at row {row}. Drop rows without a label before fitting."
        )
    return labels


RARE = np.log(1e-3)  # orders that are more likely by chance say nothing


def label_orders(y: Float64Array, indptr: Int64Array) -> tuple[Int64Array, Float64Array]:
    """Direction of the labels in every query, and how likely it is by chance, both (n_queries,).

    Direction 1: labels ascend; -1: they descend; 0: neither, or all labels are equal. The chance is
    the log of the probability that shuffled rows come in one given direction. y is (n_samples,),
    query by query, and indptr (n_queries + 1,). O(n_samples log n_samples).
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    inside = query[1:] == query[:-1]
    step = np.diff(y)
    rises = np.bincount(query[1:][inside & (step > 0)], minlength=len(sizes)) > 0
    falls = np.bincount(query[1:][inside & (step < 0)], minlength=len(sizes)) > 0
    direction = np.where(rises == falls, 0, np.where(rises, 1, -1))
    order = np.lexsort((y, query))
    y, query = y[order], query[order]
    new = np.ones(len(y), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (y[1:] != y[:-1])
    starts = np.flatnonzero(new)
    orders = gammaln(np.diff(starts, append=len(y)) + 1.0)  # of the rows of one label
    log_chance = np.bincount(query[starts], orders, len(sizes)) - gammaln(sizes + 1.0)
    return direction, log_chance


def order_of_labels(y: Float64Array) -> str:
    """ "ascending" or "descending", or "" if the rows are not sorted by label, or by chance."""
    if len(y) < 2:
        return ""
    (direction,), (log_chance,) = label_orders(y, np.array([0, len(y)]))
    if direction == 0 or log_chance > RARE:
        return ""
    return "ascending" if direction > 0 else "descending"


def are_whole(y: Float64Array) -> bool:
    """Whether all labels are integers from 0 on."""
    return bool((y >= 0).all() and (y == np.floor(y)).all())


def middle_label(y: Float64Array) -> float | None:
    """Label from which on rows may be called relevant if all are at rel=1; None for one label."""
    labels = np.unique(y)
    return None if len(labels) < 2 else float(labels[len(labels) // 2])
