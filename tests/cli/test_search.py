"""``rankwise index`` and ``rankwise search``."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from rankwise.datasets import read_run
from rankwise.text import TextIndex, TextRanker
from tests.text.corpus import QUERIES, as_lists, random_corpus


def test_index_and_search(rankwise, tmp_path):
    documents = random_corpus(1)
    names = list(documents)
    for part, some in enumerate((names[:30], names[30:])):
        lines = [json.dumps({"doc_id": name, "text": documents[name]}) for name in some]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"qid": name, "text": text}) for name, text in QUERIES.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    folder, out = tmp_path / "new" / "index", tmp_path / "runs" / "out.run"
    files = (tmp_path / "0.jsonl", tmp_path / "1.jsonl")
    run = rankwise("index", *files, "--out", folder, "--json")
    assert run.code == 0, run.err
    assert run.json["documents"] == 60
    queries = tmp_path / "queries.jsonl"
    settings = ("--model", "bm25_atire", "--set", "k1=0.9")
    run = rankwise("search", folder, queries, "--out", out, *settings, "-k", 7, "--json")
    assert run.code == 0, run.err
    wanted = TextIndex().add(documents).search(QUERIES, 7, model="bm25_atire", k1=0.9)
    assert as_lists(read_run(out)) == as_lists(wanted)
    assert run.json == {"out": str(out), "queries": 3, "lines": len(wanted), "hits": None}
    run = rankwise("search", folder, "w0 w1", "-k", 2)
    assert run.code == 0 and len(run.out.splitlines()) == 2
    assert rankwise("search", folder, "w0", "--json").json["hits"][0]["qid"] == "1"


def test_from_a_beir_folder_to_a_ranker(rankwise, tmp_path):
    documents = random_corpus(2)
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    rows = [{"_id": name, "title": "", "text": text} for name, text in documents.items()]
    (beir / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = {f"q{number}": f"w{number} w{number + 1}" for number in range(8)}
    rows = [{"_id": name, "text": text} for name, text in asked.items()]
    (beir / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = ["query-id\tcorpus-id\tscore"]
    for number, name in enumerate(asked):
        for document, text in documents.items():
            if f"w{number} " in f"{text} ":
                lines.append(f"{name}\t{document}\t{text.split().count(f'w{number}')}")
    qrels = beir / "qrels" / "test.tsv"
    qrels.write_text("\n".join(lines))
    index, out = tmp_path / "index", tmp_path / "ranker"
    assert rankwise("index", beir, "--out", index, "--stemmer", "none").code == 0
    assert TextIndex.load(index).fields == ("title", "text")
    words = ("--text", beir / "queries.jsonl", "--qrels", qrels, "--ranker", "rank_svm")
    run = rankwise("fit", index, *words, "--n-candidates", 30, "--out", out, "--json")
    assert run.code == 0, run.err
    assert run.json["candidates"] == 30 and 0 < run.json["recall"] <= 1
    assert run.json["chosen"]
    lists = tmp_path / "ranked.run"
    run = rankwise("search", out, beir / "queries.jsonl", "--out", lists)
    assert run.code == 0, run.err
    wanted = TextRanker.load(out).rank(asked, 30)
    assert as_lists(read_run(lists)) == as_lists(wanted)
    by_model = rankwise("search", out, "w1 w2", "--model", "bm25", "-k", 3, "--json").json["hits"]
    assert [hit["doc_id"] for hit in by_model] == (
        TextIndex.load(index).search("w1 w2", 3).doc_ids.tolist()
    )
    for arguments, said in (
        (("predict", out, qrels), "is an index of text. Search it"),
        (("info", out), "is an index of text. Search it"),
        (("search", out, "w1", "--set", "k1=1"), "--set applies to a retrieval model"),
        (("fit", index, *words[:2], "--ranker", "ridge", "--out", out), "belong together"),
        (("fit", beir, *words, "--out", out), "DATA must be the folder of an index"),
        (
            ("fit", index, *words, "--vali-data", qrels, "--out", out),
            "--text takes neither --vali-data",
        ),
        (("fit", qrels, "--ranker", "ridge", "--unjudged", "zero", "--out", out), "require --text"),
        (("index", tmp_path / "index", "--out", out), "corpus.jsonl is missing"),
    ):
        run = rankwise(*arguments)
        assert run.code == 2 and said in run.err, (arguments, run.err)


def test_wrong_command_lines(rankwise, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "cat"}')
    (tmp_path / "file").write_text("")
    index = tmp_path / "index"
    assert rankwise("index", tmp_path / "docs.jsonl", "--out", index, "--stemmer", "none").code == 0
    for arguments, code, said in (
        (("index", tmp_path / "no.jsonl", "--out", index), 2, "is not a file"),
        (("index", tmp_path / "docs.jsonl", "--out", tmp_path / "file"), 2, "is a file"),
        (("search", tmp_path / "no", "cat"), 2, "is not a folder"),
        (("search", index, "cat", "--set", "k1"), 2, "--set must be NAME=NUMBER, got 'k1'"),
        (("search", index, "cat", "--set", "k1=x"), 2, "--set must be NAME=NUMBER, got 'k1=x'"),
        (("search", index, "cat", "--set", "b=0.1", "--set", "b=1"), 2, "set it once"),
        (("search", index, "cat", "--model", "best"), 2, "--model must be one of"),
        (("search", tmp_path, "cat"), 2, "has no index"),
        (("search", index, "queries.jsonl"), 2, "'queries.jsonl' is not a file"),
        (("search", index, tmp_path), 2, "is not a file"),
        (
            ("index", tmp_path / "docs.jsonl", "--fields", "body", "--out", index),
            1,
            "pass --fields",
        ),
    ):
        run = rankwise(*arguments)
        assert run.code == code and said in run.err, (arguments, run.err)


def test_queries_without_a_document(rankwise, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "node.js in a cat"}')
    index = tmp_path / "index"
    assert rankwise("index", tmp_path / "docs.jsonl", "--out", index, "--stemmer", "none").code == 0
    run = rankwise("search", index, "node.js")
    assert run.code == 0 and "d" in run.out and run.err == ""
    (tmp_path / "queries.jsonl").write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "x"}')
    run = rankwise("search", index, tmp_path / "queries.jsonl")
    assert run.code == 0 and run.out.startswith("a\td")
    assert "1 of 2 queries find no document" in run.err


def test_indexes_of_an_old_version(rankwise, tmp_path):
    folder = TextIndex().add({"d": "cat"}).save(tmp_path / "index")
    (folder / "arrays.json").unlink()
    (folder / "index.json").write_text('{"format": 1}')
    (tmp_path / "more.jsonl").write_text('{"id": "b", "text": "tea"}\n')
    kept = sorted(folder.iterdir())
    for command in (
        ("search", folder, "cat"),
        ("index", tmp_path / "more.jsonl", "--update", "--out", folder),
    ):
        run = rankwise(*command)
        assert run.code in (1, 2) and "old version of rankwise saved" in run.err, run.err
        assert "Build the index anew: rankwise index DOCUMENTS" in run.err
    assert sorted(folder.iterdir()) == kept


@pytest.mark.filterwarnings("always:.*only the field 'text' is indexed")
def test_update_and_encoding(rankwise, tmp_path):
    first, second = tmp_path / "first.trec", tmp_path / "second.jsonl"
    first.write_bytes(
        "<DOC><DOCNO>a</DOCNO><TITLE>caf\u00e9</TITLE><TEXT>x</TEXT></DOC>".encode("cp1252")
    )
    second.write_text('{"id": "b", "text": "tea"}\n{"id": "a", "text": "milk"}\n')
    out = tmp_path / "index"
    run = rankwise("index", first, "--out", out)
    assert (
        run.code == 1 and "line 1: the byte 0xe9" in run.err and "--encoding 'latin-1'" in run.err
    )
    run = rankwise("index", second, "--update", "--out", out)
    assert run.code == 2 and "has no index" in run.err
    assert rankwise("index", first, "--out", out, "--encoding", "cp1252").code == 0
    assert rankwise("search", out, "caf\u00e9").out.startswith("1\ta\t")
    run = rankwise("index", second, "--update", "--out", out, "--json")
    assert run.code == 0, run.err
    assert run.json["documents"] == 2 and TextIndex.load(out).doc_ids == ["a", "b"]
    assert rankwise("search", out, "milk").out.startswith("1\ta\t")
    run = rankwise("index", second, "--update", "--out", out, "--stemmer", "none")
    assert run.code == 2 and "--update keeps the fields and the analysis" in run.err
    run = rankwise("index", second, second, "--out", tmp_path / "other")
    assert run.code == 1 and "second.jsonl: document 'b' comes a second time" in run.err
    assert "replace=True" not in run.err
    titled = tmp_path / "titled.jsonl"
    titled.write_text('{"id": "c", "abstract": "cocoa", "text": "x"}\n')
    run = rankwise("index", titled, "--out", tmp_path / "other")
    assert run.code == 0 and "is left out (number of documents): 'abstract' (1)" in run.err
    assert "pass --fields A,B" in run.err


def test_number_of_documents_and_fields_are_read_as_given(rankwise, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "1", "title": "red", "text": "wine"}\n')
    folder = tmp_path / "index"
    run = rankwise("index", tmp_path / "docs.jsonl", "--out", folder, "--fields", "title, text")
    assert run.code == 0 and not run.err and "fields title, text" in run.out
    assert TextIndex.load(folder).fields == ("title", "text")
    for k in (0, -1):  # 0 is not the default
        run = rankwise("search", folder, "wine", "-k", k)
        assert run.code == 2 and "'-k'" in run.err
    for query in ("", "  "):
        run = rankwise("search", folder, query)
        assert run.code == 2 and "QUERIES must name a file or be the text" in run.err


@pytest.mark.filterwarnings("ignore:.*has no documents")
def test_no_index_is_made_of_no_documents(rankwise, tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "some.jsonl").write_text(json.dumps({"doc_id": "d", "text": "cat"}))
    files, folder = (tmp_path / "none.jsonl", tmp_path / "some.jsonl"), tmp_path / "index"
    run = rankwise("index", files[0], "--out", folder)
    assert run.code == 1 and "none.jsonl: no documents, so no index is written" in run.err
    assert not folder.exists()
    assert rankwise("index", *files, "--out", folder).code == 0
    assert rankwise("index", files[0], "--update", "--out", folder).code == 0
    assert TextIndex.load(folder).doc_ids == ["d"]


@pytest.mark.parametrize("suffix", ["csv", "semicolons.csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("id_name", ["doc_id", "ID"])
def test_tables_of_documents(rankwise, tmp_path, suffix, id_name):
    titles = ["red shoes", 'a "blue" hat', None]
    texts = ["made of leather,\nlasting", "with a brim; warm", "green gloves"]
    frame = pd.DataFrame({id_name: [11, 12, 13], "title": titles, "text": texts, "price": 5.0})
    path, index = tmp_path / f"docs.{suffix}", tmp_path / "index"
    if suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep=";" if "semi" in suffix else ",")
    run = rankwise("index", path, "--out", index, "--json")
    assert run.code == 0, run.err
    assert run.json["documents"] == 3 and run.json["fields"] == ["title", "text"]
    queries = tmp_path / f"queries.{suffix}"
    frame = pd.DataFrame({"qid": ["a", "b"], "query": ["blue brim", "lasting shoes"]})
    frame.to_parquet(queries) if suffix == "parquet" else frame.to_csv(queries, index=False)
    hits = rankwise("search", index, queries, "--json").json["hits"]
    assert [(hit["qid"], hit["doc_id"]) for hit in hits] == [("a", "12"), ("b", "11")]


@pytest.mark.parametrize("row", ['{"_id": "a", "title": "red", "text": "shoes"}', "a\tred\tshoes"])
def test_title_and_text_are_indexed_by_default(rankwise, tmp_path, row):
    path = tmp_path / ("docs.jsonl" if row.startswith("{") else "docs.tsv")
    path.write_text(row if row.startswith("{") else f"doc_id\ttitle\ttext\n{row}\n")
    assert rankwise("index", path, "--out", tmp_path / "index").code == 0
    assert TextIndex.load(tmp_path / "index").fields == ("title", "text")
    assert rankwise("index", path, "--out", tmp_path / "other", "--fields", "text").code == 0
    assert TextIndex.load(tmp_path / "other").fields == ("text",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,text\na,b\n", "has no id"),
        ("doc_id,text\na,b\nc\n", "expected 2 columns, got 1"),
        ("doc_id,text,text\na,b,c\n", "text"),
        ("", "empty"),
    ],
)
def test_bad_tables_of_documents(rankwise, tmp_path, text, said):
    path = tmp_path / "docs.csv"
    path.write_text(text)
    run = rankwise("index", path, "--out", tmp_path / "index")
    assert run.code == 1 and "docs.csv" in run.err and said in run.err, run.err
