"""Ids of every type: the same text at every entry, or an error that names the row."""

import datetime as dt
import enum
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise import RankingData, evaluate
from rankwise.checks.exact_values import id_texts
from rankwise.clicks import read_clicks
from rankwise.datasets import Qrels, read_letor, write_letor
from rankwise.fusion import as_run
from rankwise.preferences import read_comparisons
from rankwise.text import TextIndex, read_judgements


class Shop(enum.StrEnum):
    north = "n"


class OldShop(str, enum.Enum):  # noqa: UP042 (its str() is the name, unlike that of StrEnum)
    north = "n"


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Ids, and their text at every entry.
SAME = {
    "float16": (np.array([1, 2, 2047], np.float16), ["1", "2", "2047"]),
    "long double": (np.array([1, 2, 3], np.longdouble), ["1", "2", "3"]),
    "decimals": (objects(Decimal("2E+1"), Decimal("1.0"), Decimal(3)), ["20", "1", "3"]),
    "Enum of text": (objects(OldShop.north, Shop.north + "2", "z"), ["n", "n2", "z"]),
    "nanoseconds": (
        np.array(["2024-01-01", "2024-01-02T03", "2024-01-03"], "M8[ns]"),
        ["2024-01-01 00:00:00", "2024-01-02 03:00:00", "2024-01-03 00:00:00"],
    ),
    "dates": (objects(*(dt.date(2024, 1, d) for d in (1, 2, 3))),
              ["2024-01-01", "2024-01-02", "2024-01-03"]),
}  # fmt: skip
# Ids that are refused at every entry, and why.
REFUSED = {
    "halves": (np.array([1.5, 2, 3]), "text or whole numbers"),
    "beyond 2^53": (np.array([2.0**53, 2, 3]), "text or whole numbers"),
    "beyond 2^24": (np.array([2**24, 2, 3], np.float32), "text or whole numbers"),
    "beyond 2^11": (np.array([2**11, 2, 3], np.float16), "text or whole numbers"),
    "infinity": (np.array([np.inf, 2, 3]), "text or whole numbers"),
    "flags": (np.array([True, False, False]), "text or integers"),
    "Decimal NaN": (objects(Decimal("NaN"), Decimal(2), Decimal(3)), "missing"),
    "NA": (objects(pd.NA, "b", "c"), "missing"),
    "NaT": (np.array(["NaT", "2024-01-02", "2024-01-03"], "M8[s]"), "missing"),
    "half of a surrogate pair": (objects("a\ud800", "b", "c"), "UTF-8"),
}
DTYPES = {np.dtype(object): object}  # pandas would read text, which has no surrogates
LABELS, ONE = [0, 1, 2], [1, 1, 1]


def frame(ids, value):
    return pd.DataFrame(
        {"qid": ONE, "docno": pd.Series(ids, dtype=DTYPES.get(ids.dtype)), value: LABELS}
    )


def judged(ids):
    return RankingData(np.ones((3, 1)), np.array(LABELS), qid=np.array(ONE), doc_ids=ids)


ENTRIES = {
    "id_texts": lambda ids: id_texts(ids, "ids"),
    "from_frame": lambda ids: RankingData.from_frame(frame(ids, "label").assign(f=1.0)).doc_ids,
    "as_run": lambda ids: as_run(frame(ids, "score")).doc_ids,
    "read_judgements": lambda ids: read_judgements(frame(ids, "label")).doc_ids,
    "mapping": lambda ids: read_judgements({"q": dict.fromkeys(ids, 1)}).doc_ids,
    "Qrels": lambda ids: Qrels.from_data(judged(ids)).doc_ids,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", SAME)
def test_ids_have_one_text_at_every_entry(kind, entry):
    ids, texts = SAME[kind]
    assert list(ENTRIES[entry](ids)) == texts


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", REFUSED)
def test_ids_are_refused_at_every_entry(kind, entry):
    ids, reason = REFUSED[kind]
    with pytest.raises(ValueError, match=reason) as caught:
        ENTRIES[entry](ids)
    assert not isinstance(caught.value, UnicodeError)
    if entry != "mapping":
        assert "at row 0" in str(caught.value)


@pytest.mark.parametrize("kind", SAME)
def test_ids_return_from_letor_text(tmp_path, kind):
    ids, texts = SAME[kind]
    if any(" " in text for text in texts):
        with pytest.raises(ValueError, match="no white space in LETOR text"):
            write_letor(judged(ids), tmp_path / "a.txt")
        return
    write_letor(judged(ids), tmp_path / "a.txt")
    assert read_letor(tmp_path / "a.txt").doc_ids.tolist() == texts


@pytest.mark.parametrize("kind", REFUSED)
def test_documents_that_break_ties_need_ids(kind):
    ids, reason = REFUSED[kind]
    with pytest.raises(ValueError, match=f"doc_ids must .*{reason}.* at row 0"):
        evaluate(LABELS, [1, 1, 1], ONE, ["AP"], preset="trec_eval", doc_ids=ids)


def test_masked_ids_are_missing():
    for ids in (
        np.ma.array([1, 2, 3], mask=[1, 0, 0]),
        np.ma.array(["a", "b", "c"], mask=[1, 0, 0]),
    ):
        for entry in ("id_texts", "Qrels"):
            with pytest.raises(ValueError, match=r"must not be missing.* at row 0"):
                ENTRIES[entry](ids)


def test_members_of_an_enum_are_documents_by_their_value():
    index = TextIndex().add({OldShop.north: "cat"})
    assert index.doc_ids == ["n"]


NARROW = np.array([2**24 + 1, 2**24, 3], np.float32)


@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("read", [as_run, read_judgements, RankingData.from_frame])
@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(NARROW),
        pd.Series(NARROW, dtype="Float32"),
        pd.Series(NARROW).astype("float[pyarrow]"),
        pd.Series(np.array([2049, 2048, 3], np.float16)),
        pl.Series(NARROW),
        pa.array(NARROW),
        pa.array(np.array([2049, 2048, 3], np.float16)),
    ],
    ids=lambda ids: f"{type(ids).__module__.partition('.')[0]}-{getattr(ids, 'dtype', 'arrow')}",
)
def test_narrow_floats_of_every_library_merge_no_ids(ids, read, column):
    make = {"polars": pl.DataFrame, "pyarrow": pa.table}.get(
        type(ids).__module__.partition(".")[0], pd.DataFrame
    )
    value = "score" if read is as_run else "label"
    table = {"qid": ONE, "docno": ["a", "b", "c"], value: LABELS, column: ids}
    if read == RankingData.from_frame:
        table["f"] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"whole numbers that float(16|32) holds exactly"):
        read(make(table))


def test_click_logs_and_votes_merge_no_ids():
    log = {"query": ONE, "doc": NARROW, "place": [1, 2, 3], "click": [1, 0, 0]}
    votes = {"item_a": NARROW, "item_b": [1, 1, 1], "winner": ["a", "b", "a"]}
    for read, table in ((read_clicks, log), (read_comparisons, votes)):
        with pytest.raises(ValueError, match="whole numbers that float32 holds exactly"):
            read(pd.DataFrame(table))
