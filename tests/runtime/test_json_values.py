"""Values become strict JSON."""

from __future__ import annotations

import json

import numpy as np

from rankwise.runtime.messages import convert_to_json


def test_numbers_arrays_and_collections():
    value = {"a": [float("nan"), float("inf"), 1.5], 2: np.arange(2.0), "t": ("x", None, True)}
    found = convert_to_json(
        value | {"s": {1}, 1: (np.float32(0.5), np.int64(3), np.array([[np.nan]]))}
    )
    assert found == {
        "a": [None, None, 1.5], "2": [0.0, 1.0], "t": ["x", None, True], "s": [1],
        "1": [0.5, 3, [[None]]],
    }  # fmt: skip
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert convert_to_json(np.array(["x"])) == ["x"]
    assert convert_to_json(len) == repr(len)
    assert convert_to_json(True) is True
