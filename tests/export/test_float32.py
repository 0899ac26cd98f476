"""Thresholds in float32 decide as those in float64 do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankwise.export.maps import Scaled
from rankwise.export.parts import SOLR_SLACK, floor_before, floor_float32, subtract_slack

F = np.float32
numbers = st.floats(-1e30, 1e30)
thresholds = hnp.arrays(np.float64, 20, elements=numbers)


@given(thresholds, hnp.arrays(np.float32, 20, elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_floor(T, x):
    t = floor_float32(T)
    assert t.dtype == F
    for values in (x, t, np.nextafter(t, F(np.inf)), np.nextafter(t, F(-np.inf))):
        np.testing.assert_array_equal(values <= t, values.astype(np.float64) <= T)


def test_floor_at_the_ends():
    with np.errstate(over="ignore"):
        found = floor_float32([np.inf, -np.inf, 1e300, -1e300, -3.5e38])
    largest = np.finfo(F).max
    np.testing.assert_array_equal(found, [np.inf, -np.inf, largest, -np.inf, -np.inf])


@given(
    hnp.arrays(np.float64, 20, elements=st.floats(-50, 50)),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_floor_before_scalers(T, center, spread):
    features = np.zeros(20, dtype=np.int64)
    scaled = (
        Scaled(np.array([center]), np.array([spread])),
        Scaled(np.array([0.1]), np.array([0.3])),
    )
    t = floor_before(scaled, T, features, np.float32)
    for values in (t, np.nextafter(t, F(np.inf)), np.nextafter(t, F(-np.inf))):
        after = ((values.astype(np.float64) - center) / spread - 0.1) / 0.3
        np.testing.assert_array_equal(values <= t, after <= T)


def sums(T):
    return subtract_slack(T) + SOLR_SLACK


def test_solr_reads_the_floor_back():
    rng = np.random.default_rng(0)
    for scale, share in ((1e-4, 0.02), (1e-2, 1e-3), (1.0, 1e-4), (1e3, 0.0), (1e8, 0.0)):
        T = rng.uniform(-scale, scale, size=20_000)
        T = T[np.abs(T) > 1e-5]
        assert np.mean(sums(T) != floor_float32(T)) <= share
    np.testing.assert_array_equal(sums([0.0, np.inf, -np.inf]), [0.0, np.inf, -np.inf])


def test_where_no_sum_is_the_floor():
    """Near 0 the slack is coarser than float32; just above -1 every second number is left out."""
    rng = np.random.default_rng(1)
    near_zero = rng.uniform(-1e-6, 1e-6, 1000)
    assert np.abs(sums(near_zero) - near_zero).max() <= 1.2e-13
    above = F(-1) + np.arange(1, 60, dtype=F) * F(2**-24)
    found = sums(above.astype(np.float64))
    missed = found != above
    assert 0 < missed.sum() < 10
    # A threshold that is a value of a row itself keeps the row on its side.
    assert (found >= above).all()
    np.testing.assert_array_equal(found[missed], np.nextafter(above[missed], F(0)))
    exact = near_zero.astype(F).astype(np.float64)
    assert (sums(exact) >= exact)[exact > 0].all()
    # LightGBM and XGBoost part zeros from all others so.
    tiny = float(F(1e-35))
    assert sums([tiny])[0] >= 0 > sums([-tiny])[0]
    assert sums([1e-46])[0] >= 0 > sums([-1e-46])[0]


def test_leaves_have_no_threshold():
    assert subtract_slack([np.nan, 1.0]).shape == (2,)
