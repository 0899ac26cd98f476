"""Documents and queries of every form: ids, missing values, files, and what is left out."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankwise.text import QueryDocumentFeatures, TextIndex, TextRanker, read_beir
from rankwise.text.documents import convert_to_id, convert_to_queries, iterate_documents

MISSING = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan")]
IDS = {
    "text": ("007", "007"), "NumPy text": (np.str_("a"), "a"), "a blank": (" a\u00a0", " a\u00a0"),
    "integer": (2**70, str(2**70)), "NumPy integer": (np.int64(-3), "-3"),
    "whole Decimal": (Decimal("12"), "12"),
}  # fmt: skip
NO_IDS = [
    1.0, np.float64(2), True, np.True_, b"a", [1], {}, Fraction(1, 2), Decimal("1.5"),
    pd.Timestamp(0), 1j,
]  # fmt: skip


@pytest.mark.parametrize("name", IDS)
def test_ids(name):
    value, wanted = IDS[name]
    assert convert_to_id(value, "the id") == wanted
    assert TextIndex().add([{"id": value, "text": "cat"}]).doc_ids == [wanted]
    assert convert_to_queries([{"qid": value, "text": "cat"}]) == {wanted: "cat"}


@pytest.mark.parametrize("value", [*MISSING, "", "a\0", "\ud800", *NO_IDS], ids=repr)
def test_bad_ids(value):
    kinds = (ValueError, TypeError)
    for read in (lambda rows: list(iterate_documents(rows, ("text",))), convert_to_queries):
        with pytest.raises(kinds, match=r"'id' of (document|query) 1 (is|has|must be)"):
            read([{"id": "a", "text": "cat"}, {"id": value, "text": "cat"}])
        if isinstance(value, list | dict):
            continue
        with pytest.raises(kinds, match=r"the id of (document|query) 1 (is|has|must be)"):
            read({"a": "cat", value: "cat"})


FRAMES = {
    "pandas": lambda ids: pd.DataFrame({"doc_id": ids, "text": ["cat"] * len(ids)}),
    "nullable": lambda ids: pd.DataFrame({"doc_id": pd.array(ids), "text": ["cat"] * len(ids)}),
    "polars": lambda ids: pl.DataFrame({"doc_id": ids, "text": ["cat"] * len(ids)}),
    "arrow": lambda ids: pa.table({"doc_id": ids, "text": ["cat"] * len(ids)}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("ids", [["a", None], [7, None]], ids=str)
def test_missing_ids_of_frames(kind, ids):
    with pytest.raises(
        (TypeError, ValueError), match=r"'doc_id' of document [01] (is missing|must)"
    ):
        TextIndex().add(FRAMES[kind](ids))
    assert TextIndex().add(FRAMES[kind](ids[:1])).doc_ids == [str(ids[0])]


def test_missing_ids_of_json_lines(tmp_path):
    path = tmp_path / "docs.jsonl"
    for value in ("null", "NaN", '""', "1.5", "true", "[]", '"\\ud800"', '"\\u0000"'):
        path.write_text(f'{{"id": "a", "text": "cat"}}\n\n{{"id": {value}, "text": "dog"}}\n')
        for read in (TextIndex().add, convert_to_queries):
            with pytest.raises(ValueError, match=r"docs\.jsonl: 'id' of line 3 (is|has|must be)"):
                read(path)


def test_the_first_column_of_ids_decides():
    with pytest.raises(ValueError, match="'doc_id' of document 0 is missing"):
        TextIndex().add([{"doc_id": None, "id": "a", "text": "cat"}])


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_texts(value):
    assert list(iterate_documents({"a": {"text": value}}, ("text",))) == [("a", [""])]
    with pytest.raises(TypeError, match="document 'a' must have a mapping from field to text"):
        list(iterate_documents({"a": value}, ("text",)))
    assert list(iterate_documents([{"id": "a", "text": value}], ("text",))) == [("a", [""])]
    assert convert_to_queries([{"id": "a", "text": value, "title": "cat"}]) == {"a": "cat"}
    for queries in ([{"id": "a", "text": value}], {"a": value}, [{"id": "a"}]):
        with pytest.raises(ValueError, match="query 'a' has no text"):
            convert_to_queries(queries)
    assert (
        convert_to_queries({"a": ""}) == convert_to_queries([{"id": "a", "text": ""}]) == {"a": ""}
    )


def test_breaks_within_values_do_not_end_lines(tmp_path):
    texts = {"a": "x\u2028y\x85z", "b": "'\"q\"', w\x1cv"}
    rows = [{"id": name, "text": text} for name, text in texts.items()]
    path = tmp_path / "docs.jsonl"
    for end in ("\n", "\r\n"):
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_bytes("\ufeff".encode() + end.join(lines).encode())
        path.write_text(path.read_text("utf-8").replace("\x1c", "\\u001c"), "utf-8", newline="")
        assert dict(iterate_documents(path, ("text",))) == {
            name: [text] for name, text in texts.items()
        }
        assert convert_to_queries(path) == texts


def test_json_lines_under_any_name(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text('\n {"id": 1, "text": "cat"}\n')
    assert TextIndex().add(path).doc_ids == ["1"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "b"', "not valid JSON"),
        ("[1]", "must be a JSON object, got a list. Write one object per line"),
        ('{"id": "b", "text": "x", "text": "y"}', "has the key 'text' twice"),
        ('{"id": "b", "text": "x\x0by"}', "not valid JSON"), ("[" * 10**5, "nested too deeply"),
        ('{"id": "b", "text": 3}', "text of 'b' must be text"), ('{"id": "a"}', "a second time"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(tmp_path, line, said):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "a", "text": "cat"}\n' + line + "\n")
    with pytest.raises(ValueError, match=rf"docs\.jsonl.*{said}"):
        TextIndex().add(path)


def test_empty_files_are_reported(tmp_path):
    for name in ("empty.trec", "empty.jsonl"):
        (tmp_path / name).write_text("\n \n")
        with pytest.warns(UserWarning, match=rf"{name} has no documents"):
            assert len(TextIndex().add(tmp_path / name)) == 0
        with pytest.raises(ValueError, match=rf"{name} has no queries"):
            convert_to_queries(tmp_path / name)


def test_missing_ids_of_pairs():
    index = TextIndex().add({"None": "cat", "nan": "dog"})
    features = QueryDocumentFeatures(index)
    for qid, doc_id in ((None, "nan"), ("None", None), ("None", float("nan")), (pd.NA, "nan")):
        with pytest.raises(ValueError, match=r"(query|document) id 0 is missing"):
            features.compute({"None": "cat"}, [qid], [doc_id])


def test_bytes_of_another_encoding(tmp_path):
    trec = "<DOC>\n<DOCNO>a</DOCNO>\ncaf\u00e9\n</DOC>\n".encode("latin-1")
    rows = b'{"id": "a",\n "text": "caf\xe9"}'.replace(b"\n", b"")
    for name, data, line in (("d.trec", trec, 3), ("d.jsonl", b"\n" + rows, 2)):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(
            ValueError, match=rf"{name}, line {line}: the byte 0xe9 at offset \d+ is"
        ):
            TextIndex().add(path)
        assert list(TextIndex().add(path, encoding="latin-1").vocabulary) == ["café"]
        with pytest.raises(ValueError, match="encoding must be the name of an encoding"):
            TextIndex().add(path, encoding="klingon")
        with pytest.raises(ValueError, match="Save the file as UTF-8"):
            convert_to_queries(path)
    with pytest.raises(TypeError, match="encoding applies to files, got dict"):
        TextIndex().add({"a": "cat"}, encoding="latin-1")


def test_fields_left_out_by_default_are_counted():
    rows = [
        {"id": "a", "title": "Cats", "text": "cat", "year": 2001, "url": " "},
        {"id": "b", "title": "", "text": "dog", "contents": "more"},
    ]
    with pytest.warns(UserWarning, match=r"2 documents.*: 'title' \(1\), 'contents' \(1\)\."):
        index = TextIndex().add(rows)
    TextIndex(["text"]).add(rows)  # named: no warning
    with pytest.warns(UserWarning, match="'title'"):
        index.add([{"id": "c", "title": "Cats", "text": ""}])
    with pytest.warns(UserWarning, match="'text' is indexed"):
        TextIndex().add(pd.DataFrame(rows))


def test_the_default_is_saved(tmp_path):
    index = TextIndex.load(TextIndex().add({"a": "cat"}).save(tmp_path))
    with pytest.warns(UserWarning, match="left out"):
        index.add([{"id": "c", "title": "Cats", "text": ""}])


def test_repeated_documents_of_a_collection(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": "cat"}\n' * 2)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "cat"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t2\n")
    with pytest.raises(ValueError, match=r"corpus\.jsonl: document 'a' comes a second time"):
        read_beir(tmp_path)


def test_names_of_files_are_no_queries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.queries").write_text("")
    (tmp_path / "cats").write_text("")
    index = TextIndex().add({"a": "cats queries.jsonl"})
    for name in ("queries.jsonl", "topics.txt", "asked.queries", str(tmp_path / "cats")):
        with pytest.raises(ValueError, match=r"is the name of a file\. .* pass Path\('"):
            index.search(name)
    assert len(index.search("cats")) == len(index.search(["queries.jsonl"])) == 1
    for text in ("cats in topics.txt", "cats\0", "c" * 10_000, "U.S.A."):
        index.search(text)
    with pytest.raises(ValueError, match="is the name of a file"):
        TextRanker(index).recall("queries.jsonl", {"1": {"a": 1}})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PAR1....PAR1", "is a Parquet table, not text. Give it a name that"),
        (b"PK\x03\x04....", "is a zip archive"),
        (b"doc_id,text\n1,wine\n", "neither <DOC> nor <top>.* Write JSON lines"),
        (b'{"id": "1", "text": "a"}\r{"id": "2", "text": "b"}\r', "carriage returns end the lines"),
        ('{"id": "1", "text": "a"}'.encode("utf-16"), "is UTF-16 text"),
    ],
)
def test_files_of_other_formats_are_named(tmp_path, content, said):
    path = tmp_path / "docs.jsonl" if content[:1] == b"{" else tmp_path / "docs.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"docs\.\w+.*{said}"):
        TextIndex().add(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8"])
def test_an_encoding_that_is_named_is_read(tmp_path, encoding):
    path = tmp_path / "docs.jsonl"
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + '{"id": "1", "text": "café"}\n').encode(encoding))
    index = TextIndex().add(path, encoding=encoding)
    assert (index.doc_ids, [*index.vocabulary]) == (["1"], ["café"])


@pytest.mark.parametrize("empty", ["null", "NaN"])
def test_a_query_whose_text_is_missing_is_refused_by_that_text(tmp_path, empty):
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"_id": "q1", "text": {empty}}}\n')
    with pytest.raises(ValueError, match=r"query 'q1' has no text, its 'text' is (None|nan)"):
        convert_to_queries(path)


@pytest.mark.parametrize("name", ["collection.tsv", "collection", "collection.txt"])
def test_an_id_and_a_text_per_line(tmp_path, name):
    """The form of MS MARCO, whose texts hold quotation marks."""
    path = tmp_path / name
    path.write_text('7\tA cat.\n07\t"Well\u2028said", "he\r\n\nd9\t\n', newline="")
    assert list(iterate_documents(path, ("text",), is_default=True)) == [
        ("7", ["A cat."]), ("07", ['"Well\u2028said", "he']), ("d9", [""]),
    ]  # fmt: skip
    assert convert_to_queries(path)["7"] == "A cat."
    with pytest.raises(ValueError, match="no document has a field 'body', they have 'text'"):
        list(iterate_documents(path, ("body",)))


def test_columns_with_names(tmp_path):
    path = tmp_path / "documents.tsv"
    path.write_text('title\tDOCNO\tbody\nCats\td1\tA cat\n"a ""b"""\td2\tA dog\n')
    found = list(iterate_documents(path, ("title", "body")))
    assert found == [("d1", ["Cats", "A cat"]), ("d2", ['a "b"', "A dog"])]
    path.write_text("qid\tquery\nq1\tcats\n")
    assert convert_to_queries(path) == {"q1": "cats"}


