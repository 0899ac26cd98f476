"""Counts of a calibration plot by hand."""

import numpy as np
import pytest

from rankwise.selection.cells.measured import N_NARROW, cumulative_counts


def test_probabilities_lie_above_a_class_and_not_below_it():
    y = np.array([0.0, 1.0, 2.0])
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.0, 0.0, 1.0]])
    lowest, middle = cumulative_counts(y, shares, np.array([0.0, 1.0, 2.0]))
    assert (lowest["label"], middle["label"]) == (0.0, 1.0)
    assert lowest["sums"] == pytest.approx([0.3, 0.9, 1.0])
    assert middle["sums"] == pytest.approx([0.1, 0.3, 1.0])
    assert lowest["counts"] == middle["counts"] == [1, 1, 1]
    assert lowest["above"] == [0, 1, 1]
    assert middle["above"] == [0, 0, 1]
    assert lowest["bins"][-1] == N_NARROW - 1
