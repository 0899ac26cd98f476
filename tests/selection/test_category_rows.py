"""Columns of text reach the rankers that take categories, and no others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator

from rankwise import AutoRanker, LambdaMART, RankingData, RankingForest, RidgeRanker, compare
from rankwise.datasets import IgnoredColumnsWarning
from rankwise.selection.cells.candidates import model_rows, prepare_rows, takes_categories

RNG = np.random.default_rng(0)
COLOURS = RNG.choice(["blue", "green", "red"], 160)
FRAME = pd.DataFrame({
    "label": (COLOURS == "green") + 0,
    "qid": np.repeat(np.arange(20), 8),
    "bm25": RNG.random(160),
    "colour": COLOURS,
})  # fmt: skip


@pytest.mark.parametrize("taker", [LambdaMART(), AutoRanker(), RankingForest()])
def test_who_takes_categories(taker):
    assert takes_categories(taker)
    assert takes_categories(FrozenEstimator(taker))
    assert not takes_categories(RidgeRanker())
    assert not takes_categories(None)


def test_rows_of_each():
    data = RankingData.from_frame(FRAME, categories=True)
    frame, names = prepare_rows(LambdaMART(), data)
    assert names == ["bm25", "colour"]
    assert frame["colour"].to_pylist() == COLOURS.tolist()
    with pytest.warns(IgnoredColumnsWarning, match=r"RidgeRanker .* leaves out .*: 'colour'"):
        X, names = prepare_rows(RidgeRanker(), data)
    assert (X.shape, names) == ((160, 1), ["bm25"])
    text = RankingData.from_frame(FRAME, features=["colour"], categories=True)
    with pytest.raises(ValueError, match=r"RidgeRanker .* but all columns hold text: 'colour'"):
        prepare_rows(RidgeRanker(), text)


def test_compare_uses_text_of_frames():
    rankers = {"trees": LambdaMART(5, random_state=0), "ridge": RidgeRanker()}
    board = compare(rankers, FRAME, cv=2, measures="AP", isolate=False)
    rows = {row["ranker"]: row for row in board.rows()}
    assert rows["trees"]["mean"] == 1.0
    assert rows["ridge"]["mean"] < 0.9
    model = FrozenEstimator(
        LambdaMART(5).fit(FRAME[["bm25", "colour"]], FRAME.label, qid=FRAME.qid)
    )
    board = compare({"model": model}, FRAME, cv=2, measures="AP", isolate=False)
    assert board.rows()[0]["mean"] == 1.0
    with pytest.warns(IgnoredColumnsWarning, match=r"colour \(text\)"):
        compare({"ridge": RidgeRanker()}, FRAME, cv=2, isolate=False)
    data = RankingData.from_frame(FRAME, categories=True)
    (cell, _) = compare(["column:colour"], data, cv=2, isolate=False).cells
    assert "column:colour must name a column of numbers, and this one holds text" in cell.message


@pytest.mark.filterwarnings("error::rankwise.datasets.IgnoredColumnsWarning")
def test_fitted_models_read_the_columns_that_they_know():
    data = RankingData.from_frame(FRAME.assign(size=RNG.random(160)), categories=True)
    assert data.feature_names == ["bm25", "colour", "size"]
    known = FRAME.assign(size=data.X[:, 2])[["size", "bm25"]]
    X, names = model_rows(FrozenEstimator(RidgeRanker().fit(known, FRAME.label)), data)
    np.testing.assert_array_equal(X, data.X[:, [2, 0]])
    assert names == ["size", "bm25"]
    trees = LambdaMART(2).fit(FRAME[["colour", "bm25"]], FRAME.label)
    X, names = model_rows(FrozenEstimator(trees), data)
    assert names == X.column_names == ["colour", "bm25"]
    assert X["colour"].to_pylist() == COLOURS.tolist()
    with pytest.raises(IgnoredColumnsWarning, match="RidgeRanker takes columns of numbers"):
        prepare_rows(FrozenEstimator(RidgeRanker()), data)
