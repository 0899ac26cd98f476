"""Codes of ids against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.click_models import count_repeats, encode_keys


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_codes_are_numbered_by_first_appearance(dtype):
    rng = np.random.default_rng(0)
    first = rng.integers(-5000, 5000, size=30_000).astype(dtype)
    second = rng.integers(3, size=30_000).astype(np.int32)
    code = np.empty(len(first), dtype=np.int32)
    for other in (second, second[:0]):
        keys = encode_keys(first, 3, other, code)
        wanted = 3 * first.astype(np.int64) + (other if len(other) else 0)
        numbers = {}
        naive = [numbers.setdefault(int(key), len(numbers)) for key in wanted]
        assert code.tolist() == naive
        assert keys.tolist() == list(numbers)


def test_repeats_are_found():
    group, member = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 1, 1, 1, 2])
    assert count_repeats(group, member, 3) == 2
