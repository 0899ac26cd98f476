"""Output of commands: tables for people, JSON for programs, and checks of output paths.

Results go to stdout; progress, notes and errors go to stderr.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.cli._errors import UsageError
from rankwise.runtime.json_values import convert_to_json
from rankwise.runtime.shown_text import escape_hidden

# Piped tables take their natural width.
_PIPE_WIDTH = 1000


def check_target(path: Path, option: str) -> None:
    """Raise UsageError before any work is done if no file can be written at ``path``.

    Missing folders are allowed: :func:`make_folder` creates them just before writing.
    """
    if path.is_dir():
        raise UsageError(f"{option} must name a file, but {path} is a folder.")
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir():
        raise UsageError(f"{option} {path} cannot be written: {there} is a file, not a folder.")


def check_folder(path: Path) -> None:
    """Raise UsageError if --out names a file instead of a folder, which may be missing."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out must name a folder, but {path} is a file.")


def check_file(path: Path, what: str = "file") -> None:
    """Raise UsageError if a file is missing."""
    if not path.is_file():
        raise UsageError(f"{str(path)!r} is not a {what}. Check the path.")


def check_model_file(path: Path) -> None:
    """Raise UsageError if a model file is missing; tell how to search an index."""
    if path.is_dir():
        from rankwise.text.index_folder import has_index

        if has_index(path):
            raise UsageError(
                f"{str(path)!r} is an index of text. Search it: rankwise search {path} QUERIES."
            )
    check_file(path, "model file")


def make_folder(path: Path) -> None:
    """Create the parent folders of the file ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)


def terminal_width() -> int | None:
    """Width of the terminal in characters; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_json(value: Any) -> None:
    """Print strict JSON on stdout; NaN and infinities become null."""
    sys.stdout.write(json.dumps(convert_to_json(value), allow_nan=False, indent=2) + "\n")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    right: Sequence[str] = (),
) -> None:
    """Print a table on stdout, below its title; the columns in ``right`` align right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(
            Text(escape_hidden(column)),
            justify="right" if column in right else "left",
            no_wrap=column in right or column == columns[0],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(escape_hidden(cell)) for cell in row))
    console = _console()
    if title:
        console.print(Text(escape_hidden(title), style="bold"), soft_wrap=True)
    console.print(table)
    console.print()


def number(value: Any, form: str = ".4f") -> str:
    """Format a number; None and NaN become a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return format(value, form)


def _console() -> Any:
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)
