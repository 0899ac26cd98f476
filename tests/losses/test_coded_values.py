"""Values in a byte each are the values."""

import numpy as np
import pytest

from rankwise.losses import lambda_gradients as coded_values
from rankwise.losses.lambda_gradients import CodedValues


@pytest.mark.parametrize(("n_levels", "size"), [(1, 1), (5, 1), (256, 1), (257, 8)])
def test_slices_are_those_of_the_array(n_levels, size, rng, monkeypatch):
    monkeypatch.setattr(coded_values, "CHUNK", 100)
    levels = np.sort(rng.normal(size=n_levels))
    values = levels[rng.permutation(np.arange(1000) % n_levels)]
    coded = CodedValues.of(values)
    assert len(coded) == 1000 and coded.codes.itemsize == size
    for rows in (slice(None), slice(40, 900), slice(7, 7)):
        np.testing.assert_array_equal(coded[rows], values[rows])
