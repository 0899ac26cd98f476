"""Probabilities from one score: a cumulative link model of one column, whatever the scale."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import ProportionalOdds
from rankwise.ordinal.score_probabilities import ScoreCalibration


def calibrated(scores, codes, weight=None, low=-np.inf, high=np.inf, n_classes=4):
    scores, codes = np.asarray(scores, dtype=float), np.asarray(codes, dtype=float)
    low, high = max(low, scores.min()), min(high, scores.max())
    return ScoreCalibration.of(codes, weight, n_classes, scores, low, high)


@pytest.fixture
def graded(rng):
    scores = rng.normal(size=200)
    return scores, np.digitize(scores + rng.logistic(size=200), [-1.0, 0.0, 1.0])


def test_is_proportional_odds_of_the_standardised_score(graded):
    scores, codes = graded
    found = calibrated(scores, codes)
    expected = ProportionalOdds(C=10.0).fit(scores[:, None] / scores.std(), codes)
    np.testing.assert_allclose(found.slope, expected.coef_[0] / scores.std(), rtol=1e-6)
    np.testing.assert_allclose(found.thresholds, expected.thresholds_, rtol=1e-6)
    np.testing.assert_allclose(
        found.probabilities(scores), expected.predict_proba(scores[:, None] / scores.std())
    )


@pytest.mark.parametrize(("scale", "shift"), [(1e-200, 0.0), (1e6, -3e6), (0.01, 2.0)])
def test_scale_and_origin_of_the_scores_do_not_matter(scale, shift, graded):
    scores, codes = graded
    moved = scale * scores + shift
    np.testing.assert_allclose(
        calibrated(moved, codes).probabilities(moved),
        calibrated(scores, codes).probabilities(scores),
        rtol=1e-6,
    )


def test_probabilities_are_a_distribution_that_rises_with_the_score(graded):
    found = calibrated(*graded)
    shares = found.probabilities(np.linspace(-9, 9, 50))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0).all()
    assert (np.diff(shares.cumsum(axis=1), axis=0) <= 1e-15).all()


def test_scores_beyond_the_range_count_as_its_ends(graded):
    scores, codes = graded
    found = calibrated(scores, codes, low=-1.0, high=1.5)
    outside = found.probabilities(np.array([-9.0, -1e300, 2.0, 1e300]))
    ends = found.probabilities(np.array([-1.0, -1.0, 1.5, 1.5]))
    np.testing.assert_array_equal(outside, ends)
    # One row far off does not flatten the others.
    scores[np.argmax(codes)] = -1e6
    spoilt = calibrated(scores, codes, low=-1.0, high=1.5)
    assert spoilt.slope > 0.8 * found.slope


@pytest.mark.parametrize("scores", [np.zeros(4), np.full(4, 1e9), np.array([3.0, 2.0, 1.0, 0.0])])
def test_scores_that_tell_nothing_give_the_shares(scores):
    found = calibrated(scores, [0, 1, 1, 3])
    assert found.slope == 0
    np.testing.assert_allclose(found.probabilities(np.array([-1.0, 9.0]))[1], [0.25, 0.5, 0, 0.25])


def test_classes_that_are_separate_have_a_finite_slope():
    found = calibrated(np.arange(60.0), np.arange(60) // 15)
    shares = found.probabilities(np.arange(60.0))
    assert np.isfinite(found.slope)
    assert (shares.argmax(axis=1) == np.arange(60) // 15).all()
    assert shares.max() < 1 - 1e-6


def test_weights_are_repetition(graded, rng):
    scores, codes = graded
    weight = rng.integers(1, 4, len(codes))
    rows = np.repeat(np.arange(len(codes)), weight)
    np.testing.assert_allclose(
        calibrated(scores, codes, weight.astype(float)).probabilities(scores),
        calibrated(scores[rows], codes[rows]).probabilities(scores),
        rtol=1e-9,
    )
