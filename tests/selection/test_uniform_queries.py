"""The header of a board counts the queries on which rankers can differ."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankwise import RidgeRanker, compare
from rankwise.datasets import RankingData
from rankwise.selection import Leaderboard


def make(sizes, grades):
    """Queries of some sizes; the rows of each have the grades in turn."""
    pairs = zip(sizes, grades, strict=True)
    y = [row % 2 if grade is None else grade for size, grade in pairs for row in range(size)]
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    return RankingData(X, np.array(y, dtype=float), qid=np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize(
    ("sizes", "grades", "said"),
    [
        ([3] * 8, [None] * 8, None),
        ([1, 1, 1, 3, 3, 3, 3, 3], [1, 0, 1, *[None] * 5], 5),
        ([3] * 8, [2, 2, *[None] * 6], 6),
        ([3] * 8, [0, 0, *[None] * 6], None),  # no relevant row: a rule of the measure
    ],
)
def test_the_header_counts_queries_that_can_differ(sizes, grades, said):
    board = compare({"ridge": RidgeRanker()}, make(sizes, grades), cv=2)
    heading = str(board).splitlines()[0]
    assert ("can differ" in heading) == (said is not None), heading
    assert said is None or f"(rankers can differ on {said}: {8 - said} have one row" in heading
    again = Leaderboard.from_dict(json.loads(json.dumps(board.to_dict())))
    assert str(again).splitlines()[0] == heading
