"""Columns of every dtype, as features, labels, weights and ids, at every entry to the library.

A column of numbers counts like its float64 twin, whatever its dtype. Any other column is used as
what it is, or refused or left out by name.
"""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise import (
    LambdaMART,
    ProportionalOdds,
    QueryGroups,
    RankingData,
    RankingForest,
    RankRLS,
    evaluate,
)
from rankwise.checks.classes import order_labels
from rankwise.checks.rows import check_rows, check_target, check_weight
from rankwise.datasets.table_columns import IgnoredColumnsWarning
from rankwise.labels import BinaryRelevance
from rankwise.streams import stream

NAN = float("nan")
NUMBERS = [0.5, 0.25, 2.0, 4.0, 1.0, 3.0]
GRADES = [0, 1, 2, 0, 1, 2]
WITH_GAP = [0.5, None, 2.0, 4.0, 1.0, 3.0]
FLAGS = [True, None, False, True, None, False]
DAYS = [dt.date(2024, 1, day) for day in range(1, 7)]
TIMES = [dt.datetime(2024, 1, day) for day in range(1, 7)]
LENGTHS = [dt.timedelta(days=day) for day in range(6)]
CLOCK = [dt.time(hour) for hour in range(6)]
LETTERS = list("abcabc")


def decimals(values):
    return [None if value is None else Decimal(str(value)) for value in values]


def arrow(values, kind):
    """A column of Arrow in a table of Arrow and in a frame of pandas."""
    column = pa.array(values, kind)
    return {
        f"arrow {kind}": column,
        f"pandas {kind}[pyarrow]": pd.Series(pd.array(column, dtype=pd.ArrowDtype(column.type))),
    }


def pandas(values, dtype):
    return pd.Series(pd.array(values, dtype=dtype))


def sparse(values, fill):
    return pd.Series(pd.arrays.SparseArray(values, fill_value=fill))


AS_FLOATS = [NAN if value is None else float(value) for value in WITH_GAP]
FLAGS_AS_FLOATS = [NAN if value is None else float(value) for value in FLAGS]
HUGE = [2**63 + 2048, 1, 2, 3, 4, 5]
PRICES = [0.35, 0.41, 0.47, 0.57, 0.69, 0.70]  # none of them a double

