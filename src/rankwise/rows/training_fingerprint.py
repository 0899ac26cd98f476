"""A short name for the data a model was fitted on.

The fingerprint distinguishes model files and shows whether a model was fitted on this table. It
hashes labels, weights and grouping whole but at most 256 rows of X, evenly spaced and with both
ends, so that it costs milliseconds at any size: it identifies data but does not prove their
integrity. Dense rows and the same rows as CSR have the same fingerprint; a different row order
gives a different one.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Matrix, is_sparse

SAMPLED_ROWS = 256


def training_fingerprint(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None = None,
    *,
    previous: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Counts and a hash of training rows.

    ``n_samples, n_features, n_queries`` (int), ``dtype`` (str) and ``sha256`` (str, the first 16
    hexadecimal digits). ``previous`` is the fingerprint of the rows seen before (``partial_fit``):
    counts add up and the hash continues. O(n_samples + 256 n_features).
    """
    n_samples, n_features = X.shape
    counts = {"n_samples": n_samples, "n_features": n_features, "n_queries": groups.n_queries}
    digest = hashlib.sha256()
    if previous is not None:
        digest.update(previous["sha256"].encode())
    digest.update(f"{n_samples} {n_features} {X.dtype}".encode())
    for part in (y, sample_weight, groups.indptr, groups.order, *_sampled_entries(X)):
        digest.update(b"-" if part is None else np.ascontiguousarray(part).data)
    if previous is not None:
        for what in ("n_samples", "n_queries"):
            counts[what] += previous[what]
    return {**counts, "dtype": str(X.dtype), "sha256": digest.hexdigest()[:16]}


def _sampled_entries(X: Matrix) -> tuple[np.ndarray[Any, Any], ...]:
    """Row, column and value of the non-zero entries of the sampled rows, row by row."""
    n_samples = X.shape[0]
    step_rows = np.linspace(0, max(n_samples - 1, 0), min(n_samples, SAMPLED_ROWS))
    rows = X[step_rows.astype(np.int64)]
    if is_sparse(rows):
        rows = rows.tocsr()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        column, value = rows.indices, rows.data
    else:
        row, column = np.nonzero(rows)
        value = rows[row, column]
    return row.astype(np.int64), column.astype(np.int64), value
