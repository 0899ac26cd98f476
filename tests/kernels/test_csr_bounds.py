"""Index arrays that make a CSR matrix, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.svmlight import is_canonical


@pytest.mark.parametrize(
    ("indptr", "indices", "expected"),
    [
        ([0], [], True),
        ([0, 0, 2, 2], [0, 3], True),
        ([0, 1, 2], [3, 3], True),
        ([], [], False),
        ([1, 2], [0, 1], False),
        ([0, 1], [0, 1], False),
        ([0, 2, 1, 2], [0, 1], False),
        ([0, 3, 2], [0, 1], False),
        ([0, -1, 2], [0, 1], False),
        ([0, 2], [1, 1], False),
        ([0, 2], [2, 1], False),
        ([0, 1], [4], False),
        ([0, 1], [-1], False),
    ],
)
def test_canonical(indptr, indices, expected):
    arrays = np.array(indptr, np.int32), np.array(indices, np.int32)
    assert is_canonical(*arrays, 4) is expected
