"""Text files, plain or compressed, as blocks of whole lines that threads can read by themselves."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

PathLike: TypeAlias = str | os.PathLike[str]

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextFile:
    """One file's text.

    Attributes
    ----------
    path : Path
    start : int
        Where the text begins: after a byte order mark, if there is one.
    stop : int
        Where it ends.
    data : bytes or None
        The text where it had to be brought into memory; None to read the file as it is.
    """

    path: Path
    start: int
    stop: int
    data: bytes | None = None

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``, or to the end of the text."""
        out = np.empty(max(min(stop, self.stop) - start, 0), dtype=np.uint8)
        self.read_into(out, start)
        return out.tobytes()

    def read_into(self, out: NDArray[np.uint8], start: int) -> None:
        """Fill ``out`` with the bytes from ``start``.

        Raises
        ------
        ValueError
            When the file has become shorter.
        """
        if self.data is not None:
            out[:] = np.frombuffer(self.data, dtype=np.uint8, count=len(out), offset=start)
            return
        view = out.data
        with open(self.path, "rb", buffering=0) as file:
            file.seek(start)
            while len(view):
                n = file.readinto(view)
                if not n:
                    raise ValueError(
                        f"{self.path} became shorter while it was read. Read it again "
                        "when nothing writes to it."
                    )
                view = view[n:]


@dataclass(frozen=True)
class Block:
    """Whole lines of one file: bytes ``start`` to ``stop``; the last may lack its newline."""

    file: TextFile
    start: int
    stop: int


def find_files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """The files meant by a path, a glob pattern or a list of these; a pattern's are sorted.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError
        When a file is missing, is a folder, or none is named.
    """
    one = isinstance(path, str | os.PathLike)
    found: list[Path] = []
    for item in [path] if one else list(path):  # type: ignore[list-item,arg-type]
        name = os.fspath(item)
        matches = [name]
        if not os.path.exists(name) and glob.has_magic(name):
            matches = sorted(glob.glob(name))
        if not matches or not os.path.exists(matches[0]):
            raise FileNotFoundError(f"{name}: no such file. Check the path or the pattern.")
        found.extend(Path(match) for match in matches)
    if not found:
        raise ValueError("path must name at least one file, got an empty list.")
    for file in found:
        if file.is_dir():
            raise IsADirectoryError(f"{file} is a folder. Name its files, such as {file}/*.txt.")
    return found


def check_there(path: Path) -> None:
    """Raise where ``path`` names nothing, or a folder."""
    if not path.exists():
        looked = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise FileNotFoundError(f"{path}: no such file{looked}. Check the path.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Name a file in it.")


def open_text(path: Path) -> TextFile:
    """Find out how a file is compressed (by its first bytes) and where its text begins.

    A plain file is not read; anything else is, whole.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        When there is no such file.
    ValueError
        When compressed data are damaged or cut off, or the text is UTF-16.
    """
    check_there(path)
    if path.is_file():
        with open(path, "rb") as file:
            head = file.read(8)
        size, data = os.path.getsize(path), None
    else:  # a pipe can be read but once
        data = path.read_bytes()
        head, size = data[:8], len(data)
    kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if kind is not None:
        try:
            data = _decompress(kind, path.read_bytes() if data is None else data)
        except (OSError, EOFError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"{path}: its {kind} data are damaged or cut off ({error}). Get the file again."
            ) from error
        head, size = data[:8], len(data)
    if head.startswith(_UTF16_MARKS):
        raise ValueError(f"{path} is UTF-16 text. Save it as UTF-8.")
    return TextFile(path, len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0, size, data)


def cut_into_blocks(file: TextFile, block_bytes: int) -> list[Block]:
    """Blocks of about ``block_bytes``, cut after newlines; a longer line makes a longer block."""
    cuts = [file.start]
    while cuts[-1] + block_bytes < file.stop:
        cuts.append(after_newline(file, cuts[-1] + block_bytes))
    if cuts[-1] < file.stop:
        cuts.append(file.stop)
    return [Block(file, a, b) for a, b in pairwise(cuts)]


def after_newline(file: TextFile, position: int) -> int:
    """The first position after a newline, that newline at ``position - 1`` or later."""
    position -= 1
    window = 1 << 13
    while position < file.stop:
        found = file.read(position, position + window).find(b"\n")
        if found >= 0:
            return position + found + 1
        position += window
        window = min(2 * window, 1 << 24)
    return file.stop


def _decompress(kind: str, data: bytes) -> bytes:
    if kind == "gzip":
        import gzip
        import zlib

        try:
            return gzip.decompress(data)
        except zlib.error as error:
            raise ValueError(str(error)) from None
    if kind == "bzip2":
        import bz2

        return bz2.decompress(data)
    if kind == "xz":
        import lzma

        try:
            return lzma.decompress(data)
        except lzma.LZMAError as error:
            raise ValueError(str(error)) from None
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
        return stream.read()
