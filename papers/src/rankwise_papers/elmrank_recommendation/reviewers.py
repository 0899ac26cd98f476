"""Test reviewers, their reference reviewers and halves: what one repetition consists of.

A test reviewer's items are the rows, 300 reference reviewers' ratings of them the features; a
random half of the items trains. The test reviewers and halves of a repetition are the same for
every group of reference reviewers, so that groups and methods compare on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.datasets import Ratings, ratings_from_triplets
from rankwise.typing import Float64Array, Int64Array

GROUPS = ((20, 40), (40, 60), (60, 80))  # numbers of ratings, both ends inclusive
TEST_COUNTS = (50, 300)
N_REFERENCES = 300
N_FOLDS = 10
BOOK_USER_REVIEWS, BOOK_REVIEWS = 200, 10


@dataclass(frozen=True, eq=False)
class Reviewer:
    """One test reviewer with its reference reviewers.

    Attributes
    ----------
    user : int
        Number of the test reviewer.
    y : ndarray of shape (n_items,)
        Its ratings; the first ``n_train`` train, the rest test.
    n_train : int
    ratings : ndarray of shape (n_items, n_references)
        The references' ratings of the items, NaN where there is none.
    medians, means : ndarray of shape (n_references,)
        Of all ratings of each reference reviewer.
    """

    user: int
    y: Float64Array
    n_train: int
    ratings: Float64Array
    medians: Float64Array
    means: Float64Array

    @property
    def y_train(self) -> Float64Array:
        """Ratings to learn from."""
        return self.y[: self.n_train]

    @property
    def y_test(self) -> Float64Array:
        """Ratings to predict."""
        return self.y[self.n_train :]

    def filled(self, fill: Float64Array | float) -> Float64Array:
        """``ratings`` with missing values set to ``fill``, a number or one per reference."""
        return np.where(np.isnan(self.ratings), fill, self.ratings)

    def folds(self, seed: Sequence[int], n_draws: int = 1) -> Int64Array:
        """Fold 0 ... 9 of each training row at random, shape (n_draws, n_train)."""
        rng = np.random.default_rng([*seed, self.user])
        number = np.arange(self.n_train) % min(N_FOLDS, self.n_train)
        return np.stack([rng.permutation(number) for _ in range(n_draws)])


@dataclass(frozen=True, eq=False)
class ReferenceTable:
    """Ratings as a matrix of those users who may be reference reviewers, and all of them by list.

    Attributes
    ----------
    ratings : Ratings
    members : ndarray of int64
        Users who may be reference reviewers.
    """

    ratings: Ratings
    members: Int64Array

    @cached_property
    def _row_of(self) -> Int64Array:
        rows = np.full(self.ratings.n_users, -1)
        rows[self.members] = np.arange(len(self.members))
        return rows

    @cached_property
    def _matrix(self) -> Float64Array:
        matrix = np.full((len(self.members), self.ratings.n_items), np.nan)
        for row, user in enumerate(self.members):
            items, values = self.ratings.of_user(int(user))
            matrix[row, items] = values
        return matrix

    @cached_property
    def _medians(self) -> Float64Array:
        return np.array([np.median(self.ratings.of_user(int(u))[1]) for u in self.members])

    @cached_property
    def _means(self) -> Float64Array:
        return np.array([np.mean(self.ratings.of_user(int(u))[1]) for u in self.members])

    def reviewer(self, user: int, seed: Sequence[int], references: Int64Array) -> Reviewer:
        """A test reviewer; the halves of its items depend on ``seed`` and the user alone."""
        items, y = self.ratings.of_user(user)
        order = np.random.default_rng([*seed, user]).permutation(len(items))
        rows = self._row_of[references]
        assert (rows >= 0).all()
        return Reviewer(
            user,
            y[order],
            len(items) // 2,
            self._matrix[np.ix_(rows, items[order])].T,
            self._medians[rows],
            self._means[rows],
        )


def users_with(ratings: Ratings, low: int, high: int) -> Int64Array:
    """Users with ``low`` to ``high`` ratings, both ends inclusive."""
    return np.flatnonzero((ratings.counts >= low) & (ratings.counts <= high))


def reference_table(ratings: Ratings) -> ReferenceTable:
    """The table of the users of all three groups."""
    return ReferenceTable(ratings, users_with(ratings, GROUPS[0][0], GROUPS[-1][1]))


def draw_reviewers(
    table: ReferenceTable, repetition: int, group: tuple[int, int], n_reviewers: int
) -> list[Reviewer]:
    """Test reviewers of a repetition, without replacement, with references from a group.

    The first n of more reviewers are the same n.
    """
    eligible = users_with(table.ratings, *TEST_COUNTS)
    users = np.random.default_rng([repetition]).permutation(eligible)[:n_reviewers]
    candidates = users_with(table.ratings, *group)
    drawn = []
    for user in users.tolist():
        rng = np.random.default_rng([repetition, user, *group])
        references = rng.choice(candidates[candidates != user], N_REFERENCES, replace=False)
        drawn.append(table.reviewer(user, [repetition], references))
    return drawn


def book_reviewers(ratings: Ratings) -> list[Reviewer]:
    """Every user with 200 reviews by turn, all others the references, on books with 10 reviews.

    Reviews are counted before anything is filtered. Users with fewer than four such books, of
    which neither half could hold a pair, are references only.
    """
    books = np.flatnonzero(np.bincount(ratings.items, minlength=ratings.n_items) >= BOOK_REVIEWS)
    users = np.flatnonzero(ratings.counts >= BOOK_USER_REVIEWS)
    owner = np.repeat(np.arange(ratings.n_users), ratings.counts)
    keep = np.isin(ratings.items, books) & np.isin(owner, users)
    filtered = ratings_from_triplets(
        owner[keep], ratings.items[keep], ratings.values[keep], scale=ratings.scale
    )
    everyone = np.arange(filtered.n_users)
    table = ReferenceTable(filtered, everyone)
    return [
        table.reviewer(user, [0], everyone[everyone != user])
        for user in everyone.tolist()
        if filtered.counts[user] >= 4
    ]
