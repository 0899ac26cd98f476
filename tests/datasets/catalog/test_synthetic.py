"""The ordinal square: heights by hand, and what the best rule loses by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from rankwise.datasets import make_ordinal_square, ordinal_square_ranks
from rankwise.datasets.catalog.ordinal import SQUARE_NOISE, SQUARE_THRESHOLDS


def ranks_by_definition(heights):
    b = (-np.inf, *SQUARE_THRESHOLDS)
    return [max(r for r in range(1, 6) if height > b[r - 1]) for height in heights]


def test_ranks_are_the_definition_s():
    X, y = make_ordinal_square(200, noise=0.0, random_state=3)
    heights = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    assert y.tolist() == ranks_by_definition(heights)
    np.testing.assert_array_equal(ordinal_square_ranks(X), y)
    corner = np.array([[0.75, 0.6]])  # height 0.25, which is not above the threshold
    assert ordinal_square_ranks(corner).tolist() == ranks_by_definition([0.25]) == [3]


def test_points_and_ranks_are_those_of_the_text():
    """Shares of ranks and the loss of the ranks without noise, against a quadrature."""
    side = (np.arange(400) + 0.5) / 400 - 0.5
    heights = 10 * side[:, None] * side
    below = [ndtr((b - heights) / SQUARE_NOISE).mean() for b in SQUARE_THRESHOLDS]
    loss = sum(ndtr(-abs(b - heights) / SQUARE_NOISE).mean() for b in SQUARE_THRESHOLDS)
    assert loss == pytest.approx(0.1526, abs=5e-5)
    X, y = make_ordinal_square(200_000, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.003)
    shares = np.diff([0.0, *below, 1.0])
    np.testing.assert_allclose(np.bincount(y)[1:] / len(y), shares, atol=0.004)
    assert np.abs(y - ordinal_square_ranks(X)).mean() == pytest.approx(loss, abs=0.004)


def test_published_noise_is_a_standard_deviation():
    """Read as a variance, even the best rule loses more than twice what the paper's tree does."""
    side = (np.arange(400) + 0.5) / 400 - 0.5
    heights = 10 * side[:, None] * side
    noise = np.sqrt(0.125)
    loss = sum(ndtr(-abs(b - heights) / noise).mean() for b in SQUARE_THRESHOLDS)
    assert loss == pytest.approx(0.404, abs=5e-4)
    X, y = make_ordinal_square(100_000, noise=noise, random_state=0)
    assert np.abs(y - ordinal_square_ranks(X)).mean() == pytest.approx(loss, abs=0.01)


def test_same_seed_same_rows():
    first, second = (make_ordinal_square(50, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], make_ordinal_square(50, random_state=8)[0])


def test_noise_is_not_negative():
    with pytest.raises(ValueError, match=r"noise must be a number >= 0, got -1"):
        make_ordinal_square(3, noise=-1)
