"""Empirical Bayes for rates: prior by maximum marginal likelihood, posterior by conjugacy.

Clicks C of a pair are few, so its rate C / E is noise where the exposure E is small. The rates of
all pairs have a common prior of mean mu and strength kappa; the posterior mean
``(C + kappa mu) / (E + kappa)`` moves a rate towards mu as if kappa units of exposure had been seen
at rate mu.

- gamma-Poisson, for any exposure E: C ~ Poisson(E r), r ~ Gamma(kappa mu, rate kappa).
- beta-binomial, for E = number of impressions: C ~ Binomial(E, r), r ~ Beta with mean mu.
- normal, for estimates with standard errors: estimate ~ N(r, se^2), r ~ N(mu, tau^2).

The fitted strength is uncertain itself where clicks are few; it is infinite if pairs differ no more
than chance would make them, and then every interval would have length 0. Intervals of conjugate
rates therefore average over strengths [1]_, see :func:`average_strengths`.

References
----------
.. [1] Christiansen and Morris, "Hierarchical Poisson regression modeling", JASA 92, 1997.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import (
    betainc,
    betaincinv,
    betaln,
    digamma,
    expit,
    gammaincc,
    gammaincinv,
    gammaln,
    logit,
    ndtr,
    ndtri,
)  # fmt: skip

from rankwise.typing import Float64Array

# Strengths that are tried; at the upper one, pairs do not differ beyond chance.
LEAST_STRENGTH, MOST_STRENGTH = 1e-3, 1e7
# Prior that a pair without shrinkage keeps for its interval: that of Jeffreys.
JEFFREYS = 0.5
# Intervals average over so many strengths, and so many pairs say how likely these are: with more,
# the strength is certain anyway.
N_STRENGTHS, MOST_PAIRS = 60, 50_000


@dataclass(frozen=True, eq=False)
class GammaPosterior:
    """Posterior of the gamma-Poisson model for clicks and exposures of shape (n_pairs,).

    The prior of mean ``mu`` and strength ``trust`` gives the weights. ``kappa`` is the strength
    that moves the rates: ``trust``, or 0 for raw rates. ``moments`` are mean and variance of the
    rates for intervals; None: those that ``mu`` and ``kappa`` give. Clicks vary as Poisson clicks
    that count ``each`` do.
    """

    clicks: Float64Array
    exposure: Float64Array
    mu: float
    trust: float
    kappa: float
    moments: tuple[Float64Array, Float64Array] | None = None
    each: Float64Array | float = 1.0

    @property
    def mean(self) -> Float64Array:
        """``(C + kappa mu) / (E + kappa)``; 0 without exposure and shrinkage."""
        kappa = self.each * self.kappa
        total = self.exposure + kappa
        return np.divide(
            self.clicks + kappa * self.mu, total, out=np.zeros(len(total)), where=total > 0
        )

    @property
    def weight(self) -> Float64Array:
        """Share of the pair's own clicks in the best mean, ``E / (E + trust)``."""
        return _share(self.exposure / self.each, self.trust)

    def _shape_rate(self) -> tuple[Float64Array, Float64Array]:
        if self.moments is not None:
            mean, variance = self.moments
            return mean**2 / variance, mean / variance
        prior = self.kappa * self.mu if self.kappa > 0 else JEFFREYS
        rate = np.maximum(self.exposure / self.each + self.kappa, 1e-300)
        return self.clicks / self.each + prior, rate

    def quantile(self, p: float) -> Float64Array:
        """Quantile of the rate of each pair."""
        shape, rate = self._shape_rate()
        # Without exposure and shrinkage, a rate may be anything.
        unknown = 0.0 if p < 0.5 else np.inf
        return np.where(self.exposure + self.kappa > 0, gammaincinv(shape, p) / rate, unknown)

    def exceeds(self, threshold: float) -> Float64Array:
        """Probability that the rate of each pair exceeds the threshold."""
        shape, rate = self._shape_rate()
        return gammaincc(shape, rate * threshold)


