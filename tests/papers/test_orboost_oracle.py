"""ORBoost beside the authors' program: losses and errors on two sets, as `orensemble` prints them.

Rows are ``RandomState(0).permutation(1000)``, the first 750 to train on; stumps on raw features.
"""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import ORBoost

ROUNDS = [0, 1, 10, 100, 200]
ORACLE = {  # loss after these rounds, mean absolute loss on training and test rows after the last
    ("era", "all"): (
        [4275.195644, 3901.484509, 3404.668106, 3319.238139, 3303.534688], 1.20400, 1.25200,
    ),
    ("era", "lr"): (
        [1391.684117, 1382.047057, 1357.536503, 1350.668417, 1349.430127], 1.23867, 1.33200,
    ),
    ("lev", "all"): (
        [2016.612507, 1788.713885, 1451.905710, 1400.645107, 1400.513027], 0.42400, 0.44000,
    ),
    ("lev", "lr"): (
        [1276.518740, 1225.872332, 1111.236940, 1089.841446, 1089.805268], 0.42533, 0.44400,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=["era", "lev"])
def judged(request, data_root):
    table = np.loadtxt(data_root / "ordinal" / f"{request.param}.csv.gz", delimiter=",", skiprows=1)
    return request.param, table[:, :-1], table[:, -1].astype(int)


@pytest.mark.parametrize("form", ["all", "lr"])
@pytest.mark.parametrize("max_bins", [255, None])
def test_losses_and_errors_are_those_of_the_authors_program(judged, form, max_bins):
    name, X, y = judged
    rows = np.random.RandomState(0).permutation(1000)
    train, test = rows[:750], rows[750:]
    booster = ORBoost(200, form, max_bins=max_bins).fit(X[train], y[train])
    losses, train_error, test_error = ORACLE[name, form]
    assert len(booster.loss_curve_) == 201
    np.testing.assert_allclose(booster.loss_curve_[ROUNDS], losses, rtol=1e-8)
    assert -booster.score(X[train], y[train]) == pytest.approx(train_error, abs=5e-6)
    assert -booster.score(X[test], y[test]) == pytest.approx(test_error, abs=5e-6)


@pytest.mark.parametrize(
    ("name", "seed", "form", "test_error"),
    [
        ("tae", 0, "all", 29 / 38),  # 27 with the middles below the cuts
        ("tae", 0, "lr", 27 / 38),  # 25
        ("tae", 2, "lr", 34 / 38),  # 35
        ("wine-quality-red", 2, "all", 182 / 400),  # 183
    ],
)
def test_values_in_the_middle_of_two_are_above_as_in_the_authors_program(
    name, seed, form, test_error, data_root
):
    """Test rows with values at which a stump cuts, after 100 rounds."""
    table = np.loadtxt(data_root / "ordinal" / f"{name}.csv.gz", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    rows = np.random.RandomState(seed).permutation(len(y))
    train, test = np.split(rows, [3 * len(y) // 4])
    booster = ORBoost(100, form, max_bins=None).fit(X[train], y[train])
    assert np.isin(np.nextafter(booster.ensemble_.thresholds, np.inf), X[test]).any()
    assert -booster.score(X[test], y[test]) == pytest.approx(test_error, abs=1e-9)
