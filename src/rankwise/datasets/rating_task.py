"""Ranking tasks from ratings: explicit ones, and unseen items that rank below seen ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from numbers import Integral
from typing import Any, Literal

import numpy as np

from rankwise.datasets import rating_features as factors
from rankwise.datasets.catalog.entries import fetch
from rankwise.datasets.catalog.ratings import Ratings, load_movielens
from rankwise.datasets.data import Fold, RankingData
from rankwise.datasets.rating_features import (
    Context,
    SideTables,
    context_mask,
    group_columns,
    item_columns,
    neighbour_columns,
    own_columns,
    part_of_users,
    user_columns,
    weight_columns,
)
from rankwise.datasets.readers.textfiles import read_text
from rankwise.runtime.constraints import draw_seed
from rankwise.typing import Float64Array, Int64Array, Seed

RANKS, N_PRODUCTS = (10, 40), 6
_LARGEST = 20_000  # users or items, since blocks of similarities are dense
_N_UNSEEN = 4


def ratings_task(
    ratings: Ratings,
    tables: SideTables | None = None,
    *,
    n_unseen: int | None = None,
    random_state: Seed = 0,
) -> Fold:
    """Make a ranking task from ratings: each user is a query whose items are ranked by rating.

    Half of each user's ratings, chosen by a hash of user and item, is the context that describes
    users and items. The other half is ranked. No feature is computed from a ranked rating.

    Ratings that are all 1 are implicit feedback: items that users bought, played or clicked. Each
    ranked item then has label 1, and ``n_unseen`` items that the user has not seen are ranked below
    it with label 0. They are drawn from all items of other users with equal probability, whatever
    their popularity, without replacement.

    Parameters
    ----------
    ratings : Ratings
        Ratings of any users and items, see :func:`ratings_from_triplets`.
    tables : SideTables, optional
        Gender, age and occupation of users, year and flags of items. Features that need missing
        tables are left out.
    n_unseen : int >= 1, optional
        Implicit feedback only: number of unseen items for each ranked item of a user, or all unseen
        items if the user has fewer. None: 4.
    random_state : int, RandomState, Generator or None, default=0
        Seed for the draw of unseen items.

    Returns
    -------
    Fold
        Fold with 60 % of the users for training and 20 % each for validation and test, chosen by a
        hash. Labels are the ratings (implicit feedback: 1 for items of the user and 0 for unseen
        ones), ``qid`` are ids of users, and ``doc_ids`` are ids of items.

    Raises
    ------
    ValueError
        If there are more than 20,000 users or items, or less than two items; a table has the wrong
        length; a part has no users with two ratings; all ratings are equal, but not 1; or
        ``n_unseen`` is given for ratings that differ.

    Notes
    -----
    Features of the item are its shrunk mean, count, variance, shares of ratings, bias, year, flags
    and properties of its raters. Features of the user are bias, count, mean, spread and tables.
    Features of the pair are residuals of the user's groups, residuals of the user by flag or
    decade, slopes of the user, least squares with 10 and 40 factors, truncated SVD of residuals and
    of the rated pairs, and similar items and users. Penalties of the factors are chosen on a tenth
    of the context ratings. Implicit feedback has the features that compare no ratings: counts,
    tables, shares, truncated SVD of the seen pairs, and similar items and users.

    Time: O(n_ratings rank^2) per round of least squares and O(n_users n_ratings / n_items) for
    similar users; 2 to 3 CPU minutes for a million ratings.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import ratings_from_triplets, ratings_task
    >>> rng = np.random.default_rng(0)
    >>> user, item = np.divmod(rng.permutation(100 * 40)[:2000], 40)
    >>> rating = np.clip(np.round(3 + rng.normal(size=2000) + item / 20 - 1), 1, 5)
    >>> fold = ratings_task(ratings_from_triplets(user, item, rating, scale=(1, 5)))
    >>> fold.train.n_features, fold.train.n_samples + fold.vali.n_samples + fold.test.n_samples
    (36, 973)
    """
    tables = tables or SideTables()
    _check(ratings, tables)
    is_implicit = _check_feedback(ratings, n_unseen)
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    is_context = context_mask(ratings)
    context = Context(
        users[is_context], ratings.items[is_context], ratings.values[is_context],
        ratings.n_users, ratings.n_items, ratings.scale,
    )  # fmt: skip
    ranked = users[~is_context], ratings.items[~is_context]
    y = ratings.values[~is_context]
    if is_implicit:
        n_drawn = (_N_UNSEEN if n_unseen is None else n_unseen) * np.bincount(
            ranked[0], minlength=ratings.n_users
        )
        unseen = draw_unseen(ratings, n_drawn, draw_seed(random_state))
        y = np.repeat([1.0, 0.0], [len(ranked[0]), len(unseen[0])])
        both = [np.concatenate(pair) for pair in zip(ranked, unseen, strict=True)]
        order = np.argsort(both[0], kind="stable")
        ranked, y = (both[0][order], both[1][order]), y[order]
    part = part_of_users(ratings)[ranked[0]]
    found = [np.flatnonzero(part == number) for number in range(3)]
    if not all(map(len, found)):
        n_users = int((ratings.counts > 1).sum())
        raise ValueError(
            "ratings must have enough users with two ratings or more for three parts, got "
            f"{n_users} of {ratings.n_users} users. Half of a user's ratings is ranked. Pass "
            "ratings by more users."
        )
    columns = implicit_columns if is_implicit else _columns
    named = dict(columns(context, tables, *ranked))
    rows = RankingData(
        np.column_stack([column.astype(np.float32) for column in named.values()]),
        y,
        qid=ratings.user_ids[ranked[0]],
        doc_ids=ratings.item_ids[ranked[1]].astype(str),
        feature_names=list(named),
        name=f"{ratings.name} task" if ratings.name else "ratings task",
    )
    train, vali, test = (rows.take(places) for places in found)
    return Fold(train, vali, test)


def load_movielens_task(size: Literal["100k", "1m"] = "1m") -> Fold:
    """Load the ranking task of MovieLens, with side information on users and films.

    Parameters
    ----------
    size : {"100k", "1m"}, default="1m"

    Returns
    -------
    Fold
        Fold with, for "1m", 80 features, 501,586 context ratings and 498,623 ranked ratings, by
        3,645 users for training, 1,207 for validation and 1,188 for test.

    Raises
    ------
    ValueError, FileNotFoundError
        As in :func:`load_movielens`.
    """
    ratings = load_movielens(size)
    return ratings_task(ratings, movielens_tables(ratings, size))


def movielens_tables(ratings: Ratings, size: Literal["100k", "1m"] = "1m") -> SideTables:
    """Gender (0: women), age and occupation of users, year and genres of films.

    Parameters
    ----------
    ratings : Ratings
        Result of :func:`load_movielens`.
    size : {"100k", "1m"}, default="1m"
    """
    of_users, of_films = (_lines(path) for path in fetch(f"movielens-{size}-tables"))
    if size == "1m":
        people = {int(user): rest for user, *rest in (line.split("::") for line in of_users)}
        films = {int(film): rest for film, *rest in (line.split("::") for line in of_films)}
        found = [people[user] for user in ratings.user_ids.tolist()]
        gender, age, occupation = ([record[k] for record in found] for k in range(3))
        genres = [set(films[film][1].split("|")) for film in ratings.item_ids.tolist()]
        years = [_year(films[film][0]) for film in ratings.item_ids.tolist()]
        names = tuple(sorted(set().union(*genres)))
        flags = np.array([[name in film_genres for name in names] for film_genres in genres])
    else:
        people = {int(user): rest for user, *rest in (line.split("|") for line in of_users)}
        films = {int(film): rest for film, *rest in (line.split("|") for line in of_films)}
        found = [people[user] for user in ratings.user_ids.tolist()]
        age, gender, occupation = ([record[k] for record in found] for k in range(3))
        years = [_year(films[film][0]) for film in ratings.item_ids.tolist()]
        marks = [films[film][4:] for film in ratings.item_ids.tolist()]
        flags = np.array(marks) == "1"
        names = tuple(f"genre {number}" for number in range(flags.shape[1]))
    year = np.array(years)
    year[np.isnan(year)] = np.nanmedian(year)
    return SideTables(
        np.array([letter == "M" for letter in gender]).astype(np.int64),
        np.array(age).astype(np.float64),
        np.unique(np.array(occupation), return_inverse=True)[1].astype(np.int64),
        year,
        flags,
        names,
    )


def _columns(context: Context, tables: SideTables, users: Any, items: Any) -> Any:
    """Yield (name, feature) of the pairs."""
    for name, column in item_columns(context, tables):
        yield name, column[items]
    for name, column in user_columns(context, tables):
        yield name, column[users]
    yield from group_columns(context, tables, users, items)
    yield from own_columns(context, tables, users, items)
    for rank in RANKS:
        penalty = factors.choose_penalty(context, rank)
        found = factors.products(
            factors.rotate_factors(factors.fit_factors(context, rank, penalty)), users, items
        )
        yield f"factors {rank} prediction", found.sum(axis=1)
        if rank == RANKS[0]:
            for number in range(N_PRODUCTS):
                yield f"factors {rank} product {number + 1}", found[:, number]
    for name, values in (("residuals", context.residuals), ("rated", np.ones(len(context.items)))):
        svd = factors.singular(context.matrix(values))
        yield f"svd of {name}", factors.products(svd, users, items).sum(axis=1)
    yield from neighbour_columns(context, users, items)


def _check_feedback(ratings: Ratings, n_unseen: int | None) -> bool:
    """Whether the ratings are implicit feedback."""
    if n_unseen is not None and not (isinstance(n_unseen, Integral) and n_unseen >= 1):
        raise ValueError(f"n_unseen must be a whole number >= 1, got {n_unseen!r}.")
    if ratings.n_items < 2:
        raise ValueError(f"ratings must have at least 2 items, got {ratings.n_items}.")
    first = float(ratings.values[0]) if len(ratings) else 1.0
    if (ratings.values == first).all():
        if first != 1.0:
            raise ValueError(
                f"ratings must differ, got {first:g} for all: nothing is to be ranked. If they say "
                "only who has seen what, pass 1 for each: implicit feedback."
            )
        return True
    if n_unseen is not None:
        raise ValueError(
            "n_unseen is for implicit feedback, whose ratings are all 1, got ratings from "
            f"{ratings.values.min():g} to {ratings.values.max():g}. Drop n_unseen, or pass 1 for "
            "each item that counts as seen."
        )
    return False


def _check(ratings: Ratings, tables: SideTables) -> None:
    for name, n in (("users", ratings.n_users), ("items", ratings.n_items)):
        if n > _LARGEST:
            raise ValueError(
                f"ratings must have at most {_LARGEST} {name}, got {n}. Pass a subset."
            )
    for name, n in (
        ("gender", ratings.n_users), ("age", ratings.n_users), ("occupation", ratings.n_users),
        ("year", ratings.n_items), ("flags", ratings.n_items),
    ):  # fmt: skip
        column = getattr(tables, name)
        if column is not None and len(column) != n:
            raise ValueError(
                f"tables.{name} must have {n} entries, one for each id of the ratings, got "
                f"{len(column)}."
            )


def _lines(path: Any) -> list[str]:
    text = bytes(read_text(path)).decode("latin-1").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")


def _year(title: str) -> float:
    found = re.search(r"\((\d{4})\)\s*$", title)
    return float(found[1]) if found else np.nan


def draw_unseen(
    ratings: Ratings, n_drawn: Int64Array, random_state: int
) -> tuple[Int64Array, Int64Array]:
    """Draw items that users have not seen, each with equal probability, as pairs user by user.

    ``n_drawn`` (n_users,) is the number of items for each user; all unseen ones if there are fewer.
    Users are drawn for independently: other users do not change the items of one.
    """
    found = []
    for user, n in enumerate(n_drawn.tolist()):
        seen, _ = ratings.of_user(user)
        unseen = np.setdiff1d(np.arange(ratings.n_items), seen)
        rng = np.random.default_rng([random_state, user])
        found.append(rng.choice(unseen, min(n, len(unseen)), replace=False))
    sizes = [len(items) for items in found]
    users = np.repeat(np.arange(len(found)), sizes)
    return users, np.concatenate(found).astype(np.int64)


def implicit_columns(
    context: Context, tables: SideTables, users: Int64Array, items: Int64Array
) -> Iterator[tuple[str, Float64Array]]:
    """Yield (name, one number per pair) from the pairs of the context and from the tables.

    Columns of ratings without differences are constant and left out.
    """
    of_pairs: Any = chain(
        ((name, column[items]) for name, column in item_columns(context, tables)),
        ((name, column[users]) for name, column in user_columns(context, tables)),
        group_columns(context, tables, users, items),
        own_columns(context, tables, users, items),
    )
    yield from ((name, column) for name, column in of_pairs if np.ptp(column) > 0)
    seen = context.matrix(np.ones(len(context.items)))
    yield "svd of seen", factors.products(factors.singular(seen), users, items).sum(axis=1)
    yield from weight_columns(context, users, items)
