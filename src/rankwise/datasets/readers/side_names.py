"""Names of side files for group sizes and weights: the name of the text plus a suffix."""

from __future__ import annotations

from pathlib import Path

SIZES = (".query", ".group")
WEIGHT = ".weight"
COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zst")


def stem(path: Path) -> Path:
    """Path without a suffix for compression."""
    return path.with_suffix("") if path.suffix in COMPRESSED[1:] else path


def side_file(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    """First existing side file of ``path`` with one of the suffixes, compressed or not."""
    return next(iter(side_files(path, suffixes)), None)


def side_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """All existing side files, in order of precedence."""
    names = [
        Path(f"{start}{suffix}{packed}")
        for start in dict.fromkeys((path, stem(path)))
        for suffix in suffixes
        for packed in COMPRESSED
    ]
    return [name for name in names if name.is_file()]
