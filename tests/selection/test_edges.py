"""A parameter at the end of its grid is remarked where more of it might be better."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LSRRank, RidgeRanker, compare
from rankwise.datasets import Fold, RankingData
from rankwise.metrics import parse
from rankwise.selection.cells.fold_tuning import edge_notes, is_at_end, tune


def searched(scores, name="C", values=(0.1, 1.0, 10.0, 100.0, 1000.0)):
    return [{"params": {name: v}, "score": s} for v, s in zip(values, scores, strict=True)]


@pytest.mark.parametrize(
    ("scores", "chosen", "note"),
    [
        ([1, 2, 3, 4, 5], 1000.0, "C = 1000 is the largest of 5 values tried"),
        ([5, 4, 3, 2, 1], 0.1, "C = 0.1 is the smallest of 5 values tried"),
        ([1, 2, 5, 4, 3], 10.0, None),
        ([1, 2, 3, 5, 5], 1000.0, None),  # level: nothing to be expected beyond
        ([np.nan] * 5, 0.1, None),
    ],
)
def test_ends(scores, chosen, note):
    notes = edge_notes({"C": chosen}, searched(scores))
    assert notes == ([] if note is None else [f"{note}: a better one may lie beyond"])
    for end in ("largest", "smallest"):
        assert is_at_end(notes, "C", chosen, end) == (note is not None and end in note)
        assert not is_at_end(notes, "C", "auto", end)
    signed = [-score for score in scores]
    assert edge_notes({"C": chosen}, searched(signed), greater_is_better=False) == notes


def test_what_has_no_beyond():
    rising = [1, 2, 3, 4, 5]
    assert edge_notes({"C": np.inf}, searched(rising, values=(1, 2, 3, 4, np.inf))) == []
    assert edge_notes({"C": 0.0}, searched(rising[::-1], values=(0.0, 1, 2, 3, 4))) == []
    assert edge_notes({"C": np.array([4.0])}, searched(rising)) == []
    assert edge_notes({"kernel": "rbf"}, searched(rising, "kernel", "abcde")) == []
    assert edge_notes({"n_estimators": 7}, searched(rising)) == []
    assert edge_notes({"C": 3}, searched([1, 2, 3], values=(1, 2, 3))) == []  # too few


def test_one_of_two_parameters():
    search = [
        {"params": {"C": float(c), "gamma": float(g)}, "score": c - abs(g - 2)}
        for g in range(5)
        for c in range(1, 7)
    ]
    (note,) = edge_notes({"C": 6.0, "gamma": 2.0}, search)
    assert note.startswith("C = 6 is the largest of 6")


def table(rng, n_queries, first=0):
    """The second feature counters the noise of the first: more freedom is always better."""
    noise = rng.standard_normal(20 * n_queries)
    y = rng.integers(0, 3, 20 * n_queries).astype(float)
    X = np.column_stack([y + noise, 1e-3 * noise])
    return RankingData(X, y, qid=first + np.repeat(np.arange(n_queries), 20))


def test_tuning_remarks_it_and_the_leaderboard_shows_it(rng):
    fold = Fold(table(rng, 20), table(rng, 10, 100), table(rng, 10, 200))
    ranker = RidgeRanker(alpha=[1e-4, 1e-3, 1e-2, 0.1, 1.0])
    tuned = tune(ranker, fold.train, fold.vali, parse("nDCG@5"))
    (note,) = tuned.notes
    assert note.startswith("alpha = 0.0001 is the smallest of 5 values tried")
    board = compare({"mine": ranker}, fold, measures=["nDCG@5"])
    assert f"note: mine: {note}" in str(board)
    wider = RidgeRanker(alpha=[1e-12, 1e-9, 1e-6, 1e-3, 1.0, 10.0])
    assert tune(wider, fold.train, fold.vali, parse("nDCG@5")).notes == []


def test_mean_scaled_penalties_and_widths_are_chosen_parameters(rng):
    fold = Fold(table(rng, 2), None, table(rng, 2, 200))
    tuned = tune(LSRRank(lam="val", gamma=[0.1, 1.0]), fold.train, None, parse("MSD"))
    assert tuned.chosen == {"lam": tuned.estimator.lam_, "gamma": tuned.estimator.gamma_}
    assert tuned.notes[0] == "no validation part: lam by cross-validation over training queries"
    assert {"lam", "gamma"} == set(tuned.search[0]["params"])
    assert len(tuned.search) == 2 * len(np.unique([s["params"]["lam"] for s in tuned.search]))


def test_values_that_a_measure_does_not_tell_apart():
    search = [{"params": {"C": 10.0**k}, "score": 0.5} for k in range(5)]
    told = "C = 1 is the first of 5 values tried, which the measure does not tell apart"
    assert edge_notes({"C": 1.0}, search) == [told]
    assert edge_notes({"C": 1.0}, search[:4]) == []
    search[3]["score"] = 0.6
    assert edge_notes({"C": 1000.0}, search) == []
