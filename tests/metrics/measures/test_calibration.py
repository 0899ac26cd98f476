"""Calibration of ordered classes: against sorting by hand, scipy's intervals, drawn labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from rankwise.metrics import calibration


@pytest.fixture
def drawn(rng):
    """Probabilities, and labels drawn with them."""
    p = rng.dirichlet([1.0, 2.0, 1.0, 0.5], 2000)
    labels = (rng.random((2000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    return labels, p


def test_bins_are_quantiles_of_the_probability_to_lie_above(drawn):
    y, p = drawn
    found = calibration(y, p)
    assert found.classes.tolist() == [0, 1, 2, 3]
    for k, line in enumerate(found.lines):
        above = p[:, k + 1 :].sum(axis=1)
        order = np.argsort(above)
        assert line.counts.tolist() == [200] * 10
        for b in range(10):
            rows = order[200 * b : 200 * (b + 1)]
            assert line.predicted[b] == pytest.approx(above[rows].mean())
            assert line.observed[b] == pytest.approx(np.mean(y[rows] > k))
            ci = binomtest(int((y[rows] > k).sum()), 200).proportion_ci(method="exact")
            assert (line.low[b], line.high[b]) == pytest.approx((ci.low, ci.high))
        gaps = [abs(o - q) for o, q in zip(line.observed, line.predicted, strict=True)]
        assert line.error == pytest.approx(np.mean(gaps))
    assert found.error == pytest.approx(np.mean([line.error for line in found.lines]))


def test_labels_drawn_with_the_probabilities_are_calibrated(drawn):
    y, p = drawn
    lines = calibration(y, p).lines
    inside = [(line.low <= line.predicted) & (line.predicted <= line.high) for line in lines]
    assert np.mean(inside) > 0.85
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)  # as an overconfident model says
    assert calibration(y, sharp).error > 3 * calibration(y, p).error


def test_equal_probabilities_share_a_bin():
    p = np.repeat([[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]], [70, 20, 10], axis=0)
    y = np.arange(100) % 2
    line = calibration(y, p).lines[0]
    np.testing.assert_allclose(line.predicted, [0.1, 0.6, 1.0])
    assert line.counts.tolist() == [70, 20, 10]


def test_classes_in_order(rng):
    p = rng.dirichlet([1, 1, 1], 50)
    y = np.array(["low", "mid", "high"])[rng.integers(0, 3, 50)]
    named = calibration(y, p, ["low", "mid", "high"])
    codes = np.array([["low", "mid", "high"].index(label) for label in y])
    numbers = calibration(codes, p, [0, 1, 2])
    for one, other in zip(named.lines, numbers.lines, strict=True):
        np.testing.assert_array_equal(one.observed, other.observed)
    assert "P(y > mid): error" in str(named)
    assert "Calibration of 50 rows" in str(named)


@pytest.mark.parametrize("level", [0.5, 0.99])
def test_levels(drawn, level):
    y, p = drawn
    line = calibration(y[:50], p[:50], range(4), n_bins=3, confidence_level=level).lines[0]
    for share, n, low, high in zip(line.observed, line.counts, line.low, line.high, strict=True):
        ci = binomtest(round(share * n), int(n)).proportion_ci(level, method="exact")
        assert (low, high) == pytest.approx((ci.low, ci.high))


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [[0.5, 0.5]], {}, r"= \(2, 2\), .* got \(1, 2\)"),
        ([0, 0], [[1.0], [1.0]], {}, "two classes"),
        ([0, 1], [[0.5, 0.6], [0.5, 0.5]], {}, "sum to 1 in every row"),
        ([0, 1], [[1.5, -0.5], [0.5, 0.5]], {}, "at least 0 and sum to 1"),
        ([0, 1], [[np.nan, 0.5], [0.5, 0.5]], {}, "at least 0 and sum to 1"),
        (["a", "z"], [[0.5, 0.5]] * 2, {"classes": ["b", "a"]}, "got 'z'"),
        ([0, 1], [[0.5, 0.5]] * 2, {"n_bins": 0}, "n_bins must be a whole number >= 1, got 0"),
        (
            [0, 1],
            [[0.5, 0.5]] * 2,
            {"confidence_level": 1},
            "confidence_level must lie between 0 and 1, got 1",
        ),
    ],
)
def test_what_cannot_be_calibrated(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        calibration(y, p, **options)
