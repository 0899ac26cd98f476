"""Misranking of RankBoost on MovieLens-1M and Jester with two readings of a missing rating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Cell, Experiment, FindFiles, Results, ResultTable
from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.experiment import (
    LOAD,
    Recommendation,
    reference_rows,
)
from rankwise_papers.elmrank_recommendation.families import FOLD_SEED
from rankwise_papers.elmrank_recommendation.measures import DECIMALS
from rankwise_papers.elmrank_recommendation.rankboost_methods import fit_rankboost
from rankwise_papers.elmrank_recommendation.reviewers import (
    GROUPS,
    Reviewer,
    draw_reviewers,
)
from rankwise_papers.rankboost_missing import tables
from rankwise_papers.sources import make_fetchers

N_REVIEWERS, QUICK_REVIEWERS = 300, 8
REPETITION = 0  # that of RankBoost in elmrank-recommendation


class MissingRatings(Experiment):
    """RankBoost with medians in place of missing ratings, and with missing ratings as NaN."""

    def data(self) -> dict[str, FindFiles]:
        return make_fetchers(LOAD)

    def cells(self, quick: bool) -> Sequence[Cell]:
        n_reviewers = QUICK_REVIEWERS if quick else N_REVIEWERS
        return [
            Cell(
                f"{'quick/' if quick else ''}{name}/{low}-{high}/{fill}",
                {"group": [low, high], "fill": fill, "n_reviewers": n_reviewers},
                name,
            )
            for name in LOAD
            for low, high in GROUPS
            for fill in tables.FILLS
        ]

    def run(self, cell: Cell) -> Any:
        params = cell.params
        group = tuple(params["group"])
        reviewers = draw_reviewers(
            reference_rows(cell.data), REPETITION, group, params["n_reviewers"]
        )
        features = [
            reviewer.filled(reviewer.medians) if params["fill"] == "median" else reviewer.ratings
            for reviewer in reviewers
        ]
        scores, chosen = fit_rankboost(reviewers, features, [FOLD_SEED, REPETITION])
        return {"chosen": chosen, **misranked(reviewers, scores)}

    def tables(self, results: Results, quick: bool) -> Sequence[ResultTable]:
        return tables.make(results, Recommendation().published("published.csv"), quick)


def misranked(
    reviewers: Sequence[Reviewer], scores: Sequence[Float64Array]
) -> dict[str, list[float]]:
    """Shares of the test pairs of different ratings, a number per reviewer.

    Returns
    -------
    dict with "wrong" and "tied"
        Shares of pairs in the wrong order and with equal scores; NaN if all ratings are equal.
    """
    wrong, tied = [], []
    for reviewer, values in zip(reviewers, scores, strict=True):
        y, rounded = reviewer.y_test, np.round(values, DECIMALS)
        upper, lower = np.nonzero(y[:, None] > y)
        difference = rounded[upper] - rounded[lower]
        known = len(difference) > 0
        wrong.append(float(np.mean(difference < 0)) if known else float("nan"))
        tied.append(float(np.mean(difference == 0)) if known else float("nan"))
    return {"wrong": wrong, "tied": tied}
