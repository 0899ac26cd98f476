"""Tables that the experiments on fusion share: means over queries with paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.shared_tables import ABSENT

Rows = Mapping[str, Mapping[str, Sequence[float]] | None]


def effectiveness(rows: Rows, measures: Sequence[str], against: Mapping[str, str]) -> list[Value]:
    """Means of all measures, and Holm-corrected p of the first against some of the rows.

    ``against`` maps a column to the row that all others are tested against there.
    """
    first = measures[0]
    found = {name: np.array(row[first], float) for name, row in rows.items() if row is not None}
    adjusted = {
        column: _holm(found, found[name]) for column, name in against.items() if name in found
    }
    values = []
    for name, row in rows.items():
        if row is None:
            values.append(Value(name, first, note=ABSENT))
            continue
        values += [mean(name, measure, row[measure]) for measure in measures]
        values += [Value(name, column, p[name]) for column, p in adjusted.items() if name in p]
    return values


def best(rows: Rows, measure: str) -> str:
    """Name of the row with the largest mean, "" without rows."""
    known = {name: np.mean(row[measure]) for name, row in rows.items() if row is not None}
    return max(known, key=lambda name: known[name]) if known else ""


def mean(row: str, column: str, values: Sequence[float], **published: Any) -> Value:
    """Mean with its standard error."""
    array = np.array(values, float)
    error = array.std(ddof=1) / np.sqrt(len(array))
    return Value(row, column, array.mean(), error, **published)


def _holm(found: Mapping[str, Float64Array], other: Float64Array) -> dict[str, float]:
    tested = {
        name: paired_test(values, other).p_value
        for name, values in found.items()
        if not np.array_equal(values, other)
    }
    return dict(zip(tested, holm(list(tested.values())).tolist(), strict=True))
