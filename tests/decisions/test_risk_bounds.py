"""Bounds of rates against scipy's exact binomial tests."""

from __future__ import annotations

import pytest
from scipy.stats import binom, binomtest

from rankwise.decisions import fewest_queries
from rankwise.decisions.risk_bounds import risk_p_value


@pytest.mark.parametrize(("wrong", "n", "at_most"), [(0, 29, 0.1), (3, 50, 0.2), (50, 50, 0.5)])
def test_p_values_are_exact(wrong, n, at_most):
    exact = binomtest(wrong, n, at_most, alternative="less").pvalue
    assert risk_p_value(wrong, n, at_most) == pytest.approx(exact)


def test_without_decisions_nothing_is_shown():
    assert risk_p_value([0, 0], [0, 1], 0.1) == pytest.approx([1.0, 0.9])


@pytest.mark.parametrize("at_most", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_one_query_fewer_would_not_do(at_most, level):
    n = fewest_queries(at_most, level)
    assert (1 - at_most) ** n <= 1 - level < (1 - at_most) ** (n - 1)
    more = fewest_queries(at_most, level, risk=at_most / 2)
    assert binom.cdf(-(-more * at_most // 2), more, at_most) <= 1 - level and more > n


def test_numbers_of_queries_that_are_huge():
    assert fewest_queries(1e-9) == 2_995_732_273
    assert fewest_queries(0.1, risk=0.0995) == 975_206


@pytest.mark.parametrize("risk", [0.1, -0.1, float("nan")])
def test_risks_that_no_number_of_queries_can_show(risk):
    with pytest.raises(ValueError, match="risk must lie"):
        fewest_queries(0.1, risk=risk)