# Columns of numbers, and their numbers.
NUMERIC = {
    "sparse": (sparse([0, 0, 2.0, 4, 1, 3], 0.0), [0, 0, 2, 4, 1, 3]),
    "sparse filled with 1": (sparse([1, 1, 2.0, 4, 1, 3], 1.0), [1, 1, 2, 4, 1, 3]),
    "sparse filled with NaN": (sparse(AS_FLOATS, NAN), AS_FLOATS),
    "sparse integers": (sparse(GRADES, 0), GRADES),
    "sparse flags": (sparse([True, False] * 3, False), [1, 0] * 3),
    "Int64": (pandas(GRADES, "Int64"), GRADES),
    "Int64 with NA": (pandas([0, None, 2, 4, 1, 3], "Int64"), [0, NAN, 2, 4, 1, 3]),
    "Float32 with NA": (pandas(WITH_GAP, "Float32"), AS_FLOATS),
    "boolean with NA": (pandas(FLAGS, "boolean"), FLAGS_AS_FLOATS),
    "objects: integers": (pd.Series(GRADES, dtype=object), GRADES),
    "objects: floats": (pd.Series(NUMBERS, dtype=object), NUMBERS),
    "objects: decimals": (pd.Series(decimals(WITH_GAP), dtype=object), AS_FLOATS),
    "objects: flags": (pd.Series(FLAGS, dtype=object), FLAGS_AS_FLOATS),
    "objects: integers and NA": (
        pd.Series([1, pd.NA, 2, 3, 4, 5], dtype=object),
        [1, NAN, 2, 3, 4, 5],
    ),
    "objects: several numbers": (
        pd.Series([1, 0.5, Decimal(2), True, np.float32(4), np.int8(5)], dtype=object),
        [1, 0.5, 2, 1, 4, 5],
    ),
    "objects: none at all": (pd.Series([None] * 6, dtype=object), [NAN] * 6),
    "float16": (pd.Series(NUMBERS, dtype=np.float16), NUMBERS),
    "long double": (pd.Series(NUMBERS, dtype=np.longdouble), NUMBERS),
    "big-endian": (pd.Series(NUMBERS, dtype=">f8"), NUMBERS),
    "big-endian integers": (pd.Series(GRADES, dtype=">i4"), GRADES),
    "uint64": (pd.Series(HUGE, dtype=np.uint64), HUGE),
    "arrow runs": (pa.RunEndEncodedArray.from_arrays(range(1, 7), NUMBERS), NUMBERS),
    "Polars Decimal": (pl.Series(decimals(WITH_GAP), dtype=pl.Decimal(10, 2)), AS_FLOATS),
    "Polars Decimal of prices": (pl.Series(decimals(PRICES), dtype=pl.Decimal(12, 3)), PRICES),
    "objects: prices": (pd.Series(decimals(PRICES), dtype=object), PRICES),
    "Polars Null": (pl.Series([None] * 6), [NAN] * 6),
    "Polars Boolean": (pl.Series(FLAGS), FLAGS_AS_FLOATS),
    "Polars Int128": (pl.Series(GRADES, dtype=pl.Int128), GRADES),
    "Polars UInt64": (pl.Series(HUGE, dtype=pl.UInt64), HUGE),
    "Polars Object": (pl.Series(GRADES, dtype=pl.Object), GRADES),
    **{
        name: (column, numbers)
        for values, kind, numbers in [
            (decimals(WITH_GAP), pa.decimal128(10, 2), AS_FLOATS),
            (decimals(PRICES), pa.decimal128(12, 3), PRICES),
            (decimals(PRICES), pa.decimal128(38, 36), PRICES),
            (decimals(WITH_GAP), pa.decimal256(50, 2), AS_FLOATS),
            ([None] * 6, pa.null(), [NAN] * 6),
            (FLAGS, pa.bool_(), FLAGS_AS_FLOATS),
            ([np.float16(value) for value in NUMBERS], pa.float16(), NUMBERS),
            ([2**63 + 2048, None, 2, 3, 4, 5], pa.uint64(), [HUGE[0], NAN, 2, 3, 4, 5]),
            ([0, None, 2, 4, 1, 3], pa.int8(), [0, NAN, 2, 4, 1, 3]),
        ]
        for name, column in arrow(values, kind).items()
    },
}

# Columns of time, and what they hold.
TEMPORAL = {
    "period": (pd.Series(pd.period_range("2024-01", periods=6, freq="M")), "dates"),
    "datetime": (pd.Series(pd.to_datetime(TIMES)), "dates"),
    "datetime with zone": (pd.Series(pd.to_datetime(TIMES, utc=True)), "dates"),
    "timedelta": (pd.Series(pd.to_timedelta(LENGTHS)), "durations"),
    "objects: dates": (pd.Series([*DAYS[:5], None], dtype=object), "dates"),
    "objects: times": (pd.Series(CLOCK, dtype=object), "times of day"),
    "Polars Date": (pl.Series(DAYS), "dates"),
    "Polars Datetime": (pl.Series(TIMES), "dates"),
    "Polars Duration": (pl.Series(LENGTHS), "durations"),
    "Polars Time": (pl.Series(CLOCK), "times of day"),
    **{
        name: (column, what)
        for values, kind, what in [
            (DAYS, pa.date32(), "dates"),
            (TIMES, pa.timestamp("us"), "dates"),
            (CLOCK, pa.time64("us"), "times of day"),
            (LENGTHS, pa.duration("s"), "durations"),
        ]
        for name, column in arrow(values, kind).items()
    },
}

# Columns of text and categories. Trees split them by subsets.
NOMINAL = {
    "text": pd.Series(LETTERS, dtype="str"),
    "objects: text": pd.Series(LETTERS, dtype=object),
    "string[pyarrow]": pd.Series(LETTERS, dtype="string[pyarrow]"),
    "category": pd.Series(pd.Categorical(LETTERS)),
    "Polars Categorical": pl.Series(LETTERS, dtype=pl.Categorical),
    "Polars String": pl.Series(LETTERS),
    **arrow(LETTERS, pa.string_view()),
    **arrow(LETTERS, pa.large_string()),
    "arrow dictionary": pa.array(LETTERS).dictionary_encode(),
}

