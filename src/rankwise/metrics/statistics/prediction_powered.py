"""Means from few human and many machine values: prediction-powered inference with a tuned weight.

For n queries with a human value y and a machine value f, and N further queries with a machine value
only,

    mean = ȳ + w (f̄_N − f̄_n),    w = Cov(y, f) / ((1 + n / N) Var(f)), cut to [0, 1],

which is unbiased in large samples for any machine: w = 0 is the human mean, w = 1 the mean of the
machine corrected by its mean error. The interval is Student's t. It differs from [1]_, whose normal
interval covers too seldom for few queries: the residuals y − w f have n − 2 degrees of freedom, and
the error of the estimated w adds (f̄_all − f̄_n)² / Σ (f − f̄_n)² to 1 / n, as in double sampling
with regression [2]_.

References
----------
.. [1] Angelopoulos, Duchi and Zrnic 2023, PPI++: efficient prediction-powered inference.
.. [2] Cochran 1977, Sampling techniques, 3rd edition, section 12.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from rankwise.typing import ArrayLike, Float64Array


@dataclass(frozen=True)
class PoweredMean:
    """Mean over queries, estimated from human and machine values.

    Attributes
    ----------
    mean, low, high : float
        Prediction-powered estimate and its interval.
    human_mean, human_low, human_high : float
        Mean of the human values alone, with Student's t interval.
    machine_mean : float
        Mean of all machine values, which may be wrong by any amount.
    bias, bias_low, bias_high, bias_p : float
        Mean of machine less human value, with Student's t interval and p-value. For values that are
        differences of two systems: whether the machine favours one of them.
    correlation : float
        Pearson's r of human and machine values; NaN if either is constant.
    weight : float
        Weight w of the machine.
    n_human, n_machine : int
        Numbers n of queries with both values, and N of queries with a machine value only.
    """

    mean: float
    low: float
    high: float
    human_mean: float
    human_low: float
    human_high: float
    machine_mean: float
    bias: float
    bias_low: float
    bias_high: float
    bias_p: float
    correlation: float
    weight: float
    n_human: int
    n_machine: int

    @property
    def saving(self) -> float:
        """Width of the interval as a share of that of the human values alone, from 1: 0 is none."""
        width = self.human_high - self.human_low
        return 1.0 - (self.high - self.low) / width if width > 0 else 0.0


def prediction_powered_mean(
    human: ArrayLike,
    machine: ArrayLike,
    machine_only: ArrayLike,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
) -> PoweredMean:
    """Estimate a mean over queries from few human and many machine values.

    Parameters
    ----------
    human, machine : array-like of shape (n,)
        Values of the same queries, by human and by machine labels; n >= 3. For a difference between
        two systems, pass the differences per query.
    machine_only : array-like of shape (N,)
        Values by machine labels of further queries of the same population. The queries with human
        labels must be a random sample of all.
    weight : float from 0 to 1, optional
        Weight of the machine; None: the one that minimises the estimated variance.
    confidence : float in (0, 1)
        Level of all intervals.

    Returns
    -------
    PoweredMean

    Raises
    ------
    ValueError
        If lengths differ, there are fewer than three human values, or a value is not finite. A
        query that does not count (NaN) has no value of the machine to compare: use a measure with
        ``empty=0``.

    Notes
    -----
    The gain is limited by the correlation r of human and machine values: with a tuned weight, the
    standard error is ``sqrt(1 - r**2 N / (n + N))`` of that of the human values.

    Examples
    --------
    >>> human, machine = [0.2, 0.5, 0.9, 0.4, 0.6], [0.3, 0.7, 1.0, 0.5, 0.6]
    >>> found = prediction_powered_mean(human, machine, [0.4, 0.5, 0.8, 0.9, 0.7, 0.5, 0.4, 0.6])
    >>> round(found.mean, 4), round(found.weight, 4), round(found.bias, 4)
    (0.505, 0.7483, 0.1)
    """
    y, f = _values("human", human), _values("machine", machine)
    g = _values("machine_only", machine_only)
    if y.shape != f.shape or len(y) < 3:
        raise ValueError(
            f"human and machine must hold values of the same queries, at least 3, got {len(y)} and "
            f"{len(f)}. Pass one value per query with human labels."
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError(f"weight must lie between 0 and 1, got {weight}. None: tuned.")
    n, n_all = len(y), len(y) + len(g)
    every = np.concatenate([f, g])
    spread = float(every.var(ddof=1))
    is_tuned = weight is None
    if weight is None:
        tuned = _covariance(y, f) / spread * len(g) / n_all if spread > 0 else 0.0
        weight = min(max(tuned, 0.0), 1.0)
    shift = (float(g.mean()) - float(f.mean())) if len(g) else 0.0
    mean = float(y.mean()) + weight * shift
    low, high = _interval(y, f, weight, shift, len(g), spread, is_tuned, confidence, mean)
    difference = f - y
    bias, bias_low, bias_high = _t_interval(difference, confidence)
    human_mean, human_low, human_high = _t_interval(y, confidence)
    return PoweredMean(
        mean=mean,
        low=low,
        high=high,
        human_mean=human_mean,
        human_low=human_low,
        human_high=human_high,
        machine_mean=float(every.mean()),
        bias=bias,
        bias_low=bias_low,
        bias_high=bias_high,
        bias_p=_t_p_value(difference),
        correlation=_correlation(y, f),
        weight=weight,
        n_human=n,
        n_machine=len(g),
    )


def _interval(
    y: Float64Array,
    f: Float64Array,
    weight: float,
    shift: float,
    n_machine: int,
    spread: float,
    is_tuned: bool,
    confidence: float,
    mean: float,
) -> tuple[float, float]:
    """Interval of the estimate; degrees of freedom by Satterthwaite."""
    n = len(y)
    residual = y - weight * f
    free = n - 2 if is_tuned else n - 1
    variance = float(np.square(residual - residual.mean()).sum()) / free
    share = 1.0 / n
    squares = float(np.square(f - f.mean()).sum())
    if is_tuned and 0 < weight < 1 and squares > 0:
        share += (shift * n_machine / (n + n_machine)) ** 2 / squares
    own = variance * share
    other = weight**2 * spread / n_machine if n_machine else 0.0
    if own + other == 0:
        return mean, mean
    degrees = (own + other) ** 2 / (own**2 / free + other**2 / max(n_machine - 1, 1))
    half = float(stdtrit(degrees, 0.5 + confidence / 2)) * math.sqrt(own + other)
    return mean - half, mean + half


def _t_interval(values: Float64Array, confidence: float) -> tuple[float, float, float]:
    mean, n = float(values.mean()), len(values)
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


def _t_p_value(values: Float64Array) -> float:
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return 2.0 * float(stdtr(len(values) - 1, -abs(mean / error)))


def _covariance(y: Float64Array, f: Float64Array) -> float:
    return float(((y - y.mean()) * (f - f.mean())).mean())


def _correlation(y: Float64Array, f: Float64Array) -> float:
    scale = float(y.std() * f.std())
    return _covariance(y, f) / scale if scale > 0 else math.nan


def _values(name: str, values: ArrayLike) -> Float64Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(
            f"{name} must be finite, got {array[row]} at query {row}. Use a measure in which all "
            "queries count, such as nDCG(empty=0)@10."
        )
    return array
