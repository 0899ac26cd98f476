"""Data of preferences: comparisons of two items and orders of several, from arrays and lists.

Items and clusters become codes, outcomes 0 (first), 1 (tie) or 2 (second).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_values import id_texts, warn_of_missing_words
from rankwise.checks.rows import check_weight
from rankwise.runtime.arrow import pa
from rankwise.runtime.frames import (
    convert_to_array,
    convert_to_values,
    first_merged,
    is_missing,
    text_array,
)
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Int64Array

Where = Callable[[int], str]  # describes a row in messages
AT_ROW: Where = "row {}".format
FIRST, TIE, SECOND = 0, 1, 2
# In any case. Judges that find both answers bad prefer neither.
WORDS = {
    **dict.fromkeys(("first", "a", "left", "item_a", "model_a", "home", "true"), FIRST),
    **dict.fromkeys(("second", "b", "right", "item_b", "model_b", "away", "false"), SECOND),
    **dict.fromkeys(
        (
            "tie", "draw", "equal", "both", "neither", "none", "tie (bothbad)", "both_bad",
            "bothbad", "both bad", "same",
        ),
        TIE,
    ),
}  # fmt: skip
NUMBERS = {1.0: FIRST, 0.5: TIE, 0.0: SECOND}
_NO_WORD = -1


@dataclass(frozen=True, eq=False)
class Comparisons(Result):
    """Outcomes of comparisons between two items.

    Attributes
    ----------
    items : ndarray of shape (n_items,) of str
        Names of the items, sorted.
    first, second : ndarray of shape (n_comparisons,), int64
        Place of the two items in ``items``.
    outcome : ndarray of shape (n_comparisons,), int64
        0: the first item won; 1: a tie; 2: the second item won.
    weight : ndarray of shape (n_comparisons,), float64
        Number of times that the comparison counts.
    covariates : ndarray of shape (n_comparisons, n_covariates), float64
        Advantages of the first item besides its strength.
    covariate_names : tuple of str
    clusters : ndarray of shape (n_comparisons, n_ways), int64
        Codes of annotators, prompts and the like.
    cluster_names : tuple of str

    Examples
    --------
    >>> from rankwise.preferences import Comparisons
    >>> pairs = [["gpt", "llama"], ["llama", "qwen"], ["qwen", "gpt"]]
    >>> games = Comparisons.from_pairs(pairs, ["gpt", "tie", "gpt"])
    >>> games.items.tolist(), games.outcome.tolist()
    (['gpt', 'llama', 'qwen'], [0, 1, 2])
    """

    items: NDArray[np.str_]
    first: Int64Array
    second: Int64Array
    outcome: Int64Array
    weight: Float64Array
    covariates: Float64Array
    covariate_names: tuple[str, ...] = ()
    clusters: Int64Array = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    cluster_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    def _columns(self) -> dict[str, Any]:
        winners = np.where(self.outcome == SECOND, self.second, self.first)
        return {
            "first": self.items[self.first],
            "second": self.items[self.second],
            "winner": np.where(self.outcome == TIE, "tie", self.items[winners]),
            "weight": self.weight,
        }

    def _heading(self) -> str:
        return f"{len(self)} comparisons of {len(self.items)} items"

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        outcomes: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Comparisons:
        """Comparisons from arrays.

        Parameters
        ----------
        pairs : array-like of shape (n_comparisons, 2)
            Names of the two items.
        outcomes : array-like of shape (n_comparisons,)
            Numbers: 1 if the first item won, 0.5 for a tie, 0 if the second won. Text: the name of
            the winner, "first" or "second" (also "a", "b", "left", "right"), or "tie".
        sample_weight : array-like of shape (n_comparisons,), optional
            Number of times that each comparison counts.
        covariates : array-like of shape (n_comparisons, n_covariates), optional
            Advantages of the first item, such as the difference of the lengths of two answers.
        clusters : array-like of shape (n_comparisons,) or (n_comparisons, n_ways), optional
            Annotator of each comparison, or annotator and prompt.

        Raises
        ------
        ValueError
            If lengths differ, an item is compared with itself, an outcome is of no item of the
            row, or a number is not finite.
        """
        columns = split_pairs(pairs)
        first, second, items = code_items(columns, "items")
        n = len(first)
        is_number = convert_to_values(outcomes).dtype.kind in "biuf"
        outcome = code_outcomes(outcomes, first, second, items, numbers=is_number)
        weight = np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
        Z, names = check_covariates(covariates, n)
        codes, ways = check_clusters(clusters, n)
        return cls(items, first, second, outcome, weight, Z, names, codes, ways)._checked()

    def _checked(self, where: Where = AT_ROW) -> Comparisons:
        """These comparisons without those of weight 0, and their items."""
        if not len(self):
            raise ValueError("comparisons must hold at least one row, got none.")
        same = self.first == self.second
        if same.any():
            row = int(same.argmax())
            raise ValueError(
                f"the two items of a comparison must differ, got "
                f"{str(self.items[self.first[row]])!r} "
                f"twice at {where(row)}. Drop such rows."
            )
        return self if (self.weight > 0).all() else self.take(np.flatnonzero(self.weight > 0))

    def take(self, rows: Int64Array) -> Comparisons:
        """Some comparisons, with the items that occur in them."""
        places = np.concatenate([self.first[rows], self.second[rows]])
        kept, codes = np.unique(places, return_inverse=True)
        n_ways = self.clusters.shape[1]
        return replace(
            self,
            items=self.items[kept],
            first=codes[: len(rows)].astype(np.int64),
            second=codes[len(rows) :].astype(np.int64),
            outcome=self.outcome[rows],
            weight=self.weight[rows],
            covariates=self.covariates[rows],
            clusters=self.clusters[rows] if n_ways else self.clusters,
        )

    def _decisions(self) -> tuple[Int64Array, Int64Array, tuple[Int64Array, Int64Array]]:
        """Winners, losers, and pairs of tied items."""
        won, lost, tied = (self.outcome == outcome for outcome in (FIRST, SECOND, TIE))
        return (
            np.concatenate([self.first[won], self.second[lost]]),
            np.concatenate([self.second[won], self.first[lost]]),
            (self.first[tied], self.second[tied]),
        )

    def wins(self) -> tuple[Int64Array, Int64Array]:
        """Winners and losers; a tie is a win of both."""
        winners, losers, tied = self._decisions()
        return np.concatenate([winners, *tied]), np.concatenate([losers, *tied[::-1]])


@dataclass(frozen=True, eq=False)
class Orders(Result):
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

    def _columns(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "place": self.stage + 1,
            "item": self.items[self.item],
            "weight": np.repeat(self.weight, np.diff(self.indptr)),
        }

    def _heading(self) -> str:
        return f"{len(self)} orders of {len(self.items)} items"

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
        cls, names: Any, stages: Any, sizes: Any, sample_weight: Any, clusters: Any, where: Where
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
        key = np.sort(made.order * len(items) + made.item)
        twice = key[1:][key[1:] == key[:-1]]
        if len(twice):
            row, item = divmod(int(twice[0]), len(items))
            raise ValueError(
                f"an order must name an item once, got {str(items[item])!r} twice at {where(row)}."
            )
        return made if (weight > 0).all() else made._take(np.flatnonzero(weight > 0))

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


def check_covariates(covariates: Any, n: int) -> tuple[Float64Array, tuple[str, ...]]:
    """Covariates as a table of finite numbers, and their names."""
    if covariates is None:
        return np.zeros((n, 0)), ()
    names = tuple(map(str, getattr(covariates, "columns", ())))
    table = convert_to_values(covariates)
    if table.dtype.kind not in "biuf":
        raise ValueError(f"covariates must hold numbers, got dtype {table.dtype}.")
    table = table.astype(np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n:
        raise ValueError(
            f"covariates must have shape (n_comparisons, n_covariates) with n_comparisons={n}, got "
            f"{table.shape}. Pass one row per comparison."
        )
    bad = ~np.isfinite(table).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"covariates must be finite, got {table[row].tolist()} at row {row}. Drop or fill "
            "such rows."
        )
    return table, names or tuple(f"x{j}" for j in range(table.shape[1]))


def check_clusters(clusters: Any, n: int) -> tuple[Int64Array, tuple[str, ...]]:
    """Codes of clusters of shape (n, n_ways), and names of the ways."""
    if clusters is None:
        return np.zeros((n, 0), dtype=np.int64), ()
    names = tuple(map(str, getattr(clusters, "columns", ())))
    table = convert_to_values(clusters)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n:
        raise ValueError(
            f"clusters must have shape (n_comparisons,) or (n_comparisons, n_ways) with "
            f"n_comparisons={n}, got {table.shape}. Pass one id per comparison."
        )
    names = names or tuple(f"cluster{j}" for j in range(table.shape[1]))
    codes = [
        code_ids(column, f"clusters {name!r}")[0]
        for column, name in zip(table.T, names, strict=True)
    ]
    return np.stack(codes, axis=1), names


def code_outcomes(
    values: Any,
    first: Int64Array,
    second: Int64Array,
    items: NDArray[np.str_],
    *,
    numbers: bool,
    sides: tuple[str, str] | None = None,
    where: Where = AT_ROW,
) -> Int64Array:
    """Outcome of each comparison: 0 (first), 1 (tie) or 2 (second).

    ``first`` and ``second`` are places in ``items``. With ``numbers``, values are 1, 0.5 and 0;
    otherwise they are names of items or words, and a text that is both is a name. ``sides`` are two
    more words for the first and the second item: the names of their columns.
    """
    if len(values) != len(first):
        raise ValueError(
            f"outcomes must have n_comparisons={len(first)} entries, got {len(values)}. Pass one "
            "outcome per comparison."
        )
    if numbers:
        return _code_numbers(values, where)
    codes, texts = code_ids(values, "winners", where)
    places = {name: place for place, name in enumerate(items.tolist())}
    words = WORDS
    if sides is not None:
        words = WORDS | {sides[0].casefold(): FIRST, sides[1].casefold(): SECOND}
    item = np.array([places.get(text, -1) for text in texts], dtype=np.int64)[codes]
    word = np.array([words.get(text.casefold(), _NO_WORD) for text in texts], dtype=np.int64)[codes]
    outcome = np.select(
        [item == first, item == second, (item < 0) & (word != _NO_WORD)],
        [FIRST, SECOND, word],
        _NO_WORD,
    )
    wrong = outcome == _NO_WORD
    if wrong.any():
        row = int(wrong.argmax())
        pair = f"{str(items[first[row]])!r} and {str(items[second[row]])!r}"
        raise ValueError(
            f"winners must be one of the two items, 'first', 'second' or 'tie', got "
            f"{texts[codes[row]]!r} for {pair} at {where(row)}. Pass names of items, these words, "
            "or numbers (1, 0.5, 0)."
        )
    return outcome.astype(np.int64)


def are_numbers(values: Any, items: NDArray[np.str_]) -> bool:
    """Whether values are 1, 0.5 and 0, or numbers as text, and none of them names an item.

    It is an error if the numbers could be names of items as well.
    """
    array = convert_to_values(values)
    if array.dtype.kind == "b":
        return True
    texts = {
        str(value)
        for value in (np.unique(array) if array.dtype.kind in "iuf" else set(array.tolist()))
    }
    try:
        found = {float(text) for text in texts}
    except ValueError:
        return False
    if not found <= NUMBERS.keys():
        return False
    shared = ({f"{number:g}" for number in found} | texts) & {*items.tolist()}
    if shared:
        raise ValueError(
            f"winners {sorted(shared)} could be names of items or results (1, 0.5, 0). Write "
            "'first', 'second' and 'tie', or rename the items."
        )
    return True


def _code_numbers(values: Any, where: Where) -> Int64Array:
    array = convert_to_values(values)
    try:
        results = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"outcomes must be numbers, got dtype {array.dtype}. Pass 1, 0.5 and 0."
        ) from None
    outcome = np.select([results == 1.0, results == 0.5, results == 0.0], [FIRST, TIE, SECOND], -1)
    wrong = outcome < 0
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            "outcomes must be 1 (the first item won), 0.5 (a tie) or 0 (the second won), got "
            f"{results[row]:g} at {where(row)}. Recode them, or pass names of winners."
        )
    return outcome.astype(np.int64)


def code_ids(values: Any, name: str, where: Where = AT_ROW) -> tuple[Int64Array, list[str]]:
    """Code of each id, and the text of each code in the order of first appearance.

    Each id is text or a whole number.
    """
    array = convert_to_array(values)
    texts: list[str] = []
    try:
        encoded = pa.array(array, from_pandas=True).dictionary_encode()
        # Of one type, so their texts differ as they do.
        texts = id_texts(encoded.dictionary.to_pylist(), name, limit=first_merged(array))
    except (pa.ArrowException, TypeError, ValueError):
        encoded = None
    if encoded is None or encoded.null_count:
        # All ids one by one: a message then names the row.
        encoded = pa.array(id_texts(array, name, where), pa.string()).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    warn_of_missing_words(texts, name, np.bincount(codes, minlength=len(texts)).tolist())
    return codes, texts


def code_items(
    columns: tuple[Any, Any], name: str, where: Where = AT_ROW
) -> tuple[Int64Array, Int64Array, NDArray[np.str_]]:
    """Places of two columns of items in the sorted array of their names, and this array."""
    (first, first_texts), (second, second_texts) = (
        code_ids(column, name, where) for column in columns
    )
    if len(first) != len(second):
        raise ValueError(
            f"{name} must come in pairs, got {len(first)} first and {len(second)} second items."
        )
    items = sorted({*first_texts, *second_texts})
    place = {text: number for number, text in enumerate(items)}
    codes = []
    for column, texts in ((first, first_texts), (second, second_texts)):
        found = np.array([place[text] for text in texts], dtype=np.int64)
        codes.append(found[column] if len(column) else np.zeros(0, dtype=np.int64))
    return codes[0], codes[1], text_array(items)


def split_pairs(pairs: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two columns of a table of pairs."""
    if isinstance(pairs, Sequence):  # NumPy would turn numbers beside text into text
        table = np.empty((len(pairs), 2), dtype=object)
        for row, pair in enumerate(pairs):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(f"pairs must hold two items per row, got {pair!r} at row {row}.")
            table[row] = list(pair)
    else:
        table = convert_to_values(pairs)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"pairs must have shape (n_comparisons, 2), got {table.shape}. Pass one row with two "
            "items per comparison."
        )
    return table[:, 0], table[:, 1]


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
