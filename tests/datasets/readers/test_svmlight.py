"""The LETOR reader: forms of the same rows, malformed lines, options, threads."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import threading

import numpy as np
import pyarrow
import pytest
from scipy import sparse

from rankwise.datasets import read_letor
from rankwise.datasets.readers.letor_parse import LetorOptions, parse_files
from rankwise.datasets.readers.textfiles import TextFile, cut_into_blocks
from tests.datasets.readers.letor_cases import (
    fitting,
    in_memory,
    numbers_of_all_kinds,
    parse,
    same_bits,
)

TEXT = b"2 qid:1 1:0.5 3:1 # docid = a\n0 qid:1 1:2 2:3 3:1\n1.5 qid:7 2:-4e-1 3:1 #docid=b\n"
X = np.array([[0.5, 0, 1], [2, 3, 1], [0, -0.4, 1]], dtype=np.float32)


def check(data) -> None:
    assert same_bits(data.X, X)
    assert data.y.tolist() == [2, 0, 1.5]
    assert data.qid.tolist() == [1, 1, 7]
    assert data.qid.dtype == np.int64
    assert data.comments.tolist() == ["docid = a", "", "docid=b"]
    assert data.doc_ids.tolist() == ["a", "", "b"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT[:-1],
        TEXT.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TEXT,
        TEXT.replace(b" ", b"\t").replace(b"docid\t=\ta", b"docid = a"),
        b"\n\n# a comment line\n  \t\n" + TEXT.replace(b"\n", b" \n\n  # 2 qid:1 1:1\n"),
        TEXT.replace(b":1 #", b":1#").replace(b" #docid=b", b"\t\t#  docid=b  "),
        TEXT.replace(b"1:2 2:3 3:1", b"3:1 1:2 2:3"),
        TEXT.replace(b"1:2 2:3", b"000001:+2. 0002:.3e1"),
    ],
    ids=["plain", "no last newline", "CRLF", "byte order mark", "tabs", "blank and comment lines",
         "comments touch", "unordered", "leading zeros"],
)  # fmt: skip
def test_forms_of_the_same_rows(read, text):
    check(read(text))
    for block_bytes in (1, 20, 40, 100):
        rows = parse(text.removeprefix(b"\xef\xbb\xbf"), block_bytes=block_bytes, n_threads=2)
        assert same_bits(rows.X, X)


@pytest.mark.parametrize(
    "compress",
    [gzip.compress, bz2.compress, lzma.compress,
     lambda text: pyarrow.compress(text, codec="zstd", asbytes=True)],
    ids=["gzip", "bzip2", "xz", "zstd"],
)  # fmt: skip
def test_compressed_files(read, compress):
    check(read(compress(TEXT), "no-suffix-needed"))
    packed = compress(TEXT * 1000)
    assert len(read(packed)) == 3000
    for broken in (packed[:-7], packed[: len(packed) // 2]):
        with pytest.raises(ValueError, match=r"rows\.txt: its \w+ data are damaged or cut off"):
            read(broken)


def test_several_files_are_read_as_one(tmp_path):
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "part1.txt").write_bytes(lines[0][:-1])
    (tmp_path / "part2.txt").write_bytes(b"")
    (tmp_path / "part3.txt").write_bytes(gzip.compress(b"".join(lines[1:])))
    parts = [tmp_path / f"part{k}.txt" for k in (1, 2, 3)]
    for path in (parts, [str(part) for part in parts], str(tmp_path / "part?.txt")):
        data = read_letor(path, cache=False)
        check(data)
        assert data.name == "part1+part2+part3"
    assert read_letor(parts[::-1], cache=False).qid.tolist() == [1, 7, 1]
    assert read_letor([parts[0]] * 5, cache=False).name == "part1 and 4 more"


def test_a_file_with_pattern_characters_in_its_name(read):
    check(read(TEXT, "rows[1].txt"))


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.txt: no such file"):
        read_letor(tmp_path / "absent.txt")
    with pytest.raises(FileNotFoundError, match=r"\*\.gz: no such file"):
        read_letor(str(tmp_path / "*.gz"))
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Name its files"):
        read_letor(tmp_path)
    with pytest.raises(ValueError, match="at least one file"):
        read_letor([])


@pytest.mark.parametrize(
    "text", [b"", b"\n\r\n", b"# nothing\n#", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)]
)
def test_files_without_rows(read, text):
    with pytest.raises(ValueError, match=r"rows\.txt: no rows"):
        read(text)


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf16_is_refused(read, mark):
    with pytest.raises(ValueError, match="UTF-16"):
        read(("\ufeff" + TEXT.decode()).encode(mark))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_and_not_cached(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    check(read_letor(pipe))
    writer.join()


MALFORMED = {
    "label": ("1 1:2\nx qid:1 1:2\n", 2, 1, "the label must be a number, got 'x'"),
    "label missing": ("1 1:2\n  1:2 2:3\n", 2, 3, "the label must be a number, got '1:2'"),
    "label list": ("1,2 1:2\n", 1, 1, "the label must be a number, got '1,2'"),
    "underscore": ("1 1:1_000\n", 1, 5, "the value must be a number, got '1_000'"),
    "not ASCII": ("1 1:１\n", 1, 5, "the value must be a number, got '１'"),
    "value": ("1 1:2\n\n1 1:2 17:0.5x 18:1\n", 3, 10, "the value must be a number, got '0.5x'"),
    "two points": ("1 1:1.2.3\n", 1, 5, "the value must be a number, got '1.2.3'"),
    "bare exponent": ("1 1:1e 2:2\n", 1, 5, "the value must be a number, got '1e'"),
    "bare sign": ("1 1:- 2:2\n", 1, 5, "the value must be a number, got '-'"),
    "NULL": ("1 1:NULL\n", 1, 5, "the value must be a number, got 'NULL'"),
    "nanny": ("1 1:nanny\n", 1, 5, "the value must be a number, got 'nanny'"),
    "long value": ("1 1:" + "z" * 99 + "\n", 1, 5, "got '" + "z" * 37 + r"\.\.\.'"),
    "space after colon": ("1 1: 2\n", 1, 5, "a number must follow the colon, without a space"),
    "no colon": ("1 1:2 3\n", 1, 7, "expected index:value with a whole index >= 0, got '3'"),
    "word": ("1 1:2 abc\n", 1, 7, "expected index:value with a whole index >= 0, got 'abc'"),
    "named feature": ("1 bm25:2\n", 1, 3, "expected index:value .* got 'bm25:2'"),
    "negative index": ("1 -1:2\n", 1, 3, "expected index:value .* got '-1:2'"),
    "large index": ("1 2147483648:2\n", 1, 3, "index 2147483648 is larger than 2147483647"),
    "huge index": ("1 1:1 " + "9" * 30 + ":2\n", 1, 7, "index 9{30} is larger than 2147483647"),
    "NUL": ("1 1:2 \0\n", 1, 7, "expected index:value .* got"),
    "late qid": ("1 1:2 qid:3\n", 1, 7, "qid must come once, right after the label, got 'qid:3'"),
    "two qids": ("1 qid:3 qid:4\n", 1, 9, "qid must come once, right after the label"),
    "empty qid": ("1 qid:3\n1 qid: 1:2\n", 2, 3, "a query id must follow qid:"),
    "no qid": ("1 qid:3\n\n0 qid:3\n0 1:2\n", 4, 1, "this row has no qid, but earlier ones have"),
    "a qid": ("1 1:3\n0 qid:3 1:2\n", 2, 1, "this row has a qid, but earlier ones have none"),
    "twice": ("1 1:2 2:3 2:4 3:1\n", 1, 11, "index 2 occurs twice in this row"),
    "twice apart": ("1 1:2\n1 2:3 1:4 5:5 02:1\n", 2, 15, "index 2 occurs twice in this row"),
    "old Mac": ("1 1:2\r0 1:3\r", 1, 7, "expected index:value with a whole index >= 0, got '0'"),
}


@pytest.mark.parametrize("case", MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.parametrize("dense", ["auto", False])
def test_malformed_lines_name_file_line_column_and_reason(read, case, dense):
    text, line, column, reason = case
    expected = rf"rows\.txt, line {line}, column {column}: .*{reason}"
    with pytest.raises(ValueError, match=expected) as raised:
        read(text, dense=dense)
    assert ("cut off" in str(raised.value)) == (not text.endswith("\n"))


@pytest.mark.parametrize("case", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_lines_are_found_anywhere_and_the_first_one_is_named(case):
    text, line, column, _ = case
    qid = " qid:5" if re.match(r"\S+ qid:", text) else ""
    good = "".join(f"{k % 3}{qid} 1:{k}.25 2:1 3:0\n" for k in range(400))
    later = "" if case is MALFORMED["twice apart"] else "bad"  # that is seen in sound files only
    for block_bytes in (64, 1 << 20):
        with pytest.raises(ValueError, match=f"line {400 + line}, column {column}:"):
            parse(good + text + good + later, block_bytes=block_bytes, n_threads=2)


@pytest.mark.parametrize("end", [b"2", b"2:", b"2:-", b"2:1e", b"2:0.5 3"])
def test_a_file_cut_off_inside_a_token_says_so(read, end):
    text = b"1 qid:1 1:2 2:3\n0 qid:1 1:1 " + end
    with pytest.raises(
        ValueError, match=r"line 2, column \d+: .* without a newline: is it cut off"
    ):
        read(text)
    for start in (b"0 qi", b"0 qid:", b"-", b"0"):
        with pytest.raises(ValueError, match=r"line 2, column \d: .* is it cut off"):
            read(b"1 qid:1 1:2 2:3\n" + start)


def test_a_line_cut_off_between_tokens_is_a_shorter_row(read):
    assert read(b"1 qid:1 1:2 2:3\n0 qid:1 1:1").X.tolist() == [[2, 3], [1, 0]]


def test_bytes_that_are_not_utf8_do_not_hide_the_error(read):
    with pytest.raises(ValueError, match=r"line 1, column 5: .* got '\\\\xff\\\\xfe'"):
        read(b"1 1:\xff\xfe\n")


def test_unordered_indices_are_put_in_order(read, rng):
    rows = [rng.permutation(40)[:30] + 1 for _ in range(50)]
    text = "".join(f"0 qid:1 {' '.join(f'{j}:{j}.5' for j in row)}\n" for row in rows)
    ordered = "".join(f"0 qid:1 {' '.join(f'{j}:{j}.5' for j in sorted(row))}\n" for row in rows)
    for dense in (True, False):
        a, b = read(text, dense=dense).X, read(ordered, dense=dense).X
        if not dense:
            assert a.has_sorted_indices
            a, b = a.toarray(), b.toarray()
        assert same_bits(a, b)


def test_rows_a_million_columns_wide(read):
    data = read("1 qid:1 1:0.5 1000000:2\n0 qid:1 999999:3\n2 qid:2\n")
    assert sparse.isspmatrix_csr(data.X)
    assert data.X.shape == (3, 1_000_000)
    assert data.X.indices.tolist() == [0, 999_999, 999_998]
    assert data.X.indptr.tolist() == [0, 2, 3, 3]
    full = "0 " + " ".join(f"{j}:1" for j in range(1, 1_000_001)) + "\n"
    data = read(full + "1 1000000:7\n" + full, dense=True)  # lines longer than a block
    assert data.X.sum(axis=1).tolist() == [1e6, 7, 1e6]
    assert read("1 2147483647:1\n").X.shape == (1, 2147483647)


@pytest.mark.parametrize("entries, dense", [(3, True), (2, False)])
def test_a_quarter_written_is_dense(read, entries, dense):
    row = " ".join(f"{j}:0" for j in range(1, entries))
    assert isinstance(read(f"1 {row} 11:0\n").X, np.ndarray) == dense
    csr = read(f"1 {row} 11:0\n", dense=False).X
    assert csr.nnz == entries
    assert isinstance(read(f"1 {row} 11:0\n", dense=True).X, np.ndarray)


def test_the_choice_is_made_on_all_rows_not_on_a_sample(rng):
    """Blocks whose first lines, the sample, mislead about width, order, density, qid, base."""

    def rows(n, entries, **more):
        return "".join(f"{k % 3} qid:{more.get('qid', 4)} " + entries + "\n" for k in range(n))

    narrow = rows(5000, "1:1 2:0.5 3:2")
    for odd in (
        rows(1, "1:1 70:3"),
        rows(1, "3:1 2:7"),
        rows(1, "1:2", qid="x"),
        rows(1, "0:9 2:1"),
        rows(6000, "1:1 900:2"),
        rows(1, "2:4") + rows(900, "60:1"),
    ):
        text = narrow + odd + narrow
        reference = parse(text, dense=False, block_bytes=1 << 24)
        for options in ({}, {"dense": True}):
            result = parse(text, block_bytes=1 << 16, n_threads=2, **options)
            X = result.X.toarray() if sparse.issparse(result.X) else result.X
            assert same_bits(X, reference.X.toarray())
            assert list(result.qid) == list(reference.qid)
            written = reference.X.nnz / np.prod(reference.X.shape)
            assert sparse.issparse(result.X) == (not options and written < 0.25)


def test_rows_without_features(read):
    data = read("1 qid:1\n0 qid:1 # nothing\n")
    assert data.X.shape == (2, 0)
    assert read("1 qid:1\n0 qid:1\n", n_features=3).X.shape == (2, 3)
    assert read("1 qid:1\n0 qid:1 2:1\n").X.tolist() == [[0, 0], [0, 1]]


def test_zero_based_indices(read):
    one, zero = "1 1:5 2:6\n", "0 0:7 2:8\n"
    assert read(one * 3).X.shape == (3, 2)
    assert read(one + zero).X.tolist() == [[0, 5, 6], [7, 0, 8]]
    assert read(zero + one).X.tolist() == [[7, 0, 8], [0, 5, 6]]
    for dense in (True, False):
        assert read(one, zero_based=True, dense=dense).X.shape == (1, 3)
        assert read(one, zero_based=False, dense=dense).X.shape == (1, 2)
        with pytest.raises(ValueError, match=r"line 2, column 3: index 0 in a file whose indices"):
            read(one + zero, zero_based=False, dense=dense)


def test_n_features(read):
    text = "1 1:5 3:6\n0 2:1\n"
    for dense in (True, False):
        assert read(text, n_features=3, dense=dense).X.shape == (2, 3)
        assert read(text, n_features=np.int64(30), dense=dense).X.shape == (2, 30)
        with pytest.raises(ValueError, match=r"column 7: index 3 is too large for n_features=2"):
            read(text, n_features=2, dense=dense)
        assert read("1 0:5 2:6\n", n_features=3, dense=dense).X.shape == (1, 3)
        with pytest.raises(ValueError, match=r"column 7: index 3 is too large for n_features=3"):
            read("1 0:5 3:6\n", n_features=3, dense=dense, zero_based=True)
        with pytest.raises(ValueError, match=r"indices run from 0 to 3, which is more than n_feat"):
            read("1 0:5 3:6\n", n_features=3, dense=dense)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dtype": np.int32}, "dtype must be float32 or float64, got int32"),
        ({"n_features": 0}, "n_features must be a whole number >= 1 or None, got 0"),
        ({"n_features": True}, "n_features must be"),
        ({"n_features": 2.5}, "n_features must be"),
        ({"dense": "yes"}, "dense must be True, False or 'auto', got 'yes'"),
        ({"zero_based": None}, "zero_based must be True, False or 'auto', got None"),
    ],
)
def test_options_are_checked(read, options, message):
    with pytest.raises(ValueError, match=message):
        read(TEXT, **options)


def test_cache_option_is_checked(tmp_path):
    with pytest.raises(ValueError, match="cache must be True, False or 'beside', got 'here'"):
        read_letor(tmp_path, cache="here")


def test_query_ids(read):
    def ids(*qids):
        return read("".join(f"0 qid:{qid} 1:1\n" for qid in qids)).qid

    limits = [2**63 - 1, 1 - 2**63, 0, -5]
    assert ids(*limits).tolist() == limits
    assert ids(*limits).dtype == np.int64
    assert ids("a", "1", "007").tolist() == ["a", "1", "007"]
    assert ids(2**63, 1).tolist() == ["9223372036854775808", "1"]
    assert ids("12345678901234567890123").tolist() == ["12345678901234567890123"]
    assert ids("é:ß", "1.5", "-").tolist() == ["é:ß", "1.5", "-"]
    assert read("1 1:1\n0 1:2\n").qid.tolist() == [0, 0]
    text = read("0 qid:q1 1:1 # docid = x\n1 qid:q22 1:2\n2 qid:q22 1:1 #\n")
    assert text.qid.tolist() == ["q1", "q22", "q22"]
    assert text.comments.tolist() == ["docid = x", "", ""]
    assert text.n_queries == 2


def test_comments(read):
    data = read("0 1:1 # é ü #2\n1 1:1\n0 1:1 #\n0 1:1 #docid: 7;x y\n0 1:1 # my_docid = 8\n")
    assert data.comments.tolist() == ["é ü #2", "", "", "docid: 7;x y", "my_docid = 8"]
    assert data.doc_ids.tolist() == ["", "", "", "7;x", ""]
    assert read("0 1:1 # a\n").doc_ids is None
    assert read("0 1:1\n").comments is None
    assert read("0 1:1 #\n").comments.tolist() == [""]
    assert read(b"0 1:1 # \xff\xfe!\n").comments.tolist() == ["\ufffd\ufffd!"]


def test_one_long_comment_does_not_widen_all(read):
    n = 20_000
    data = read("0 1:1 # a\n" * n + "0 1:1 # " + "long " * 1000 + "\n")
    assert data.comments.dtype == object
    assert data.comments[0] == "a"
    assert data.comments[n] == ("long " * 1000).strip()


@pytest.mark.parametrize("dense", [True, False])
def test_the_same_bits_for_any_number_of_threads_and_any_blocks(rng, dense):
    tokens = fitting(numbers_of_all_kinds(rng, 200), np.float64)
    text = "".join(
        f"{k % 5} qid:{k // 9} 1:{a} 4:{b} 30:{c} # docid = {k}\n" + "\n" * (k % 4 == 0)
        for k, (a, b, c) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False))
    )
    first = parse(text, dense=dense, dtype=np.float64)
    for n_threads in (1, 2, 3):
        for block_bytes in (1, 1000, 50_000):
            other = parse(
                text, dense=dense, dtype=np.float64, n_threads=n_threads, block_bytes=block_bytes
            )
            for a, b in ((first, other),):
                if dense:
                    assert same_bits(a.X, b.X)
                else:
                    assert same_bits(a.X.data, b.X.data)
                    assert np.array_equal(a.X.indices, b.X.indices)
                    assert np.array_equal(a.X.indptr, b.X.indptr)
                assert same_bits(a.y, b.y)
                assert np.array_equal(a.qid, b.qid)
                assert a.comments == b.comments


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 8, 1000])
def test_blocks_cover_the_text_in_whole_lines(rng, block_bytes):
    text = b"".join(bytes([65 + k]) * int(n) + b"\n" for k, n in enumerate(rng.integers(0, 20, 26)))
    for data in (text, text[:-1], b"\n", b"x"):
        blocks = cut_into_blocks(in_memory(data), block_bytes)
        assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
        assert (blocks[0].start, blocks[-1].stop) == (0, len(data))
        assert all(data[block.stop - 1 : block.stop] == b"\n" for block in blocks[:-1])
        assert all(block.start < block.stop for block in blocks)


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(TEXT)
    with pytest.raises(ValueError, match=r"rows\.txt changed while it was read"):
        parse_files([TextFile(path, 0, len(TEXT) + 5)], LetorOptions())
