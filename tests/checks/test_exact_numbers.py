"""Whole numbers beyond 2^53 keep their value or are refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from rankwise import RankingData, evaluate
from rankwise.checks.exact_values import exact_float64, order_keeping_float64, token_changes
from rankwise.checks.rows import check_target, check_weight
from rankwise.datasets import Run, read_letor, read_qrels, read_run, read_table
from rankwise.datasets.readers.results import read_scores
from rankwise.selection import evaluate_systems
from rankwise.streams import stream

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
        (b"9007199254740993e0", True),
        (b"9007199254740.993E+3", True),
        (b"90071992547409930e-1", True),
        (b" 9007199254740993 ", True),
        (b"9007199254740992e0", False),
        (b"9007199254740993.5", False),
        (b"1e23", False),  # no double, but named to its only digit
        (b"1.23456789012345683968e20", False),  # a double, as C's %.20e writes it
        (b"1.23456789012345683969e20", True),
        (b"100000000000000000000000", True),
        (b"1e999", False),
        (b"nan", False),
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
        evaluate({"q": {"a": 1}}, {"q": {"a": value}}, "AP")
    with pytest.raises(ValueError, match=r"y must hold numbers, got dtype object \(int"):
        check_target([0, 10**400])


WRITTEN = ["9007199254740993", "+9007199254740993", "9007199254740993.0", "9007199254740993e0"]


@pytest.mark.parametrize("token", [*WRITTEN, "9007199254740.993e3", "-90071992547409930E-1"])
def test_no_reader_of_numbers_loses_a_digit(token, tmp_path):
    """Grades of judgements are integers; scores and labels that float64 changes are refused."""
    whole = int(Decimal(token))
    (tmp_path / "qrels").write_text(f"q 0 d {token}\nq 0 e 1e3\n")
    (tmp_path / "qrels.csv").write_text(f"qid,doc_id,grade\nq,d,{token}\nq,e,1e3\n")
    for name in ("qrels", "qrels.csv"):
        assert read_qrels(tmp_path / name).relevance.tolist() == [whole, 1000]
    files = {
        "run": (f"q Q0 e 1 1e3 t\nq Q0 d 2 {token} t\n", read_run),
        "run.csv": (f"qid,doc_id,score\nq,e,1e3\nq,d, {token}\n", read_run),
        "scores": (f"1e3\n{token}\n", read_scores),
        "letor": (f"1e3 qid:1 1:2\n{token} qid:1 1:3 # end\n", read_letor),
        "rows.csv": (f"label,qid,f\n1e3,1,2\n{token},1,3\n", read_table),
    }
    for name, (text, read) in files.items():
        (tmp_path / name).write_text(text)
        said = rf"{name}(, line [23].*float64 changes|: .*float64 keeps.* at line 3)"
        with pytest.raises(ValueError, match=said):
            read(tmp_path / name)
        (tmp_path / name).write_text(text.replace(token, "9007199254740992e0"))
        found = read(tmp_path / name)
        values = found.y if hasattr(found, "y") else getattr(found, "scores", found)
        assert values.tolist() == [1000, LIMIT]


@pytest.mark.parametrize("token", [*WRITTEN, "1e3", "07"])
def test_ids_stay_as_written(token, tmp_path):
    (tmp_path / "qrels").write_text(f"{token} 0 {token} 1\n")
    (tmp_path / "run").write_text(f"{token} Q0 {token} 1 2.5 t\n")
    (tmp_path / "letor").write_text(f"1 qid:{token} 1:2 # docid = {token}\n0 qid:x 1:2\n")
    (tmp_path / "t.csv").write_text(f"label,qid,doc_id,f\n1,{token},{token},1\n0,x,y,2\n")
    for read, name in (
        (read_qrels, "qrels"), (read_run, "run"), (read_letor, "letor"), (read_table, "t.csv")
    ):  # fmt: skip
        found = read(tmp_path / name)
        assert (found.qid[0], found.doc_ids[0]) == (token, token)


@pytest.mark.parametrize("labels", [BAD["int64"], BAD["uint64"], BAD["object"], BAD["series"]])
def test_labels_that_float64_changes_are_refused(labels):
    with pytest.raises(ValueError, match=r"y must hold numbers that float64 keeps, .* at row 1"):
        check_target(labels)
    with pytest.raises(ValueError, match="label in column 'y' must hold numbers that float64"):
        RankingData.from_frame(pd.DataFrame({"qid": [1, 1], "y": labels, "x": [1.0, 2.0]}))
    assert check_target(np.array([LIMIT, 2**62])).tolist() == [LIMIT, 2.0**62]


@pytest.mark.parametrize(
    "labels",
    [
        [Decimal(1), Decimal(LIMIT + 1)],
        np.array([Decimal(1), Decimal(LIMIT + 1)]),
        pd.Series([1, LIMIT + 1], dtype="Int64"),
        pa.array([1, LIMIT + 1]),
        [0.5, LIMIT + 1],
        [1, 2**70 + 1],
    ],
    ids=["Decimals", "objects", "Int64", "Arrow", "mixed", "beyond int64"],
)
def test_labels_and_weights_of_any_type_are_exact(labels):
    said = r"must hold numbers that float64 keeps, .* at row 1"
    with pytest.raises(ValueError, match=f"y {said}"):
        check_target(labels)
    with pytest.raises(ValueError, match=f"sample_weight {said}"):
        check_weight(labels, 2)
    with pytest.raises(ValueError, match=f"y {said}"):
        evaluate(labels, [1.0, 2.0], None, "AP")


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
@pytest.mark.parametrize("kind", [int, Decimal])
@pytest.mark.parametrize("role", ["label", "sample_weight"])
def test_columns_of_frames_are_exact_beside_missing_labels(make, kind, role):
    columns = {"qid": [1, 1, 1], "label": [kind(1), None, kind(2)], "x": [1.0, 2.0, 3.0]}
    columns[role] = [kind(1), None if role == "label" else kind(1), kind(LIMIT + 1)]
    if make is pd.DataFrame and kind is int:
        columns["label"] = pd.array(columns["label"], dtype="Int64")
    said = f"{role} in column '{role}' must hold numbers that float64 keeps, .* at row 2"
    with pytest.raises(ValueError, match=said):
        RankingData.from_frame(make(columns), unjudged="missing")
    columns[role] = [kind(1), kind(1), kind(LIMIT)]
    found = RankingData.from_frame(make(columns), unjudged="missing")
    assert (found.y if role == "label" else found.sample_weight)[2] == LIMIT


@pytest.mark.parametrize("role", ["label", "sample_weight"])
def test_streams_of_text_are_exact(role, tmp_path):
    header = "label,qid,f,sample_weight" if role == "label" else "sample_weight,qid,f,label"
    lines = [header, "1,1,2,1", "9007199254740993,1,3,1", "1,1,2,1"]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=f"rows.csv: {role} in column '{role}' .* at line 3"):
        list(stream(path))
    path.write_text(path.read_text().replace("993", "992"))
    (chunk,) = stream(path)
    assert getattr(chunk, "y" if role == "label" else role).tolist() == [1, LIMIT, 1]


def test_scores_of_systems():
    data = RankingData(np.zeros((2, 1)), np.array([0.0, 1.0]), qid=np.array([1, 1]))
    scores = np.array([LIMIT, LIMIT + 1])
    with pytest.raises(ValueError, match="scores of 'a' must hold numbers that float64 keeps"):
        evaluate_systems(data, {"a": scores})
    with pytest.raises(ValueError, match="scores must hold numbers that float64 keeps"):
        Run.from_data(data, scores)
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": scores})
    with pytest.raises(ValueError, match="scores in column 'x' must hold numbers that float64"):
        evaluate_systems(frame, {"a": "column:x"})
    with pytest.raises(ValueError, match=r"scores of .* must hold numbers that float64 keeps"):
        evaluate_systems(data, {"a": _Oracle()})


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
