"""Predict residuals by similar items and similar users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.datasets.ratings_task.context import Context
from rankwise.typing import Float64Array, Int64Array

N_NEIGHBOURS, _COMMON, _WEIGHT_PRIOR = 40, 20.0, 1.0
_BLOCK = 1024


def neighbour_columns(
    context: Context, users: Int64Array, items: Int64Array
) -> Iterator[tuple[str, Float64Array]]:
    """Yield (name, one number per pair), from similar items of the user and from similar users.

    Similarity is the cosine of the residuals, or of the sets of raters, times n / (n + 20) for n
    common ratings. Only the 40 largest similarities of each row are used. Predictions are sums of
    similarity times residual, divided by 1 plus the sum of similarities.
    """
    residuals = context.matrix(context.residuals)
    rated = context.matrix(np.ones(len(context.residuals)))
    by_residuals = similar(sparse.csr_array(residuals.T), sparse.csr_array(rated.T))
    by_raters = similar(sparse.csr_array(rated.T), sparse.csr_array(rated.T))
    for name, like in (("items", by_residuals), ("co-rated items", by_raters)):
        turned = sparse.csr_array(like.T)
        sums = _evaluate_pairs(residuals @ turned, users, items)
        weights = _evaluate_pairs(rated @ turned, users, items)
        yield f"{name} prediction", sums / (weights + _WEIGHT_PRIOR)
        yield f"{name} weight", weights
    turned = sparse.csr_array(by_raters.T)
    liked = context.matrix((context.residuals > 0).astype(np.float64))
    yield "liked items weight", _evaluate_pairs(liked @ turned, users, items)
    yield "disliked items weight", _evaluate_pairs((rated - liked) @ turned, users, items)
    like = similar(residuals, rated)
    sums, weights = (
        _evaluate_pairs(like @ residuals, users, items),
        _evaluate_pairs(like @ rated, users, items),
    )
    yield "users prediction", sums / (weights + _WEIGHT_PRIOR)
    yield "users weight", weights
    yield "users liked weight", _evaluate_pairs(like @ liked, users, items)


def weight_columns(
    context: Context, users: Int64Array, items: Int64Array
) -> Iterator[tuple[str, Float64Array]]:
    """Yield (name, one number per pair): similarities of what users have seen, without ratings."""
    seen = context.matrix(np.ones(len(context.items)))
    by_users = sparse.csr_array(seen.T)
    like_items = sparse.csr_array(similar(by_users, by_users).T)
    yield "co-seen items weight", _evaluate_pairs(seen @ like_items, users, items)
    yield "similar users weight", _evaluate_pairs(similar(seen, seen) @ seen, users, items)


def similar(values: Any, rated: Any) -> Any:
    """Largest positive similarities of every row with other rows, as CSR of shape (n_rows, n_rows).

    ``values`` are the numbers to compare and ``rated`` has 1 for every stored number, both CSR of
    shape (n_rows, n_columns).
    """
    norms = np.sqrt(np.asarray(values.power(2).sum(axis=1)).ravel())
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    unit = sparse.csr_array(values.multiply(inverse[:, None]))
    unit_t, rated_t = sparse.csr_array(unit.T), sparse.csr_array(rated.T)
    rows, columns, kept = [], [], []
    for start in range(0, values.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        cosine = (unit[block] @ unit_t).toarray()
        common = (rated[block] @ rated_t).toarray()
        found = cosine * common / (common + _COMMON)
        n = len(found)
        found[np.arange(n), np.arange(start, start + n)] = 0.0
        k = min(N_NEIGHBOURS, found.shape[1] - 1)
        best = np.argpartition(-found, k, axis=1)[:, :k]
        value = np.take_along_axis(found, best, axis=1)
        positive = value > 0
        rows.append(np.repeat(np.arange(start, start + n), positive.sum(axis=1)))
        columns.append(best[positive])
        kept.append(value[positive])
    n = values.shape[0]
    entries = np.concatenate(kept), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(n, n))


def _evaluate_pairs(matrix: Any, users: Int64Array, items: Int64Array) -> Float64Array:
    """Entries of a matrix at pairs, computed for blocks of users."""
    out = np.empty(len(users))
    order = np.argsort(users, kind="stable")
    for start in range(0, matrix.shape[0], _BLOCK):
        low, high = np.searchsorted(users[order], [start, start + _BLOCK])
        pairs = order[low:high]
        block = matrix[start : start + _BLOCK].toarray()
        out[pairs] = block[users[pairs] - start, items[pairs]]
    return out
