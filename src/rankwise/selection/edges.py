"""Notes on parameters chosen at an end of the tried values, or by a measure that tied them all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

# With fewer values, an end is nearly always best.
FEWEST_VALUES = 5


def edge_notes(
    chosen: Mapping[str, Any],
    search: Sequence[Mapping[str, Any]],
    *,
    greater_is_better: bool = True,
) -> list[str]:
    """One line for every chosen number that is an end of the values tried, or tied with all.

    ``search`` has all tried settings, as ``{"params": {...}, "score": float}``. Chosen values other
    than finite numbers, and 0, are skipped. So are parameters with fewer than five tried values,
    and those whose neighbouring value was equally good, since nothing is to be gained beyond the
    end.

    Examples
    --------
    >>> search = [{"params": {"C": 10.0**k}, "score": 0.1 * k} for k in range(5)]
    >>> edge_notes({"C": 1e4}, search)
    ['C = 10000 is the largest of 5 values tried: a better one may lie beyond']
    """
    notes = []
    for name, value in chosen.items():
        if not isinstance(value, Real) or value == 0 or not math.isfinite(value):
            continue
        best: dict[float, float] = {}
        for setting in search:
            tried, score = setting["params"].get(name), setting["score"]
            if isinstance(tried, Real):
                score = score if greater_is_better else -score
                best[float(tried)] = max(score, best.get(float(tried), -math.inf))
        ascending = sorted(best)
        if len(ascending) < FEWEST_VALUES:
            continue
        if len({*best.values()}) == 1 and math.isfinite(best[ascending[0]]):
            notes.append(
                f"{name} = {value:g} is the first of {len(ascending)} values tried, which the "
                "measure does not tell apart"
            )
        if value not in (ascending[0], ascending[-1]):
            continue
        is_largest = value == ascending[-1]
        neighbour = ascending[-2 if is_largest else 1]
        if best[float(value)] > best[neighbour]:
            notes.append(
                f"{name} = {value:g} is the {'largest' if is_largest else 'smallest'} of "
                f"{len(ascending)} values tried: a better one may lie beyond"
            )
    return notes
