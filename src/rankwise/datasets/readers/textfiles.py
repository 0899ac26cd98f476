"""Text files, plain or compressed, as blocks of whole lines that threads read independently.

Every stream of compressed data must be complete, and the size is limited. gzip, bzip2, xz and
Zstandard files may hold several streams, one after another. The library functions that decompress
bytes at once silently drop undecodable data after the first bzip2 or xz stream; the decoders below
read stream by stream to a clean end of the file.

The sha256 of a text (with LF for CRLF, so that compression does not matter) is remembered by path,
size and time in ``checksums.json`` of the cache folder, if that is writable.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.arrow import pa
from rankwise.runtime.files import cache_folder, write_file

PathLike: TypeAlias = str | os.PathLike[str]

# Maximum text in memory per file: more than any published set of judged data needs.
MAX_DECOMPRESSED_BYTES = 1 << 34
# Unless the caller passes another limit, text of more than 64 MiB may be 200 times as long as the
# compressed file. LETOR text is 4 to 30 times as long; a megabyte of gzip can hold a gigabyte of
# blanks, and one of bzip2, xz or Zstandard up to a terabyte.
MAX_EXPANSION = 200
_EXPANDED_BYTES = 1 << 26

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
_SIZE = 2  # position of the size in a file's state


class ChangedError(ValueError):
    """A file was written to, or replaced, while it was read."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} changed while it was read. Read it again when no program writes to it."
        )


