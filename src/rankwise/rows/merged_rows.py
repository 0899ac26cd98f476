"""Rows in an order that depends on their content alone, equal rows of a query merged into one.

The result of an iterative solver depends in its last digits on the order of its sums. On merged
rows, results are bit-identical for any input order, and a weight is exactly equivalent to
repetition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.kernels.row_order import join_queries, order_queries
from rankwise.rows.few_rows import FEW_ROWS, join_few, order_few
from rankwise.rows.row_hash import row_hashes, scramble
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix

CHUNK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows of each query; queries are consecutive."""

    rows: Int64Array  # (n_merged,), one input row for each merged row
    indptr: Int64Array  # (n_queries + 1,)
    weight: Float64Array  # (n_merged,), sums of the weights
    position: Int64Array  # (n_samples,), merged row of each input row
    share: Float64Array  # (n_samples,), share of each input row in the weight of its merged row


def sort_rows(groups: QueryGroups, sample_weight: Float64Array | None) -> MergedRows:
    """Rows in group order without merging, for inputs where merging would take too long."""
    order = groups.rows(np.arange(groups.n_queries))
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    return MergedRows(order, groups.indptr, weight, np.argsort(order), np.ones(len(order)))


def merge_rows(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
) -> MergedRows:
    """Merge the rows of each query that are equal in features and label; O(N d)."""
    position = np.empty(len(y), dtype=np.int64)
    rows, indptr, total = distinct_rows_of_queries(X, y, groups, sample_weight, position=position)
    total = np.ones(len(rows)) if total is None else total
    weight = 1.0 if sample_weight is None else sample_weight
    return MergedRows(rows, indptr, total, position, weight / total[position])


def distinct_rows_of_queries(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
    shown_at: Int64Array | None = None,
    position: Int64Array | None = None,
    n_threads: int = 1,
) -> tuple[Int64Array, Int64Array, Float64Array | None]:
    """Distinct rows of each query in the order of :func:`merge_rows`, in little memory.

    Returns the rows (n_merged,), indptr (n_queries + 1,) and the weights (n_merged,), None if all
    are 1. ``shown_at`` holds the position at which each row was shown: rows of different positions
    differ, and the rows of a query are sorted by it first. ``position`` is an output array, filled
    with the merged row of each input row.

    Needs 24 bytes per row. The weights of equal rows are added in ascending order, so their sum is
    bit-identical for any input order.
    """
    n, chunks = len(y), query_chunks(groups.indptr, CHUNK_ROWS)
    ordered, is_new, sizes, query_keys = _order(X, y, groups, sample_weight, shown_at, n_threads)
    by_content = np.lexsort(query_keys)
    indptr = np.concatenate([[0], np.cumsum(sizes[by_content])]).astype(np.int64)
    starts = np.empty(groups.n_queries, dtype=np.int64)
    starts[by_content] = indptr[:-1]
    n_merged = int(indptr[-1])
    out = np.empty(n_merged, dtype=np.int64)
    has_weight = sample_weight is not None or n_merged < n
    weights = np.zeros(0)
    if sample_weight is not None:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    totals = np.zeros(n_merged if has_weight else 0)
    merged_of_row = np.zeros(0, dtype=np.int64) if position is None else position

    def join(queries: tuple[int, int]) -> None:
        join_queries(
            ordered, is_new, groups.indptr, starts, *queries, weights, out, totals, merged_of_row
        )

    if n <= FEW_ROWS:
        join_few(ordered, is_new, groups.indptr, starts, weights, out, totals, merged_of_row)
    else:
        thread_map(join, chunks, n_threads)
    return out, indptr, totals if has_weight and (totals != 1).any() else None


def _order(
    X: Matrix,
    y: Float64Array,
    groups: QueryGroups,
    sample_weight: Float64Array | None,
    shown_at: Int64Array | None,
    n_threads: int,
) -> tuple[Int64Array, NDArray[np.bool_], Int64Array, tuple[Float64Array, NDArray[np.uint64]]]:
    """Rows of each query sorted by content, and a mask of the distinct ones.

    For each query, also the number of distinct rows, and the keys by which queries are sorted (the
    last one first): a hash of their distinct rows, and a sum of their weights.
    """
    hashes = row_hashes(X, y, n_threads)
    keys = hashes[None]
    if shown_at is not None:
        hashes ^= scramble(shown_at.astype(np.uint64) + np.uint64(1))
        keys = np.stack([hashes, shown_at.astype(np.uint64)])
    hash_line = 0
    if sample_weight is not None:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
        keys, hash_line = np.concatenate([weights.view(np.uint64)[None], keys]), 1
    rows = np.arange(len(y)) if groups.order is None else groups.order.copy()
    is_new = np.empty(len(y), dtype=bool)
    sizes = np.empty(groups.n_queries, dtype=np.int64)
    query_keys, sums = np.empty(groups.n_queries, dtype=np.uint64), np.empty(groups.n_queries)

    def sort(queries: tuple[int, int]) -> None:
        order_queries(
            keys, hash_line, groups.indptr, *queries, rows, is_new, sizes, query_keys, sums
        )

    if len(y) <= FEW_ROWS:
        order_few(keys, hash_line, groups.indptr, rows, is_new, sizes, query_keys, sums)
        return rows, is_new, sizes, (sums, query_keys)
    thread_map(sort, query_chunks(groups.indptr, CHUNK_ROWS), n_threads)
    return rows, is_new, sizes, (sums, query_keys)
