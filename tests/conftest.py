"""Shared fixtures: where data lie, what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder named by RANKWISE_DATA; tests that need it skip where it is absent."""
    root = os.environ.get("RANKWISE_DATA", "")
    if not root or not Path(root).is_dir():
        pytest.skip("RANKWISE_DATA does not name a folder with the data sets")
    return Path(root)


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, fresh for each test."""
    return np.random.default_rng(20261121)