@dataclass(frozen=True)
class TextFile:
    """Text of one file, from byte ``start``, after any byte order mark, to ``stop``."""

    path: Path
    start: int
    stop: int
    # Text that had to be loaded into memory; None to read the file directly
    data: bytes | None = None
    # Device, inode, size and times of the file when it was opened; None for a pipe
    state: tuple[int, ...] | None = None

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes from ``start`` to ``stop``, or to the end of the text."""
        stop = max(min(stop, self.stop), start)
        if self.data is not None:
            return self.data[start:stop]  # not copied if it is all
        out = np.empty(stop - start, dtype=np.uint8)
        self.read_into(out, start)
        return out.tobytes()

    def read_into(self, out: NDArray[np.uint8], start: int) -> None:
        """Fill ``out`` with the bytes from ``start``; ChangedError if the file is shorter now."""
        if self.data is not None:
            out[:] = np.frombuffer(self.data, dtype=np.uint8, count=len(out), offset=start)
            return
        view = out.data
        with open(self.path, "rb", buffering=0) as file:
            file.seek(start)
            while len(view):
                n = file.readinto(view)
                if not n:
                    raise ChangedError(self.path)
                view = view[n:]

    def check_unchanged(self) -> None:
        """Raise ChangedError if the file was replaced or written to since it was opened."""
        if self.state is None:
            return
        try:
            state = _state(os.stat(self.path))
        except FileNotFoundError:
            state = ()
        if state != self.state:
            raise ChangedError(self.path)


@dataclass(frozen=True)
class LineBlock:
    """Whole lines of one file: bytes ``start`` to ``stop``; the last may lack its newline."""

    file: TextFile
    start: int
    stop: int


def find_files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """Existing files named by a path, a glob pattern or a list of these; matches are sorted."""
    is_single = isinstance(path, str | os.PathLike)
    found: list[Path] = []
    for item in [path] if is_single else list(path):  # type: ignore[list-item,arg-type]
        name = os.fspath(item)
        matches = [name]
        if not os.path.exists(name) and glob.has_magic(name):
            matches = sorted(glob.glob(name))
        if not matches or not os.path.exists(matches[0]):
            looked = "" if os.path.isabs(name) else f" in {Path.cwd()}"
            raise FileNotFoundError(f"{name}: no such file{looked}. Check the path or the pattern.")
        found.extend(Path(match) for match in matches)
    if not found:
        raise ValueError("path must name at least one file, got an empty list.")
    for file in found:
        if file.is_dir():
            raise IsADirectoryError(f"{file} is a folder. Name its files, such as {file}/*.txt.")
    return found


def check_there(path: Path) -> None:
    """Raise an error if ``path`` does not exist or is a folder."""
    if not path.exists():
        looked = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise FileNotFoundError(f"{path}: no such file{looked}. Check the path.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Name a file in it.")


def check_limit(max_decompressed_bytes: int) -> None:
    """Raise ValueError unless a limit on bytes is a positive whole number."""
    if not isinstance(max_decompressed_bytes, int | np.integer) or max_decompressed_bytes < 1:
        raise ValueError(
            f"max_decompressed_bytes must be a whole number >= 1, got {max_decompressed_bytes!r}."
        )


def open_text(
    path: Path,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    *,
    may_be_utf16: bool = False,
) -> TextFile:
    """Detect the compression of a file (by its first bytes) and the start of its text.

    Plain files are not read yet; all others are read completely. ValueError is raised if compressed
    data are damaged, truncated or decompress to more than ``max_decompressed_bytes`` (by default
    also 64 MiB and 200 times the size of the file), if the file changes meanwhile, is compressed
    twice or is a zip archive, or if the text is UTF-16 (unless ``may_be_utf16``).
    """
    check_limit(max_decompressed_bytes)
    check_there(path)
    state, data = None, None
    with open(path, "rb") as file:
        if path.is_file():
            head, state = file.read(8), _state(os.fstat(file.fileno()))
            size = state[_SIZE]
            file.seek(0)
        else:  # a pipe can be read only once
            data = file.read()
            head, size = data[:8], len(data)
        kind = compression_of(head)
        if kind is not None:
            packed = file if data is None else io.BytesIO(data)
            limit = max_decompressed_bytes
            if limit == MAX_DECOMPRESSED_BYTES:
                limit = min(limit, max(_EXPANDED_BYTES, MAX_EXPANSION * size))
            data = _decompressed(path, kind, packed, limit)
            head, size = data[:8], len(data)
            if compression_of(head) is not None:
                raise ValueError(f"{path} is compressed twice. Decompress it once.")
    text = TextFile(path, len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0, size, data, state)
    if kind is not None:
        text.check_unchanged()
    if head.startswith(_ZIP):
        raise ValueError(
            f"{path} is a zip archive, such as a workbook or a saved model, not text. Unpack it, "
            "or save the table in it as CSV."
        )
    if head.startswith(_UTF16_MARKS) and not may_be_utf16:
        raise ValueError(f"{path} is UTF-16 text. Save it as UTF-8.")
    return text


def read_text(
    path: PathLike,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    *,
    may_be_utf16: bool = False,
) -> bytes:
    """Read the whole text of a file, without a byte order mark, as :func:`open_text` finds it."""
    file = open_text(Path(path), max_decompressed_bytes, may_be_utf16=may_be_utf16)
    text = file.read(file.start, file.stop)
    file.check_unchanged()
    return text


def check_line_ends(path: Path, text: bytes) -> None:
    """Raise ValueError if carriage returns, without line feeds, end the lines of ``text``."""
    if b"\n" not in text and b"\r" in text.rstrip(b"\r"):
        raise ValueError(
            f"{path}: carriage returns end the lines, as on old Macs. Save the file with line "
            "feeds (Unix) or both (Windows)."
        )


def find_inner_mark(text: bytes) -> str | None:
    """Line and reason if a line starts with a byte order mark, which would belong to its id.

    ``text`` has no mark of its own at the start.
    """
    at = 0 if text.startswith(_UTF8_MARK) else text.find(b"\n" + _UTF8_MARK) + 1
    if not at and not text.startswith(_UTF8_MARK):
        return None
    line = text.count(b"\n", 0, at) + 1
    return f"line {line}: a byte order mark within the text. Were files joined? Remove the mark."


def _decompressed(path: Path, kind: str, file: BinaryIO, max_bytes: int) -> bytes:
    try:
        return decompress(kind, file, max_bytes)
    except DamagedError as error:
        raise ValueError(
            f"{path}: its {kind} data are damaged or cut off ({error}). Get the file again."
        ) from None
    except TooLargeError:
        raise ValueError(
            f"{path} holds more than {max_bytes:,} bytes of text after decompression. If it is as "
            "you expect, decompress it first, or raise max_decompressed_bytes if the reader has it."
        ) from None


def _state(status: os.stat_result) -> tuple[int, ...]:
    """Values that differ between two files, and change when a file is written to."""
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )  # fmt: skip


def cut_into_blocks(file: TextFile, block_bytes: int) -> list[LineBlock]:
    """Blocks of about ``block_bytes``, cut after newlines; a longer line makes a longer block."""
    cuts = [file.start]
    while cuts[-1] + block_bytes < file.stop:
        cuts.append(find_line_start(file, cuts[-1] + block_bytes))
    if cuts[-1] < file.stop:
        cuts.append(file.stop)
    return [LineBlock(file, a, b) for a, b in pairwise(cuts)]


def find_line_start(file: TextFile, position: int) -> int:
    """First position after a newline that is at ``position - 1`` or later."""
    position -= 1
    window = 1 << 13
    while position < file.stop:
        found = file.read(position, position + window).find(b"\n")
        if found >= 0:
            return position + found + 1
        position += window
        window = min(2 * window, 1 << 24)
    return file.stop


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
    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream:
        while part := stream.read(_WRITE_BYTES):
            yield part


def text_sha256(path: Path) -> str:
    """sha256 of the text of ``path``; remembered if the file has not changed."""
    state = path.stat()
    key, now = str(path.resolve()), [state.st_size, state.st_mtime_ns]
    memory = cache_folder() / "checksums.json"
    known = _load(memory).get(key)
    if isinstance(known, list) and known[:2] == now and len(known) == 3:
        return str(known[2])
    digest = compute_text_sha256(path)
    _store(memory, _load(memory) | {key: [*now, digest]})
    return digest


def compute_text_sha256(path: Path) -> str:
    """Compute the sha256 of the text of ``path``."""
    text = read_text(path)
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()


def _load(memory: Path) -> dict[str, Any]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _store(memory: Path, known: dict[str, Any]) -> None:
    """Replace the stored results atomically; other processes see the old or the new file."""
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_file(memory, json.dumps(known).encode())
    except OSError:
        return
