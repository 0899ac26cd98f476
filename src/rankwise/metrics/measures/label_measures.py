"""Measures of labels: of predicted sets, of rankings, and with propensities.

Measures of predicted sets (Hamming loss, subset accuracy, F1 by row, label or pooled) need only the
numbers of true, predicted and correctly predicted ones per row or per label. O(stored ones) for
sparse matrices. Schapire & Singer 2000 (Hamming loss); Tsoumakas, Katakis & Vlahavas 2010.

In measures of a ranking of labels, a query is a row of a label matrix, and the rows of the query
are the labels, as :func:`rankwise.metrics.evaluate_labels` builds them. Other queries with relevant
rows work as well. R of the K labels are relevant. c_j is the number of labels whose score is at
least that of label j (ties count against it); r_j is the number of relevant labels among them:

- LRAP: mean over relevant j of r_j / c_j;
- ranking loss: sum over relevant j of c_j - r_j, over R (K - R);
- coverage: the largest c_j, the depth to which the ranking must be read to find all;
- one-error: whether the first label is not relevant; the share of labels tied for the first rank.

O(K R) per row; one-error O(K). Schapire & Singer 2000. Coverage counts from 1 as in scikit-learn;
the paper counts from 0.

A true label of a row is recorded in the data only with probability p_l, its propensity, which is
lower for rare labels [1]_. With N rows and N_l rows of label l,

    p_l = 1 / (1 + C exp(-A log(N_l + B))),   C = (log N - 1) (B + 1)^A,

and ``PSP@k = 1/k sum over the first k labels of y_l / p_l`` is an unbiased estimate of P@k on the
complete labels. It can exceed 1, so it is divided by the value of the best ranking, both summed
over all rows, as in the programs of the extreme classification repository.

References
----------
.. [1] Jain, Prabhu & Varma, "Extreme multi-label loss functions for recommendation, tagging,
   ranking and other missing label applications", KDD 2016, equation 3 and section 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwise.checks.label_data import check_indicator
from rankwise.kernels.topk import relevant_ranks
from rankwise.metrics.measure import (
    EMPTY,
    TIES,
    BinaryMeasure,
    Empty,
    Measure,
    QueryMeasure,
    check_choice,
    check_cutoff,
    value_of_empty,
)
from rankwise.metrics.scored import ScoredGroups
from rankwise.runtime.renames import NamesOldAttributes
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
        return (rows.true + rows.predicted - 2 * rows.both) / n_labels


@dataclass(frozen=True)
class SubsetAccuracy(SetMeasure):
    """Share of the rows whose labels are all predicted correctly."""

    name: ClassVar[str] = "SubsetAccuracy"

    def by_row(self, rows: SetCounts, n_labels: int) -> Float64Array:
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


class RelevantRanks(QueryMeasure):
    """Base class of measures that read the ranks of all relevant labels."""

    rel: float

    @property
    def nanoseconds_per_row(self) -> float:
        """Approximate time for a few relevant labels per row."""
        return 10.0

    def ranks(self, scored: ScoredGroups) -> Float64Array:
        """R, sum of r / c, largest c and sum of c - r of each query, shape (n_queries, 4)."""
        out = np.empty((scored.n_queries, 4))
        data = scored.y, scored.scores, scored.indptr
        scored.run(relevant_ranks, *data, float(self.rel), out, cost=scored.squares)
        return out


@dataclass(frozen=True)
class LRAP(RelevantRanks):
    """Label ranking average precision, in [0, 1].

    Examples
    --------
    >>> from rankwise.metrics import evaluate_labels
    >>> evaluate_labels([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]], "LRAP")["LRAP"]
    0.41666666666666663
    """

    name: ClassVar[str] = "LRAP"
    rel: float = 1  # labels of at least this grade are relevant
    empty: Empty = 1  # value of a row without relevant labels, or without irrelevant ones

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        ranks = self.ranks(scored)
        n = ranks[:, 0]
        return self.fill_empty(ranks[:, 1] / np.maximum(n, 1), (n > 0) & (n < scored.sizes))


@dataclass(frozen=True)
class RankingLoss(RelevantRanks):
    """Share of misordered pairs of a relevant and an irrelevant label; smaller is better.

    Pairs with equal scores count as misordered.
    """

    name: ClassVar[str] = "RankingLoss"
    greater_is_better: ClassVar[bool] = False
    rel: float = 1
    empty: Empty = 0  # value of a row without relevant labels, or without irrelevant ones

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        ranks = self.ranks(scored)
        pairs = ranks[:, 0] * (scored.sizes - ranks[:, 0])
        return self.fill_empty(ranks[:, 3] / np.maximum(pairs, 1), pairs > 0)


@dataclass(frozen=True)
class Coverage(RelevantRanks):
    """Rank of the last relevant label, from 1; smaller is better."""

    name: ClassVar[str] = "Coverage"
    greater_is_better: ClassVar[bool] = False
    rel: float = 1
    empty: Empty = 0  # value of a row without relevant labels

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        ranks = self.ranks(scored)
        return self.fill_empty(ranks[:, 2], ranks[:, 0] > 0)


@dataclass(frozen=True)
class OneError(BinaryMeasure):
    """Whether the label with the largest score is irrelevant; smaller is better."""

    name: ClassVar[str] = "OneError"
    greater_is_better: ClassVar[bool] = False
    cutoff = None
    rel: float = 1
    empty: Empty = 1  # value of a row without relevant labels
    ties: str = "mean"

    def prepare(self, scored: ScoredGroups) -> None:
        """Announce that only the first rank will be read."""
        scored.need(self.ties, 1)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        sums = scored.relevance(self.ties, self.rel, 1)
        return self.fill_empty(1.0 - sums[:, 4], sums[:, 0])


def label_propensities(Y: Any, A: float = 0.55, B: float = 1.5) -> Float64Array:
    """Propensity of every label from the labels of the training rows.

    Parameters
    ----------
    Y : 0/1 array-like or sparse matrix of shape (n_samples, n_labels)
        Labels of the training part.
    A, B : float > 0
        Parameters of the formula. The defaults are the paper's general values; it uses 0.5 and 0.4
        for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (n_labels,), float64
        Propensities in (0, 1].

    Raises
    ------
    ValueError
        If Y is not 0/1, Y has fewer than three rows (log N must exceed 1), or A or B is not
        positive.

    Notes
    -----
    O(stored ones).

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.zeros((100, 3), dtype=int)
    >>> Y[:50, 0] = Y[:5, 1] = 1
    >>> label_propensities(Y).round(3)
    array([0.594, 0.319, 0.173])
    """
    for name, value in (("A", A), ("B", B)):
        if not (isinstance(value, int | float | np.number) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a number > 0, got {value!r}.")
    n_samples = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    ones = check_indicator(Y, n_samples)
    if n_samples < 3:
        raise ValueError(f"Y must have at least 3 rows for log N > 1, got {n_samples}.")
    counts = np.asarray(ones.sum(axis=0), dtype=np.float64).ravel()
    C = (math.log(n_samples) - 1) * (B + 1) ** A
    return 1 / (1 + C * (counts + B) ** -A)


@dataclass(frozen=True)
class PropensityPrecision(NamesOldAttributes, Measure):
    """Propensity-scored precision among the first k labels; true labels have the value 1 / p."""

    name: ClassVar[str] = "PSP"
    reads_from_top: ClassVar[bool] = True

    # Divide the mean by that of the best ranking; values per row are not divided
    normalized: bool = True
    ties: str = "mean"
    cutoff: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.normalized, bool):
            raise ValueError(f"PSP: normalized must be True or False, got {self.normalized!r}.")
        check_choice(self.name, "ties", self.ties, TIES)
        check_cutoff(self.name, self.cutoff)

    def prepare(self, scored: ScoredGroups) -> None:
        scored.need(self.ties, self.cutoff)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        ones = np.ones(self.cutoff)
        return scored.sum_ranked(scored.y, self.ties, ones, self.cutoff) / self.cutoff
