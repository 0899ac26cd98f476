"""Ties of splits."""

import numpy as np

from rankwise.trees.node_splits import first_best


def test_the_first_column_within_the_tie_wins():
    gains = np.array([[1.0, 3.0, 0.5], [2.0, 3.0, 0.9], [2.0, 1.0, 1.0]])
    assert first_best(gains, np.zeros(3)).tolist() == [1, 0, 2]
    assert first_best(gains, np.array([0.0, 0.0, 0.2])).tolist() == [1, 0, 1]
