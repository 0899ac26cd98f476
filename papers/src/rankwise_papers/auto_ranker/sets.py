"""The six sets: training, validation and test queries, and the measures of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rankwise.datasets import Fold, RankingData, fetch, load_dataset


@dataclass(frozen=True)
class DataSet:
    """One set.

    Attributes
    ----------
    title, source : str
        ``source`` is its name in the catalog.
    n_folds : int
    seconds : float
        CPU time of every contestant on a fold.
    relevant : int
        Least grade that AP counts as relevant.
    """

    title: str
    source: str
    n_folds: int = 1
    seconds: float = 60.0
    relevant: int = 1


SETS = {
    "ohsumed": DataSet("OHSUMED", "ohsumed", 5),
    "mq2008": DataSet("MQ2008", "mq2008", 5),
    "lambdarank": DataSet("bundled", "lambdarank"),
    "mslr": DataSet("MSLR slices", "mslr-slices"),
    "expedia": DataSet("Expedia slice", "expedia-slice"),
    "movielens": DataSet("MovieLens task", "movielens-1m", 1, 300.0, 4),
}
# Known only once a search was shown, what the user did then, and numbers that name things.
_NO_FEATURES = {
    "srch_id", "date_time", "position", "click_bool", "gross_bookings_usd", "booking_bool",
    "prop_id", "srch_destination_id",
}  # fmt: skip


@cache
def load(name: str, number: int) -> Fold:
    """A fold with all three parts."""
    if name == "expedia":
        return expedia()
    if name == "movielens":
        from rankwise.datasets import load_movielens_task

        return load_movielens_task("1m")
    return load_dataset(SETS[name].source, fold=number)


def expedia() -> Fold:
    """Searches by a hash: 60 % for training, 20 % each for validation and test.

    Grades: 5 booked, 1 clicked, 0 neither, as the competition has them. The last search may be
    cut and is left out.
    """
    from pyarrow import csv

    table = csv.read_csv(fetch("expedia-slice")[0])
    columns = {name: table[name].to_numpy() for name in table.column_names}
    qid = columns["srch_id"]
    y = np.where(columns["booking_bool"] > 0, 5.0, 1.0 * (columns["click_bool"] > 0))
    names = [name for name in columns if name not in _NO_FEATURES]
    X = np.column_stack([columns[name].astype(np.float64) for name in names])
    rows = RankingData(X, y, qid=qid, feature_names=names, name="expedia-slice")
    share = _splitmix64(qid) % np.uint64(10)
    whole = qid != qid[-1]
    parts = [share < 6, (share >= 6) & (share < 8), share >= 8]
    train, vali, test = (rows.take(np.flatnonzero(part & whole)) for part in parts)
    return Fold(train, vali, test)


def _splitmix64(numbers: Any) -> Any:
    """First output of the generator splitmix64 for each seed."""
    z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
