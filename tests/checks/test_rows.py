"""Every check of user input: what passes unchanged, and what the messages say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from rankwise import LambdaMART, McRank, RankRLS, RidgeRanker
from rankwise.checks.rows import check_fit, check_rows, check_target, check_validation, check_weight

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([2.0, 0.0, 1.0])


class Estimator(BaseEstimator):
    """Something to hold n_features_in_ and feature_names_in_."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_rows_pass_uncopied(dtype):
    given = X.astype(dtype)
    assert check_rows(Estimator(), given, reset=True) is given


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (X.astype(int), np.float64),
        (X.astype(np.float16), np.float64),
        (X.astype(object), np.float64),
        (X.tolist(), np.float64),
        (np.asfortranarray(X), np.float64),
        (pd.DataFrame(X), np.float64),
        (pd.DataFrame(X.astype(np.float32)), np.float32),
        (pl.DataFrame(X.astype(np.float32)), np.float32),
        (pl.DataFrame(X).with_columns(pl.col("column_0").cast(pl.Float32)), np.float64),
    ],
)
def test_rows_become_contiguous_floats(given, dtype):
    rows = check_rows(Estimator(), given, reset=True)
    assert rows.dtype == dtype
    assert rows.flags.c_contiguous
    assert np.array_equal(rows, X)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_become_csr(make):
    rows = check_rows(Estimator(), make(X), reset=True)
    assert rows.format == "csr"
    assert np.array_equal(rows.toarray(), X)
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        check_rows(Estimator(), make(X), accept_sparse=False, reset=True)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names_are_kept_and_checked(frame):
    estimator = Estimator()
    check_rows(estimator, frame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), reset=True)
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        check_rows(estimator, frame({"b": [1.0], "a": [3.0]}))
    with pytest.raises(ValueError, match="feature names should match"):
        check_rows(estimator, frame({"a": [1.0], "b": [3.0], "c": [5.0]}))


def test_width_is_checked():
    estimator = Estimator()
    check_rows(estimator, X, reset=True)
    with pytest.raises(ValueError, match="X has 3 features, but Estimator is expecting 2"):
        check_rows(estimator, np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array([[1.0, 2.0], [3.0, np.nan]]), r"Input X contains NaN at row 1, column 1\. "),
        (np.array([[1.0, -np.inf]]), r"Input X contains infinity at row 0, column 1\. "),
        (np.array([[np.inf], [-np.inf]]), r"contains infinity at row 0, column 0"),
        (pd.DataFrame({"a": [1.0], "b": [np.nan]}), r"NaN at row 0, column 1 \('b'\)"),
        (pl.DataFrame({"a": [1.0, 2.0], "b": [3, None]}), r"NaN at row 1, column 1 \('b'\)"),
        (sparse.csr_array([[0.0, 1.0], [np.nan, 0.0]]), "NaN at row 1, column 0"),
    ],
)
def test_bad_values_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        check_rows(Estimator(), given, reset=True)


def test_nan_is_kept_where_allowed():
    given = np.array([[1.0, np.nan]])
    assert check_rows(Estimator(), given, allow_nan=True, reset=True) is given
    with pytest.raises(ValueError, match="contains infinity at row 1, column 0"):
        check_rows(Estimator(), np.array([[np.nan], [np.inf]]), allow_nan=True, reset=True)


def test_a_sum_that_overflows_is_no_infinity():
    given = np.full((4, 1), 3e38, dtype=np.float32)
    assert check_rows(Estimator(), given, reset=True) is given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), "0 feature"),
        (np.zeros(2), "Expected 2D array"),
        (np.array([[1j]]), "Complex data not supported"),
    ],
)
def test_bad_shapes(given, message):
    with pytest.raises(ValueError, match=message):
        check_rows(Estimator(), given, reset=True)


@pytest.mark.parametrize(
    "given",
    [
        [2, 0, 1],
        (2.0, 0.0, 1.0),
        np.array([2, 0, 1], dtype=np.uint8),
        np.array([2, 0, 1], dtype=object),
        pd.Series([2, 0, 1], index=[5, 6, 7]),
        pd.Series([2, 0, 1], dtype="Int64"),
        pl.Series([2, 0, 1]),
    ],
)
def test_target_becomes_float64(given):
    y = check_target(given, 3)
    assert y.dtype == np.float64
    assert np.array_equal(y, Y)


def test_boolean_target():
    assert check_target([True, False]).tolist() == [1.0, 0.0]


