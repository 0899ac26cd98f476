"""Predicted classes against true ones: confusion, kappa with an interval, cost, calibration.

The interval of a weighted kappa is for rows that are independent or come in clusters:
kappa = 1 − A / B with the mean distance A = Σ d_ij p_ij of label and prediction and that of chance
B = Σ d_ij p_i. p_.j. A row of classes (i, j) moves it by

    −(d_ij − A) / B + A (Σ_l d_il p_.l + Σ_l d_lj p_l. − 2 B) / B²,

whose variance over rows is that of Fleiss, Cohen and Everitt [1]_. Sums over clusters replace rows
that are not independent, such as the documents of a query. The interval is symmetric in
atanh(kappa), with Student's t: near 1, kappa itself is skewed. If few rows or clusters decide, the
spread of their terms shows few degrees of freedom.

References
----------
.. [1] Fleiss, Cohen and Everitt 1969, Large sample standard errors of kappa and weighted kappa.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import column_or_1d

from rankwise.checks.classes import class_positions, order_labels, ordinal_labels
from rankwise.checks.cost_tables import class_numbers, cost_table
from rankwise.checks.rows import check_weight
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import check_choice
from rankwise.metrics.measures.rank_errors import WEIGHTS
from rankwise.metrics.statistics.stratified import FEW, spread_freedom
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import convert_to_values
from rankwise.runtime.messages import check_share, check_whole
from rankwise.runtime.result import Result, columns_of
from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.typing import Float64Array, Int64Array

_SUM = 1e-6  # tolerance for the sum of the probabilities of a row
# Degrees of freedom below which a note doubts the interval.
_FEWEST = 8.0


@dataclass(frozen=True, eq=False)
class Confusion(Result):
    """Counts of rows by label and predicted class, with classes in rank order.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes in rank order. Distances are differences of ranks, even if classes are numbers.
    counts : ndarray of shape (n_classes, n_classes), float64
        ``counts[i, j]``: number (or weight) of rows of class i predicted as class j.
    """

    _derived = ("mae", "macro_mae", "accuracy")

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

    def kappa(self, weights: Literal["linear", "quadratic", "none"] = "linear") -> float:
        """Weighted kappa; NaN if all rows have the same label.

        Parameters
        ----------
        weights : {"linear", "quadratic", "none"}
        """
        check_choice("kappa", "weights", weights, WEIGHTS)
        if np.count_nonzero(self.support) < 2:
            return float("nan")
        distance = _distances(len(self.classes), weights)
        chance = np.outer(self.support, self.counts.sum(axis=0))
        return 1.0 - _mean(self.counts, distance) / _mean(chance, distance)

    @property
    def _distances(self) -> Float64Array:
        return _distances(len(self.classes), "linear")

    def _columns(self) -> dict[str, Any]:
        predicted = (f"predicted {label}" for label in self.classes.tolist())
        counts = dict(zip(predicted, self.counts.T, strict=True))
        of_classes = {"rows": self.support, "recall": self.recall, "mae": self.class_mae}
        return {"label": self.classes, **counts, **of_classes}

    def _heading(self) -> str:
        return (
            f"Confusion of {self.support.sum():g} rows: "
            f"MAE {self.mae:.4f}, accuracy {self.accuracy:.4f}"
        )


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


@dataclass(frozen=True, eq=False)
class KappaInterval(Result):
    """Agreement of two judges, corrected for chance (Cohen's kappa).

    Attributes
    ----------
    kappa, low, high : float
        Weighted kappa and its interval; NaN if all labels are equal.
    standard_error : float
    n_rows, n_clusters : int
    confusion : Confusion
        Counts of rows by the classes of both judges, in rank order.
    notes : tuple of str
        Reasons why the interval cannot be relied on: few rows or clusters decide.
    """

    kappa: float
    low: float
    high: float
    standard_error: float
    n_rows: int
    n_clusters: int
    confusion: Confusion
    notes: tuple[str, ...] = ()


@names_its_class
def kappa_interval(
    y: ArrayLike,
    predicted: ArrayLike,
    *,
    weights: Literal["linear", "quadratic", "none"] = "quadratic",
    qid: ArrayLike | QueryGroups | None = None,
    classes: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> KappaInterval:
    """Weighted kappa of two judges with an interval.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        Classes by the two judges, for example people and a machine: numbers, strings, or an
        ordered categorical dtype.
    weights : {"linear", "quadratic", "none"}
        Distance of two classes: ``|i - j|`` of their ranks, its square, or 1 if they differ.
    qid : array-like of shape (n_samples,) or QueryGroups, optional
        Cluster of every row, such as its query; None: rows are independent.
    classes : array-like of shape (n_classes,), optional
        All classes in rank order; see :func:`confusion`.
    confidence_level : float in (0, 1)

    Returns
    -------
    KappaInterval

    Raises
    ------
    ValueError
        As :func:`confusion`, or if there are fewer than two clusters.

    Notes
    -----
    O(n log n). If all rows agree, the standard error is 0 and says nothing: the lower end is then
    that of a disagreement by one rank in a share ``1 - ((1 - confidence_level) / 2) ** (1 / n)`` of
    the rows, which n clusters without any disagreement do not exclude.

    Examples
    --------
    >>> found = kappa_interval([0, 0, 1, 1, 2, 2, 2, 0], [0, 1, 1, 1, 2, 2, 1, 0])
    >>> round(found.kappa, 3), round(found.low, 3), round(found.high, 3)
    (0.8, 0.125, 0.969)
    """
    check_share("confidence_level", confidence_level)
    found = confusion(y, predicted, classes)
    kappa, n_rows = found.kappa(weights), int(found.counts.sum())
    groups = None if qid is None else QueryGroups.from_qid(qid, n_rows)
    n_clusters = n_rows if groups is None else groups.n_queries
    if n_clusters < 2:
        raise ValueError(
            f"an interval needs at least 2 {'rows' if groups is None else 'clusters'}, got "
            f"{n_clusters}. Pass more, or qid=None if rows are independent."
        )
    if math.isnan(kappa):
        return KappaInterval(kappa, kappa, kappa, kappa, n_rows, n_clusters, found)
    codes = [
        encode_classes(name, convert_to_values(judge), found.classes)
        for name, judge in (("y", y), ("predicted", predicted))
    ]
    shares, distance = found.counts / n_rows, _distances(len(found.classes), weights)
    of_labels, of_predicted = shares.sum(axis=1), shares.sum(axis=0)
    apart = float((distance * shares).sum())
    chance = float(of_labels @ distance @ of_predicted)
    moved = (distance @ of_predicted)[:, None] + (of_labels @ distance)[None, :]
    # Influence of one row on kappa, by its two classes
    influences = -(distance - apart) / chance + apart * (moved - 2 * chance) / chance**2
    influence = influences[codes[0], codes[1]]
    sums = influence if groups is None else np.bincount(groups.codes(), influence)
    error = math.sqrt(float((sums**2).sum()) * n_clusters / (n_clusters - 1)) / n_rows
    freedom = spread_freedom(sums)
    quantile = float(stdtrit(freedom, 0.5 + confidence_level / 2))
    notes = ()
    if freedom < max(FEW * n_clusters, _FEWEST):
        unit = "rows" if groups is None else "clusters"
        notes = (
            f"few {unit} decide (they count as {freedom + 1:.1f} of {n_clusters}); the interval "
            "cannot be relied on",
        )
    if kappa == 1:
        share = 1 - ((1 - confidence_level) / 2) ** (1 / n_clusters)
        low, high = max(1 - share / chance, -1.0), 1.0
    elif kappa <= -1:
        low, high = kappa - quantile * error, kappa + quantile * error
    else:
        half = quantile * error / (1 - kappa**2)
        low, high = (math.tanh(math.atanh(kappa) + side * half) for side in (-1, 1))
    return KappaInterval(kappa, low, high, error, n_rows, n_clusters, found, notes)


def _distances(n_classes: int, weights: str) -> Float64Array:
    ranks = np.arange(n_classes, dtype=np.float64)
    distance = np.abs(ranks[:, None] - ranks)
    return {"linear": distance, "quadratic": distance**2, "none": np.sign(distance)}[weights]


def mean_cost(
    y: ArrayLike,
    predicted: ArrayLike,
    costs: Any = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of the predicted classes over the rows; smaller is better.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    predicted : array-like of shape (n_samples,)
        Predicted classes.
    costs : array-like, ClassCosts, RowCosts or None
        Costs by row, of shape (n_samples, n_classes), or by true and predicted class, of shape
        (n_classes, n_classes). If there are as many rows as classes, pass
        :class:`rankwise.labels.RowCosts` or :class:`rankwise.labels.ClassCosts`. None: 1 for every
        wrong class.
    classes : array-like of shape (n_classes,), optional
        Classes of the columns, such as an estimator's ``classes_``; classes named by the costs take
        precedence. None: the sorted labels and predicted classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weight >= 0 of every row; a row of weight w counts as w rows.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If shapes do not match, a predicted class is not one of the classes, or costs are by class
        and a true class is not one of them.

    Examples
    --------
    >>> from rankwise.metrics import mean_cost
    >>> mean_cost(["a", "b", "b"], ["a", "a", "b"], [[0, 1], [5, 0]])
    1.6666666666666667
    """
    labels, guesses = column_or_1d(np.asarray(y)), column_or_1d(np.asarray(predicted))
    if len(labels) != len(guesses):
        raise ValueError(
            f"y must have n_samples={len(guesses)} entries, got {len(labels)} (inconsistent "
            "numbers of samples). Pass one label per row."
        )
    weight = None if sample_weight is None else check_weight(sample_weight, len(labels))
    if costs is None:
        return float(np.average(labels != guesses, weights=weight))
    named = getattr(costs, "classes", None)
    given = named if named is not None else classes
    known = np.unique(np.concatenate([labels, guesses])) if given is None else np.asarray(given)
    table = cost_table(costs, class_numbers(labels, known), known)
    place = class_numbers(guesses, known)
    if (place < 0).any():
        raise ValueError(
            f"predicted must hold classes of the costs, got {guesses[place < 0].tolist()[0]!r}. "
            f"Classes: {known.tolist()}."
        )
    return float(np.average(table.by_row[np.arange(len(place)), place], weights=weight))


class CostScorer(BaseEstimator):
    """Scorer of the negated mean cost; it requests the ``costs``."""

    # scikit-learn derives the requests from the signature of a method called score.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"costs": True, "estimator": UNUSED}

    def score(self, estimator: Any, X: Any, y: ArrayLike, *, costs: Any = None) -> float:
        """Negated mean cost of the estimator's predictions."""
        classes = getattr(estimator, "classes_", None)
        return -mean_cost(y, estimator.predict(X), costs, classes=classes)

    __call__ = score


def make_cost_scorer() -> CostScorer:
    """Make a scorer for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, costs=costs)`` returns the negated :func:`mean_cost` of any
        classifier. The scorer requests ``costs``: with scikit-learn's metadata routing enabled, it
        receives the ``costs`` passed to ``fit`` of a search; costs by row are sliced like X.
        Without costs, every wrong class costs 1.

    Examples
    --------
    >>> make_cost_scorer()
    CostScorer()
    """
    return CostScorer()


@dataclass(frozen=True, eq=False)
class CalibrationLine(Result):
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
class Calibration(Result):
    """Calibration of ``P(y > c)`` for every class c but the highest.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes in ascending order.
    lines : list of CalibrationLine
        One line for each class but the highest.
    confidence_level : float
        Level of the intervals.
    """

    _drawn = "observed"
    _derived = ("error",)

    classes: NDArray[Any]
    lines: list[CalibrationLine]
    confidence_level: float

    @property
    def error(self) -> float:
        """Mean error of the lines."""
        return float(np.mean([line.error for line in self.lines]))

    def _columns(self) -> dict[str, Any]:
        above = np.repeat(self.classes[:-1], [len(line.counts) for line in self.lines])
        bins = columns_of(self.lines, CalibrationLine).items()
        return {"above": above} | {name: np.concatenate(parts) for name, parts in bins}

    def _heading(self) -> str:
        rows = int(self.lines[0].counts.sum())
        return f"Calibration of {rows} rows: mean error {self.error:.4f}"

    def __str__(self) -> str:
        parts = [
            f"  P(y > {label}): error {line.error:.4f} in {len(line.counts)} bins"
            for label, line in zip(self.classes[:-1].tolist(), self.lines, strict=True)
        ]
        return "\n".join([self._heading(), *parts])


@names_its_class
def calibration(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    n_bins: int = 10,
    confidence_level: float = 0.95,
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
    confidence_level : float in (0, 1), default=0.95
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
    check_share("confidence_level", confidence_level)
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
        lines.append(calibration_line(values, counts, is_above, n_bins, confidence_level))
    return Calibration(known, lines, confidence_level)


def calibration_line(
    values: ArrayLike, counts: ArrayLike, above: ArrayLike, n_bins: int, confidence_level: float
) -> CalibrationLine:
    """Quantile bins of rows that are grouped into atoms of equal or nearly equal probability.

    All arrays are (n_atoms,): ``values`` is the probability of each atom, ascending, ``counts`` its
    number of rows, and ``above`` how many of them lie above the class. ``confidence_level`` is in
    (0, 1).
    """
    rows = np.asarray(counts, dtype=np.float64)
    bins = quantile_bins(rows, n_bins)
    n = np.bincount(bins, rows)
    predicted = np.bincount(bins, rows * np.asarray(values, dtype=np.float64)) / n
    k = np.bincount(bins, np.asarray(above, dtype=np.float64))
    tail = (1.0 - confidence_level) / 2.0
    # Wilson's interval lacks the truth in a tenth of bins of 5 rows with a share of .02.
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1.0 - tail), 1.0)
    return CalibrationLine(predicted, k / n, low, high, n)


def quantile_bins(counts: ArrayLike, n_bins: int) -> Int64Array:
    """Bin of each atom, with about equally many rows in each bin; no bin is empty."""
    rows = np.asarray(counts, dtype=np.float64)
    middle = (np.cumsum(rows) - rows / 2) / rows.sum()
    return np.unique(np.floor(middle * n_bins).astype(np.int64), return_inverse=True)[1]
