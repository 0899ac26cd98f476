"""Compressed files of several streams, damaged ones, and those that hold too much."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import pyarrow
import pytest

from rankwise.datasets import (
    read_extreme,
    read_grouped,
    read_letor,
    read_mulan,
    read_qrels,
    read_run,
    read_table,
)
from rankwise.datasets.readers import decompression as _decompression
from rankwise.datasets.readers.decompression import DamagedError, TooLargeError, decompress

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
