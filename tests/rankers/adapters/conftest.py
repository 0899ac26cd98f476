"""Small judged data that trees can learn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest


class Judged(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


@pytest.fixture(scope="session")
def judged() -> Judged:
    """600 rows of 30 interleaved string queries; grades 0..4 follow the first two columns."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(600, 5)), 3)
    noise = 0.3 * rng.normal(size=600)
    y = np.clip(np.round(2 + X[:, 0] + 0.5 * X[:, 1] + noise), 0, 4)
    return Judged(X, y, rng.integers(0, 30, 600).astype(str))
