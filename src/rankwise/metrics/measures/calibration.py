"""Calibration of probabilities of ordered classes: predicted against observed shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from rankwise.checks.classes import class_positions, order_labels
from rankwise.runtime.messages import check_share, check_whole
from rankwise.typing import Float64Array

_SUM = 1e-6  # tolerance for the sum of the probabilities of a row


@dataclass(frozen=True, eq=False)
class CalibrationLine:
    """Rows binned by the probability of lying above one class; all arrays are (n_bins,)."""

    predicted: Float64Array  # mean probability of each bin, ascending
    observed: Float64Array  # share of the rows of each bin that lie above the class
    low: Float64Array  # with ``high``, exact interval of ``observed``
    high: Float64Array
    counts: Float64Array  # number of rows in each bin

    @property
    def error(self) -> float:
        """Mean distance of ``observed`` from ``predicted``, weighted by rows."""
        distance = np.abs(self.observed - self.predicted)
        return float(np.average(distance, weights=self.counts))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration of ``P(y > c)`` for every class c but the highest.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes in ascending order.
    lines : list of CalibrationLine
        One line for each class but the highest.
    level : float
        Level of the intervals.
    """

    classes: NDArray[Any]
    lines: list[CalibrationLine]
    level: float

    @property
    def error(self) -> float:
        """Mean error of the lines."""
        return float(np.mean([line.error for line in self.lines]))

    def __repr__(self) -> str:
        parts = [
            f"  P(y > {label}): error {line.error:.4f} in {len(line.counts)} bins"
            for label, line in zip(self.classes[:-1].tolist(), self.lines, strict=True)
        ]
        rows = int(self.lines[0].counts.sum())
        return "\n".join([f"Calibration of {rows} rows: mean error {self.error:.4f}", *parts])


def calibration(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    n_bins: int = 10,
    level: float = 0.95,
) -> Calibration:
    """Compare predicted probabilities of ordered classes with observed shares.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    probabilities : array-like of shape (n_samples, n_classes)
        Probabilities of the classes, as from ``predict_proba``; rows sum to 1.
    classes : array-like of shape (n_classes,), optional
        Classes of the columns in rank order, such as an estimator's ``classes_``. None: those of an
        ordered dtype of ``y``, else the sorted labels.
    n_bins : int >= 1, default=10
        Number of bins, with about equally many rows each. Rows with equal probabilities share a
        bin, so there may be fewer.
    level : float in (0, 1), default=0.95
        Level of the intervals.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If shapes do not match, probabilities are negative or do not sum to 1, a text label is not
        one of the classes, or a number is out of range.

    Notes
    -----
    Bins are quantiles of ``P(y > c)``, the sum of the probabilities of all classes above c.
    Intervals of shares are those of Clopper and Pearson [1]_, which hold for any number of rows and
    any share; the rows of a bin may have unequal probabilities, which makes them wider than needed.
    ``error`` is the expected calibration error. O(n_samples log n_samples) for a class.

    References
    ----------
    .. [1] Clopper & Pearson, "The use of confidence or fiducial limits illustrated in the case of
       the binomial", Biometrika 26 (1934).

    Examples
    --------
    >>> import numpy as np
    >>> p = np.repeat([[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]], 4, axis=0)
    >>> found = calibration([0, 0, 1, 2, 1, 2, 2, 2], p)
    >>> found.lines[1].predicted.tolist(), found.lines[1].observed.tolist()
    ([0.25, 0.75], [0.25, 0.75])
    >>> found.error
    0.0
    """
    check_whole("n_bins", n_bins, 1)
    check_share("level", level)
    p = np.asarray(probabilities, dtype=np.float64)
    known = order_labels(y).classes if classes is None else np.asarray(classes)
    n = len(np.asarray(y))
    if p.shape != (n, len(known)) or len(known) < 2 or n == 0:
        raise ValueError(
            f"probabilities must have shape (n_samples, n_classes) = ({n}, {len(known)}), with at "
            f"least one row and two classes, got {p.shape}. Pass classes= if y lacks some."
        )
    if not (p >= -_SUM).all() or not np.allclose(p.sum(axis=1), 1.0, atol=_SUM):
        raise ValueError("probabilities must be at least 0 and sum to 1 in every row.")
    codes = class_positions(np.asarray(y), known, n)
    above = np.cumsum(p[:, ::-1], axis=1)[:, -2::-1]  # column k: P(y > classes[k])
    lines = []
    for k in range(len(known) - 1):
        values, atom, counts = np.unique(above[:, k], return_inverse=True, return_counts=True)
        is_above = np.bincount(atom, codes > k)
        lines.append(calibration_line(values, counts, is_above, n_bins, level))
    return Calibration(known, lines, level)


def calibration_line(
    values: ArrayLike, counts: ArrayLike, above: ArrayLike, n_bins: int, level: float
) -> CalibrationLine:
    """Quantile bins of rows that are grouped into atoms of equal or nearly equal probability.

    All arrays are (n_atoms,): ``values`` is the probability of each atom, ascending, ``counts`` its
    number of rows, and ``above`` how many of them lie above the class. ``level`` is that of the
    interval, in (0, 1).
    """
    rows = np.asarray(counts, dtype=np.float64)
    middle = (np.cumsum(rows) - rows / 2) / rows.sum()
    bins = np.unique(np.floor(middle * n_bins).astype(np.int64), return_inverse=True)[1]
    n = np.bincount(bins, rows)
    predicted = np.bincount(bins, rows * np.asarray(values, dtype=np.float64)) / n
    k = np.bincount(bins, np.asarray(above, dtype=np.float64))
    tail = (1.0 - level) / 2.0
    # Wilson's interval lacks the truth in a tenth of bins of 5 rows with a share of .02.
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1.0 - tail), 1.0)
    return CalibrationLine(predicted, k / n, low, high, n)
