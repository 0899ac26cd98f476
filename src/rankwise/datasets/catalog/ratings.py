"""Ratings of items by users: MovieLens, Jester, and part of Book-Crossing.

Ratings are not judged queries, but recommendation experiments convert them: the items of a user
become the rows of a query, and other users' ratings of the items become the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankwise.datasets.catalog.entries import fetch
from rankwise.datasets.readers.textfiles import read_text
from rankwise.runtime.arrow import pa, pa_csv
from rankwise.typing import Float64Array, Int64Array

NOT_RATED = 99.0  # Jester's code for missing ratings


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings by user: a sparse matrix in which stored zeros are ratings.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 1,), int64
        Boundaries: user ``u`` has the ratings ``indptr[u]:indptr[u + 1]``.
    items : ndarray of shape (n_ratings,), int64
        Item numbers, ascending within a user.
    values : ndarray of shape (n_ratings,), float64
    user_ids : ndarray of shape (n_users,)
    item_ids : ndarray of shape (n_items,)
        Ids of the publisher, ascending.
    scale : (float, float)
        Lowest and highest possible rating.
    name : str
    note : str
        Differences from the published data; "" if there are none.
    """

    indptr: Int64Array
    items: Int64Array
    values: Float64Array
    user_ids: np.ndarray[Any, Any]
    item_ids: np.ndarray[Any, Any]
    scale: tuple[float, float]
    name: str
    note: str = ""

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def counts(self) -> Int64Array:
        """Number of ratings of every user, shape (n_users,)."""
        return np.diff(self.indptr)

    def of_user(self, user: int) -> tuple[Int64Array, Float64Array]:
        """Items rated by a user (given by number), and the ratings."""
        rows = slice(self.indptr[user], self.indptr[user + 1])
        return self.items[rows], self.values[rows]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return (
            f"Ratings({self.name!r}: {len(self)} ratings of {self.n_items} items "
            f"by {self.n_users} users{note})"
        )


def load_movielens(size: Literal["100k", "1m"] = "1m") -> Ratings:
    """Load MovieLens: ratings of films from 1 to 5 by users with at least 20 ratings.

    Parameters
    ----------
    size : {"100k", "1m"}, default="1m"
        "100k": 100,000 ratings of 1,682 films by 943 users. "1m": 1,000,209 ratings of 3,706 films
        by 6,040 users.

    Returns
    -------
    Ratings
        Ratings without their times.

    Raises
    ------
    ValueError
        If the size does not exist, or the file has other content than expected.
    FileNotFoundError
        If the set is not on this machine; the message says where to get it.
    """
    if size == "1m":
        user, movie, rating = _columns(fetch("movielens-1m")[0], ("user", "movie", "rating"))
    elif size == "100k":
        user, movie, rating, _ = _columns(fetch("movielens-100k")[0], None, delimiter="\t")
    else:
        raise ValueError(
            f"size must be '100k' or '1m', got {size!r}. For other editions, pass their columns to "
            "ratings_from_triplets."
        )
    return ratings_from_triplets(user, movie, rating, scale=(1.0, 5.0), name=f"movielens-{size}")


def load_jester() -> Ratings:
    """Load Jester 1: 4,136,360 ratings (-10 to 10) of 100 jokes by 73,421 users (three parts).

    User ids are row numbers from 1 over the concatenated parts; item ids are the jokes 1 to 100.

    Returns
    -------
    Ratings

    Raises
    ------
    ValueError, FileNotFoundError
        As in :func:`load_movielens`.
    """
    tables = [np.column_stack(_columns(path, None)) for path in fetch("jester")]
    table = np.concatenate(tables)
    rated = table[:, 1:] != NOT_RATED
    if not np.array_equal(rated.sum(axis=1), table[:, 0]):
        raise ValueError("The first column of Jester must count the jokes each user rated.")
    user, joke = np.nonzero(rated)
    values = table[:, 1:][rated]
    ratings = ratings_from_triplets(user + 1, joke + 1, values, scale=(-10.0, 10.0), name="jester")
    return ratings