@dataclass(frozen=True, eq=False)
class BetaPosterior(GammaPosterior):
    """Posterior of the beta-binomial model; the exposure is the number of impressions."""

    def _shapes(self) -> tuple[Float64Array, Float64Array]:
        if self.moments is not None:
            mean, variance = self.moments
            total = np.maximum(mean * (1 - mean) / variance - 1, 1e-9)
            return total * mean, total * (1 - mean)
        mu, kappa = (self.mu, self.kappa) if self.kappa > 0 else (0.5, 2 * JEFFREYS)
        missed = np.maximum(self.exposure - self.clicks, 0.0)
        return self.clicks + kappa * mu, missed + kappa * (1 - mu)

    def quantile(self, p: float) -> Float64Array:
        """Quantile of the rate of each pair."""
        return betaincinv(*self._shapes(), p)

    def exceeds(self, threshold: float) -> Float64Array:
        """Probability that the rate of each pair exceeds the threshold."""
        return 1.0 - betainc(*self._shapes(), min(threshold, 1.0))


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """Estimates in (0, 1) with standard errors; ``trust`` is 1 / tau^2, ``kappa`` that or 0."""

    estimate: Float64Array
    se: Float64Array
    mu: float
    trust: float
    kappa: float

    @property
    def weight(self) -> Float64Array:
        """``tau^2 / (tau^2 + se^2)``."""
        return 1.0 / (1.0 + self.trust * self.se**2)

    @property
    def mean(self) -> Float64Array:
        """The estimates, moved towards mu if they are to be shrunk."""
        w = 1.0 / (1.0 + self.kappa * self.se**2)
        return w * self.estimate + (1.0 - w) * self.mu

    def _spread(self) -> Float64Array:
        """Standard error of the logit of the mean."""
        se = self.se / np.sqrt(1.0 + self.kappa * self.se**2)
        return np.maximum(se / (self.mean * (1.0 - self.mean)), 1e-300)

    def quantile(self, p: float) -> Float64Array:
        """Quantile of the rate of each pair.

        Normal on the scale of logits, so that rates stay in (0, 1).
        """
        return expit(logit(self.mean) + ndtri(p) * self._spread())

    def exceeds(self, threshold: float) -> Float64Array:
        """Probability that the rate of each pair exceeds the threshold."""
        return ndtr((logit(self.mean) - logit(np.clip(threshold, 0.0, 1.0))) / self._spread())


@dataclass(frozen=True, eq=False)
class WeightedClicksPosterior(NormalPosterior):
    """Means of weighted clicks; ``exposure`` is that of Poisson clicks of the same variance.

    Few weighted clicks are skewed, so that normal intervals of them are too short. Quantiles are
    those of the raw rate, since a normal prior is no better than the symmetry it assumes. Weights
    are those of the Poisson clicks with a gamma prior of strength ``strength``: the standard errors
    are small where nothing was clicked, so that weights of the normal prior would teach a ranker
    that rarely shown documents are bad for certain.
    """

    exposure: Float64Array
    strength: float

    @property
    def weight(self) -> Float64Array:
        """``E / (E + strength)``, whatever was clicked."""
        return _share(self.exposure, self.strength)

    def quantile(self, p: float) -> Float64Array:
        """Quantile of the rate of each pair."""
        return gammaincinv(self.estimate * self.exposure + JEFFREYS, p) / self.exposure

    def exceeds(self, threshold: float) -> Float64Array:
        """Probability that the rate of each pair exceeds the threshold.

        Normal about the mean, as wide as the middle of the interval.
        """
        spread = (self.quantile(ndtr(1.0)) - self.quantile(ndtr(-1.0))) / 2
        return ndtr((self.mean - threshold) / spread)


# Rates of all pairs after the clicks were seen; arrays have one entry per pair.
Posterior: TypeAlias = GammaPosterior | NormalPosterior


def cut_grades(
    posterior: Posterior,
    clicked: NDArray[np.bool_],
    grades: int,
    thresholds: Sequence[float] | None,
    certainty: float,
) -> Float64Array:
    """Number of thresholds that the estimate of each pair exceeds; 0 for pairs without clicks.

    Above a ``certainty`` of 0.5, its rate must also exceed them with that probability; below, that
    is enough.
    """
    value = posterior.mean
    if isinstance(posterior, GammaPosterior):
        # That of the estimates: intervals depend on what the logger showed, which grades must not.
        posterior = replace(posterior, moments=None)
    cuts = cut_equally(value, clicked, grades) if thresholds is None else thresholds
    grade = np.zeros(len(value))
    for cut in cuts:
        passed = value > cut
        if certainty > 0.5:
            passed &= posterior.exceeds(cut) >= certainty
        elif certainty < 0.5:
            passed |= posterior.exceeds(cut) >= certainty
        grade += passed
    return np.where(clicked, grade, 0.0)


