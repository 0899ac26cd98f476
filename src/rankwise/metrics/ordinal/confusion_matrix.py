"""Confusion matrix in rank order, and measures computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.checks.classes import order_labels, ordinal_labels
from rankwise.checks.rows import check_weight
from rankwise.metrics.conventions import check_choice
from rankwise.metrics.ordinal.kappa import WEIGHTS
from rankwise.runtime.column_values import convert_to_values
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of rows by label and predicted class, with classes in rank order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes in rank order. Distances are differences of ranks, even if classes are numbers.
    counts : ndarray of shape (n_classes, n_classes), float64
        ``counts[i, j]``: number (or weight) of rows of class i predicted as class j.
    """

    classes: NDArray[Any]
    counts: Float64Array

    @property
    def support(self) -> Float64Array:
        """Number of rows of every class, shape (n_classes,)."""
        return self.counts.sum(axis=1)

    @property
    def recall(self) -> Float64Array:
        """Share of each class that is predicted correctly; NaN for a class without rows."""
        return _ratio(np.diag(self.counts), self.support)

    @property
    def class_mae(self) -> Float64Array:
        """Mean absolute error in ranks of each class; NaN for a class without rows."""
        return _ratio((self.counts * self._distances).sum(axis=1), self.support)

    @property
    def mae(self) -> float:
        """Mean absolute error in ranks; NaN without rows."""
        return _mean(self.counts, self._distances)

    @property
    def macro_mae(self) -> float:
        """Mean of ``class_mae`` over the classes that have rows; NaN without rows."""
        known = self.class_mae[self.support > 0]
        return float(known.mean()) if known.size else float("nan")

    @property
    def accuracy(self) -> float:
        """Share of correctly predicted rows; NaN without rows."""
        return self.within(0)

    def within(self, ranks: float = 1) -> float:
        """Share of rows with an error of at most ``ranks`` ranks; NaN without rows."""
        return _mean(self.counts, (self._distances <= ranks).astype(np.float64))

    def kappa(self, weights: str = "linear") -> float:
        """Weighted kappa; NaN if all rows have the same label.

        Parameters
        ----------
        weights : {"linear", "quadratic", "none"}
        """
        check_choice("kappa", "weights", weights, WEIGHTS)
        if np.count_nonzero(self.support) < 2:
            return float("nan")
        power = {"none": 0.0, "linear": 1.0, "quadratic": 2.0}[weights]
        distance = np.where(self._distances > 0, self._distances**power, 0.0)
        chance = np.outer(self.support, self.counts.sum(axis=0))
        return 1.0 - _mean(self.counts, distance) / _mean(chance, distance)

    @property
    def _distances(self) -> Float64Array:
        ranks = np.arange(len(self.classes), dtype=np.float64)
        return np.abs(ranks[:, None] - ranks)

    def __repr__(self) -> str:
        names = [str(label) for label in self.classes.tolist()]
        rows = [
            [name, *(f"{n:g}" for n in row), f"{total:g}", f"{recall:.4f}", f"{off:.4f}"]
            for name, row, total, recall, off in zip(
                names, self.counts, self.support, self.recall, self.class_mae, strict=True
            )
        ]
        table = [["label", *names, "rows", "recall", "MAE"], *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        head = (
            f"Confusion of {self.support.sum():g} rows: "
            f"MAE {self.mae:.4f}, accuracy {self.accuracy:.4f}"
        )
        lines = (
            "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
            for line in table
        )
        return join_lines([head, *(f"  {line}" for line in lines)])


def confusion(
    y: ArrayLike,
    predicted: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Confusion:
    """Count rows by label and predicted class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: numbers, strings, or an ordered categorical dtype.
    predicted : array-like of shape (n_samples,)
        Predicted classes.
    classes : array-like of shape (n_classes,), optional
        All classes in rank order, such as an ordinal estimator's ``classes_``. Required for text,
        unless the dtype of ``y`` declares the classes. None: the classes of the dtype, else the
        sorted labels and predicted classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weight >= 0 of every row; a row of weight w counts as w rows.

    Returns
    -------
    Confusion

    Raises
    ------
    ValueError
        If lengths differ, a label is missing or not among the classes, a class is listed twice, or
        labels are text without an order.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> found = confusion(["low", "high", "mid"], ["low", "mid", "mid"], ["low", "mid", "high"])
    >>> found.counts.astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    >>> found.recall.tolist(), found.class_mae.tolist()
    ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    """
    labels, guesses = convert_to_values(y), convert_to_values(predicted)
    if labels.ndim != 1 or guesses.shape != labels.shape:
        raise ValueError(
            f"y and predicted must be one-dimensional and of equal length, got shapes "
            f"{labels.shape} and {guesses.shape}. Pass one label and one class per row."
        )
    if classes is None:
        ordered = order_labels(y)
        known = ordered.classes
        if not ordered.declared:
            known = ordinal_labels(np.concatenate([labels, guesses])).classes
    else:
        known = np.asarray(classes)
        if len(set(known.tolist())) < len(known):
            raise ValueError(f"classes must list every class once, got {known.tolist()}.")
    n = len(known)
    place = encode_classes("y", labels, known) * n + encode_classes("predicted", guesses, known)
    weight = None if sample_weight is None else check_weight(sample_weight, len(labels))
    counts = np.bincount(place, weight, minlength=n * n).astype(np.float64)
    return Confusion(known, counts.reshape(n, n))


def encode_classes(name: str, labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Rank of every label, from 0."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    found, inverse = np.unique(labels, return_inverse=True)
    unknown = [label for label in found.tolist() if label not in code_of]
    if unknown:
        raise ValueError(
            f"{name} must hold classes, got {unknown[0]!r}. Classes: {classes.tolist()}."
        )
    return np.array([code_of[label] for label in found.tolist()], dtype=np.int64)[inverse]


def _mean(weight: Float64Array, values: Float64Array) -> float:
    total = weight.sum()
    return float((weight * values).sum() / total) if total > 0 else float("nan")


def _ratio(part: Float64Array, whole: Float64Array) -> Float64Array:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
