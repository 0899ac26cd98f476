"""All readers know the same usual names of columns."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from rankwise import RankingData
from rankwise.datasets import read_qrels, read_run, read_table
from rankwise.datasets import table_columns as names
from rankwise.datasets.readers.file_formats import FormatName, file_format
from rankwise.streams import stream
from rankwise.text import TextIndex, read_judgements
from rankwise.text.documents import convert_to_queries

CASES = [
    *((name, "doc_id") for name in names.ALL_QUERY_NAMES),
    *(("qid", name) for name in names.ALL_DOCUMENT_NAMES),
    ("QID", "DocNo"),
]


@pytest.mark.parametrize(("query", "document"), CASES)
def test_tables_of_features_judgements_and_runs(tmp_path, query, document):
    frame = pd.DataFrame({query: ["q", "q"], document: ["d", "e"], "label": [1, 0]})
    features = frame.assign(a=[0.5, 0.25])
    features.to_csv(tmp_path / "t.csv", index=False)
    for data in (
        RankingData.from_frame(features),
        read_table(tmp_path / "t.csv"),
        next(iter(stream(tmp_path / "t.csv"))),
    ):
        assert [*data.qid] == ["q", "q"] and [*data.doc_ids] == ["d", "e"]
        assert data.feature_names == ["a"]
    for sep in ("\t", ","):
        path = tmp_path / "q.txt"
        frame.to_csv(path, index=False, sep=sep)
        assert file_format(path).kind is FormatName.table
        for qrels in (read_qrels(path), read_judgements(frame)):
            assert qrels.qid.tolist() == ["q", "q"] and qrels.doc_ids.tolist() == ["d", "e"]
        frame.rename(columns={"label": "score"}).to_csv(path, index=False, sep=sep)
        assert read_run(path).doc_ids.tolist() == ["d", "e"]


@pytest.mark.parametrize("label", names.LABEL_NAMES)
def test_labels_have_the_same_names_everywhere(tmp_path, label):
    frame = pd.DataFrame({"qid": ["q", "q"], "doc_id": ["d", "e"], label: [1, 0], "a": [1, 2]})
    assert RankingData.from_frame(frame).y.tolist() == [1, 0]
    frame.drop(columns="a").to_csv(tmp_path / "q.csv", index=False)
    assert read_qrels(tmp_path / "q.csv").relevance.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("document", name) for name in names.TEXT_DOCUMENT_IDS]
    + [("query", name) for name in names.TEXT_QUERY_IDS],
)
def test_ids_of_texts(tmp_path, kind, name):
    rows = [{name: "07", "text": "black dog"}, {name: "7", "text": "white cat"}]
    lines, tabs = tmp_path / "t.jsonl", tmp_path / "t.tsv"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tabs.write_text(f"{name}\ttext\n07\tblack dog\n7\twhite cat\n")
    for given in (rows, pd.DataFrame(rows), lines, tabs):
        if kind == "document":
            assert TextIndex().add(given).doc_ids == ["07", "7"]
        else:
            assert convert_to_queries(given) == {"07": "black dog", "7": "white cat"}


def test_names_that_may_be_texts_count_last():
    table = {"topic": ["t", "t"], "document": ["long text", "text"], "label": [1, 0], "a": [1, 2]}
    alone = RankingData.from_frame(pd.DataFrame(table))
    assert alone.qid.tolist() == ["t", "t"] and alone.doc_ids.tolist() == ["long text", "text"]
    beside = pd.DataFrame({**table, "qid": [1, 1], "docno": ["d", "e"]})
    with pytest.warns(UserWarning, match=r"not used as features: topic \(text\), document"):
        data = RankingData.from_frame(beside)
    assert data.qid.tolist() == [1, 1] and data.doc_ids.tolist() == ["d", "e"]
    with pytest.raises(ValueError, match="qid could be any of the columns 'qid', 'query'"):
        RankingData.from_frame(beside.assign(query="x"))


@pytest.mark.parametrize("name", names.DOCUMENT_LAST)
def test_numbers_of_products_are_no_features(tmp_path, name):
    # Written with zeros in front, and again in the same query: "0017" was the feature 17.0.
    frame = pd.DataFrame({"qid": ["q"] * 3, name: ["0017", "9", "0017"], "label": [1, 0, 0]})
    features = frame.assign(a=[0.5, 0.25, 1.0])
    features.to_csv(tmp_path / "t.csv", index=False)
    features.to_parquet(tmp_path / "t.parquet", index=False)
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        data = read_table(path)
        assert data.feature_names == ["a"] and [*data.doc_ids] == ["0017", "9", "0017"]
    numbers = features.assign(**{name: [17, 9, 17]})
    assert RankingData.from_frame(numbers).feature_names == ["a"]
    asked = RankingData.from_frame(numbers, features=[name, "a"])
    assert asked.X[:, 0].tolist() == [17, 9, 17] and asked.doc_ids is None
    # A category, which may be missing, and no id.
    lost = frame.assign(**{name: ["0017", None, "9"]})
    asked = RankingData.from_frame(lost, features=[name], categories=True)
    assert asked.X[1, 0] != asked.X[1, 0] and asked.doc_ids is None  # NaN
    with pytest.raises(ValueError, match=r"or name the column in features=.* if it holds no ids"):
        RankingData.from_frame(lost.assign(a=1.0))
