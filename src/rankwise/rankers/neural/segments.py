"""Operations on queries of unequal length; query q has the rows indptr[q]:indptr[q+1].

All operations cost O(n) or O(n log n), except for the listing of pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.rankers.neural._torch import torch
from rankwise.typing import Int64Array

Tensor = Any  # torch.Tensor


def query_of_rows(indptr: Int64Array, like: Tensor) -> Tensor:
    """Query number of every row, on the device of ``like``."""
    return torch.as_tensor(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))).to(like.device)


def sums(values: Tensor, query: Tensor, n_queries: int) -> Tensor:
    """Sum of ``values`` by query number, shape (n_queries,)."""
    return values.new_zeros(n_queries).index_add(0, query, values)


def pad(values: Tensor, indptr: Int64Array, fill: float) -> Tensor:
    """One row per query, padded to the longest query, shape (n_queries, longest)."""
    sizes = np.diff(indptr)
    steps = np.arange(sizes.max(initial=0))
    inside = steps < sizes[:, None]
    rows = np.where(inside, indptr[:-1, None] + steps, 0)
    mask = torch.as_tensor(inside).to(values.device)
    return torch.where(mask, values[torch.as_tensor(rows).to(values.device)], fill)


def ranks(scores: Tensor, indptr: Int64Array) -> Tensor:
    """1-based int64 rank within the query by descending score; ties keep the order of the rows."""
    query = query_of_rows(indptr, scores)
    by_score = torch.argsort(scores, descending=True, stable=True)
    order = by_score[torch.argsort(query[by_score], stable=True)]
    starts = torch.as_tensor(indptr[:-1].copy()).to(scores.device)
    found = torch.empty_like(query)
    found[order] = torch.arange(1, len(scores) + 1, device=scores.device) - starts[query[order]]
    return found


def pairs(labels: Tensor, indptr: Int64Array) -> tuple[Tensor, Tensor]:
    """Row numbers (upper, lower) of every pair of a query whose labels satisfy upper > lower.

    Queries of m rows cost O(sum of m^2).
    """
    found = [
        torch.nonzero(labels[lo:hi, None] > labels[None, lo:hi]) + lo
        for lo, hi in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    ]
    upper, lower = torch.cat(found).T
    return upper, lower
