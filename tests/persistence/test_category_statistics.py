"""Models with statistics of categories: kinds of tables they read, files, and crafted files."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import rankwise as rw
from rankwise.persistence import describe, load, save
from rankwise.structure.model_check import check_model
from rankwise.structure.state_rules import StructureError
from rankwise.trees.column_table import ColumnTable

LEVELS = np.array([f"maker {k}" for k in range(300)], dtype=object)
N = 400
QID = np.arange(N) // 10


def frame(seed):
    """Known, unknown and missing levels next to a number."""
    rng = np.random.default_rng(seed)
    maker = rng.choice([*LEVELS, "new", None], N, p=[0.8 / 300] * 300 + [0.1, 0.1])
    return pd.DataFrame({"price": rng.normal(size=N), "maker": pd.Series(maker, dtype=object)})


def table():
    values = np.random.default_rng(9).normal(size=len(LEVELS)).astype(np.float32)
    return ColumnTable({1: LEVELS}, {}, {1: values.astype(np.float64)}, {1: 0.125})


@pytest.fixture(scope="module")
def ranker():
    X = frame(0)
    numbers = X.assign(maker=table().encode(X).rows["maker"])
    y = np.nan_to_num(numbers["maker"]) + X["price"] > 0.5
    fitted = rw.LambdaMART(15, min_samples_leaf=5).fit(numbers, y, qid=QID)
    fitted.columns_ = table()
    return fitted


def polars(X, dtype=None):
    pl = pytest.importorskip("polars")
    found = pl.from_pandas(X)
    return found if dtype is None else found.with_columns(pl.col("maker").cast(dtype(pl)))


def arrow(X):
    return pytest.importorskip("pyarrow").Table.from_pandas(X)


TABLES = {
    "categories": lambda X: X.assign(maker=X["maker"].astype("category")),
    "unused categories": lambda X: X.assign(maker=pd.Categorical(X["maker"], [*LEVELS, "new"])),
    "string": lambda X: X.assign(maker=X["maker"].astype("string")),
    "polars": polars,
    "polars categories": lambda X: polars(X, lambda pl: pl.Categorical),
    "polars enum": lambda X: polars(X, lambda pl: pl.Enum([*LEVELS, "new"])),
    "arrow": arrow,
    "arrow dictionary": lambda X: arrow(X.assign(maker=X["maker"].astype("category"))),
    "object array": lambda X: X.to_numpy(dtype=object),
    "lists": lambda X: X.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_kind_of_table_reads_alike(kind, ranker):
    X = frame(1)
    wanted = ranker.predict(X)
    assert len(np.unique(wanted)) > 20
    np.testing.assert_array_equal(ranker.predict(TABLES[kind](X)), wanted)


def test_levels_are_the_numbers_of_the_table(ranker):
    """Missing values and unknown levels part, and a level of the training rows has its own."""
    rows = pd.DataFrame({"price": 0.0, "maker": [LEVELS[7], "new", None]})
    encoded = ranker._encoded_rows(rows)[:, 1]
    np.testing.assert_array_equal(encoded, [table().statistics[1][7], 0.125, np.nan])
    with pytest.warns(UserWarning, match="'maker' holds 'new' and the like.*tell it noth"):
        ranker.predict(rows[1:2].loc[[1, 1]])
    with pytest.raises(ValueError, match="column 'maker' of X must hold text as in fit"):
        ranker.predict(rows.assign(maker=4.0))


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_files_keep_them(way, ranker, tmp_path):
    X = frame(2)
    if way == "pickle":
        again = pickle.loads(pickle.dumps(ranker))
    else:
        save(ranker, tmp_path / "model")
        again = load(tmp_path / "model")
        said = {"maker": "300 categories, replaced by statistics"}
        assert describe(tmp_path / "model")["categories"] == said
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert again.columns_.prior == {1: 0.125}
    assert not hasattr(clone(again), "columns_")


def test_tables_without_statistics_load():
    state = {"nominal": {0: LEVELS}, "ordered": {}}
    old = ColumnTable.__new__(ColumnTable)
    old.__setstate__(state)
    assert old.statistics == {} and old.prior == {}
    assert old.n_categories(2).tolist() == [300, 0]


def _changed(**fields):
    return lambda: replace(table(), **fields)


CRAFTED = {
    "too few statistics": _changed(statistics={1: np.zeros(299)}),
    "too many statistics": _changed(statistics={1: np.zeros(301)}),
    "a statistic that is NaN": _changed(statistics={1: np.full(300, np.nan)}),
    "a statistic that is infinite": _changed(statistics={1: np.full(300, np.inf)}),
    "statistics of two dimensions": _changed(statistics={1: np.zeros((300, 1))}),
    "whole numbers": _changed(statistics={1: np.zeros(300, dtype=np.int64)}),
    "objects": _changed(statistics={1: np.array([None] * 300)}),
    "a list": _changed(statistics={1: [0.0] * 300}),
    "no float32 numbers": _changed(statistics={1: np.full(300, 0.1)}),
    "no prior": _changed(prior={}),
    "a prior that is NaN": _changed(prior={1: np.nan}),
    "a prior that is infinite": _changed(prior={1: np.inf}),
    "a prior that is text": _changed(prior={1: "0"}),
    "a prior that is no float32 number": _changed(prior={1: 0.1}),
    "a prior of a column without statistics": _changed(prior={1: 0.0, 0: 0.0}),
    "a column of numbers": _changed(statistics={0: np.zeros(300)}, prior={0: 0.0}),
    "a column beyond the table": _changed(
        nominal={9: LEVELS}, statistics={9: np.zeros(300)}, prior={9: 0.0}
    ),
    "a column below 0": _changed(
        nominal={-1: LEVELS}, statistics={-1: np.zeros(300)}, prior={-1: 0.0}
    ),
    "a column that is text": _changed(statistics={"1": np.zeros(300)}, prior={"1": 0.0}),
    "no statistics at all": _changed(statistics={}, prior={}),
    "no categories": _changed(nominal={1: LEVELS[:0]}),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_tables_are_refused(name, ranker):
    """Without statistics, trees test numbers of a column that is split by subsets."""
    other = rw.LambdaMART()
    vars(other).update({**vars(ranker), "columns_": CRAFTED[name]()})
    with pytest.raises(StructureError):
        check_model(other)
