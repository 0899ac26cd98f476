"""Means from few human and many machine values: prediction-powered inference with a tuned weight.

For n queries with a human value y and a machine value f, and N further queries with a machine value
only,

    mean = ȳ + w (f̄_N − f̄_n),    w = Cov(y, f) / ((1 + n / N) Var(f)), cut to [0, 1],

which is unbiased in large samples for any machine: w = 0 is the human mean, w = 1 the mean of the
machine corrected by its mean error. The interval is Student's t. It differs from [1]_, whose normal
interval covers too seldom for few queries: the residuals y − w f have n − 2 degrees of freedom, and
the error of the estimated w adds (f̄_all − f̄_n)² / Σ (f − f̄_n)² to 1 / n, as in double sampling
with regression [2]_.

Residuals that are mostly alike, as of a machine that errs for few queries or of shares near 0 or 1,
have too little spread for Student's t. If a bound is nearer to the human mean than the width of its
interval, or few residuals decide, the interval is the union of t with that of the residuals as
values between their bounds, :func:`dirichlet_bounds`, and of the machine's mean; distances of both
ends from the estimate are added in quadrature (MOVER).

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

from rankwise.metrics.statistics.intervals import dirichlet_bounds, mean_intervals, value_bounds
from rankwise.metrics.statistics.stratified import FEW, spread_freedom
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_share
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array


@dataclass(frozen=True)
class PoweredMean(Result):
    """Mean over queries, estimated from human and machine values.

    Attributes
    ----------
    mean, low, high : float
        Prediction-powered estimate and its interval; NaN ends if all values are equal and nothing
        is known of their bounds.
    human_mean, human_low, human_high : float
        Mean of the human values alone, with the interval of :func:`mean_intervals`.
    machine_mean : float
        Mean of all machine values, which may be wrong by any amount.
    bias, bias_low, bias_high, bias_p : float
        Mean of machine minus human value, with the interval of :func:`mean_intervals` and the
        p-value of Student's t, or ``2 ** (1 - n)`` if all differences are equal and not 0. For
        values that are differences of two systems: whether the machine favours one of them.
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


@names_its_class
def prediction_powered_mean(
    human: ArrayLike,
    machine: ArrayLike,
    machine_only: ArrayLike,
    *,
    weight: float | None = None,
    bounds: tuple[float, float] | None = None,
    confidence_level: float = 0.95,
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
    bounds : (float, float), optional
        Lowest and highest possible value. None: 0 and 1 or -1 and 1 if all values lie between
        them, else unknown. Infinite bounds leave Student's t as it is.
    confidence_level : float in (0, 1)
        Level of all intervals.

    Returns
    -------
    PoweredMean

    Raises
    ------
    ValueError
        If lengths differ, there are fewer than three human values, or a value is not finite or
        beyond the bounds. A query that does not count (NaN) has no value of the machine to compare:
        use a measure with ``empty=0``.

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
    check_share("confidence_level", confidence_level)
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError(f"weight must lie between 0 and 1, got {weight}. None: tuned.")
    n, n_all = len(y), len(y) + len(g)
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    every = np.concatenate([f, g])
    spread = float(every.var(ddof=1))
    is_tuned = weight is None
    if weight is None:
        tuned = covariance / spread * len(g) / n_all if spread > 0 else 0.0
        weight = min(max(tuned, 0.0), 1.0)
    shift = (float(g.mean()) - float(f.mean())) if len(g) else 0.0
    mean = float(y.mean()) + weight * shift
    lowest, highest, is_known = value_bounds(np.concatenate([y, every]), bounds)
    given = (lowest, highest) if is_known else None
    human_low, human_high = mean_intervals(
        y[:, None], bounds=given, confidence_level=confidence_level
    )[0].tolist()
    alone = float(y.mean()) - human_low, human_high - float(y.mean())
    low, high = _interval(
        y, f, weight, shift, len(g), spread, is_tuned, confidence_level, given, alone
    )
    difference = f - y
    width = highest - lowest
    bias_low, bias_high = mean_intervals(
        difference[:, None],
        bounds=(-width, width) if is_known else None,
        confidence_level=confidence_level,
    )[0].tolist()
    scale, bias = float(y.std() * f.std()), float(difference.mean())
    if np.ptp(difference) == 0:
        bias_p = 1.0 if bias == 0 else 2.0 ** (1 - n)
    else:
        error = float(difference.std(ddof=1)) / math.sqrt(n)
        bias_p = 2.0 * float(stdtr(n - 1, -abs(bias / error)))
    return PoweredMean(
        mean=mean,
        low=mean - low,
        high=mean + high,
        human_mean=float(y.mean()),
        human_low=human_low,
        human_high=human_high,
        machine_mean=float(every.mean()),
        bias=bias,
        bias_low=bias_low,
        bias_high=bias_high,
        bias_p=bias_p,
        correlation=covariance / scale if scale > 0 else math.nan,
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
    confidence_level: float,
    bounds: tuple[float, float] | None,
    alone: tuple[float, float],
) -> tuple[float, float]:
    """Distances of both ends from the estimate; degrees of freedom by Satterthwaite.

    ``alone``: those of the interval of the human values. Away from the bounds, where it is not
    widened, few distinct residuals do not widen the powered one beyond it.
    """
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
    half = 0.0
    if own + other > 0:
        degrees = (own + other) ** 2 / (own**2 / free + other**2 / max(n_machine - 1, 1))
        half = float(stdtrit(degrees, 0.5 + confidence_level / 2)) * math.sqrt(own + other)
    low, high = bounds or (-math.inf, math.inf)
    span, mean = high - low, float(y.mean()) + weight * shift
    if math.isinf(span):
        return (half, half) if half > 0 else (math.nan, math.nan)
    width = (
        2 * float(stdtrit(n - 1, 0.5 + confidence_level / 2)) * float(y.std(ddof=1)) / math.sqrt(n)
    )
    is_near = min(float(y.mean()) - low, high - float(y.mean())) < width
    are_few = np.ptp(residual) == 0 or spread_freedom(residual) < FEW * n
    if not (is_near or are_few):
        return min(half, max(mean - low, 0.0)), min(half, max(high - mean, 0.0))
    seen = float(f.mean()) + shift
    of_machine = 0.0
    if other > 0:
        of_machine = float(stdtrit(n_machine - 1, 0.5 + confidence_level / 2)) * math.sqrt(other)
    scale = math.sqrt(share * n * (n - 1) / free) if weight else 1.0
    ends = []
    # An unseen query may have a value at a bound; the machine's value of it is taken to lie one
    # standard deviation off its mean.
    of_f = min(seen + math.sqrt(spread), high), max(seen - math.sqrt(spread), low)
    for sign, bound, own_end in (
        (-1.0, weight * of_f[0] - low, alone[0]),
        (1.0, high - weight * of_f[1], alone[1]),
    ):
        column = sign * residual[:, None]
        upper = dirichlet_bounds(column, np.ones((n, 1)), bound, (1.0 - confidence_level) / 2)
        of_residuals = scale * (float(upper[0]) - float(column.mean()))
        end = math.hypot(of_residuals, of_machine)
        end = max(half, end if is_near else min(end, own_end))
        room = high - mean if sign > 0 else mean - low
        ends.append(min(end, max(room, 0.0)))
    return ends[0], ends[1]


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
