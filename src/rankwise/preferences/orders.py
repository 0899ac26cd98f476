"""Orders of several items: who is before whom, with ties, for all items or some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import check_weight
from rankwise.preferences.comparisons import AT_ROW, Where, check_clusters, code_ids
from rankwise.runtime.frames import convert_to_values, is_missing, text_array
from rankwise.typing import ArrayLike, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Orders:
    """Orders of items, the best first.

    Attributes
    ----------
    items : ndarray of shape (n_items,) of str
        Names of the items, sorted.
    item : ndarray of shape (n_entries,), int64
        Place in ``items`` of every item of every order, order after order, the best first.
    stage : ndarray of shape (n_entries,), int64
        Number of better groups of the order, from 0; tied items have the same.
    indptr : ndarray of shape (n_orders + 1,), int64
        Start of each order among the entries.
    weight : ndarray of shape (n_orders,), float64
        Number of times that each order counts.
    clusters : ndarray of shape (n_orders, n_ways), int64
        Codes of annotators and the like.
    cluster_names : tuple of str
        Names of their columns.

    Examples
    --------
    >>> from rankwise.preferences import Orders
    >>> orders = Orders.from_lists(["tea > coffee = milk", ["milk", "tea"]])
    >>> orders.items.tolist(), orders.item.tolist(), orders.stage.tolist()
    (['coffee', 'milk', 'tea'], [2, 0, 1, 1, 2], [0, 1, 1, 0, 1])
    """

    items: NDArray[np.str_]
    item: Int64Array
    stage: Int64Array
    indptr: Int64Array
    weight: Float64Array
    clusters: Int64Array = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    cluster_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def order(self) -> Int64Array:
        """Order of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @classmethod
    def from_lists(
        cls,
        orders: Iterable[Any],
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        where: Where = AT_ROW,
    ) -> Orders:
        """Orders from lists of items.

        Parameters
        ----------
        orders : iterable of orders
            Each is a list of names, the best first, in which a list, tuple or set holds tied
            items: ``["a", ("b", "c")]``; or text such as ``"a > b = c"``. Missing entries (None,
            NaN) in place of items are skipped, as at the end of rows of a table.
        sample_weight : array-like of shape (n_orders,), optional
            Number of times that each order counts.
        clusters : array-like of shape (n_orders,) or (n_orders, n_ways), optional
            Annotator of each order.
        where : callable
            Description of an order by its number, for messages.

        Raises
        ------
        ValueError
            If an order names an item twice, or has fewer than two items, or a name is missing.
        """
        names: list[Any] = []
        stages: list[int] = []
        sizes = []
        if not isinstance(orders, Iterable):
            raise TypeError(f"orders must be lists of items, got {orders!r}. Pass a list of them.")
        for row, order in enumerate(orders):
            groups = _split_order(order, where(row))
            for stage, group in enumerate(groups):
                names += group
                stages += [stage] * len(group)
            sizes.append(sum(map(len, groups)))
        objects = np.empty(len(names), dtype=object)
        objects[:] = names
        return cls._of_entries(objects, stages, sizes, sample_weight, clusters, where)

    @classmethod
    def from_ranks(
        cls,
        ranks: ArrayLike,
        items: Iterable[str] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Orders:
        """Orders from a table of ranks with one column per item.

        Parameters
        ----------
        ranks : array-like of shape (n_orders, n_items)
            Smaller is better, equal ranks are ties. NaN and 0: not ranked.
        items : iterable of str, optional
            Names of the columns. None: those of a frame.
        sample_weight, clusters : array-like, optional
            As in :meth:`from_lists`.
        """
        names = list(getattr(ranks, "columns", ()) if items is None else items)
        table = convert_to_values(ranks)
        if table.ndim != 2 or table.dtype.kind not in "biuf" or table.shape[1] != len(names):
            raise ValueError(
                f"ranks must be numbers of shape (n_orders, n_items) with n_items={len(names)} "
                f"names, got {table.dtype} of shape {table.shape}. Pass items=[...]."
            )
        table = np.where(table == 0, np.nan, table.astype(np.float64))
        order, column = np.nonzero(~np.isnan(table))
        ranked = table[order, column]
        sorting = np.lexsort((column, ranked, order))
        order, column, ranked = order[sorting], column[sorting], ranked[sorting]
        stage = _number_stages(order, ranked)
        sizes = np.bincount(order, minlength=len(table))
        objects = np.array([str(name) for name in names], dtype=object)[column]
        return cls._of_entries(objects, stage, sizes, sample_weight, clusters, AT_ROW)

    @classmethod
    def _of_entries(
        cls,
        names: Any,
        stages: Any,
        sizes: Any,
        sample_weight: Any,
        clusters: Any,
        where: Any,
    ) -> Orders:
        sizes = np.asarray(sizes, dtype=np.int64)
        n = len(sizes)
        if not n:
            raise ValueError("orders must hold at least one order, got none.")
        if (sizes < 2).any():
            row = int((sizes < 2).argmax())
            raise ValueError(
                f"an order must have two items or more, got {sizes[row]} at {where(row)}. Drop "
                "such orders: they say nothing."
            )
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        codes, texts = code_ids(
            names, "items", lambda entry: where(int(np.searchsorted(indptr, entry, "right")) - 1)
        )
        by_name = np.argsort(np.array(texts, dtype=object))
        place = np.empty(len(texts), dtype=np.int64)
        place[by_name] = np.arange(len(texts))
        items = text_array([texts[code] for code in by_name])
        weight = np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
        ways, named = check_clusters(clusters, n)
        stage = np.asarray(stages, dtype=np.int64)
        made = cls(items, place[codes], stage, indptr, weight, ways, named)
        made._check_distinct(where)
        return made if (weight > 0).all() else made._take(np.flatnonzero(weight > 0))

    def _check_distinct(self, where: Any) -> None:
        key = np.sort(self.order * len(self.items) + self.item)
        twice = key[1:][key[1:] == key[:-1]]
        if len(twice):
            row, item = divmod(int(twice[0]), len(self.items))
            raise ValueError(
                f"an order must name an item once, got {str(self.items[item])!r} twice at "
                f"{where(row)}."
            )

    def _take(self, rows: Int64Array) -> Orders:
        """Some orders, with the items that occur in them."""
        entries = np.isin(self.order, rows)
        kept, item = np.unique(self.item[entries], return_inverse=True)
        sizes = np.diff(self.indptr)[rows]
        return Orders(
            self.items[kept],
            item.astype(np.int64),
            self.stage[entries],
            np.concatenate([[0], np.cumsum(sizes)]),
            self.weight[rows],
            self.clusters[rows] if self.clusters.shape[1] else self.clusters,
            self.cluster_names,
        )


def order_entries(
    order_ids: Int64Array,
    names: Any,
    ranks: Float64Array,
    weight: Float64Array | None,
    clusters: Int64Array | None,
    where: Where,
) -> Orders:
    """Orders of a long table with one row per order and item; equal ranks are ties."""
    sorting = np.lexsort((np.arange(len(ranks)), ranks, order_ids))
    order, ranked = order_ids[sorting], ranks[sorting]
    first = np.flatnonzero(np.diff(order, prepend=-1))
    sizes = np.bincount(order)
    return Orders._of_entries(
        np.asarray(names)[sorting],
        _number_stages(order, ranked),
        sizes,
        weight,
        clusters,
        lambda row: f"the order of {where(int(sorting[first[row]]))}",
    )


def _number_stages(order: Int64Array, ranked: Float64Array) -> Int64Array:
    """Number of better ranks within the order of each sorted entry."""
    new_order = np.diff(order, prepend=-1) != 0
    steps = np.cumsum(np.diff(ranked, prepend=np.nan) != 0)
    # A new order begins a new rank even if the number is that of the entry before.
    steps += np.cumsum(new_order)
    starts = np.flatnonzero(new_order)
    rank_steps = steps - np.repeat(steps[starts], np.diff(np.append(starts, len(order))))
    return rank_steps.astype(np.int64)


def _split_order(order: Any, place: str) -> list[list[Any]]:
    """Groups of tied items, the best first."""
    if isinstance(order, str):
        # A no-break space, for instance, belongs to a name.
        groups = [
            [name.strip(" \t\r\n") for name in group.split("=")] for group in order.split(">")
        ]
        if any("" in group for group in groups):
            raise ValueError(f"an order as text must read 'a > b = c', got {order!r} at {place}.")
        return groups
    if not isinstance(order, Iterable):
        raise TypeError(
            f"an order must be a list of items or text, got {type(order).__name__} at {place}."
        )
    groups = []
    for entry in order:
        if isinstance(entry, list | tuple | set | frozenset):
            groups.append(sorted(entry) if isinstance(entry, set | frozenset) else list(entry))
        elif not is_missing(entry):
            groups.append([entry])
    return groups
