"""Names of side files for group sizes and weights: the name of the text plus a suffix."""

from __future__ import annotations

import re
from pathlib import Path

from rankwise.datasets.readers.letor_errors import NUMBER

SIZES = (".query", ".group")
WEIGHT = ".weight"
SIZES_FIX = (
    "Files of group sizes go with SVMlight text (label index:value …), which read_grouped reads. "
    "Write the rows so, or as a table whose first line names its columns, one of them of queries."
)
COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zst")


def stem(path: Path) -> Path:
    """Path without a suffix for compression."""
    return path.with_suffix("") if path.suffix in COMPRESSED[1:] else path


def side_file(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    """First existing side file of ``path`` with one of the suffixes, compressed or not."""
    return next(iter(side_files(path, suffixes)), None)


def check_named_columns(path: Path, first_line: bytes) -> None:
    """Raise ValueError for LightGBM's delimited text without a header, with a file of sizes."""
    sizes = side_file(path, SIZES)
    words = re.split(rb"[\t,]", first_line.strip())
    if sizes is not None and len(words) > 1 and all(NUMBER.fullmatch(word) for word in words):
        raise ValueError(
            "the first line holds numbers, not names of columns, and the queries stand in "
            f"{sizes}. {SIZES_FIX}"
        )


def side_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """All existing side files, in order of precedence."""
    names = [
        Path(f"{start}{suffix}{packed}")
        for start in dict.fromkeys((path, stem(path)))
        for suffix in suffixes
        for packed in COMPRESSED
    ]
    return [name for name in names if name.is_file()]