# Columns that hold neither numbers nor text nor categories.
OTHER = {
    "complex": pd.Series(np.array(NUMBERS) + 1j),
    "interval": pd.Series(pd.arrays.IntervalArray.from_breaks(range(7))),
    "objects: bytes": pd.Series([b"a"] * 6, dtype=object),
    "Polars List": pl.Series([[1]] * 6),
    "Polars Struct": pl.Series([{"x": 1}] * 6),
    "Polars Binary": pl.Series([b"a"] * 6),
    **arrow([[1]] * 6, pa.list_(pa.int64())),
    **arrow([{"x": 1}] * 6, pa.struct([("x", pa.int64())])),
    **arrow([b"a"] * 6, pa.binary()),
}


def table(column, **others):
    """A frame with the column, of the library of the column."""
    columns = {"a": [1.0, 2.0, 3.0, 5.0, 6.0, 4.0], "f": column, **others}
    if isinstance(column, pd.Series):
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if isinstance(column, pl.Series) else pa.table(columns)


def judged(column):
    return table(column, qid=[1, 1, 1, 2, 2, 2], label=GRADES)


def read_rows(X):
    return check_rows(RankRLS(), X, allow_nan=True, reset=True)


@pytest.mark.parametrize("column, numbers", NUMERIC.values(), ids=list(NUMERIC))
def test_numbers_of_any_type_are_features(column, numbers):
    data = RankingData.from_frame(judged(column), dtype=np.float64)
    (chunk,) = stream([judged(column)], dtype=np.float64)
    assert data.feature_names == chunk.feature_names == ["a", "f"]
    expected = np.array(numbers, dtype=np.float64)
    for X in (data.X, chunk.X, read_rows(table(column))):
        np.testing.assert_array_equal(X[:, 1], expected)


@pytest.mark.parametrize("column, what", TEMPORAL.values(), ids=list(TEMPORAL))
@pytest.mark.parametrize(
    "read",
    [
        lambda column: read_rows(table(column)),
        lambda column: LambdaMART(1).fit(table(column), GRADES, qid=0),
        lambda column: RankingForest(1).fit(table(column), GRADES),
        lambda column: BinaryRelevance().fit(table(column), np.eye(2)[[0, 1] * 3]),
    ],
    ids=["rows", "LambdaMART", "RankingForest", "BinaryRelevance"],
)
def test_dates_are_refused_in_every_fit_by_the_same_words(column, what, read):
    message = (
        f"column 'f' holds {what}, which are neither numbers nor categories. Replace them by a "
        "number, such as "
    )
    with pytest.raises(ValueError, match=message) as caught:
        read(column)
    assert "leave the column out" in str(caught.value)


@pytest.mark.parametrize("column, what", TEMPORAL.values(), ids=list(TEMPORAL))
def test_dates_in_tables_are_left_out_with_a_warning(column, what):
    for categories in (False, True):
        with pytest.warns(IgnoredColumnsWarning, match=rf"f \({what}\)\. Replace them by numbers"):
            data = RankingData.from_frame(judged(column), categories=categories)
        assert data.feature_names == ["a"]
    with pytest.warns(IgnoredColumnsWarning, match=rf"f \({what}\)"):
        (chunk,) = stream([judged(column)])
    assert chunk.feature_names == ["a"]


@pytest.mark.parametrize("column", NOMINAL.values(), ids=list(NOMINAL))
def test_text_and_categories(column):
    with pytest.warns(IgnoredColumnsWarning, match=r"f \((text|categories)\)"):
        assert RankingData.from_frame(judged(column)).feature_names == ["a"]
    with pytest.raises(ValueError, match=r"must hold numbers, got 'a' at row 0, column 1 \('f'\)"):
        read_rows(table(column))
    ranker = LambdaMART(2, min_samples_leaf=1).fit(table(column), GRADES, qid=0)
    twin = LambdaMART(2, min_samples_leaf=1).fit(table(NOMINAL["text"]), GRADES, qid=0)
    assert ranker.columns_.nominal[1].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        ranker.predict(table(column)), twin.predict(table(NOMINAL["text"]))
    )


