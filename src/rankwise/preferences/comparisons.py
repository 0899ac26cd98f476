"""Comparisons of two items: which items, who won, and what is known about each comparison.

Outcomes of comparisons from names of winners, words and numbers.

Ids of items and clusters as text and as numbers from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise.checks.exact_values import id_texts, warn_of_missing_words
from rankwise.checks.rows import check_weight
from rankwise.runtime.frames import convert_to_array, convert_to_values, first_merged, text_array
from rankwise.typing import ArrayLike, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Comparisons:
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
        outcome = code_outcomes(outcomes, first, second, items, numbers=_are_numbers(outcomes))
        weight = np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
        Z, names = check_covariates(covariates, n)
        codes, ways = check_clusters(clusters, n)
        made = cls(items, first, second, outcome, weight, Z, names, codes, ways)
        return made.checked()

    def checked(self, where: Any = "row {}".format) -> Comparisons:
        """These comparisons without those of weight 0, and their items.

        Raises
        ------
        ValueError
            If there is no comparison, or an item is compared with itself.
        """
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

    def decisions(self) -> tuple[Int64Array, Int64Array, tuple[Int64Array, Int64Array]]:
        """Winners, losers, and pairs of tied items."""
        won, lost, tied = (self.outcome == outcome for outcome in (FIRST, SECOND, TIE))
        return (
            np.concatenate([self.first[won], self.second[lost]]),
            np.concatenate([self.second[won], self.first[lost]]),
            (self.first[tied], self.second[tied]),
        )

    def wins(self) -> tuple[Int64Array, Int64Array]:
        """Winners and losers; a tie is a win of both."""
        winners, losers, tied = self.decisions()
        return np.concatenate([winners, *tied]), np.concatenate([losers, *tied[::-1]])


def _are_numbers(values: Any) -> bool:
    return convert_to_values(values).dtype.kind in "biuf"


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
    check_finite_covariates(table, "row {}".format)
    return table, names or tuple(f"x{j}" for j in range(table.shape[1]))


def check_finite_covariates(table: Float64Array, where: Any) -> None:
    """Raise ValueError if a covariate is missing or infinite."""
    bad = ~np.isfinite(table).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"covariates must be finite, got {table[row].tolist()} at {where(row)}. Drop or fill "
            "such rows."
        )


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
        code_clusters(column, f"clusters {name!r}")
        for column, name in zip(table.T, names, strict=True)
    ]
    return np.stack(codes, axis=1), names


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
AT_ROW: Where = "row {}".format


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
    more words for the first and the second item: the names of their columns. ``where`` describes a
    row in messages.
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
    words = (
        WORDS
        if sides is None
        else WORDS | {sides[0].casefold(): FIRST, sides[1].casefold(): SECOND}
    )
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


Where = Callable[[int], str]


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


def code_clusters(values: Any, name: str, where: Where = AT_ROW) -> Int64Array:
    """Code of each cluster id."""
    return code_ids(values, name, where)[0]


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


def code_known_items(pairs: Any, items: NDArray[np.str_]) -> tuple[Int64Array, Int64Array]:
    """Places of pairs of items in ``items``, which must contain them."""
    first, second, names = code_items(split_pairs(pairs), "items")
    known = {name: place for place, name in enumerate(items.tolist())}
    missing = [name for name in names.tolist() if name not in known]
    if missing:
        raise ValueError(
            f"X must name items of the fit, got {missing[0]!r}. Known: "
            f"{', '.join(items[:12].tolist())}{', ...' if len(items) > 12 else ''}."
        )
    places = np.array([known[name] for name in names.tolist()], dtype=np.int64)
    return places[first], places[second]
