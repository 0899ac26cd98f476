"""Means, spreads and tests that several tables show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from rankwise_papers.shared_tables import (
    all_or_none,
    mean_and_deviation,
    mean_and_error,
    mean_and_half_interval,
    resampling_p_value,
)


@pytest.mark.parametrize("values", [[1.0, None, 4.0], np.array([np.nan, 4.0, 1.0])])
def test_spreads_are_those_of_the_values_that_are_there(values):
    deviation = 3 / np.sqrt(2)
    assert mean_and_deviation(values) == (2.5, pytest.approx(deviation))
    assert mean_and_error(values) == (2.5, pytest.approx(deviation / np.sqrt(2)))


@pytest.mark.parametrize("of", [mean_and_deviation, mean_and_error])
def test_too_few_values_have_no_spread(of):
    assert of(None) == of([]) == of([None]) == (None, None)
    assert of([None, 2.0]) == (2.0, None)


def test_half_of_the_interval_over_strata():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    mean, half = mean_and_half_interval(values, ["a", "a", "a", "b"])
    assert mean == 2.0 and half is not None and 0.2 < half < 0.8
    assert mean_and_half_interval(values[1:2], ["a"]) == (1.0, None)


def test_all_or_none():
    assert all_or_none([0, 1]) == [0, 1]
    assert all_or_none([0, None]) is None


def test_variance_of_draws_that_share_rows(rng):
    differences, one = rng.normal(0.1, 1.0, 400), np.zeros(400)
    corrected = resampling_p_value(differences, one, test_per_train=1.0)
    t = differences.mean() / np.sqrt(differences.var(ddof=1) * (1 / 400 + 1))
    assert corrected == pytest.approx(2 * student.sf(abs(t), 399), rel=1e-12)
    # Without shared rows it is Student's paired test.
    plain = resampling_p_value(differences, one, test_per_train=0.0)
    assert plain == pytest.approx(ttest_1samp(differences, 0.0).pvalue, rel=1e-10)
    # What differs between strata is no variance.
    strata = np.repeat([0, 1], 200)
    apart = differences - differences.mean() + np.where(strata == 0, -5.0, 5.5)
    assert ttest_1samp(apart, 0.0).pvalue > 0.1
    assert resampling_p_value(apart, strata, 0.0) < 1e-4
    assert resampling_p_value(np.zeros(3), np.zeros(3), 1.0) == 1.0
    assert resampling_p_value(np.ones(3), np.zeros(3), 1.0) == 0.0
    assert np.isnan(resampling_p_value(np.ones(2), np.arange(2), 1.0))
