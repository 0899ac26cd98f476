"""Cumulative link losses: against differences of distributions, finite differences and mpmath."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwise.losses.cumulative_link import LINKS, CumulativeLinkLoss, start_thresholds

DISTRIBUTIONS = {"logit": stats.logistic, "probit": stats.norm, "cloglog": stats.gumbel_l}
each_link = pytest.mark.parametrize("name", LINKS)
THRESHOLDS = np.array([-1.2, 0.1, 0.6, 2.0])


def loss_of(name, codes, weight=None):
    codes = np.asarray(codes)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
    return CumulativeLinkLoss(LINKS[name], codes, weight)


def drawn(rng, n=40):
    return 0.5 * rng.normal(size=n), rng.integers(0, 5, n), rng.random(n) + 0.5


@each_link
def test_distributions_are_those_of_scipy(name):
    link, expected = LINKS[name], DISTRIBUTIONS[name]
    z = np.linspace(-6, 3, 50)
    np.testing.assert_allclose(link.cdf(z), expected.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(link.sf(z), expected.sf(z), rtol=1e-12)
    np.testing.assert_allclose(link.ppf(link.cdf(z)), z, rtol=1e-9, atol=1e-9)
    assert link.median == pytest.approx(expected.median())


@each_link
def test_value_is_the_negative_log_likelihood(name, rng):
    scores, codes, weight = drawn(rng)
    ends = np.concatenate([[-np.inf], THRESHOLDS, [np.inf]])
    cdf = DISTRIBUTIONS[name].cdf
    expected = -weight * np.log(cdf(ends[codes + 1] - scores) - cdf(ends[codes] - scores))
    value = loss_of(name, codes, weight).terms(scores, THRESHOLDS).value
    np.testing.assert_allclose(value, expected, rtol=1e-8)


@each_link
def test_derivatives_are_those_of_finite_differences(name, rng):
    scores, codes, weight = drawn(rng)
    loss = loss_of(name, codes, weight)
    terms, step = loss.terms(scores, THRESHOLDS), 1e-5
    up, down = loss.terms(scores + step, THRESHOLDS), loss.terms(scores - step, THRESHOLDS)
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose((up.value - down.value) / (2 * step), terms.by_score, **close)
    np.testing.assert_allclose(
        (up.by_score - down.by_score) / (2 * step), terms.score_score, **close
    )
    for k in range(len(THRESHOLDS)):
        move = step * (np.arange(len(THRESHOLDS)) == k)
        up, down = loss.terms(scores, THRESHOLDS + move), loss.terms(scores, THRESHOLDS - move)
        is_upper, is_lower = codes == k, codes == k + 1

        def slope(field, up=up, down=down):
            return (getattr(up, field) - getattr(down, field)) / (2 * step)

        for chosen, by, twice in (
            (is_upper, terms.by_upper, terms.upper_upper),
            (is_lower, terms.by_lower, terms.lower_lower),
        ):
            np.testing.assert_allclose(slope("value")[chosen], by[chosen], **close)
            np.testing.assert_allclose(
                slope("by_score")[chosen], -(twice + terms.upper_lower)[chosen], **close
            )
        np.testing.assert_allclose(
            slope("by_lower")[is_upper], terms.upper_lower[is_upper], **close
        )
        np.testing.assert_allclose(
            slope("by_upper")[is_upper], terms.upper_upper[is_upper], **close
        )
        np.testing.assert_allclose(
            slope("by_lower")[is_lower], terms.lower_lower[is_lower], **close
        )


@each_link
def test_tails_are_finite(name):
    """ "cloglog" of a score far below the thresholds costs exp(score), which overflows."""
    codes = np.repeat(np.arange(5), 2)
    scores = np.tile([1e3, -1e3 if name != "cloglog" else -600.0], 5)
    terms = loss_of(name, codes).terms(scores, THRESHOLDS)
    for values in terms:
        assert np.isfinite(values).all()
    assert (terms.value >= 0).all()
    assert (terms.score_score >= 0).all()


def test_logistic_tails_are_those_of_the_limit():
    """A score s far above class 0 costs s less the threshold."""
    terms = loss_of("logit", [0, 4]).terms(np.array([1e3, -1e3]), THRESHOLDS)
    np.testing.assert_allclose(terms.value, [1e3 + 1.2, 1e3 + 2.0], rtol=1e-14)
    np.testing.assert_allclose(terms.by_score, [1.0, -1.0], rtol=1e-14)


def test_normal_tails_are_those_of_the_limit():
    """``-log F(-z)`` is ``z^2 / 2 + log(z sqrt(2 pi))`` and its derivative z + 1/z, to z^-2."""
    z = 1e3 + 1.2
    terms = loss_of("probit", [0]).terms(np.array([1e3]), THRESHOLDS)
    np.testing.assert_allclose(terms.value, z**2 / 2 + np.log(z * np.sqrt(2 * np.pi)), rtol=1e-10)
    np.testing.assert_allclose(terms.by_score, z + 1 / z, rtol=1e-10)
    np.testing.assert_allclose(terms.score_score, 1 - 1 / z**2, rtol=1e-8)


def test_gumbel_tails_are_those_of_the_limit():
    terms = loss_of("cloglog", [0, 4]).terms(np.array([1e3, -50.0]), THRESHOLDS)
    np.testing.assert_allclose(terms.value, [1e3 + 1.2, np.exp(52.0)], rtol=1e-12)
    np.testing.assert_allclose(terms.by_score, [1.0, -np.exp(52.0)], rtol=1e-12)


@each_link
@given(
    scores=st.lists(st.floats(-8, 8), min_size=1, max_size=5),
    gaps=st.lists(st.floats(1e-6, 4), min_size=1, max_size=4),
    first=st.floats(-4, 4),
)
def test_convex_in_scores_and_thresholds(name, scores, gaps, first):
    """The second derivatives by score, upper and lower end are positive semidefinite."""
    thresholds = first + np.cumsum(gaps)
    for code in range(len(thresholds) + 1):
        terms = loss_of(name, np.full(len(scores), code)).terms(np.array(scores), thresholds)
        determinant = terms.upper_upper * terms.lower_lower - terms.upper_lower**2
        size = terms.upper_upper * terms.lower_lower
        assert (determinant >= -1e-8 * size).all()
        assert (terms.upper_upper >= 0).all()
        assert (terms.lower_lower >= 0).all()
        assert (terms.score_score >= 0).all()


@each_link
def test_probabilities_sum_to_one_and_keep_small_ones(name):
    shares = LINKS[name].probabilities(np.array([-30.0, 0.0, 1.0, 4.0]), THRESHOLDS)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    assert (shares[1] > 0).all()
    terms = loss_of(name, np.arange(5)).terms(np.full(5, 1.0), THRESHOLDS)
    np.testing.assert_allclose(shares[2], np.exp(-terms.value), rtol=1e-9)


@each_link
def test_start_fits_scores_of_zero(name):
    counts = np.array([3.0, 1.0, 4.0, 2.0])
    thresholds = start_thresholds(LINKS[name], counts)
    loss = loss_of(name, np.arange(4), counts)
    terms = loss.terms(np.zeros(4), thresholds)
    gradient = terms.by_upper[:-1] + terms.by_lower[1:]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
