"""Choices that make up orders: the sets chosen from, merged, and the sets chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.preferences.orders import Orders
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class ChoiceBlock:
    """Distinct sets of alternatives of one size."""

    members: Int64Array  # (n_sets, size)
    weight: Float64Array  # (n_sets,): weight of the choices from each set


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices of some orders."""

    blocks: list[ChoiceBlock]
    tie_sizes: Int64Array  # sizes of ties that occur, ascending
    linear: Float64Array  # (n_parameters,): weighted sum of ``chosen``
    # CSR, (n_orders, n_parameters): derivatives of the logarithms of the chosen sets' weights
    chosen: Any
    # CSR, (n_orders, n_sets): number of choices of each order from each set, block after block
    visits: Any

    @classmethod
    def of(cls, orders: Orders, *, unlisted_last: bool) -> Choices:
        """Choices of orders; ``unlisted_last``: items that an order lacks are below all others."""
        n, m = len(orders), len(orders.items)
        order, item, stage = orders.order, orders.item, orders.stage
        n_stages = np.maximum.reduceat(stage, orders.indptr[:-1]) + 1
        if unlisted_last:
            order, item, stage = _append_unlisted(order, item, stage, n, m)
        by_item = np.lexsort((item, order))
        order, item, stage = order[by_item], item[by_item], stage[by_item]
        sets: list[tuple[Int64Array, Int64Array]] = []  # orders and members, for one size
        for number in range(int(n_stages.max())):
            sets += _alternatives(order, item, stage, number, n_stages)
        blocks, visits = _merge_sets(sets, orders.weight, n)
        tie_sizes, chosen = _chosen_terms(orders, unlisted_last=unlisted_last)
        linear = np.asarray(chosen.T @ orders.weight)
        return cls(blocks, tie_sizes, linear, chosen, visits)


def _append_unlisted(
    order: Int64Array, item: Int64Array, stage: Int64Array, n: int, m: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Entries with those of the items that an order lacks, at a stage that is never reached."""
    there = np.zeros((n, m), dtype=bool)
    there[order, item] = True
    missing_order, missing_item = np.nonzero(~there)
    never = np.full(len(missing_order), int(stage.max()) + 1)
    return (
        np.concatenate([order, missing_order]),
        np.concatenate([item, missing_item]),
        np.concatenate([stage, never]),
    )


def _alternatives(
    order: Int64Array, item: Int64Array, stage: Int64Array, number: int, n_stages: Int64Array
) -> list[tuple[Int64Array, Int64Array]]:
    """Orders that choose at a stage and the sets they choose from, for each size of sets.

    A single alternative leaves no choice.
    """
    open_ = (stage >= number) & (n_stages[order] > number)
    order, item = order[open_], item[open_]
    sizes = np.bincount(order, minlength=len(n_stages))
    found = []
    for size in np.unique(sizes):
        if size > 1:
            rows = np.flatnonzero(sizes == size)
            members = item[np.isin(order, rows)] if len(rows) < len(n_stages) else item
            found.append((rows, members.reshape(-1, size)))
    return found


def _merge_sets(
    sets: list[tuple[Int64Array, Int64Array]], weight: Float64Array, n: int
) -> tuple[list[ChoiceBlock], Any]:
    blocks, orders, numbers, before = [], [], [], 0
    for size in sorted({members.shape[1] for _, members in sets}):
        same = [(rows, members) for rows, members in sets if members.shape[1] == size]
        rows = np.concatenate([rows for rows, _ in same])
        members = np.concatenate([members for _, members in same])
        distinct, place = np.unique(members, axis=0, return_inverse=True)
        place = place.ravel()
        blocks.append(ChoiceBlock(distinct, np.bincount(place, weight[rows], len(distinct))))
        orders.append(rows)
        numbers.append(before + place)
        before += len(distinct)
    rows, columns = np.concatenate(orders), np.concatenate(numbers)
    visits = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, before))
    return blocks, visits.tocsr()


def _chosen_terms(orders: Orders, *, unlisted_last: bool) -> tuple[Int64Array, Any]:
    """Sizes of ties, and the derivatives of the logarithms of the chosen sets' weights."""
    n, m = len(orders), len(orders.items)
    order = orders.order
    # Entries are sorted by order and stage: one number per chosen set.
    new = (np.diff(order, prepend=-1) != 0) | (np.diff(orders.stage, prepend=-1) != 0)
    chosen_set = np.cumsum(new) - 1
    sizes = np.bincount(chosen_set)
    set_order = order[new]
    tie_sizes = np.unique(sizes[sizes > 1])
    # The last item of an order is no choice if it is the only one left, but then its term cancels
    # with the sum over one alternative: leave out both, see `_alternatives`.
    n_alternatives = np.full(n, m) if unlisted_last else np.diff(orders.indptr)
    left = n_alternatives[set_order] - _count_earlier(set_order, sizes)
    is_choice = left > 1
    entries = is_choice[chosen_set]
    rows, columns = [order[entries]], [orders.item[entries]]
    values = [1.0 / sizes[chosen_set[entries]]]
    tied = is_choice & (sizes > 1)
    rows.append(set_order[tied])
    columns.append(m + np.searchsorted(tie_sizes, sizes[tied]))
    values.append(np.ones(int(tied.sum())))
    terms = sparse.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n, m + len(tie_sizes)),
    )
    return tie_sizes, terms.tocsr()


def _count_earlier(set_order: Int64Array, sizes: Int64Array) -> Int64Array:
    """Number of items of the same order in earlier sets."""
    total = np.cumsum(sizes) - sizes
    first = np.diff(set_order, prepend=-1) != 0
    starts = total[first]
    return total - np.repeat(starts, np.diff(np.append(np.flatnonzero(first), len(sizes))))