@pytest.mark.parametrize("column", OTHER.values(), ids=list(OTHER))
def test_other_columns_are_named(column):
    with pytest.warns(IgnoredColumnsWarning, match="not used as features: f "):
        assert RankingData.from_frame(judged(column)).feature_names == ["a"]
    for fit in (read_rows, lambda X: LambdaMART(1).fit(X, GRADES, qid=0)):
        with pytest.raises(ValueError, match="X must hold numbers, column 'f' holds"):
            fit(table(column))


def test_a_few_objects_that_are_no_numbers_are_not_left_out():
    column = pd.Series([1, "n/a", 2, 3, Decimal(4), 5], dtype=object)
    with pytest.raises(ValueError, match="column 'f' holds numbers, but 'n/a' at row 1"):
        RankingData.from_frame(judged(column))
    with pytest.raises(ValueError, match=r"got 'n/a' at row 1, column 1 \('f'\)"):
        read_rows(table(column))


@pytest.mark.parametrize(
    "estimator",
    [
        RankRLS(),
        LambdaMART(3, min_samples_leaf=1),
        RankingForest(2, random_state=0),
        ProportionalOdds(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize(
    "name", ["sparse", "objects: floats", "Int64", "Polars Int128", "arrow halffloat"]
)
def test_models_of_numbers_of_any_type(estimator, name):
    column, numbers = NUMERIC[name]
    qid = {} if "Proportional" in repr(estimator) or "Forest" in repr(estimator) else {"qid": 0}
    plain = table(pd.Series(numbers, dtype=np.float64))
    expected = estimator.fit(plain, GRADES, **qid).predict(plain)
    np.testing.assert_array_equal(estimator.predict(table(column)), expected)
    np.testing.assert_array_equal(
        estimator.fit(table(column), GRADES, **qid).predict(table(column)), expected
    )


# Grades, each equal to GRADES.
LABELS = {
    "float16": np.array(GRADES, np.float16),
    "long double": np.array(GRADES, np.longdouble),
    "big-endian": np.array(GRADES, ">i4"),
    "uint64": np.array(GRADES, np.uint64),
    "objects": np.array(GRADES, object),
    "objects: decimals": np.array(decimals(GRADES), object),
    "list of decimals": decimals(GRADES),
    "mask without masked": np.ma.masked_array(GRADES, mask=[False] * 6),
    "Int64": pandas(GRADES, "Int64"),
    "Float32": pandas(GRADES, "Float32"),
    "sparse": sparse(GRADES, 0),
    "category": pd.Series(pd.Categorical(GRADES)),
    "ordered category": pd.Series(pd.Categorical(GRADES, ordered=True)),
    "Polars Decimal": pl.Series(decimals(GRADES), dtype=pl.Decimal(5, 0)),
    "Polars Int128": pl.Series(GRADES, dtype=pl.Int128),
    "Polars UInt8": pl.Series(GRADES, dtype=pl.UInt8),
    "chunks": pa.chunked_array([GRADES[:2], GRADES[2:]]),
    "dictionary": pa.array(GRADES).dictionary_encode(),
    **arrow(decimals(GRADES), pa.decimal128(5, 0)),
    **arrow([np.float16(grade) for grade in GRADES], pa.float16()),
    **arrow(GRADES, pa.int16()),
}
# Grades of which the third is missing.
GAPS = {
    "mask": np.ma.masked_array(GRADES, mask=[0, 0, 1, 0, 0, 0]),
    "objects: None": np.array([0, 1, None, 0, 1, 2], object),
    "objects: NA": np.array([0, 1, pd.NA, 0, 1, 2], object),
    "Int64": pandas([0, 1, None, 0, 1, 2], "Int64"),
    "boolean": pandas([False, True, None, False, True, True], "boolean"),
    "category": pd.Series(pd.Categorical([0, 1, None, 0, 1, 2])),
    "Polars": pl.Series([0, 1, None, 0, 1, 2]),
    "Polars Decimal": pl.Series(decimals([0, 1, None, 0, 1, 2]), dtype=pl.Decimal(5, 0)),
    **arrow([0, 1, None, 0, 1, 2], pa.int32()),
    **arrow(decimals([0, 1, None, 0, 1, 2]), pa.decimal128(5, 0)),
}


@pytest.mark.parametrize("values", LABELS.values(), ids=list(LABELS))
def test_labels_weights_and_scores_of_any_type(values):
    expected = np.array(GRADES, dtype=np.float64)
    np.testing.assert_array_equal(check_target(values, 6), expected)
    np.testing.assert_array_equal(check_weight(values, 6), expected)
    labels = order_labels(values, 6)
    assert labels.classes.tolist() == [0, 1, 2] and labels.codes.tolist() == GRADES
    others = [2, 0, 1, 1, 0, 2]
    assert evaluate(values, others, 0).means == evaluate(GRADES, others, 0).means
    assert evaluate(others, values, 0).means == evaluate(others, GRADES, 0).means
    assert QueryGroups.from_qid(values, 6).codes().tolist() == GRADES


@pytest.mark.parametrize(
    "name", ["Polars Int128", "sparse", "Int64", "chunks", "objects: decimals"]
)
def test_fits_take_labels_and_weights_of_any_type(name):
    X = np.column_stack([NUMBERS, GRADES])
    expected = RankRLS().fit(X, GRADES, qid=0, sample_weight=[1, 2, 3, 1, 2, 3]).predict(X)
    weight = pl.Series([1, 2, 3, 1, 2, 3], dtype=pl.Int128)
    ranker = RankRLS().fit(X, LABELS[name], qid=0, sample_weight=weight)
    np.testing.assert_array_equal(ranker.predict(X), expected)


@pytest.mark.parametrize("name", ["pandas string_view[pyarrow]", "arrow string_view"])
def test_text_of_digits_is_read_alike_in_every_type(name):
    digits = arrow([str(grade) for grade in GRADES], pa.string_view())[name]
    expected = RankRLS().fit(table(pd.Series(GRADES)), GRADES, qid=0)
    ranker = RankRLS().fit(table(digits), GRADES, qid=0)
    np.testing.assert_array_equal(ranker.coef_, expected.coef_)


@pytest.mark.parametrize("values", GAPS.values(), ids=list(GAPS))
def test_missing_labels_weights_scores_and_ids_are_refused(values):
    for read, name in [
        (lambda: check_target(values, 6), "y contains NaN at row 2"),
        (lambda: order_labels(values, 6), "y contains NaN at row 2"),
        (lambda: check_weight(values, 6), "sample_weight contains NaN or infinity at row 2"),
        (lambda: evaluate(values, NUMBERS, 0), "y must be finite, got nan at row 2"),
        (lambda: evaluate(NUMBERS, values, 0), "scores must be finite, got nan at row 2"),
        (lambda: QueryGroups.from_qid(values, 6), "qid must not be missing, got .* at row 2"),
    ]:
        with pytest.raises(ValueError, match=name):
            read()


@pytest.mark.parametrize(
    "values",
    [np.array(GRADES, "M8[D]"), np.array(GRADES, "m8[D]"), np.array(GRADES) + 0j, pl.Series(DAYS)],
    ids=["dates", "durations", "complex", "Polars Date"],
)
def test_labels_that_are_no_numbers_are_refused(values):
    for read in (
        lambda: check_target(values, 6),
        lambda: order_labels(values, 6),
        lambda: check_weight(values, 6),
        lambda: evaluate(values, NUMBERS, 0),
        lambda: evaluate(NUMBERS, values, 0),
    ):
        with pytest.raises(ValueError, match=r"must hold|[Cc]omplex data not supported"):
            read()


def test_masked_rows_are_missing_values():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="Input X contains NaN at row 0, column 1"):
        check_rows(RankRLS(), X, reset=True)
    assert np.isnan(read_rows(X)[0, 1])


# Ids of two queries, three rows each, and what from_frame makes of them.
IDS = {
    "text": (pd.Series(["07"] * 3 + ["7"] * 3), ["07"] * 3 + ["7"] * 3),
    "objects of both kinds": (pd.Series([1] * 3 + ["a"] * 3, dtype=object), [1] * 3 + ["a"] * 3),
    "category": (pd.Series(pd.Categorical(["a"] * 3 + ["b"] * 3)), ["a"] * 3 + ["b"] * 3),
    "floats of integers": (pd.Series([10.0] * 3 + [2.0] * 3), [10] * 3 + [2] * 3),
    "decimals": (pd.Series(decimals([10] * 3 + [2] * 3), dtype=object), [10] * 3 + [2] * 3),
    "sparse": (sparse([10] * 3 + [2] * 3, 0), [10] * 3 + [2] * 3),
    "uint64": (
        pd.Series([2**64 - 1] * 3 + [2**64 - 2] * 3, dtype="uint64"),
        [2**64 - 1] * 3 + [2**64 - 2] * 3,
    ),
    "Polars Enum": (pl.Series(["b"] * 3 + ["a"] * 3, dtype=pl.Enum(["a", "b"])), None),
    "Polars Int128": (pl.Series([2**100] * 3 + [2**100 + 1] * 3, dtype=pl.Int128), None),
    **{
        name: (column, None)
        for values, kind in [
            (["a"] * 3 + ["b"] * 3, pa.string_view()),
            (["NA"] * 3 + ["null"] * 3, pa.large_string()),
            (decimals([10] * 3 + [2] * 3), pa.decimal128(10, 0)),
            ([2**63 + 1] * 3 + [2**63 + 2] * 3, pa.uint64()),
            ([b"a"] * 3 + [b"b"] * 3, pa.binary()),
        ]
        for name, column in arrow(values, kind).items()
    },
}


@pytest.mark.parametrize("column, ids", IDS.values(), ids=list(IDS))
def test_query_ids_of_any_type(column, ids):
    data = RankingData.from_frame(table(column, label=GRADES), qid="f")
    assert data.groups.sizes.tolist() == [3, 3]
    assert ids is None or data.qid.tolist() == ids
    assert QueryGroups.from_qid(column, 6).sizes.tolist() == [3, 3]
    assert evaluate(GRADES, NUMBERS, column).per_query["nDCG@10"].shape == (2,)


def test_one_query_id_of_two_types_is_refused():
    column = pd.Series([1] * 3 + ["1"] * 3, dtype=object)
    for read in (
        lambda: RankingData.from_frame(table(column, label=GRADES), qid="f"),
        lambda: QueryGroups.from_qid(column, 6),
        lambda: evaluate(GRADES, NUMBERS, column),
        lambda: LambdaMART().fit(np.ones((6, 1)), GRADES, qid=column),
    ):
        with pytest.raises(ValueError, match="1 is text in one place and a number in another"):
            read()


@pytest.mark.parametrize(
    "column, texts",
    [
        (pd.Series([10.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ["10", "2", "3", "4", "5", "6"]),
        (pd.Series(decimals([10, 2, 3, 4, 5, 6]), dtype=object), ["10", "2", "3", "4", "5", "6"]),
        (
            pd.Series(["007", "NA", "null", "a b", "-0", "é"]),
            ["007", "NA", "null", "a b", "-0", "é"],
        ),
        (pl.Series(["a", "b", "c", "d", "e", "f"], dtype=pl.Categorical), list("abcdef")),
        (pa.array(list("abcdef"), pa.string_view()), list("abcdef")),
        (pa.array(list("abcdef")).dictionary_encode(), list("abcdef")),
        (pl.Series([2**63 + k for k in range(6)]), [str(2**63 + k) for k in range(6)]),
    ],
)
def test_document_ids_of_any_type(column, texts):
    data = RankingData.from_frame(table(column, label=GRADES), qid=False, doc_id="f")
    assert data.doc_ids.tolist() == texts


@pytest.mark.parametrize(
    "values, message",
    [
        (
            ["a", None, "b", "c", "d", "e"],
            "doc_id must not be missing, column 'f' is empty at row 1",
        ),
        (
            [1.0, NAN, 2.0, 3.0, 4.0, 5.0],
            "doc_id must not be missing, column 'f' is empty at row 1",
        ),
        ([1, "1", 2, 3, 4, 5], "1 is text in one place and a number in another"),
        (
            [b"a", b"b", b"c", b"d", b"e", b"f"],
            "doc_id must hold text or numbers, .* b'a' at row 0",
        ),
    ],
)
def test_refused_document_ids(values, message):
    frame = table(pd.Series(values), label=GRADES)
    with pytest.raises(ValueError, match=message):
        RankingData.from_frame(frame, qid=False, doc_id="f")


def test_weights_of_a_table_are_decimals():
    frame = table(pd.Series(NUMBERS), label=decimals(GRADES), w=decimals(NUMBERS))
    data = RankingData.from_frame(frame, qid=False, sample_weight="w")
    assert data.sample_weight.tolist() == NUMBERS and data.y.tolist() == GRADES
