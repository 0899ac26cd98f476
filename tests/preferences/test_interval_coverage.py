"""Rank intervals of equal items tell them apart in 5 % of samples at most, however small."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.preference_coverage import SmallBoard, count_false_claims

from rankwise import PairwisePreferences, PlackettLuce
from rankwise.preferences import rank_simultaneously

# Of 200 samples, 18 or more are false claims with a probability of 1 % if the level holds.
SAMPLES, MOST = 200, 17


def check(board):
    false, done = count_false_claims(board, SAMPLES)
    assert done > SAMPLES / 4  # without a penalty, not all samples have finite estimates
    assert false <= MOST


@pytest.mark.parametrize(
    ("m", "n", "alpha"), [(2, 3, 1.0), (3, 10, 1.0), (3, 10, 0.1), (5, 20, 0.1), (5, 50, 0.0)]
)
def test_few_comparisons(m, n, alpha):
    check(SmallBoard("pairs", m, n, alpha))


@pytest.mark.parametrize(("m", "n", "alpha"), [(4, 2, 1.0), (4, 5, 1.0), (8, 10, 0.0)])
def test_few_orders(m, n, alpha):
    check(SmallBoard("orders", m, n, alpha))


def test_two_wins_with_a_penalty_are_not_significant():
    ranks = PairwisePreferences(alpha=1.0).fit([["x", "y"]] * 2, [1, 1]).rank_intervals()
    assert ranks.low.tolist() == [1, 1]
    assert ranks.high.tolist() == [2, 2]


def test_two_orders_with_a_penalty_are_not_significant():
    ranks = PlackettLuce(alpha=1.0).fit(["a > b > c", "b > c"]).rank_intervals()
    assert ranks.low.tolist() == [1, 1, 1]
    assert ranks.high.tolist() == [3, 3, 3]


def test_published_errors_have_no_floor():
    """Rank intervals use the larger error of each difference; standard errors are those printed."""
    orders = ["a > b > c", "a > b > c", "c > b > a", "b > a > c"]
    sandwich, model = (
        PlackettLuce(covariance=kind, reference="a").fit(orders)
        for kind in ("sandwich", "information")
    )
    assert (sandwich.standard_errors_ < model.standard_errors_ - 0.01).any()
    np.testing.assert_allclose(sandwich.model_covariance_, model.covariance_, atol=1e-12)
    np.testing.assert_allclose(model.model_covariance_, model.covariance_, atol=0)
    direct = rank_simultaneously(sandwich.strengths_, sandwich.covariance_, floor=model.covariance_)
    assert direct.critical == sandwich.rank_intervals().critical
