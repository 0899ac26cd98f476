"""Log loss, Brier score and calibration error of probabilities of relevance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from rankwise.metrics import relevance_calibration
from rankwise.report import plot_calibration


def draw(seed, n_queries=40, size=20, shift=0.0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 3.0, n_queries * size)
    y = rng.random(len(p)) < np.clip(p + shift, 0, 1)
    return y.astype(int), p, np.arange(len(p)) // size


def test_values_are_those_of_scikit_learn_and_of_a_naive_binning():
    y, p, qid = draw(0)
    found = relevance_calibration(y, p, qid, n_bins=8)
    assert found.log_loss == pytest.approx(log_loss(y, p), rel=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(y, p), rel=1e-12)
    parts = np.array_split(np.argsort(p, kind="stable"), 8)
    naive = sum(abs(y[part].mean() - p[part].mean()) * len(part) for part in parts) / len(y)
    assert found.binned_error == pytest.approx(naive, rel=1e-12)
    assert found.base_log_loss == pytest.approx(log_loss(y, np.full(len(y), y.mean())))
    assert (found.n_rows, found.n_queries) == (800, 40)
    assert found.to_frame()["counts"].tolist() == [100.0] * 8


def test_intervals_of_means_are_those_of_a_ratio_of_sums_over_queries():
    y, p, qid = draw(1, n_queries=30)
    kept = np.random.default_rng(0).random(len(y)) < 0.5  # queries of unequal sizes
    y, p, qid = y[kept], p[kept], qid[kept]
    low, high = relevance_calibration(y, p, qid).brier_interval
    loss = (y - p) ** 2
    sums = np.array([np.sum(loss[qid == q] - loss.mean()) for q in range(30)])
    error = np.sqrt(30 / 29 * np.sum(sums**2)) / len(y)
    np.testing.assert_allclose([low, high], loss.mean() + 2.045230 * error * np.array([-1, 1]))


def test_noise_is_not_taken_for_an_error():
    """Of true probabilities the binned error is about .03 here, and the corrected one below it."""
    found = [relevance_calibration(*draw(seed)) for seed in range(40)]
    assert np.mean([one.binned_error for one in found]) > 0.02
    assert np.median([one.error for one in found]) < 0.005
    assert np.mean([one.error_interval[0] == 0.0 for one in found]) > 0.9


@pytest.mark.parametrize(("n_queries", "shift"), [(8, 0.1), (40, 0.1), (8, -0.02), (40, -0.02)])
def test_intervals_contain_the_true_error(n_queries, shift):
    _, p, _ = draw(0, 5000)
    true = np.abs(np.clip(p + shift, 0, 1) - p).mean()
    held = []
    for seed in range(40):
        low, high = relevance_calibration(*draw(seed, n_queries, 10, shift)).error_interval
        held.append(low <= true <= high)
    assert np.mean(held) >= 0.9


def test_dependent_rows_of_a_query_widen_intervals():
    rng = np.random.default_rng(0)
    qid = np.arange(2000) // 50
    y = rng.random(40)[qid] < 0.3  # all documents of a query alike
    p = np.clip(0.3 + 0.05 * rng.normal(size=2000), 0, 1)
    by_query, alone = relevance_calibration(y, p, qid), relevance_calibration(y, p)
    assert np.diff(by_query.brier_interval) > 4 * np.diff(alone.brier_interval)
    assert np.diff(by_query.error_interval) > 2 * np.diff(alone.error_interval)
    assert alone.error_interval[0] > 0 or abs(y.mean() - 0.3) < 0.02


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 1, 0, 1], [0.1, 0.5, 0.6, 0.7]),
        ([0, 1, 1, 1], [0.9, 0.1, 1.0, 1.0]),
        ([0, 0, 1, 0], [0.0, 0.0, 1.0, 0.9]),
    ],
)
def test_intervals_of_two_queries_stay_in_range(y, p):
    found = relevance_calibration(y, p, [1, 1, 2, 2])
    for name, most in (("error", 1.0), ("log_loss", np.inf), ("brier", 1.0)):
        low, high = getattr(found, f"{name}_interval")
        assert 0.0 <= low <= getattr(found, name) <= high <= most


def test_few_rows_certain_rows_and_grades():
    alone = relevance_calibration([0, 2], [0.2, 0.8], qid=[1, 1])
    assert np.isnan(alone.error_interval).all() and np.isnan(alone.log_loss_interval).all()
    wrong = relevance_calibration([0, 1, 1], [1.0, 0.5, 0.5], qid=[1, 2, 3])
    assert wrong.log_loss == np.inf and np.isnan(wrong.log_loss_interval).all()
    strict = relevance_calibration([1, 2, 1, 2], [0.1, 0.9, 0.1, 0.9], rel=2)
    assert strict.base_rate == 0.5 and strict.brier == pytest.approx(0.01)
    never = relevance_calibration(np.zeros(200), np.full(200, 0.01), np.arange(200) // 10)
    assert never.base_log_loss == 0 and never.error_interval[1] > 0.01


@pytest.mark.parametrize(
    ("y", "p", "told"),
    [
        ([0, 1], [0.5], "shape"),
        ([], [], "at least one row"),
        ([0, 1], [0.5, 1.5], r"got 1.5 at row 1. Scores are not probabilities"),
        ([0, 1], [np.nan, 0.5], "got nan at row 0"),
        ([0, 1], [[0.5, 0.5], [0.4, 0.6]], "shape"),
        ([0, np.nan], [0.5, 0.5], "y contains NaN at row 1. Drop unjudged rows"),
        ([0, np.inf], [0.5, 0.5], "y contains infinity at row 1"),
        ([0, None], [0.5, 0.5], "y"),
    ],
)
def test_wrong_grades_and_probabilities_are_named(y, p, told):
    with pytest.raises(ValueError, match=told):
        relevance_calibration(y, p)


def test_the_plot_shows_the_bins():
    found = relevance_calibration(*draw(0))
    axes = plot_calibration({"ranker": found}).axes[0]
    np.testing.assert_array_equal(axes.lines[1].get_xdata(), found.line.predicted)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), found.line.observed)
    assert axes.get_legend() is None
    assert "calibration error" in str(found)
