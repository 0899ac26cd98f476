"""RankBoost with missing ratings left missing: what it is given, how pairs count, the tables."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankBoost
from rankwise.datasets import ratings_from_triplets
from rankwise.experiments import Verdict
from rankwise_papers.elmrank_recommendation import rankboost_methods, reviewers
from rankwise_papers.elmrank_recommendation.measures import measure
from rankwise_papers.rankboost_missing import experiment, tables
from rankwise_papers.rankboost_missing.experiment import MissingRatings, misranked

CELLS = {cell.name: cell for cell in MissingRatings().cells(quick=True)}


@pytest.fixture
def table(rng, monkeypatch):
    """400 users with 10 to 90 of 120 items each, in place of a data set; few rounds and folds."""
    user, item = [], []
    for number in range(400):
        items = rng.permutation(120)[: rng.integers(10, 91)]
        user += [number] * len(items)
        item += items.tolist()
    rating = rng.integers(1, 6, len(user)).astype(float)
    made = reviewers.reference_table(ratings_from_triplets(user, item, rating, scale=(1, 5)))
    monkeypatch.setattr(experiment, "reference_rows", lambda name: made)
    monkeypatch.setattr(reviewers, "N_REFERENCES", 15)
    monkeypatch.setattr(rankboost_methods, "ROUNDS", (2, 5))
    monkeypatch.setattr(rankboost_methods, "N_TUNED", 2)
    return made


@pytest.mark.parametrize("fill", tables.FILLS)
def test_rankboost_gets_medians_or_missing_values(table, fill):
    cell = CELLS[f"quick/jester/20-40/{fill}"]
    found = MissingRatings().run(cell)
    drawn = reviewers.draw_reviewers(table, 0, (20, 40), 8)
    n_rounds = int(found["chosen"].partition(" ")[0])
    scores = []
    for reviewer in drawn:
        X = reviewer.filled(reviewer.medians) if fill == "median" else reviewer.ratings
        assert np.isnan(X).any() == (fill == "missing")
        ranker = RankBoost(n_rounds).fit(X[: reviewer.n_train], reviewer.y_train, qid=0)
        scores.append(ranker.predict(X[reviewer.n_train :]))
    expected = misranked(drawn, scores)
    assert found["wrong"] == expected["wrong"]
    assert found["tied"] == expected["tied"]
    # Ties counted in full are the misranking of elmrank-recommendation.
    in_full = measure([reviewer.y_test for reviewer in drawn], scores)["Misranking"]
    np.testing.assert_allclose(tables.counted_in_full(found), in_full, atol=1e-12)


def test_pairs_by_hand():
    y = np.array([9.0, 9.0, 1.0, 2.0, 3.0])  # two train
    reviewer = reviewers.Reviewer(0, y, 2, np.zeros((5, 1)), np.zeros(1), np.zeros(1))
    found = misranked([reviewer], [np.array([0.5, 0.5 + 1e-12, 0.1])])
    assert found == {"wrong": [pytest.approx(2 / 3)], "tied": [pytest.approx(1 / 3)]}
    level = reviewers.Reviewer(0, np.ones(5), 2, np.zeros((5, 1)), np.zeros(1), np.zeros(1))
    assert np.isnan(misranked([level], [np.zeros(3)])["wrong"]).all()


def test_tables_beside_the_paper():
    cell = {"median": [0.4, 0.5, None], "missing": [0.3, 0.35, None]}
    results = {
        f"movielens-1m/40-60/{fill}": {
            "chosen": "400 rounds", "wrong": wrong, "tied": [0.1, 0.1, None],
        }
        for fill, wrong in cell.items()
    }  # fmt: skip
    beside, ties = MissingRatings().tables(results, quick=False)
    of = {(value.row, value.column): value for value in beside.values}
    median = of["MovieLens 40-60", tables.MEDIAN]
    assert (median.ours, median.paper) == (pytest.approx(0.55), 0.476)
    assert median.verdict is Verdict.MISSED
    missing = of["MovieLens 40-60", tables.MISSING]
    assert missing.verdict is Verdict.NO_PAPER  # no reading of the paper: never met or missed
    assert missing.ours == pytest.approx(0.425)
    difference = of["MovieLens 40-60", "difference"]
    assert difference.ours == pytest.approx(-0.125)
    assert difference.error == pytest.approx(0.025)  # paired
    halved = {(value.row, value.column): value.ours for value in ties.values}
    name = "misranking with ties counted half, medians"
    assert halved["MovieLens 40-60", name] == pytest.approx(0.5)
    assert halved["MovieLens 40-60", "rounds, left missing"] == 400
    assert of["Jester 20-40", tables.MEDIAN].verdict is Verdict.NOT_RUN
    assert sum(value.paper is not None for value in beside.values) == 5


def test_quick_cells_are_their_own():
    full = {cell.name for cell in MissingRatings().cells(quick=False)}
    assert len(full) == len(CELLS) == 12
    assert not full & set(CELLS)