def load_book_crossing(*, implicit: bool = False) -> Ratings:
    """Load Book-Crossing, **partial**: the first 199,999 of the 1,149,780 published rows.

    Parameters
    ----------
    implicit : bool, default=False
        Whether to keep rows with rating 0, which mean that a user has a book but did not rate it.

    Returns
    -------
    Ratings
        Explicit ratings from 1 to 10 (79,269 rows minus repeated pairs). If a user rated a book
        repeatedly, the first rating is kept. ``note`` says that the set is partial.

    Raises
    ------
    ValueError, FileNotFoundError
        As in :func:`load_movielens`.
    """
    user, isbn, rating = _columns(fetch("book-crossing-partial")[0], ("user", "isbn", "rating"))
    keep = np.ones(len(rating), dtype=bool) if implicit else rating > 0
    return ratings_from_triplets(
        user[keep],
        isbn[keep],
        rating[keep],
        scale=(0.0 if implicit else 1.0, 10.0),
        name="book-crossing-partial",
        note="partial: the first 199,999 of 1,149,780 published rows",
    )


def ratings_from_triplets(
    user: Any,
    item: Any,
    rating: Any,
    *,
    scale: tuple[float, float],
    name: str = "",
    note: str = "",
) -> Ratings:
    """Build ratings from rows of (user, item, rating), in any order.

    Parameters
    ----------
    user, item : array-like of shape (n_ratings,)
        Ids of any sortable type.
    rating : array-like of shape (n_ratings,)
    scale : (float, float)
        Lowest and highest possible rating.
    name, note : str

    Returns
    -------
    Ratings
        Ratings with users and items in ascending order of id; of repeated pairs, the first row
        counts.

    Raises
    ------
    ValueError
        If a rating is outside the scale.

    Examples
    --------
    >>> ratings_from_triplets(["b", "a", "a"], [7, 7, 5], [3, 1, 2], scale=(1, 5))
    Ratings('': 3 ratings of 2 items by 2 users)
    """
    values = np.asarray(rating, dtype=np.float64)
    low, high = scale
    outside = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(outside):
        raise ValueError(
            f"ratings must lie between {low:g} and {high:g}, got {values[outside[0]]:g} "
            f"in row {outside[0]}. Drop such rows or pass another scale."
        )
    user_ids, users = np.unique(np.asarray(user), return_inverse=True)
    item_ids, items = np.unique(np.asarray(item), return_inverse=True)
    cells, first = np.unique(users.astype(np.int64) * len(item_ids) + items, return_index=True)
    indptr = np.zeros(len(user_ids) + 1, dtype=np.int64)
    np.cumsum(np.bincount(cells // max(len(item_ids), 1), minlength=len(user_ids)), out=indptr[1:])
    return Ratings(
        indptr,
        cells % max(len(item_ids), 1),
        values[first],
        user_ids,
        item_ids,
        (float(low), float(high)),
        name,
        note,
    )


def _columns(
    path: Path, names: tuple[str, ...] | None, *, delimiter: str = ","
) -> list[np.ndarray[Any, Any]]:
    """Columns of a text table; ``names`` is its header, or None if it has no header."""
    text = read_text(path)
    options = pa_csv.ReadOptions(autogenerate_column_names=names is None)
    types = {"isbn": pa.string()} if names else {}
    convert = pa_csv.ConvertOptions(column_types=types)
    parse = pa_csv.ParseOptions(delimiter=delimiter)
    table = pa_csv.read_csv(pa.BufferReader(text), options, parse, convert)
    if names is not None and tuple(table.column_names) != names:
        raise ValueError(f"{path} must have the columns {names}, got {table.column_names}.")
    return [column.to_numpy() for column in table.columns]
