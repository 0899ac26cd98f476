"""Cross-validation folds that depend on what the rows are, not on their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array, Matrix

_SEED = 0  # folds are part of the method: the same for every random_state


def query_folds(groups: QueryGroups, n_folds: int) -> list[Int64Array]:
    """Query numbers of each fold: queries sorted by id, shuffled with a fixed seed, dealt out."""
    order = np.random.RandomState(_SEED).permutation(_sorted_by_id(groups.ids))
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def row_folds(X: Matrix, y: Float64Array, n_folds: int) -> list[Int64Array]:
    """Row numbers of each fold: rows sorted by a hash of their content, shuffled, dealt out."""
    keys = _row_hashes(X, y)
    order = np.random.RandomState(_SEED).permutation(np.argsort(keys, kind="stable"))
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def _sorted_by_id(ids: np.ndarray[Any, Any]) -> Int64Array:
    if ids.dtype != object:
        return np.argsort(ids, kind="stable").astype(np.int64)
    keys = [(type(value).__name__, repr(value)) for value in ids]
    return np.array(sorted(range(len(ids)), key=keys.__getitem__), dtype=np.int64)


def _row_hashes(X: Matrix, y: Float64Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """One integer per row from the bits of its values; equal rows hash alike."""
    rng = np.random.RandomState(_SEED)
    hashes = _mix(y.astype(np.float64) + 0.0)  # -0.0 becomes 0.0
    if sparse.issparse(X):
        X = X.tocsr()
        columns = rng.randint(1, 2**62, X.shape[1], dtype=np.int64).astype(np.uint64)
        products = _mix(X.data.astype(np.float64) + 0.0) * (2 * columns[X.indices] + np.uint64(1))
        products[X.data == 0] = 0
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64)])
        return hashes + ends[X.indptr[1:]] - ends[X.indptr[:-1]]
    for column in X.T:
        values = column.astype(np.float64) + 0.0
        factor = np.uint64(2 * int(rng.randint(1, 2**62, dtype=np.int64)) + 1)
        hashes += np.where(values == 0, np.uint64(0), _mix(values) * factor)
    return hashes


def _mix(values: Float64Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    bits = values.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
