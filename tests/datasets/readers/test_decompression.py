"""Compressed files of several streams, damaged ones, and those that hold too much."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc

import pyarrow
import pyarrow.parquet
import pytest

from rankwise import clicks, leaderboard, text
from rankwise.clicks import read_clicks, read_ubi
from rankwise.datasets import (
    read_extreme,
    read_grouped,
    read_letor,
    read_mulan,
    read_qrels,
    read_run,
    read_table,
)
from rankwise.datasets.readers import tables, textfiles
from rankwise.datasets.readers import textfiles as _decompression
from rankwise.datasets.readers.results import read_scores
from rankwise.datasets.readers.textfiles import DamagedError, TooLargeError, decompress
from rankwise.preferences import read_comparisons, read_orders
from rankwise.streams import stream
from rankwise.text.documents import iterate_documents

TEXT = b"".join(b"%d qid:%d 1:%d\n" % (k % 3, k // 10, k) for k in range(1000))
PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda text: pyarrow.compress(text, codec="zstd", asbytes=True),
}
KINDS = pytest.mark.parametrize("kind", PACK)


def unpack(kind, data, max_bytes=1 << 30):
    return bytes(decompress(kind, io.BytesIO(data), max_bytes))


@KINDS
def test_all_streams_are_read(kind, monkeypatch):
    streams = [TEXT, b"", b"x", TEXT[:5000]]
    packed = b"".join(map(PACK[kind], streams))
    assert unpack(kind, packed) == b"".join(streams)
    for n_bytes in (1, 7, 1000):
        monkeypatch.setattr(_decompression, "_READ_BYTES", n_bytes)
        monkeypatch.setattr(_decompression, "_WRITE_BYTES", 3 * n_bytes)
        assert unpack(kind, packed) == b"".join(streams)


@KINDS
def test_a_cut_anywhere_but_between_streams_is_an_error(kind):
    first, second = PACK[kind](TEXT), PACK[kind](TEXT[::-1])
    packed = first + second
    for length in {*range(1, len(packed), 37), *range(len(first) - 20, len(first) + 20)}:
        if length == len(first):
            assert unpack(kind, packed[:length]) == TEXT
        else:
            with pytest.raises(DamagedError):
                unpack(kind, packed[:length])


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_a_damaged_later_stream_is_an_error(kind):
    """Zstandard files have a checksum only if their writer asked for one."""
    first, second = PACK[kind](TEXT), PACK[kind](TEXT)
    start = len(first) + (10 if kind == "gzip" else 0)  # gzip's header has a time and a system
    for position in range(start, len(first + second), 23):
        damaged = bytearray(first + second)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(DamagedError):
            unpack(kind, damaged)


@KINDS
@pytest.mark.parametrize("tail", [b"x", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"trailing\0"])
def test_nothing_else_may_follow(kind, tail):
    with pytest.raises(DamagedError):
        unpack(kind, PACK[kind](TEXT) + tail)


def test_padding():
    assert unpack("gzip", PACK["gzip"](b"a") + b"\0" * 5 + PACK["gzip"](b"b") + b"\0") == b"ab"
    assert unpack("xz", PACK["xz"](b"a") + b"\0" * 8 + PACK["xz"](b"b") + b"\0" * 4) == b"ab"
    for kind, n_zeros in (("xz", 3), ("bzip2", 4), ("zstd", 4)):
        with pytest.raises(DamagedError):
            unpack(kind, PACK[kind](b"a") + b"\0" * n_zeros)


@KINDS
def test_the_limit_is_on_all_streams_together(kind):
    packed = PACK[kind](TEXT) * 3
    assert unpack(kind, packed, 3 * len(TEXT)) == TEXT * 3
    with pytest.raises(TooLargeError):
        unpack(kind, packed, 3 * len(TEXT) - 1)


@KINDS
def test_a_bomb_is_refused_before_it_is_unpacked(kind, monkeypatch):
    packed = PACK[kind](bytes(20 << 20))
    sizes = []

    class Counted(io.BytesIO):
        def read(self, n=-1):
            sizes.append(n)
            return super().read(n)

    monkeypatch.setattr(_decompression, "_READ_BYTES", 64)
    with pytest.raises(TooLargeError):
        decompress(kind, Counted(packed), 1 << 20)
    if kind != "zstd":  # pyarrow reads 64 kB at a time
        assert max(sizes) == 64


def test_a_file_that_cannot_be_read_is_not_called_damaged():
    class Broken(io.BytesIO):
        def read(self, n=-1):
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error") as raised:
        decompress("bzip2", Broken(), 1 << 20)
    assert raised.value.errno == 5


ARFF = b"@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute x real\n@data\n" + b"1,2.5\n" * 50
READERS = {
    "letor": (TEXT, ".txt", lambda path, **limit: read_letor(path, cache=False, **limit)),
    "qrels": (b"1 0 d1 1\n1 0 d2 0\n", ".txt", read_qrels),
    "run": (b"1 Q0 d1 1 0.5 t\n1 Q0 d2 1 0.4 t\n", ".txt", read_run),
    "table": (b"qid,y,a\n1,0,2\n1,1,3\n", ".csv.gz", read_table),
    "mulan": (ARFF, ".arff", read_mulan),
    "extreme": (b"1 2 2\n0 0:1\n", ".txt", read_extreme),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_takes_the_limit(tmp_path, reader):
    text, suffix, read = READERS[reader]
    path = tmp_path / f"packed{suffix}"
    path.write_bytes(gzip.compress(text))
    read(path, max_decompressed_bytes=len(text))
    message = rf"packed\S* holds more than {len(text) - 1:,} bytes of text after decompression"
    with pytest.raises(ValueError, match=message):
        read(path, max_decompressed_bytes=len(text) - 1)
    with pytest.raises(ValueError, match=r"max_decompressed_bytes must be a whole number >= 1"):
        read(path, max_decompressed_bytes=0)


def test_the_limit_holds_for_side_files_too(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 1:1\n0 1:2\n")
    (tmp_path / "train.txt.query.gz").write_bytes(gzip.compress(b"2" + b"\n" * 100))
    assert read_grouped(path, cache=False).n_queries == 1
    with pytest.raises(ValueError, match=r"train\.txt\.query\.gz holds more than 50 bytes"):
        read_grouped(path, cache=False, max_decompressed_bytes=50)


@KINDS
@pytest.mark.parametrize("read", [read_letor, read_run, read_qrels, read_table])
def test_files_compressed_twice_are_named(tmp_path, kind, read):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(PACK[kind](TEXT)))
    with pytest.raises(ValueError, match="is compressed twice"):
        read(path)


EVERY_READER = {
    "read_letor": lambda path: read_letor(path, cache=False),
    "read_grouped": lambda path: read_grouped(path, sizes=path, cache=False),
    "read_table": read_table,
    "read_mulan": read_mulan,
    "read_extreme": read_extreme,
    "read_qrels": read_qrels,
    "read_run": read_run,
    "read_scores": read_scores,
    "stream": stream,
    "leaderboard": leaderboard,
    "read_comparisons": read_comparisons,
    "read_orders": read_orders,
    "read_clicks": read_clicks,
    "read_clicks of Yandex": lambda path: read_clicks(path, format="yandex"),
    "read_ubi": read_ubi,
    "clicks.read_judgements": clicks.read_judgements,
    "text.read_judgements": text.read_judgements,
    "documents": lambda path: list(iterate_documents(path, ("text",))),
}


@pytest.mark.parametrize("reader", EVERY_READER)
def test_a_small_file_of_much_text_is_refused_by_every_reader(tmp_path, monkeypatch, reader):
    """A megabyte of gzip may hold a gigabyte of blanks."""
    monkeypatch.setattr(textfiles, "_EXPANDED_BYTES", 1 << 16)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 20)))
    limit = textfiles.MAX_EXPANSION * path.stat().st_size
    assert 1 << 16 < limit < 1 << 20
    with pytest.raises(ValueError, match=rf"bomb\.csv\.gz holds more than {limit:,} bytes"):
        EVERY_READER[reader](path)


@KINDS
def test_text_of_usual_redundancy_is_read_and_a_limit_of_the_caller_counts(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(textfiles, "_EXPANDED_BYTES", 1 << 10)
    path = tmp_path / "rows.txt"
    path.write_bytes(PACK[kind](TEXT))
    assert read_letor(path, cache=False).n_samples == 1000
    path.write_bytes(PACK[kind](TEXT + b"\n" * (1 << 22)))
    with pytest.raises(ValueError, match="holds more than"):
        read_letor(path, cache=False)
    assert read_letor(path, cache=False, max_decompressed_bytes=1 << 23).n_samples == 1000


@pytest.mark.parametrize("blank", [b" ", b"\n", b" \n", b"\t\n"])
@pytest.mark.parametrize("read", [read_qrels, read_run])
def test_blanks_are_hardly_copied(tmp_path, monkeypatch, read, blank):
    """They were nearly three times in memory, and blank lines 24 times."""
    monkeypatch.setattr(_decompression, "_WRITE_BYTES", 1 << 14)
    n_bytes = 1 << 20
    lines = {read_qrels: b"1 0 d 1\n", read_run: b"1 Q0 d 1 0.5 t\n"}[read]
    path = tmp_path / "blanks.txt.gz"
    path.write_bytes(gzip.compress(lines + blank * (n_bytes // len(blank))))
    tracemalloc.start()
    try:
        assert len(read(path)) == 1
        assert tracemalloc.get_traced_memory()[1] < 2.3 * n_bytes
    finally:
        tracemalloc.stop()


def test_parquet_files_that_state_too_much_are_refused_by_every_reader(tmp_path):
    """Two billion equal values take a few kilobytes; here the footer only states them."""
    path = tmp_path / "bomb.parquet"
    table = pyarrow.table({"qid": ["1"], "doc_id": ["a"], "grade": [1], "score": [1.0]})
    pyarrow.parquet.write_table(table, path)
    for read in (read_qrels, read_run, read_table, read_comparisons):
        with pytest.raises(ValueError, match=r"bomb\.parquet: its columns take .* bytes in memory"):
            read(path, max_decompressed_bytes=1)


@pytest.mark.parametrize("reader", ["leaderboard", "read_clicks", "read_ubi"])
def test_the_default_limit_of_parquet_holds_for_every_reader(tmp_path, monkeypatch, reader):
    path = tmp_path / "bomb.parquet"
    columns = {"qid": ["1"], "doc_id": ["a"], "grade": [1], "place": [1], "click": [1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    monkeypatch.setattr(tables.open_stored, "__defaults__", (1,))
    with pytest.raises(ValueError, match=r"bomb\.parquet: its columns take"):
        EVERY_READER[reader](path)
