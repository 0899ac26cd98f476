"""What text is to people, and that all readers of tables leave out the same columns for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankwise
from rankwise import RankingData
from rankwise.checks.text_categories import kind_of_text
from rankwise.datasets import IgnoredColumnsWarning, read_table

DATES = [
    ["28.01.2024", "1.2.2024"], ["01/28/2024", "2/3/24"], ["28-01-2024", "29-01-2024"],
    ["2024/01/28", "2024.1.3"], ["Jan 28, 2024", "Feb 3, 2024"], ["January 28th, 2024"],
    ["28 Jan 2024", "3 Feb 2024"], ["28-Jan-24", "03-Feb-24"], ["28. Januar 2024", "3. März 2024"],
    ["28 janvier 2024", "1 août 2023"], ["28 de enero de 2024"], ["2024年1月28日"],
    ["2024-01-28T10:00", "2024-01-28 10:00:00+02:00"], ["2024-01-28T10:00:00.123Z"],
    ["2024-01-28 10:00:00 UTC"], ["Sun, 28 Jan 2024 10:00:00 GMT"], ["Sun Jan 28 10:00:00 2024"],
    ["2024-01", "2024-02"], ["Jan 2024"], ["2024-Q1", "Q2 2024"], ["2024-W05"], ["28 Jan", "3 Feb"],
    ["10:30", "23:15:01"], ["10:30 am", "1:15 PM"], ["28.01.2024", "29.01.2024", "unknown"],
]  # fmt: skip
AMOUNTS = [
    ["30%", "20 %"], ["EUR 30", "EUR 5.50"], ["30 EUR", "5,50 EUR"], ["$5", "$1,000.50"],
    ["US$ 5", "-$3"], ["30€", "1.000,50 €"], ["kr 30", "kr 5"], ["30 kr", "50 kr"],
    ["30 km", "500 m"], ["30km", "5km"], ["30 km/h"], ["35 m²"], ["30°C", "25 °F"], ['5.5"', '6"'],
    ["12 GB", "1 TB"], ["5 stars", "4 stars"], ["30 sq ft", "50 sq ft"], ["5x", "6x"], ["3 years"],
    ["1,000", "2,500,000"], ["4,089", "5,125"], ["0,5 %", "1,2"], ["2,5", "1.5"],
    ["1'000", "2'500"], ["1 000", "30 000"],
    ["30%", "n/a", "20%"], ["30", "40", "35%"], ["<10%", ">20%"], ["-5%", "+3%"],
    ["5'10\"", "6'1\""], ["5 ft 10 in", "6 ft"], ["2h 30m", "1h 5m"], ["3 days, 2 hours", "1 day"],
    ["1 lb 4 oz", "2 lb 3 oz"], ["1.2M", "3M"], ["CHF 5.-", "CHF 30.-"], ["30,-", "5,-"],
    ["₹ 30 Lakh", "₹ 5 Lakh"], ["100 Mbps", "1 Gbps"], ["30 minutes", "20 seconds"],
]  # fmt: skip
TEXTS = [
    ["acme", "foo"], ["t1", "t2"], ["1", "x", "y"], ["01234", "99999"], ["17", "18"],
    ["SKU12", "SKU13"], ["RS5", "RS7"], ["C3", "C4"], ["shop 17", "shop 18"], ["2XL", "XL", "S"],
    ["1A", "1B", "2A", "2B"], ["10a", "10b", "11a"], ["1", "2", "3a", "4b"], ["18-25", "26-35"],
    ["1.2.3", "1.2.4"], ["10.0.0.1"], ["16:9", "4:3"], ["1st", "2nd", "3rd"], ["Monday", "Tue"],
    ["January", "May"], ["A+", "B-"], ["3D"], ["555-1234"], ["12 Main St", "13 Oak Rd"],
    ["978-3-16"], ["q1", "q2"], ["us", "eu"], ["30%", "red", "blue", "green"], [],
    ["2XL", "3XL", "M"], ["2XS", "3XS"], ["2X", "3X"], ["3M", "5M"], ["A1-30", "B2-10"],
    ["SW1A 1AA"], ["5G3K", "2A4B"],
]  # fmt: skip


@pytest.mark.parametrize("cells", DATES, ids=lambda cells: cells[0])
def test_dates_and_times_are_dates(cells):
    assert kind_of_text(dict.fromkeys(cells, 2)) == f"dates, such as {cells[0]!r}"


@pytest.mark.parametrize("cells", AMOUNTS, ids=lambda cells: cells[0])
def test_numbers_with_units_and_marks(cells):
    example = next(cell for cell in cells if not cell.isdecimal())
    assert kind_of_text(dict.fromkeys(cells, 2)) == f"numbers with units, such as {example!r}"


@pytest.mark.parametrize(
    "cells", [["0,5", "1,25"], ["4,089", "12,5", "3"], ["-0,125"], ["1.234,50", "2,75"]], ids=str
)
def test_decimal_commas(cells):
    example = next(cell for cell in cells if "," in cell and cell != "4,089")
    found = kind_of_text(dict.fromkeys(cells, 2))
    assert found == f"numbers with decimal commas, such as {example!r}"


@pytest.mark.parametrize("cells", TEXTS, ids=lambda cells: " ".join(cells))
def test_codes_names_and_ranges_are_text(cells):
    assert kind_of_text(dict.fromkeys(cells, 2)) == "text"


def test_numbers_as_text():
    assert kind_of_text({"0.5": 2, "1.25": 1}) == "numbers as text, such as '0.5'"
    assert kind_of_text({"1e5": 2, "3": 1}) == "numbers as text, such as '1e5'"
    assert kind_of_text({"a" * 10_000: 2, "1" * 10_000: 2}) == "text"


def judged(n=60, **columns):
    """Rows of six queries with a feature and further columns, whose values repeat."""
    frame = pd.DataFrame({
        "label": np.arange(n) % 2,
        "qid": np.arange(n) // 10,
        "x": np.random.default_rng(0).random(n),
    })  # fmt: skip
    return frame.assign(**{name: np.resize(cells, n) for name, cells in columns.items()})


def csv(folder, frame):
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def tsv(folder, frame):
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    return folder / "t.tsv"


def parquet(folder, frame):
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "csv": csv, "tsv": tsv, "parquet": parquet, "pandas": lambda _, frame: frame,
    "polars": lambda _, frame: pl.from_pandas(frame),
    "lazy": lambda _, frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda _, frame: pa.Table.from_pandas(frame),
    "categorical": lambda _, frame: frame.astype({"odd": "category"}),
}  # fmt: skip


def read(source, **words):
    in_file = hasattr(source, "suffix")
    return read_table(source, **words) if in_file else RankingData.from_frame(source, **words)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["28.01.2024", "29.01.2024"], r"odd \(dates, such as '28.01.2024'\)\. Replace them by"),
        (["10:30", "10:45"], r"odd \(dates, such as '10:30'\)\. Replace them by"),
        (["30%", "40%"], r"odd \(numbers with units, such as '30%'\)\. Write plain numbers"),
        (["1,000", "2,000"], r"odd \(numbers with units, such as '1,000'\)\. Write plain"),
    ],
    ids=["dates", "times", "percent", "thousands"],
)
@pytest.mark.parametrize("categories", [True, False])
def test_all_readers_leave_them_out_and_say_so(source, cells, said, categories, tmp_path):
    given = SOURCES[source](tmp_path, judged(odd=cells))
    with pytest.warns(IgnoredColumnsWarning, match=said) as caught:
        data = read(given, categories=categories)
    assert len(caught) == 1
    assert data.feature_names == ["x"]
    assert "odd" in data.left_out
    named = read(given, features=["odd"], categories=True)  # whatever it holds
    assert named.categories[0].tolist() == sorted(cells)


@pytest.mark.parametrize("source", SOURCES)
def test_any_number_of_values_that_repeat_are_categories(source, tmp_path):
    given = SOURCES[source](tmp_path, judged(6000, odd=[f"shop {i}" for i in range(400)]))
    assert len(read(given, categories=True).categories[1]) == 400


@pytest.mark.parametrize("source", ["csv", "parquet", "pandas"])
@pytest.mark.parametrize("name", ["id", "ID", "_id", "uuid", "row_id"])
def test_columns_with_names_of_ids_are_left_out(source, name, tmp_path):
    given = SOURCES[source](tmp_path, judged(**{name: np.arange(60)[::-1] * 7}))
    with pytest.warns(
        IgnoredColumnsWarning, match=rf"names of ids .*: '{name}'\. Pass doc_id="
    ) as w:
        data = read(given)
    assert len(w) == 1
    assert (data.feature_names, data.left_out) == (["x"], {name: "ids"})
    assert read(given, doc_id=name).feature_names == ["x"]
    assert read(given, features=["x", name]).feature_names == ["x", name]
    with pytest.warns(IgnoredColumnsWarning, match=r"'product_id'\. Pass features"):
        assert read(judged(doc_id=["a", "b"], product_id=[3, 4])).feature_names == ["x"]


@pytest.mark.parametrize("source", ["csv", "parquet", "pandas", "polars"])
def test_row_numbers_are_left_out_and_other_ids_are_named(source, tmp_path):
    rng = np.random.default_rng(1)
    columns = {
        "row": np.arange(60) + 1,
        "shuffled": rng.permutation(60) + 100,
        "cents": rng.choice(10**6, 60, replace=False),
        "rank": np.arange(60) % 10,
        "floats": np.arange(60) + 0.5,
        "some": np.r_[np.arange(59), 3],
    }
    given = SOURCES[source](tmp_path, judged(**columns))
    with pytest.warns(IgnoredColumnsWarning) as caught:
        data = read(given)
    assert [str(w.message).partition(". ")[0] for w in caught] == [
        "columns that number the rows are not used as features: 'row'",
        "columns hold another whole number in every row, as ids do, and are used as features: "
        "'shuffled'",
    ]
    assert "ignore=['shuffled']" in str(caught[1].message)
    assert data.feature_names == ["x", "shuffled", "cents", "rank", "floats", "some"]
    assert data.left_out == {"row": "row numbers"}
    assert "row" in read(judged(row=columns["row"]), qid=False, ignore=["qid"]).feature_names
    found = {f.what: f.examples for f in rankwise.datasets.lint(data).rows}
    assert found["features that look like ids"] == ("'shuffled'",)


@pytest.mark.parametrize("source", ["csv", "parquet", "pandas", "lazy"])
def test_ignored_columns(source, tmp_path):
    given = SOURCES[source](tmp_path, judged(price=[1, 2, 3], brand=["a", "b"], doc_id=["d", "e"]))
    data = read(given, ignore=["price", "doc_id"], categories=True)
    assert data.feature_names == ["x", "brand"]
    assert data.left_out == {"price": "ignored", "doc_id": "ignored"}
    assert data.doc_ids is None
    scored = read(given, score_columns=["price"], categories=True)
    assert scored.feature_names == ["x", "price", "brand"]
    scored = read(given, score_columns=["price"], ignore=["price", "brand"])
    assert (scored.feature_names, scored.score_columns["price"][1]) == (["x"], 2.0)
    assert data.take(np.arange(3)).left_out == data.left_out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ignore": ["prise"]}, r"ignore must be columns, but 'prise' .* Did you mean 'price'\?"),
        ({"ignore": ["PRICE"]}, r"ignore must be columns, but 'PRICE' .* Did you mean 'price'\?"),
        ({"score_columns": ["PRICE"]}, r"but 'PRICE' is not.* Did you mean 'price'\?"),
        ({"ignore": "price"}, "ignore must be a list of columns, got 'price'"),
        ({"ignore": ["label"]}, "'label' is to be ignored, but it is that of label"),
        ({"ignore": ["qid"]}, "'qid' is to be ignored, but it is that of qid"),
        ({"ignore": ["x"], "label": "x"}, "'x' is to be ignored, but it is that of label"),
        ({"ignore": ["x"], "doc_id": "x"}, "'x' is to be ignored, but it is that of doc_id"),
        ({"ignore": ["x"], "features": ["x"]}, "'x' is to be ignored and to be a feature"),
        ({"ignore": ["x"], "categories": ["x"]}, "'x' is to be ignored and to be a feature"),
    ],
)
@pytest.mark.parametrize("source", ["csv", "pandas"])
def test_what_cannot_be_ignored(source, words, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(SOURCES[source](tmp_path, judged(price=[1, 2])), **words)


def test_ignoring_settles_what_is_ambiguous():
    frame = judged().assign(query=1, rating=2.0)
    with pytest.raises(ValueError, match="label could be any of the columns"):
        RankingData.from_frame(frame)
    data = RankingData.from_frame(frame, ignore=["query", "rating"])
    assert (data.n_queries, data.feature_names) == (6, ["x"])


def test_features_without_names_are_ignored_by_number():
    X = np.arange(12.0).reshape(4, 3)
    data = RankingData(X, np.zeros(4), qid=np.zeros(4))
    rest = data.without_features(["2"])
    assert (rest.feature_names, rest.left_out) == (["1", "3"], {"2": "ignored"})
    assert rest.score_columns["2"].tolist() == X[:, 1].tolist()
    with pytest.raises(ValueError, match=r"ignore=\['4'\] must be a list of features"):
        data.without_features(["4"])
    with pytest.raises(ValueError, match="must leave a feature"):
        data.without_features(["1", "2", "3"])


@pytest.mark.parametrize("cells", [["28.01.2024", "29.01.2024"], ["30%", "40%"]], ids=str)
def test_rows_of_a_fit_are_named_too(cells):
    frame = judged(odd=cells)
    with pytest.warns(UserWarning, match=r"become categories, which have no order: 'odd' \("):
        rankwise.LambdaMART(2).fit(frame[["x", "odd"]], frame.label, qid=frame.qid)
    named = rankwise.LambdaMART(2, categorical_features=["odd"])
    named.fit(frame[["x", "odd"]], frame.label, qid=frame.qid)  # without a warning


def test_streams_ignore_columns(tmp_path):
    frame = judged(price=[1, 2], odd=["30%", "40%"])
    for source in (csv(tmp_path, frame), parquet(tmp_path, frame), [frame]):
        with pytest.warns(IgnoredColumnsWarning, match=r"odd \((numbers with units|text)"):
            (chunk,) = rankwise.streams.stream(source, ignore=["price"])
        assert chunk.feature_names == ["x"]


def test_learning_curves_ignore_columns():
    frame = judged(price=[1, 2], odd=["a", "b"])
    words = {"cv": 2, "measures": "nDCG@5", "isolate": False}
    curve = rankwise.selection.learning_curve(
        {"trees": rankwise.LambdaMART(2), "price": "column:price"}, frame, [3], ignore=["price"],
        **words,
    )  # fmt: skip
    (board,) = curve.boards
    assert board.fold_infos[0].n_features == 2
    assert board.settings.left_out == {"price": "ignored"}


@pytest.mark.parametrize("sep", [",", "\t", ";"])
@pytest.mark.parametrize(
    ("cells", "is_coded"),
    [(["02139", "94110", "10001"], True), (["007", "12", "113"], True), (["7", "12", "113"], False),
     (["01.5", "2"], False), (["0", "1"], False), (["-01", "2"], False), (["", "007"], True)],
)  # fmt: skip
def test_whole_numbers_with_leading_zeros_are_codes_in_text_files_too(
    tmp_path, sep, cells, is_coded
):
    judged(code=cells).to_csv(tmp_path / "t.csv", index=False, sep=sep)
    data = read_table(tmp_path / "t.csv", sep=sep, categories=True)
    assert data.feature_names == ["x", "code"]
    assert (1 in (data.categories or {})) == is_coded
    if is_coded:
        assert set(data.categories[1]) == {*filter(None, cells)}
    assert not read_table(tmp_path / "t.csv", sep=sep, features=["x", "code"]).categories
