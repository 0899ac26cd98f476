"""Inputs that once gave a guess, a raw error, or far more memory than the file has bytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import rankwise
from rankwise.datasets import (
    RankingData,
    from_frame,
    read_extreme,
    read_grouped,
    read_letor,
    read_mulan,
    read_qrels,
    read_run,
    read_table,
    write_qrels,
)
from rankwise.datasets.catalog.multi_label import read_arff
from rankwise.datasets.readers.trec import Qrels
from rankwise.streams.row_stream import UnjudgedLetor


@pytest.fixture
def put(tmp_path):
    """Write a file, give its path."""

    def write(content: bytes, name: str = "file.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def letor(path, **options):
    return read_letor(path, cache=False, **options)


@pytest.mark.parametrize(
    "read, content, name, most_bytes",
    [
        (letor, b"1 " + b" ".join(b"%d:1" % k for k in range(1, 1001)) + b"\n" * 300_000, "x.txt",
         40 << 20),
        (lambda path: letor(path, dense=True),
         b"1 " + b" ".join(b"%d:1" % k for k in range(1, 1001)) + b"\n" * 300_000, "x.txt",
         40 << 20),
        (read_run, b"".join(b"1 Q0 d%d 1 1 t\n" % k for k in range(20_000))
         + b"1 Q0 " + b"d" * 20_000 + b" 1 1 t\n", "x.txt", 60 << 20),
        (read_qrels, b"".join(b"1 0 d%d 1\n" % k for k in range(20_000))
         + b"q" * 20_000 + b" 0 d 1\n", "x.txt", 60 << 20),
        (read_table, b"qid,y,doc_id,a\n" + b"".join(b"1,0,d%d,2\n" % k for k in range(20_000))
         + b"1,0," + b"d" * 20_000 + b",2\n", "x.csv", 60 << 20),
        (read_arff, b"@relation r\n@attribute a real\n@data\n" + b"{0 1}\n" * 20_000
         + b"{0 0." + b"3" * 20_000 + b"}\n", "x.arff", 40 << 20),
    ],
    ids=["blank lines", "blank lines, dense", "run", "qrels", "table", "arff"],
)  # fmt: skip
def test_memory_is_bounded_by_the_bytes_of_the_file(put, read, content, name, most_bytes):
    path = put(content, name)
    read(path)  # imports
    tracemalloc.start()
    try:
        read(path)
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


def test_blank_lines_do_not_decide_whether_rows_are_dense(put):
    row = b"1 " + b" ".join(b"%d:%d" % (k, k) for k in range(1, 1001))
    data = letor(put(row + b"\n" * 50_000 + row))
    assert isinstance(data.X, np.ndarray)
    assert data.X.tolist() == [[*range(1, 1001)]] * 2


def test_a_dense_matrix_that_cannot_be_is_refused(put):
    rows = b"1 2147483647:1\n" * 1000 + b"1 1:1 2:1 3:1 4:1\n"
    assert sparse.issparse(letor(put(rows)).X)
    with pytest.raises(ValueError, match=r"file\.txt: 2,000,001 rows .* Read with dense=False"):
        letor(put(b"1 2147483647:1\n" + b"1\n" * 2_000_000), dense=True)


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"1 1:1\r2:1 1:2\n", "line 1, column 11: index 1 occurs twice"),
        (b"0 1:1\n1 3:1\x0b2:1 3:2\n", "line 2, column 11: index 3 occurs twice"),
        (b"1 qid:a\x00 1:1\n", "line 1, column 8: a NUL character"),
        (b"1 qid:1 1:1 # a\n1 qid:1 1:1 # d\x00\n", "line 2, column 16: a NUL character"),
        (b"1 qid:a 1:1 # \xff\n1 qid:\xff 1:1\n", "line 2, column 3: the query id is not UTF-8"),
        (b"1 " + b"0" * 5000 + b"1:1 1:1\n", "index 1 occurs twice"),
        (b"1 1:1 " + b"9" * 5000 + b":1\n", r"index 9{37}\.\.\. is larger than 2147483647"),
    ],
    ids=["lone CR", "vertical tab", "NUL in id", "NUL in comment", "UTF-8", "zeros", "huge"],
)
def test_letor_text_is_refused(put, content, reason):
    with pytest.raises(ValueError, match=r"file\.txt, line \d+, column \d+: .*") as raised:
        letor(put(content))
    raised.match(reason)


@pytest.mark.parametrize("content", [b"2:1 3:1 2:4\n", b"1:1\n02:1 3:1 2:4\n", b" 2:1 3:1 2:4"])
def test_indices_that_open_a_line_without_a_label_count(put, content):
    with pytest.raises(ValueError, match=r"file\.txt, line \d, column \d+: index 2 occurs twice"):
        list(UnjudgedLetor((put(content),), 10, np.float32, 1 << 20))


def test_query_ids_stay_as_written(put):
    """They are numbers only if all of them are written as integers are."""
    for number in (0, 7, -7, 10, 2**63 - 1, -(2**63)):
        assert letor(put(b"1 qid:%d 1:1\n" % number)).qid.tolist() == [number]
    zeros = "0" * 30
    for text in ("07", "00", "-0", "+7", "+0", "-07", "7a", "-", "+", "a\xa0b", "7\u2028",
                 f"{zeros}7", "9223372036854775808", "-9223372036854775809",
                 zeros + "1" * 20):  # fmt: skip
        data = letor(put(f"1 qid:7 1:1\n0 qid:{text} 1:1\n".encode()))
        assert data.qid.tolist() == ["7", text]
        assert data.n_queries == 2


def test_document_ids_end_at_ascii_white_space(put):
    text = "1 qid:1 1:1 # docid = Caf\u00e9\xa0Central\u3000b\x1cc inc = 1\n"
    assert letor(put(text.encode())).doc_ids.tolist() == ["Caf\u00e9\xa0Central\u3000b\x1cc"]


def test_a_long_number_is_refused_in_linear_time(put):
    """A pattern that backtracks would need hours."""
    with pytest.raises(ValueError, match="must be a number"):
        letor(put(b"1 1:" + b"1" * 3_000_000 + b"x\n"))
    with pytest.raises(ValueError, match="a row must read"):
        read_extreme(put(b"1 2 2\n0 0:" + b"1" * 3_000_000 + b"x\n"))


@pytest.mark.parametrize(
    "rows",
    [b"1,,2 0:1\n1\t2 0:1\n", b"1,,2 0:1\n0,1 0:1\n", b"1, 0:1\n0 0:1\n", b",1 0:1\n0 0:1\n"],
)
def test_no_label_moves_to_another_row(put, rows):
    with pytest.raises(ValueError, match=r"file\.txt, line 2: a row must read"):
        read_extreme(put(b"2 3 3\n" + rows))


@pytest.mark.parametrize(
    "attribute, rows, reason",
    [
        (b"a real", b"1_0", "1_0"),
        (b"a real", b"{0 1_0}", "line 4: '1_0' is not a finite number"),
        (b"a real", b"1e400", "'a' has a number that is not finite"),
        (b"a real", b"{0 1e400}", "line 4: '1e400' is not a finite number"),
        (b"a {1_0,2}", b"10", "'10' is not one of the categories"),
        (b"a {x,,y}", b"x", "line 2: the categories of 'a' must read"),
        (b"a {x y}", b"x", "line 2: the categories of 'a' must read"),
        (b"a {'x y,z}", b"z", "line 2: the categories of 'a' must read"),
        (b"a {}", b"1", "line 2: the categories of 'a' must read"),
        (b"a {x,y,x}", b"x", "line 2: 'a' has a category twice"),
        (b"a {1,1.0}", b"1", "line 2: 'a' has a category twice"),
        (b"a {01e309,1}", b"{}", "line 2: category '01e309' of 'a' is a number beyond the range"),
        (b"a {0,-1e999}", b"0", "line 2: category '-1e999' of 'a' is a number beyond the range"),
        (b"a {?,1}", b"1", "has the category '\\?', which is missing"),
        (b"areal", b"1", "line 2: cannot read '@attribute areal'"),
        (b"'a real", b"1", "line 2: cannot read"),
        (b"a real", b"{0 1 0 2}", "line 4: a sparse row must read"),
        (b"a real", b"{0,1}", "line 4: a sparse row must read"),
        (b"a real", b"{0 1,}", "line 4: a sparse row must read"),
        (b"a real", b"{00000000000000000000 1}", "line 4: index 0* is not one of"),
        (b"a real", b"1\r2", "a carriage return"),
    ],
)
def test_arff_is_refused(put, attribute, rows, reason):
    path = put(b"@relation r\n@attribute %b\n@data\n%b\n" % (attribute, rows), "x.arff")
    with pytest.raises(ValueError, match=r"x\.arff") as raised:
        read_arff(path)
    raised.match(reason)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("red", 0), ("  red\t", 0), ("'red'", 0), (" 'red'", 0), ("' blue'", 1), ('" blue"', 1),
        ("?", np.nan), (" ? ", np.nan),
        ("blue", None), ("' red'", None), ("'red '", None), ("\vred", None), ("'\vred'", None),
        ("\u00a0red", None), ("red\u2003", None), ("' '", None),
    ],
)  # fmt: skip
def test_blanks_around_a_category_of_dense_rows(put, cell, value):
    """Those within quotes belong to the name; without, blanks and tabs do not."""
    text = f"@relation r\n@attribute a {{red,' blue'}}\n@attribute b real\n@data\n{cell},2\n"
    path = put(text.encode(), "x.arff")
    if value is None:
        with pytest.raises(ValueError, match=r"x\.arff: .* is not one of the categories of 'a'"):
            read_arff(path)
    else:
        np.testing.assert_equal(read_arff(path).matrix, [[value, 2]])


def test_quoted_categories_in_sparse_rows(put):
    text = (
        b"@relation r\n@attribute a {x,'y, {z}'}\n@attribute b real\n@data\n{0 'y, {z}',1 2}\n{}\n"
    )
    assert read_arff(put(text)).matrix.toarray().tolist() == [[1, 2], [0, 0]]


def test_numbers_too_large_for_the_type_are_refused(put):
    path = put(b"qid,y,a\n1,0,inf\n1,1,1e39\n", "x.csv")
    message = r"features must fit float32, column 'a' has 1e\+39{}\. .*dtype=np\.float64"
    with pytest.raises(ValueError, match=r"x\.csv, line 3: " + message.format("")):
        read_table(path)
    assert read_table(path, dtype=np.float64).X.ravel().tolist() == [np.inf, 1e39]
    frame = pd.DataFrame({"qid": [1, 1], "y": [0, 1], "a": [np.inf, 1e39]})
    with pytest.raises(ValueError, match=message.format(" at row 1")):
        from_frame(frame)
    for dtype in (np.float32, np.float64):
        with pytest.raises(ValueError, match=r"x\.csv, line 3: column 'a' has '1e309', too large"):
            read_table(put(b"qid,y,a\n1,0,-Inf\n1,1,1e309\n", "x.csv"), dtype=dtype)


@pytest.mark.parametrize("read, line", [(read_qrels, b"1 0 a%b 1"), (read_run, b"1 Q0 a%b 1 2 t")])
def test_a_trailing_nul_in_an_id_is_refused(put, read, line):
    with pytest.raises(ValueError, match=r"file\.txt, line 2: a NUL character"):
        read(put(b"\n".join([line % b"", line % b"\0"])))


def test_a_nul_in_a_table_is_refused(put):
    with pytest.raises(ValueError, match=r"x\.csv, line 3: a NUL character"):
        read_table(put(b"qid,y,a\na,0,1\na\0,1,2\n", "x.csv"))


def test_ids_in_memory_keep_a_trailing_nul(tmp_path):
    frame = pd.DataFrame({"qid": [1, 1], "y": [0, 1], "a": [1.0, 2.0], "doc_id": ["a", "a\0"]})
    data = from_frame(frame)
    assert data.doc_ids.tolist() == ["a", "a\0"]
    assert Qrels.from_data(data).doc_ids.tolist() == ["a", "a\0"]


def test_long_ids_are_written_and_read_again(tmp_path):
    doc_ids = np.array([f"d{k}" for k in range(3000)] + ["x" * 5000], dtype=object)
    qid, y = np.ones(3001, dtype=int), np.arange(3001) % 3
    path = tmp_path / "x.qrels"
    write_qrels(Qrels.from_data(RankingData(np.ones((3001, 1)), y, qid=qid, doc_ids=doc_ids)), path)
    assert read_qrels(path).doc_ids.tolist() == doc_ids.tolist()


DTD = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "l0">]><labels><label name="&e;"/></labels>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_document_type_is_refused_in_every_encoding(put, encoding):
    rows = put(b"@relation r\n@attribute l0 {0,1}\n@attribute x real\n@data\n1,2\n", "x.arff")
    for text, refused in ((DTD, True), (DTD.replace("&e;", "l0").partition(">]>")[2], False)):
        names = put(text.encode(encoding), "x.xml")
        if refused:
            with pytest.raises(ValueError, match=r"x\.xml: a document type"):
                read_mulan(rows, names)
        else:
            assert read_mulan(rows, names).label_names == ("l0",)


@pytest.mark.parametrize("sizes", [b"0 1 2147483648", b"0 2147483648 1", b"1 9999999999999 2"])
def test_more_columns_than_sparse_rows_can_have_are_refused(put, sizes):
    with pytest.raises(ValueError, match=r"file\.txt, line 1: at most 2,147,483,647 features"):
        read_extreme(put(sizes + b"\n0 0:1" * sizes.startswith(b"1")))


def test_sizes_that_wrap_around_are_refused(put):
    rows = put(b"1 1:1\n0 1:2\n", "rows.txt")
    sizes = put(b"4611686018427387904\n" * 4 + b"2\n", "rows.txt.query")
    with pytest.raises(ValueError, match=r"sizes must sum to the number of rows, 2, got 1844674"):
        read_grouped(rows, sizes=sizes, cache=False)


def test_an_unreadable_parquet_file_is_named(put):
    with pytest.raises(ValueError, match=r"x\.parquet does not read as Parquet"):
        read_table(put(b"PAR1" + b"x" * 100, "x.parquet"))


def test_text_in_parquet_must_be_utf8(tmp_path):
    path = tmp_path / "x.parquet"
    ids = ["doc-a", "doc-b", "doc-c"]
    columns = {"qid": ["q", "q", "q"], "doc_id": ids, "label": [0, 1, 2], "f": [1.0, 2.0, 3.0]}
    pq.write_table(pa.table(columns), path, compression=None, use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"doc-b", b"doc\xff\xfe"))
    for read in (
        read_table,
        read_qrels,
        lambda name: list(rankwise.streams.stream(name, doc_id="doc_id")),
    ):
        with pytest.raises(ValueError, match=r"x\.parquet.*UTF8"):
            read(path)


@pytest.mark.parametrize(
    "token, said",
    [
        ("sid:3", "'sid:3' sets the slack of a row"),
        ("cost:-1", "cost: must come once, with a finite number >= 0, got 'cost:-1'"),
        ("cost:1 cost:2", "cost: must come once, .*, got 'cost:2'"),
    ],
)
def test_bad_weights_and_slacks_of_svmlight_are_refused_by_name(put, token, said):
    with pytest.raises(ValueError, match=said):
        letor(put(f"1 qid:1 {token} 1:1\n".encode()))
