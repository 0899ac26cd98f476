"""Strict JSON of results and facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any


def convert_to_json(value: Any) -> Any:
    """JSON value of nested mappings, sequences, sets, arrays and numbers; else the ``str``.

    NaN and infinities become null.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy
        return convert_to_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): convert_to_json(item) for key, item in value.items()}
    if isinstance(value, Sequence | Set):
        return [convert_to_json(item) for item in value]
    return str(value)
