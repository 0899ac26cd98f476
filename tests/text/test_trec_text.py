"""TREC documents and topics: nothing of them is lost, whatever their markup looks like."""

from __future__ import annotations

import gzip
import warnings

import pytest

from rankwise.text import Analyzer, TextIndex
from rankwise.text.documents import convert_to_queries, read_trec_text

PLAIN = Analyzer(stop_words=None, stemmer=None)


def document(body, docno="d1"):
    """One document."""
    return f"<DOC>\n<DOCNO> {docno} </DOCNO>\n{body}\n</DOC>\n"


def fields(text, names=("title", "text")):
    """The fields of the only document."""
    ((_, found),) = read_trec_text(text, names)
    return {name: found.get(name) for name in names}


WHOLE = {
    "several elements of one name": ("<TEXT>a</TEXT><HEAD>b</HEAD><TEXT>c</TEXT>", "a b c"),
    "title beside text": ("<TITLE>a</TITLE><TEXT>b</TEXT>", "a b"),
    "text before and after": ("a<TEXT>b</TEXT>c", "a b c"),
    "nested": ("<TEXT><P>a</P><P>b<F P=1>c</F></P></TEXT>", "a b c"),
    "never closed": ("<TEXT><P>a<P>b<BR>c</TEXT><HL>d", "a b c d"),
    "never opened": ("a</P>b</TEXT>", "a b"),
    "lower case": ("<text>a</text><Head>b</hEAD>", "a b"),
    "attributes": ("<TEXT lang='en' x=\"<>\" n=3>a</TEXT >", "a"),
    "nothing inside": ("<hr/>a<TEXT></TEXT>", "a"),
    "comments": ("a<!-- PJG FTAG 4700 -->b<!doctype x>c<?xml?>d", "a b c d"),
    "an open comment": ("a<!-- b", "a<!-- b"),
    "raw text": ("a<![CDATA[<b>&amp;]]>c", "a <b>&amp; c"),
    "entities": ("AT&amp;T &lt;b&gt; &#233; &eacute;", "AT&T <b> é é"),
    "no entities": ("AT&T x?a=1&copy=2 &none; &", "AT&T x?a=1&copy=2 &none; &"),
    "no tags": ("i <j and k> l, a<b, <x@y.org> <http://z> 1<2", None),
    "no line ends": ("a\u2028b\x85c\x0bd\x0ce", "a\u2028b\x85c d e"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_document(name):
    body, wanted = WHOLE[name]
    ((line, found),) = read_trec_text(document(body))
    assert (line, found) == (1, {"docno": "d1", "text": body if wanted is None else wanted})


FIELDS = {
    "several": ("<TITLE>a</TITLE><TEXT>b</TEXT><TITLE>c</TITLE><TEXT>d</TEXT>", "a c", "b d"),
    "nested": ("<TEXT>a<TITLE>b</TITLE>c</TEXT>", "b", "a b c"),
    "nested in its own": ("<TEXT>a<TEXT>b</TEXT>c</TEXT>", None, "a b c"),
    "never closed": ("<TITLE>a <b>b</b> c<TEXT>d", "a b c", "d"),
    "closed by the outer one": ("<HEAD><TITLE>a</HEAD>b<TEXT>c</TEXT>", "a", "c"),
    "no text element": ("<TITLE>a</TITLE>b", "a", "a b"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_named_fields(name):
    body, title, text = FIELDS[name]
    assert fields(document(body)) == {"title": title, "text": text}


def test_a_file_is_indexed_as_a_whole_or_by_fields(tmp_path):
    path = tmp_path / "ap.trec.gz"
    text = document("<HEAD>Trade</HEAD><TEXT>Wheat.</TEXT><TEXT>Tariff.</TEXT>", "AP 1")
    path.write_bytes(gzip.compress(("\ufeff" + text).replace("\n", "\r\n").encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = TextIndex(analyzer=PLAIN).add(path)
        by_field = TextIndex(["head", "text"], analyzer=PLAIN).add(path)
    assert index.doc_ids == by_field.doc_ids == ["AP 1"]
    assert list(index.vocabulary) == list(by_field.vocabulary) == ["trade", "wheat", "tariff"]
    assert len(by_field.tokens("head")[0]) == 1
    with pytest.raises(
        ValueError, match="no document has a field 'body', they have 'head', 'text'"
    ):
        TextIndex(["body"]).add(path)
    other = tmp_path / "other.trec"
    other.write_text(document("x", "b") + document("y", "AP 1"))
    with pytest.raises(ValueError, match=r"other\.trec: document 'AP 1' comes a second time"):
        index.add(other)
    assert index.add(other, replace=True).doc_ids == ["AP 1", "b"]


REFUSED = {
    "no documents": ("hello", "has neither <DOC> nor <top>"),
    "text between": (f"{document('a')}\nlost\n{document('b', 'd2')}", "line 6: text outside of"),
    "text after": (f"{document('a')}\n<X>lost</X>", r"text outside of <DOC> and <top>: 'lost'"),
    "a misspelled tag": (f"<DOK><DOCNO>1</DOCNO></DOK>{document('a')}", "text outside of <DOC>"),
    "never closed": (f"\n<DOC><DOCNO>1</DOCNO> {document('b')}", "line 2: a <DOC> is never closed"),
    "cut off": (document("a")[:-9], "line 1: a <DOC> is never closed"),
    "no id": ("<DOC>a</DOC>", "line 1: a <DOC> has no <docno>"),
    "an empty id": (document("a", ""), "has no <docno>"),
    "two ids": (document("<DOCNO>d2</DOCNO>"), "has several <docno>"),
    "an open id": ("<DOC><DOCNO>1<TEXT>a</TEXT></DOC>", "has a <docno> that is never closed"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_lost_is_refused(tmp_path, name):
    text, said = REFUSED[name]
    path = tmp_path / "docs.trec"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"docs\.trec.*{said}"):
        TextIndex().add(path)


TOPICS = {
    "open tags": "<top>\n<num> Number: 301\n<title> a cat\n<desc> Description:\nb\n</top>",
    "closed tags": "<top><num>301</num><title>\na cat</title></top>",
    "mixed tags": "<TOP>\n<NUM>301\n<TITLE>a cat</TITLE>\n</TOP>",
    "a label": "<top><num> Number:  301 <title> Topic: a cat</top>",
    "formatting": "<top><num>301<title>a <b>cat</b></top>",
    "several": "<top><num>301</num><title>a</title><title>cat</title></top>",
    "XML": "<?xml version='1.0'?><topics task='x'>\n<topic number='301'>\n<query>a cat</query>"
    "<question>what</question></topic></topics>",
    "a number within": "<topic><number>301</number><title>a cat</title></topic>",
}


@pytest.mark.parametrize("name", TOPICS)
def test_topics(tmp_path, name):
    path = tmp_path / "topics.txt"
    path.write_text(TOPICS[name] + "\n")
    assert convert_to_queries(path) == {"301": "a cat"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<top><title>a</top>", "line 1: a <top> has no <num>"),
        ("<top><num>1</num>lost<title>a</top>", "text outside of its elements: 'lost'"),
        ("<top>lost<num>1<title>a</top>", "text outside of its elements: 'lost'"),
        ("<top><num>1<desc>a</top>", "query '1' has no text, but 'desc'"),
        ("<top><num>1<title><topic>a</topic></top>", "line 1: a <top> is never closed"),
        ("<topic number='1'><query>a <top> b</query></topic>", "a <topic> is never closed"),
        ("<top><num>1<title>a</top>" * 2, "query '1' comes a second time"),
        (document("a"), "has no id"),
    ],
)
def test_bad_topics(tmp_path, text, said):
    path = tmp_path / "topics.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"topics\.txt.*{said}"):
        convert_to_queries(path)


def test_hostile_markup_takes_linear_time():
    for part in ("<a", "<a ", "<a>", "<!--", "<![CDATA[", '<a b="', "</a>", "<a></b>", "&", "<?"):
        body = part * 20_000
        assert list(read_trec_text(document(body), ("a", "b")))
