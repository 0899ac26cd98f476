"""Training, validation and test rows of every part, normalised, as columns of either kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from rankwise.datasets import (
    Fold,
    FoldedData,
    OrdinalData,
    RankingData,
    load_dataset,
    load_movielens,
    load_ordinal,
)
from rankwise.features import Nystroem, QueryScaler
from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.pruned_ranksvm.plan import N_LANDMARKS, NONE, QUERY, SETS

N_BINS = 10  # classes of equal frequency that the numbers of ordinal sets are cut into
ROWS = (1000, 500, 2000)  # of an ordinal set: train, validation, test
USERS = (100, 100, 300)  # of MovieLens
N_PANEL = 100  # busiest users, whose ratings are the columns
SHRINK = 5.0  # raters of the panel's mean that a film's mean is moved by
MIN_FILMS, MAX_FILMS = 50, 300  # of a user who is drawn


@lru_cache(maxsize=1)
def columns(data: str, part: int, scaling: str, kernel: str) -> Fold:
    """A part whose X are the columns that a linear ranker is trained on.

    For the RBF kernel they are Nyström columns; its width is the median of the training rows.
    """
    fold = _scaled(data, part, scaling)
    if kernel == "linear":
        return fold
    features = Nystroem(n_components=N_LANDMARKS, random_state=part).fit(fold.train.X)
    return _changed(fold, lambda part: features.transform(part.X))


@lru_cache(maxsize=1)
def _scaled(data: str, part: int, scaling: str) -> Fold:
    """Scale features within each query, by the training rows, or not at all."""
    fold = _ordinal(data, part) if SETS[data].is_ordinal else _queries(data, part)
    if scaling == NONE:
        return fold
    scaler = QueryScaler("min_max").fit(fold.train.X, qid=fold.train.qid)
    return _changed(
        fold, lambda part: scaler.transform(part.X, qid=part.qid if scaling == QUERY else None)
    )


def _changed(fold: Fold, change: Callable[[RankingData], Float64Array]) -> Fold:
    assert fold.vali is not None
    train, vali, test = (
        replace(part, X=change(part)) for part in (fold.train, fold.vali, fold.test)
    )
    return Fold(train, vali, test, fold.name)


def _queries(data: str, part: int) -> Fold:
    return _films(part) if data == "movielens" else _letor(SETS[data].source)[part - 1]


@cache
def _letor(source: str) -> FoldedData:
    return load_dataset(source, dtype=np.float64)


def _films(part: int) -> Fold:
    """Users as queries, their films as rows, the panel's ratings of them as columns.

    The users of all parts and draws are different ones.
    """
    panel, users = _panel()
    ratings = load_movielens()
    drawn = users[(part - 1) * sum(USERS) :]
    made = []
    for n in USERS:
        lists = [ratings.of_user(user) for user in drawn[:n].tolist()]
        drawn = drawn[n:]
        films = np.concatenate([items for items, _ in lists])
        grades = np.concatenate([values for _, values in lists]) - ratings.scale[0]
        qid = np.repeat(np.arange(n), [len(items) for items, _ in lists])
        made.append(RankingData(panel[films], grades, qid=qid))
    return Fold(made[0], made[1], made[2], f"draw{part}")


@cache
def _panel() -> tuple[Float64Array, Int64Array]:
    """Columns of every film, and the users to draw from in a random order.

    A missing rating is the median of the panel member's; two columns more are the panel's shrunk
    mean and how many of it rated the film.
    """
    ratings = load_movielens()
    busiest = np.argsort(-ratings.counts, kind="stable")[:N_PANEL]
    table = np.full((ratings.n_items, N_PANEL), np.nan)
    for column, user in enumerate(busiest.tolist()):
        items, values = ratings.of_user(user)
        table[items, column] = values
    known = ~np.isnan(table)
    raters = known.sum(axis=1)
    mean = (np.nansum(table, axis=1) + SHRINK * np.nanmean(table)) / (raters + SHRINK)
    filled = np.where(known, table, np.nanmedian(table, axis=0))
    is_drawn = (ratings.counts >= MIN_FILMS) & (ratings.counts <= MAX_FILMS)
    is_drawn[busiest] = False
    users = np.random.default_rng(0).permutation(np.flatnonzero(is_drawn))
    return np.column_stack([filled, mean, raters]), users


def _ordinal(data: str, part: int) -> Fold:
    """Rows drawn with the part's number as seed; all rows of train (vali, test) are one group."""
    known = _table(data)
    X = _one_hot(known)
    rows = np.random.default_rng(part).permutation(len(known.y))[: sum(ROWS)]
    made = [
        RankingData(
            X[block], known.y[block].astype(np.float64), qid=np.zeros(len(block), dtype=np.int64)
        )
        for block in np.split(rows, np.cumsum(ROWS)[:-1])
    ]
    return Fold(made[0], made[1], made[2], f"draw{part}")


@cache
def _table(data: str) -> OrdinalData:
    return load_ordinal(data, bins=N_BINS)


def _one_hot(known: OrdinalData) -> Float64Array:
    """Columns as published, a nominal one as a column per category."""
    made = []
    for column, categories in zip(known.X.T, known.categories, strict=True):
        codes = range(len(categories))
        made += [(column == code).astype(np.float64) for code in codes] if categories else [column]
    return np.column_stack(made)
