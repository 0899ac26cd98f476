"""Files to write, compressed as their suffix says."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def open_to_write(path: str | Path) -> Iterator[IO[bytes] | Any]:
    """A binary stream to ``path``, compressed as its suffix says.

    The same content gives the same bytes: gzip gets neither a name nor a time.
    """
    path = Path(path)
    with ExitStack() as stack:
        if path.suffix == ".gz":
            raw = stack.enter_context(path.open("wb"))
            stream: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0)
        elif path.suffix == ".bz2":
            stream = bz2.BZ2File(path, "wb")
        elif path.suffix == ".xz":
            stream = lzma.LZMAFile(path, "wb")  # noqa: SIM115 (entered below)
        elif path.suffix == ".zst":
            import pyarrow

            stream = pyarrow.CompressedOutputStream(str(path), "zstd")
        else:
            stream = path.open("wb")
        yield stack.enter_context(stream)
