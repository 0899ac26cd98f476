"""Rows of the ordinal square, in two parts."""

from __future__ import annotations

import pytest

from rankwise.datasets import make_ordinal_square


@pytest.fixture
def square():
    X, y = make_ordinal_square(400, random_state=1)
    return X[:300], y[:300], X[300:], y[300:]
