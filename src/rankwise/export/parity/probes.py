"""Rows on which an export can go wrong: at thresholds, at zero, missing and unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.export.float32 import SOLR_SLACK, floor_float32, subtract_slack
from rankwise.export.maps import Trees
from rankwise.export.parity.exported_file import ExportedFile
from rankwise.typing import Float64Array

_FEWEST, _MOST = 500, 20_000
_LARGEST = np.float32(1e38)


def probe_rows(
    trees: Trees, X: Float64Array, rng: Any, exported: ExportedFile, *, with_missing: bool
) -> Float64Array:
    """Rows of float32 values at the thresholds of each column and at their neighbours.

    Returns float64 (n_probes, n_features). The values of ``X`` fill the columns too. The program
    that reads the file may not tell some values apart. With ``with_missing``, a tenth of the values
    is missing.
    """
    columns = [_values(trees, column, X[:, column], exported) for column in range(X.shape[1])]
    n_probes = int(np.clip(max(map(len, columns), default=0), _FEWEST, _MOST))
    out = np.empty((n_probes, X.shape[1]))
    for column, values in enumerate(columns):
        repeats = -(-n_probes // len(values))
        out[:, column] = np.concatenate([rng.permutation(values) for _ in range(repeats)])[
            :n_probes
        ]
    if with_missing:
        out[rng.random_sample(out.shape) < 0.1] = np.nan
    return out


def _values(trees: Trees, column: int, given: Float64Array, exported: ExportedFile) -> Float64Array:
    """Values to try in a column."""
    cuts, categories = [], set()
    for tree in trees.trees:
        at = np.flatnonzero(tree.feature == column)
        nominal = [node for node in at.tolist() if node in tree.members]
        cuts.append(tree.threshold[np.setdiff1d(at, nominal)])
        for node in nominal:
            for side in tree.members[node]:
                categories.update(side.tolist())
    given = given[np.isfinite(given)][:200]
    if categories:
        unknown = max(categories) + 1.0
        return np.array([*categories, unknown, unknown + 100.0, *given[:50]])
    thresholds = np.unique(np.concatenate([np.zeros(0), *cuts]))
    near = thresholds[np.abs(thresholds) < _LARGEST].astype(np.float32)
    below, above = (np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf))
    largest = np.finfo(np.float32).max
    ends = np.array([0.0, -0.0, 1.0, -1.0, largest, -largest], dtype=np.float32)
    values = np.concatenate([near, below, above, ends, given.astype(np.float32)])
    values = values.astype(np.float64)
    values = values[(np.abs(values) > exported.smallest) | (values == 0)]
    return values[~_lies_beside_slack(values, thresholds)] if exported.has_slack else values


def _lies_beside_slack(values: Float64Array, thresholds: Float64Array) -> Any:
    """Values between a threshold and the nearest sum with Solr's slack, which it cannot reach."""
    sums = (subtract_slack(thresholds) + SOLR_SLACK).astype(np.float64)
    low = np.minimum(floor_float32(thresholds), sums)
    high = np.maximum(floor_float32(thresholds), sums)
    apart = low < high
    inside = (values[:, None] > low[apart]) & (values[:, None] <= high[apart])
    return inside.any(axis=1)
