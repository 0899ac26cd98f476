"""Decompression of text files: every stream must be complete, and the size is limited.

gzip, bzip2, xz and Zstandard files may hold several streams, one after another. The library
functions that decompress bytes at once silently drop undecodable data after the first bzip2 or xz
stream. The decoders below read stream by stream to a clean end of the file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# Zero bytes may follow a stream in multiples of this number; 0: not allowed.
_PADDING = {"gzip": 1, "bzip2": 0, "xz": 4}
_READ_BYTES, _WRITE_BYTES = 1 << 16, 1 << 20
_XZ_MEMORY = 1 << 29  # limit of the memory that a file requests; "xz -9" requests 65 MiB


class DamagedError(ValueError):
    """The compressed data are damaged, cut off, or followed by something else."""


class TooLargeError(ValueError):
    """The text is longer than allowed."""


def compression_of(head: bytes) -> str | None:
    """Name of the compression indicated by the first bytes of a file; None for other files."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def decompress(kind: str, file: BinaryIO, max_bytes: int) -> bytes:
    """Decompress the text of a file, part by part; it is in memory once, and never the rest of it.

    ``kind`` is a result of :func:`compression_of`, and the file is at its beginning. DamagedError
    is raised, or TooLargeError for more than ``max_bytes`` of text.
    """
    text = io.BytesIO()
    try:
        for part in _zstd(file) if kind == "zstd" else _streams(kind, file):
            if text.tell() + len(part) > max_bytes:
                raise TooLargeError
            text.write(part)
    except OSError as error:
        if error.errno is not None:  # from the file; decoders set no error number
            raise
        raise DamagedError(str(error)) from None
    except EOFError as error:
        raise DamagedError(str(error)) from None
    return text.getvalue()  # not copied


def _streams(kind: str, file: BinaryIO) -> Iterator[bytes]:
    """Yield the text of all streams, in parts of at most ``_WRITE_BYTES``."""
    new_decoder, damage = _decoder(kind)
    data = file.read(_READ_BYTES)
    while data:
        decoder = new_decoder()
        while not decoder.eof:
            if decoder.needs_input:
                data = data or file.read(_READ_BYTES)
                if not data:
                    raise EOFError("the last stream is not complete")
            try:
                part = decoder.decompress(data, _WRITE_BYTES)
            except damage as error:
                raise DamagedError(str(error)) from None
            data = b""
            yield part
        data = _skip_padding(file, decoder.unused_data, _PADDING[kind])


def _skip_padding(file: BinaryIO, data: bytes, multiple: int) -> bytes:
    """Data after a stream and its padding; empty at the end of the file."""
    n_zeros = 0
    while True:
        rest = data.lstrip(b"\0") if multiple else data
        n_zeros += len(data) - len(rest)
        if rest:
            break
        data = file.read(_READ_BYTES)
        if not data:
            break
    if n_zeros and n_zeros % multiple:
        raise DamagedError(f"{n_zeros} zero bytes follow a stream, not a multiple of {multiple}")
    return rest


def _decoder(kind: str) -> tuple[Callable[[], Any], type[Exception]]:
    """Constructor of a decoder with the interface of ``bz2.BZ2Decompressor``, and its exception."""
    if kind == "gzip":
        import zlib

        return _Inflate, zlib.error
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, OSError
    import lzma

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY), lzma.LZMAError


class _Inflate:
    """Decoder of one gzip member by zlib."""

    def __init__(self) -> None:
        import zlib

        self._decoder = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        part = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = len(part) < max_length
        return part


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    """Yield all frames; pyarrow's stream continues to the next and rejects incomplete ones."""
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd") as stream:
        while part := stream.read(_WRITE_BYTES):
            yield part