def test_target_column_warns():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert check_target([[2], [0], [1]], 3).shape == (3,)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], ValueError, "y must have n_samples=3 entries, got 2 .* Pass one label per row"),
        (np.zeros((3, 2)), ValueError, r"y must be one-dimensional, got shape \(3, 2\)"),
        (7, ValueError, r"y must be one-dimensional, got shape \(\)"),
        (["1", "2", "3"], ValueError, "y must hold numbers, got dtype <U1. Encode grades"),
        (
            pd.Series(list("123")),
            ValueError,
            r"y must hold numbers, got .* \('1' is text\). Encode",
        ),
        (pd.Series(list("123"), dtype="string"), ValueError, r"y must .* \('1' is text\)"),
        ([1, 2.5, "3"], ValueError, "y must hold numbers, got dtype <U"),
        (np.array([1, 2.5, "3"], object), ValueError, r"y must .* \('3' is text\). Encode"),
        ([1, {}, 2], ValueError, r"y must hold numbers, got dtype object \(float\(\) argument"),
        (np.zeros(3, dtype="datetime64[D]"), ValueError, r"numbers, got dtype datetime64\[D\]"),
        ([1, None, 2], ValueError, "Input y contains NaN at row 1. Drop unjudged rows"),
        ([1, 2, -np.inf], ValueError, "Input y contains infinity at row 2"),
        ([1j, 2, 3], ValueError, "Complex data not supported: y must hold real numbers"),
        (sparse.csr_array([[1.0, 2.0, 3.0]]), TypeError, "Sparse data was passed for y"),
    ],
)
def test_bad_target(given, error, message):
    with pytest.raises(error, match=message):
        check_target(given, 3)


def test_weights():
    assert check_weight([1, 0, 2.5], 3).tolist() == [1.0, 0.0, 2.5]
    assert check_weight(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert check_weight(pd.Series([1, 2, 3]), 3).dtype == np.float64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "sample_weight must have n_samples=3 entries, got 2. Pass one weight per row"),
        ([[1], [2], [3]], r"1D array or scalar, got shape \(3, 1\)"),
        ([1, -0.5, 2], r"sample_weight must be >= 0, got -0\.5 at row 1"),
        ([1, 2, np.nan], "sample_weight contains NaN or infinity at row 2"),
        ([0, 0, 0], "sample_weight must not be all zero"),
        (["a", "b", "c"], "sample_weight must hold numbers, got dtype <U1"),
        ([1j, 2, 3], "sample_weight must hold numbers, got dtype complex128"),
    ],
)
def test_bad_weights(given, message):
    with pytest.raises(ValueError, match=message):
        check_weight(given, 3)


def test_rows_of_zero_weight_are_dropped():
    data = check_fit(Estimator(), X, Y, ["a", "b", "a"], [0.0, 1.0, 2.0], pairs=False)
    assert np.array_equal(data.X, X[1:])
    assert data.y.tolist() == [0.0, 1.0]
    assert data.sample_weight.tolist() == [1.0, 2.0]
    assert data.groups.ids.tolist() == ["b", "a"]
    assert data.groups.n_samples == 2


def test_fit_without_weights_keeps_everything():
    given = X.copy()
    data = check_fit(Estimator(), given, Y, None)
    assert data.X is given
    assert data.sample_weight is None
    assert data.groups.n_queries == 1


def test_x_is_checked_before_y_before_qid_before_weight():
    broken = {"X": [[np.nan, 0.0]] * 3, "y": None, "qid": [1], "sample_weight": [-1.0]}
    for name, message, repaired in [
        ("X", "Input X contains NaN", X),
        ("y", "requires y to be passed", Y),
        ("qid", "qid must have n_samples=3", [1, 1, 2]),
        ("sample_weight", "sample_weight must have n_samples=3", None),
    ]:
        with pytest.raises(ValueError, match=message):
            check_fit(Estimator(), **broken)
        broken[name] = repaired
    check_fit(Estimator(), **broken)


