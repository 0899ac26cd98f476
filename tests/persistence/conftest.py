"""A saved model."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RidgeRanker


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 3))
    return X, rng.integers(0, 3, 40), np.arange(40) % 4


@pytest.fixture
def model(rows):
    X, y, qid = rows
    return RidgeRanker(alpha=0.5).fit(X, y, qid=qid)


@pytest.fixture
def model_file(model, tmp_path):
    return model.save(tmp_path / "model.skops")
