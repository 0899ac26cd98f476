"""Ratings from which features are computed, with biases and residuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.typing import Float64Array, Int64Array

# Numbers of zero ratings added to a mean: of an item, a user, a cell of users, user and flag.
ITEM_PRIOR, USER_PRIOR, CELL_PRIOR, OWN_PRIOR = 25.0, 10.0, 10.0, 5.0


@dataclass(frozen=True, eq=False)
class SideTables:
    """Side information about users and items; None if there is none.

    Attributes
    ----------
    gender, occupation : ndarray of shape (n_users,), int64, or None
        Codes from 0.
    age : ndarray of shape (n_users,), or None
    year : ndarray of shape (n_items,), or None
        Years; finite.
    flags : ndarray of shape (n_items, n_flags), bool, or None
        Properties of items, such as genres.
    flag_names : tuple of str
    """

    gender: Int64Array | None = None
    age: Float64Array | None = None
    occupation: Int64Array | None = None
    year: Float64Array | None = None
    flags: NDArray[np.bool_] | None = None
    flag_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Context:
    """Ratings (n_ratings,) that describe users and items."""

    users: Int64Array
    items: Int64Array
    values: Float64Array
    n_users: int
    n_items: int
    scale: tuple[float, float]
    mean: float = field(init=False)
    item_bias: Float64Array = field(init=False)
    user_bias: Float64Array = field(init=False)
    residuals: Float64Array = field(init=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("mean", float(self.values.mean()))
        above = self.values - self.mean
        put("item_bias", shrunk_mean(self.items, above, self.n_items, ITEM_PRIOR))
        above = above - self.item_bias[self.items]
        put("user_bias", shrunk_mean(self.users, above, self.n_users, USER_PRIOR))
        put("residuals", above - self.user_bias[self.users])

    def matrix(self, values: Any) -> Any:
        """Sparse matrix of one number per rating, shape (n_users, n_items)."""
        shape = (self.n_users, self.n_items)
        return sparse.csr_array((values, (self.users, self.items)), shape=shape)

    def baseline(self, users: Int64Array, items: Int64Array) -> Float64Array:
        """Sum of the mean and the biases for pairs."""
        return self.mean + self.user_bias[users] + self.item_bias[items]

    @property
    def item_counts(self) -> Float64Array:
        """Number of ratings of every item."""
        return np.bincount(self.items, minlength=self.n_items).astype(np.float64)

    @property
    def user_counts(self) -> Float64Array:
        """Number of ratings of every user."""
        return np.bincount(self.users, minlength=self.n_users).astype(np.float64)


def shrunk_mean(keys: Int64Array, values: Float64Array, n_keys: int, prior: float) -> Float64Array:
    """Mean of the values of each key with ``prior`` additional zeros."""
    sums = np.bincount(keys, values, n_keys)
    return sums / (np.bincount(keys, minlength=n_keys) + prior)


def plain_mean(
    keys: Int64Array, values: Float64Array, n_keys: int, otherwise: float
) -> Float64Array:
    """Mean of the values of each key; ``otherwise`` for keys without values."""
    counts = np.bincount(keys, minlength=n_keys)
    sums = np.bincount(keys, values, n_keys)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)
