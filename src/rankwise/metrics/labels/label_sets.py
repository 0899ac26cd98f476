"""Measures of predicted sets of labels: Hamming loss, subset accuracy, F1 by row, label or pooled.

They need only the numbers of true, predicted and correctly predicted ones per row or per label.
O(stored ones) for sparse matrices.

References: Schapire & Singer 2000 (Hamming loss); Tsoumakas, Katakis & Vlahavas 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwise.metrics.conventions import EMPTY, Empty, check_choice, value_of_empty
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array, SparseMatrix


@dataclass(frozen=True, eq=False)
class SetCounts:
    """Numbers of ones by row (axis 1) or by label (axis 0).

    They are counted in the labels, in the prediction, and in both at once.
    """

    true: Float64Array
    predicted: Float64Array
    both: Float64Array

    def f1(self, empty: Empty) -> Float64Array:
        """2 both / (true + predicted); ``empty`` if there are no ones at all."""
        ones = self.true + self.predicted
        return np.where(ones > 0, 2 * self.both / np.maximum(ones, 1), value_of_empty(empty))


class SetMeasure(Measure):
    """Base class of measures that compare predicted with true ones."""

    reads_labels: ClassVar[bool] = True

    def by_row(self, rows: SetCounts, n_labels: int) -> Float64Array | None:
        """One value per row; None if the measure has no values per row."""
        raise NotImplementedError(f"{type(self).__name__} must define by_row.")

    def of_labels(self, labels: SetCounts) -> float:
        """Value of a measure without values per row."""
        raise NotImplementedError(f"{type(self).__name__} must define of_labels.")


@dataclass(frozen=True)
class Hamming(SetMeasure):
    """Hamming loss: share of 0/1 labels that are predicted incorrectly; smaller is better."""

    name: ClassVar[str] = "Hamming"
    greater_is_better: ClassVar[bool] = False

    def by_row(self, rows: SetCounts, n_labels: int) -> Float64Array:
        """One value per row."""
        return (rows.true + rows.predicted - 2 * rows.both) / n_labels


@dataclass(frozen=True)
class SubsetAccuracy(SetMeasure):
    """Share of the rows whose labels are all predicted correctly."""

    name: ClassVar[str] = "SubsetAccuracy"

    def by_row(self, rows: SetCounts, n_labels: int) -> Float64Array:
        """One value per row."""
        right = (rows.both == rows.true) & (rows.both == rows.predicted)
        return right.astype(np.float64)


@dataclass(frozen=True)
class F1(SetMeasure):
    """Mean over rows of F1, the harmonic mean of precision and recall of the row's labels."""

    name: ClassVar[str] = "F1"
    empty: Empty = 0  # value of a row without true or predicted labels

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)

    def by_row(self, rows: SetCounts, n_labels: int) -> Float64Array | None:
        """One value per row."""
        return rows.f1(self.empty)


@dataclass(frozen=True)
class MacroF1(F1):
    """Mean over labels of the F1 of each label over all rows.

    ``empty`` is the value of a label that no row has and that is never predicted.
    """

    name: ClassVar[str] = "MacroF1"

    def by_row(self, rows: SetCounts, n_labels: int) -> None:
        """None: rows have no values."""

    def of_labels(self, labels: SetCounts) -> float:
        """Mean over the labels that count."""
        return self.aggregate(labels.f1(self.empty))


@dataclass(frozen=True)
class MicroF1(MacroF1):
    """F1 pooled over all rows and labels.

    ``empty`` is the value if there are no true or predicted labels.
    """

    name: ClassVar[str] = "MicroF1"

    def of_labels(self, labels: SetCounts) -> float:
        """F1 of the pooled counts."""
        pooled = (
            np.atleast_1d(counts.sum()) for counts in (labels.true, labels.predicted, labels.both)
        )
        return float(SetCounts(*pooled).f1(self.empty)[0])


def count_ones(truth: SparseMatrix, predicted: SparseMatrix, axis: int) -> SetCounts:
    """Counts by label (axis 0) or row (axis 1) of two CSR matrices that store only ones."""

    def ones(matrix: Any) -> Float64Array:
        return np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel()

    return SetCounts(ones(truth), ones(predicted), ones(truth.multiply(predicted)))