def test_validation_part():
    estimator = Estimator()
    train = check_fit(estimator, X, Y, None)
    assert check_validation(estimator, train, None, None, None) is None
    data = check_validation(estimator, train, X[:2].astype(np.float32), [1, 0], ["a", "b"])
    assert data.X.dtype == np.float32
    by_label = np.argsort(-data.y)  # the rows are in an order of their own
    np.testing.assert_array_equal(data.X[by_label], np.array(X[:2], dtype=np.float32))
    assert data.y[by_label].tolist() == [1.0, 0.0]
    assert data.groups.row_ids()[by_label].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((None, Y, None), "y_val needs X_val, got X_val=None. Pass X_val, or drop y_val"),
        ((None, None, [1]), "qid_val needs X_val, got X_val=None"),
        ((X, None, None), "X_val needs y_val, got y_val=None"),
        ((X[:, :1], Y, None), "X_val has 1 features, but Estimator is expecting 2"),
        ((X * np.nan, Y, None), "Input X_val contains NaN at row 0, column 0"),
        ((X, Y[:2], None), "y_val must have n_samples=3 entries, got 2"),
        ((X, Y, None), "X_val needs qid_val where fit has a qid, got qid_val=None"),
        ((X, Y, [1]), "qid_val must have n_samples=3 entries, got 1"),
    ],
)
def test_bad_validation_part(given, message):
    estimator = Estimator()
    train = check_fit(estimator, X, Y, [1, 1, 2])
    with pytest.raises(ValueError, match=message):
        check_validation(estimator, train, *given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pd.DataFrame({"a": [1, 2], "b": ["1", "low"]}), r"got 'low' at row 1, column 1 \('b'\)"),
        (pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), r"got 'x' at row 0, column 1 \('b'\)"),
        (pd.DataFrame({"c": pd.Categorical(["x", "y"])}), r"got 'x' at row 0, column 0 \('c'\)"),
        (pd.DataFrame({"a": 1.0, "d": pd.to_datetime(["2020-02-01"])}), "column 'd' holds dates"),
        (np.array([["1", "2"], ["3", "z"]]), "got 'z' at row 1, column 1. Encode"),
        ([["a", 1.0]], "X must hold numbers, got 'a' at row 0, column 0. Encode the column"),
    ],
)
def test_text_names_column_and_fix(given, message):
    with pytest.raises(ValueError, match=message):
        check_rows(Estimator(), given, reset=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((3, 2), "datetime64[D]"), r"got dtype datetime64\[D\]: dates are .* days since"),
        (np.full((3, 2), np.timedelta64("NaT", "s")), "durations are neither .* length in seconds"),
        (np.zeros(3, [("a", float), ("b", float)]), r"records of a, b\. Pass pandas.DataFrame"),
        (pa.table([[1.0], [2.0]], names=["a", "a"]), "different names, but 'a' occur more than"),
        (
            pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
            "different names, but 'a' occur more than",
        ),
    ],
    ids=["dates", "durations", "records", "Arrow names", "pandas names"],
)
@pytest.mark.parametrize("fit", [check_rows, None], ids=["rows", "columns of categories"])
def test_arrays_without_numbers(given, message, fit):
    with pytest.raises(ValueError, match=message):
        if fit is None:
            LambdaMART().fit(given, np.arange(len(given)), qid=np.zeros(len(given)))
        else:
            fit(Estimator(), given, reset=True)


def test_text_of_numbers_and_missing_cells_are_no_text():
    given = pd.DataFrame({"a": ["1", "2"], "b": [None, 3.0]}, dtype=object)
    rows = check_rows(Estimator(), given, reset=True, allow_nan=True)
    np.testing.assert_array_equal(rows, [[1, np.nan], [2, 3]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X[:, :1], "^X_val has 1 features, but Estimator is expecting 2 features"),
        (X[:, 0], "^X_val: Expected 2D array"),
        (np.array([["x", 1.0]] * 3, dtype=object), "^X_val must hold numbers, got 'x'"),
        (sparse.csr_array(X[:, :1]), "^X_val has 1 features"),
    ],
)
def test_errors_of_validation_rows_name_them(given, message):
    estimator = Estimator()
    train = check_fit(estimator, X, Y, None)
    with pytest.raises(ValueError, match=message):
        check_validation(estimator, train, given, Y, None)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("t.csv", TypeError, r"X must hold rows, got 't\.csv'\. Read a file first"),
        (Path("t.csv"), TypeError, r"X must hold rows, got 't\.csv'\. Read a file first"),
        ([{"a": 1.0}] * 3, TypeError, r"got a mapping at row 0\. Pass pandas\.DataFrame\(X\)"),
        ({"a": [1.0] * 3}, TypeError, r"got a dict\. Pass pandas\.DataFrame\(X\)"),
        (pd.Series([[1.0, 2.0]] * 3), ValueError, r"one column of sequences\. Pass numpy\.stack"),
        (pl.Series([[1.0, 2.0]] * 3), ValueError, r"one column of sequences\. Pass numpy\.stack"),
        ([[1.0], [1.0, 2.0], [3.0]], ValueError, "got 1 values at row 0 and 2 at row 1"),
        ([[1.0, 2.0], [3.0, 4.0], []], ValueError, "got 2 values at row 0 and 0 at row 2"),
    ],
    ids=["text", "path", "mappings", "mapping", "pandas", "Polars", "longer", "empty"],
)
def test_what_is_no_table_is_named(X, error, message):
    with pytest.raises(error, match=message):
        RidgeRanker().fit(X, [0, 1, 2])


@pytest.mark.parametrize("row", [[10**400, 1.0], [-(10**309), 1]])
def test_whole_numbers_beyond_float64_are_named(row):
    for fit in (RankRLS().fit, LambdaMART(1).fit, McRank().fit):
        with pytest.raises(ValueError, match=r"X must hold numbers up to 1\.8e308"):
            fit([row, [1, 2]], [0, 1], qid=0)
