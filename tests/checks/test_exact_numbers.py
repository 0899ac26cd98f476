"""Whole numbers beyond 2^53 keep their value or are refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from rankwise import RankingData, evaluate
from rankwise.checks.exact_numbers import exact_float64, order_keeping_float64, token_changes
from rankwise.checks.rows import check_target, check_weight
from rankwise.datasets import Run, read_table
from rankwise.selection import evaluate_systems

LIMIT = 2**53
BAD = {
    "int64": np.array([LIMIT, LIMIT + 1]),
    "negative": np.array([0, -LIMIT - 1]),
    "largest int64": np.array([0, 2**63 - 1]),
    "uint64": np.array([0, 2**64 - 1], dtype=np.uint64),
    "list": [0.5, LIMIT + 1],
    "tuple": (2**70, LIMIT + 1),
    "object": np.array([0, LIMIT + 1], dtype=object),
    "series": pd.Series([0, LIMIT + 1]),
    "nullable": pd.array([0, LIMIT + 1], dtype="Int64"),
    "Decimal": [Decimal(0), Decimal(LIMIT + 1)],
    "long Decimal": [Decimal(0), Decimal("1e40")],
    "text": ["0", str(LIMIT + 1)],
    "long double": np.array([0, LIMIT], dtype=np.longdouble)
    + np.array([0, 1], dtype=np.longdouble),
}
GOOD = {
    "limits": np.array([-(2**63), LIMIT, LIMIT + 2]),
    "powers": np.array([2**63, 0], dtype=np.uint64),
    "list": [0.5, 2**70],
    "floats": np.array([1e300, 0.1]),
    "float32": np.array([1e30, 0.1], dtype=np.float32),
    "Decimal": [Decimal("0.1"), Decimal("1e20")],
    "Fraction": [Fraction(1, 3), 1],
    "long double": np.array([0.5, LIMIT, np.inf], dtype=np.longdouble),
    "truth": np.array([True, False]),
    "empty": [],
}


@pytest.mark.parametrize("values", BAD.values(), ids=BAD)
def test_a_changed_number_is_refused(values):
    with pytest.raises(ValueError, match=r"scores must hold numbers that float64 keeps, .* row 1"):
        exact_float64(values, "scores")


@pytest.mark.parametrize("values", GOOD.values(), ids=GOOD)
def test_other_numbers_become_float64(values):
    found = exact_float64(values, "scores")
    assert found.dtype == np.float64
    assert found.tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    "token, changes",
    [
        (b"9007199254740992", False),
        (b"9007199254740993", True),
        (b"+9007199254740993", True),
        (b"-9007199254740993.00", True),
        (b"9007199254740993e0", False),
        (b"0.12345678901234567890", False),
        (b"00000000000000000000001", False),
        (b"1e300", False),
    ],
)
def test_tokens_of_files(token, changes):
    assert token_changes(token) is changes


@pytest.mark.parametrize(
    "values",
    [
        [LIMIT, LIMIT + 1, 0.5],
        np.array([LIMIT, LIMIT + 1, 3]),
        [2**64, 2**64 + 1, -1],
        pa.array([LIMIT, LIMIT + 1, 3]),
        pd.array([LIMIT, LIMIT + 1, 3], dtype="Int64"),
        pd.Series([Decimal(LIMIT), Decimal(LIMIT + 1), Decimal(3)]),
        np.array([LIMIT, LIMIT, 3], dtype=np.longdouble) + np.array([0, 1, 0], np.longdouble),
    ],
)
def test_order_keeping(values):
    if not isinstance(values, pa.Array):
        assert order_keeping_float64(values, "scores").tolist() == [1.0, 2.0, 0.0]
    assert order_keeping_float64([0.5, 3], "scores").tolist() == [0.5, 3.0]
    found = evaluate([0, 1, 0], values, None, ["AP", "nDCG@1"])
    assert (found["AP"], found["nDCG@1"]) == (1.0, 1.0)
    with pytest.raises(ValueError, match="scores must hold numbers that float64 keeps"):
        evaluate([0, 1, 0], values, None, "MAE")


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("2.5"), Decimal("2.4"), Decimal(LIMIT + 1)],
        [Fraction(5, 2), Fraction(12, 5), LIMIT + 1],
        ["2.5", "2.4", str(LIMIT + 1)],
        np.array([2.5, 2.4, LIMIT], dtype=np.longdouble) + np.array([0, 0, 1], np.longdouble),
    ],
    ids=["Decimal", "Fraction", "text", "long double"],
)
def test_order_of_fractions_beside_whole_numbers(values):
    assert order_keeping_float64(values, "scores").tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("value", [10**400, -(10**5000), Fraction(10**400)], ids=range(3))
def test_numbers_beyond_float64(value):
    with pytest.raises(
        ValueError, match=r"x must hold numbers up to 1\.8e308, .* at row 1\. Divide"
    ):
        exact_float64([0.5, value], "x")
    with pytest.raises(ValueError, match=r"scores must hold"):
        evaluate([0, 1], [1, value], None, "AP")
    with pytest.raises(ValueError, match=r"scores must hold numbers up to .* document 'a'|row"):
        evaluate({"q": {"a": value}}, {"q": {"a": 1}}, "AP")
    with pytest.raises(ValueError, match=r"y must hold numbers, got dtype object \(int"):
        check_target([0, 10**400])


def test_scores_of_systems():
    data = RankingData(np.zeros((2, 1)), np.array([0.0, 1.0]), np.array([1, 1]))
    scores = np.array([LIMIT, LIMIT + 1])
    with pytest.raises(ValueError, match="scores of 'a' must hold numbers that float64 keeps"):
        evaluate_systems({"a": scores}, data)
    with pytest.raises(ValueError, match="scores must hold numbers that float64 keeps"):
        Run.from_data(data, scores)
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": scores})
    with pytest.raises(ValueError, match="scores in column 'x' must hold numbers that float64"):
        evaluate_systems({"a": "column:x"}, frame)
    with pytest.raises(ValueError, match=r"scores of .* must hold numbers that float64 keeps"):
        evaluate_systems({"a": _Oracle()}, data)


class _Oracle(BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.array([LIMIT, LIMIT + 1])


@pytest.mark.parametrize("kind", ["int64", "uint64", "object", "series", "nullable", "Arrow"])
def test_labels_and_weights_keep_their_value(kind):
    values = pa.array([0, LIMIT + 1]) if kind == "Arrow" else BAD[kind]
    row = 1  # the first value that float64 changes
    for name, check in (
        ("y", lambda: check_target(values)),
        ("y", lambda: evaluate(values, [1, 2], None, "Misranking")),
        ("sample_weight", lambda: check_weight(values, 2)),
    ):
        with pytest.raises(ValueError, match=rf"{name} must hold .* float64 keeps, .* row {row}"):
            check()
    np.testing.assert_array_equal(check_target(GOOD["limits"]), GOOD["limits"].astype(float))


def test_labels_of_tables_keep_their_value(tmp_path):
    table = pd.DataFrame({"qid": [1, 1], "label": [1, LIMIT + 1], "f": [1, 2]})
    table.to_csv(tmp_path / "a.csv", index=False)
    for read, place in (
        (lambda: RankingData.from_frame(table), "row 1"),
        (lambda: read_table(tmp_path / "a.csv"), "line 3"),
    ):
        with pytest.raises(ValueError, match=f"label in column 'label' must hold .* {place}"):
            read()
