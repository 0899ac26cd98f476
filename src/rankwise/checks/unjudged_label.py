"""Check the label that marks rows without a judgement."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def check_unjudged(label: Any) -> float | None:
    """Label of unjudged rows (a finite number); None if they have none ("missing")."""
    if isinstance(label, str) and label == "missing":
        return None
    if isinstance(label, bool) or not isinstance(label, Real) or not math.isfinite(label):
        raise ValueError(f"unjudged must be a number such as -1, or 'missing', got {label!r}.")
    return float(label)
