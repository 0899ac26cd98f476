"""Implicit feedback: unseen items to rank below seen ones, and features that compare no ratings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from rankwise.datasets.catalog.ratings import Ratings
from rankwise.datasets.ratings_task import factors
from rankwise.datasets.ratings_task.context import Context, SideTables
from rankwise.datasets.ratings_task.neighbours import weight_columns
from rankwise.datasets.ratings_task.rating_features import (
    group_columns,
    item_columns,
    own_columns,
    user_columns,
)
from rankwise.typing import Float64Array, Int64Array


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
