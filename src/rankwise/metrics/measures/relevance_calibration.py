"""Probabilities of relevance against judgements: log loss, Brier score, calibration error.

The calibration error is the mean distance of the predicted probability from the observed share of
relevant rows, over bins of rows (expected calibration error, ECE). Noise makes it positive even if
the probabilities are true. Let d be the differences of the bins, weighted by their rows. Their
errors e have the covariance of sums over queries. The plain estimate is ``|d|_1``. The corrected
one is the t for which ``|t u + e|_1`` exceeds ``|d|_1`` in half of the draws of e, in the direction
``u = d / |d|_1``, or 0 if there is no such t. The lower end of the interval is the t for which it
does so in (1 - level) / 2 of the draws. At the upper end, the direction may be that of noise, so
the corrected estimate plus a quantile of ``|e|_1`` is used (triangle inequality). Draws are normal,
divided by the root of a chi-square with one degree of freedom per query but one. A bin has at least
the variance of a binomial share, also if none of its rows is relevant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root_scalar

from rankwise.checks.rows import check_target
from rankwise.groups import QueryGroups
from rankwise.metrics.measures.confusion_matrix import (
    CalibrationLine,
    calibration_line,
    quantile_bins,
)
from rankwise.metrics.statistics.stratified import (
    check_level,
    correct_ends,
    stratified_means,
    t_quantile,
)
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import ArgumentError, check_whole
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array, Seed

_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class RelevanceCalibration(Result):
    """How far predicted probabilities of relevance can be believed.

    Attributes
    ----------
    line : CalibrationLine
        Mean probability and share of relevant rows by bin, with exact intervals of the shares that
        take rows as independent.
    error : float
        Expected calibration error without what noise adds; 0 if noise alone explains it. With few
        queries, small errors come out too small: see ``error_interval``.
    error_interval : tuple of (float, float)
    binned_error : float
        The same with what noise adds, as other libraries give it: too large for few rows.
    log_loss, log_loss_interval : float, tuple of (float, float)
        Mean of ``-ln p`` of relevant and ``-ln (1 - p)`` of other rows.
    brier, brier_interval : float, tuple of (float, float)
        Mean squared difference of probability and relevance.
    base_rate : float
        Share of relevant rows.
    base_log_loss : float
        Log loss of ``base_rate`` as the probability of every row: without ranker.
    n_rows, n_queries : int
    confidence_level : float
    """

    _drawn = "observed"

    line: CalibrationLine
    error: float
    error_interval: tuple[float, float]
    binned_error: float
    log_loss: float
    log_loss_interval: tuple[float, float]
    brier: float
    brier_interval: tuple[float, float]
    base_rate: float
    base_log_loss: float
    n_rows: int
    n_queries: int
    confidence_level: float

    def _columns(self) -> dict[str, Any]:
        return dict(vars(self.line))

    def _heading(self) -> str:
        return (
            f"Probabilities of {self.n_rows} rows of {self.n_queries} queries, "
            f"{self.base_rate:.3f} of them relevant"
        )

    def __str__(self) -> str:
        level = f"{100 * self.confidence_level:g} % interval"
        rows = [
            ("calibration error", self.error, self.error_interval),
            ("log loss", self.log_loss, self.log_loss_interval),
            ("Brier score", self.brier, self.brier_interval),
        ]
        lines = [f"  {name:<19}{x:.4f}, {level} [{a:.4f}, {b:.4f}]" for name, x, (a, b) in rows]
        share, loss = self.base_rate, self.base_log_loss
        lines.append(f"  without scores, p = {share:.3f} for all rows: log loss {loss:.4f}")
        return "\n".join([self._heading(), *lines])


@names_its_class
def relevance_calibration(
    y: ArrayLike,
    probabilities: ArrayLike,
    qid: ArrayLike | QueryGroups | None = None,
    *,
    rel: float = 1.0,
    n_bins: int = 10,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> RelevanceCalibration:
    """Compare predicted probabilities of relevance with judgements.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Grades, of rows that neither the ranker nor its calibration was trained on.
    probabilities : array-like of shape (n_samples,)
        Probabilities of relevance in [0, 1], such as from
        :meth:`rankwise.CalibratedRanker.predict_relevance`.
    qid : array-like of shape (n_samples,), optional
        Query of each row. None: rows are independent, which makes intervals too short for documents
        of the same queries.
    rel : float, default=1
        Lowest relevant grade.
    n_bins : int >= 1, default=10
        Number of bins with about equally many rows each. Rows with equal probabilities share a bin.
    confidence_level : float in (0, 1), default=0.95
    random_state : int, RandomState, Generator or None, default=0
        Seed for the draws of the interval of the calibration error.

    Returns
    -------
    RelevanceCalibration

    Raises
    ------
    ValueError
        If lengths differ, there are no rows, a grade is missing or infinite, or a probability is
        outside [0, 1].

    See Also
    --------
    rankwise.report.plot_calibration : reliability plot of the result.
    calibration : probabilities of ordered classes.

    Notes
    -----
    Intervals are over queries: Student's t of the ratio of sums over queries for log loss and Brier
    score, wider at the end of a long tail, and inverted draws for the calibration error. ``python
    -m benchmarks.study_calibration`` measures how often they contain the truth: with 8 queries,
    those of the log loss are too short. On average, small errors come out too small there: .013
    instead of .017 with 60 queries. The log loss is infinite if a probability of 0 or 1 is wrong.
    O(n log n) for n rows.

    References
    ----------
    .. [1] Naeini, Cooper & Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
       binning", AAAI 2015.
    .. [2] Kumar, Liang & Ma, "Verified uncertainty calibration", NeurIPS 2019 (the bias of binned
       errors).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> found = relevance_calibration(rng.random(4000) < p, p, qid=np.arange(4000) // 20)
    >>> found.error < 0.01 < found.binned_error
    True
    """
    check_whole("n_bins", n_bins, 1)
    check_level(confidence_level)
    p = np.asarray(probabilities, dtype=np.float64)
    grades = check_target(y)
    if p.ndim != 1 or p.shape != grades.shape or not len(p):
        raise ArgumentError(
            "probabilities",
            f"must have shape (n_samples,) = ({len(grades)},) with at least one row, got "
            f"{p.shape}.",
        )
    if not ((p >= 0) & (p <= 1)).all():
        row = int(np.argmin((p >= 0) & (p <= 1)))
        raise ArgumentError(
            "probabilities",
            f"must lie in [0, 1], got {p[row]} at row {row}. Scores are not probabilities: see "
            "rankwise.CalibratedRanker.",
        )
    groups = QueryGroups.from_qid(np.arange(len(p)) if qid is None else qid, len(p))
    query, relevant = groups.codes(), (grades >= rel).astype(np.float64)
    with np.errstate(divide="ignore"):
        log_loss = -np.log(np.where(relevant > 0, p, 1.0 - p))
    share = float(relevant.mean())
    values, atom, counts = np.unique(p, return_inverse=True, return_counts=True)
    bins = quantile_bins(counts, n_bins)[atom]
    line = calibration_line(values, counts, np.bincount(atom, relevant), n_bins, confidence_level)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    error, ends, binned = _calibration_error(
        relevant - p, relevant, query, bins, confidence_level, rng
    )
    means = {}
    for name, loss, most in (("log_loss", log_loss, np.inf), ("brier", (relevant - p) ** 2, 1.0)):
        mean, interval = float(loss.mean()), (np.nan, np.nan)
        if groups.n_queries > 1 and np.isfinite(mean):
            sums = np.bincount(query, loss) - mean * groups.sizes
            of_queries = mean + sums * groups.n_queries / len(p)
            spread = stratified_means(of_queries[:, None])
            critical = t_quantile(spread.freedom, confidence_level)
            reach = np.ravel(correct_ends(critical, spread.skewness)) * spread.error[0]
            interval = (max(mean - float(reach[1]), 0.0), min(mean - float(reach[0]), most))
        means[name], means[f"{name}_interval"] = mean, interval
    return RelevanceCalibration(
        line=line,
        error=error,
        error_interval=ends,
        binned_error=binned,
        base_rate=share,
        base_log_loss=float(-sum(q * np.log(q) for q in (share, 1.0 - share) if q > 0)),
        n_rows=len(p),
        n_queries=groups.n_queries,
        confidence_level=confidence_level,
        **means,
    )


def _calibration_error(
    residuals: Float64Array,
    relevant: Float64Array,
    query: Int64Array,
    bins: Int64Array,
    level: float,
    rng: np.random.Generator,
) -> tuple[float, tuple[float, float], float]:
    """Corrected error, its interval (NaN for one query), and the plain error."""
    n_rows, n_queries, n_bins = len(query), int(query.max()) + 1, int(bins.max()) + 1
    cells = query * n_bins + bins
    sums = np.bincount(cells, residuals, n_queries * n_bins).reshape(n_queries, n_bins)
    d = sums.sum(axis=0) / n_rows
    plain = float(np.abs(d).sum())
    if n_queries < 2:
        return plain, (np.nan, np.nan), plain
    moved = n_queries / n_rows * (sums - np.bincount(query)[:, None] * d)
    covariance = moved.T @ moved / (n_queries * (n_queries - 1))
    # Residuals of a bin without relevant rows hardly vary, though one would change much.
    k, n = np.bincount(bins, relevant), np.bincount(bins)
    rate = (k + 0.5) / (n + 1)
    least = n * rate * (1.0 - rate) / n_rows**2
    covariance[np.diag_indices(n_bins)] = np.maximum(np.diag(covariance), least)
    spread, axes = np.linalg.eigh(covariance)
    draws = rng.standard_normal((_DRAWS, n_bins)) * np.sqrt(np.maximum(spread, 0.0)) @ axes.T
    draws *= np.sqrt((n_queries - 1) / rng.chisquare(n_queries - 1, _DRAWS))[:, None]
    direction = d / plain if plain else d
    noise = np.abs(draws).sum(axis=1)
    most = plain + float(noise.max())  # the norm of no draw is below ``plain`` at this error

    def error_at(quantile: float) -> float:
        """The error t of which ``plain`` is this quantile; 0 if it is below that of no error."""

        def excess(t: float) -> float:
            return np.quantile(np.abs(t * direction + draws).sum(axis=1), quantile) - plain

        return root_scalar(excess, bracket=(0.0, most)).root if excess(0.0) < 0.0 else 0.0

    tail = (1.0 - level) / 2.0
    middle = error_at(0.5)
    reach = float(np.quantile(noise, 1.0 - tail))
    return middle, (error_at(1.0 - tail), min(middle + reach, 1.0)), plain