@pytest.mark.parametrize(
    "text, said",
    [
        ("d1\turl\ttitle\tbody\n", "line 1: 4 columns separated by tabs, but no names. .*'doc_id'"),
        ("d1\tone\n\nd2\ttwo\tthree\n", "line 3: expected 2 columns .*doc_id, text.*, got 3"),
        ("id\ttext\ttext\n1\ta\tb\n", "line 1: two columns have one name"),
        ("number\tpassage\n1\tone\n", "line 1: 'number passage' looks like names .*'doc_id'"),
        ("title\tText\nCats\tA cat\n", "line 1: 'title Text' looks like names"),
        ("\tno id\n", "'doc_id' of document at line 1 is empty"),
    ],
)
def test_bad_text_separated_by_tabs(tmp_path, text, said):
    path = tmp_path / "documents.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"documents\.tsv.*{said}"):
        list(iterate_documents(path, ("text",)))


@pytest.mark.parametrize("first", ["number\tquery", "topic\ttitle"])
def test_names_of_columns_are_no_query(tmp_path, first):
    path = tmp_path / "queries.tsv"
    path.write_text(f"{first}\n1\tcats\n")
    with pytest.raises(ValueError, match=r"queries\.tsv, line 1: .* none is a known name of ids"):
        convert_to_queries(path)
    path.write_text("7\ttitle\nq1\ttext\n")
    assert convert_to_queries(path) == {"7": "title", "q1": "text"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_names_mean_quoted_fields(tmp_path, end):
    path = tmp_path / "docs.tsv"
    lines = ['"docid"\t"text"', '"07"\t"one ""two"""', '"b"\t"three\tfour"', ""]
    path.write_text(end.join(lines), newline="")
    index = TextIndex().add(path)
    assert index.doc_ids == ["07", "b"]
    assert sorted(index.vocabulary) == ["four", "one", "three", "two"]
    path.write_text('"hello"\t"there"\n"b"\tthree\n')  # names no id: marks are text, as in MS MARCO
    assert TextIndex().add(path).doc_ids == ['"hello"', '"b"']