def cut_equally(value: Float64Array, clicked: NDArray[np.bool_], grades: int) -> list[float]:
    """Cuts of values into equal shares of the pairs: each grade takes its share of those left.

    Pairs without clicks lie below all others, as one. Equal values stay together, so that a value
    that most pairs have fills a grade, and the other grades share the rest.
    """
    levels = np.unique(value[clicked])
    # Sums of the same terms in another order are the same value.
    levels = levels[np.r_[True, np.diff(levels) > 1e-12 * np.abs(levels[1:])]]
    sizes = np.bincount(np.searchsorted(levels, value[clicked], "right") - 1)
    if not clicked.all():
        levels, sizes = np.r_[0.0, levels], np.r_[(~clicked).sum(), sizes]
    below = np.cumsum(sizes)
    cuts: list[float] = []
    start, used = 0, 0
    for left in range(min(grades, len(levels)), 1, -1):
        share = used + (below[-1] - used) / left
        ends = np.arange(start, len(levels) - left + 1)  # each later grade needs a level
        end = int(ends[np.abs(below[ends] - share).argmin()])
        low, high = levels[end], levels[end + 1]
        cut = low + (high - low) / 2
        cuts.append(float(cut if cut < high else low))
        start, used = end + 1, below[end]
    return cuts


def average_strengths(
    clicks: Float64Array,
    exposure: Float64Array,
    fitted: float,
    *,
    binomial: bool,
    most_pairs: int = MOST_PAIRS,
) -> tuple[Float64Array, Float64Array]:
    """Mean and variance of each rate, over the strengths of the prior that its clicks allow.

    The variance of the rates has a flat prior, so that strengths have ``1 / kappa^2``, and so has
    mu: given a strength, it is known up to its standard error. ``fitted`` is the likeliest one.
    """
    used = np.flatnonzero(exposure > 0)
    some = used[:: -(-len(used) // most_pairs)]
    C, E = clicks[some], exposure[some]
    # From a prior that hardly moves a rate to one under which pairs no longer differ.
    usual = float(E.mean())
    strengths = np.geomspace(0.02 * min(usual, fitted), 1000 * usual, N_STRENGTHS)
    value, mu, error = np.empty((3, N_STRENGTHS))
    for k, kappa in enumerate(strengths):
        w = (kappa + binomial) / (kappa + E)
        mu[k] = np.clip((w * C).sum() / (w * E).sum(), 1e-9, 1 - 1e-9 if binomial else np.inf)
        error[k] = mu[k] * (1 - binomial * mu[k]) / (w * E).sum()
        marginal = _beta_binomial if binomial else _gamma_poisson
        value[k] = marginal(C, E, mu[k], kappa).sum() + np.log(error[k]) / 2
    value += np.log(strengths) - 2 * np.log(strengths + binomial)
    share = np.exp(value - value.max())
    share /= share.sum()
    likely = np.flatnonzero(share > 1e-6)
    mean, variance = np.zeros((2, len(clicks)))
    for k in likely:
        mean += share[k] * (clicks + strengths[k] * mu[k]) / (exposure + strengths[k])
    for k in likely:
        total = exposure + strengths[k]
        m = (clicks + strengths[k] * mu[k]) / total
        given = m * (1 - binomial * m) / (total + binomial)
        variance += share[k] * (given + (strengths[k] / total) ** 2 * error[k] + (m - mean) ** 2)
    return mean, np.maximum(variance, 1e-24 * mean**2)  # intervals need a positive variance


def _gamma_poisson(C: Float64Array, E: Float64Array, mu: float, kappa: float) -> Float64Array:
    """Marginal log-likelihood of the clicks of each pair, up to a constant."""
    a = kappa * mu
    return gammaln(C + a) - gammaln(a) + a * np.log(kappa) - (C + a) * np.log(kappa + E)


def _beta_binomial(C: Float64Array, n: Float64Array, mu: float, kappa: float) -> Float64Array:
    """Marginal log-likelihood of the clicks of each pair, up to a constant."""
    a, b = kappa * mu, kappa * (1 - mu)
    return betaln(C + a, n - C + b) - betaln(a, b)


def fit_gamma_poisson(clicks: Float64Array, exposure: Float64Array) -> tuple[float, float]:
    """Mean mu and strength kappa of the prior, by maximum marginal likelihood."""
    C, E = clicks[exposure > 0], exposure[exposure > 0]

    def value_grad(point: Float64Array) -> tuple[float, Float64Array]:
        mu, kappa = np.exp(point)
        a = kappa * mu
        by_a = (digamma(C + a) - digamma(a) - np.log1p(E / kappa)).sum()
        by_kappa = (a / kappa - (C + a) / (kappa + E)).sum()
        value = _gamma_poisson(C, E, mu, kappa).sum()
        return -value, -np.array([by_a * a, by_a * a + by_kappa * kappa])

    mu = max(C.sum() / E.sum(), 1e-6)
    bounds = [(np.log(1e-9), np.log(1e6)), (np.log(LEAST_STRENGTH), np.log(MOST_STRENGTH))]
    found = _minimize(value_grad, np.log(mu), bounds)
    return float(np.exp(found[0])), float(np.exp(found[1]))


def fit_beta_binomial(clicks: Float64Array, n: Float64Array) -> tuple[float, float]:
    """Mean mu and strength kappa of the prior, by maximum marginal likelihood."""
    # Equal counts have equal terms: logs of searches hold millions of pairs and few counts.
    counts, times = np.unique(np.c_[clicks, n], axis=0, return_counts=True)
    C, N = counts.T

    def value_grad(point: Float64Array) -> tuple[float, Float64Array]:
        mu, kappa = 1 / (1 + np.exp(-point[0])), np.exp(point[1])
        a, b = kappa * mu, kappa * (1 - mu)
        value = (times * _beta_binomial(C, N, mu, kappa)).sum()
        shared = digamma(kappa) - digamma(N + kappa)
        by_a = (times * (digamma(C + a) - digamma(a) + shared)).sum()
        by_b = (times * (digamma(N - C + b) - digamma(b) + shared)).sum()
        by_mu = kappa * (by_a - by_b) * mu * (1 - mu)
        return -value, -np.array([by_mu, by_a * a + by_b * b])

    mu = np.clip((times * C).sum() / (times * N).sum(), 1e-6, 1 - 1e-6)
    bounds = [(-18.0, 18.0), (np.log(LEAST_STRENGTH), np.log(MOST_STRENGTH))]
    found = _minimize(value_grad, np.log(mu / (1 - mu)), bounds)
    return float(1 / (1 + np.exp(-found[0]))), float(np.exp(found[1]))


def fit_normal(estimate: Float64Array, se: Float64Array) -> tuple[float, float]:
    """Mean mu and precision ``1 / tau^2`` of the prior, by maximum marginal likelihood."""
    known = np.isfinite(se) & (se > 0)
    x, v = estimate[known], se[known] ** 2
    if len(x) < 2 or np.ptp(x) == 0:
        return float(estimate.mean()), 0.0
    scale = x.var()

    def value_grad(point: Float64Array) -> tuple[float, Float64Array]:
        total = v + np.exp(point[1]) * scale
        error = x - point[0]
        by_total = (1 / total - error**2 / total**2) / 2
        value = (np.log(total) + error**2 / total).sum() / 2
        return value, np.array(
            [-(error / total).sum(), (by_total * np.exp(point[1]) * scale).sum()]
        )

    bounds = [(x.min(), x.max()), (np.log(1e-9), np.log(1e3))]
    found = _minimize(value_grad, float(np.average(x, weights=1 / (v + scale))), bounds)
    return float(found[0]), float(1 / (np.exp(found[1]) * scale))


def _minimize(value_grad: Any, location: float, bounds: Any) -> Float64Array:
    """Better of the minima from a weak and a strong prior; the likelihood may have a plateau."""
    starts = [np.array([location, np.clip(s, *bounds[1])]) for s in (0.0, 4.0)]
    runs = [
        minimize(value_grad, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts
    ]
    return min(runs, key=lambda run: run.fun).x


def _share(exposure: Float64Array, kappa: float) -> Float64Array:
    if kappa == 0:
        return np.ones(len(exposure))
    return exposure / (exposure + kappa)
