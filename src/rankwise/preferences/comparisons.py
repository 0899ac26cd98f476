"""Comparisons of two items: which items, who won, and what is known about each comparison."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import check_weight
from rankwise.preferences.item_codes import code_clusters, code_items, split_pairs
from rankwise.preferences.outcome_models import FIRST, SECOND, TIE
from rankwise.preferences.outcome_words import code_outcomes
from rankwise.runtime.column_values import convert_to_values
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
