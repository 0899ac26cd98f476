"""Rows in an order that depends on their content alone, equal rows of a query merged into one.

An iterative solver stops at different digits where its sums are taken in another order. On merged
rows the order of the input does not matter to the bit, and a weight is exactly a repetition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.checks.row_hash import row_hashes, scrambled
from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows of each query.

    Attributes
    ----------
    rows : ndarray of shape (n_merged,), int64
        An input row of each merged row; queries are consecutive.
    indptr : ndarray of shape (n_queries + 1,), int64
    weight : ndarray of shape (n_merged,)
        Sum of the weights.
    position : ndarray of shape (n_samples,), int64
        Merged row of each input row.
    share : ndarray of shape (n_samples,)
        Share of each input row in the weight of its merged row.
    """

    rows: Int64Array
    indptr: Int64Array
    weight: Float64Array
    position: Int64Array
    share: Float64Array


def sort_rows(groups: QueryGroups, sample_weight: Float64Array | None) -> MergedRows:
    """Rows in group order without merging any, where many rows would take too long."""
    order = groups.rows(np.arange(groups.n_queries))
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    return MergedRows(order, groups.indptr, weight, np.argsort(order), np.ones(len(order)))


def merge_rows(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
    place: Int64Array | None = None,
) -> MergedRows:
    """Merge the equal rows (features, label and place) of each query; O(N d + N log N).

    Rows of a query are in the order of their places, if given, and of their content.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    codes, hashes = groups.codes(), row_hashes(X, y)
    if place is not None:
        hashes ^= scrambled(place.astype(np.uint64) + np.uint64(1))
    keys = (hashes, codes) if sample_weight is None else (weight, hashes, codes)
    order = np.lexsort(keys)  # equal rows by weight: their sum has the same bits in any order
    new = np.ones(len(y), dtype=bool)
    new[1:] = (np.diff(codes[order]) != 0) | (hashes[order][1:] != hashes[order][:-1])
    first = order[new]
    label = np.empty(len(y), dtype=np.int64)
    label[order] = np.cumsum(new) - 1
    query_key = np.zeros(groups.n_queries, dtype=np.uint64)
    np.add.at(query_key, codes[first], scrambled(hashes[first]))
    rank = np.empty(groups.n_queries, dtype=np.int64)
    rank[np.argsort(query_key, kind="stable")] = np.arange(groups.n_queries)
    shown = np.zeros(len(first)) if place is None else place[first]
    by_content = np.lexsort((hashes[first], shown, rank[codes[first]]))
    merged = np.empty(len(first), dtype=np.int64)
    merged[by_content] = np.arange(len(first))
    position = merged[label]
    total = np.bincount(position[order], weights=weight[order], minlength=len(first))
    sizes = np.bincount(rank[codes[first]], minlength=groups.n_queries)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return MergedRows(first[by_content], indptr, total, position, weight / total[position])
