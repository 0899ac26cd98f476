"""Line ends, byte order marks and bytes that would hide lines or change ids: an error says so."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.datasets import read_letor, read_qrels, read_run, read_table
from rankwise.preferences import read_orders
from rankwise.streams import stream
from rankwise.streams.row_stream import UnjudgedLetor
from rankwise.text import TextIndex

MARK = "\ufeff".encode()


def letor(path):
    return read_letor(path, cache=False)


def unjudged(path):
    return list(UnjudgedLetor((path,), 1, np.float32, 1 << 20))


def put(tmp_path, content, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


# Parts of a file, each of which has its own mark once files were joined.
PARTS = {
    "run": (read_run, "a.run", b"1 Q0 a 1 2 t\n", b"2 Q0 a 1 2 t\n"),
    "qrels": (read_qrels, "a.qrels", b"1 0 a 1\n", b"2 0 a 1\n"),
    "triples": (read_qrels, "a.tsv", b"1\ta\t1\n", b"2\ta\t1\n"),
    "table": (read_table, "a.csv", b"qid,label,f\n1,1,1\n", b"2,1,1\n"),
    "orders": (read_orders, "a.txt", b"a > b\n", b"b > a\n"),
    "texts": (TextIndex().add, "a.tsv", b"a\tcat\n", b"b\tdog\n"),
    "LETOR": (letor, "a.txt", b"1 qid:1 1:1\n", b"1 qid:2 1:1\n"),
}


@pytest.mark.parametrize("kind", PARTS)
def test_marks_of_joined_files(tmp_path, kind):
    read, name, first, second = PARTS[kind]
    read = TextIndex().add if kind == "texts" else read
    line = len(first.splitlines()) + 1
    with pytest.raises(ValueError, match=f"{name}.? line {line}"):
        read(put(tmp_path, MARK + first + MARK + second, name))


@pytest.mark.parametrize("read", [read_table, lambda path: list(stream(path))])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"qid,label,f\n1,1,1\n" + MARK + b"2,1,1\n", "line 3: a byte order mark within"),
        (b"qid,label,f\n1,1,1\n2\0,1,1\n", "line 3: a NUL character"),
    ],
)
def test_streams_change_no_id(tmp_path, read, content, reason):
    with pytest.raises(ValueError, match=f"a.csv, {reason}"):
        read(put(tmp_path, content, "a.csv"))
    content = content.replace(MARK, b"").replace(b"\0", b"")
    read(put(tmp_path, content + b"a" + MARK + b"b,1,1\n", "a.csv"))


@pytest.mark.parametrize("kind", ["run", "qrels", "triples", "orders", "texts"])
def test_a_second_mark_at_the_start(tmp_path, kind):
    read, name, first, second = PARTS[kind]
    read = TextIndex().add if kind == "texts" else read
    with pytest.raises(ValueError, match=f"{name}, line 1: a byte order mark within"):
        read(put(tmp_path, MARK + MARK + first + second, name))


def test_a_mark_within_an_id_belongs_to_it(tmp_path):
    run = read_run(put(tmp_path, b"1 Q0 a" + MARK + b"b 1 2 t\n"))
    assert run.doc_ids.tolist() == ["a\ufeffb"]


@pytest.mark.parametrize("read", [letor, unjudged])
@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b"1 qid:1 1:1 # docid = a\r0 qid:1 1:2 # docid = b\n", 1, 24),
        (b"1 qid:1 1:1 #\r0 qid:1 1:2\n", 1, 14),
        (b"2 qid:1 1:3\n# head\r1 qid:1 1:1\n0 qid:1 1:2\n", 2, 7),
        (b"2 qid:1 1:3\r\n1 qid:1 1:1 # a\r0 qid:1 1:2\r\n", 2, 16),
    ],
)
def test_carriage_returns_hide_no_rows(tmp_path, content, line, column, read):
    with pytest.raises(ValueError, match=f"line {line}, column {column}: a carriage return in a"):
        read(put(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        b"1 qid:1 1:1 # docid = a\r\n0 qid:1 1:2 # docid = b\r\n",
        b"1 qid:1 1:1 # docid = a\r\r\n0 qid:1 1:2 # docid = b \r",
        b"1 qid:1\r1:1 # docid = a\n0 qid:1 1:2 # docid = b",
    ],
)
def test_carriage_returns_as_white_space(tmp_path, content):
    data = letor(put(tmp_path, content))
    assert data.doc_ids.tolist() == ["a", "b"]
    assert data.X.tolist() == [[1], [2]]


@pytest.mark.parametrize("read", [letor, unjudged])
def test_document_ids_are_utf8(tmp_path, read):
    content = "1 qid:1 1:1 # docid = é\n0 qid:1 1:2 # docid = è\n".encode("latin-1")
    with pytest.raises(ValueError, match="line 1, column 13: the document id is not UTF-8 text"):
        read(put(tmp_path, content))


@pytest.mark.parametrize("query", ["1", "a", "é"])
def test_other_bytes_of_comments_are_replaced(tmp_path, query):
    content = f"1 qid:{query} 1:1 # docid = é ".encode() + b"caf\xe9\n"
    data = letor(put(tmp_path, content))
    assert (data.doc_ids.tolist(), data.comments.tolist()) == (["é"], ["docid = é caf\ufffd"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a > b\rb > c\n", "carriage returns stand within lines"),
        (b"a > b\rb > c\r", "carriage returns end the lines"),
        (b"a > b\nb > c\0\n", "line 2: a NUL character"),
    ],
)
def test_characters_within_orders(tmp_path, content, reason):
    with pytest.raises(ValueError, match=reason):
        read_orders(put(tmp_path, content))
