"""Negative log-likelihood of cumulative link models [1]_.

Ascending thresholds divide a latent score ``f + e`` into classes:
``P(y <= k | f) = F(theta_k - f)`` for a distribution F, the link. A row of class k costs
``-w log(F(upper) - F(lower))`` with ``upper = theta_k - f`` (infinite for the highest class) and
``lower = theta_{k-1} - f`` (minus infinity for the lowest). The densities of the three links are
log-concave, so the loss is convex in scores and thresholds.

In the tails, logarithms of probabilities and their derivatives are computed without subtracting
numbers near 1, so they stay finite for scores in the thousands. The exception is "cloglog", whose
loss is ``exp(lower)``, which overflows beyond lower = 709. All arrays have the same shape; O(n).

References
----------
.. [1] McCullagh, "Regression models for ordinal data", JRSS B 42 (1980).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import erf, erfcx, expit, logit, ndtr, ndtri

from rankwise.typing import Float64Array, Int64Array

ROOT_2 = np.sqrt(2.0)
# The largest number whose exponential is finite.
MOST_EXPONENT = 700.0
# Smallest share of a class in the initial thresholds of a solver.
LEAST_SHARE = 1e-9


class IntervalTerms(NamedTuple):
    """``-log(F(a) - F(b))`` and its derivatives for upper ends a and lower ends b.

    ``by_upper`` and ``by_lower`` are the derivatives with respect to a and b; ``by_score`` is minus
    their sum. The second derivatives are ``upper_upper``, ``lower_lower``, ``upper_lower`` and
    ``score_score``.
    """

    value: Float64Array
    by_upper: Float64Array
    by_lower: Float64Array
    by_score: Float64Array
    upper_upper: Float64Array
    lower_lower: Float64Array
    upper_lower: Float64Array
    score_score: Float64Array


@dataclass(frozen=True)
class Link:
    """A link: a distribution F."""

    cdf: Callable[[Float64Array], Float64Array]  # F
    sf: Callable[[Float64Array], Float64Array]  # 1 - F
    ppf: Callable[[Float64Array], Float64Array]  # inverse of F for probabilities between 0 and 1
    # ``terms(a, b, gap)`` with ``gap = a - b``
    terms: Callable[[Float64Array, Float64Array, Float64Array], IntervalTerms]

    @property
    def median(self) -> float:
        """Median of F."""
        return float(self.ppf(np.array(0.5)))

    def probabilities(self, scores: Float64Array, thresholds: Float64Array) -> Float64Array:
        """Probability of every class, shape (n_samples, n_classes).

        Differences are taken between the smaller tails, so that small probabilities stay accurate.
        """
        ends = thresholds - scores[:, None]
        below, above = self.cdf(ends), self.sf(ends)
        column = np.zeros((len(scores), 1)), np.ones((len(scores), 1))
        below = np.hstack([column[0], below, column[1]])
        above = np.hstack([column[1], above, column[0]])
        shares = np.where(below[:, :-1] < 0.5, np.diff(below), -np.diff(above))
        return shares / shares.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class CumulativeLinkLoss:
    """Cumulative link loss of some rows."""

    link: Link
    codes: Int64Array  # (n_samples,): class numbers
    weight: Float64Array  # (n_samples,), > 0

    def terms(self, scores: Float64Array, thresholds: Float64Array) -> IntervalTerms:
        """Value and derivatives for every row, multiplied by its weight."""
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        gaps = np.diff(ends)
        with np.errstate(all="ignore"):  # from branches not taken, and from infinite losses
            terms = self.link.terms(
                ends[self.codes + 1] - scores, ends[self.codes] - scores, gaps[self.codes]
            )
            return IntervalTerms(*(self.weight * term for term in terms))


def start_thresholds(link: Link, class_weights: Float64Array) -> Float64Array:
    """Optimal thresholds if all scores are 0, ascending, shape (n_classes - 1,)."""
    shares = np.maximum(class_weights / class_weights.sum(), LEAST_SHARE)
    return link.ppf(np.cumsum(shares)[:-1] / shares.sum())


def _logistic_terms(a: Float64Array, b: Float64Array, gap: Float64Array) -> IntervalTerms:
    """Logistic terms, from ``F(a) - F(b) = F(a) F(-b) (1 - exp(-gap))``."""
    at_a, at_b, beyond_a, beyond_b = expit(a), expit(b), expit(-a), expit(-b)
    apart = -np.expm1(-gap)
    pull = np.exp(-gap) / apart
    bend = pull / apart
    slope_a, slope_b = at_a * beyond_a, at_b * beyond_b
    return IntervalTerms(
        value=np.logaddexp(0.0, -a) + np.logaddexp(0.0, b) - np.log(apart),
        by_upper=-(beyond_a + pull),
        by_lower=at_b + pull,
        by_score=beyond_a - at_b,
        upper_upper=slope_a + bend,
        lower_lower=slope_b + bend,
        upper_lower=-bend,
        score_score=slope_a + slope_b,
    )


def _normal_terms(a: Float64Array, b: Float64Array, gap: Float64Array) -> IntervalTerms:
    """Normal terms: mirror intervals into the left half, where scaled erfc is accurate."""
    mirrored = a + b > 0
    high, low = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    shrink = np.exp(0.5 * gap * (high + low))
    in_tail = high <= 0
    scaled = erfcx(np.where(in_tail, -high, 0.0) / ROOT_2) - shrink * erfcx(-low / ROOT_2)
    mass = 0.5 * (erf(high / ROOT_2) - erf(low / ROOT_2))
    squared = 0.5 * high**2
    value = np.where(in_tail, squared - np.log(0.5 * scaled), -np.log(mass))
    at_high = np.sqrt(2.0 / np.pi) / np.where(
        in_tail, scaled, 2.0 * mass * np.exp(np.minimum(squared, MOST_EXPONENT))
    )
    at_low = shrink * at_high
    bend_high = at_high * (high + at_high)
    bend_low = np.where(at_low > 0, at_low * (at_low - low), 0.0)
    at_a, at_b = np.where(mirrored, at_low, at_high), np.where(mirrored, at_high, at_low)
    bend_a, bend_b = (
        np.where(mirrored, bend_low, bend_high),
        np.where(mirrored, bend_high, bend_low),
    )
    return _from_ratios(value, at_a, at_b, bend_a, bend_b)


def _gumbel_terms(a: Float64Array, b: Float64Array, gap: Float64Array) -> IntervalTerms:
    """Gumbel terms of ``F(z) = 1 - exp(-exp(z))``.

    With ``m = exp(a) - exp(b)``, the probability is ``exp(-exp(b)) (1 - exp(-m))``.
    """
    gap = np.minimum(gap, MOST_EXPONENT)
    apart = -np.expm1(-gap)
    low = np.exp(b)
    log_m = np.where(np.isinf(a), np.inf, a + np.log(apart))
    m = np.exp(log_m)
    tiny = m < 1e-8
    inside = -np.expm1(-m)
    value = low - np.where(tiny, log_m - 0.5 * m, np.log(inside))
    # exp(a) / (1 - exp(-m)) and exp(b) / (1 - exp(-m)).
    raised = np.where(tiny, (1.0 + 0.5 * m) / apart, np.exp(a) / inside)
    at_b = np.where(tiny, (1.0 + 0.5 * m) * np.exp(-gap) / apart, low / inside)
    at_b = np.where(np.isneginf(b), 0.0, at_b)
    fall = np.exp(-m)
    at_a = np.where(fall > 0, raised * fall, 0.0)
    bend_a = np.where(at_a > 0, at_a * (raised - 1.0), 0.0)
    return _from_ratios(value, at_a, at_b, bend_a, at_b * (1.0 + at_b * fall))


def _from_ratios(
    value: Float64Array,
    at_a: Float64Array,
    at_b: Float64Array,
    bend_a: Float64Array,
    bend_b: Float64Array,
) -> IntervalTerms:
    """Terms from the densities at the ends over the probability, and the second derivatives."""
    cross = -at_a * at_b
    # Nothing is below zero but rounding where an interval is narrow.
    total = np.maximum(bend_a + bend_b + 2.0 * cross, 0.0)
    return IntervalTerms(value, -at_a, at_b, at_a - at_b, bend_a, bend_b, cross, total)


LINKS = {
    "logit": Link(expit, lambda z: expit(-z), logit, _logistic_terms),
    "probit": Link(ndtr, lambda z: ndtr(-z), ndtri, _normal_terms),
    "cloglog": Link(
        lambda z: -np.expm1(-np.exp(np.minimum(z, MOST_EXPONENT))),
        lambda z: np.exp(-np.exp(np.minimum(z, MOST_EXPONENT))),
        lambda p: np.log(-np.log1p(-p)),
        _gumbel_terms,
    ),
}
