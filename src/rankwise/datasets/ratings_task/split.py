"""Split ratings into context and ranked ones, and users into parts, by hashes of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.catalog.ratings import Ratings
from rankwise.rows.row_hash import scramble
from rankwise.typing import Int64Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ITEMS, _OTHER_STREAM = np.uint64(65536), np.uint64(10**6)
_PARTS = np.uint64(1000)
_TRAIN, _VALIDATION = 600, 800


def splitmix64(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """First output of the generator splitmix64 for each seed."""
    return scramble(numbers.astype(np.uint64) + _GOLDEN)


def context_mask(ratings: Ratings) -> NDArray[np.bool_]:
    """Mask of the context ratings: the first half of each user's ratings by hash, rounded up.

    The other ratings are to be ranked. Ids that are not whole numbers are replaced by their
    positions.
    """
    users = np.repeat(np.arange(ratings.n_users), ratings.counts)
    keys = splitmix64(_numbers(ratings.user_ids)[users] * _ITEMS
                      + _numbers(ratings.item_ids)[ratings.items])  # fmt: skip
    order = np.lexsort((keys, users))
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys)) - np.repeat(ratings.indptr[:-1], ratings.counts)
    return place < ((ratings.counts + 1) // 2)[users]


def part_of_users(ratings: Ratings) -> Int64Array:
    """Part of every user: 0 for training (60 %), 1 for validation (20 %), 2 for test (20 %)."""
    drawn = splitmix64(_numbers(ratings.user_ids) + _OTHER_STREAM) % _PARTS
    return np.searchsorted([_TRAIN, _VALIDATION], drawn.astype(np.int64), side="right")


def _numbers(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iu" and (ids >= 0).all():
        return ids.astype(np.uint64)
    return np.arange(len(ids), dtype=np.uint64)
