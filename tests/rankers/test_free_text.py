"""Text that hardly repeats is no feature: of tables, of comparisons and of fits on frames alike."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankwise
from rankwise import AutoRanker, LambdaMART
from rankwise.datasets import IgnoredColumnsWarning, RankingData
from rankwise.ordinal import RankingTree
from rankwise.trees.column_table import ColumnTable

N = 240
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "z": RNG.normal(size=N)})
Y = (FRAME["x"] + 0.3 * RNG.normal(size=N) > 0.5).astype(float)
QID = np.arange(N) // 10
TITLES = [f"a red chair {i}" for i in range(N)]
SAID = "hardly repeat are not used as features: 'title'"
RANKERS = {
    "lambdamart": lambda: LambdaMART(3),
    "ordered": lambda: LambdaMART(3, categorical_encoding="ordered"),
    "cv": lambda: LambdaMART(3, cv=2),
    "auto": lambda: AutoRanker(n_trials=3, cv=2, random_state=0),
    "tree": lambda: RankingTree(max_depth=3, cv=2),
}
# Texts of a column, and whether they are categories.
COLUMNS = {
    "unique": (TITLES, False),
    "pairs": ([f"t{i // 2}" for i in range(N)], True),
    "hardly": ([f"t{i // 2}" if i else "first" for i in range(N)], False),
    "missing": ([f"t{i // 2}" if i % 2 else None for i in range(N)], False),
    "empty": ([f"t{i // 2}" if i % 2 else "" for i in range(N)], False),
    "rare": (["a"] + [None] * (N - 1), False),
    "dates": ([f"{1 + i % 28:02d}.{1 + i // 28:02d}.2024" for i in range(N)], False),
}
LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": lambda frame:
             pl.from_pandas(frame).to_arrow()}  # fmt: skip


@pytest.mark.filterwarnings("ignore::rankwise.datasets.IgnoredColumnsWarning")
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("column", COLUMNS)
def test_tables_and_fits_choose_the_same_columns(column, library):
    texts, is_category = COLUMNS[column]
    frame = LIBRARIES[library](FRAME.assign(title=texts))
    data = RankingData.from_frame(
        LIBRARIES[library](FRAME.assign(title=texts, label=Y, qid=QID)), categories=True
    )
    assert ("title" in data.feature_names) == is_category
    assert (len(ColumnTable.of(frame).nominal[2]) > 0) == is_category
    assert len(ColumnTable.of(frame, ["title"]).nominal[2])
    if column != "dates":
        declared = FRAME.assign(title=pd.Categorical(texts))
        data = RankingData.from_frame(declared.assign(label=Y, qid=QID), categories=True)
        assert "title" in data.feature_names and len(ColumnTable.of(declared).nominal[2])


@pytest.mark.parametrize("ranker", RANKERS)
def test_fits_do_not_use_them(ranker, tmp_path):
    frame = FRAME.assign(title=TITLES)
    with pytest.warns(IgnoredColumnsWarning, match=SAID) as caught:
        model = RANKERS[ranker]().fit(frame, Y, qid=QID)
    assert len(caught) == 1
    assert model.feature_names_in_.tolist() == ["x", "z", "title"]
    constant = FRAME.assign(title=np.nan if ranker in ("auto", "tree") else -1.0)
    expected = rankwise.scores(RANKERS[ranker]().fit(constant, Y, qid=QID), constant)
    loaded = rankwise.load(rankwise.save(model, tmp_path / "m.rankwise"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for title in (TITLES, "new", None):
            for fitted in (model, loaded):
                np.testing.assert_array_equal(
                    rankwise.scores(fitted, frame.assign(title=title)), expected
                )
        if ranker == "tree":  # the others compile for seconds
            rankwise.warm_up(model)


def test_rows_of_weight_0_do_not_count():
    texts = [f"t{i // 2}" for i in range(N)]
    weight = np.where(np.arange(N) % 3, 1.0, 0.0)
    with pytest.warns(IgnoredColumnsWarning, match=SAID):
        table = ColumnTable.of(FRAME.assign(title=texts), sample_weight=weight)
    assert not len(table.nominal[2])
