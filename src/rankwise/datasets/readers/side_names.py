"""Names of side files for group sizes and weights: the name of the text plus a suffix."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankwise.datasets.readers.letor_errors import NUMBER
from rankwise.runtime.callers import callers_level

SIZES = (".query", ".group")
WEIGHT = ".weight"
SIZES_FIX = (
    "Files of group sizes go with rows without names of columns: SVMlight text (label index:value "
    "…), or numbers with the label first. Leave out the first line, or add a column of queries."
)
COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zst")


def stem(path: Path) -> Path:
    """Path without a suffix for compression."""
    return path.with_suffix("") if path.suffix in COMPRESSED[1:] else path


def side_file(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    """First existing side file of ``path`` with one of the suffixes, compressed or not."""
    return next(iter(side_files(path, suffixes)), None)


def number_separator(first_line: bytes) -> str | None:
    """Separator of LightGBM's tables without a header: a tab or a comma between numbers, or None.

    All but the first number, which is the label, may be missing.
    """
    line = first_line.strip(b" \r\n")
    for separator in (b"\t", b","):
        words = line.split(separator)
        rest = all(NUMBER.fullmatch(word) or word in (b"", b"NA", b"null") for word in words)
        if len(words) > 1 and words[0] and rest:
            return separator.decode()
    return None


def names_columns(first_line: bytes) -> bool:
    """Whether a line begins with a word, as no row does, rather than with a label or a comment."""
    word = re.split(rb"[\s,;|]", first_line.strip(), maxsplit=1)[0].strip(b'"')
    return word[:1].isalpha() and NUMBER.fullmatch(word) is None


def warn_of_unread(paths: Sequence[Path]) -> None:
    """Warn if a table with named columns has a side file, which is then not read."""
    for path in paths:
        for file in side_files(path, (*SIZES, WEIGHT)):
            is_weight = WEIGHT in file.suffixes
            what = "weights" if is_weight else "sizes of queries"
            column = "sample_weight" if is_weight else "qid"
            warnings.warn(
                f"the {what} in {file} are not read, because the columns of "
                f"{path.name} have names. Write them into the table, as a column {column}, or "
                "delete the file.",
                UserWarning,
                stacklevel=callers_level(),
            )
            return


def check_named_columns(path: Path, first_line: bytes) -> None:
    """Raise ValueError for LightGBM's delimited text without a header, with a file of sizes."""
    sizes = side_file(path, SIZES)
    if sizes is not None and number_separator(first_line) is not None:
        raise ValueError(
            "the first line holds numbers, not names of columns, and the queries stand in "
            f"{sizes}. Read both with read_grouped({str(path)!r})."
        )


@contextmanager
def name_sizes_in_errors(path: Path) -> Iterator[None]:
    """Make an error about the columns of a table name the file of sizes beside it, if any."""
    try:
        yield
    except ValueError as error:
        if side_file(path, SIZES) is None:
            raise
        raise ValueError(f"{error} {SIZES_FIX}") from None


def side_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """All existing side files, in order of precedence."""
    names = [
        Path(f"{start}{suffix}{packed}")
        for start in dict.fromkeys((path, stem(path)))
        for suffix in suffixes
        for packed in COMPRESSED
    ]
    return [name for name in names if name.is_file()]
