"""What one Monte-Carlo draw learns from and is tested on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from rankwise.datasets import load_cystic_fibrosis, load_movielens
from rankwise.typing import Float64Array, Int64Array

N_PANEL = 100  # users whose ratings are the columns
MIN_FILMS = 50  # of a user who is drawn
MIN_FILMS_CURVE = 320  # of a user of whom a learning curve is drawn
_CURVE = 1  # in the seed of curves


@dataclass(frozen=True, eq=False)
class Draw:
    """Two random halves of one target's rows.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_features)
        Grades as they are, NaN where there is none.
    y_train, y_test : ndarray of int64
        Grades of the target, 0 for the lowest.
    middle, reach : float
        Middle of the scale of the columns, and from there to its ends.
    """

    X_train: Float64Array
    y_train: Int64Array
    X_test: Float64Array
    y_test: Int64Array
    middle: float
    reach: float

    def first(self, n_train: int) -> Draw:
        """The draw with the first of its training rows only."""
        rows = (self.X_train[:n_train], self.y_train[:n_train])
        return Draw(*rows, self.X_test, self.y_test, self.middle, self.reach)

    def numbers(self) -> tuple[Float64Array, Float64Array]:
        """Train and test rows for the perceptrons: no value missing, rows of norm 1 or less.

        A missing grade is the middle of the scale, which becomes 0: it adds nothing to a score.
        """
        scale = self.reach * np.sqrt(self.X_train.shape[1])
        rows = (self.X_train, self.X_test)
        train, test = (np.nan_to_num((X - self.middle) / scale) for X in rows)
        return train, test


@cache
def _grades() -> Int64Array:
    return load_cystic_fibrosis().grades


@cache
def _films() -> tuple[Float64Array, Int64Array, Int64Array, Int64Array]:
    """Panel's ratings (films, users), NaN for none; films, ratings and ends of every user."""
    ratings = load_movielens()
    most = np.argsort(-ratings.counts, kind="stable")[:N_PANEL]
    panel = np.full((ratings.n_items, N_PANEL), np.nan)
    for column, user in enumerate(most.tolist()):
        items, values = ratings.of_user(user)
        panel[items, column] = values
    keep = np.ones(ratings.n_users, dtype=bool)
    keep[most] = False
    others = np.flatnonzero(keep)
    return (
        panel,
        ratings.items,
        ratings.values.astype(np.int64),
        np.stack([others, ratings.indptr[others], ratings.indptr[others + 1]]),
    )


def cystic_fibrosis(number: int, *, curve: bool = False) -> tuple[Draw, int]:
    """Rows: all judged pairs; target: a rater drawn; columns: the three others' grades."""
    grades = _grades()
    rng = np.random.default_rng([number, _CURVE] if curve else [number])
    target = int(rng.integers(grades.shape[1]))
    X = np.delete(grades, target, axis=1).astype(np.float64)
    return _halves(X, grades[:, target], rng, middle=1.0, reach=1.0), target


def movielens(number: int, *, curve: bool = False) -> tuple[Draw, int]:
    """Rows: the films of a user drawn; target: his ratings; columns: the panel's."""
    panel, items, values, (users, start, stop) = _films()
    rng = np.random.default_rng([number, _CURVE] if curve else [number])
    fewest = MIN_FILMS_CURVE if curve else MIN_FILMS
    drawn = int(rng.choice(np.flatnonzero(stop - start >= fewest)))
    rows = slice(start[drawn], stop[drawn])
    draw = _halves(panel[items[rows]], values[rows] - 1, rng, middle=3.0, reach=2.0)
    return draw, int(users[drawn])


def _halves(
    X: Float64Array, y: Int64Array, rng: np.random.Generator, middle: float, reach: float
) -> Draw:
    order = rng.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return Draw(X[train], y[train], X[test], y[test], middle, reach)


def least_loss(target: int) -> float:
    """Mean absolute rank loss on all judged pairs of the best rule of the three other grades."""
    grades = _grades()
    others = np.delete(grades, target, axis=1)
    _, cell = np.unique(others, axis=0, return_inverse=True)
    counts = np.zeros((cell.max() + 1, 3))
    np.add.at(counts, (cell.ravel(), grades[:, target]), 1)
    distance = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    return float((counts @ distance).min(axis=1).sum() / len(grades))
