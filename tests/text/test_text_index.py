"""Building, extending, saving an index; analysis; forms of documents and queries."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.text import (
    Analyzer,
    TextIndex,
    from_ir_datasets,
    load_text,
    read_beir,
    read_judgements,
)
from rankwise.text.documents import convert_to_queries, read_trec_text
from tests.text.corpus import QUERIES, as_lists, random_corpus

PLAIN = Analyzer(stop_words=None, stemmer=None)


def test_analysis():
    text = "The Naïve Ranking of ranked CATS, 42"
    assert Analyzer(stemmer=None)(text) == ["naïve", "ranking", "ranked", "cats", "42"]
    assert Analyzer(lowercase=False, stop_words=None, stemmer=None)("The cat") == ["The", "cat"]
    assert Analyzer(stop_words=["cats"], stemmer=None)("Cats bark") == ["bark"]
    pytest.importorskip("snowballstemmer")
    assert Analyzer()(text) == ["naïv", "rank", "rank", "cat", "42"]
    assert Analyzer(stop_words=None, stemmer="german")("Häuser") == ["haus"]
    with pytest.raises(ValueError, match="stop_words must be 'english'"):
        Analyzer(stop_words="french")
    with pytest.raises(ValueError, match="stemmer must be None or one of"):
        Analyzer(stemmer="klingon")
    with pytest.raises(ValueError, match="pattern is not a regular expression"):
        Analyzer(pattern="(")


def test_added_documents_give_the_index_of_all(tmp_path):
    fields = ("title", "text")
    documents = {
        name: {"title": text[:12], "text": text} for name, text in random_corpus(3).items()
    }
    names = list(documents)
    whole = TextIndex(fields, analyzer=PLAIN).add(documents)
    parts = TextIndex(fields, analyzer=PLAIN)
    for lo in range(0, len(names), 17):
        parts.add({name: documents[name] for name in names[lo : lo + 17]})
        assert as_lists(parts.search(QUERIES))
    saved = TextIndex.load(parts.save(tmp_path / "index"))
    first = TextIndex(fields, analyzer=PLAIN).add({name: documents[name] for name in names[:20]})
    grown = TextIndex.load(first.save(tmp_path / "first"))
    grown.add({name: documents[name] for name in names[20:]})
    for model in ("bm25", "dirichlet", "bm25f"):
        wanted = as_lists(whole.search(QUERIES, model=model))
        for index in (parts, saved, grown):
            assert as_lists(index.search(QUERIES, model=model)) == wanted
    assert repr(saved) == repr(whole)
    assert isinstance(saved.postings.counts, np.memmap)


def test_every_form_of_documents(tmp_path):
    documents = {"d1": "a cat", "d2": "a dog & a cat", "d3": ""}
    rows = [{"doc_id": name, "text": text} for name, text in documents.items()]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    trec = "".join(
        f"<DOC>\n<DOCNO> {name} </DOCNO>\n<TEXT>{text.replace('&', '&amp;')}</TEXT>\n</DOC>\n"
        for name, text in documents.items()
    )
    (tmp_path / "docs.trec").write_text(trec)
    bare = trec.replace("<TEXT>", "").replace("</TEXT>", "")
    (tmp_path / "bare.trec").write_text(bare)
    frame = pd.DataFrame(rows)
    wanted = as_lists(TextIndex().add(documents).search("cat dog"))
    for form in (
        rows, iter(rows), frame, pl.DataFrame(rows), pl.LazyFrame(rows), tmp_path / "docs.jsonl",
        tmp_path / "docs.trec", tmp_path / "bare.trec",
        {name: {"text": text} for name, text in documents.items()},
    ):  # fmt: skip
        index = TextIndex().add(form)
        assert index.doc_ids == list(documents)
        assert as_lists(index.search("cat dog")) == wanted


def test_every_form_of_queries(tmp_path):
    topics = (
        "<top>\n<num> Number: 301\n<title> black cats\n<desc> Description:\nAbout cats.\n</top>\n"
        "<top><num>302</num><title>\nDOGS\n</title></top>"
    )
    (tmp_path / "topics.txt").write_text(topics)
    (tmp_path / "queries.jsonl").write_text('{"_id": "301", "text": "black cats"}\n')
    assert convert_to_queries(tmp_path / "topics.txt") == {"301": "black cats", "302": "DOGS"}
    assert convert_to_queries(tmp_path / "queries.jsonl") == {"301": "black cats"}
    assert convert_to_queries("cats") == {"1": "cats"}
    assert convert_to_queries(["cats", "dogs"]) == {"1": "cats", "2": "dogs"}
    assert convert_to_queries(pd.DataFrame({"qid": [7], "query": ["cats"]})) == {"7": "cats"}
    with pytest.raises(ValueError, match="query '7' comes a second time"):
        convert_to_queries([{"qid": 7, "text": "a"}, {"qid": 7, "text": "b"}])


def test_bad_documents(tmp_path):
    index = TextIndex().add({"d1": "cat"})
    with pytest.raises(ValueError, match="document 'd1' comes a second time"):
        index.add({"d2": "dog", "d1": "dog"})
    assert index.doc_ids == ["d1"] and len(index.vocabulary) == 1
    with pytest.raises(TypeError, match="text of 'd2' must be text, got int"):
        index.add([{"id": "d2", "text": 3}])
    with pytest.raises(ValueError, match="document 0 has no id"):
        index.add([{"text": "cat"}])
    with pytest.raises(TypeError, match="document 0 must be a mapping with an id, got str"):
        index.add(["cat"])
    with pytest.raises(TypeError, match="must be a mapping, an iterable of mappings"):
        index.add(3)
    with pytest.raises(TypeError, match="document 'd' must have a mapping from field to text"):
        TextIndex(["title", "text"]).add({"d": "cat"})
    with pytest.raises(TypeError, match="the analyzer must give str, got int"):
        TextIndex(analyzer=lambda text: [len(text)]).add({"d": "cat"})
    with pytest.raises(ValueError, match="fields must name each field once"):
        TextIndex([])
    with pytest.raises(ValueError, match="document 'd9' is not in the index"):
        index.positions(["d1", "d9"])
    (tmp_path / "bad.jsonl").write_text('{"id": "d"}\n{oops\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2: not valid JSON"):
        index.add(tmp_path / "bad.jsonl")
    with pytest.raises(ValueError, match="has neither <DOC> nor <top>"):
        list(read_trec_text("hello"))
    with pytest.raises(ValueError, match="a <DOC> has no <docno>"):
        list(read_trec_text("<DOC>cat</DOC>"))


def test_fields_that_no_document_has():
    documents = [{"doc_id": "a", "headline": "cat", "body": "dog", "year": 2001}]
    with pytest.raises(ValueError, match="field 'text', they have 'headline', 'body', 'year'"):
        TextIndex().add(documents)
    with pytest.warns(UserWarning, match="no document has a field 'text', they have 'headline', "):
        index = TextIndex(["body", "text"]).add(documents)
    assert list(index.vocabulary) == ["dog"]
    with pytest.raises(TypeError, match=r"To read a file, pass Path\('docs\.jsonl'\)"):
        TextIndex().add("docs.jsonl")


def test_every_form_of_judgements(tmp_path):
    wanted = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", 1)]
    grades = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1.0}}
    frame = pd.DataFrame(wanted, columns=["qid", "docno", "label"])
    beir = pl.DataFrame(wanted, schema=["query-id", "corpus-id", "score"], orient="row")
    path = tmp_path / "qrels"
    path.write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 1\n")
    for form in (grades, frame, beir, beir.lazy(), path, str(path), read_judgements(grades)):
        qrels = read_judgements(form)
        found = qrels.qid.tolist(), qrels.doc_ids.tolist(), qrels.relevance.tolist()
        assert list(zip(*found, strict=True)) == wanted
    with pytest.raises(
        ValueError, match=r"a column of the relevance, named 'relevance' or .* got 'qid', 'docno'"
    ):
        read_judgements(frame[["qid", "docno"]])
    with pytest.raises(ValueError, match=r"grades must be whole .*, got -0\.5 for query 'q1'"):
        read_judgements({"q1": {"a": -0.5}})
    with pytest.raises(TypeError, match="judgements of query 'q1' must map documents to grades"):
        read_judgements({"q1": ["a"]})
    with pytest.raises(
        TypeError, match=r"judgements must be a path, a mapping, a frame, .* got tuple"
    ):
        read_judgements([("q1", "a", 1)])
    with pytest.raises(ValueError, match="query 'q1' has document 'a' a second time"):
        read_judgements(pd.concat([frame, frame]))


def test_saved_with_an_analyzer_of_ones_own(tmp_path):
    folder = TextIndex(analyzer=str.split).add({"d": "The cat"}).save(tmp_path / "own")
    with pytest.raises(ValueError, match="was made with an analyzer of your own"):
        TextIndex.load(folder)
    assert len(TextIndex.load(folder, analyzer=str.split).search("The")) == 1
    with pytest.raises(ValueError, match="was made with another analyzer"):
        TextIndex.load(folder, analyzer=lambda text: text.lower().split())
    folder = TextIndex(analyzer=PLAIN).add({"d": "The cat"}).save(tmp_path / "plain")
    with pytest.raises(ValueError, match="was made with Analyzer"):
        TextIndex.load(folder, analyzer=Analyzer(stemmer=None))
    with pytest.raises(FileNotFoundError, match=r"has no index: arrays\.json is missing"):
        TextIndex.load(tmp_path)


def test_beir_folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "Cats", "text": "A cat."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "cat"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    found = read_beir(tmp_path)
    assert found.documents == {"d1": {"title": "Cats", "text": "A cat."}}
    assert found.judged_queries("test") == {"q1": "cat"}
    assert found.qrels["test"].relevance.tolist() == [2]
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\thigh\n")
    with pytest.raises(ValueError, match=r"test\.tsv, line 2: 'high' is not a grade"):
        read_beir(tmp_path)


def test_ir_datasets_object():
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import GenericDoc, GenericQuery, TrecQrel

    class Toy:
        has_docs = has_queries = has_qrels = staticmethod(lambda: True)
        docs_cls = staticmethod(lambda: GenericDoc)
        docs_iter = staticmethod(lambda: iter([GenericDoc("d1", "a cat")]))
        queries_iter = staticmethod(lambda: iter([GenericQuery("q1", "cat")]))
        qrels_iter = staticmethod(lambda: iter([TrecQrel("q1", "d1", 1, "0")]))

    assert ir_datasets is not None
    found = from_ir_datasets(Toy())
    assert found.documents == {"d1": {"text": "a cat"}} and found.fields == ("text",)
    assert found.queries == {"q1": "cat"} and len(found.qrels["all"]) == 1
    with pytest.raises(ValueError, match="fields must be among doc_id, text, got 'body'"):
        from_ir_datasets(Toy(), ("body",))


@pytest.mark.parametrize(
    ("name", "n_documents", "n_queries", "n_judged"),
    [
        ("vaswani", 11_429, 93, {"all": 2_083}),
        ("cranfield", 1_400, 225, {"all": 1_837}),
        ("scifact", 5_183, 1_409, {"train": 919, "test": 339}),
        ("nfcorpus", 3_395, 3_237, {"train": 110_575, "dev": 11_385, "test": 12_334}),
        ("cystic_fibrosis", 1_239, 100, {"all": 4_819}),
    ],
)
def test_known_collections(name, n_documents, n_queries, n_judged):
    try:
        found = load_text(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert (len(found.documents), len(found.queries)) == (n_documents, n_queries)
    assert {part: len(qrels) for part, qrels in found.qrels.items()} == n_judged
    for part in found.qrels:
        assert len(found.judged_queries(part)) > 0


def test_unknown_collection(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="name must be one of 'vaswani'"):
        load_text("trec")
    monkeypatch.setenv("RANKWISE_DATA", str(tmp_path))
    monkeypatch.setenv("RANKWISE_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="vaswani is not on this machine"):
        load_text("vaswani")
