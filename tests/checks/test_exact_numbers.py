"""Whole numbers beyond 2^53 keep their value or are refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from rankwise.checks.exact_numbers import exact_float64, token_changes

LIMIT = 2**53
BAD = {
    "int64": np.array([LIMIT, LIMIT + 1]),
    "negative": np.array([0, -LIMIT - 1]),
    "largest int64": np.array([0, 2**63 - 1]),
    "uint64": np.array([0, 2**64 - 1], dtype=np.uint64),
    "list": [0.5, LIMIT + 1],
    "tuple": (2**70, LIMIT + 1),
    "object": np.array([0, LIMIT + 1], dtype=object),
    "series": pd.Series([0, LIMIT + 1]),
    "nullable": pd.array([0, LIMIT + 1], dtype="Int64"),
    "Decimal": [Decimal(0), Decimal(LIMIT + 1)],
    "long Decimal": [Decimal(0), Decimal("1e40")],
    "text": ["0", str(LIMIT + 1)],
}
GOOD = {
    "limits": np.array([-(2**63), LIMIT, LIMIT + 2]),
    "powers": np.array([2**63, 0], dtype=np.uint64),
    "list": [0.5, 2**70],
    "floats": np.array([1e300, 0.1]),
    "float32": np.array([1e30, 0.1], dtype=np.float32),
    "Decimal": [Decimal("0.1"), Decimal("1e20")],
    "Fraction": [Fraction(1, 3), 1],
    "truth": np.array([True, False]),
    "empty": [],
}


@pytest.mark.parametrize("values", BAD.values(), ids=BAD)
def test_a_changed_number_is_refused(values):
    with pytest.raises(ValueError, match=r"scores must hold numbers that float64 keeps, .* row 1"):
        exact_float64(values, "scores")


@pytest.mark.parametrize("values", GOOD.values(), ids=GOOD)
def test_other_numbers_become_float64(values):
    found = exact_float64(values, "scores")
    assert found.dtype == np.float64
    assert found.tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    "token, changes",
    [
        (b"9007199254740992", False),
        (b"9007199254740993", True),
        (b"+9007199254740993", True),
        (b"-9007199254740993.00", True),
        (b"9007199254740993e0", False),
        (b"0.12345678901234567890", False),
        (b"00000000000000000000001", False),
        (b"1e300", False),
    ],
)
def test_tokens_of_files(token, changes):
    assert token_changes(token) is changes
