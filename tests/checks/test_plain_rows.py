"""The short way through the check of X gives what the long way gives, or leaves it the work."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils.validation import validate_data

from rankwise import RidgeRanker
from rankwise.checks.rows import check_rows, name_columns, plain_rows

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(6, 3))
COLUMNS = ["a", "b", "c"]
WHOLE = {"a": [1, 2, 3], "b": [2**60 + 1, 0, -5], "c": [0.5, 1.5, 2.5]}


def fitted(X):
    return RidgeRanker().fit(X, np.arange(len(X)), qid=np.zeros(len(X)))


FRAME = pd.DataFrame(VALUES, columns=COLUMNS)
PLAIN = {
    "float64": VALUES,
    "float32": VALUES.astype(np.float32),
    "fortran": np.asfortranarray(VALUES),
    "strided": np.repeat(VALUES, 2, axis=0)[::2],
    "one row": VALUES[:1],
    "list": VALUES.tolist(),
    "list of whole numbers": [[1, 2**60 + 1, -3], [4, 5, 6]],
    "list of both": [[1, 2.5, True], [2**53 + 1, 0, -0.0]],
    "pandas": FRAME,
    "pandas float32": FRAME.astype(np.float32),
    "pandas mixed": pd.DataFrame(WHOLE),
    "pandas small": pd.DataFrame(WHOLE).astype({"a": "int8", "b": "float32", "c": "float32"}),
    "pandas half": FRAME.astype(np.float16),
    "pandas index": FRAME.set_axis(list("uvwxyz")),
    "polars": pl.DataFrame(VALUES, schema=COLUMNS),
    "polars float32": pl.DataFrame(VALUES.astype(np.float32), schema=COLUMNS),
    "polars mixed": pl.DataFrame(WHOLE),
    "polars small": pl.DataFrame(WHOLE).cast({"a": pl.Int8, "b": pl.Float32, "c": pl.Float32}),
    "polars whole": pl.DataFrame(WHOLE).select(a="b", b="b", c="a"),
    "polars tall": pl.DataFrame({name: [*column] * 9 for name, column in WHOLE.items()}),
    "polars tall small": pl.DataFrame(np.repeat(VALUES, 4, 0).astype(np.float32), schema=COLUMNS),
    "polars tall null": pl.DataFrame({"a": [1, None] * 9, "b": [0.5, 2] * 9, "c": [None, 1] * 9}),
    "polars null small": pl.DataFrame({name: [0.1, None] for name in COLUMNS}).cast(pl.Float32),
    "polars null": pl.DataFrame({"a": [1, None], "b": [0.5, 2.0], "c": [None, 1.0]}),
}


@pytest.mark.parametrize("X", PLAIN.values(), ids=list(PLAIN))
def test_plain_rows_are_those_of_scikit_learn(X):
    is_plain = isinstance(X, np.ndarray | list)
    ranker = fitted(VALUES if is_plain else FRAME)
    found = plain_rows(ranker, X)
    assert found is not None
    rows, names = found
    all_float32 = isinstance(X, pl.DataFrame) and set(X.dtypes) == {pl.Float32}
    expected = validate_data(
        ranker, X, reset=False, dtype=[np.float32] if all_float32 else [np.float64, np.float32],
        order="C", ensure_all_finite=False,
    )  # fmt: skip
    np.testing.assert_array_equal(rows, expected, strict=True)
    assert rows.flags.c_contiguous
    assert names == (None if is_plain else COLUMNS)


def test_arrays_have_the_names_that_are_given():
    for X in (VALUES, FRAME):
        rows = plain_rows(fitted(FRAME), VALUES, COLUMNS)
        assert rows is not None and rows[0] is VALUES
        assert plain_rows(fitted(X), VALUES, ["a", "c", "b"]) is None
    assert plain_rows(fitted(VALUES), VALUES, COLUMNS) is None
    message = "column 1 is 'c', it was 'b'"
    with (
        name_columns(ranker := fitted(FRAME), ["a", "c", "b"]),
        pytest.raises(ValueError, match=message),
    ):
        ranker.predict(VALUES)


NOT_PLAIN = {
    "list of arrays": list(VALUES.astype(np.float32)),
    "list of booleans": (VALUES > 0).tolist(),
    "list of beyond": [[2**70, 1, 2]],
    "list of narrow": [[np.float32(0.1)] * 3],
    "tuple": tuple(VALUES.tolist()),
    "whole numbers": VALUES.astype(int),
    "byte order": VALUES.astype(">f8"),
    "masked": np.ma.masked_invalid(VALUES),
    "sparse": sparse.csr_array(VALUES),
    "nullable": FRAME.astype("Float64"),
    "category": FRAME.astype({"a": "category"}),
    "boolean": pd.DataFrame(VALUES > 0, columns=COLUMNS),
    "sparse frame": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "polars boolean": pl.DataFrame(VALUES > 0, schema=COLUMNS),
    "polars decimal": pl.DataFrame({name: [1, 2] for name in COLUMNS}).cast(pl.Decimal(10, 2)),
}


@pytest.mark.parametrize("X", NOT_PLAIN.values(), ids=list(NOT_PLAIN))
def test_other_rows_take_the_long_way(X):
    ranker = fitted(FRAME if hasattr(X, "columns") else VALUES)
    assert plain_rows(ranker, X) is None
    check_rows(ranker, X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (VALUES[:0], "0 sample"),
        (VALUES[:, :2], "2 features"),
        (VALUES[0], "Expected 2D array"),
        (VALUES * 1j, "Complex data"),
        ([[1.0, 2.0]], "2 features"),
        ([1.0, 2.0, 3.0], "Expected 2D array"),
        ([], "Expected 2D array"),
        ([[]], "0 feature"),
        ([[1.0, 2.0, 3.0], [1.0]], "rows of one length, got 3 values at row 0"),
        ([[1.0, "a", 3.0]], "'a' at row 0, column 1"),
        ([[1.0, 1j, 3.0]], "Complex data"),
        ([[1.0, None, 3.0]], "NaN at row 0, column 1"),
        ([[1.0, np.nan, 3.0]], "NaN at row 0, column 1"),
        ([[1.0, 3.0, -np.inf]], "infinity at row 0, column 2"),
        (np.where(VALUES > 0, np.nan, VALUES), "NaN at row"),
        (np.where(VALUES > 0, np.inf, VALUES), "infinity at row"),
    ],
)
def test_bad_arrays_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        fitted(VALUES).predict(X)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_bad_frames_are_refused(kind):
    ranker = fitted(kind({name: VALUES[:, j] for j, name in enumerate(COLUMNS)}))
    columns = {name: VALUES[:, j] for j, name in enumerate("abc")}
    cases = {
        "same order": kind({name: columns[name] for name in "bac"}),
        "unseen at fit time": kind({name.upper(): column for name, column in columns.items()}),
        "now missing": kind({name: columns[name] for name in "ab"}),
        "must hold numbers": kind({**columns, "c": ["x"] * 6}),
        r"NaN at row 2, column 1 \('b'\)": kind(
            {**columns, "b": [0.0, 1.0, np.nan, 0.0, 1.0, 2.0]}
        ),
    }
    for message, X in cases.items():
        with pytest.raises(ValueError, match=message):
            ranker.predict(X)


def test_names_on_one_side_only_warn():
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted(FRAME).predict(VALUES)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        fitted(VALUES).predict(FRAME)
    with warnings.catch_warnings(action="error"):
        fitted(FRAME).predict(FRAME)
        fitted(VALUES).predict(VALUES)
