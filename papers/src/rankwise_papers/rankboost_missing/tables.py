"""What the cells become: misranking beside the published one, ties, and the chosen rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.reviewers import GROUPS
from rankwise_papers.shared_tables import ABSENT, mean_and_error

FILLS = ("median", "missing")
DATA = {"movielens": "movielens-1m", "jester": "jester"}
TITLES = {"movielens": "MovieLens", "jester": "Jester"}
MEDIAN = "medians, the paper's fill"
MISSING = "left missing, beyond the paper's fill"
QUICK = "A quick run takes a few reviewers of the 300."


def make(
    results: Results, published: Sequence[Mapping[str, str]], quick: bool
) -> list[ResultTable]:
    """The misranking and the ties of every data set and group."""
    paper = {
        (row["data"], row["group"]): row
        for row in published
        if row["measure"] == "Misranking" and row["method"] == "RankBoost"
    }
    beside, ties = [], []
    for data in DATA:
        for low, high in GROUPS:
            group = f"{low}-{high}"
            where = f"{'quick/' if quick else ''}{DATA[data]}/{group}"
            found = {fill: results.get(f"{where}/{fill}") for fill in FILLS}
            title = f"{TITLES[data]} {group}"
            beside += _misranking(title, found, paper.get((data, group)), quick)
            ties += _ties(title, found)
    return [
        ResultTable(
            "misranking",
            "Table 3: pairwise misranking of RankBoost",
            beside,
            caption=(
                "Pairs of equal scores count in full. Met: within the published ±, a standard "
                "deviation over ten repetitions; ours is one repetition. The rows of the paper's "
                "fill are those of elmrank-recommendation."
            ),
            error_is="standard error over reviewers",
        ),
        ResultTable(
            "ties",
            "Pairs of equal scores, and the rounds",
            ties,
            caption="Tied: share of the test pairs of different ratings that have equal scores.",
            error_is="standard error over reviewers",
            digits=3,
        ),
    ]


def _misranking(
    title: str, found: Mapping[str, Any], row: Mapping[str, str] | None, quick: bool
) -> list[Value]:
    counted = {
        fill: None if cell is None else counted_in_full(cell) for fill, cell in found.items()
    }
    median, missing = counted["median"], counted["missing"]
    published: dict[str, Any] = {}
    if row is not None:
        published = {
            "paper": float(row["mean"]), "paper_error": float(row["sd"]), "source": row["source"],
            "tolerance": float(row["sd"]), "not_evidence": QUICK if quick else "",
        }  # fmt: skip
    values = [
        Value(
            title, MEDIAN, *mean_and_error(median), larger_is_better=False,
            note=ABSENT if median is None else "", **published,
        ),
        Value(title, MISSING, *mean_and_error(missing), note=ABSENT if missing is None else ""),
    ]  # fmt: skip
    if median is not None and missing is not None:
        values.append(Value(title, "difference", *mean_and_error(missing - median)))
    return values


def _ties(title: str, found: Mapping[str, Any]) -> list[Value]:
    values = []
    for fill, name in zip(FILLS, ("medians", "left missing"), strict=True):
        cell = found[fill]
        if cell is None:
            values.append(Value(title, f"tied, {name}", note=ABSENT))
            continue
        halved = _array(cell["wrong"]) + 0.5 * _array(cell["tied"])
        rounds = float(cell["chosen"].partition(" ")[0])
        values += [
            Value(title, f"tied, {name}", *mean_and_error(_array(cell["tied"]))),
            Value(title, f"misranking with ties counted half, {name}", *mean_and_error(halved)),
            Value(title, f"rounds, {name}", rounds),
        ]
    return values


def counted_in_full(cell: Mapping[str, Any]) -> Float64Array:
    """Misranking of every reviewer with equal scores as errors."""
    return _array(cell["wrong"]) + _array(cell["tied"])


def _array(values: Sequence[float | None]) -> Float64Array:
    return np.array([math.nan if value is None else value for value in values])
