"""Tables as they come through the door: asked once what they are."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.runtime import frames
from rankwise.runtime.frames import Table

FRAME = pd.DataFrame({
    "a": [1.0, 2.0],
    "price": [Decimal("0.5"), None],
    "colour": ["red", "blue"],
    "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
})  # fmt: skip


def test_a_table_is_made_once():
    table = Table.of(FRAME)
    assert Table.of(table) is table
    assert table.rows is FRAME


def test_kinds_are_asked_once(monkeypatch):
    asked = []
    kind_of = frames.kind_of
    monkeypatch.setattr(frames, "kind_of", lambda c: (asked.append(c.name), kind_of(c))[1])
    table, times = Table.of(FRAME).without_times()
    assert times == {"day": "dates"}
    asked.clear()
    assert table.kinds == {"price": None, "colour": "text"}
    assert list(table.numbers.columns) == ["a", "price", "colour"]
    np.testing.assert_array_equal(table.numbers["price"], [0.5, np.nan])
    assert asked == ["price", "colour"]


def test_dates_in_numbers_are_refused():
    with pytest.raises(ValueError, match="column 'day' holds dates"):
        _ = Table.of(FRAME).numbers


def test_other_values_replace_columns_and_labels_stay():
    frame = pd.DataFrame({0: [1, 2], 1: ["x", "y"]})
    table = Table.of(frame)
    assert table.frame.columns == ["0", "1"]
    new = table.frame["1"].to_native().map({"x": 0.0, "y": 1.0})
    changed = table.with_columns([frames.nw.from_native(new, series_only=True).alias("1")])
    assert list(changed.rows.columns) == [0, 1]
    assert changed.rows[1].tolist() == [0.0, 1.0]


def test_lazy_frames_are_collected_and_arrays_stay():
    assert isinstance(Table.of(pl.LazyFrame({"a": [1.0]})).rows, pl.DataFrame)
    X = np.ma.MaskedArray([[1.0, 2.0]], [[False, True]])
    table = Table.of(X)
    assert table.frame is None
    np.testing.assert_array_equal(table.numbers, [[1.0, np.nan]])
