"""Tables and Yandex's lines: read alike in every form; nothing is lost in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.clicks import read_clicks

from .click_logs import WANTED, long_frame, rows_of


def test_a_table_is_read_alike_in_every_form(tmp_path):
    frame = long_frame()
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "log.parquet")
    forms = [frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy()]
    forms += [tmp_path / name for name in ("log.csv.gz", "log.tsv", "log.parquet")]
    for form in forms:
        log = read_clicks(form)
        assert rows_of(log) == WANTED
        assert log.n_lists == 2
    flags = frame.assign(clicked=frame.clicked.astype(bool))
    flags.to_csv(tmp_path / "flags.csv", index=False)
    assert rows_of(read_clicks(tmp_path / "flags.csv")) == WANTED
    wide = pd.DataFrame(
        {"q": ["tea", "cup"], "d1": ["a", "c"], "d2": ["b", "a"], "d3": ["", "d"],
         "c1": [0, 1], "c2": [1, 0], "c3": [0, 0]}
    )  # fmt: skip
    wide.to_csv(tmp_path / "wide.csv", index=False)
    for form in (wide, tmp_path / "wide.csv"):
        log = read_clicks(form, doc=["d1", "d2", "d3"], click=["c1", "c2", "c3"])
        assert rows_of(log) == WANTED
        assert log.n_lists == 2


def test_rows_come_sorted_and_know_their_source():
    frame = long_frame().iloc[[4, 1, 3, 0, 2]]
    log = read_clicks(frame)
    assert log.place.tolist() == [1, 2, 3, 1, 2]  # session 8 comes first
    np.testing.assert_array_equal(frame.position.to_numpy()[log.source], log.place)
    np.testing.assert_array_equal(log.lists.indptr, [0, 3, 5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,doc_id,place,click\nq,a,1,x\n", "click must be 0 or 1, got 'x'"),
        ("qid,doc_id,place,click\nq,a,one,1\n", "line 2"),
        ("qid,doc_id,click\nq,a,1\n", "there must be a column of the place"),
        ("qid,doc_id,place,click,time\nq,a,1,1,noon\n", "time must be a number or an ISO date"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_clicks(tmp_path / "log.csv")


def test_times_are_seconds(tmp_path):
    moments = ["1970-01-01T00:00:10Z", "1970-01-01T01:00:20+0100", "1970-01-01 00:00:30"]
    table = pd.DataFrame({"q": ["a"] * 3, "doc": [1, 2, 3], "place": [1, 2, 3], "click": 0})
    seconds = pd.to_datetime([10, 20, 30], unit="s")
    zoned = seconds.tz_localize("UTC").tz_convert("Asia/Tokyo")
    for time in (moments, [10, 20, 30], seconds, zoned):
        log = read_clicks(table.assign(time=time))
        np.testing.assert_array_equal(log.time, [10.0, 20.0, 30.0])


def test_counts_of_impressions_are_no_impressions(tmp_path):
    frame = long_frame().assign(impressions=[1, 5, 1, 1, 1])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form, where in ((frame, "at row 1"), (tmp_path / "log.csv", "log.csv, line 3")):
        with pytest.raises(ValueError, match="impressions is 5") as error:
            read_clicks(form)
        assert where in str(error.value)
    assert len(read_clicks(frame, weight=False)) == 5
    assert read_clicks(frame, weight="impressions").weight.tolist() == [1, 5, 1, 1, 1]
    assert rows_of(read_clicks(frame.assign(impressions=1))) == WANTED


def test_query_ids_with_several_texts_are_counted(tmp_path):
    frame = long_frame().assign(query=["tea", "Tea", "cup", "cup", "cup"])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form in (frame, tmp_path / "log.csv"):
        log = read_clicks(form)
        assert rows_of(log) == WANTED
        assert log.problems["queries_with_several_texts"] == 1
    assert "queries_with_several_texts" not in read_clicks(frame, query="query").problems


def test_times_may_be_numbers_beside_dates(tmp_path):
    frame = long_frame().assign(time=[1, 2.5, "2020-01-01", 4, 5])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for form in (frame, tmp_path / "log.csv"):
        assert read_clicks(form).time.tolist() == [1, 2.5, 1577836800, 4, 5]
    frame.loc[3, "time"] = "noon"
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(ValueError, match=r"log.csv, line 5: time must be a number .* 'noon'"):
        read_clicks(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"time must be a number .* 'noon' at row 3"):
        read_clicks(frame)


def test_rows_may_have_no_arm():
    frame = long_frame().assign(team=["a", None, "b", None, ""])
    for table in (frame, pl.from_pandas(frame)):
        log = read_clicks(table)
        assert log.summary().arms == {"a": 1, "": 3, "b": 1}
        assert len(log.take_arm("b")) == 1


def test_wrong_cells_are_named_by_line_and_column(tmp_path):
    long_frame().astype(object).replace({"position": {3: "x"}}).to_csv(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"log.csv, line 6: column 'position' has 'x'"):
        read_clicks(tmp_path / "log.csv")


def test_suffixes_that_are_not_known_are_refused(tmp_path):
    long_frame().to_csv(tmp_path / "e.log", index=False)
    with pytest.raises(ValueError, match=r"e.log: '.log' does not tell how .* Pass sep=','"):
        read_clicks(tmp_path / "e.log")
    assert rows_of(read_clicks(tmp_path / "e.log", sep=",")) == WANTED


@pytest.mark.parametrize("text", [False, True])
def test_clicks_and_lists_without_documents_are_counted(tmp_path, text):
    wide = pd.DataFrame(
        {"q": ["tea", "cup", "mug"], "d1": ["a", "c", None], "d2": ["b", None, None],
         "c1": [0, 1, 1], "c2": [1, 1, 0]}
    )  # fmt: skip
    wide = wide.astype({"c1": str, "c2": str}) if text else wide
    wide.to_csv(tmp_path / "wide.csv", index=False)
    columns = {"doc": ["d1", "d2"], "click": ["c1", "c2"]}
    for form in (wide, tmp_path / "wide.csv"):
        log = read_clicks(form, **columns)
        assert rows_of(log) == [
            ("tea", "a", 1, False),
            ("tea", "b", 2, True),
            ("cup", "c", 1, True),
        ]
        assert log.problems == {"clicks_without_impression": 2, "searches_without_impressions": 1}
    wrong = wide.assign(c1=["0", "x", "y"])
    with pytest.raises(ValueError, match="click must be 0 or 1, got 'x' at row 1"):
        read_clicks(wrong, **columns)
    with pytest.raises(ValueError, match="no list shows a document"):
        read_clicks(wide.assign(d1=None, d2=None), **columns)


def test_yandex_lines(tmp_path):
    lines = [
        "s1\t0\tQ\tq1\t5\ta\tb\tc",
        "s1\t3\tC\tb",
        "s1\t5\tQ\tq1\t5\tb\ta\tc",
        "s1\t9\tC\tb",
        "s1\t11\tC\tb",
        "s2\t0\tC\ta",
        "s2\tnonsense",
    ]
    (tmp_path / "log.txt").write_text("\n".join(lines))
    log = read_clicks(tmp_path / "log.txt", format="yandex")
    assert log.n_lists == 2
    assert [row[1:] for row in rows_of(log) if row[3]] == [("b", 2, True), ("b", 1, True)]
    assert log.problems["clicks_without_impression"] == 1
    assert log.problems["unread_lines"] == 1
    assert log.problems["repeated_clicks"] == 1
    assert set(log.user.names) == {"s1"}


def test_probabilities_of_lists_are_read(tmp_path):
    """By their usual name or another; of a table with one row per list, that of the list."""
    frame = long_frame().assign(list_propensity=[0.5, 0.5, 0.2, 0.2, 0.2])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for table in (frame, tmp_path / "log.csv"):
        assert sorted(read_clicks(table).list_propensity.tolist()) == [0.2] * 3 + [0.5] * 2
        assert read_clicks(table, list_propensity=False).list_propensity is None
    named = read_clicks(frame.rename(columns={"list_propensity": "p"}), list_propensity="p")
    assert named.propensity is None
    assert named.take(np.arange(2)).list_propensity.tolist() == [0.5, 0.5]
    lists = pd.DataFrame({"qid": ["t"], "d1": ["a"], "d2": ["b"], "c1": [0], "c2": [1], "p": [0.3]})
    wide = read_clicks(lists, doc=["d1", "d2"], click=["c1", "c2"], list_propensity="p")
    assert wide.list_propensity.tolist() == [0.3, 0.3]
